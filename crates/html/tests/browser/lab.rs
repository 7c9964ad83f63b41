//! Test pages, and a browser to view them.

use headless_chrome::browser::tab::point::Point;
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::protocol::cdp::{Emulation, Network};
use headless_chrome::{Browser, LaunchOptions, Tab};
use schedlab_campaign::Runner;
use schedlab_html::{Evidence, Heard, Provenance, of_comparison, of_study};
use schedlab_model::ids::{CpuId, RoleId, TaskId};
use schedlab_model::outcome::Outcome;
use schedlab_model::result::RunResult;
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event as TraceEvent, EventKind, Reason, Sink, WakeSource};
use schedlab_model::workload::Workload;
use schedlab_policy::PolicySpec;
use schedlab_report::comparison::{Candidate, Comparison};
use schedlab_study::{Experiment, Page as StudyPage, Study, Variant, carry_out};
use schedlab_venue::{Monitor, Policy, Request, Run, SimVenue, Venue};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What an untrusted trace may call a thread.
pub const HOSTILE: &str = "<script>hacked=1</script><img src=x onerror=\"hacked=1\">";

/// Colours of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Light,
    Dark,
}

const STUDY: &str = r#"
name = "small"
title = "Shares of two tasks"
goal = "Show what weight does."

[scenario.hogs]
machine = { cpus = 2 }
run = { duration = "1s" }
[[scenario.hogs.task]]
name = "a"
loop = [{ compute = "10ms" }]
[[scenario.hogs.task]]
name = "b"
count = 2
loop = [{ compute = "10ms" }, { sleep = "3ms" }]

[[question]]
id = "weight"
asks = "Who gets what?"
answer = "The nice one gets less."

[[question.run]]
name = "nice"
scenario = "hogs"
policy = ["rr", "mlfq"]
over = { "task.b.nice" = [0, 2, 5], "task.b.count" = [2, 4] }

[[question.table]]
title = "A map"
run = "nice"
across = "task.b.count"
column = [{ head = "b", metric = "roles.b.cpu_share", unit = "%" }]

[[question.run]]
name = "few"
scenario = "hogs"
policy = ["rr", "mlfq"]

[[question.table]]
title = "Bars"
run = "few"
column = [
    { head = "b", metric = "roles.b.cpu_share", unit = "%" },
    { head = "mean", metric = "roles.b.response_ns.mean", unit = "ms" },
]

[[question.chart]]
title = "A histogram"
place = "figure 1"
kind = "histogram"
run = "few"
role = "b"
bin = "1ms"

[[question.chart]]
title = "Tasks on `CPUs`"
kind = "tasks"
run = "few"

[[question.chart]]
title = "Side by side"
kind = "bars"
run = "few"
column = [{ head = "b", metric = "roles.b.cpu_share", unit = "%" }]

[[question.chart]]
title = "CPU time"
kind = "run-time"
run = "few"

[[question.run]]
name = "many"
scenario = "hogs"
policy = ["rr", "mlfq"]
over = { "task.b.count" = [1, 2, 3, 4] }

[[question.table]]
title = "Lines"
run = "many"
column = [{ head = "mean", metric = "roles.b.response_ns.mean", unit = "ms" }]

[[question.value]]
what = "share"
run = "few"
policy = "rr"
metric = "roles.b.cpu_share"
unit = "%"
published = 60
within = 0.5

[[question.value]]
what = "share under the queue"
run = "few"
policy = "mlfq"
metric = "roles.b.cpu_share"
unit = "%"
published = 10
within = 0.01
differs = "the number was made up"
"#;

/// The page of a small study.
pub fn study_page() -> String {
    let study = Study::parse(STUDY, "small.toml").unwrap();
    let none = |name: &str| -> Result<Scenario, String> { Err(format!("there is no scenario `{name}`")) };
    let experiment = Experiment::plan(&study, (STUDY, "small.toml"), Variant::default(), Path::new(""), &none).unwrap();
    let outcomes = carry_out(&experiment, &Runner::new(None, 2, &Monitor::default()));
    of_study(&StudyPage::new(&study, &experiment, &outcomes), STUDY, "schedlab study small.toml").html()
}

/// How many events the first policy of the comparison has lost.
pub const LOST: u64 = 7;

/// The page of a comparison with this many events in its timeline. Its role is named after an attack.
pub fn comparison_page(events: u64) -> String {
    let text = "name = \"w\"\n[machine]\ncpus = 8\n[[task]]\nname = \"t\"\ncount = 24\n\
                loop = [{ compute = \"3ms\" }, { sleep = \"2ms\" }]\n[run]\nduration = \"300ms\"\n";
    let mut workload = Scenario::parse(text, "test").unwrap().compile().unwrap();
    workload.roles[0].name = HOSTILE.into();
    let policies = ["rr", "mlfq"].map(|name| Policy::find(&PolicySpec::parse(name).unwrap()).unwrap());
    let sets = policies.map(|policy| {
        let (scenario_hash, executor, check) = ("00", None, false);
        let request =
            Request { workload: &workload, scenario_hash, policy: &policy, seed: 1, executor, check, costs: false };
        (policy.label.clone(), SimVenue.run(&request, None, &mut ()).unwrap())
    });
    let results: Vec<Outcome> = sets
        .iter()
        .enumerate()
        .map(|(index, (_, run))| {
            let lost = if index == 0 { LOST } else { run.result.lost };
            RunResult { lost, ..run.result.clone() }.into()
        })
        .collect();
    let heard = |(label, run): &(String, Run)| busy(&workload, events).end(label, "sim", run.curves.clone());
    let heard: Vec<Heard> = sets.iter().map(heard).collect();
    let candidates: Vec<Candidate> = sets.iter().zip(&results).map(|(set, result)| candidate(set, result)).collect();
    of_comparison(&Comparison::of_results(&candidates), &heard, Provenance::default()).html()
}

fn candidate<'a>((label, run): &'a (String, Run), result: &'a Outcome) -> Candidate<'a> {
    Candidate { curves: &run.curves, ..Candidate::bare(label, result) }
}

/// A run with `events` events: eight CPUs that switch between 24 tasks all the time.
pub fn busy(workload: &Workload, events: u64) -> Evidence {
    let mut evidence = Evidence::new(workload);
    let event = |time, cpu, kind| TraceEvent { time: Time(time), cpu: CpuId(cpu), kind };
    for task in 0..24 {
        evidence.event(&event(0, 0, EventKind::Fork { task: TaskId(task), role: RoleId(0), parent: None }));
    }
    let turns = events / 2;
    let step = workload.run.duration.ns() / (turns + 1);
    let mut running = [None; 8];
    for turn in 0..turns {
        let (cpu, now) = ((turn % 8) as u32, turn * step);
        let next = TaskId(cpu + 8 * (turn / 8 % 3) as u32);
        let (target, source) = (CpuId(cpu), WakeSource::Timer);
        evidence.event(&event(now, cpu, EventKind::Wakeup { task: next, target, waker: None, source }));
        let previous = running[cpu as usize].replace(next);
        let reason = if previous.is_some() { Reason::Blocked } else { Reason::Idle };
        evidence.event(&event(now, cpu, EventKind::Switch { previous, reason, next: Some(next) }));
    }
    evidence.finish(workload.run.duration);
    evidence
}

/// Why no browser starts here; nothing where one does.
pub fn lack_of_browser() -> Option<String> {
    let error = Browser::new(options(1200)).err()?.to_string();
    Some(format!("chromium does not start (`make setup` installs it): {}", error.replace('\n', " ")))
}

fn options<'a>(width: u32) -> LaunchOptions<'a> {
    LaunchOptions {
        path: Some("chromium".into()),
        sandbox: false,
        window_size: Some((width.max(500), 900)),
        idle_browser_timeout: Duration::from_secs(120),
        args: vec![OsStr::new("--hide-scrollbars")],
        ..LaunchOptions::default()
    }
}

/// A browser with a page open.
pub struct Viewer {
    tab: Arc<Tab>,
    requests: Arc<Mutex<usize>>,
    complaints: Arc<Mutex<Vec<String>>>,
    _browser: Browser,
    _folder: tempfile::TempDir,
}

impl Viewer {
    /// Opens a page from disk in a window of this width.
    pub fn open(html: &str, look: Look, width: u32) -> Viewer {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        std::fs::write(&path, html).unwrap();
        let browser = Browser::new(options(width)).expect("`lack_of_browser` says why");
        let tab = browser.new_tab().unwrap();
        tab.set_default_timeout(Duration::from_secs(60));
        let (requests, complaints) = (Arc::default(), Arc::default());
        tab.add_event_listener(listener(&requests, &complaints)).unwrap();
        tab.enable_runtime().unwrap();
        tab.enable_log().unwrap();
        tab.call_method(network()).unwrap();
        let metrics = Emulation::SetDeviceMetricsOverride {
            width,
            height: 900,
            device_scale_factor: 1.0,
            mobile: width < 500,
            scale: None,
            screen_width: None,
            screen_height: None,
            position_x: None,
            position_y: None,
            dont_set_visible_size: None,
            screen_orientation: None,
            viewport: None,
            display_feature: None,
            device_posture: None,
        };
        tab.call_method(metrics).unwrap();
        let scheme = if look == Look::Dark { "dark" } else { "light" };
        let feature = Emulation::MediaFeature { name: "prefers-color-scheme".into(), value: scheme.into() };
        tab.call_method(Emulation::SetEmulatedMedia { media: None, features: Some(vec![feature]) }).unwrap();
        tab.navigate_to(&format!("file://{}", path.display())).unwrap().wait_until_navigated().unwrap();
        Viewer { tab, requests, complaints, _browser: browser, _folder: folder }
    }

    /// Shows the page as this kind of medium has it: `print` or `screen`.
    pub fn media(&self, medium: &str) {
        let media = Emulation::SetEmulatedMedia { media: Some(medium.into()), features: None };
        self.tab.call_method(media).unwrap();
    }

    /// A picture of what is in the window.
    #[allow(dead_code, reason = "only pictures for the documentation are made so")]
    pub fn picture(&self) -> Vec<u8> {
        let png = headless_chrome::protocol::cdp::Page::CaptureScreenshotFormatOption::Png;
        self.tab.capture_screenshot(png, None, None, true).unwrap()
    }

    /// The page on paper.
    pub fn pdf(&self) -> Vec<u8> {
        self.tab.print_to_pdf(None).unwrap()
    }

    /// Scrolls through all of it and waits until everything is drawn.
    pub fn read_to_the_end(&self) {
        self.run(
            "(async () => { for (const figure of document.querySelectorAll('figure.chart, figure.timeline')) { \
             figure.scrollIntoView({ behavior: 'instant' }); for (let i = 0; i < 400 && !figure.classList.contains('drawn'); i++) \
             await new Promise((done) => setTimeout(done, 50)); } })()",
        );
    }

    /// Runs a script to its end.
    pub fn run(&self, script: &str) {
        let done = self.tab.evaluate(script, true).unwrap_or_else(|error| panic!("{script}: {error}"));
        assert!(done.subtype.is_none_or(|kind| format!("{kind:?}") != "Error"), "{script}: {:?}", done.description);
    }

    /// What an expression gives, as a text.
    pub fn text(&self, expression: &str) -> String {
        let value = self.tab.evaluate(expression, true).unwrap().value.unwrap_or_default();
        value.as_str().map_or_else(|| panic!("{expression} is {value}"), String::from)
    }

    /// What an expression gives, as a number.
    pub fn number(&self, expression: &str) -> f64 {
        let value = self.tab.evaluate(expression, true).unwrap().value.unwrap_or_default();
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    /// What the console said of errors and exceptions.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints.lock().unwrap().clone()
    }

    /// How often something was asked for.
    pub fn requests(&self) -> usize {
        *self.requests.lock().unwrap()
    }

    /// Where the first such element is, in the window.
    fn place(&self, selector: &str) -> Point {
        let find = format!("document.querySelector({selector:?})");
        self.run(&format!("{find}.scrollIntoView({{ block: 'center', behavior: 'instant' }})"));
        let side = |side: &str, size: &str| {
            self.number(&format!(
                "(() => {{ const box = {find}.getBoundingClientRect(); return box.{side} + box.{size} / 2; }})()"
            ))
        };
        Point { x: side("left", "width"), y: side("top", "height") }
    }

    /// Moves the mouse over the first such element.
    pub fn hover(&self, selector: &str) {
        let place = self.place(selector);
        self.tab.move_mouse_to_point(Point { x: place.x - 1.0, y: place.y }).unwrap();
        self.tab.move_mouse_to_point(place).unwrap();
        self.run("new Promise((done) => setTimeout(done, 200))");
    }

    /// Turns the wheel over the first such element.
    pub fn wheel(&self, selector: &str, by: f64) {
        let Point { x, y } = self.place(selector);
        let script = format!(
            "(() => {{ const at = document.querySelector({selector:?}); at.dispatchEvent(new WheelEvent('wheel', \
             {{ deltaY: {by}, clientX: {x}, clientY: {y}, bubbles: true, cancelable: true }})); }})()"
        );
        self.run(&script);
        self.run("new Promise((done) => setTimeout(done, 400))");
    }
}

fn listener(
    requests: &Arc<Mutex<usize>>,
    complaints: &Arc<Mutex<Vec<String>>>,
) -> Arc<impl Fn(&Event) + Send + Sync + use<>> {
    let (requests, complaints) = (requests.clone(), complaints.clone());
    Arc::new(move |event: &Event| {
        let complain = |text: String| complaints.lock().unwrap().push(text);
        match event {
            // What a page keeps in itself is no request.
            Event::NetworkRequestWillBeSent(sent) if !is_inner(&sent.params.request.url) => {
                *requests.lock().unwrap() += 1;
            }
            Event::RuntimeExceptionThrown(thrown) => complain(format!("{:?}", thrown.params.exception_details)),
            Event::LogEntryAdded(added) => complain(added.params.entry.text.clone()),
            _ => {}
        }
    })
}

fn is_inner(url: &str) -> bool {
    url.starts_with("blob:") || url.starts_with("data:")
}

fn network() -> Network::Enable {
    Network::Enable {
        max_total_buffer_size: None,
        max_resource_buffer_size: None,
        max_post_data_size: None,
        report_direct_socket_traffic: None,
        enable_durable_messages: None,
    }
}
