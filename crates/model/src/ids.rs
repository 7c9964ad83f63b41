//! Names for things by number. Each is its own type, so that a task cannot be taken for a CPU.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    )*};
}

ids! {
    /// A task instance: numbered in the order of creation, never used twice in a run.
    TaskId "task ";
    /// A CPU of the machine, from 0.
    CpuId "cpu ";
    /// A `[[task]]` of the scenario, in file order: all its instances are one role.
    RoleId "role ";
    /// A semaphore, lock, channel, barrier or device of the scenario, each kind from 0.
    ObjectId "object ";
    /// A control group of the scenario, in the order in which a kernel would make them: a parent before its children.
    ControlGroupId "control group ";
    /// A request that waits in channels or crosses tasks: numbered in the order of birth, never used twice in a run.
    RequestId "request ";
}

impl ControlGroupId {
    /// The root, which is always there.
    pub const ROOT: ControlGroupId = ControlGroupId(0);
}

impl Default for ControlGroupId {
    fn default() -> ControlGroupId {
        ControlGroupId::ROOT
    }
}
