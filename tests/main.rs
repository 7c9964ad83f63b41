//! Questions that concern several rooms at once. One binary, sorted by question.

mod changes;
mod control_groups;
mod deadlines;
mod determinism;
mod endless;
mod exits;
mod families;
mod generate;
mod guard;
mod hotplug;
mod instants;
mod lab;
mod laws;
mod locks;
mod mechanisms;
mod phenomena;
#[path = "../policies/tests.rs"]
mod policies;
mod requests;
mod scripts;
mod sections;
mod strangers;
mod theory;
