//! A BPF object file: what is in it, before it meets a kernel.

mod code;
mod constants;
mod elf;
mod error;
mod externs;
mod identity;
mod info;
mod map_definition;
mod struct_ops;

pub(crate) use code::{CodeFunction, CodeSection, DataKind, DataSection, RawInsn, Target};
pub use error::{LoadError, MachineError, ObjectError};
pub(crate) use externs::{Extern, ExternKind};
pub use identity::Difference;
pub use info::*;
pub(crate) use map_definition::MapDefinition;

use crate::btf::{Btf, Ext};
use crate::helpers;
use crate::hosted::Vm;
use crate::kernel::{Environment, Kernel};
use crate::linker;
use crate::memory::GuestMemory;
use crate::options::{LoadOptions, Value};
use elf::Elf;

/// A parsed object. Parse once, load as often as wanted.
#[derive(Clone, Debug, Default)]
pub struct Object {
    pub(crate) btf: Btf,
    pub(crate) code: Vec<CodeSection>,
    pub(crate) data: Vec<DataSection>,
    pub(crate) maps: Vec<MapDefinition>,
    pub(crate) externs: Vec<Extern>,
    pub(crate) constants: Vec<constants::Constant>,
    license: String,
    struct_ops: Vec<StructOps>,
}

impl Object {
    /// Parses an object file: ELF64, little-endian, machine BPF, relocatable, with BTF.
    pub fn parse(bytes: &[u8]) -> Result<Object, ObjectError> {
        let elf = Elf::parse(bytes)?;
        let section = elf.section(".BTF").filter(|section| !section.bytes.is_empty()).ok_or(ObjectError::NoBtf)?;
        let btf = Btf::parse(section.bytes)?;
        let ext = match elf.section(".BTF.ext") {
            Some(section) => Ext::parse(section.bytes, &btf)?,
            None => Ext::default(),
        };
        let externs = externs::collect(&elf, &btf)?;
        let layout = code::Layout::new(&elf, &btf, &externs)?;
        Ok(Object {
            code: code::sections(&elf, &layout, ext)?,
            data: code::data_sections(&elf, &layout)?,
            maps: map_definition::collect(&elf, &btf, &layout)?,
            constants: constants::collect(&elf, &btf)?,
            license: license(&elf),
            struct_ops: struct_ops::collect(&elf, &btf)?,
            externs,
            btf,
        })
    }

    /// An object of one section of code, whose types are known or not.
    pub(crate) fn of_code(btf: Option<Btf>, section: CodeSection, externs: Vec<Extern>) -> Object {
        Object { btf: btf.unwrap_or_default(), code: vec![section], externs, ..Object::default() }
    }

    /// The licence that the object declares, empty when none.
    pub fn license(&self) -> &str {
        &self.license
    }

    /// Whether a kernel loads it as a scheduler (`license_is_gpl_compatible`).
    ///
    /// # Errors
    ///
    /// The licence, which no kernel accepts.
    pub fn check_licence(&self) -> Result<(), LoadError> {
        const COMPATIBLE: [&str; 6] =
            ["GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"];
        match COMPATIBLE.contains(&self.license.as_str()) {
            true => Ok(()),
            false => Err(LoadError::Licence(self.license.clone())),
        }
    }

    /// The table of operations that the object implements; of several, the first.
    pub fn ops(&self) -> Result<&StructOps, ObjectError> {
        self.struct_ops.first().ok_or(ObjectError::NoStructOps)
    }

    /// All tables of operations.
    pub fn all_ops(&self) -> &[StructOps] {
        &self.struct_ops
    }

    /// All programs with a section of their own, in the order of the file.
    pub fn programs(&self) -> Vec<ProgramInfo> {
        let programs = self.code.iter().filter(|section| section.is_program());
        let info = |section: &CodeSection, function: &CodeFunction| ProgramInfo {
            name: function.name.clone(),
            section: section.name.clone(),
            instructions: function.end - function.start,
        };
        programs.flat_map(|section| section.functions.iter().map(move |function| info(section, function))).collect()
    }

    /// All maps.
    pub fn maps(&self) -> Vec<MapInfo> {
        self.maps.iter().map(MapDefinition::info).collect()
    }

    /// All `const volatile` globals: what can be set.
    pub fn constants(&self) -> Vec<ConstantInfo> {
        self.constants.iter().filter(|constant| constant.is_parameter()).map(|constant| constant.info.clone()).collect()
    }

    /// The constants that a loader fills with the kernel's enumerators.
    pub fn enumerators(&self) -> Vec<EnumeratorInfo> {
        let info = |constant: &constants::Constant| {
            Some(EnumeratorInfo { name: constant.enumerator()?.into(), place: constant.place() })
        };
        self.constants.iter().filter_map(info).collect()
    }

    /// Where a `const volatile` global is.
    pub fn place_of(&self, name: &str) -> Option<DataPlace> {
        self.constants.iter().find(|constant| constant.info.name == name).map(constants::Constant::place)
    }

    /// The constants that are the number of a map's entries, of which each control group needs one on each CPU.
    pub fn rooms_for_groups(&self) -> Vec<RoomForGroups> {
        let room = |constant: &constants::Constant| {
            let map = constant.sizes()?.to_string();
            let ConstantValue::Integer(least) = constant.info.default else { return None };
            let least = u32::try_from(least).ok()?;
            (constant.info.size == 4).then(|| RoomForGroups { name: constant.info.name.clone(), map, least })
        };
        self.constants.iter().filter_map(room).collect()
    }

    /// Kernel functions that the object uses.
    pub fn kernel_functions(&self) -> Vec<ExternInfo> {
        self.extern_infos(|kind| matches!(kind, ExternKind::Function { .. }))
    }

    /// Kernel variables that the object uses.
    pub fn kernel_variables(&self) -> Vec<ExternInfo> {
        self.extern_infos(|kind| matches!(kind, ExternKind::Variable))
    }

    /// Kernel configuration that the object asks for.
    pub fn kconfigs(&self) -> Vec<ExternInfo> {
        self.extern_infos(|kind| matches!(kind, ExternKind::Config { .. }))
    }

    fn extern_infos(&self, wanted: impl Fn(&ExternKind) -> bool) -> Vec<ExternInfo> {
        let found = self.externs.iter().filter(|found| wanted(&found.kind));
        found.map(|found| ExternInfo { name: found.name.clone(), weak: found.weak }).collect()
    }

    /// Helpers that the object uses, ascending: number and name.
    pub fn helpers(&self) -> Vec<(u32, String)> {
        let mut numbers: Vec<u32> = self.code.iter().flat_map(CodeSection::helper_numbers).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().map(|number| (number, helpers::name(number))).collect()
    }

    /// Settings as bytes with their places, for a loader that puts them into the object's data itself: the section, the
    /// offset in it, the bytes.
    pub fn encode_settings(&self, settings: &[(String, Value)]) -> Result<Vec<(String, u64, Vec<u8>)>, LoadError> {
        let place = |(name, value): &(String, Value)| {
            let known = || self.constants.iter().filter(|constant| constant.is_parameter());
            let Some(constant) = known().find(|constant| constant.info.name == *name) else {
                let known = known().map(|constant| constant.info.name.clone()).collect();
                return Err(LoadError::UnknownSetting { name: name.clone(), known });
            };
            Ok((constant.section.clone(), constant.offset, constant.encode(value)?))
        };
        settings.iter().map(place).collect()
    }

    /// Links the object against a kernel and makes its maps and globals in guest memory. `settings` are values of
    /// [`constants`](Self::constants) by name.
    pub fn load<H>(
        &self,
        kernel: &Kernel<H>,
        settings: &[(String, Value)],
        options: &LoadOptions,
        memory: GuestMemory,
    ) -> Result<Vm<H>, LoadError> {
        linker::load(self, &Environment::of(kernel), settings, options, memory).map(Vm::new)
    }
}

fn license(elf: &Elf) -> String {
    let bytes = elf.section("license").map_or(&[][..], |section| section.bytes);
    let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}
