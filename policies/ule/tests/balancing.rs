//! Vectors of balancing: which tasks the balancer moves in one round, and how many rounds it takes.

use super::observe::{FREEBSD, PAPER, Settings, loads, moves, run, vector, workload};
use crate::lab;
use schedlab_bpf::Executor;
use schedlab_model::time::Time;
use schedlab_model::trace::{Event, EventKind, Sink};
use schedlab_model::workload::Workload;

/// Tasks that only compute; how many begin on each CPU.
fn spinners(on: &[u32]) -> String {
    let group = |(cpu, count): (usize, &u32)| match count {
        0 => String::new(),
        _ => format!(
            "[[task]]\nname = \"s{cpu}\"\ncount = {count}\nstart_on = {cpu}\nloop = [{{ compute = \"60s\" }}]\n"
        ),
    };
    on.iter().enumerate().map(group).collect()
}

/// Loads after one round of the balancer and how many tasks it moved. Rounds come every 0.26 to 0.76 s in the port, every
/// 0.5 to 1.49 s in FreeBSD: the second comes after 0.51 s and 1 s. Idle CPUs do not help themselves here.
fn one_round(mode: (&str, u64), on: &[u32]) -> (Vec<usize>, usize) {
    let (until_ms, machine) = (if mode == PAPER { 1500 } else { 3000 }, format!("cpus = {}", on.len()));
    let events = run(&machine, until_ms, &spinners(on), &[mode, ("steal_idle", 0), ("slice", 1), ("slice_min", 1)]);
    // A task that was moved shows it when it runs. All that came in one round do before there can be another.
    let all = moves(&events);
    let Some(first) = all.first() else { return (loads(&events, on.len(), Time::from_ms(until_ms)), 0) };
    let end = first.0 + Time::from_ms(if mode == PAPER { 200 } else { 400 });
    (loads(&events, on.len(), end), all.iter().filter(|moved| moved.0 <= end).count())
}

fn sorted(mut loads: Vec<usize>) -> Vec<usize> {
    loads.sort_unstable();
    loads
}

#[test]
fn v16_one_round_moves_one_task_from_each_cpu_with_more() {
    for mode in [PAPER, FREEBSD] {
        let (after, moved) = one_round(mode, &[4, 0, 0, 1]);
        assert_eq!((after[0], after[1] + after[2], after[3], moved), (3, 1, 1, 1));
        assert_eq!(one_round(mode, &[5, 4, 1, 0]), (vec![4, 3, 2, 1], 2));
        assert_eq!(one_round(mode, &[17, 16, 15, 16]), (vec![16; 4], 1));
        assert_eq!(one_round(mode, &[3, 3, 3, 3]), (vec![3; 4], 0));
        let (after, moved) = one_round(mode, &[2, 1, 1, 1]);
        assert_eq!((after[0], sorted(after), moved), (1, vec![1, 1, 1, 2], 1));
        let (after, moved) = one_round(mode, &[6, 1, 1, 1]);
        assert_eq!((after[0], sorted(after), moved), (5, vec![1, 1, 2, 5], 1));
    }
}

/// Follows where tasks are, and groups what moves into rounds: moves of one round show within 64 ms, those of the next
/// come 256 ms later at the soonest.
struct Rounds {
    loads: Vec<u32>,
    last_move: Time,
    rounds: u32,
    moves: u32,
    level_at: Option<(Time, u32)>,
    /// The difference of the largest and the smallest load before each round.
    spreads: Vec<u32>,
}

impl Rounds {
    fn new(cpus: usize) -> Rounds {
        let loads = vec![0; cpus];
        Rounds { loads, last_move: Time::ZERO, rounds: 0, moves: 0, level_at: None, spreads: Vec::new() }
    }

    fn spread(&self) -> u32 {
        self.loads.iter().max().expect("a CPU") - self.loads.iter().min().expect("a CPU")
    }
}

impl Sink for Rounds {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Wakeup { target, .. } => self.loads[target.0 as usize] += 1,
            EventKind::Migrate { from, to, .. } => {
                if event.time > self.last_move + Time::from_ms(128) {
                    self.spreads.push(self.spread());
                    self.rounds += 1;
                }
                self.last_move = event.time;
                self.moves += 1;
                self.loads[from.0 as usize] -= 1;
                self.loads[to.0 as usize] += 1;
                if self.spread() == 0 && self.level_at.is_none() {
                    self.level_at = Some((event.time, self.rounds));
                }
            }
            _ => {}
        }
    }
}

fn rounds_in(workload: &Workload, settings: Settings) -> Rounds {
    let mut rounds = Rounds::new(workload.machine.cpus() as usize);
    lab::run_into(&mut rounds, workload, "ule", Executor::Machine, settings).unwrap_or_else(|error| panic!("{error}"));
    rounds
}

/// The study's experiment: 512 tasks that spin, released from one of 32 CPUs. Each idle CPU takes one at once, then the
/// balancer brings away one from CPU 0 each round, and it ends level. The study reports more than 450 rounds in 240 s.
#[test]
fn v17_512_spinners_released_from_one_of_32_cpus() {
    let rounds = rounds_in(&vector("17-release"), &[PAPER]);
    let (time, number) = rounds.level_at.expect("it ends level");
    // What idle CPUs took at the release is no round: it leaves 481 and 31 times 1.
    assert_eq!((rounds.spreads[0], number), (480, 465));
    assert_eq!(rounds.moves - 31, 3840);
    assert!(rounds.spreads.windows(2).all(|pair| pair[0] >= pair[1]), "{:?}", rounds.spreads);
    // A mean of 127.5 ticks a round.
    assert!((225..250).contains(&(time.ns() / 1_000_000_000)), "{time}");
}

/// The balancer of FreeBSD 11 as it is: what the idle CPUs did not take stays.
#[test]
fn without_the_balancer_it_stays_uneven() {
    let spinners = |ms| workload("cpus = 8", ms, &spinners(&[64]));
    let rounds = rounds_in(&spinners(30_000), &[PAPER, ("balance", 1)]);
    assert_eq!((rounds.loads, rounds.moves), (vec![57, 1, 1, 1, 1, 1, 1, 1], 7));
    let rounds = rounds_in(&spinners(60_000), &[PAPER]);
    assert_eq!(rounds.loads, [8; 8]);
}

/// A group of CPUs is judged by its sum: an idle CPU is not found when its neighbour is busy enough. The port would find
/// it, but leaves the task where it was, since that is where it is woken and what runs there is worse.
#[test]
fn freebsd_looks_for_the_least_loaded_group_first() {
    // Two caches of two CPUs, with 3 and 0 tasks, and with 1 and 1.
    let pinned = |cpu: u32, count: u32| {
        format!("[[task]]\nname = \"p{cpu}\"\ncount = {count}\ncpus = [{cpu}]\nloop = [{{ compute = \"9s\" }}]\n")
    };
    let new = "[[task]]\nname = \"new\"\nstart = \"100ms\"\nonce = [{ compute = \"1ms\" }]\n";
    let tasks = pinned(0, 3) + &pinned(2, 1) + &pinned(3, 1) + new;
    let target = |mode| {
        let events = run("topology = \"1n2l2c1t\"", 200, &tasks, &[mode]);
        loads(&events, 4, Time::from_ms(100))
    };
    assert_eq!(target(PAPER), [4, 0, 1, 1]);
    let freebsd = target(FREEBSD);
    assert_eq!((freebsd[0], freebsd[1], freebsd[2] + freebsd[3]), (3, 0, 3));
}

/// CPU 0's idle time does not bring the port's next round nearer; FreeBSD's rounds come all the same.
#[test]
fn the_ports_balancer_rests_while_cpu_0_is_idle() {
    let tasks = "[[task]]\nname = \"s\"\ncount = 5\nstart_on = 1\ncpus = [1, 2]\nloop = [{ compute = \"60s\" }]\n";
    let first = |mode| {
        let settings = [mode, ("steal_idle", 0)];
        moves(&run("cpus = 3", 4000, tasks, &settings)).first().map(|moved| moved.0)
    };
    assert_eq!(first(PAPER), None);
    assert!(first(FREEBSD).expect("a round") < Time::from_ms(2000));
    // With a task on CPU 0 from 3 s on it begins to count then.
    let late =
        format!("{tasks}[[task]]\nname = \"zero\"\ncpus = [0]\nstart = \"3s\"\nloop = [{{ compute = \"60s\" }}]\n");
    let moved = moves(&run("cpus = 3", 4000, &late, &[PAPER, ("steal_idle", 0)]))[0].0;
    assert!(Time::from_ms(3256) <= moved && moved < Time::from_ms(3900), "{moved}");
}
