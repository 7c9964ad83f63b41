//! The same names in a program without libbpf: there is no recorder, and no policy is loaded. What cannot be made has no value, so
//! its methods have nothing to do.

use crate::filter::Filter;
use crate::lack::Lack;
use crate::policy::{Entries, Enumerator, LoadedProgram, SchedulerError, Setting};
use crate::stats::{Cost, Losses, Stats};
use schedlab_record::Record;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// A recorder, of which there is none here.
pub struct Recorder(Infallible);

/// A policy that a kernel has verified, of which there is none here.
pub struct VerifiedScheduler(Infallible);

/// A policy in charge, of which there is none here.
pub struct Scheduler(Infallible);

impl Recorder {
    /// It cannot: [`Lack::Build`].
    pub fn probe() -> Result<(), Lack> {
        Err(Lack::Build)
    }

    /// It cannot: [`Lack::Build`].
    pub fn start(_: &Filter, _: usize) -> Result<Recorder, Lack> {
        Err(Lack::Build)
    }

    /// Follows one more process.
    pub fn follow(&mut self, _: i32) -> Result<(), Lack> {
        match self.0 {}
    }

    /// When everything was followed.
    pub fn started_ns(&self) -> u64 {
        match self.0 {}
    }

    /// Keeps records in a file.
    pub fn keep_in(&mut self, _: File) {
        match self.0 {}
    }

    /// What is readable when a ring should be relieved.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }

    /// Moves what is in the rings.
    pub fn relieve(&mut self, _: Duration, _: u64) -> io::Result<()> {
        match self.0 {}
    }

    /// Ends.
    pub fn stop(self, _: &mut impl FnMut(Record)) -> io::Result<Stats> {
        match self.0 {}
    }

    /// Has the kernel measure what the programs cost.
    pub fn measure_costs(&mut self) -> io::Result<()> {
        match self.0 {}
    }

    /// What each program has cost.
    pub fn costs(&self) -> Vec<Cost> {
        match self.0 {}
    }

    /// Records that have been lost so far.
    pub fn lost(&self) -> Losses {
        match self.0 {}
    }
}

impl VerifiedScheduler {
    /// It cannot: [`SchedulerError::Build`].
    pub fn load(_: &[u8], _: &[Setting], _: &[Entries], _: &[Enumerator]) -> Result<VerifiedScheduler, SchedulerError> {
        Err(SchedulerError::Build)
    }

    /// Hands the CPUs to it.
    pub fn start(self) -> Result<Scheduler, SchedulerError> {
        match self.0 {}
    }
}

impl Scheduler {
    /// What the kernel was handed.
    pub fn programs(&self) -> Vec<LoadedProgram> {
        match self.0 {}
    }

    /// Whether it is still in charge.
    pub fn check(&self) -> Result<(), SchedulerError> {
        match self.0 {}
    }

    /// Ends.
    pub fn stop(self) -> Result<(), SchedulerError> {
        match self.0 {}
    }
}
