//! QEMU over the machine's own virtualization: fast, several CPUs at once, and in the host's time, so that no two runs are
//! the same.

use super::{Engine, Guest, qemu};
use std::fs::File;
use std::io;
use std::process::Command;

const DEVICE: &str = "/dev/kvm";

/// QEMU with KVM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kvm;

impl Engine for Kvm {
    fn name(&self) -> &'static str {
        "kvm"
    }

    fn probe(&self) -> Result<String, String> {
        let version = qemu::probe()?;
        match File::options().read(true).write(true).open(DEVICE) {
            Ok(_) => Ok(format!("{version} with KVM")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(format!("there is no {DEVICE}: this machine does not virtualize"))
            }
            Err(error) => Err(format!("{DEVICE} cannot be opened: {error}; be in the group kvm")),
        }
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
