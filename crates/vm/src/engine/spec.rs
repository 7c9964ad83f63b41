//! Engines as users write them: a name, and settings behind a colon, as in `bochs:ips=100000000,quantum=8`.

use super::{Bochs, Engine, Kvm, Qemu};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// An engine with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineSpec {
    /// QEMU that counts instructions: one CPU.
    Qemu(Qemu),
    /// Bochs: several CPUs.
    Bochs(Bochs),
    /// QEMU in the host's time.
    Kvm(Kvm),
}

const SHIFT: RangeInclusive<u64> = 0..=10;
const CPUS: RangeInclusive<u64> = 1..=8;
const IPS: RangeInclusive<u64> = 1_000_000..=1_000_000_000;
/// What Bochs takes.
const QUANTUM: RangeInclusive<u64> = 1..=32;

impl EngineSpec {
    /// Every engine, as it is without settings.
    pub fn all() -> [EngineSpec; 3] {
        [EngineSpec::Qemu(Qemu::default()), EngineSpec::Bochs(Bochs::default()), EngineSpec::Kvm(Kvm)]
    }

    /// The fastest that keeps true time for a machine, and repeats.
    pub fn for_cpus(cpus: u32) -> EngineSpec {
        let [qemu, bochs, _] = EngineSpec::all();
        if cpus <= qemu.engine().max_cpus() { qemu } else { bochs }
    }

    /// The engine itself.
    pub fn engine(&self) -> &dyn Engine {
        match self {
            EngineSpec::Qemu(engine) => engine,
            EngineSpec::Bochs(engine) => engine,
            EngineSpec::Kvm(engine) => engine,
        }
    }

    fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        let within = |range: RangeInclusive<u64>| {
            let number = text.parse().ok().filter(|number| range.contains(number));
            number.ok_or_else(|| format!("{key} is a number from {} to {}, not `{text}`", range.start(), range.end()))
        };
        match (&mut *self, key) {
            (EngineSpec::Qemu(qemu), "shift") => qemu.shift = within(SHIFT)? as u32,
            (EngineSpec::Qemu(qemu), "cpus") => qemu.max_cpus = within(CPUS)? as u32,
            (EngineSpec::Bochs(bochs), "ips") => bochs.instructions_per_s = within(IPS)?,
            (EngineSpec::Bochs(bochs), "quantum") => bochs.quantum = within(QUANTUM)? as u32,
            _ => return Err(format!("{} has no setting `{key}`; {}", self.engine().name(), self.settings())),
        }
        Ok(())
    }

    fn settings(&self) -> &'static str {
        match self {
            EngineSpec::Qemu(_) => {
                "it has shift (an instruction takes 2^shift ns) and cpus (more than one, with a false time)"
            }
            EngineSpec::Bochs(_) => {
                "it has ips (instructions of each CPU in a second) and quantum (that many at a time)"
            }
            EngineSpec::Kvm(_) => "it has none",
        }
    }
}

impl FromStr for EngineSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<EngineSpec, String> {
        let (name, settings) = text.split_once(':').map_or((text, None), |(name, settings)| (name, Some(settings)));
        let named = EngineSpec::all().into_iter().find(|spec| spec.engine().name() == name);
        let mut spec = named.ok_or_else(|| format!("there is no engine `{name}`; take qemu, bochs or kvm"))?;
        for setting in settings.into_iter().flat_map(|settings| settings.split(',')) {
            let pair =
                setting.split_once('=').ok_or_else(|| format!("`{setting}` is not a setting; write name=value"))?;
            spec.set(pair.0, pair.1)?;
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stand_behind_the_name() {
        let bochs = Bochs { instructions_per_s: 100_000_000, quantum: 8 };
        assert_eq!("bochs:ips=100000000,quantum=8".parse(), Ok(EngineSpec::Bochs(bochs)));
        assert_eq!("qemu:shift=2".parse(), Ok(EngineSpec::Qemu(Qemu { shift: 2, ..Qemu::default() })));
        assert_eq!("kvm".parse(), Ok(EngineSpec::Kvm(Kvm)));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_would_be_right() {
        let error = |text: &str| text.parse::<EngineSpec>().unwrap_err();
        assert_eq!(error("xen"), "there is no engine `xen`; take qemu, bochs or kvm");
        assert_eq!(error("qemu:shift=11"), "shift is a number from 0 to 10, not `11`");
        assert!(error("qemu:ips=5").starts_with("qemu has no setting `ips`; it has shift"));
        assert_eq!(error("bochs:fast"), "`fast` is not a setting; write name=value");
    }

    #[test]
    fn by_itself_the_engine_is_one_whose_time_is_true() {
        assert_eq!(EngineSpec::for_cpus(1).engine().name(), "qemu");
        assert_eq!(EngineSpec::for_cpus(2).engine().name(), "bochs");
    }
}
