//! Workloads run for real. What is asserted are counts and what the kernel counted, never how long something took on a
//! machine that others may be using.

use schedlab_load::algorithm::Engine;
use schedlab_load::{Algorithm, Calibration, LoadError, Report, Served, Settings, Watcher, calibration, run};
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_model::workload::Workload;
use std::sync::OnceLock;
use std::time::Duration;

fn workload(tasks: &str, duration: &str) -> Workload {
    let text = format!("name = \"t\"\n[machine]\ncpus = 1\n{tasks}\n[run]\nduration = \"{duration}\"\n");
    Scenario::parse(&text, "test").unwrap().compile().unwrap()
}

/// Good enough to burn by: a single measurement, taken on whatever machine this is.
fn settings() -> Settings {
    static NS_PER_PIECE: OnceLock<f64> = OnceLock::new();
    let ns_per_piece = *NS_PER_PIECE.get_or_init(|| {
        let mut engine = Engine::new(Algorithm::Spin);
        (0..20).map(|_| calibration::cpu_time(&mut engine, 10_000) / 10_000.0).fold(f64::INFINITY, f64::min)
    });
    let algorithm = Algorithm::Spin.to_string();
    let calibration =
        Calibration { algorithm, ns_per_piece, ns_per_call: 0.0, spread: 0.0, misfit: 0.0, measurements: 1 };
    Settings {
        algorithm: Algorithm::Spin,
        calibration,
        seed: 1,
        look: Duration::from_millis(20),
        others: Some(Served::Fair),
        reads_cpu_time: false,
    }
}

struct Patient;

impl Watcher for Patient {
    fn go_on(&mut self, _: Time) -> bool {
        true
    }
}

fn done(tasks: &str, duration: &str) -> Report {
    run(&workload(tasks, duration), &settings(), &mut Patient).unwrap()
}

#[test]
fn every_task_does_all_of_its_program_once() {
    let report = done(
        "[[task]]\nname = \"a\"\ncount = 3\nonce = [{ compute = \"1ms\" }, { sleep = \"1ms\" }, { yield = true }, \
         { repeat = 2, steps = [{ compute = \"1ms\" }] }]\n\
         [[task]]\nname = \"b\"\nkind = \"process\"\ncount = 2\nonce = [{ compute = \"2ms\" }]\n",
        "20s",
    );
    assert_eq!((report.tasks.len(), report.requests.len(), report.requests_lost, report.dropped), (5, 5, 0, 0));
    for request in &report.requests {
        let task = &report.tasks[request.task as usize];
        assert_eq!(request.demand_ns, if task.role == 0 { 3_000_000 } else { 2_000_000 });
        // As much work as was asked for costs as much CPU time as the best of the measurements, or half of that when a
        // neighbour on the other thread of the core has left since.
        assert!(task.cpu_ns as f64 >= 0.45 * request.demand_ns as f64, "{task:?}");
        assert!(request.intended_ns <= request.begin_ns && Some(request.begin_ns) < request.end_ns);
    }
    let pids: std::collections::BTreeSet<i32> = report.tasks.iter().map(|task| task.pid).collect();
    assert_eq!(pids.len(), 3, "three threads in one process, and two processes");
    assert!(report.length_ns < 20_000_000_000, "the run ends with its last task");
}

#[test]
fn shared_objects_work_across_processes() {
    let report = done(
        "[semaphore.s]\ninitial = 1\n\
         [[task]]\nname = \"p\"\nkind = \"process\"\nonce = [{ repeat = 50, steps = [{ wait = \"s\" }, { send = \"c\" }, \
         { recv = \"d\" }, { lock = \"m\" }, { compute = \"10us\" }, { unlock = \"m\" }, { post = \"s\" }] }, \
         { barrier = \"b\" }]\n\
         [[task]]\nname = \"q\"\nonce = [{ repeat = 50, steps = [{ recv = \"c\" }, { lock = \"m\" }, { unlock = \"m\" }, \
         { send = \"d\" }] }, { barrier = \"b\" }]\n[channel.d]\nkind = \"socket\"\n",
        "20s",
    );
    // The process has one of its own; the thread answers each message.
    let of =
        |role: u32| report.requests.iter().filter(|r| report.tasks[r.task as usize].role == role && r.answered).count();
    assert_eq!((of(0), of(1)), (1, 50), "both came to the end");
}

#[test]
fn arrivals_are_those_of_the_seed_and_count_from_their_intended_instant() {
    let text = "[[task]]\nname = \"job\"\narrivals = \"exp(2ms)\"\nlimit = 40\nonce = [{ compute = \"100us\" }]\n";
    let report = done(text, "20s");
    assert_eq!((report.tasks.len(), report.requests.len()), (40, 40));
    let mut rng = schedlab_model::rng::Rng::split(1, "arrivals/job");
    let gap = schedlab_model::distribution::Distribution::Exponential(Time::from_ms(2));
    let mut expected = 0;
    for (number, task) in report.tasks.iter().enumerate() {
        expected += gap.sample(&mut rng).ns();
        assert_eq!(task.intended_ns, expected);
        let request = report.requests.iter().find(|request| request.task == number as u32).unwrap();
        assert_eq!(request.intended_ns, expected);
    }
}

#[test]
fn tasks_create_tasks() {
    let report = done(
        "[[task]]\nname = \"parent\"\nonce = [{ spawn = \"child\", count = 3 }, { wait = \"s\" }, { wait = \"s\" }, \
         { wait = \"s\" }]\n[[task]]\nname = \"child\"\nspawned = true\nonce = [{ post = \"s\" }]\n",
        "20s",
    );
    let parents: Vec<Option<u32>> = report.tasks.iter().map(|task| task.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(0), Some(0)]);
    assert_eq!(report.requests.len(), 4);
}

#[test]
fn devices_serve_one_at_a_time() {
    let report =
        done("[[task]]\nname = \"t\"\ncount = 4\nonce = [{ io = { device = \"disk\", service = \"5ms\" } }]\n", "20s");
    let last = report.requests.last().unwrap();
    assert!(last.end_ns >= Some(20_000_000), "four times 5 ms in a row: {last:?}");
}

#[test]
fn the_end_of_the_run_ends_all() {
    let report = done(
        "[[task]]\nname = \"hog\"\nloop = [{ compute = \"100s\" }]\n\
         [[task]]\nname = \"sleeper\"\nkind = \"process\"\nloop = [{ sleep = \"100s\" }, { compute = \"1us\" }]\n\
         [[task]]\nname = \"waiter\"\nonce = [{ recv = \"c\" }]\n[[task]]\nname = \"giver\"\nonce = [{ sleep = \"100s\" }, \
         { send = \"c\" }]\n",
        "100ms",
    );
    assert!(report.requests.is_empty() && !report.partial);
    assert!(report.length_ns >= 100_000_000);
    assert!(report.tasks[0].open_intended_ns.is_some(), "the hog's request was open");
    assert!(report.tasks.iter().all(|task| task.ended_ns > 0), "nobody had to be killed");
}

/// Ends the run soon, and keeps the calls that it gets.
#[derive(Default)]
struct Impatient {
    pid: i32,
    told: Vec<&'static str>,
}

impl Watcher for Impatient {
    fn started(&mut self, pid: i32) -> Result<(), LoadError> {
        self.pid = pid;
        Ok(())
    }

    fn begins(&mut self) {
        self.told.push("begins");
    }

    fn ended(&mut self) {
        self.told.push("ended");
    }

    fn go_on(&mut self, now: Time) -> bool {
        if now > Time::ZERO {
            self.told.push("goes on");
        }
        now < Time::from_ms(30)
    }
}

#[test]
fn a_stopped_run_is_partial_and_leaves_nobody() {
    let text = "[[task]]\nname = \"t\"\nkind = \"process\"\ncount = 3\nloop = [{ compute = \"1ms\" }]\n";
    let mut watcher = Impatient::default();
    let report = run(&workload(text, "100s"), &settings(), &mut watcher).unwrap();
    assert!(report.partial && !report.requests.is_empty());
    watcher.told.dedup();
    assert_eq!(watcher.told, ["begins", "goes on", "ended"]);
    for pid in report.tasks.iter().map(|task| task.pid).chain([watcher.pid]) {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
    }
}

#[test]
fn what_the_machine_cannot_hold_is_refused_in_one_line() {
    let text = "name = \"t\"\n[machine]\ncpus = 4096\n[[task]]\nname = \"t\"\nonce = [{ compute = \"1ms\" }]\n[run]\n";
    let workload = Scenario::parse(text, "test").unwrap().compile().unwrap();
    let error = run(&workload, &settings(), &mut Patient).unwrap_err().to_string();
    assert!(error.starts_with("the scenario's machine has 4096 CPUs and this one lets us use "), "{error}");
    assert!(!error.contains('\n'));
}

#[test]
fn real_programs_are_tasks() {
    let report = done("[[task]]\nname = \"p\"\ncount = 2\ncommand = [\"sh\", \"-c\", \"exec sleep 0.01\"]\n", "20s");
    assert_eq!(report.requests.len(), 2);
    assert!(report.requests.iter().all(|request| request.end_ns.unwrap() - request.begin_ns >= 10_000_000));
}

#[test]
fn a_program_that_fails_ends_the_run_with_the_reason() {
    let run_it = |command: &str| {
        let text = format!(
            "[[task]]\nname = \"hog\"\nloop = [{{ compute = \"1ms\" }}]\n[[task]]\nname = \"p\"\ncommand = {command}\n"
        );
        run(&workload(&text, "20s"), &settings(), &mut Patient).unwrap_err().to_string()
    };
    assert_eq!(run_it("[\"sh\", \"-c\", \"exit 3\"]"), "task `p`: the program `sh -c exit 3` ended with code 3");
    assert!(run_it("[\"sh\", \"-c\", \"kill -9 $$\"]").ends_with("was killed by signal 9"));
    let error = run_it("[\"no-such-program\"]");
    assert_eq!(error, "task `p`: there is no program `no-such-program` here; install it, or write the path to it");
}

#[test]
fn programs_end_with_the_run() {
    let report = done("[[task]]\nname = \"p\"\ncommand = [\"sleep\", \"100\"]\n", "50ms");
    assert!(report.requests.is_empty() && report.tasks[0].open_intended_ns.is_some());
}

/// Tells its process's number through a pipe and then lets the run continue.
struct Telltale(std::io::PipeWriter);

impl Watcher for Telltale {
    fn started(&mut self, pid: i32) -> Result<(), LoadError> {
        use std::io::Write;
        self.0.write_all(&pid.to_ne_bytes()).expect("the parent reads");
        Ok(())
    }

    fn go_on(&mut self, now: Time) -> bool {
        // Once tasks run, the parent may strike.
        now == Time::ZERO || self.started(0).is_ok()
    }
}

#[test]
fn a_program_that_is_killed_takes_its_tasks_along() {
    assert_dies_with_its_program(
        "[[task]]\nname = \"t\"\nloop = [{ compute = \"1ms\" }]\n[[task]]\nname = \"p\"\nkind = \"process\"\ncount = 2\n\
         loop = [{ compute = \"1ms\" }]\n[[task]]\nname = \"sleep\"\ncommand = [\"sleep\", \"1000\"]\n",
    );
}

/// The kernel notifies a process of the end of the thread that forked it, and that is over long before.
#[test]
fn a_program_that_is_killed_takes_processes_along_whose_parent_has_ended() {
    assert_dies_with_its_program(
        "[[task]]\nname = \"parent\"\nonce = [{ spawn = \"child\", count = 2 }]\n\
         [[task]]\nname = \"child\"\nkind = \"process\"\nspawned = true\nonce = [{ sleep = \"1000s\" }]\n",
    );
}

#[test]
fn a_process_outlives_the_thread_that_forked_it() {
    let report = done(
        "[[task]]\nname = \"parent\"\nonce = [{ spawn = \"child\", count = 2 }]\n\
         [[task]]\nname = \"child\"\nkind = \"process\"\nspawned = true\nonce = [{ wait = \"go\" }, { compute = \"10us\" }]\n\
         [[task]]\nname = \"giver\"\nonce = [{ sleep = \"50ms\" }, { post = \"go\", times = 2 }]\n",
        "20s",
    );
    let pids: std::collections::BTreeSet<i32> = report.tasks.iter().map(|task| task.pid).collect();
    assert_eq!(
        (report.tasks.len(), report.dropped, pids.len()),
        (4, 0, 3),
        "two threads of one process, and two processes"
    );
    let parent = report.tasks.iter().find(|task| task.role == 0).unwrap();
    let children: Vec<_> = report.tasks.iter().filter(|task| task.role == 1).collect();
    assert!(
        children.iter().all(|child| child.parent == Some(0) && child.ended_ns > parent.ended_ns),
        "{:?}",
        report.tasks
    );
}

/// A command that leaves its session, its group and its parent, and would continue.
fn runaway(mark: &str) -> String {
    let script = format!("setsid sh -c 'sleep {mark} & sleep {mark}' & (setsid sleep {mark} &) ; exec sleep {mark}");
    format!("[[task]]\nname = \"runaway\"\ncommand = [\"sh\", \"-c\", {script:?}]\n")
}

/// Whether a process in `/proc` has this word among its arguments.
fn has_word(process: &std::path::Path, word: &str) -> bool {
    let words = std::fs::read(process.join("cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).any(|other| other == word.as_bytes())
}

#[test]
fn what_a_command_leaves_behind_ends_with_the_run() {
    let mark = format!("1{}.25", std::process::id());
    let report = done(&runaway(&mark), "500ms");
    assert!(report.tasks[0].program.is_some_and(|pid| pid > 0));
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| has_word(&entry.path(), &mark));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_program_that_is_ended_by_any_signal_takes_runaways_along() {
    for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGHUP] {
        let mark = format!("2{}.{signal}", std::process::id());
        assert_ends_all(&runaway(&mark), signal, |process, _| has_word(process, &mark));
    }
}

/// Kills a program in the midst of a run; nothing of the run is left then.
fn assert_dies_with_its_program(tables: &str) {
    assert_ends_all(tables, libc::SIGKILL, leads_to);
}

/// Ends a program in the midst of a run by a signal; no process is left then that is part of it.
fn assert_ends_all(tables: &str, signal: i32, is_part: impl Fn(&std::path::Path, i32) -> bool) {
    use std::io::Read;
    let (mut reader, writer) = std::io::pipe().unwrap();
    let workload = workload(tables, "1000s");
    let settings = settings();
    // SAFETY: the child runs the workload and nothing else of the test.
    let program = unsafe { libc::fork() };
    if program == 0 {
        // The test may have been started by a program that ignores it.
        // SAFETY: plain numbers.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        let _ = run(&workload, &settings, &mut Telltale(writer));
        // SAFETY: as above.
        unsafe { libc::_exit(0) };
    }
    drop(writer);
    let mut number = [0; 4];
    reader.read_exact(&mut number).unwrap();
    let group = i32::from_ne_bytes(number);
    reader.read_exact(&mut number).unwrap();
    // SAFETY: our own child, and plain numbers.
    unsafe {
        libc::kill(program, signal);
        libc::waitpid(program, std::ptr::null_mut(), 0);
    }
    let alive = || std::fs::read_dir("/proc").unwrap().flatten().any(|entry| is_part(&entry.path(), group));
    let patience = 1000;
    let tries = (0..patience).take_while(|_| alive()).map(|_| std::thread::sleep(std::time::Duration::from_millis(10)));
    assert!(tries.count() < patience, "something of the run is still there");
}

/// Whether a process in `/proc` is alive and belongs to a process group.
fn leads_to(process: &std::path::Path, group: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(process.join("stat")) else { return false };
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let state = fields.next();
    state.is_some_and(|state| state != "Z") && fields.nth(1).and_then(|field| field.parse().ok()) == Some(group)
}

/// Without an end of its own a run ends with its last task.
fn open_ended(tasks: &str) -> Result<Report, LoadError> {
    let text = format!("name = \"t\"\n[machine]\ncpus = 1\n{tasks}");
    run(&Scenario::parse(&text, "test").unwrap().compile().unwrap(), &settings(), &mut Patient)
}

#[test]
fn a_run_without_a_duration_ends_with_its_last_task() {
    let report = open_ended(
        "[[task]]\nname = \"a\"\nlimit = 3\narrivals = \"2ms\"\n\
         once = [{ wait = \"token\" }, { compute = \"100us\" }, { spawn = \"child\" }]\n\
         [[task]]\nname = \"child\"\nspawned = true\nonce = [{ sleep = \"100ms\" }]\n\
         [[task]]\nname = \"giver\"\nonce = [{ sleep = \"60ms\" }, { post = \"token\", times = 3 }]\n",
    )
    .unwrap();
    assert_eq!((report.tasks.len(), report.dropped, report.partial), (7, 0, false));
    assert_eq!(report.length_ns, report.tasks.iter().map(|task| task.ended_ns).max().unwrap());
    assert!(report.length_ns >= 160_000_000, "{}", report.length_ns);
}

#[test]
fn tasks_that_wait_for_ever_end_a_run_without_a_duration() {
    let error = open_ended(
        "[[task]]\nname = \"waiter\"\ncount = 3\nonce = [{ wait = \"token\" }]\n\
         [[task]]\nname = \"giver\"\nkind = \"process\"\nonce = [{ post = \"token\" }, { recv = \"news\" }]\n\
         [[task]]\nname = \"teller\"\nonce = [{ sleep = \"60ms\" }, { wait = \"token\" }, { send = \"news\" }]\n",
    )
    .unwrap_err();
    assert!(matches!(error, LoadError::Standstill(_)), "{error}");
    let told = error.to_string();
    for part in ["of `waiter` wait", "a task of `giver` waits for a message in the channel `news`"] {
        assert!(told.contains(part), "{told}");
    }
}

/// No task sends the messages from outside, and every request is answered once, by the first free worker.
#[test]
fn messages_come_from_outside() {
    let tables = "[[source]]\nchannel = \"q\"\narrivals = \"exp(1ms)\"\nlimit = 40\n\
                  [[task]]\nname = \"thread\"\ncount = 2\nloop = [{ recv = \"q\" }, { compute = \"100us\" }]\n\
                  [[task]]\nname = \"process\"\nkind = \"process\"\nloop = [{ recv = \"q\" }, { compute = \"100us\" }]\n";
    let report = done(tables, "1s");
    let workload = workload(tables, "1s");
    let times: Vec<u64> = workload.sources[0].times(1).map(Time::ns).collect();
    assert_eq!((report.tasks.len(), report.requests.len(), report.waiting.len(), times.len()), (3, 40, 0, 40));
    let mut born: Vec<(u32, u64)> =
        report.requests.iter().map(|request| (request.taken.unwrap().request, request.intended_ns)).collect();
    born.sort_unstable();
    assert_eq!(born, (0..).zip(times).collect::<Vec<_>>(), "each at its instant, as in the simulator");
    for request in &report.requests {
        assert!(request.answered && request.demand_ns == 100_000, "{request:?}");
        assert!(request.intended_ns <= request.begin_ns && Some(request.begin_ns) < request.end_ns, "{request:?}");
        assert_eq!(request.taken.unwrap().from, None);
    }
}

#[test]
fn requests_keep_their_birth_from_task_to_task() {
    let report = &done(
        "[[task]]\nname = \"client\"\nonce = [{ repeat = 10, steps = [{ send = \"q\" }, { compute = \"50us\" }] }]\n\
         [[task]]\nname = \"first\"\ncount = 2\nloop = [{ recv = \"q\" }, { compute = \"100us\" }, { send = \"r\" }]\n\
         [[task]]\nname = \"second\"\nkind = \"process\"\nloop = [{ recv = \"r\" }, { compute = \"200us\" }, { post = \"s\" }]\n\
         [[task]]\nname = \"third\"\nloop = [{ wait = \"s\" }]\n",
        "1s",
    );
    let of = |role: u32| report.requests.iter().filter(move |r| report.tasks[r.task as usize].role == role);
    assert_eq!([0, 1, 2, 3].map(|role| of(role).count()), [1, 10, 10, 10]);
    for last in of(3) {
        let same = |request: &&schedlab_load::RequestReport| {
            request.taken.unwrap().request == last.taken.unwrap().request && request.intended_ns == last.intended_ns
        };
        let (first, second) = (of(1).find(same).unwrap(), of(2).find(same).unwrap());
        assert!(last.answered && !first.answered && !second.answered);
        assert!(first.end_ns.unwrap() <= second.taken.unwrap().queued_ns && second.end_ns <= Some(last.begin_ns));
        assert_eq!((first.demand_ns, second.demand_ns, last.demand_ns), (100_000, 300_000, 300_000));
    }
}

#[test]
fn what_nobody_takes_is_told() {
    let report = done(
        "[[source]]\nchannel = \"q\"\nat = [\"1ms\", \"2ms\", \"3ms\"]\n\
         [[task]]\nname = \"worker\"\nloop = [{ recv = \"q\" }, { compute = \"1ms\" }, { sleep = \"10s\" }]\n",
        "50ms",
    );
    assert_eq!((report.requests.len(), report.waiting.len()), (1, 2));
    assert_eq!(report.waiting[1].queued_ns, 3_000_000);
}

#[test]
fn a_channel_with_two_kinds_of_senders_is_refused() {
    let tables = "[[source]]\nchannel = \"q\"\narrivals = \"1ms\"\n\
                  [[task]]\nname = \"worker\"\nloop = [{ recv = \"q\" }, { compute = \"1ms\" }]\n\
                  [[task]]\nname = \"client\"\nloop = [{ sleep = \"1ms\" }, { send = \"q\" }]\n";
    let error = run(&workload(tables, "50ms"), &settings(), &mut Patient).unwrap_err().to_string();
    assert!(error.contains("from outside and from task `client`"), "{error}");
}

#[test]
fn a_periodic_task_tells_its_releases() {
    let period = "{ period = \"30ms\", deadline = \"10ms\" }";
    let report = done(&format!("[[task]]\nname = \"a\"\nonce = [{period}, {{ sleep = \"65ms\" }}, {period}]\n"), "20s");
    let [first, second] = report.releases[..] else { panic!("{:?}", report.releases) };
    assert_eq!((first.release_ns, first.deadline_ns, first.skipped), (30_000_000, 40_000_000, 0));
    // Not before 95 ms: the releases of 60 and 90 ms are over, and more on a machine that is busy.
    assert!(second.at_ns >= 95_000_000 && second.skipped >= 2, "{second:?}");
    assert_eq!(second.release_ns, 30_000_000 * u64::from(2 + second.skipped));
    assert_eq!(second.deadline_ns, second.release_ns + 10_000_000);
}
