//! Code: from sections with relocations to decoded functions.
//!
//! First the operations that the environment calls are linked with all they reach; what they need must be there. Then
//! the other programs of the object (tracing, system calls): what those miss is only an error when it is executed,
//! because nothing may ever call them here.

use std::collections::BTreeMap;

use super::data::Data;
use super::symbols::{Symbol, Symbols};
use crate::btf::CoreRelocation;
use crate::core_relocation::{Answer, answer, is_field_offset};
use crate::decode::{Decoded, Patch, Source, decode};
use crate::fault::SourceLine;
use crate::helpers;
use crate::kernel::{Environment, Routine};
use crate::kfuncs;
use crate::local_types::LocalTypes;
use crate::needs::{Needs, needs_of};
use crate::object::{CodeSection, LoadError, Object, ObjectError, RawInsn, Target};
use crate::program::{Entry, Function, FunctionId, HostFunction, HostId, Intrinsic, Program};
use crate::vm::CALL_DEPTH;

/// A function of the object: section, and index in it.
type Place = (usize, usize);

/// Numbers that libbpf puts where an instruction asks for what is not there, and what that was.
const LEFT_OUT: [(std::ops::Range<u32>, &str); 3] = [
    (195_896_080..195_896_081, "a field that the kernel lacks"),
    (2_001_000_000..2_002_000_000, "a map that its loader left out"),
    (2_002_000_000..2_003_000_000, "a function that the kernel lacks"),
];

/// What a cast between address spaces says when it makes a loader's pointer of an arena's.
const TO_USER: i32 = 1 << 16;

/// The linked code.
pub struct Functions {
    /// The program, without its maps.
    pub program: Program,
    /// The local types whose numbers the program uses.
    pub local_types: LocalTypes,
}

/// The work in progress.
struct Linker<'a> {
    object: &'a Object,
    kernel: &'a Environment<'a>,
    data: &'a Data,
    symbols: &'a Symbols,
    pointers: &'a [u64],
    program: Program,
    ids: BTreeMap<Place, FunctionId>,
    /// Functions that have a number but no code yet.
    waiting: Vec<Place>,
    /// By name and address: functions of one name may take different numbers of arguments.
    hosts: BTreeMap<(String, usize), HostId>,
    local_types: LocalTypes,
    /// Whether what is missing is an error.
    strict: bool,
    /// Whether any load may go through NULL: a loader has applied CO-RE, and which loads are of kernel types is not told.
    probes_everywhere: bool,
    /// The upper half of a loader's pointers into an arena; 0: it does not look at any.
    user_half: u32,
    missing: Vec<String>,
    unlinked: Vec<String>,
}

impl Functions {
    /// Links all programs of the object.
    pub fn link(
        object: &Object,
        kernel: &Environment<'_>,
        data: &Data,
        symbols: &Symbols,
        pointers: &[u64],
    ) -> Result<Functions, LoadError> {
        let mut linker = Linker::new(object, kernel, data, symbols, pointers, Program::default());
        let has_operations = object.code.iter().any(CodeSection::is_operation);
        linker.programs(|section| section.is_operation() || !has_operations)?;
        linker.refuse_missing()?;
        linker.strict = false;
        linker.programs(|section| has_operations && !section.is_operation())?;
        Ok(Functions { program: linker.program, local_types: linker.local_types })
    }

    /// Adds the programs of an object to a program that is there. What an instruction cannot do is an error, except where a
    /// loader left it out on purpose. After an error nothing has been added.
    pub fn add(
        program: &mut Program,
        object: &Object,
        kernel: &Environment<'_>,
        symbols: &Symbols,
        pointers: &[u64],
        user_half: u32,
    ) -> Result<(), LoadError> {
        let (functions, hosts, entries) = (program.functions.len(), program.hosts.len(), program.entries.len());
        let data = Data::default();
        let mut linker = Linker::new(object, kernel, &data, symbols, pointers, std::mem::take(program));
        let known = linker.program.hosts.iter().enumerate();
        linker.hosts = known.map(|(id, host)| ((host.name.clone(), host.call as usize), HostId(id as u32))).collect();
        linker.probes_everywhere = true;
        linker.user_half = user_half;
        let linked = linker.programs(|_| true).and_then(|()| linker.refuse_missing());
        *program = linker.program;
        linked.inspect_err(|_| {
            program.functions.truncate(functions);
            program.hosts.truncate(hosts);
            program.entries.truncate(entries);
        })?;
        // The first function is the program, the others are called by it.
        program.entries.truncate(entries + 1);
        Ok(())
    }
}

impl<'a> Linker<'a> {
    fn new(
        object: &'a Object,
        kernel: &'a Environment<'a>,
        data: &'a Data,
        symbols: &'a Symbols,
        pointers: &'a [u64],
        program: Program,
    ) -> Linker<'a> {
        Linker {
            object,
            kernel,
            data,
            symbols,
            pointers,
            program,
            ids: BTreeMap::new(),
            waiting: Vec::new(),
            hosts: BTreeMap::new(),
            local_types: LocalTypes::default(),
            strict: true,
            probes_everywhere: false,
            user_half: 0,
            missing: Vec::new(),
            unlinked: Vec::new(),
        }
    }
}

impl Linker<'_> {
    /// Links the programs of some sections and everything that they reach.
    fn programs(&mut self, wanted: impl Fn(&CodeSection) -> bool) -> Result<(), LoadError> {
        let object = self.object;
        for (index, section) in object.code.iter().enumerate() {
            if !section.is_program() || !wanted(section) {
                continue;
            }
            for (number, function) in section.functions.iter().enumerate() {
                let id = self.id((index, number));
                let (name, section) = (function.name.clone(), section.name.clone());
                self.program.entries.push(Entry { name, section, function: id });
            }
        }
        while let Some(place) = self.waiting.pop() {
            let function = self.function(place)?;
            self.program.functions[self.ids[&place].index()] = function;
        }
        Ok(())
    }

    fn refuse_missing(&mut self) -> Result<(), LoadError> {
        for list in [&mut self.missing, &mut self.unlinked] {
            list.sort();
            list.dedup();
        }
        if !self.unlinked.is_empty() {
            return Err(LoadError::Unlinked(std::mem::take(&mut self.unlinked)));
        }
        if !self.missing.is_empty() {
            return Err(LoadError::Missing(std::mem::take(&mut self.missing)));
        }
        Ok(())
    }

    /// The number of a function, which is then linked sooner or later.
    fn id(&mut self, place: Place) -> FunctionId {
        let next = FunctionId(self.program.functions.len() as u32);
        let id = *self.ids.entry(place).or_insert(next);
        if id == next {
            self.program.functions.push(Function {
                name: self.object.code[place.0].functions[place.1].name.clone(),
                insns: Vec::new(),
                blocks: Vec::new(),
                uses_stack: false,
                slots: Vec::new(),
                lines: Vec::new(),
            });
            self.waiting.push(place);
        }
        id
    }

    fn host(&mut self, name: &str, routine: Routine, intrinsic: Option<Intrinsic>) -> Patch {
        let Routine { call, arguments, calls_back } = routine;
        let next = HostId(self.program.hosts.len() as u32);
        let id = *self.hosts.entry((name.to_string(), call as usize)).or_insert(next);
        if id == next {
            let (name, needs_no_lock) = (name.to_string(), false);
            self.program.hosts.push(HostFunction { name, call, arguments, intrinsic, calls_back, needs_no_lock });
        }
        Patch::Host(id)
    }

    /// An instruction that must not be executed.
    fn unresolved(&mut self, what: String) -> Patch {
        self.program.unresolved.push(what);
        Patch::Unresolved(self.program.unresolved.len() as u32 - 1)
    }

    /// Something that is missing: an error if it is needed.
    fn miss(&mut self, what: String) -> Patch {
        if self.strict {
            self.missing.push(what.clone());
        }
        self.unresolved(what)
    }

    fn function(&mut self, place: Place) -> Result<Function, LoadError> {
        let object = self.object;
        let section = &object.code[place.0];
        let found = &section.functions[place.1];
        let range = found.start as usize..found.end as usize;
        let mut insns = section.insns[range].to_vec();
        let mut patches = BTreeMap::new();
        let probes_anywhere = self.apply_core(section, found.start, &mut insns, &mut patches)?;
        let wrong = |slot: u32, what: &str| {
            let (function, what) = (found.name.clone(), what.to_string());
            LoadError::Object(ObjectError::Instruction { function, instruction: slot, what })
        };
        let mut at = 0;
        while at < insns.len() {
            let slot = found.start + at as u32;
            let wide = insns[at].code == 0x18;
            if !patches.contains_key(&slot) {
                let high = if wide { insns.get(at + 1).map_or(0, |high| high.imm) } else { 0 };
                let patch = self.patch(place.0, slot, insns[at], high).map_err(|what| wrong(slot, &what))?;
                patches.extend(patch.map(|patch| (slot, patch)));
            }
            at += if wide { 2 } else { 1 };
        }
        self.end_after_call(&mut insns, found.start, &mut patches);
        let probes_anywhere = probes_anywhere || self.probes_everywhere;
        let is_probe = |slot: u32| probes_anywhere || section.core.get(&slot).is_some_and(is_field_offset);
        let source = Source { insns: &insns, start: found.start, patches: &patches, probes: &is_probe };
        let decoded = decode(&source).map_err(|error| wrong(error.slot, &error.what))?;
        Ok(finish(section, found.name.clone(), decoded))
    }

    /// A function may end with a call that does not come back (`bpf_throw`): what is behind it is never executed.
    fn end_after_call(&mut self, insns: &mut Vec<RawInsn>, start: u32, patches: &mut BTreeMap<u32, Patch>) {
        if insns.last().is_some_and(|last| last.code == 0x85) {
            let patch = self.unresolved("code behind a call that does not return".to_string());
            patches.insert(start + insns.len() as u32, patch);
            insns.push(RawInsn { code: 0x95, dst: 0, src: 0, offset: 0, imm: 0 });
        }
    }

    /// Applies the CO-RE relocations of a function. Gives whether it computes addresses of kernel fields, so that any
    /// load may go through NULL.
    fn apply_core(
        &mut self,
        section: &CodeSection,
        start: u32,
        insns: &mut [RawInsn],
        patches: &mut BTreeMap<u32, Patch>,
    ) -> Result<bool, LoadError> {
        let mut computes_addresses = false;
        for (&slot, relocation) in section.core.range(start..start + insns.len() as u32) {
            let at = (slot - start) as usize;
            let (btf, types) = (&self.object.btf, &self.kernel.types);
            let answer = answer(btf, types, relocation).map_err(ObjectError::from)?;
            self.note_local_type(relocation, &answer)?;
            let is_load = insns[at].code & 7 == 1;
            computes_addresses |= is_field_offset(relocation) && !is_load;
            let value = match answer {
                Answer::Missing(what) => {
                    let patch = self.unresolved(what);
                    patches.insert(slot, patch);
                    continue;
                }
                Answer::Value(value) => (value, None),
                Answer::Offset(offset, size) => (offset, size),
            };
            if let Err(what) = put(&mut insns[at..], value.0, value.1) {
                let patch = self.unresolved(what);
                patches.insert(slot, patch);
            }
        }
        Ok(computes_addresses)
    }

    /// Remembers the size of a local type whose number the program gets, to make objects of it.
    fn note_local_type(&mut self, relocation: &CoreRelocation, answer: &Answer) -> Result<(), LoadError> {
        if *answer == Answer::Value(u64::from(relocation.ty)) {
            self.local_types.note(&self.object.btf, relocation.ty)?;
        }
        Ok(())
    }

    /// What an instruction refers to.
    fn patch(&mut self, section: usize, slot: u32, insn: RawInsn, high: i32) -> Result<Option<Patch>, String> {
        let target = self.object.code[section].targets.get(&slot).copied();
        match (insn.code, target) {
            (0x85, Some(Target::Extern(index))) => Ok(Some(self.call_extern(index))),
            (0x85, Some(Target::Code { section, offset })) => {
                let target = (offset / 8) as i64 + i64::from(insn.imm) + 1;
                self.call_function(section, target).map(Some)
            }
            (0x85, None) if insn.src == 1 => {
                self.call_function(section, i64::from(slot) + i64::from(insn.imm) + 1).map(Some)
            }
            (0x85, None) if insn.src == 0 => Ok(Some(self.call_helper(insn.imm as u32))),
            (0x85, _) => Err("a call leads nowhere".to_string()),
            (0x18, Some(target)) => self.constant(target, insn, high).map(Some),
            (0xbf, None) if insn.offset == 1 && insn.imm == TO_USER && self.user_half != 0 => {
                Ok(Some(Patch::ToUser(self.user_half)))
            }
            _ => Ok(None),
        }
    }

    fn call_helper(&mut self, number: u32) -> Patch {
        if let Some((_, what)) = LEFT_OUT.iter().find(|(numbers, _)| numbers.contains(&number)) {
            return self.unresolved(what.to_string());
        }
        let name = helpers::name(number);
        match helpers::find(number) {
            Some(helper) => self.host(&name, helper.routine, helper.intrinsic),
            None => self.miss(format!("helper {name} ({number})")),
        }
    }

    fn call_extern(&mut self, index: usize) -> Patch {
        match self.symbols.0[index].clone() {
            Symbol::Function { name, routine, intrinsic, .. } => self.host(&name, routine, intrinsic),
            Symbol::Absent(what) => self.unresolved(what),
            Symbol::Address(_) => self.unresolved("a variable as a function".to_string()),
            Symbol::Missing(what) => self.miss(what),
            Symbol::Unlinked(what) => self.miss_unlinked(what),
        }
    }

    fn miss_unlinked(&mut self, what: String) -> Patch {
        if self.strict {
            self.unlinked.push(what.clone());
        }
        self.unresolved(what)
    }

    fn call_function(&mut self, section: usize, slot: i64) -> Result<Patch, String> {
        self.function_id(section, slot).map(Patch::Function)
    }

    fn function_id(&mut self, section: usize, slot: i64) -> Result<FunctionId, String> {
        let object = self.object;
        let found = u32::try_from(slot).ok().and_then(|slot| object.code[section].function_at(slot));
        let found = found.ok_or_else(|| format!("it calls instruction {slot}, where no function begins"))?;
        Ok(self.id((section, found)))
    }

    /// The value of a 64-bit constant that refers to something.
    fn constant(&mut self, target: Target, insn: RawInsn, high: i32) -> Result<Patch, String> {
        let addend = u64::from(insn.imm as u32) | u64::from(high as u32) << 32;
        Ok(match target {
            Target::Map(map) => Patch::Constant(self.pointers[map]),
            Target::Address(address) => Patch::Constant(address),
            Target::Data { section, offset } => {
                let base = self.data.sections.get(&section).copied().unwrap_or(0);
                Patch::Constant(base.wrapping_add(offset).wrapping_add(addend))
            }
            Target::Code { section, offset } => {
                let slot = offset.wrapping_add(addend) / 8;
                let function = self.function_id(section, i64::try_from(slot).unwrap_or(-1))?;
                Patch::Constant(Program::function_handle(function))
            }
            Target::Extern(index) => match self.symbols.0[index].clone() {
                Symbol::Function { handle, .. } => Patch::Constant(handle),
                Symbol::Address(address) => Patch::Constant(address.wrapping_add(addend)),
                Symbol::Absent(_) => Patch::Constant(0),
                Symbol::Missing(what) => self.miss(what),
                Symbol::Unlinked(what) => self.miss_unlinked(what),
            },
        })
    }
}

/// Puts the answer to a CO-RE relocation into an instruction; an error text when it does not fit.
fn put(insns: &mut [RawInsn], value: u64, size: Option<u32>) -> Result<(), String> {
    match insns[0].code & 7 {
        0 if insns.len() > 1 && insns[0].code == 0x18 => {
            (insns[0].imm, insns[1].imm) = (value as u32 as i32, (value >> 32) as u32 as i32);
        }
        1..=3 => {
            insns[0].offset = i16::try_from(value).map_err(|_| format!("a field at offset {value}, out of reach"))?;
            if let Some(size) = size {
                let code = match size {
                    1 => 0x10,
                    2 => 0x08,
                    4 => 0x00,
                    8 => 0x18,
                    _ => return Err(format!("a field of {size} bytes as an integer")),
                };
                insns[0].code = insns[0].code & !0x18 | code;
            }
        }
        4 | 7 if insns[0].code & 8 == 0 => insns[0].imm = value as i32,
        _ => return Err("a CO-RE relocation at an instruction that has no place for it".to_string()),
    }
    Ok(())
}

fn finish(section: &CodeSection, name: String, decoded: Decoded) -> Function {
    let Decoded { insns, blocks, slots, uses_stack } = decoded;
    let mut lines = Vec::new();
    let (first, last) = (slots.first().copied().unwrap_or(0), slots.last().copied().unwrap_or(0));
    for line in &section.lines {
        let slot = line.offset / 8;
        if (first..=last).contains(&slot) && line.line > 0 {
            let index = slots.partition_point(|&found| found < slot) as u32;
            lines.push((index, SourceLine { file: line.file.clone(), line: line.line }));
        }
    }
    Function { name, insns, blocks, uses_stack, slots, lines }
}

/// Marks what may not be called while a lock is held, if the program takes any.
pub fn mark_locks(hosts: &mut [HostFunction]) {
    if hosts.iter().any(|host| kfuncs::takes_lock(&host.name)) {
        hosts.iter_mut().for_each(|host| host.needs_no_lock = !kfuncs::is_allowed_with_lock(&host.name));
    }
}

/// What each function takes.
pub fn needs(program: &Program) -> Result<Vec<Needs>, LoadError> {
    let refused = |function: FunctionId, what: &str| {
        let function = program.functions[function.index()].name.clone();
        ObjectError::Instruction { function, instruction: 0, what: what.to_string() }.into()
    };
    let needs = needs_of(&program.functions, &program.hosts, program.counts_all)
        .map_err(|id| refused(id, "it calls itself, directly or through others; BPF has no recursion"))?;
    match needs.iter().position(|needs| needs.depth > CALL_DEPTH) {
        Some(index) => {
            let what =
                format!("it and what it calls are {} frames deep; a kernel allows {CALL_DEPTH}", needs[index].depth);
            Err(refused(FunctionId(index as u32), &what))
        }
        None => Ok(needs),
    }
}
