//! What keeps this process from recording.

use std::fs;

/// Why there is no recorder, in one line, with what would help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lack {
    /// This process may not.
    #[error("recording needs {missing}, which this process lacks; run it as root")]
    Rights {
        /// The capabilities.
        missing: String,
    },
    /// Nothing in this program could.
    #[error("recording takes libbpf, without which this schedlab was built")]
    Build,
    /// The kernel does not tell its types.
    #[error("recording needs the kernel's own types, and {path} is missing; a kernel built with CONFIG_DEBUG_INFO_BTF has it", path = TYPES)]
    Types,
    /// The kernel cannot, or something between forbids it.
    #[error("cannot {step}: {why}; recording needs Linux 5.8 or newer with CONFIG_BPF_EVENTS, not locked down")]
    Kernel {
        /// What was tried.
        step: String,
        /// What the kernel said.
        why: String,
    },
}

const TYPES: &str = "/sys/kernel/btf/vmlinux";

const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

impl Lack {
    /// What can be seen before anything is tried.
    #[cfg(feature = "libbpf")]
    pub(crate) fn check() -> Result<(), Lack> {
        if let Some(missing) = missing_here() {
            return Err(Lack::Rights { missing });
        }
        if fs::metadata(TYPES).is_err() {
            return Err(Lack::Types);
        }
        Ok(())
    }

    /// Of an error in `step`.
    #[cfg(feature = "libbpf")]
    pub(crate) fn of(step: &str, error: &libbpf_rs::Error) -> Lack {
        if error.kind() == libbpf_rs::ErrorKind::PermissionDenied {
            let missing = "CAP_BPF and CAP_PERFMON outside of any user namespace".into();
            return Lack::Rights { missing };
        }
        Lack::Kernel { step: step.into(), why: error.to_string() }
    }
}

/// The capabilities that this thread needs for BPF programs of the scheduler, and lacks.
pub(crate) fn missing_here() -> Option<String> {
    missing(&fs::read_to_string("/proc/thread-self/status").unwrap_or_default())
}

/// The capabilities that `/proc/.../status` does not show as effective.
fn missing(status: &str) -> Option<String> {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let effective = u64::from_str_radix(effective.trim(), 16).ok()?;
    let has = |capability: u32| effective >> capability & 1 == 1;
    let lacks = |&(capability, _): &(u32, &str)| !has(capability) && !has(CAP_SYS_ADMIN);
    let missing: Vec<&str> =
        [(CAP_BPF, "CAP_BPF"), (CAP_PERFMON, "CAP_PERFMON")].into_iter().filter(lacks).map(|(_, name)| name).collect();
    (!missing.is_empty()).then(|| missing.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_capabilities_are_named() {
        let with = |bits: u64| missing(&format!("Name:\tx\nCapEff:\t{bits:016x}\nCapBnd:\t0\n"));
        assert_eq!(with(0).as_deref(), Some("CAP_BPF and CAP_PERFMON"));
        assert_eq!(with(1 << CAP_BPF).as_deref(), Some("CAP_PERFMON"));
        assert_eq!(with(1 << CAP_BPF | 1 << CAP_PERFMON), None);
        assert_eq!(with(1 << CAP_SYS_ADMIN), None);
    }

    #[test]
    fn each_lack_is_one_line() {
        let lacks = [
            Lack::Rights { missing: "CAP_BPF".into() },
            Lack::Types,
            Lack::Kernel { step: "load the programs".into(), why: "Invalid argument".into() },
        ];
        for lack in lacks {
            assert!(lack.to_string().starts_with("recording needs ") || lack.to_string().starts_with("cannot "));
            assert_eq!(lack.to_string().lines().count(), 1);
        }
    }
}
