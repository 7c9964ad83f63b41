//! What verdicts look like: green is good, orange is bad, grey is open, blue is better than asked for.

/// How a verdict is drawn. Shapes tell apart what colours do not, for eyes and print without them.
pub(crate) struct Mark {
    pub colour: &'static str,
    pub shape: &'static str,
}

const GOOD: Mark = Mark { colour: "#009e73", shape: "circle" };
const BETTER: Mark = Mark { colour: "#3c78c8", shape: "square" };
const BAD: Mark = Mark { colour: "#d55e00", shape: "triangle-up" };
const OPEN: Mark = Mark { colour: "#8a8a8a", shape: "diamond" };

impl Mark {
    /// That of a verdict of a gate or of an agreement; open for any other word.
    pub(crate) fn of(verdict: &str) -> Mark {
        match verdict {
            "agrees" | "met" | "same" | "allowed" => GOOD,
            "better" => BETTER,
            "biased" | "failed" | "FAILED" => BAD,
            _ => OPEN,
        }
    }
}
