//! Records what the scheduler of the running kernel does: the one place that knows libbpf.
//!
//! A [`Recorder`] loads small programs onto the scheduler's tracepoints, which write into a ring buffer; it hands on
//! [`Record`]s in the order of time. A [`Converter`] makes the events of [`schedlab_model::trace`] of them; both are of
//! `schedlab_record`, which needs no kernel.
//!
//! ```no_run
//! use schedlab_kernel::{Filter, Recorder};
//! let recorder = Recorder::start(&Filter { everything: true, ..Filter::default() }, 16 << 20)?;
//! std::thread::sleep(std::time::Duration::from_secs(1));
//! let stats = recorder.stop(&mut |record| println!("{record:?}"))?;
//! eprintln!("{} records, {} lost", stats.delivered, stats.lost.total());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backlog;
mod counters;
mod enumerators;
mod followed;
mod lack;
mod layout;
mod log;
mod order;
mod preempt_count;
mod process;
mod recorder;
mod ring;
mod scheduler;
mod stats;
mod tenure;
mod usage;
mod verifier;
mod wire;

pub use counters::{Counters, Rates};
pub use enumerators::Enumerator;
pub use lack::Lack;
pub use layout::{layout, tick};
pub use process::{ProcessUse, SchedStat, process_use, schedstat};
pub use recorder::{Filter, Recorder};
pub use schedlab_record::{Comm, Converter, Departure, Gaps, Known, Record, RecordKind, Summary, Thread, Waker};
pub use scheduler::{Entries, LoadedProgram, Scheduler, SchedulerError, Setting, VerifiedScheduler, cpus};
pub use stats::{Cost, Losses, Stats};
pub use tenure::{Tenure, Vacancy, has_sched_ext, is_vacant, operations};
pub use usage::{Usage, Used};
