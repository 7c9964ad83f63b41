//! Pictures without a browser: the runtime of the charts in a small engine for JavaScript, and pixels of its drawings.

use crate::RUNTIME;
use resvg::{tiny_skia, usvg};
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Runtime};
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use std::thread;
use usvg::fontdb::Database;

/// What a drawing may take of memory, in bytes.
const MEMORY: usize = 512 << 20;

/// The stack of the thread that draws, and what of it the engine may use: specifications are deep.
const STACK: usize = 64 << 20;
const STACK_OF_ENGINE: usize = 48 << 20;

/// What the runtime expects of a browser. Nothing waits for time here, and nothing is printed.
const BROWSER: &str = "
    var self = globalThis;
    var console = { log() {}, info() {}, debug() {}, warn() {}, error() {} };
    function setTimeout(task) { Promise.resolve().then(task); return 1; }
    function clearTimeout() {}
    if (typeof structuredClone === 'undefined') {
        globalThis.structuredClone = value => JSON.parse(JSON.stringify(value));
    }
";

/// A sans-serif letter is little more than half as wide as it is high; the runtime alone assumes more.
const LETTERS: &str = "
    vega.textMetrics.width = (item, text) => {
        const line = text === undefined ? item.text : text;
        const lines = Array.isArray(line) ? line : [line === null || line === undefined ? '' : line];
        const letters = Math.max(0, ...lines.map(line => String(line).length));
        return Math.ceil(letters * (item.fontSize || 11) * (item.fontWeight === 'bold' ? 0.68 : 0.6));
    };
";

/// Draws the specification in `specification`. Names of clips and gradients start again, so that they do not depend on
/// what was drawn before.
const DRAW: &str = "
    var drawn = null, failure = null;
    (async () => {
        vega.resetSVGDefIds();
        const runtime = vega.parse(vegaLite.compile(JSON.parse(specification)).spec);
        drawn = await new vega.View(runtime, { renderer: 'none' }).toSVG();
    })().catch(error => { failure = String(error); });
";

/// Fonts that most machines have one of.
const FONTS: [&str; 5] = ["DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica"];

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The specification is wrong, or too large to be drawn.
    #[error("the chart cannot be drawn: {0}")]
    Runtime(String),
    /// The system gave no thread to draw in.
    #[error("there is no thread to draw in: {0}")]
    Thread(#[from] std::io::Error),
    /// What should be turned into pixels is no SVG.
    #[error("the drawing is not SVG: {0}")]
    Svg(#[from] usvg::Error),
    /// Text would be missing.
    #[error("no fonts are installed: on Debian, install the package fonts-dejavu-core")]
    NoFonts,
    /// Nothing, or too many pixels.
    #[error("a picture of {width} by {height} pixels cannot be made")]
    Size {
        /// How wide it would be.
        width: f32,
        /// How high it would be.
        height: f32,
    },
    /// The pixels cannot be written.
    #[error("the picture cannot be written: {0}")]
    Png(String),
}

/// Draws a whole specification as SVG. The same specification gives the same bytes.
pub fn svg(specification: &Value) -> Result<String, DrawError> {
    svgs(std::slice::from_ref(specification))?.remove(0)
}

/// Draws several, which is faster than one by one: most of the time goes into the start of the runtime. The outer error
/// is of the start.
pub fn svgs(specifications: &[Value]) -> Result<Vec<Result<String, DrawError>>, DrawError> {
    let texts: Vec<String> = specifications.iter().map(Value::to_string).collect();
    let worker = thread::Builder::new().name("charts".into()).stack_size(STACK).spawn(move || draw_all(texts))?;
    worker.join().unwrap_or_else(|_| Err(DrawError::Runtime("the engine stopped".into())))
}

fn draw_all(texts: Vec<String>) -> Result<Vec<Result<String, DrawError>>, DrawError> {
    let (runtime, context) = start()?;
    Ok(texts.into_iter().map(|text| draw(&runtime, &context, text)).collect())
}

fn start() -> Result<(Runtime, Context), DrawError> {
    let runtime = Runtime::new().map_err(|error| DrawError::Runtime(error.to_string()))?;
    runtime.set_memory_limit(MEMORY);
    runtime.set_max_stack_size(STACK_OF_ENGINE);
    let context = Context::full(&runtime).map_err(|error| DrawError::Runtime(error.to_string()))?;
    context.with(|ctx| {
        let [vega, vega_lite] = RUNTIME;
        [BROWSER, vega, vega_lite, LETTERS].into_iter().try_for_each(|script| run(&ctx, script))
    })?;
    Ok((runtime, context))
}

fn run(ctx: &Ctx, script: &str) -> Result<(), DrawError> {
    ctx.eval::<(), _>(script).catch(ctx).map_err(|error| DrawError::Runtime(message(&error)))
}

/// What went wrong, without the places in the runtime's scripts.
fn message(error: &CaughtError) -> String {
    match error {
        CaughtError::Exception(exception) => exception.message().unwrap_or_else(|| "an error without words".into()),
        other => other.to_string(),
    }
}

fn draw(runtime: &Runtime, context: &Context, text: String) -> Result<String, DrawError> {
    context.with(|ctx| {
        ctx.globals().set("specification", text).catch(&ctx).map_err(|error| DrawError::Runtime(message(&error)))?;
        run(&ctx, DRAW)
    })?;
    while runtime.is_job_pending() {
        if runtime.execute_pending_job().is_err() {
            return Err(DrawError::Runtime("a task of the runtime failed".into()));
        }
    }
    context.with(|ctx| {
        let take = |name: &str| ctx.globals().get::<_, Option<String>>(name).ok().flatten();
        take("drawn").ok_or_else(|| {
            DrawError::Runtime(take("failure").unwrap_or_else(|| "the runtime did not come to an end".into()))
        })
    })
}

/// Turns SVG into the bytes of a PNG file, `scale` pixels for each of its units. Text has the fonts of this machine.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, DrawError> {
    let options = usvg::Options { fontdb: fonts().ok_or(DrawError::NoFonts)?, ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options)?;
    let (width, height) = ((tree.size().width() * scale).ceil(), (tree.size().height() * scale).ceil());
    let pixels = (width >= 1.0 && height >= 1.0 && width * height < 1e8).then_some((width as u32, height as u32));
    let pixmap = pixels.and_then(|(width, height)| tiny_skia::Pixmap::new(width, height));
    let mut pixmap = pixmap.ok_or(DrawError::Size { width, height })?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| DrawError::Png(error.to_string()))
}

/// The fonts of this machine, read once; none where it has none.
fn fonts() -> Option<Arc<Database>> {
    static FOUND: OnceLock<Option<Arc<Database>>> = OnceLock::new();
    FOUND.get_or_init(|| load_fonts().map(Arc::new)).clone()
}

fn load_fonts() -> Option<Database> {
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    let families: Vec<String> = fonts.faces().filter_map(|face| Some(face.families.first()?.0.clone())).collect();
    let usual = FONTS.into_iter().find(|font| families.iter().any(|family| family == font)).map(str::to_string);
    let family = usual.or_else(|| families.into_iter().min())?;
    fonts.set_sans_serif_family(family.clone());
    fonts.set_serif_family(family);
    Some(fonts)
}
