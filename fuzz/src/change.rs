//! Changes of inputs.

use crate::rng::Rng;

/// The longest input that is made.
const LONGEST: usize = 1 << 18;

/// Numbers at which formats and programs change their minds.
const NUMBERS: [u64; 14] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    (1 << 62) - 1,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Makes another input of one, with parts of a second, and with words of the format.
pub fn changed(input: &[u8], other: &[u8], words: &[&str], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=rng.below(4) {
        change(&mut bytes, other, words, rng);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], words: &[&str], rng: &mut Rng) {
    let at = rng.below(bytes.len() + 1);
    let end = (at + 1 + rng.below(16)).min(bytes.len());
    match rng.below(12) {
        0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
        1 if at < bytes.len() => bytes[at] = rng.draw() as u8,
        2 => drop(bytes.drain(at..end)),
        3 => bytes.truncate(at),
        4 => insert(bytes, at, &bytes[at..end].to_vec().repeat(1 + rng.below(64))),
        5 if !words.is_empty() => insert(bytes, at, rng.of(words).as_bytes()),
        6 if !words.is_empty() => replace(bytes, at, end, rng.of(words).as_bytes()),
        7 => overwrite(bytes, at, &number(rng)),
        8 => insert(bytes, at, rng.of(&NUMBERS).to_string().as_bytes()),
        9 => replace_number(bytes, at, rng),
        10 if !other.is_empty() => {
            let from = rng.below(other.len());
            let until = (from + 1 + rng.below(256)).min(other.len());
            insert(bytes, at, &other[from..until]);
        }
        11 if !other.is_empty() => {
            bytes.truncate(at);
            bytes.extend_from_slice(&other[rng.below(other.len())..]);
        }
        _ => bytes.push(rng.draw() as u8),
    }
}

/// A number in 1, 2, 4 or 8 bytes.
fn number(rng: &mut Rng) -> Vec<u8> {
    let number = rng.of(&NUMBERS).wrapping_add((rng.draw() % 3).wrapping_sub(1));
    number.to_le_bytes()[..1 << rng.below(4)].to_vec()
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    bytes.splice(at..at, what.iter().copied());
}

fn replace(bytes: &mut Vec<u8>, at: usize, end: usize, what: &[u8]) {
    bytes.splice(at..end.max(at), what.iter().copied());
}

fn overwrite(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..].iter_mut().zip(what).for_each(|(byte, new)| *byte = *new);
}

/// Replaces the digits at or after a place.
fn replace_number(bytes: &mut Vec<u8>, at: usize, rng: &mut Rng) {
    let Some(begin) = bytes[at..].iter().position(u8::is_ascii_digit).map(|offset| at + offset) else { return };
    let length = bytes[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    replace(bytes, begin, begin + length, rng.of(&NUMBERS).to_string().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_repeat_and_stay_short() {
        let input = b"name = \"small\"\ncpus = 12\n".repeat(100);
        let all = |seed: u64| {
            let mut rng = Rng::new(seed);
            (0..500).map(|_| changed(&input, b"other", &["[[task]]"], &mut rng)).collect::<Vec<_>>()
        };
        assert!(all(1) == all(1) && all(1) != all(2));
        assert!(all(3).iter().all(|bytes| bytes.len() <= LONGEST));
        assert!(!changed(b"", b"", &[], &mut Rng::new(1)).is_empty() || all(4).iter().any(|bytes| *bytes != input));
    }
}
