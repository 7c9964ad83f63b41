//! Numbers as users write them: `10ms`, `20`, `-3`, `0x40`, `true`.

/// Units of time in nanoseconds, the longest first. Times are shown in the largest unit that divides them.
const TIMES: [(&str, i128); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

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
    use schedlab_model::scenario::nanoseconds;

    #[test]
    fn times_have_the_largest_unit_that_divides_them() {
        let shown = [0, 7, 500, 2_000, 10_000_000, 1_500_000_000, 300_000_000_000].map(show_time);
        assert_eq!(shown, ["0s", "7ns", "500ns", "2us", "10ms", "1500ms", "300s"]);
    }

    proptest::proptest! {
        #[test]
        fn a_time_that_is_shown_reads_back(ns in 0..u64::MAX) {
            proptest::prop_assert_eq!(nanoseconds(&show_time(ns.into())), Ok(ns.into()));
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
