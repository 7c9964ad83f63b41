//! Numbers as users write them: `10ms`, `20`, `-3`, `0x40`, `true`.

/// Units of time in nanoseconds, the longest first. Times are shown in the largest unit that divides them.
const TIMES: [(&str, i128); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Reads a time: a decimal number and its unit, exact to the nanosecond.
pub fn time_ns(text: &str) -> Result<i128, String> {
    let number = text.trim_end_matches(|c: char| c.is_alphabetic() || c == 'µ');
    let unit = &text[number.len()..];
    let scale = match unit {
        "" => return Err(format!("`{text}` has no unit; write {text}ms, {text}us or {text}s")),
        "µs" => 1_000,
        _ => TIMES
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|&(_, scale)| scale)
            .ok_or_else(|| format!("`{unit}` is not a unit of time; use ns, us, ms or s"))?,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || (number.contains('.') && fraction.is_empty()) {
        return Err(format!("`{text}` is not a time; write it as 10ms or 1.5s"));
    }
    let exact = || -> Option<i128> {
        let parts = format!("{whole}{fraction}").parse::<i128>().ok()?.checked_mul(scale)?;
        let divisor = 10_i128.checked_pow(fraction.len() as u32)?;
        (parts % divisor == 0).then_some(parts / divisor)
    };
    exact().ok_or_else(|| format!("`{text}` is not a whole number of nanoseconds"))
}

/// Shows nanoseconds in the largest unit that divides them.
pub fn show_time(ns: i128) -> String {
    let (unit, scale) = TIMES.iter().find(|(_, scale)| ns % scale == 0 && ns != 0).unwrap_or(&TIMES[0]);
    format!("{}{unit}", ns / scale)
}

/// Reads an integer, decimal or hexadecimal.
pub fn integer(text: &str) -> Result<i128, String> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let number = match digits.strip_prefix("0x") {
        Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16),
        None => digits.parse(),
    };
    match number {
        Ok(number) if digits.starts_with(|c: char| c.is_ascii_digit()) => Ok(if negative { -number } else { number }),
        _ => Err(format!("`{text}` is not a whole number")),
    }
}

/// Reads a truth value.
pub fn boolean(text: &str) -> Result<i128, String> {
    match text {
        "true" | "on" | "yes" | "1" => Ok(1),
        "false" | "off" | "no" | "0" => Ok(0),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (text, ns) in [("10ms", 10_000_000), ("1.5s", 1_500_000_000), ("0.5us", 500), ("7ns", 7), ("2µs", 2_000)] {
            assert_eq!(time_ns(text), Ok(ns));
        }
        for (text, part) in [
            ("10", "no unit"),
            ("0.5ns", "whole number of"),
            ("1h", "`h` is not a unit"),
            ("ms", "not a time"),
            ("-1ms", "not a time"),
        ] {
            let error = time_ns(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_time_that_is_shown_reads_back(ns in 0..u64::MAX) {
            proptest::prop_assert_eq!(time_ns(&show_time(ns.into())), Ok(ns.into()));
        }
    }

    #[test]
    fn integers_and_truth_values() {
        assert_eq!((integer("-12"), integer("0x40"), boolean("on")), (Ok(-12), Ok(64), Ok(1)));
        for text in ["", "-", "--1", "+1", "1.5", "0x", "ten"] {
            assert!(integer(text).is_err(), "{text}");
        }
        assert!(boolean("maybe").is_err());
    }
}
