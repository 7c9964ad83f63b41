//! Pages of memory that a pipe keeps.

use schedlab_model::machine::Mechanisms;

/// The pages of messages that were taken out of a pipe, which the next messages use. A message is a page.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    kept: u64,
    most: u64,
}

impl Pages {
    /// Those of a new pipe: none.
    pub fn of(mechanisms: &Mechanisms) -> Pages {
        Pages { kept: 0, most: if mechanisms.pipe_keeps_two { 2 } else { 1 } }
    }

    /// Messages take pages.
    pub fn take(&mut self, messages: u64) {
        self.kept = self.kept.saturating_sub(messages);
    }

    /// Messages have left their pages.
    pub fn put(&mut self, messages: u64) {
        self.kept = self.kept.saturating_add(messages).min(self.most);
    }

    /// Whether the next message needs a new page.
    pub fn are_used_up(self) -> bool {
        self.kept == 0
    }

    /// Whether the page of the next message that is taken out is freed.
    pub fn are_enough(self) -> bool {
        self.kept == self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_keeps_two_pages_and_an_old_one_one() {
        for (pipe_keeps_two, most) in [(true, 2), (false, 1)] {
            let mut pages = Pages::of(&Mechanisms { pipe_keeps_two, ..Mechanisms::default() });
            assert!(pages.are_used_up() && !pages.are_enough());
            pages.take(5);
            pages.put(most - 1);
            assert_eq!((pages.are_used_up(), pages.are_enough()), (most == 1, false));
            pages.put(7);
            assert!(pages.are_enough());
            pages.take(most);
            assert!(pages.are_used_up());
        }
    }
}
