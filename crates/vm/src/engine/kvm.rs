//! QEMU over the machine's own virtualization: fast, several CPUs at once, and in the host's time, so that no two runs are
//! the same.

use super::{Engine, Guest, qemu, starts};
use std::fs::File;
use std::io;
use std::process::Command;
use std::sync::OnceLock;

const DEVICE: &str = "/dev/kvm";

/// QEMU with KVM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kvm;

impl Engine for Kvm {
    fn name(&self) -> &'static str {
        "kvm"
    }

    /// The device is also there where the processor below does not let a guest start, so one is started, once.
    fn probe(&self) -> Result<String, String> {
        static STARTS: OnceLock<Result<(), String>> = OnceLock::new();
        let version = qemu::probe()?;
        match File::options().read(true).write(true).open(DEVICE) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(format!("there is no {DEVICE}: this machine does not virtualize"));
            }
            Err(error) => return Err(format!("{DEVICE} cannot be opened: {error}; join the group kvm")),
        }
        let instead = |why| format!("{why}; the other engines need no KVM");
        STARTS.get_or_init(|| starts(self)).clone().map_err(instead)?;
        Ok(format!("{version} with KVM"))
    }

    /// As many as there are here; more would take turns.
    fn max_cpus(&self) -> u32 {
        std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32)
    }

    fn clock(&self) -> String {
        "the host's time, not repeatable".into()
    }

    fn ns_per_instruction(&self) -> Option<f64> {
        None
    }

    fn repeats(&self) -> bool {
        false
    }

    fn command(&self, guest: &Guest) -> io::Result<Command> {
        let mut command = qemu::machine(guest)?;
        command.args(["-accel", "kvm", "-cpu", "host"]);
        Ok(command)
    }
}
