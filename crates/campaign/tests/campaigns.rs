//! Cases to outcomes, with what is kept on the way.

use schedlab_campaign::{Cache, Case, Ear, Errors, Hearing, Keeps, Made, Place, RunSet, Runner, Seen, seeds};
use schedlab_model::ids::CpuId;
use schedlab_model::scenario::Scenario;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, Sink};
use schedlab_model::workload::{Step, Workload};
use schedlab_policy::PolicySpec;
use schedlab_venue::{ErrorClass, Monitor, Policy, VenueName};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn workload(cpus: u32) -> Workload {
    let text = format!(
        "name = \"w\"\n[machine]\ncpus = {cpus}\n[[task]]\nname = \"t\"\ncount = 3\nstart_on = 0\n\
         loop = [{{ compute = \"exp(3ms)\" }}, {{ sleep = \"2ms\" }}]\n[run]\nduration = \"300ms\"\n"
    );
    Scenario::parse(&text, "test").unwrap().compile().unwrap()
}

/// A case for each policy of a list, each with `runs` runs.
fn cases(workload: &Workload, policies: &str, runs: u32) -> Vec<Case> {
    let workload = Arc::new(workload.clone());
    let case = |spec: &PolicySpec| Case {
        workload: workload.clone(),
        scenario_hash: "00".into(),
        policy: Policy::find(spec).unwrap(),
        place: Place::new(VenueName::Sim, None, None),
        seeds: seeds(1, runs),
        executor: None,
        check: true,
        costs: false,
        ears: Vec::new(),
        traces: Vec::new(),
        keeps: Keeps::ToGoOn,
    };
    PolicySpec::parse_list(policies).unwrap().iter().map(case).collect()
}

fn carry_out(cases: &[Case], cache: Option<&Cache>, threads: usize, monitor: &Monitor) -> Vec<Made> {
    Runner::new(cache, threads, monitor).carry_out(cases, Errors::EndAll).unwrap()
}

fn seen(outcome: &Made) -> &[Seen] {
    if let Made::Ran(seen) = outcome { seen } else { panic!("{outcome:?}") }
}

/// How many files lie in a folder and below it.
fn files(folder: &Path) -> usize {
    let count = |path: &Path| if path.is_dir() { files(path) } else { 1 };
    fs::read_dir(folder).unwrap().map(|entry| count(&entry.unwrap().path())).sum()
}

#[test]
fn outcomes_come_in_order_whatever_the_number_of_threads() {
    let cases = cases(&workload(2), "rr,rr:quantum=1ms,ps,ideal-fcfs", 4);
    let alone = carry_out(&cases, None, 1, &Monitor::default());
    let monitor = Monitor::default();
    let together = carry_out(&cases, None, 5, &monitor);
    assert_eq!((monitor.done_ns(), alone.len()), (4 * 4 * 300_000_000, 4));
    for (case, (a, b)) in cases.iter().zip(alone.iter().zip(&together)) {
        assert!(seen(a).iter().zip(seen(b)).all(|(a, b)| a.run.result == b.run.result), "{}", case.policy.label);
        let set = RunSet::of(seen(a).to_vec(), 4);
        assert_eq!((set.result.policy(), set.runs.len()), (&case.policy.info, 4));
        assert_eq!(set.result.seeds(), case.seeds);
        assert!(set.result.roles()[0].metrics.value("response_ns.mean").unwrap().interval.is_some());
    }
}

#[test]
fn what_has_not_begun_is_missing_after_a_stop() {
    let monitor = Monitor::default();
    monitor.stop();
    let outcomes = carry_out(&cases(&workload(1), "rr,ps", 3), None, 1, &monitor);
    assert!(matches!(outcomes[1], Made::NotBegun));
    assert_eq!(seen(&outcomes[0]).len(), 1, "the first is made, so that there is something");
    assert!(RunSet::of(seen(&outcomes[0]).to_vec(), 3).result.is_partial());
}

/// Tasks that never block starve the others under fcfs, which a kernel does not suffer for more than 30 s.
fn starving() -> Workload {
    let mut workload = workload(1);
    workload.roles[0].program.steps.truncate(2);
    workload.roles[0].program.steps.push(Step::RequestEnd);
    workload.run.duration = Time::from_s(31);
    workload
}

#[test]
fn a_policy_that_fails_does_not_touch_the_others() {
    for threads in [1, 4] {
        let outcomes = carry_out(&cases(&starving(), "rr,fcfs,ps", 2), None, threads, &Monitor::default());
        let [Made::Ran(_), Made::Failed(error), Made::Ran(_)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
        assert_eq!(error.class(), ErrorClass::Failed);
        assert!(error.to_string().starts_with("policy fcfs: the policy failed at 30s"), "{error}");
    }
}

#[test]
fn an_error_ends_all_or_its_own_case() {
    let mut workload = workload(2);
    // Fluid disciplines divide all CPUs among all tasks.
    workload.roles[0].cpus = [CpuId(0)].into_iter().collect();
    let cases = cases(&workload, "rr,ps,fb", 2);
    for threads in [1, 4] {
        let monitor = Monitor::default();
        let runner = Runner::new(None, threads, &monitor);
        let error = runner.carry_out(&cases, Errors::EndAll).unwrap_err();
        assert_eq!(error.class(), ErrorClass::WrongInput);
        assert!(error.to_string().starts_with("policy ps: "), "the first of several is told: {error}");
        let outcomes = runner.carry_out(&cases, Errors::EndCases).unwrap();
        assert!(matches!(outcomes.as_slice(), [Made::Ran(_), Made::Failed(_), Made::Failed(_)]), "{outcomes:?}");
    }
}

/// Counts events, and says under which name it was asked.
struct Counter(&'static str);

struct Count(u64);

impl Ear for Counter {
    fn name(&self) -> String {
        self.0.into()
    }
    fn listen<'a>(&self, _: &'a Workload) -> Box<dyn Hearing + 'a> {
        Box::new(Count(0))
    }
}

impl Hearing for Count {
    fn end(self: Box<Self>) -> Value {
        json!(self.0)
    }
}

impl Sink for Count {
    fn event(&mut self, _: &Event) {
        self.0 += 1;
    }
}

#[test]
fn what_is_kept_is_what_was_seen_to_the_last_bit() {
    let folder = tempfile::tempdir().unwrap();
    let mut cases = cases(&workload(2), "mlfq,cfs", 3);
    cases.iter_mut().for_each(|case| case.ears = vec![Arc::new(Counter("all"))]);
    let cache = Cache::open(folder.path()).unwrap();
    let first = carry_out(&cases, Some(&cache), 2, &Monitor::default());
    let monitor = Monitor::default();
    let runner = Runner::new(Some(&cache), 2, &monitor);
    let again = runner.carry_out(&cases, Errors::EndAll).unwrap();
    assert_eq!((runner.known().runs, runner.known().measured_since), (6, None));
    assert_eq!(monitor.done_ns(), 6 * 300_000_000, "what is known is done");
    for (a, b) in first.iter().zip(&again).flat_map(|(a, b)| seen(a).iter().zip(seen(b))) {
        assert!(a.since.is_none() && b.since.is_some());
        assert_eq!((&a.run.result, &a.run.curves, &a.heard), (&b.run.result, &b.run.curves, &b.heard));
        assert_eq!(a.run.response_batches[0].means(), b.run.response_batches[0].means());
        assert!(a.heard["all"].as_u64().unwrap() > 100);
        assert_eq!(serde_json::to_string(&a.run.result).unwrap(), serde_json::to_string(&b.run.result).unwrap());
    }
}

#[test]
fn a_stopped_campaign_goes_on_where_it_was_and_keeps_nothing_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path()).unwrap();
    let cases = cases(&workload(1), "rr,mlfq", 3);
    let stopped = Monitor::default();
    stopped.stop();
    let mut long = workload(1);
    long.run.duration = Time::from_s(1000);
    let first = carry_out(&self::cases(&long, "rr", 1), Some(&cache), 1, &stopped);
    assert!(seen(&first[0])[0].run.result.partial);
    let program = files(folder.path());
    assert_eq!(program, 1, "the hash of the program, and no run that was cut short");
    carry_out(&cases[..1], Some(&cache), 1, &Monitor::default());
    let monitor = Monitor::default();
    let runner = Runner::new(Some(&cache), 1, &monitor);
    let all = runner.carry_out(&cases, Errors::EndAll).unwrap();
    assert_eq!((runner.known().runs, all.iter().map(|outcome| seen(outcome).len()).sum::<usize>()), (3, 6));
    assert_eq!(files(folder.path()), program + 6);
    let forgetful = cache.forgetful();
    let runner = Runner::new(Some(&forgetful), 1, &monitor);
    runner.carry_out(&cases, Errors::EndAll).unwrap();
    assert_eq!(runner.known().runs, 0);
}

#[test]
fn whoever_asks_for_more_makes_the_run_again_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path()).unwrap();
    let known = |ears: &[&'static str]| {
        let mut cases = cases(&workload(1), "rr", 1);
        cases[0].ears = ears.iter().map(|name| Arc::new(Counter(name)) as Arc<dyn Ear>).collect();
        let monitor = Monitor::default();
        let runner = Runner::new(Some(&cache), 1, &monitor);
        runner.carry_out(&cases, Errors::EndAll).unwrap();
        runner.known().runs
    };
    assert_eq!([known(&["a"]), known(&["b"]), known(&["a"]), known(&["b", "a"]), known(&[])], [0, 0, 1, 1, 1]);
}

#[test]
fn runs_that_differ_in_anything_have_names_of_their_own() {
    let base = || cases(&workload(1), "rr", 1).remove(0);
    let identity = |change: &dyn Fn(&mut Case)| {
        let mut case = base();
        change(&mut case);
        case.identity(case.seeds[0])
    };
    let other = identity(&|_| {});
    assert_eq!(other, identity(&|case| case.ears = vec![Arc::new(Counter("a"))]), "listeners change nothing");
    let policy = |text: &str| Policy::find(&PolicySpec::parse(text).unwrap()).unwrap();
    let changes: [&dyn Fn(&mut Case); 5] = [
        &|case| case.seeds = vec![2],
        &|case| case.scenario_hash = "01".into(),
        &|case| case.policy = policy("rr:quantum=7ms"),
        &|case| case.executor = Some(schedlab_venue::Executor::Interpreter),
        &|case| case.check = false,
    ];
    assert!(changes.iter().all(|change| identity(change) != other));
}
