//! Whether what another loader made of a program is still that program.
//!
//! A loader changes an instruction only where the file asks for something that it cannot know: an address, a fact about
//! the kernel's types. Subprograms are behind the program that calls them, in any order.

use super::{CodeSection, DataKind, DataSection, Object, RawInsn, Target};
use std::collections::BTreeMap;

/// A call; a 64-bit constant, whose second half is in the next slot.
const CALL: u8 = 0x85;
const CONSTANT: u8 = 0x18;
/// Calls that libbpf writes for what the kernel lacks; the verifier refuses them where they can be reached.
const UNANSWERED: std::ops::Range<i32> = 0xbad_2310..0xbad_2310 + (1 << 20);
const UNRESOLVED: std::ops::Range<i32> = 2_002_000_000..2_003_000_000;
/// `src_reg` of constants and calls: a map, a place in a map's value, a program's own function, a kernel function.
const MAP: u8 = 1;
const MAP_VALUE: u8 = 2;
const OWN_FUNCTION: u8 = 4;
const OWN_CALL: u8 = 1;
const KERNEL_CALL: u8 = 2;

/// The first place where it is another one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("program {program}, instruction {instruction}: {what}")]
pub struct Difference {
    /// The program.
    pub program: String,
    /// The number of the instruction among those that were loaded.
    pub instruction: usize,
    /// What is not as in the object.
    pub what: &'static str,
}

impl Object {
    /// Holds the instructions that another loader made of a program against the file.
    pub fn compare(&self, program: &str, loaded: &[[u8; 8]]) -> Result<(), Difference> {
        let loaded: Vec<RawInsn> = loaded.iter().map(|bytes| RawInsn::parse(bytes)).collect();
        let difference = |(instruction, what)| Difference { program: program.into(), instruction, what };
        Comparison::new(&self.code, &self.data, &loaded).whole(program).map_err(difference)
    }
}

/// Where it differs, and in what.
type Found = (usize, &'static str);

/// The work in progress.
struct Comparison<'a> {
    code: &'a [CodeSection],
    data: &'a [DataSection],
    loaded: &'a [RawInsn],
    /// Which slots have been compared.
    compared: Vec<bool>,
    /// Where functions, by section and first slot, must begin.
    places: BTreeMap<(usize, u32), usize>,
    /// Those that have not been compared.
    waiting: Vec<(usize, u32, usize)>,
}

impl<'a> Comparison<'a> {
    fn new(code: &'a [CodeSection], data: &'a [DataSection], loaded: &'a [RawInsn]) -> Comparison<'a> {
        let compared = vec![false; loaded.len()];
        Comparison { code, data, loaded, compared, places: BTreeMap::new(), waiting: Vec::new() }
    }

    /// The program and everything that it reaches; nothing else may be there.
    fn whole(mut self, program: &str) -> Result<(), Found> {
        let begin = |(index, section): (usize, &CodeSection)| {
            let function = section.functions.iter().find(|function| function.name == program)?;
            section.is_program().then_some((index, function.start))
        };
        let begin = self.code.iter().enumerate().find_map(begin).ok_or((0, "the object has no such program"))?;
        self.expect(0, begin.0, i64::from(begin.1), 0)?;
        while let Some((section, start, at)) = self.waiting.pop() {
            self.function(section, start, at)?;
        }
        match self.compared.iter().position(|compared| !compared) {
            Some(slot) => Err((slot, "the object has no such instruction")),
            None => Ok(()),
        }
    }

    /// The instruction `from` refers to a function of the file, which is loaded at `at`.
    fn expect(&mut self, from: usize, section: usize, slot: i64, at: i64) -> Result<(), Found> {
        let start = u32::try_from(slot).ok().filter(|slot| self.code[section].function_at(*slot).is_some());
        let start = start.ok_or((from, "no function begins there in the object"))?;
        let at = usize::try_from(at).map_err(|_| (from, "it leads out of the program"))?;
        let known = self.places.get(&(section, start)).copied();
        if known.is_none() {
            self.places.insert((section, start), at);
            self.waiting.push((section, start, at));
        }
        if known.unwrap_or(at) == at { Ok(()) } else { Err((from, "it leads to another function")) }
    }

    fn function(&mut self, section: usize, start: u32, at: usize) -> Result<(), Found> {
        let code = self.code;
        let function = code[section].functions.iter().find(|function| function.start == start);
        let function = function.ok_or((at, "no function begins there in the object"))?;
        let own = &code[section].insns[function.start as usize..function.end as usize];
        let loaded = self.loaded;
        let loaded = loaded.get(at..at + own.len()).ok_or((at, "the function is cut off"))?;
        if self.compared[at..at + own.len()].iter().any(|compared| *compared) {
            return Err((at, "two functions are in one place"));
        }
        self.compared[at..at + own.len()].fill(true);
        let mut index = 0;
        while index < own.len() {
            let width = if own[index].code == CONSTANT && index + 1 < own.len() { 2 } else { 1 };
            let slot = start + index as u32;
            self.instruction(section, slot, at + index, &own[index..index + width], &loaded[index..index + width])?;
            index += width;
        }
        Ok(())
    }

    /// One instruction, of one or two slots.
    fn instruction(
        &mut self,
        section: usize,
        slot: u32,
        at: usize,
        own: &[RawInsn],
        loaded: &[RawInsn],
    ) -> Result<(), Found> {
        let code = &self.code[section];
        let same = |good: bool| if good { Ok(()) } else { Err((at, "it is not the object's")) };
        if code.core.contains_key(&slot) {
            return same(is_answered(own, loaded));
        }
        let (first, got) = (own[0], loaded[0]);
        let (imm, target) = (i64::from(first.imm), code.targets.get(&slot).copied());
        let behind = at as i64 + 1 + i64::from(got.imm);
        match (first.code, target) {
            (CALL, Some(Target::Code { section, offset })) => {
                same(is_call(first, got, OWN_CALL))?;
                self.expect(at, section, (offset / 8) as i64 + imm + 1, behind)
            }
            (CALL, None) if first.src == OWN_CALL => {
                same(is_call(first, got, OWN_CALL))?;
                self.expect(at, section, i64::from(slot) + imm + 1, behind)
            }
            (CALL, Some(Target::Extern(_))) => {
                let resolved = RawInsn { src: KERNEL_CALL, offset: got.offset, imm: got.imm, ..first };
                same(got == resolved || is_poison(got, UNRESOLVED))
            }
            (CONSTANT, Some(target)) => {
                let high = |wanted: i64| loaded[1] == RawInsn { imm: wanted as i32, ..own[1] };
                let low = |src: u8| got == RawInsn { src, imm: got.imm, ..first };
                match target {
                    Target::Map(_) => same(low(MAP) && high(0)),
                    // Only what is loaded already names addresses.
                    Target::Address(_) => same(false),
                    Target::Data { section, .. } if self.data[section].kind == DataKind::Arena => {
                        same(low(MAP_VALUE) && high(loaded[1].imm.into()))
                    }
                    Target::Data { offset, .. } => same(low(MAP_VALUE) && high(offset as i64 + imm)),
                    Target::Extern(_) => same(low(got.src) && high(loaded[1].imm.into())),
                    Target::Code { section, offset } => {
                        same(low(OWN_FUNCTION) && high(0))?;
                        self.expect(at, section, (offset as i64 + imm) / 8, behind)
                    }
                }
            }
            _ => same(own == loaded),
        }
    }
}

fn is_call(own: RawInsn, loaded: RawInsn, src: u8) -> bool {
    loaded == RawInsn { src, imm: loaded.imm, ..own }
}

/// A call that takes the place of something that the kernel lacks.
fn is_poison(loaded: RawInsn, numbers: std::ops::Range<i32>) -> bool {
    let plain = RawInsn { code: CALL, dst: 0, src: 0, offset: 0, imm: loaded.imm };
    loaded == plain && numbers.contains(&loaded.imm)
}

/// Whether an instruction is the object's, with the answer to a question about the kernel's types.
fn is_answered(own: &[RawInsn], loaded: &[RawInsn]) -> bool {
    let (first, got) = (own[0], loaded[0]);
    if is_poison(got, UNANSWERED) {
        return true;
    }
    match first.code & 7 {
        // Loads and stores: the offset, and the size of what is accessed.
        1..=3 => got == RawInsn { code: first.code & !0x18 | got.code & 0x18, offset: got.offset, ..first },
        _ if own.len() == 2 => {
            got == RawInsn { imm: got.imm, ..first } && loaded[1] == RawInsn { imm: loaded[1].imm, ..own[1] }
        }
        _ => got == RawInsn { imm: got.imm, ..first },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btf::CoreRelocation;
    use crate::object::CodeFunction;

    fn insn(code: u8, registers: (u8, u8), offset: i16, imm: i32) -> RawInsn {
        RawInsn { code, dst: registers.0, src: registers.1, offset, imm }
    }

    /// A program that does a little of everything, its subprogram, and a variable.
    fn object() -> ([CodeSection; 2], [DataSection; 1]) {
        let section = |name: &str, function: &str, insns: Vec<RawInsn>| CodeSection {
            name: name.into(),
            functions: vec![CodeFunction { name: function.into(), start: 0, end: insns.len() as u32 }],
            insns,
            targets: BTreeMap::new(),
            core: BTreeMap::new(),
            lines: Vec::new(),
        };
        let mut main = section(
            "struct_ops/enqueue",
            "enqueue",
            vec![
                insn(0x61, (1, 1), 40, 0),
                insn(CONSTANT, (2, 0), 0, 8),
                insn(0, (0, 0), 0, 0),
                insn(CALL, (0, 1), 0, -1),
                insn(CALL, (0, 1), 0, -1),
                insn(0x95, (0, 0), 0, 0),
            ],
        );
        let core = CoreRelocation { offset: 0, ty: 1, access: "0:1".into(), kind: 0 };
        main.core.insert(0, core);
        main.targets.insert(1, Target::Data { section: 0, offset: 16 });
        main.targets.insert(3, Target::Code { section: 1, offset: 0 });
        main.targets.insert(4, Target::Extern(0));
        let sub = section(".text", "sub", vec![insn(0xb7, (0, 0), 0, 7), insn(0x95, (0, 0), 0, 0)]);
        let (name, kind, bytes, variables) = (".bss".to_string(), DataKind::ReadWrite, Vec::new(), Vec::new());
        ([main, sub], [DataSection { name, kind, bytes, size: 32, variables }])
    }

    /// What a loader makes of it.
    fn loaded() -> Vec<RawInsn> {
        vec![
            insn(0x79, (1, 1), 64, 0),
            insn(CONSTANT, (2, MAP_VALUE), 0, 9),
            insn(0, (0, 0), 0, 24),
            insn(CALL, (0, OWN_CALL), 0, 2),
            insn(CALL, (0, KERNEL_CALL), 1, 4711),
            insn(0x95, (0, 0), 0, 0),
            insn(0xb7, (0, 0), 0, 7),
            insn(0x95, (0, 0), 0, 0),
        ]
    }

    fn compare(loaded: &[RawInsn]) -> Result<(), Found> {
        let (code, data) = object();
        Comparison::new(&code, &data, loaded).whole("enqueue")
    }

    fn bytes(insn: RawInsn) -> [u8; 8] {
        let (offset, imm) = (insn.offset.to_le_bytes(), insn.imm.to_le_bytes());
        [insn.code, insn.dst | insn.src << 4, offset[0], offset[1], imm[0], imm[1], imm[2], imm[3]]
    }

    /// Every bit of every byte counts, except for those that the file leaves to the loader.
    #[test]
    fn a_changed_bit_is_seen_unless_the_file_leaves_it_to_the_loader() {
        assert_eq!(compare(&loaded()), Ok(()));
        let free = |slot: usize, byte: usize, bit: u8| match (slot, byte) {
            (0, 0) => bit == 3 || bit == 4,
            (0, 2..=3) => true,
            (1, 4..=7) => true,
            (4, 2..=7) => true,
            _ => false,
        };
        for slot in 0..loaded().len() {
            for (byte, bit) in (0..8).flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
                let mut changed = bytes(loaded()[slot]);
                changed[byte] ^= 1 << bit;
                let mut all = loaded();
                all[slot] = RawInsn::parse(&changed);
                assert_eq!(compare(&all).is_ok(), free(slot, byte, bit), "slot {slot}, byte {byte}, bit {bit}");
            }
        }
    }

    #[test]
    fn what_is_missing_or_too_much_is_seen() {
        for length in 0..loaded().len() {
            assert!(compare(&loaded()[..length]).is_err(), "{length}");
        }
        let mut more = loaded();
        more.push(insn(0x95, (0, 0), 0, 0));
        assert_eq!(compare(&more), Err((8, "the object has no such instruction")));
        let (code, data) = object();
        let absent = Comparison::new(&code, &data, &loaded()).whole("dispatch");
        assert_eq!(absent, Err((0, "the object has no such program")));
    }
}
