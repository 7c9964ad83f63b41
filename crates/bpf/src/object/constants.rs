//! Globals of `.rodata` that a loader may set: parameters, and constants of the kernel's enumerations.

use super::elf::Elf;
use super::{ConstantInfo, ConstantValue, DataPlace, LoadError, ObjectError};
use crate::btf::{Btf, Kind, TypeId};
use crate::options::Value;

/// Stands before the name of a kernel's enumerator in the constant that a loader fills with it.
const ENUMERATOR_PREFIX: &str = "__";

/// Begins the tag of a constant that is the number of a map's entries, of which each control group needs one on each CPU.
const ENTRIES_TAG: &str = "entries for groups ";

/// What can be stored in a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Integer { signed: bool },
    Bool,
    Text,
    Other,
}

/// A constant with its place.
#[derive(Clone, Debug)]
pub struct Constant {
    pub info: ConstantInfo,
    /// Name of its section.
    pub section: String,
    /// Byte offset in the section.
    pub offset: u64,
    shape: Shape,
}

/// All `const volatile` variables, in the order of the file.
pub fn collect(elf: &Elf, btf: &Btf) -> Result<Vec<Constant>, ObjectError> {
    let mut constants = Vec::new();
    for (_, section) in btf.iter() {
        let Kind::DataSection(variables) = &section.kind else { continue };
        let Some(index) = elf.sections.iter().position(|found| found.name == section.name) else { continue };
        for variable in variables.iter().filter(|_| section.name.starts_with(".rodata")) {
            let ty = btf.get(variable.ty)?;
            let Kind::Variable { ty: of, .. } = ty.kind else { continue };
            let Some(symbol) = elf.symbol_in(index, &ty.name).filter(|_| btf.is_constant_parameter(of)) else {
                continue;
            };
            let size = btf.size_of(of)?;
            let from = usize::try_from(symbol.value).unwrap_or(usize::MAX);
            let until = from.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
            let bytes = elf.sections[index].bytes.get(from..until);
            let bytes =
                bytes.ok_or_else(|| ObjectError::Damaged(format!("{} lies outside of its section", ty.name)))?;
            let shape = shape(btf, of)?;
            constants.push(Constant {
                info: ConstantInfo {
                    name: ty.name.clone(),
                    type_name: btf.type_name(of),
                    size: size as u32,
                    default: default_value(shape, bytes),
                    tags: btf.tags_of(variable.ty),
                },
                section: section.name.clone(),
                offset: symbol.value,
                shape,
            });
        }
    }
    constants.sort_by(|a, b| (&a.section, a.offset).cmp(&(&b.section, b.offset)));
    Ok(constants)
}

fn shape(btf: &Btf, ty: TypeId) -> Result<Shape, ObjectError> {
    Ok(match btf.resolve(ty)?.1.kind {
        Kind::Int { boolean: true, size: 1, .. } => Shape::Bool,
        Kind::Int { signed, size: 1 | 2 | 4 | 8, .. } | Kind::Enum { signed, size: 1 | 2 | 4 | 8, .. } => {
            Shape::Integer { signed }
        }
        Kind::Array { element, .. } => match btf.resolve(element)?.1.kind {
            Kind::Int { size: 1, .. } => Shape::Text,
            _ => Shape::Other,
        },
        _ => Shape::Other,
    })
}

fn default_value(shape: Shape, bytes: &[u8]) -> ConstantValue {
    let mut word = [0; 8];
    let len = bytes.len().min(8);
    word[..len].copy_from_slice(&bytes[..len]);
    let word = u64::from_le_bytes(word);
    match shape {
        Shape::Bool => ConstantValue::Bool(word != 0),
        Shape::Integer { signed: false } => ConstantValue::Integer(i128::from(word)),
        Shape::Integer { signed: true } => {
            let unused = 64 - 8 * len as u32;
            ConstantValue::Integer(i128::from((word << unused) as i64 >> unused))
        }
        Shape::Text => {
            let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            ConstantValue::Text(String::from_utf8_lossy(&bytes[..len]).into_owned())
        }
        Shape::Other => ConstantValue::Bytes(bytes.to_vec()),
    }
}

impl Constant {
    /// Whether it is for people to set. Names that begin with two underscores are for loaders.
    pub fn is_parameter(&self) -> bool {
        !self.info.name.starts_with(ENUMERATOR_PREFIX)
    }

    /// The map that has as many entries, and needs one for each control group on each CPU.
    pub fn sizes(&self) -> Option<&str> {
        self.info.tags.iter().find_map(|tag| tag.strip_prefix(ENTRIES_TAG))
    }

    /// Where it is.
    pub fn place(&self) -> DataPlace {
        DataPlace { section: self.section.clone(), offset: self.offset }
    }

    /// The enumerator of the kernel that it stands for, if there is one: `SCX_SLICE_DFL` for `__SCX_SLICE_DFL`. Such
    /// constants are 0 in the object.
    pub fn enumerator(&self) -> Option<&str> {
        self.info.name.strip_prefix(ENUMERATOR_PREFIX).filter(|_| self.info.size == 8)
    }

    /// The bytes of a value.
    pub fn encode(&self, value: &Value) -> Result<Vec<u8>, LoadError> {
        let bad = |reason: String| LoadError::BadSetting {
            name: self.info.name.clone(),
            type_name: self.info.type_name.clone(),
            reason,
        };
        let size = self.info.size as usize;
        match (self.shape, value) {
            (_, Value::Bytes(bytes)) if bytes.len() == size => Ok(bytes.clone()),
            (_, Value::Bytes(bytes)) => Err(bad(format!("{} bytes are not its {size}", bytes.len()))),
            (Shape::Bool, Value::Bool(value)) => Ok(vec![u8::from(*value)]),
            (Shape::Bool, Value::Integer(value @ (0 | 1))) => Ok(vec![*value as u8]),
            (Shape::Bool, _) => Err(bad("give true or false".to_string())),
            (Shape::Integer { signed }, Value::Integer(value)) => {
                let bits = 8 * size as u32;
                let (low, high) = if signed { (-1i128 << (bits - 1), 1i128 << (bits - 1)) } else { (0, 1i128 << bits) };
                if (low..high).contains(value) {
                    return Ok(value.to_le_bytes()[..size].to_vec());
                }
                Err(bad(format!("{value} is not between {low} and {}", high - 1)))
            }
            (Shape::Integer { .. }, Value::Bool(value)) => {
                let mut bytes = vec![0; size];
                bytes[0] = u8::from(*value);
                Ok(bytes)
            }
            (Shape::Integer { .. }, Value::Text(text)) => Err(bad(format!("`{text}` is not a number"))),
            (Shape::Text, Value::Text(text)) if text.len() < size => {
                let mut bytes = text.clone().into_bytes();
                bytes.resize(size, 0);
                Ok(bytes)
            }
            (Shape::Text, Value::Text(text)) => {
                Err(bad(format!("a text of {} bytes does not fit; {} are there", text.len(), size.saturating_sub(1))))
            }
            (Shape::Text, _) => Err(bad("give a text".to_string())),
            (Shape::Other, _) => Err(bad("it is not a number, truth value or text, and cannot be set".to_string())),
        }
    }
}
