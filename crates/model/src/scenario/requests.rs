//! Which channels and semaphores carry requests, and where the requests of a program begin and end.
//!
//! A pass of a `loop` that waits for work is not at work. So the first question is where a program waits for *work* and
//! where for an *answer*: what it receives before it has given anything itself (sent, posted, spawned) is work; what it
//! receives afterwards belongs to the request that it is at.

use super::{
    Scenario, Step,
    objects::{ObjectKind, object_of},
    program::RoleInfo,
    step::{Condition, Effect},
};
use crate::{ids::RoleId, workload::Work};
use std::collections::{BTreeMap, BTreeSet};

/// An object by kind and name.
type Object<'s> = (ObjectKind, &'s str);

/// The objects that carry requests.
pub(crate) struct Works<'s>(BTreeMap<Object<'s>, Work>);

impl<'s> Works<'s> {
    /// Finds them.
    pub fn find(scenario: &'s Scenario, roles: &[RoleInfo<'s>]) -> Works<'s> {
        let mut carriers: BTreeSet<Object> =
            scenario.sources.iter().map(|s| (ObjectKind::Channel, &*s.channel)).collect();
        for role in roles.iter().filter(|role| waits_for_work(role)) {
            let mut head = Head { given: false, waits_only: true };
            taken_for_work(role.body, &mut head, &mut |step, at_head| {
                let object = object_of(step).expect("only what takes from an object is told");
                if object.0 == ObjectKind::Channel || is_work(scenario, roles, object.1, at_head) {
                    carriers.insert(object);
                }
            });
        }
        let works = carriers.iter().filter_map(|&object| {
            let role = roles.iter().position(|role| takes(role, object))?;
            Some((object, Work { role: RoleId(role as u32), hands_on: !goes_round(roles, object, &carriers) }))
        });
        Works(works.collect())
    }

    /// What an object carries.
    pub fn of(&self, kind: ObjectKind, name: &str) -> Option<Work> {
        self.0.iter().find(|(object, _)| **object == (kind, name)).map(|(_, work)| *work)
    }

    /// Whether a step takes requests.
    pub fn takes(&self, step: &Step) -> bool {
        matches!(step.effect(), Effect::Takes(kind, name, _) if self.of(kind, name).is_some())
    }

    /// Whether a step waits for something from elsewhere and is no part of any request that has not begun.
    pub fn waits(&self, step: &Step) -> bool {
        match step.effect() {
            Effect::Sleeps(_) | Effect::Paces | Effect::Meets(_) => true,
            Effect::Takes(..) => self.takes(step),
            Effect::Repeats(_, steps) => steps.iter().all(|step| self.waits(step)),
            Effect::Conditions(Condition::Suspends(_)) => true,
            Effect::Conditions(_)
            | Effect::Works(_)
            | Effect::Uses(_)
            | Effect::Yields
            | Effect::Gives(..)
            | Effect::Locks(_)
            | Effect::Unlocks(_)
            | Effect::Changes(_)
            | Effect::Spawns(..)
            | Effect::Answers
            | Effect::Exits => false,
        }
    }

    /// How many steps at the head only wait. Taking a mutex to wait for a condition variable is a part of that, and so is
    /// releasing it.
    pub fn leading(&self, steps: &[Step]) -> usize {
        let mut count = 0;
        while let Some(step) = steps.get(count) {
            count +=
                match (step.effect(), steps.get(count + 1).map(Step::effect), steps.get(count + 2).map(Step::effect)) {
                    (Effect::Locks(lock), Some(Effect::Conditions(Condition::Waits(_, mutex))), then)
                        if lock == mutex =>
                    {
                        2 + matches!(then, Some(Effect::Unlocks(unlock)) if unlock == lock) as usize
                    }
                    _ if self.waits(step) => 1,
                    _ => break,
                };
        }
        count
    }

    /// Whether there is a step among these, at any depth, of which this is true.
    pub fn any(steps: &[Step], is: &impl Fn(&Step) -> bool) -> bool {
        steps.iter().any(|step| match step {
            Step::Repeat { steps, .. } => Works::any(steps, is),
            step => is(step),
        })
    }

    /// Whether the requests of a role are those that it takes, and its passes are none.
    pub fn serves(&self, role: &RoleInfo) -> bool {
        let mut found = false;
        let mut head = Head { given: false, waits_only: true };
        taken_for_work(role.body, &mut head, &mut |step, _| found |= self.takes(step));
        found && waits_for_work(role)
    }
}

/// Whether steps do nothing but sleep.
pub(crate) fn only_sleeps(step: &Step) -> bool {
    match step {
        Step::Sleep { .. } | Step::Until { .. } | Step::Period { .. } | Step::Suspend { .. } => true,
        Step::Repeat { steps, .. } => steps.iter().all(only_sleeps),
        _ => false,
    }
}

/// One that arrives has its request with it.
fn waits_for_work(role: &RoleInfo) -> bool {
    !role.birth.arrives()
}

/// What a program has done when it comes to a step.
struct Head {
    /// Something for others.
    given: bool,
    /// Nothing but to wait.
    waits_only: bool,
}

/// Shows every step that takes before anything was given, and whether it is at the head of the pass.
fn taken_for_work<'s>(steps: &'s [Step], head: &mut Head, show: &mut impl FnMut(&'s Step, bool)) {
    for step in steps {
        match step.effect() {
            Effect::Takes(..) if !head.given => show(step, head.waits_only),
            Effect::Takes(..) | Effect::Sleeps(_) | Effect::Paces | Effect::Meets(_) => {}
            Effect::Repeats(_, steps) => taken_for_work(steps, head, show),
            Effect::Conditions(condition) if condition.waits() => {}
            Effect::Conditions(_) | Effect::Gives(..) | Effect::Spawns(..) => {
                (head.given, head.waits_only) = (true, false)
            }
            Effect::Works(_)
            | Effect::Uses(_)
            | Effect::Yields
            | Effect::Locks(_)
            | Effect::Unlocks(_)
            | Effect::Changes(_)
            | Effect::Answers
            | Effect::Exits => head.waits_only = false,
        }
    }
}

/// Whether a semaphore counts work and not places: the tasks that take tickets give them back, and free places are
/// there from the start and asked for when there is something to put there.
fn is_work(scenario: &Scenario, roles: &[RoleInfo], name: &str, at_head: bool) -> bool {
    let object = (ObjectKind::Semaphore, name);
    let is_ticket = roles.iter().any(|role| takes(role, object) && gives(role, object));
    let initial = scenario.semaphore.get(name).map_or(0, |semaphore| semaphore.initial);
    !is_ticket && (at_head || initial == 0)
}

fn takes(role: &RoleInfo, object: Object) -> bool {
    let takes = |step: &Step| matches!(step.effect(), Effect::Takes(kind, name, _) if (kind, name) == object);
    role.steps.iter().any(|flat| takes(flat.step))
}

fn gives(role: &RoleInfo, object: Object) -> bool {
    let gives = |step: &Step| matches!(step.effect(), Effect::Gives(kind, name, _) if (kind, name) == object);
    role.steps.iter().any(|flat| gives(flat.step))
}

/// Whether what a task sends to an object may come back to it.
fn goes_round(roles: &[RoleInfo], object: Object, carriers: &BTreeSet<Object>) -> bool {
    let mut reached = BTreeSet::from([object]);
    let mut open = vec![object];
    while let Some(from) = open.pop() {
        for role in roles.iter().filter(|role| takes(role, from)) {
            for &next in carriers.iter().filter(|&&next| gives(role, next)) {
                if next == object {
                    return true;
                }
                if reached.insert(next) {
                    open.push(next);
                }
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;
    use crate::workload::{Step, Workload};

    fn workload(tables: &str) -> Workload {
        let text = format!("name = \"t\"\n[machine]\ncpus = 1\n[run]\nduration = \"1s\"\n{tables}");
        Scenario::parse(&text, "t").unwrap().compile().unwrap_or_else(|e| panic!("{tables}: {e}"))
    }

    /// Role `a` with this program, and others that feed it and take from it.
    fn with(program: &str, others: &str) -> Workload {
        workload(&format!("[[task]]\nname = \"a\"\n{program}\n{others}"))
    }

    /// The program of role `a` in short: `<` and `>` for its own request, `!` for an answer, the first letter of all else.
    fn short(workload: &Workload) -> String {
        let letter = |step: &Step| match step {
            Step::RequestBegin => '<',
            Step::RequestEnd => '>',
            Step::Answer => '!',
            Step::RepeatBegin { .. } => '(',
            Step::RepeatEnd { .. } => ')',
            step => format!("{step:?}").to_lowercase().chars().next().unwrap(),
        };
        workload.roles[0].program.steps.iter().map(letter).collect()
    }

    const FEED: &str = "[[source]]\nchannel = \"q\"\narrivals = \"exp(1ms)\"\n";
    const POST: &str = "[[task]]\nname = \"poster\"\nloop = [{ sleep = \"1ms\" }, { post = \"s\" }]\n";
    const REPLY: &str =
        "[[task]]\nname = \"server\"\nloop = [{ recv = \"q\" }, { compute = \"1ms\" }, { send = \"reply\" }]\n";

    #[test]
    fn waiting_for_work_is_no_part_of_a_request() {
        let compute = "{ compute = \"1ms\" }";
        let sleep = "{ sleep = \"1ms\" }";
        let recv = "{ recv = \"q\" }";
        for (steps, others, expected) in [
            (format!("{compute}, {sleep}"), "", "<c>s"),
            (format!("{sleep}, {compute}"), "", "s<c>"),
            (
                format!("{{ repeat = 2, steps = [{sleep}] }}, {compute}, {{ repeat = 2, steps = [{sleep}] }}"),
                "",
                "(s)<c>(s)",
            ),
            (format!("{{ barrier = \"b\" }}, {compute}, {{ barrier = \"b\" }}"), "", "b<cb>"),
            (format!("{recv}, {compute}"), FEED, "rc!"),
            (format!("{recv}, {compute}, {sleep}"), FEED, "rc!s"),
            (format!("{sleep}, {recv}, {recv}, {compute}"), FEED, "srrc!"),
            (format!("{{ repeat = 3, steps = [{recv}] }}, {compute}"), FEED, "(r)c!"),
            (format!("{{ repeat = 3, steps = [{recv}, {compute}] }}, {sleep}"), FEED, "(!rc)!s"),
            // Going back for work ends what the worker has, wherever the pass begins.
            (format!("{recv}, {compute}, {recv}, {compute}"), FEED, "rc!rc!"),
            (format!("{compute}, {recv}"), FEED, "c!r"),
            (format!("{compute}, {sleep}, {recv}, {compute}"), FEED, "c!src!"),
            (format!("{recv}, {compute}, {{ answer = true }}, {compute}"), FEED, "rc!c!"),
            (recv.to_string(), FEED, "r!"),
            (format!("{{ wait = \"s\" }}, {compute}"), POST, "wc!"),
            // What comes after something was given is an answer.
            (format!("{sleep}, {{ send = \"q\" }}, {{ recv = \"reply\" }}"), REPLY, "s<sr>"),
            (format!("{compute}, {{ answer = true }}, {compute}"), "", "<c!c!"),
        ] {
            assert_eq!(short(&with(&format!("loop = [{steps}]"), others)), expected, "{steps}");
        }
    }

    #[test]
    fn a_pass_of_a_repeat_may_be_a_request() {
        let repeat = |steps: &str| format!("{{ repeat = 3, request = true, steps = [{steps}] }}");
        let (work, sleep) = ("{ compute = \"1ms\" }", "{ sleep = \"1ms\" }");
        let all = [work, sleep].join(", ");
        assert_eq!(short(&with(&format!("once = [{}, {work}]", repeat(&all)), "")), "(<c>s)c");
        assert_eq!(short(&with(&format!("loop = [{}]", repeat(&format!("{sleep}, {work}"))), "")), "(s<c>)");
        assert_eq!(short(&with(&format!("once = [{}, {work}]", repeat(sleep)), "")), "(s)c");
        let served = format!("loop = [{{ recv = \"q\" }}, {}]", repeat(work));
        assert_eq!(short(&with(&served, FEED)), "r(c)!", "its requests are those that it takes");
        let wrong = [
            (format!("arrivals = \"1ms\"\nonce = [{}]", repeat(work)), "each arrival is one request"),
            (format!("once = [{}]", repeat(&format!("{work}, {}", repeat(work)))), "no part of another"),
        ];
        for (program, part) in wrong {
            let text = format!(
                "name = \"t\"\n[machine]\ncpus = 1\n[run]\nduration = \"1s\"\n[[task]]\nname = \"a\"\n{program}\n"
            );
            let error = Scenario::parse(&text, "t").unwrap().compile().unwrap_err().to_string();
            assert!(error.contains(part), "{program}: {error}");
        }
    }

    #[test]
    fn tickets_and_free_places_are_no_work() {
        let ticket = "loop = [{ wait = \"s\" }, { compute = \"1ms\" }, { post = \"s\" }]\n[semaphore.s]\ninitial = 2";
        assert_eq!(short(&with(ticket, "")), "<wcp>");
        let places =
            "loop = [{ compute = \"1ms\" }, { wait = \"free\" }, { post = \"used\" }]\n[semaphore.free]\ninitial = 4";
        let taker =
            "[[task]]\nname = \"taker\"\nloop = [{ wait = \"used\" }, { compute = \"1ms\" }, { post = \"free\" }]";
        let workload = with(places, taker);
        assert_eq!(short(&workload), "<cwp>");
        let works: Vec<bool> = workload.objects.semaphores.iter().map(|s| s.work.is_some()).collect();
        assert_eq!(works, [false, true], "free places are none, used ones are");
        let jobs = "loop = [{ wait = \"s\" }, { compute = \"1ms\" }]\n[semaphore.s]\ninitial = 2";
        assert_eq!(short(&with(jobs, POST)), "wc!", "jobs that are there at the start are work");
    }

    #[test]
    fn an_arrival_and_a_child_have_their_requests_with_them() {
        let arrival = "arrivals = \"exp(1ms)\"\nonce = [{ sleep = \"1ms\" }, { recv = \"q\" }, { compute = \"1ms\" }]";
        assert_eq!(short(&with(arrival, FEED)), "<src!");
        let once = "once = [{ recv = \"q\" }, { compute = \"1ms\" }, { exit = true }]";
        assert_eq!(short(&with(once, FEED)), "rc!e");
        let parent = "loop = [{ spawn = \"child\" }, { wait = \"s\" }]";
        let child = "[[task]]\nname = \"child\"\nspawned = true\nonce = [{ compute = \"1ms\" }, { post = \"s\" }]";
        assert_eq!(short(&with(parent, child)), "<sw>");
    }

    #[test]
    fn requests_go_on_to_the_next_pool_but_not_round_in_a_ring() {
        let stage = |name: &str, from: &str, to: &str| {
            format!(
                "[[task]]\nname = \"{name}\"\nloop = [{{ recv = \"{from}\" }}, {{ compute = \"1ms\" }}, {{ send = \"{to}\" }}]\n"
            )
        };
        let last = "[[task]]\nname = \"last\"\nloop = [{ recv = \"r\" }, { compute = \"1ms\" }]\n";
        let line = workload(&format!("{}{last}{FEED}", stage("first", "q", "r")));
        assert!(line.objects.channels.iter().all(|channel| channel.work.unwrap().hands_on));
        assert_eq!(line.objects.channels[1].work.unwrap().role.0, 1);
        let ring = workload(&format!("{}{}{FEED}", stage("first", "q", "r"), stage("second", "r", "q")));
        assert!(ring.objects.channels.iter().all(|channel| !channel.work.unwrap().hands_on));
    }

    #[test]
    fn sources_say_what_is_wrong() {
        let pool = "[[task]]\nname = \"a\"\nloop = [{ recv = \"q\" }, { compute = \"1ms\" }]\n";
        let error = |source: &str| {
            let text =
                format!("name = \"t\"\n[machine]\ncpus = 1\n[run]\nduration = \"1s\"\n{pool}[[source]]\n{source}");
            Scenario::parse(&text, "t").and_then(|scenario| scenario.compile()).unwrap_err().to_string()
        };
        for (source, part) in [
            ("channel = \"qq\"\narrivals = \"1ms\"", "no task receives from `qq`: did you mean `q`?"),
            ("channel = \"q\"", "when do messages come?"),
            ("channel = \"q\"\narrivals = \"0ms\"", "never end"),
            ("channel = \"q\"\narrivals = \"1ms\"\nat = [\"1ms\"]", "keep one"),
            ("channel = \"q\"\nat = [\"2ms\", \"1ms\"]", "the instants ascend"),
            ("channel = \"q\"\nat = [\"1ms\"]\nlimit = 2", "remove `limit`"),
            ("channel = \"q\"\narrivals = \"1ms\"\nmessages = 0", "no message at all"),
            ("channel = \"q\"\narrivals = \"1ms\"\nstart = \"1s\"", "when the run of 1s is over"),
            ("channel = \"q\"\narrivals = \"1ms\"\n[[source]]\nchannel = \"q\"\narrivals = \"1ms\"", "two sources `q`"),
            ("channel = \"q\"\narivals = \"1ms\"", "did you mean `arrivals`?"),
        ] {
            let error = error(source);
            assert!(error.contains(part), "{source}: {error}");
        }
    }
}
