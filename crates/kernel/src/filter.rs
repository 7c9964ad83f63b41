//! What a recorder is asked for.

/// What to record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// These processes with all their threads, all their descendants, and whatever these create.
    pub tgids: Vec<i32>,
    /// The whole machine.
    pub everything: bool,
    /// The soft interrupt in which the scheduler balances load.
    pub softirq: bool,
    /// The timer's tick. Kernels that do not tell where their functions are give none.
    pub tick: bool,
    /// On CPUs below this number also when they turn from idle to threads that are not of interest, and back.
    pub others_below: u32,
}
