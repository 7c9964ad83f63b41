//! Programs: linked when they are loaded, and run for their loader.

use std::collections::BTreeMap;

use super::attributes::{Attributes, read_vec};
use super::{BYTES_PER_INSTRUCTION, Caller, Item, Reply, Syscalls, errno};
use crate::btf::{Btf, Kind, LineInfo};
use crate::hosted::Vm;
use crate::kernel::Environment;
use crate::linker;
use crate::object::{CodeFunction, CodeSection, Extern, ExternKind, LoadError, Object, RawInsn, Target};
use crate::options::Executor;
use crate::program::ProgramId;

/// Kinds of programs, `enum bpf_prog_type`.
mod kind {
    pub const TRACING: u32 = 26;
    pub const STRUCT_OPS: u32 = 27;
    pub const SYSCALL: u32 = 31;
}
/// What a 64-bit constant or a call refers to, by its source register.
mod pseudo {
    pub const MAP: u8 = 1;
    pub const MAP_VALUE: u8 = 2;
    pub const TYPE: u8 = 3;
    pub const FUNCTION: u8 = 4;
    pub const MAP_BY_INDEX: u8 = 5;
    pub const MAP_VALUE_BY_INDEX: u8 = 6;
    /// Of a call: a function of the kernel.
    pub const KERNEL_FUNCTION: u8 = 2;
}
/// A program that may sleep.
const SLEEPABLE: u32 = 1 << 4;
/// A run for a loader is to be on a CPU that it names.
const ON_CPU: u32 = 1;
/// The most instructions of a program, and the most bytes of what it is called with.
const MOST_INSTRUCTIONS: u32 = 1 << 20;
const MOST_CONTEXT: u32 = 4096;
const CONSTANT: u8 = 0x18;
const CALL: u8 = 0x85;

/// A program that a loader made.
#[derive(Clone, Debug)]
pub struct ProgramObject {
    pub name: String,
    pub kind: u32,
    pub id: ProgramId,
    pub instructions: u32,
    /// What of the kernel it watches.
    pub watches: Option<String>,
}

/// A program as it comes, with what it refers to found.
struct Found {
    targets: BTreeMap<u32, Target>,
    externs: Vec<Extern>,
}

impl<H> Syscalls<H> {
    pub(super) fn load_program(&mut self, vm: &mut Vm<H>, caller: &dyn Caller, at: &Attributes) -> Result<Reply, i32> {
        let count = at.u32(4);
        if count == 0 || count > MOST_INSTRUCTIONS {
            return Err(errno::E2BIG);
        }
        self.charge(vm, BYTES_PER_INSTRUCTION * u64::from(count))?;
        let btf = self.btf(caller, at.u32(72))?;
        let code = read_vec(caller, at.u64(8), count as usize * 8)?;
        let mut insns: Vec<RawInsn> = code.chunks_exact(8).map(RawInsn::parse).collect();
        let found = self.resolve(caller, &mut insns, at.u64(120))?;
        let short = at.name(48);
        let functions = functions(caller, at, btf.as_deref(), &short, count)?;
        let lines = lines(caller, at, btf.as_deref())?;
        let name = self.unique(vm, &functions[0].name);
        let (kind, may_sleep) = (at.u32(0), at.u32(44) & SLEEPABLE != 0);
        let mut functions = functions;
        functions[0].name = name.clone();
        let section = CodeSection {
            name: section(kind, may_sleep, &name),
            insns,
            functions,
            targets: found.targets,
            core: BTreeMap::new(),
            lines,
        };
        let object = Object::of_code(btf.as_deref().cloned(), section, found.externs);
        let linked =
            linker::add(vm.state_mut(), &object, &Environment::of(&self.kernel), &self.pointers, self.user_half);
        if let Err(error) = linked {
            self.tell(caller, at, &error)?;
            return Err(errno::EINVAL);
        }
        self.is_stale = true;
        let state = vm.state_mut();
        btf.iter().for_each(|btf| state.local_types.look_in(btf));
        // Subprograms are entries no more than those of an object are.
        let id = ProgramId(state.program.entries.len() as u32 - 1);
        let watches = if kind == kind::TRACING { self.types.watched(at.u32(108)) } else { None };
        Ok(self.add(Item::Program(ProgramObject { name, kind, id, instructions: count, watches }), None))
    }

    /// A name that no other program has: it is how operations are found.
    fn unique(&self, vm: &Vm<H>, name: &str) -> String {
        let is_free = |name: &str| vm.program(name).is_none();
        if is_free(name) {
            return name.to_string();
        }
        (2..).map(|number| format!("{name}.{number}")).find(|name| is_free(name)).expect("there is always another")
    }

    /// Writes why a program was refused where its loader wants to read it.
    fn tell(&self, caller: &dyn Caller, at: &Attributes, error: &LoadError) -> Result<(), i32> {
        let (level, size, to) = (at.u32(24), at.u32(28) as usize, at.u64(32));
        if level == 0 || size == 0 || to == 0 {
            return Ok(());
        }
        let mut text = error.to_string().into_bytes();
        text.truncate(size - 1);
        text.push(0);
        caller.write(to, &text)
    }

    /// Finds what the instructions refer to; what is found is taken out of them.
    fn resolve(&self, caller: &dyn Caller, insns: &mut [RawInsn], fds: u64) -> Result<Found, i32> {
        let mut found = Found { targets: BTreeMap::new(), externs: Vec::new() };
        let mut slot = 0;
        while slot < insns.len() {
            let insn = insns[slot];
            let wide = insn.code == CONSTANT;
            if wide && slot + 1 == insns.len() {
                return Err(errno::EINVAL);
            }
            let target = match (insn.code, insn.src) {
                (CONSTANT, 1..) => Some(self.constant(caller, insns, slot, fds, &mut found.externs)?),
                (CALL, pseudo::KERNEL_FUNCTION) => {
                    let (name, arguments) = self.types.functions.get(&(insn.imm as u32)).ok_or(errno::EINVAL)?;
                    Some(of_kernel(&mut found.externs, name, ExternKind::Function { arguments: *arguments }))
                }
                _ => None,
            };
            if let Some(target) = target {
                found.targets.insert(slot as u32, target);
                (insns[slot].src, insns[slot].imm) = (0, 0);
                if wide {
                    insns[slot + 1].imm = 0;
                }
            }
            slot += if wide { 2 } else { 1 };
        }
        Ok(found)
    }

    fn constant(
        &self,
        caller: &dyn Caller,
        insns: &[RawInsn],
        slot: usize,
        fds: u64,
        externs: &mut Vec<Extern>,
    ) -> Result<Target, i32> {
        let (insn, high) = (insns[slot], insns[slot + 1].imm as u32);
        let fd = match insn.src {
            pseudo::MAP_BY_INDEX | pseudo::MAP_VALUE_BY_INDEX => {
                let bytes = read_vec(caller, fds.wrapping_add(4 * u64::from(insn.imm as u32)), 4)?;
                u32::from_le_bytes(bytes.try_into().expect("four bytes"))
            }
            _ => insn.imm as u32,
        };
        match insn.src {
            pseudo::MAP | pseudo::MAP_BY_INDEX => {
                let (_, map) = self.map(caller, fd)?;
                Ok(Target::Map(map.id.ok_or(errno::EINVAL)?.index()))
            }
            pseudo::MAP_VALUE | pseudo::MAP_VALUE_BY_INDEX => {
                let (_, map) = self.map(caller, fd)?;
                let base = map.base.ok_or(errno::EINVAL)?;
                let is_arena = map.definition.kind == crate::maps::kind::ARENA;
                if !is_arena && high >= map.definition.value_size {
                    return Err(errno::EACCES);
                }
                Ok(Target::Address(base + u64::from(high)))
            }
            pseudo::TYPE => {
                let id = insn.imm as u32;
                if let Some((name, arguments)) = self.types.functions.get(&id) {
                    return Ok(of_kernel(externs, name, ExternKind::Function { arguments: *arguments }));
                }
                let name = self.types.variables.get(&id).ok_or(errno::EINVAL)?;
                Ok(of_kernel(externs, name, ExternKind::Variable))
            }
            pseudo::FUNCTION => {
                let target = slot as i64 + i64::from(insn.imm) + 1;
                let offset = u64::try_from(target).map_err(|_| errno::EINVAL)? * 8;
                Ok(Target::Code { section: 0, offset })
            }
            _ => Err(errno::EINVAL),
        }
    }

    pub(super) fn test_run(
        &mut self,
        vm: &mut Vm<H>,
        host: &mut H,
        caller: &dyn Caller,
        at: &Attributes,
    ) -> Result<Reply, i32> {
        let (_, program) = self.program(caller, at.u32(0))?;
        let id = program.id;
        if program.kind != kind::SYSCALL && program.kind != kind::TRACING {
            return Err(errno::EOPNOTSUPP);
        }
        if self.is_stale {
            let executor = if vm.machine.is_some() { Executor::Machine } else { Executor::Interpreter };
            linker::complete(vm.state_mut(), executor).map_err(|_| errno::EINVAL)?;
            self.is_stale = false;
        }
        let len = at.u32(40);
        if len > MOST_CONTEXT {
            return Err(errno::E2BIG);
        }
        let mut context = read_vec(caller, at.u64(48), len as usize)?;
        let on_cpu = at.u32(64) & ON_CPU != 0;
        if on_cpu && at.u32(68) >= self.options.cpus {
            return Err(errno::ENXIO);
        }
        let before = vm.instructions();
        vm.moment().cpu = if on_cpu { at.u32(68) } else { caller.cpu() };
        // SAFETY: the host is exclusively ours, and no part of the machine.
        let result = unsafe { vm.state_mut().call_with_bytes(id, &mut context, (&raw mut *host).cast()) };
        self.executed += vm.instructions() - before;
        let value = match result {
            Ok(value) => value as u32,
            Err(fault) => {
                self.note(fault.to_string());
                return Err(errno::EFAULT);
            }
        };
        let to = if at.u64(56) != 0 { at.u64(56) } else { at.u64(48) };
        if len > 0 {
            caller.write(to, &context)?;
        }
        caller.write(at.address + 4, &value.to_le_bytes())?;
        Ok(Reply::Value(0))
    }
}

/// Something of the kernel, once for each name.
fn of_kernel(externs: &mut Vec<Extern>, name: &str, kind: ExternKind) -> Target {
    let known = externs.iter().position(|found| found.name == name);
    Target::Extern(known.unwrap_or_else(|| {
        externs.push(Extern { name: name.into(), weak: false, kind });
        externs.len() - 1
    }))
}

/// The section in which an object would have such a program.
fn section(kind: u32, may_sleep: bool, name: &str) -> String {
    let sleeps = if may_sleep { ".s" } else { "" };
    match kind {
        kind::STRUCT_OPS => format!("struct_ops{sleeps}/{name}"),
        kind::SYSCALL => "syscall".into(),
        kind::TRACING => format!("tracing/{name}"),
        kind => format!("program of kind {kind}/{name}"),
    }
}

/// The functions of a program: where each begins is in its types; without those there is one.
fn functions(
    caller: &dyn Caller,
    at: &Attributes,
    btf: Option<&Btf>,
    name: &str,
    count: u32,
) -> Result<Vec<CodeFunction>, i32> {
    let (size, address, records) = (at.u32(76) as usize, at.u64(80), at.u32(88) as usize);
    let mut functions: Vec<CodeFunction> = Vec::new();
    if let Some(btf) = btf.filter(|_| records > 0 && (8..=64).contains(&size) && records <= count as usize) {
        let bytes = read_vec(caller, address, size * records)?;
        for record in bytes.chunks_exact(size) {
            let word = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"));
            let ty = btf.get(word(4)).map_err(|_| errno::EINVAL)?;
            if !matches!(ty.kind, Kind::Function(_)) {
                return Err(errno::EINVAL);
            }
            functions.push(CodeFunction { name: ty.name.clone(), start: word(0), end: count });
        }
    }
    if functions.is_empty() {
        functions.push(CodeFunction { name: name.into(), start: 0, end: count });
    }
    for index in 1..functions.len() {
        functions[index - 1].end = functions[index].start;
    }
    let is_ordered = functions[0].start == 0 && functions.iter().all(|function| function.start < function.end);
    if is_ordered { Ok(functions) } else { Err(errno::EINVAL) }
}

fn lines(caller: &dyn Caller, at: &Attributes, btf: Option<&Btf>) -> Result<Vec<LineInfo>, i32> {
    let (size, address, records) = (at.u32(92) as usize, at.u64(96), at.u32(104) as usize);
    let Some(btf) = btf.filter(|_| (16..=64).contains(&size) && records <= MOST_INSTRUCTIONS as usize) else {
        return Ok(Vec::new());
    };
    let bytes = read_vec(caller, address, size * records)?;
    let line = |record: &[u8]| {
        let word = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"));
        let file = btf.string(word(4)).unwrap_or_default();
        let file = crate::btf::printable(file.rsplit('/').next().unwrap_or(file));
        LineInfo { offset: word(0) * 8, file, line: word(12) >> 10 }
    };
    Ok(bytes.chunks_exact(size).map(line).collect())
}
