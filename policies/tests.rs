//! What the shipped policies do: golden traces for all, vectors and variants for some. The tests crate includes this.

#[path = "alb/tests/mod.rs"]
mod alb;
#[path = "cfs/tests/mod.rs"]
mod cfs;
mod changing_limits;
mod control_groups;
#[path = "eevdf/tests/mod.rs"]
mod eevdf;
mod golden;
mod idle_class;
mod limits;
#[path = "linux-o1/tests/mod.rs"]
mod linux_o1;
mod machine;
#[path = "mlfq/tests/mod.rs"]
mod mlfq;
mod observe;
mod real_time;
#[path = "rr/tests.rs"]
mod rr;
mod shares;
#[path = "ule/tests/mod.rs"]
mod ule;
#[path = "windows/tests/mod.rs"]
mod windows;
