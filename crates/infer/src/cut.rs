//! Items: where a task comes by the same point again.

use crate::raw::Raw;
use schedlab_model::recorded::{Act, Item, Op};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Where the steps of the tasks of a role are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nowhere: the life of a task is one item.
    Nowhere,
    /// After the end of a request: what comes before the next one belongs to that.
    AfterRequests,
    /// Before the begin of a request: what follows the last one belongs to that.
    BeforeRequests,
    /// Before each step of this shape.
    Before(Act),
}

/// Shapes of steps that are tried.
const CANDIDATES: usize = 16;

/// The most shapes of items that are kept apart.
const SHAPES: usize = 4096;

/// The least score of a step that begins items.
const LEAST_SCORE: f64 = 0.3;

/// Looks at the steps of all tasks of a role, and finds where to cut.
#[derive(Debug, Default)]
pub struct Search {
    candidates: Vec<Candidate>,
    /// Whether the first that a task does is to begin a request.
    begins_at_once: Option<bool>,
    ends: u64,
    answers: bool,
    /// Whether it takes requests that others had.
    takes: bool,
    work_ns: u64,
}

/// A shape of a step that may begin items.
#[derive(Debug)]
struct Candidate {
    shape: Act,
    /// The open item, if there is one: its shape so far, and its work.
    open: Option<(u64, u64)>,
    /// How many items of each shape.
    shapes: BTreeMap<u64, u64>,
    covered_ns: u64,
}

impl Candidate {
    fn close(&mut self) {
        if let Some((shape, work_ns)) = self.open.take() {
            self.covered_ns += work_ns;
            if self.shapes.len() < SHAPES || self.shapes.contains_key(&shape) {
                *self.shapes.entry(shape).or_default() += 1;
            }
        }
    }

    /// How much of the work lies in items, and how alike these are.
    fn score(&self, work_ns: u64) -> f64 {
        let items: u64 = self.shapes.values().sum();
        if items < 2 || work_ns == 0 {
            return 0.0;
        }
        let part = |count: &u64| *count as f64 / items as f64;
        let entropy: f64 = -self.shapes.values().map(|count| part(count) * part(count).ln()).sum::<f64>();
        self.covered_ns as f64 / work_ns as f64 * (1.0 - entropy / (items as f64).ln())
    }
}

fn mixed(shape: u64, act: &Act) -> u64 {
    let mut hasher = DefaultHasher::new();
    (shape, act.op, act.object, act.shape().value, act.more).hash(&mut hasher);
    hasher.finish()
}

impl Search {
    /// The next task begins.
    pub fn begin_task(&mut self) {
        self.candidates.iter_mut().for_each(|candidate| candidate.open = None);
    }

    /// Takes the next thing that the task does.
    pub fn take(&mut self, raw: Raw) {
        if matches!(raw, Raw::At(_)) {
            return;
        }
        self.begins_at_once.get_or_insert(matches!(raw, Raw::Act(Act { op: Op::Begin, .. })));
        let Raw::Act(act) = raw else {
            self.ends += u64::from(raw == Raw::Answered);
            self.takes |= raw == Raw::Took;
            return;
        };
        match act.op {
            Op::Begin => return,
            Op::End => return self.ends += 1,
            Op::Answer => self.answers = true,
            Op::Compute => self.work_ns += act.value,
            _ => {}
        }
        let shape = act.shape();
        if self.candidates.len() < CANDIDATES && self.candidates.iter().all(|candidate| candidate.shape != shape) {
            self.candidates.push(Candidate { shape, open: None, shapes: BTreeMap::new(), covered_ns: 0 });
        }
        for candidate in &mut self.candidates {
            if candidate.shape == shape {
                candidate.close();
                candidate.open = Some((0, 0));
            }
            if let Some((so_far, work_ns)) = &mut candidate.open {
                *so_far = mixed(*so_far, &act);
                *work_ns += if act.op == Op::Compute { act.value } else { 0 };
            }
        }
    }

    /// Where to cut. Where the trace has requests, an item is a request. Of steps that do equally well the one that came first is taken.
    pub fn found(&self) -> Cut {
        if self.ends > 0 && !self.answers {
            let begins = self.begins_at_once == Some(true);
            return if begins { Cut::BeforeRequests } else { Cut::AfterRequests };
        }
        // A task that takes requests from others and passes them on begins with each where it takes it.
        let may_begin = |candidate: &&Candidate| !self.takes || matches!(candidate.shape.op, Op::Recv | Op::Wait);
        let scores =
            self.candidates.iter().filter(may_begin).map(|candidate| (candidate.score(self.work_ns), candidate.shape));
        let best = scores.fold((LEAST_SCORE, None), |best, (score, shape)| {
            // What differs by less is rounding.
            if score > best.0 + 1e-9 { (score, Some(shape)) } else { best }
        });
        best.1.map_or(Cut::Nowhere, Cut::Before)
    }
}

/// Cuts the steps of one task into items.
#[derive(Debug)]
pub struct Cutter {
    cut: Cut,
    item: Item,
    /// When the item began, as far as that was recorded.
    begin_ns: u64,
    now_ns: u64,
    /// Whether a request has ended, so that the next step begins another item.
    is_over: bool,
    /// Whether the first cut has come.
    has_begun: bool,
}

impl Cutter {
    /// For a task.
    pub fn new(cut: Cut) -> Cutter {
        Cutter {
            cut,
            item: Item::new(),
            begin_ns: 0,
            now_ns: 0,
            is_over: false,
            has_begun: !matches!(cut, Cut::Before(_)),
        }
    }

    /// Takes the next thing that the task does; gives an item that is whole now, and when it began.
    pub fn take(&mut self, raw: Raw) -> Option<(u64, Item)> {
        let act = match raw {
            Raw::At(now_ns) => {
                self.now_ns = now_ns;
                return None;
            }
            Raw::Act(act) => act,
            Raw::Took => Act::new(Op::Begin, 0),
            Raw::Answered => Act::new(Op::End, 0),
            Raw::Woke(_) | Raw::Slept(_) => return None,
        };
        let whole = match self.cut {
            Cut::Nowhere => None,
            Cut::AfterRequests => match act.op {
                Op::End => {
                    self.is_over = true;
                    return None;
                }
                Op::Begin => return None,
                _ => std::mem::take(&mut self.is_over).then(|| std::mem::take(&mut self.item)),
            },
            Cut::BeforeRequests => match act.op {
                Op::Begin => {
                    self.is_over = true;
                    return None;
                }
                Op::End => return None,
                _ => std::mem::take(&mut self.is_over).then(|| std::mem::take(&mut self.item)),
            },
            Cut::Before(_) if matches!(act.op, Op::Begin | Op::End) => return None,
            Cut::Before(shape) if act.shape() == shape => {
                let item = std::mem::take(&mut self.item);
                std::mem::replace(&mut self.has_begun, true).then_some(item)
            }
            Cut::Before(_) => None,
        };
        let begin_ns = self.begin_ns;
        if self.item.is_empty() {
            self.begin_ns = self.now_ns;
        }
        self.push(act);
        whole.filter(|item| !item.is_empty()).map(|item| (begin_ns, item))
    }

    /// Children of one role that are created one after the other are created by one step.
    fn push(&mut self, act: Act) {
        match self.item.last_mut() {
            Some(last) if act.op == Op::Spawn && last.op == Op::Spawn && last.object == act.object => {
                last.value += act.value;
            }
            _ => self.item.push(act),
        }
    }

    /// What is left at the end and when it began, and whether it is a whole item.
    pub fn rest(self) -> (u64, Item, bool) {
        let is_whole = match self.cut {
            Cut::Nowhere => true,
            Cut::AfterRequests => self.is_over,
            Cut::BeforeRequests | Cut::Before(_) => false,
        };
        (self.begin_ns, self.item, is_whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acts(words: &str) -> Vec<Raw> {
        let act = |letter| match letter {
            'c' => Raw::Act(Act::new(Op::Compute, 5)),
            'C' => Raw::Act(Act::new(Op::Compute, 9)),
            's' => Raw::Act(Act::new(Op::Sleep, 7)),
            'r' => Raw::Act(Act::with(Op::Recv, 0, 1)),
            'w' => Raw::Act(Act::with(Op::Send, 1, 1)),
            '<' => Raw::Act(Act::new(Op::Begin, 0)),
            '>' => Raw::Act(Act::new(Op::End, 0)),
            '!' => Raw::Answered,
            other => panic!("{other}"),
        };
        words.chars().map(act).collect()
    }

    fn lengths(words: &str) -> (Cut, Vec<usize>, usize) {
        let mut search = Search::default();
        search.begin_task();
        acts(words).into_iter().for_each(|raw| search.take(raw));
        let cut = search.found();
        let mut cutter = Cutter::new(cut);
        let items = acts(words).into_iter().filter_map(|raw| cutter.take(raw)).map(|(_, item)| item.len()).collect();
        (cut, items, cutter.rest().1.len())
    }

    #[test]
    fn an_item_is_a_request_where_these_are_told() {
        assert_eq!(lengths("<c>s<C>s<c>s<c>s"), (Cut::BeforeRequests, vec![2, 2, 2], 2));
        assert_eq!(lengths("s<c>s<C>s<c>s"), (Cut::AfterRequests, vec![2, 2, 2], 1));
        assert_eq!(lengths("rc!rc!rc!r"), (Cut::AfterRequests, vec![2, 2, 2], 1));
    }

    #[test]
    fn without_requests_the_first_step_that_comes_again_begins_items() {
        let recv = Act::with(Op::Recv, 0, 1);
        assert_eq!(lengths("rcwrCwrcwr"), (Cut::Before(recv), vec![3, 3, 3], 1));
        // What comes before the first item is none.
        let (_, items, _) = lengths("crcwrCwrcwr");
        assert_eq!(items, [3, 3, 3]);
    }

    #[test]
    fn a_life_without_a_point_that_comes_again_is_one_item() {
        assert_eq!(lengths("crws"), (Cut::Nowhere, vec![], 4));
    }
}
