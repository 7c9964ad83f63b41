//! Records what the scheduler of the running kernel does: the one place that knows libbpf.
//!
//! A [`Recorder`] loads small programs onto the scheduler's tracepoints, which write into a ring buffer; it hands on
//! [`Record`]s in the order of time. A [`Converter`] makes the events of [`schedlab_model::trace`] of them; both are of
//! `schedlab_record`, which needs no kernel.
//!
//! Without the feature `libbpf` the same names are here, and neither records nor loads anything: such a program needs no library
//! of the system.
//!
//! ```no_run
//! use schedlab_kernel::{Filter, Recorder};
//! let recorder = Recorder::start(&Filter { everything: true, ..Filter::default() }, 16 << 20)?;
//! std::thread::sleep(std::time::Duration::from_secs(1));
//! let stats = recorder.stop(&mut |record| println!("{record:?}"))?;
//! eprintln!("{} records, {} lost", stats.delivered, stats.lost.total());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "libbpf")]
mod bpf;
mod clock;
mod counters;
mod filter;
mod lack;
mod layout;
mod log;
mod policy;
mod process;
mod stats;
mod tenure;
mod usage;
#[cfg(not(feature = "libbpf"))]
mod without;

#[cfg(feature = "libbpf")]
pub use bpf::{Recorder, Scheduler, VerifiedScheduler};
pub use counters::{Counters, Rates};
pub use filter::Filter;
pub use lack::Lack;
pub use layout::{cpus, layout, tick};
pub use policy::{Entries, Enumerator, LoadedProgram, SchedulerError, Setting};
pub use process::{ProcessUse, SchedStat, process_use, schedstat};
pub use schedlab_record::{Comm, Converter, Departure, Gaps, Known, Record, RecordKind, Summary, Thread, Waker};
pub use stats::{Cost, Losses, Stats};
pub use tenure::{Tenure, Vacancy, has_sched_ext, is_vacant, operations};
pub use usage::{Usage, Used};
#[cfg(not(feature = "libbpf"))]
pub use without::{Recorder, Scheduler, VerifiedScheduler};

/// Whether this program can record and load policies at all.
pub const HAS_LIBBPF: bool = cfg!(feature = "libbpf");
