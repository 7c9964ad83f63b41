//! What people write instead of a kernel's knobs: a Kubernetes container's `resources`, a systemd unit's `CPUQuota`.
//!
//! Sources: Kubernetes, pkg/kubelet/cm/helpers_linux.go (`MilliCPUToShares`, `MilliCPUToQuota`); opencontainers/cgroups,
//! `ConvertCPUSharesToCgroupV2Value`, before and since runc 1.3.2 and crun 1.23; systemd, src/core/cgroup.c
//! (`cgroup_cpu_adjust_period`).

use super::{Notation, Text};
use crate::control_group::{DEFAULT_PERIOD, MAX_PERIOD, MIN_QUOTA, Max, Weight};
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A container's CPU `resources`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kubernetes {
    /// `resources.requests.cpu`, as `"500m"` or `"2"`; the limit when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Text<MilliCpus>>,
    /// `resources.limits.cpu`; no limit when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Text<MilliCpus>>,
    /// How the runtime turns shares into a weight: `new` (when absent), since runc 1.3.2 and crun 1.23, or `old`.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub conversion: Conversion,
}

/// How a container runtime turns CPU shares into `cpu.weight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Conversion {
    /// So that 1024 shares are a weight of 100.
    #[default]
    New,
    /// In a straight line, so that 1024 shares are a weight of 39.
    Old,
}

/// A systemd unit's CPU control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Systemd {
    /// `CPUWeight=`, 1 to 10000 or `idle`; 100 when absent.
    #[serde(rename = "CPUWeight", skip_serializing_if = "Option::is_none")]
    pub weight: Option<UnitWeight>,
    /// `CPUQuota=`, as `"150%"` of a CPU; no limit when absent.
    #[serde(rename = "CPUQuota", skip_serializing_if = "Option::is_none")]
    pub quota: Option<Text<Percentage>>,
    /// `CPUQuotaPeriodSec=`; 100 ms when absent.
    #[serde(rename = "CPUQuotaPeriodSec", skip_serializing_if = "Option::is_none")]
    pub period: Option<Text<Time>>,
}

/// A number, or `idle`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a weight of 1 to 10000, or `idle`")]
pub enum UnitWeight {
    /// 1 to 10000.
    Number(u32),
    /// The word `idle`, or a number in a text.
    Word(String),
}

/// Thousandths of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MilliCpus(pub u64);

/// Hundredths of a percent of a CPU, as systemd reads it (`parse_permyriad_unbounded`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentage(pub u64);

/// The most CPUs that are accepted.
const MOST_CPUS: u64 = 1_000_000;

impl Notation for MilliCpus {
    const NAME: &'static str = "MilliCpus";
    const ABOUT: &'static str = "CPUs as Kubernetes writes them: \"500m\" or \"1.5\"";
    const PATTERN: &'static str = r"^\s*([0-9]+m|[0-9]+(\.[0-9]{1,3})?)\s*$";

    fn read(text: &str) -> Result<MilliCpus, String> {
        let wrong = || format!("`{text}` is not an amount of CPUs: write \"500m\" or \"1.5\"");
        let text = text.trim();
        let millis = match text.strip_suffix('m') {
            Some(millis) => millis.parse().map_err(|_| wrong())?,
            None => {
                let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
                if rest.len() > 3 {
                    return Err(wrong());
                }
                let rest: u64 = if rest.is_empty() { 0 } else { format!("{rest:0<3}").parse().map_err(|_| wrong())? };
                let whole: u64 = whole.parse().map_err(|_| wrong())?;
                whole.saturating_mul(1000).saturating_add(rest)
            }
        };
        match millis {
            millis if millis > 1000 * MOST_CPUS => Err(format!("`{text}` is more than {MOST_CPUS} CPUs")),
            millis => Ok(MilliCpus(millis)),
        }
    }

    fn write(&self) -> String {
        if self.0.is_multiple_of(1000) { (self.0 / 1000).to_string() } else { format!("{}m", self.0) }
    }
}

impl Notation for Percentage {
    const NAME: &'static str = "Percentage";
    const ABOUT: &'static str = "percent of a CPU, as \"50%\", \"200%\" or \"33.3%\"";
    const PATTERN: &'static str = r"^\s*[0-9]+(\.[0-9]{1,2})?\s*%\s*$";

    fn read(text: &str) -> Result<Percentage, String> {
        let hundredths = |number: &str| -> Option<u64> {
            let (whole, rest) = number.split_once('.').unwrap_or((number, "0"));
            let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let rest = Some(rest).filter(|rest| rest.len() <= 2 && is_digits(rest))?;
            let whole: u64 = Some(whole).filter(|whole| is_digits(whole))?.parse().ok()?;
            whole.checked_mul(100)?.checked_add(format!("{rest:0<2}").parse().ok()?)
        };
        match text.trim().strip_suffix('%').and_then(|number| hundredths(number.trim())) {
            Some(part @ 1..=10_000_000_000) => Ok(Percentage(part)),
            _ => Err(format!("`{text}` is not a quota of a unit: write \"50%\" for half a CPU")),
        }
    }

    fn write(&self) -> String {
        match (self.0 / 100, self.0 % 100) {
            (whole, 0) => format!("{whole}%"),
            (whole, rest) if rest % 10 == 0 => format!("{whole}.{}%", rest / 10),
            (whole, rest) => format!("{whole}.{rest:02}%"),
        }
    }
}

/// What a control group is given by one of them.
pub(super) type Given = (Option<Weight>, Option<Max>);

impl Kubernetes {
    /// Its weight and limit.
    pub(super) fn given(&self) -> Given {
        let limit = self.limits.as_ref().map(|limit| limit.0);
        let request = self.requests.as_ref().map(|request| request.0).or(limit).unwrap_or(MilliCpus(0));
        let weight = weight_of_shares(shares(request), self.conversion);
        let max = limit.filter(|limit| limit.0 > 0).map(|limit| {
            let quota = Time(limit.0 * DEFAULT_PERIOD.ns() / 1000).max(MIN_QUOTA);
            Max { quota: Some(quota), period: Some(DEFAULT_PERIOD) }
        });
        (Some(Weight::Weight(weight)), max)
    }
}

impl Systemd {
    /// Its weight and limit.
    ///
    /// # Errors
    ///
    /// A weight that does not exist.
    pub(super) fn given(&self) -> Result<Given, String> {
        let weight = match &self.weight {
            None => None,
            Some(UnitWeight::Number(weight @ 1..=10_000)) => Some(Weight::Weight(*weight)),
            Some(UnitWeight::Number(weight)) => Err(format!("a weight of {weight} does not exist: write 1 to 10000"))?,
            Some(UnitWeight::Word(word)) if word == "idle" => Some(Weight::Idle),
            Some(UnitWeight::Word(word)) => match word.trim().parse() {
                Ok(weight @ 1..=10_000) => Some(Weight::Weight(weight)),
                _ => Err(format!("a weight of `{word}` does not exist: write 1 to 10000, or idle"))?,
            },
        };
        let period = self.period.as_ref().map_or(DEFAULT_PERIOD, |period| period.0);
        let max = self.quota.as_ref().map(|quota| {
            let hundredths = quota.0.0;
            // As long as makes the quota a millisecond at least.
            let least = Time((10_000 * MIN_QUOTA.ns()).div_ceil(hundredths).next_multiple_of(1_000));
            let period = period.clamp(MIN_QUOTA, MAX_PERIOD).max(least).min(MAX_PERIOD);
            let quota = Time(period.ns() / 1_000 * hundredths / 10_000 * 1_000).max(MIN_QUOTA);
            Max { quota: Some(quota), period: Some(period) }
        });
        Ok((weight, max))
    }
}

fn shares(cpus: MilliCpus) -> u64 {
    (cpus.0 * 1024 / 1000).clamp(2, 262_144)
}

fn weight_of_shares(shares: u64, conversion: Conversion) -> u32 {
    match conversion {
        Conversion::Old => (1 + (shares - 2) * 9999 / 262_142) as u32,
        Conversion::New if shares <= 2 => 1,
        Conversion::New if shares >= 262_144 => 10_000,
        Conversion::New => {
            let log = (shares as f64).log2();
            let exponent = (log * log + 125.0 * log) / 612.0 - 7.0 / 34.0;
            10f64.powf(exponent).ceil() as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_become_weights_the_old_and_the_new_way() {
        let shares = [2, 102, 256, 1024, 2000, 4096, 262_144];
        let weights = |conversion| shares.map(|shares| weight_of_shares(shares, conversion));
        assert_eq!(weights(Conversion::Old), [1, 4, 10, 39, 77, 157, 10_000]);
        assert_eq!(weights(Conversion::New), [1, 17, 35, 100, 170, 303, 10_000]);
    }

    #[test]
    fn a_container_has_what_it_asks_for() {
        let cpus = |text: &str| Some(Text(MilliCpus::read(text).unwrap()));
        let given = |requests, limits| Kubernetes { requests, limits, conversion: Conversion::New }.given();
        let max = |us: u64| Some(Max { quota: Some(Time::from_us(us)), period: Some(DEFAULT_PERIOD) });
        assert_eq!(given(cpus("1"), cpus("2")), (Some(Weight::Weight(100)), max(200_000)));
        assert_eq!(given(None, cpus("250m")), (Some(Weight::Weight(35)), max(25_000)));
        assert_eq!(given(cpus("100m"), None), (Some(Weight::Weight(17)), None));
        assert_eq!(given(None, None), (Some(Weight::Weight(1)), None));
        assert_eq!(given(None, cpus("1m")).1, max(1_000));
        assert_eq!((MilliCpus::read("1.5"), MilliCpus::read("0.25")), (Ok(MilliCpus(1500)), Ok(MilliCpus(250))));
        for wrong in ["", "m", "1.2345", "-1", "2x", "99999999999999999999"] {
            assert!(MilliCpus::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_unit_has_its_part_of_a_cpu() {
        let unit = |percent: u64, period: Option<Time>| {
            let unit = Systemd { weight: None, quota: Some(Text(Percentage(100 * percent))), period: period.map(Text) };
            let max = unit.given().unwrap().1.unwrap();
            (max.quota.unwrap(), max.period.unwrap())
        };
        assert_eq!(unit(8, None), (Time::from_ms(8), Time::from_ms(100)));
        assert_eq!(unit(150, Some(Time::from_ms(10))), (Time::from_ms(15), Time::from_ms(10)));
        assert_eq!(unit(10, Some(Time::from_ms(1))), (Time::from_ms(1), Time::from_ms(10)));
        assert_eq!(unit(50, Some(Time::from_s(5))), (Time::from_ms(500), Time::from_s(1)));
    }

    #[test]
    fn a_quota_has_hundredths_of_a_percent() {
        let read = |text: &str| Percentage::read(text).map(|part| part.0);
        assert_eq!((read("33.3%"), read("0.5 %"), read(" 200%")), (Ok(3330), Ok(50), Ok(20_000)));
        assert_eq!([3330, 50, 20_000, 3325].map(|part| Percentage(part).write()), ["33.3%", "0.5%", "200%", "33.25%"]);
        for wrong in ["", "%", "0%", "1.234%", "-1%", "1.%", ".5%", "1e2%", "50"] {
            assert!(Percentage::read(wrong).is_err(), "{wrong}");
        }
    }
}
