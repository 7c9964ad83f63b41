//! The commands, one file each.

pub mod agreement;
pub mod bisect;
pub mod calibrate;
pub mod check;
pub mod compare;
pub mod gate;
pub mod import;
pub mod load;
pub mod model;
pub mod overhead;
pub mod policies;
pub mod predict;
pub mod quota;
pub mod record;
pub mod report;
pub mod run;
pub mod scenarios;
pub mod schema;
pub mod search;
pub mod shell;
pub mod study;
pub mod sweep;
pub mod trace;
pub mod venues;
pub mod verify;
pub mod vm;
