//! The program as a user meets it: the built binary, its output, its exit codes, the files it leaves.

mod against;
mod agreement;
mod bad_input;
mod compare;
mod control_groups;
mod determinism;
mod documents;
mod ejected;
mod endings;
mod estimates;
mod files;
mod guards;
mod help;
mod import;
mod lab;
mod load;
mod machine;
mod meaning;
mod others;
mod overhead;
mod perf;
mod programs;
mod realtime;
mod record;
mod recordings;
mod report;
mod runs;
#[path = "../../../../tests/skip.rs"]
mod skip;
mod strangers;
mod study;
mod sweep;
mod trace;
mod venues;
mod verbs;
mod vm;
