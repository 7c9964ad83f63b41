//! bpf(2) of a simulated kernel: what a loader asks for is made in a virtual machine, and answered from there.
//!
//! Programs come with CO-RE applied and with everything named by descriptors and by numbers of the kernel's types. Maps
//! that a loader can map are files that it shares with guest memory. What the kernel's verifier would refuse because no
//! helper, function or instruction of that kind exists is refused here too; the rest of what it proves is not.

mod attributes;
mod info;
mod links;
mod maps;
mod programs;

pub use links::Attached;

use std::collections::BTreeSet;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use crate::btf::Btf;
use crate::descriptor::OwnedFd;
use crate::hosted::Vm;
use crate::kernel::Kernel;
use crate::kernel_btf::KernelBtf;
use crate::linker;
use crate::memory::{Access, GuestMemory, Region};
use crate::object::{LoadError, Object};
use crate::options::{Executor, LoadOptions};
use crate::vm::MAP_POINTER_STRIDE;
use attributes::Attributes;
use maps::MapObject;
use programs::ProgramObject;

/// The most maps of one machine.
const MAPS_MOST: usize = 4096;
/// How much of what failed is noted.
const FAULTS_MOST: usize = 1000;
/// What the host keeps about an object, and about each byte of types and each instruction of a program.
const OBJECT_BYTES: u64 = 4096;
const BYTES_PER_TYPE_BYTE: u64 = 8;
const BYTES_PER_INSTRUCTION: u64 = 128;
/// The most bytes of a BTF, a program's code and the like.
const MOST_BYTES: u32 = 64 << 20;

/// Commands of bpf(2), `enum bpf_cmd`.
mod command {
    pub const MAP_CREATE: u32 = 0;
    pub const MAP_LOOKUP_ELEM: u32 = 1;
    pub const MAP_UPDATE_ELEM: u32 = 2;
    pub const MAP_DELETE_ELEM: u32 = 3;
    pub const MAP_GET_NEXT_KEY: u32 = 4;
    pub const PROG_LOAD: u32 = 5;
    pub const OBJ_GET: u32 = 7;
    pub const PROG_TEST_RUN: u32 = 10;
    pub const PROG_GET_NEXT_ID: u32 = 11;
    pub const MAP_GET_NEXT_ID: u32 = 12;
    pub const OBJ_GET_INFO_BY_FD: u32 = 15;
    pub const RAW_TRACEPOINT_OPEN: u32 = 17;
    pub const BTF_LOAD: u32 = 18;
    pub const MAP_FREEZE: u32 = 22;
    pub const BTF_GET_NEXT_ID: u32 = 23;
    pub const LINK_CREATE: u32 = 28;
    pub const LINK_UPDATE: u32 = 29;
    pub const LINK_GET_NEXT_ID: u32 = 31;
    pub const LINK_DETACH: u32 = 34;
    pub const PROG_BIND_MAP: u32 = 35;
    pub const PROG_ASSOC_STRUCT_OPS: u32 = 38;
}

/// Error numbers as the kernel gives them, positive.
mod errno {
    pub const ENOENT: i32 = 2;
    pub const E2BIG: i32 = 7;
    pub const EBADF: i32 = 9;
    pub const ENOMEM: i32 = 12;
    pub const EACCES: i32 = 13;
    pub const EFAULT: i32 = 14;
    pub const ENXIO: i32 = 6;
    pub const EINVAL: i32 = 22;
    pub const EOPNOTSUPP: i32 = 95;
}

/// The process that calls.
pub trait Caller {
    /// Fills `bytes` from its memory, or gives an error number.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), i32>;

    /// Writes into its memory.
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), i32>;

    /// The number of the object behind one of its descriptors.
    fn object(&self, fd: i32) -> Option<u32>;

    /// A file of this many bytes in memory, by which the process knows the object of this number.
    fn file(&self, object: u32, len: u64) -> io::Result<OwnedFd>;

    /// The CPU on which it runs.
    fn cpu(&self) -> u32;
}

/// What a call is answered.
#[derive(Debug)]
pub enum Reply {
    /// A result.
    Value(i64),
    /// An error number.
    Error(i32),
    /// A descriptor of the object of this number; the file that it is, where there is something to map.
    Object(u32, Option<OwnedFd>),
    /// The program has put its operations in charge.
    Attached(Box<Attached>),
}

/// Something that has a descriptor.
enum Item {
    Map(MapObject),
    Program(ProgramObject),
    Btf(Arc<Btf>, Vec<u8>),
    Link(u32),
}

/// The bpf(2) of a kernel whose programs are called with a host `H`.
pub struct Syscalls<H> {
    kernel: Kernel<H>,
    types: Rc<KernelBtf>,
    options: LoadOptions,
    items: Vec<Item>,
    /// Guest address of the pointer to map 0, and those of all that there are.
    first_pointer: u64,
    pointers: Vec<u64>,
    /// The upper half of a loader's pointers into its arena.
    user_half: u32,
    /// Whether something was added since the machine was last made ready.
    is_stale: bool,
    /// Instructions that programs executed for loaders.
    executed: u64,
    /// What a loader asked for and was refused because it is not simulated, and why programs that ran for it failed.
    faults: Vec<String>,
    /// What programs were attached to; nothing of it ever calls them.
    watched: BTreeSet<String>,
}

impl<H> Syscalls<H> {
    /// An empty machine, and its bpf(2).
    pub fn new(
        kernel: Kernel<H>,
        types: Rc<KernelBtf>,
        options: &LoadOptions,
        memory: GuestMemory,
    ) -> Result<(Syscalls<H>, Vm<H>), LoadError> {
        let stride = MAP_POINTER_STRIDE as u32;
        let region = Region::array("maps", stride, stride, Access::ReadOnly);
        let first_pointer = memory.alloc(MAP_POINTER_STRIDE * MAPS_MOST as u64, 8, region)?;
        let interpreted = LoadOptions { executor: Executor::Interpreter, ..options.clone() };
        let vm = Object::default().load(&kernel, &[], &interpreted, memory)?;
        let syscalls = Syscalls {
            kernel,
            types,
            options: options.clone(),
            items: Vec::new(),
            first_pointer,
            pointers: Vec::new(),
            user_half: 0,
            is_stale: false,
            executed: 0,
            faults: Vec::new(),
            watched: BTreeSet::new(),
        };
        Ok((syscalls, vm))
    }

    /// Makes the machine ready to be called as its options say.
    pub fn complete(&mut self, vm: &mut Vm<H>) -> Result<(), LoadError> {
        linker::complete(vm.state_mut(), self.options.executor)?;
        vm.state_mut().checked = self.options.executor == Executor::Interpreter;
        self.is_stale = false;
        Ok(())
    }

    /// Instructions that programs executed in calls of loaders.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// What a loader asked for and was refused because it is not simulated, and why programs that ran for it failed, in
    /// their order.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Functions and tracepoints to which programs were attached. Those are never called: nothing here is such an event.
    pub fn watched(&self) -> impl Iterator<Item = &str> {
        self.watched.iter().map(String::as_str)
    }

    /// Answers a call.
    pub fn call(
        &mut self,
        vm: &mut Vm<H>,
        host: &mut H,
        caller: &dyn Caller,
        command: u32,
        (address, size): (u64, u32),
    ) -> Reply {
        let attributes = match Attributes::read(caller, address, size) {
            Ok(attributes) => attributes,
            Err(error) => return Reply::Error(error),
        };
        self.answer(vm, host, caller, command, &attributes).unwrap_or_else(Reply::Error)
    }

    fn answer(
        &mut self,
        vm: &mut Vm<H>,
        host: &mut H,
        caller: &dyn Caller,
        command: u32,
        attributes: &Attributes,
    ) -> Result<Reply, i32> {
        match command {
            command::MAP_CREATE => self.create_map(vm, caller, attributes),
            command::MAP_LOOKUP_ELEM => self.lookup(vm, caller, attributes),
            command::MAP_UPDATE_ELEM => self.update(vm, caller, attributes),
            command::MAP_DELETE_ELEM => self.delete(vm, caller, attributes),
            command::MAP_GET_NEXT_KEY => self.next_key(vm, caller, attributes),
            command::MAP_FREEZE => self.freeze(vm, caller, attributes),
            command::PROG_LOAD => self.load_program(vm, caller, attributes),
            command::PROG_TEST_RUN => self.test_run(vm, host, caller, attributes),
            command::PROG_BIND_MAP | command::PROG_ASSOC_STRUCT_OPS => Ok(Reply::Value(0)),
            command::BTF_LOAD => self.load_btf(vm, caller, attributes),
            command::OBJ_GET_INFO_BY_FD => self.info(caller, attributes),
            command::LINK_CREATE | command::RAW_TRACEPOINT_OPEN => self.link(caller, command, attributes),
            command::LINK_UPDATE | command::LINK_DETACH => Err(errno::EOPNOTSUPP),
            command::OBJ_GET
            | command::PROG_GET_NEXT_ID
            | command::MAP_GET_NEXT_ID
            | command::BTF_GET_NEXT_ID
            | command::LINK_GET_NEXT_ID => Err(errno::ENOENT),
            _ => Err(errno::EINVAL),
        }
    }

    /// Takes room for an object and what it is made of. It is never given back: objects stay.
    fn charge(&self, vm: &Vm<H>, bytes: u64) -> Result<(), i32> {
        vm.memory.charge("objects of bpf(2)", OBJECT_BYTES + bytes).map_err(|_| errno::ENOMEM)
    }

    /// Notes what a loader was refused, or why a program failed.
    fn note(&mut self, fault: String) {
        if self.faults.len() < FAULTS_MOST {
            self.faults.push(fault);
        }
    }

    /// Gives a new object its number.
    fn add(&mut self, item: Item, file: Option<OwnedFd>) -> Reply {
        self.items.push(item);
        Reply::Object(self.items.len() as u32 - 1, file)
    }

    /// The object behind a descriptor.
    fn item(&self, caller: &dyn Caller, fd: u32) -> Result<(u32, &Item), i32> {
        let number = caller.object(fd as i32).ok_or(errno::EBADF)?;
        let item = self.items.get(number as usize).ok_or(errno::EBADF)?;
        Ok((number, item))
    }

    fn map(&self, caller: &dyn Caller, fd: u32) -> Result<(u32, &MapObject), i32> {
        match self.item(caller, fd)? {
            (number, Item::Map(map)) => Ok((number, map)),
            _ => Err(errno::EINVAL),
        }
    }

    fn program(&self, caller: &dyn Caller, fd: u32) -> Result<(u32, &ProgramObject), i32> {
        match self.item(caller, fd)? {
            (number, Item::Program(program)) => Ok((number, program)),
            _ => Err(errno::EINVAL),
        }
    }

    /// The types behind a descriptor; none for descriptor 0.
    fn btf(&self, caller: &dyn Caller, fd: u32) -> Result<Option<Arc<Btf>>, i32> {
        if fd == 0 {
            return Ok(None);
        }
        match self.item(caller, fd)?.1 {
            Item::Btf(btf, _) => Ok(Some(btf.clone())),
            _ => Err(errno::EINVAL),
        }
    }

    fn load_btf(&mut self, vm: &Vm<H>, caller: &dyn Caller, attributes: &Attributes) -> Result<Reply, i32> {
        let len = attributes.u32(16);
        if len > MOST_BYTES {
            return Err(errno::E2BIG);
        }
        self.charge(vm, BYTES_PER_TYPE_BYTE * u64::from(len))?;
        let mut bytes = vec![0; len as usize];
        caller.read(attributes.u64(0), &mut bytes)?;
        let btf = Btf::parse(&bytes).map_err(|_| errno::EINVAL)?;
        Ok(self.add(Item::Btf(Arc::new(btf), bytes), None))
    }
}
