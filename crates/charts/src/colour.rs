//! The colours of schedulers: the same scheduler has the same colour in every chart of every report.
//!
//! The table began as the palettes of Okabe and Ito and of Paul Tol. Its colours were then moved until all of this held
//! at once, which the tests check. Distances are those of the OKLab space, where black and white are 1 apart.
//! - The nine shipped policies are at least 0.08 apart for eyes without the cones for green or for red, other pairs
//!   0.05.
//! - Schedulers that often stand side by side differ by at least 5 in CIE lightness, so that print in grey shows them.
//! - The contrast with white is at least 2.5 to 1.
//!
//! On a dark page each colour is a little lighter, so that its contrast there is at least 3 to 1 ([`on_dark`]).
//! Lightnesses that differ, and 3 to 1 on both pages, cannot be had together.

mod space;

use schedlab_model::hash::sha256;
use space::{Lch, apart, contrast};

/// The colours of the names that schedlab knows.
const KNOWN: [(&str, &str); 14] = [
    ("fcfs", "#686868"),
    ("rr", "#e49124"),
    ("mlfq", "#3c4ec8"),
    ("linux-o1", "#8364e7"),
    ("windows", "#3aabdb"),
    ("cfs", "#6c9076"),
    ("ule", "#a34da0"),
    ("eevdf", "#a74115"),
    ("alb", "#44b871"),
    ("kernel", "#5b64c9"),
    ("ps", "#a878b4"),
    ("srpt", "#c55d05"),
    ("fb", "#a21398"),
    ("ideal-fcfs", "#969696"),
];

/// Lines of names that we do not know are this far apart as long as there is room.
const FAR: f64 = 0.16;
/// Hues that are tried for each of them, one after the other by an angle that comes near no earlier one.
const HUES: usize = 24;
const GOLDEN_ANGLE: f64 = 137.507_764;

/// How the shades of a colour differ from it: in lightness, and in hue (degrees).
const SHADES: [(f64, f64); 6] = [(0.09, 0.0), (-0.09, 0.0), (0.05, 22.0), (-0.05, -22.0), (0.13, -14.0), (-0.13, 14.0)];

/// Shades stay between these lightnesses, to be seen on light and dark pages.
const LIGHTNESS: (f64, f64) = (0.42, 0.78);

/// The background of dark pages, as `crates/html/web/page.css` has it.
const DARK_PAGE: &str = "#15181c";

/// The least contrast with it (WCAG 2.2, success criterion 1.4.11).
const LEAST_CONTRAST: f64 = 3.0;

/// On a dark page colours keep this part of their distance from a lightness near white, and so their distances from
/// each other.
const KEPT: f64 = 0.92;
const NEAR_WHITE: f64 = 0.92;

/// The colour that stands for one of a light page on a dark page, both as `#rrggbb`.
pub fn on_dark(colour: &str) -> String {
    let own = Lch::of(colour);
    let least = NEAR_WHITE - KEPT * (NEAR_WHITE - own.lightness);
    let mut lighter = (0..100).map(|step| Lch { lightness: least + 0.01 * f64::from(step), ..own }.hex());
    lighter.find(|lighter| contrast(lighter, DARK_PAGE) >= LEAST_CONTRAST).unwrap_or("#ffffff".into())
}

/// The colours of schedulers, as `#rrggbb`, by their labels: `rr`, `rr:quantum=5ms`, `cfs@vm`. Schedulers that are not
/// the same get different colours; with other parameters a policy has another shade; a venue changes nothing.
pub fn colours(labels: &[&str]) -> Vec<String> {
    let mut taken: Vec<(&str, String)> = Vec::new();
    // Plain names come first: no shade may take the colour of one.
    let schedulers = || labels.iter().map(|label| scheduler(label));
    let (plain, parameters): (Vec<&str>, Vec<&str>) = schedulers().partition(|scheduler| !scheduler.contains(':'));
    for scheduler in plain.into_iter().chain(parameters) {
        if taken.iter().all(|(other, _)| *other != scheduler) {
            let colour = free_colour(scheduler, &taken);
            taken.push((scheduler, colour));
        }
    }
    let of = |scheduler: &str| taken.iter().find(|(other, _)| *other == scheduler).map(|(_, colour)| colour.clone());
    schedulers().filter_map(of).collect()
}

/// A colour that no other scheduler has. The names that we do not know get hues that are far from each other.
fn free_colour(scheduler: &str, taken: &[(&str, String)]) -> String {
    let distance = |colour: &String| taken.iter().map(|(_, other)| apart(other, colour)).fold(f64::MAX, f64::min);
    let is_unknown = KNOWN.iter().all(|(known, _)| *known != scheduler) && !scheduler.contains(':');
    let far = is_unknown.then(|| (0..HUES).map(|attempt| colour(scheduler, attempt)).find(|one| distance(one) >= FAR));
    // The colours continue without end, and all differ by and by.
    let any = || (0..).map(|attempt| colour(scheduler, attempt)).find(|one| distance(one) > 0.0);
    far.flatten().or_else(any).unwrap_or_default()
}

/// A label without its venue.
fn scheduler(label: &str) -> &str {
    label.rsplit_once('@').map_or(label, |(scheduler, _)| scheduler)
}

/// The colour of a scheduler; at later attempts another, where the first is taken.
fn colour(scheduler: &str, attempt: usize) -> String {
    let (name, parameters) = scheduler.split_once(':').unwrap_or((scheduler, ""));
    let known = KNOWN.iter().find(|(known, _)| *known == name);
    if let (Some((_, colour)), "", 0) = (known, parameters, attempt) {
        return colour.to_string();
    }
    let base = known.map_or_else(|| of_unknown(name), |(_, colour)| Lch::of(colour));
    if parameters.is_empty() && attempt == 0 {
        return base.hex();
    }
    if known.is_none() && parameters.is_empty() && attempt < HUES {
        return Lch { hue: base.hue + GOLDEN_ANGLE * attempt as f64, ..base }.hex();
    }
    let place = if parameters.is_empty() { attempt - 1 } else { number(parameters, 0) + attempt };
    let (lightness, hue) = SHADES[place % SHADES.len()];
    // Once all shades are taken, they are turned a little.
    let turn = 7.0 * (attempt / SHADES.len()) as f64;
    let lightness = (base.lightness + lightness).clamp(LIGHTNESS.0, LIGHTNESS.1);
    Lch { lightness, chroma: base.chroma.max(0.02), hue: base.hue + hue + turn }.hex()
}

/// Any hue, at a lightness and a colourfulness like those of the table.
fn of_unknown(name: &str) -> Lch {
    let lightness = 0.5 + 0.06 * (number(name, 1) % 4) as f64;
    Lch { lightness, chroma: 0.13, hue: (number(name, 0) % 360) as f64 }
}

/// A number that a text always has; `which` of several.
fn number(text: &str, which: usize) -> usize {
    let digits = &sha256(text.as_bytes())[7 * which..7 * (which + 1)];
    usize::from_str_radix(digits, 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::space::{Eyes, distance, grey};
    use super::*;

    /// Schedulers that are often compared.
    const SIDE_BY_SIDE: [&[&str]; 8] = [
        &["fcfs", "rr", "mlfq", "cfs"],
        &["cfs", "linux-o1", "windows", "ule", "eevdf"],
        &["cfs", "eevdf", "kernel", "alb"],
        &["linux-o1", "cfs", "alb", "fcfs"],
        &["ps", "srpt", "fb", "fcfs"],
        &["fcfs", "ideal-fcfs", "rr"],
        &["linux-o1", "mlfq", "kernel"],
        &["rr", "eevdf"],
    ];

    fn known(name: &str) -> &'static str {
        KNOWN.iter().find(|(known, _)| *known == name).unwrap().1
    }

    fn pairs<T: Copy>(items: &[T]) -> impl Iterator<Item = (T, T)> {
        items.iter().enumerate().flat_map(|(at, a)| items[at + 1..].iter().map(|b| (*a, *b)))
    }

    #[test]
    fn eyes_without_some_cones_tell_schedulers_apart() {
        for eyes in [Eyes::Usual, Eyes::WithoutGreen, Eyes::WithoutRed] {
            for ((a, of_a), (b, of_b)) in pairs(&KNOWN[..9]) {
                assert!(distance(of_a, of_b, eyes) >= 0.08, "{a} {b} {eyes:?}: {}", distance(of_a, of_b, eyes));
            }
            for ((a, of_a), (b, of_b)) in pairs(&KNOWN) {
                assert!(distance(of_a, of_b, eyes) >= 0.05, "{a} {b} {eyes:?}: {}", distance(of_a, of_b, eyes));
            }
        }
    }

    #[test]
    fn neighbours_differ_in_grey() {
        for (a, b) in SIDE_BY_SIDE.iter().flat_map(|group| pairs(group)) {
            let difference = (grey(known(a)) - grey(known(b))).abs();
            assert!(difference >= 5.0, "{a} {b}: {difference}");
        }
    }

    #[test]
    fn lines_are_seen_on_both_pages() {
        for (name, colour) in KNOWN {
            assert!(contrast(colour, "#ffffff") >= 2.5, "{name}: {}", contrast(colour, "#ffffff"));
        }
        let shades: Vec<String> = (1..60).map(|ms| format!("mlfq:quantum={ms}ms")).collect();
        let names: Vec<&str> =
            KNOWN.map(|(name, _)| name).into_iter().chain(shades.iter().map(String::as_str)).collect();
        for (name, colour) in names.iter().zip(colours(&names)) {
            let seen = contrast(&on_dark(&colour), DARK_PAGE);
            assert!(seen >= 3.0, "{name}: {seen}");
        }
    }

    /// On a dark page colours are nearly as far from each other as on a light one.
    #[test]
    fn schedulers_stay_apart_on_a_dark_page() {
        let dark = KNOWN.map(|(name, colour)| (name, on_dark(colour)));
        let check = |all: &[(&str, String)], least: f64| {
            for eyes in [Eyes::Usual, Eyes::WithoutGreen, Eyes::WithoutRed] {
                for (a, b) in pairs(&all.iter().collect::<Vec<_>>()) {
                    let far = distance(&a.1, &b.1, eyes);
                    assert!(far >= least, "{} {} {eyes:?}: {far}", a.0, b.0);
                }
            }
        };
        check(&dark[..9], 0.075);
        check(&dark, 0.045);
    }

    #[test]
    fn no_two_schedulers_of_a_list_have_the_same_colour() {
        let mut labels: Vec<String> = (1..60).map(|ms| format!("rr:quantum={ms}ms")).collect();
        labels.extend((0..300).map(|number| format!("own-{number}")));
        labels.extend(KNOWN.map(|(name, _)| name.to_string()));
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let colours = colours(&labels);
        assert_eq!(colours.len(), labels.len());
        for (a, b) in pairs(&colours.iter().collect::<Vec<_>>()) {
            assert_ne!(a, b);
        }
        assert!(colours.iter().all(|colour| colour.len() == 7 && colour.starts_with('#')));
    }

    #[test]
    fn lines_of_unknown_names_have_hues_that_differ() {
        for names in [["1", "2", "4", "8"], ["2", "4", "8", "16"], ["0ns", "5ms", "10ms", "20ms"]] {
            for (a, b) in pairs(&colours(&names).iter().map(String::as_str).collect::<Vec<_>>()) {
                assert!(distance(a, b, Eyes::Usual) >= FAR, "{names:?}: {a} {b}");
            }
        }
    }

    #[test]
    fn a_colour_does_not_depend_on_the_venue_or_on_the_others() {
        assert_eq!(colours(&["cfs", "cfs@vm", "cfs@host"]), [known("cfs"); 3]);
        assert_eq!(colours(&["rr:quantum=5ms@vm", "rr"])[0], colours(&["rr:quantum=5ms"])[0]);
        assert_eq!(colours(&["own.bpf.c"]), colours(&["fcfs", "own.bpf.c"])[1..]);
        assert_eq!(colours(&[]), [""; 0]);
    }

    #[test]
    fn shades_of_a_policy_differ_to_the_eye() {
        let labels = ["rr", "rr:quantum=1ms", "rr:quantum=5ms", "rr:quantum=20ms", "rr:quantum=100ms"];
        for (a, b) in pairs(&colours(&labels).iter().map(String::as_str).collect::<Vec<_>>()) {
            assert!(distance(a, b, Eyes::Usual) >= 0.03, "{a} {b}: {}", distance(a, b, Eyes::Usual));
        }
    }
}
