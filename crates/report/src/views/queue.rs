//! Why a task waited.

use super::{heading, waker};
use crate::{Column, Style, Table, wrap};
use schedlab_model::count::numbered;
use schedlab_model::names::{Label, Names};
use schedlab_model::time::Time;
use schedlab_model::trace::{Reason, Untraced};
use schedlab_views::WaitEnd;
use schedlab_views::queue::{Came, Queue, Rival, What};

/// The page: the wake-up, the tasks that were there, and what happened until the task ran.
pub fn show(view: &Queue, trace: &str, style: Style) -> String {
    let names = view.roster().names();
    let (wait, task) = (view.wait(), names.show(view.wait().task));
    let question = format!("why {task} waited for {} from {} on", wait.length(), wait.woken);
    let mut page = heading(trace, &question, style) + "\n" + &beginning(view, names) + &ending(view);
    page += &format!("\n{}\n", style.bold(&format!("What was on the run queue of cpu{}", wait.target)));
    if view.rivals().is_empty() {
        page += "Nothing else.\n";
    } else {
        page += &rivals(view, names).show(style);
    }
    if view.more_rivals() > 0 {
        page += &format!("and {}\n", numbered(view.more_rivals() as u64, "more task", "more tasks"));
    }
    page += &rest(view);
    if !view.steps().is_empty() {
        page += &format!("\n{}\n{}", style.bold("What happened"), steps(view, names).show(style));
    }
    if view.more_steps() > 0 {
        page += &format!("and {}\n", numbered(view.more_steps(), "more step", "more steps"));
    }
    page
}

fn beginning(view: &Queue, names: &Names) -> String {
    let wait = view.wait();
    let status = view.status().map(|word| format!(" with status {word}")).unwrap_or_default();
    let elsewhere = view.elsewhere();
    let text = format!(
        "woken by {}, placed on cpu{}{status}; on the other CPUs {} ran, {} waited, {}",
        waker(wait, names),
        wait.target,
        numbered(elsewhere.running as u64, "task", "tasks"),
        elsewhere.waiting,
        numbered(elsewhere.idle as u64, "CPU was idle", "CPUs were idle"),
    );
    let text = match elsewhere.untraced as u64 {
        0 => text,
        cpus => format!("{text}, {} what was not recorded", numbered(cpus, "CPU ran", "CPUs ran")),
    };
    wrap(&format!("{}: ", wait.woken), 4, &text)
}

fn ending(view: &Queue) -> String {
    match view.wait().end {
        WaitEnd::Ran { at, cpu } => format!("{at}: ran on cpu{cpu}\n"),
        WaitEnd::Exited { at } => format!("{at}: ended without having run\n"),
        WaitEnd::Open { at } => format!("{at}: the trace ends, it had not run\n"),
        WaitEnd::Untold { at } => format!("{at}: events are missing, when it ran is not known\n"),
    }
}

fn rivals(view: &Queue, names: &Names) -> Table {
    let rivals = view.rivals();
    let column = |cell: &dyn Fn(&Rival) -> String| rivals.iter().map(cell).collect::<Vec<_>>();
    let mut columns = vec![
        Column::words("task", column(&|rival| names.show(rival.task))),
        Column::words("then", column(&|rival| came(rival.came).into())),
        Column::numbers("since", column(&|rival| rival.since.to_string())),
    ];
    if rivals.iter().any(|rival| rival.status.is_some()) {
        let status = |rival: &Rival| rival.status.map_or("-".into(), |word| word.to_string());
        columns.push(Column::numbers("status", column(&status)));
    }
    columns.push(Column::numbers("runs", column(&|rival| rival.runs.to_string())));
    columns.push(Column::times("ran", rivals.iter().map(|rival| Some(rival.ran.ns() as f64))));
    Table::new(columns)
}

fn came(came: Came) -> &'static str {
    match came {
        Came::Running => "running",
        Came::Waiting => "waiting",
        Came::Later => "came later",
    }
}

/// What the rows above do not say about the CPU's time.
fn rest(view: &Queue) -> String {
    let parts = [
        (view.ran_more(), "tasks without a row"),
        (view.without_task(Untraced::Idle), "no task"),
        (view.without_task(Untraced::Others), "programs that were not recorded"),
        (view.without_task(Untraced::Unknown), "unknown tasks: records are missing"),
        (view.overhead(), "the system, within the above"),
    ];
    let parts = parts.into_iter().filter(|(time, _)| *time > Time::ZERO);
    parts.map(|(time, what)| format!("{time} went to {what}\n")).collect()
}

fn steps(view: &Queue, names: &Names) -> Table {
    let steps = view.steps();
    let woken = view.wait().woken;
    Table::new([
        Column::numbers("at", steps.iter().map(|step| step.time.to_string())),
        Column::numbers("after", steps.iter().map(|step| step.time.since(woken).to_string())),
        Column::words("on", steps.iter().map(|step| format!("cpu{}", step.cpu))),
        Column::words("event", steps.iter().map(|step| event(&step.what, names))),
    ])
}

fn event(what: &What, names: &Names) -> String {
    let name = |task: &Label| names.show(*task);
    match what {
        What::Untraced { what: Untraced::Idle, length } => format!("nothing ran for {length}"),
        What::Untraced { what: Untraced::Others, length } => {
            format!("programs that were not recorded ran for {length}")
        }
        What::Untraced { what: Untraced::Unknown, length } => format!("what ran is not known for {length}"),
        What::Ran { task, length, reason } => {
            format!("{} ran for {length}{}", name(task), reason.map(leaving).unwrap_or_default())
        }
        What::Woke { task } => format!("{} was woken and placed here", name(task)),
        What::Came { task, from } => format!("{} was moved here from cpu{from}", name(task)),
        What::Left { task, to } => format!("{} was moved to cpu{to}", name(task)),
        What::Moved { to } => format!("the task itself was moved to cpu{to}"),
    }
}

fn leaving(reason: Reason) -> &'static str {
    match reason {
        Reason::SliceEnd => ", its slice was over",
        Reason::Preempted => ", it was preempted",
        Reason::Blocked => ", it blocked",
        Reason::Yielded => ", it yielded",
        Reason::Exited => ", it ended",
        Reason::Idle => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::test_helpers::{roster, story};
    use crate::{WIDTH, columns_of};
    use schedlab_model::trace::Sink;
    use schedlab_views::Selection;
    use schedlab_views::queue::Choice;

    fn page(at: Option<Time>, limit: usize) -> String {
        let mut choice = Choice::new(roster(Selection::ALL), at);
        choice.events(&story());
        choice.finish(Time::from_ms(100));
        let mut view = Queue::new(roster(Selection::ALL), *choice.chosen().unwrap(), 2, limit);
        view.events(&story());
        view.finish(Time::from_ms(100));
        show(&view, "story", Style::PLAIN)
    }

    #[test]
    fn the_longest_wait_is_explained() {
        let page = page(None, 20);
        assert!(page.lines().all(|line| columns_of(line) <= WIDTH), "{page}");
        let expected = "\
story: why timer/0 waited for 30ms from 10ms on

10ms: woken by a timer, placed on cpu0; on the other CPUs 0 tasks ran, 0 waited,
    1 CPU was idle
40ms: ran on cpu0

What was on the run queue of cpu0
task      then     since  status  runs  ran ms
worker/0  running     0s       1     1      10
worker/1  waiting     0s       -     1      20

What happened
  at  after  on    event
10ms     0s  cpu0  worker/0 ran for 10ms, its slice was over
20ms   10ms  cpu0  worker/1 ran for 20ms, its slice was over
";
        assert_eq!(page, expected);
    }

    #[test]
    fn a_wait_may_have_no_end() {
        let page = page(Some(Time::from_ms(61)), 20);
        assert!(page.contains("90ms: woken by a semaphore, placed on cpu0"), "{page}");
        assert!(page.contains("100ms: the trace ends, it had not run\n"), "{page}");
        assert!(page.contains("waiting  60.25ms       2     0       0\n10ms went to no task\n"), "{page}");
        assert!(page.ends_with("90ms     0s  cpu0  nothing ran for 10ms\n"), "{page}");
    }

    #[test]
    fn what_is_cut_off_is_counted() {
        let page = page(None, 1);
        assert!(page.ends_with("and 1 more step\n"), "{page}");
    }
}
