//! Puts the types of an object's BTF into one order.
//!
//! clang writes the forward declarations at the end of BTF in the order of their addresses in its own memory, which
//! changes with the length of a path on its command line. Sorted by name, the same source is the same object anywhere.

use std::collections::{BTreeMap, BTreeSet};

const FORWARD: u32 = 7;
const HEADER: usize = 24;

/// Sorts the forward declarations at the end of a `.BTF` section by name and renumbers what refers to them. A section
/// of another form comes back unchanged.
pub fn canonical(section: &[u8]) -> Vec<u8> {
    let mut bytes = section.to_vec();
    match Layout::read(&bytes) {
        Some(layout) => {
            layout.sort(&mut bytes);
            bytes
        }
        None => bytes,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Where things are in the section.
struct Layout {
    /// The offset of each type; the type at index 0 has number 1.
    types: Vec<usize>,
    /// The offsets of all words that hold a type's number.
    references: Vec<usize>,
    /// The index of the first of the forward declarations at the end.
    tail: usize,
    /// The offsets of all words that hold the place of a name.
    names: Vec<usize>,
    /// The offset of the strings.
    strings: usize,
}

impl Layout {
    fn read(bytes: &[u8]) -> Option<Layout> {
        let header = word(bytes, 4)? as usize;
        let (start, length, strings) = (word(bytes, 8)?, word(bytes, 12)?, word(bytes, 16)?);
        if header != HEADER || word(bytes, 0)? & 0xffff != 0xeb9f {
            return None;
        }
        let strings = header + strings as usize;
        let mut layout = Layout { types: Vec::new(), references: Vec::new(), tail: 0, names: Vec::new(), strings };
        let end = header + start as usize + length as usize;
        let mut at = header + start as usize;
        while at < end {
            layout.types.push(at);
            let info = word(bytes, at + 4)?;
            let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            if kind != FORWARD {
                layout.tail = layout.types.len();
            }
            at = layout.refer(at, kind, members)?;
        }
        Some(layout)
    }

    /// Notes the references and names of one type and returns where the next one begins.
    fn refer(&mut self, at: usize, kind: u32, members: usize) -> Option<usize> {
        let body = at + 12;
        self.names.push(at);
        // Pointer, typedef, qualifiers, function, prototype, variable, tags: the third word is a type.
        if matches!(kind, 2 | 8..=14 | 17 | 18) {
            self.references.push(at + 8);
        }
        let (stride, place, count) = match kind {
            1 | 14 | 17 => (4, None, 1),          // integer, variable, declaration tag: one word more
            2 | 7..=12 | 16 | 18 => (0, None, 0), // nothing more
            3 => {
                self.references.extend([body, body + 4]); // array: element and index
                (12, None, 1)
            }
            4 | 5 => (12, Some(4), members), // structure, union: name, type, offset
            6 => (8, None, members),         // enumeration: name, value
            13 => (8, Some(4), members),     // prototype: name, type
            15 => (12, Some(0), members),    // section: variable, offset, size
            19 => (12, None, members),       // enumeration of 64 bits: name, two words
            _ => return None,
        };
        self.references.extend(place.into_iter().flat_map(|place| (0..count).map(move |n| body + n * stride + place)));
        if matches!(kind, 4 | 5 | 6 | 13 | 19) {
            self.names.extend((0..count).map(|n| body + n * stride));
        }
        Some(body + stride * count)
    }

    fn sort(&self, bytes: &mut [u8]) {
        let old: Vec<(Vec<u8>, u32)> = self.types[self.tail..].iter().map(|&at| self.forward(bytes, at)).collect();
        let mut order: Vec<usize> = (0..old.len()).collect();
        order.sort_by(|&a, &b| old[a].cmp(&old[b]));

        let number = |index: usize| (self.tail + index + 1) as u32;
        let renumbered: BTreeMap<u32, u32> =
            order.iter().enumerate().map(|(new, &index)| (number(index), number(new))).collect();
        for &at in &self.references {
            if let Some(&new) = word(bytes, at).and_then(|old| renumbered.get(&old)) {
                put(bytes, at, new);
            }
        }
        let offsets = self.sort_names(bytes, &old, &order);
        for (new, &index) in order.iter().enumerate() {
            let at = self.types[self.tail + new];
            put(bytes, at, offsets[&index]);
            put(bytes, at + 4, old[index].1);
        }
    }

    /// Name and info word of a forward declaration; the third word is always zero.
    fn forward(&self, bytes: &[u8], at: usize) -> (Vec<u8>, u32) {
        let name = self.strings + word(bytes, at).unwrap_or(0) as usize;
        let text = bytes[name.min(bytes.len())..].iter().take_while(|&&byte| byte != 0).copied().collect();
        (text, word(bytes, at + 4).unwrap_or(0))
    }

    /// The names that came into the strings with these types are there in the types' order. Puts them into the new
    /// one and says where each type's name is now. A name that was there before stays where it is.
    fn sort_names(&self, bytes: &mut [u8], old: &[(Vec<u8>, u32)], order: &[usize]) -> BTreeMap<usize, u32> {
        let place = |index: usize| word(bytes, self.types[self.tail + index]).unwrap_or(0);
        let mut offsets: BTreeMap<usize, u32> = (0..old.len()).map(|index| (index, place(index))).collect();
        let first = self.types.get(self.tail).copied().unwrap_or(usize::MAX);
        let shared: BTreeSet<_> =
            self.names.iter().filter(|&&at| at < first).filter_map(|&at| word(bytes, at)).collect();
        // From the last name backwards: those that touch.
        let mut by_place: Vec<usize> = (0..old.len()).collect();
        by_place.sort_by_key(|&index| std::cmp::Reverse(offsets[&index]));
        let mut fresh = Vec::new();
        for &index in &by_place {
            let end = offsets[&index] + old[index].0.len() as u32 + 1;
            if shared.contains(&offsets[&index]) || fresh.last().is_some_and(|&after| end != offsets[&after]) {
                break;
            }
            fresh.push(index);
        }
        let Some(mut at) = fresh.last().map(|first| offsets[first]) else { return offsets };
        for &index in order.iter().filter(|index| fresh.contains(index)) {
            let (name, start) = (&old[index].0, self.strings + at as usize);
            bytes[start..start + name.len()].copy_from_slice(name);
            bytes[start + name.len()] = 0;
            offsets.insert(index, at);
            at += name.len() as u32 + 1;
        }
        offsets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BTF with a pointer to each forward declaration, the declarations at the end in the given order. `shared` is a
    /// name that a structure has too.
    fn section(names: &[&str], shared: &str) -> Vec<u8> {
        let mut strings = b"\0".to_vec();
        let mut place = |name: &str| {
            strings.extend(name.as_bytes());
            strings.push(0);
            (strings.len() - name.len() - 1) as u32
        };
        let shared_at = place(shared);
        let mut types = vec![shared_at, 4 << 24, 0];
        let mut sorted = names.to_vec();
        sorted.sort();
        for name in sorted {
            let number = 2 + names.len() + names.iter().position(|other| *other == name).unwrap();
            types.extend([0, 2 << 24, number as u32]);
        }
        for name in names {
            types.extend([if *name == shared { shared_at } else { place(name) }, FORWARD << 24, 0]);
        }
        let mut words = vec![0x0001_eb9f, HEADER as u32, 0, 4 * types.len() as u32, 4 * types.len() as u32];
        words.push(strings.len() as u32);
        words.extend(types);
        words.iter().flat_map(|word| word.to_le_bytes()).chain(strings).collect()
    }

    #[test]
    fn every_order_becomes_the_sorted_one() {
        for shared in ["other", "bb"] {
            let sorted = section(&["a", "bb", "ccc", "dddd"], shared);
            assert!(canonical(&sorted) == sorted);
            for order in [["dddd", "ccc", "bb", "a"], ["bb", "a", "dddd", "ccc"], ["ccc", "dddd", "a", "bb"]] {
                assert!(canonical(&section(&order, shared)) == sorted, "{order:?} {shared}");
            }
        }
    }

    #[test]
    fn what_is_no_btf_stays_as_it_is() {
        for bytes in [b"".as_slice(), b"\x9f\xeb", &[0; 64], &section(&["a", "b"], "c")[..30]] {
            assert_eq!(canonical(bytes), bytes);
        }
    }
}
