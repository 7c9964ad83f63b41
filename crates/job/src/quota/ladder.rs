//! Where to look next for the least setting of a control group under which a target is met.
//!
//! Nothing says that more never makes a response slower, so the answer is the least setting from which on all that were
//! tried meet the target. First come settings in equal ratios from the least to the most, then some between the last one that
//! fails and the first that does not, until these are close. Where all meet it, half of the least is tried, and so on down to
//! the floor. Settings are whole numbers of a unit.

/// How many settings are tried at first.
const GRID: u32 = 9;

/// How many are tried between two at once.
const BETWEEN: u64 = 3;

/// Two settings are close when they differ by no more than this part of the greater one, or by one.
const CLOSE: f64 = 0.02;

/// A setting that was tried, and whether the target was met.
pub type Tried = (u64, bool);

/// The first settings from the least to the most. From zero on there is no ratio: the next is a 64th of the most.
pub fn grid(least: u64, most: u64) -> Vec<u64> {
    const FIRST_PART: u64 = 64;
    if least == 0 {
        let above = grid((most / FIRST_PART).max(1), most);
        return std::iter::once(0).chain(above.into_iter().filter(|_| most > 0)).collect();
    }
    let most = most.max(least);
    let ratio = (most as f64 / least as f64).powf(1.0 / f64::from(GRID - 1));
    let mut settings: Vec<u64> =
        (0..GRID).map(|step| (least as f64 * ratio.powi(step as i32)).round() as u64).collect();
    settings.dedup();
    settings
}

/// The least setting from which on all that were tried meet the target.
pub fn least(tried: &[Tried]) -> Option<u64> {
    let mut sorted = tried.to_vec();
    sorted.sort();
    sorted.iter().rev().take_while(|(_, is_met)| *is_met).last().map(|(setting, _)| *setting)
}

/// The settings to be tried next; none where the answer is as exact as it gets. None is less than the floor.
pub fn next(tried: &[Tried], floor: u64) -> Vec<u64> {
    let Some(least) = least(tried) else { return Vec::new() };
    let below = tried.iter().filter(|(setting, _)| *setting < least).map(|(setting, _)| *setting).max();
    let Some(below) = below else {
        return Some((least / 2).max(floor)).filter(|half| *half < least).into_iter().collect();
    };
    let gap = least - below;
    if gap <= 1 || gap as f64 <= CLOSE * least as f64 {
        return Vec::new();
    }
    let at = |step: u64| below + gap * step / (BETWEEN + 1);
    let mut settings: Vec<u64> = (1..=BETWEEN).map(at).filter(|setting| (below + 1..least).contains(setting)).collect();
    settings.dedup();
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_ends_at_the_least_that_does() {
        for (least_of_all, most, floor) in [(4, 400, 4), (0, 400, 0), (1, 10_000, 1), (80, 400, 1)] {
            for threshold in [1, 7, 50, 51, 199, 399] {
                let mut tried: Vec<Tried> = Vec::new();
                let mut settings = grid(least_of_all, most);
                assert_eq!((settings[0], settings[settings.len() - 1]), (least_of_all, most));
                let mut rounds = 0;
                while !settings.is_empty() {
                    tried.extend(settings.iter().map(|setting| (*setting, *setting >= threshold)));
                    settings = next(&tried, floor);
                    rounds += 1;
                }
                let found = least(&tried).unwrap();
                let threshold = threshold.max(floor);
                let bound = (threshold as f64 * 1.03).max(threshold as f64 + 1.0);
                assert!(found >= threshold && found as f64 <= bound, "{threshold}: {found}");
                assert!(rounds < 16, "{threshold}: {rounds}");
            }
        }
    }

    #[test]
    fn what_meets_it_by_chance_is_no_answer() {
        let tried = [(1, true), (2, false), (3, true), (4, true)];
        assert_eq!(least(&tried), Some(3));
        assert!(next(&tried, 1).is_empty());
        assert_eq!(least(&[(9, false)]), None);
    }

    #[test]
    fn where_there_is_no_room_one_setting_is_tried() {
        assert_eq!((grid(0, 0), grid(7, 3), grid(5, 5)), (vec![0], vec![7], vec![5]));
        assert_eq!(grid(0, 2), [0, 1, 2]);
    }
}
