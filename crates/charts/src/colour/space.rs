//! Colours as eyes see them: the OKLab space of Björn Ottosson (2020) in polar form, and what is measured in it.

/// A colour by its lightness (0 is black, 1 is white), its colourfulness, and its hue in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lch {
    /// From 0 to 1.
    pub lightness: f64,
    /// 0 is grey.
    pub chroma: f64,
    /// Degrees; 30 is red, 145 green, 265 blue.
    pub hue: f64,
}

impl Lch {
    /// Of `#rrggbb`.
    pub fn of(hex: &str) -> Lch {
        let [lightness, a, b] = lab(linear(hex));
        Lch { lightness, chroma: libm::hypot(a, b), hue: libm::atan2(b, a).to_degrees() }
    }

    /// As `#rrggbb`, less colourful where a screen cannot show it.
    pub fn hex(self) -> String {
        let chromas = (0..=20).map(|step| self.chroma * f64::from(20 - step) / 20.0);
        let shown = chromas.map(|chroma| Lch { chroma, ..self }.light()).find(on_screen);
        // Grey is always on the screen, except for rounding.
        let light = shown.unwrap_or_else(|| Lch { chroma: 0.0, ..self }.light());
        let [r, g, b] = light.map(|light| (255.0 * gamma(light.clamp(0.0, 1.0))).round() as u8);
        format!("#{r:02x}{g:02x}{b:02x}")
    }

    /// The amounts of red, green and blue light.
    fn light(self) -> [f64; 3] {
        let (sin, cos) = libm::sincos(self.hue.to_radians());
        let lab = [self.lightness, self.chroma * cos, self.chroma * sin];
        times(&FROM_CONES, times(&FROM_LAB, lab).map(|cone| cone * cone * cone))
    }
}

type Matrix = [[f64; 3]; 3];

const TO_CONES: Matrix = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
];
const TO_LAB: Matrix = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
];
const FROM_LAB: Matrix =
    [[1.0, 0.3963377774, 0.2158037573], [1.0, -0.1055613458, -0.0638541728], [1.0, -0.0894841775, -1.2914855480]];
const FROM_CONES: Matrix = [
    [4.0767416621, -3.3077115913, 0.2309699292],
    [-1.2684380046, 2.6097574011, -0.3413193965],
    [-0.0041960863, -0.7034186147, 1.7076147010],
];

fn times(matrix: &Matrix, vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
}

fn lab(light: [f64; 3]) -> [f64; 3] {
    times(&TO_LAB, times(&TO_CONES, light).map(libm::cbrt))
}

fn on_screen(light: &[f64; 3]) -> bool {
    light.iter().all(|light| (-1e-6..=1.0 + 1e-6).contains(light))
}

/// The amounts of light of `#rrggbb`; black of anything else.
fn linear(hex: &str) -> [f64; 3] {
    [1, 3, 5].map(|at| {
        let digits = hex.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let value = f64::from(digits.unwrap_or(0)) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
    })
}

fn gamma(light: f64) -> f64 {
    if light <= 0.0031308 { 12.92 * light } else { 1.055 * libm::pow(light, 1.0 / 2.4) - 0.055 }
}

/// How far two colours `#rrggbb` are apart; black and white are 1 apart.
pub fn apart(a: &str, b: &str) -> f64 {
    gap(lab(linear(a)), lab(linear(b)))
}

fn gap(a: [f64; 3], b: [f64; 3]) -> f64 {
    libm::sqrt(a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum())
}

fn luminance(hex: &str) -> f64 {
    let [r, g, b] = linear(hex);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// The contrast of WCAG 2, from 1 to 21.
pub fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

#[cfg(test)]
pub use measure::{Eyes, distance, grey};

#[cfg(test)]
mod measure {
    use super::{Matrix, gap, lab, linear, luminance, times};

    /// The viewer's colour vision.
    #[derive(Clone, Copy, Debug)]
    pub enum Eyes {
        Usual,
        /// Deuteranopia.
        WithoutGreen,
        /// Protanopia.
        WithoutRed,
    }

    /// Machado, Oliveira and Fernandes (2009), severity 1.
    const WITHOUT_GREEN: Matrix =
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]];
    const WITHOUT_RED: Matrix =
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]];

    pub fn distance(a: &str, b: &str, eyes: Eyes) -> f64 {
        let seen = |hex: &str| match eyes {
            Eyes::Usual => lab(linear(hex)),
            Eyes::WithoutGreen => lab(times(&WITHOUT_GREEN, linear(hex)).map(|light| light.clamp(0.0, 1.0))),
            Eyes::WithoutRed => lab(times(&WITHOUT_RED, linear(hex)).map(|light| light.clamp(0.0, 1.0))),
        };
        gap(seen(a), seen(b))
    }

    /// The lightness of CIE 1976, from 0 to 100.
    pub fn grey(hex: &str) -> f64 {
        let luminance = luminance(hex);
        if luminance > 0.008856 { 116.0 * luminance.cbrt() - 16.0 } else { 903.3 * luminance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_come_back_from_polar_form() {
        for hex in ["#000000", "#ffffff", "#0072b2", "#d55e00", "#686868", "#e49124"] {
            assert_eq!(Lch::of(hex).hex(), hex);
        }
    }

    #[test]
    fn what_no_screen_shows_is_less_colourful() {
        let shown = Lch::of(&Lch { lightness: 0.6, chroma: 0.5, hue: 145.0 }.hex());
        assert!((shown.lightness - 0.6).abs() < 0.01 && (shown.hue - 145.0).abs() < 2.0, "{shown:?}");
        assert!(shown.chroma > 0.1 && shown.chroma < 0.5, "{shown:?}");
    }

    #[test]
    fn distance_and_contrast_of_black_and_white() {
        assert!((distance("#000000", "#ffffff", Eyes::Usual) - 1.0).abs() < 1e-3);
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        assert!((grey("#777777") - 50.0).abs() < 0.2);
    }
}
