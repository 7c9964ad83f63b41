//! How a page calls the module: through plain functions and two places in its memory.
//!
//! A page puts a question as JSON at the address that [`input`] gives, calls [`ask`], and reads the parts of the answer at
//! their [`output`] and [`output_len`]. That is all that crosses, so that no generator of bindings is needed, and no
//! pointer is read on this side.

use crate::{Question, simulate};
use schedlab_model::time::Time;
use schedlab_sim::Control;
use std::cell::RefCell;

/// What is on the way in and out.
#[derive(Default)]
struct Desk {
    input: Vec<u8>,
    outputs: [Vec<u8>; 7],
}

/// The parts of an answer, by their numbers. The first is empty unless something went wrong.
#[repr(usize)]
#[derive(Clone, Copy, Debug)]
enum Part {
    Error,
    Result,
    Page,
    Tables,
    Whole,
    Header,
    Timeline,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
}

fn put(part: Part, bytes: Vec<u8>) {
    DESK.with_borrow_mut(|desk| desk.outputs[part as usize] = bytes);
}

/// Makes room for this number of bytes, and gives their address.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn input(len: usize) -> *mut u8 {
    DESK.with_borrow_mut(|desk| {
        desk.input = vec![0; len];
        desk.input.as_mut_ptr()
    })
}

/// The address of a part of the answer.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn output(part: usize) -> *const u8 {
    DESK.with_borrow(|desk| desk.outputs.get(part).map_or(std::ptr::null(), |bytes| bytes.as_ptr()))
}

/// Its length.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn output_len(part: usize) -> usize {
    DESK.with_borrow(|desk| desk.outputs.get(part).map_or(0, Vec::len))
}

/// Makes the run that the input asks for, a [`Question`] as JSON. A module makes one run.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn ask() {
    std::panic::set_hook(Box::new(|panic| {
        let told = format!("{panic}\nThis is a defect of schedlab; please report it with the scenario and the policy.");
        put(Part::Error, told.into_bytes());
    }));
    let input = DESK.with_borrow_mut(|desk| std::mem::take(&mut desk.input));
    let question: Question = match serde_json::from_slice(&input) {
        Ok(question) => question,
        Err(error) => return put(Part::Error, error.to_string().into_bytes()),
    };
    match simulate(&question, &mut Progress) {
        Err(error) => put(Part::Error, error.to_string().into_bytes()),
        Ok(answer) => {
            put(Part::Result, answer.result.into_bytes());
            put(Part::Page, answer.page.into_bytes());
            put(Part::Tables, answer.tables.into_bytes());
            put(Part::Whole, answer.whole.into_bytes());
            put(Part::Header, answer.header.into_bytes());
            put(Part::Timeline, answer.timeline);
        }
    }
}

/// Tells the page how far the run is.
struct Progress;

impl Control for Progress {
    fn go_on(&mut self, now: Time) -> bool {
        page::progress(now.ns() as f64);
        true
    }
}

#[cfg(target_arch = "wasm32")]
mod page {
    #[link(wasm_import_module = "page")]
    unsafe extern "C" {
        /// The simulated time in nanoseconds.
        pub safe fn progress(now_ns: f64);
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod page {
    pub fn progress(_now_ns: f64) {}
}
