//! What the values of maps, the globals and a program's own objects hold that only host functions may touch: pointers to
//! kernel objects, timers, work, locks, heads and nodes of lists and trees. Where they are is in the object's BTF.

use std::rc::Rc;

use crate::btf::{Btf, Kind, TypeId};
use crate::object::{LoadError, ObjectError};
use crate::references::Lock;

/// How deep structures are searched.
const DEPTH_MAX: u32 = 8;
/// How many members of structures are looked at for one type.
const VISITS_MAX: u32 = 1 << 20;
/// How many there may be in one value. A kernel takes 11.
const FIELDS_MAX: usize = 4096;

/// What a field is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// A pointer that owns a kernel object or one of the program's own, by the name of its type.
    Pointer(Rc<str>),
    /// `bpf_timer`.
    Timer,
    /// `bpf_wq`.
    Work,
    /// `bpf_list_head`.
    List,
    /// `bpf_rb_root`.
    Tree,
    /// `bpf_list_node`.
    ListNode,
    /// `bpf_rb_node`.
    TreeNode,
    /// `bpf_spin_lock` or `bpf_res_spin_lock`.
    Lock(Lock),
}

impl FieldKind {
    /// Its bytes.
    fn len(&self) -> u32 {
        match self {
            FieldKind::Lock(_) => 4,
            FieldKind::Pointer(_) => 8,
            FieldKind::Timer | FieldKind::Work | FieldKind::List | FieldKind::Tree => 16,
            FieldKind::ListNode => 24,
            FieldKind::TreeNode => 32,
        }
    }

    fn of_structure(name: &str) -> Option<FieldKind> {
        Some(match name {
            "bpf_timer" => FieldKind::Timer,
            "bpf_wq" => FieldKind::Work,
            "bpf_list_head" => FieldKind::List,
            "bpf_rb_root" => FieldKind::Tree,
            "bpf_list_node" => FieldKind::ListNode,
            "bpf_rb_node" => FieldKind::TreeNode,
            "bpf_spin_lock" => FieldKind::Lock(Lock::Spin),
            "bpf_res_spin_lock" => FieldKind::Lock(Lock::Resilient),
            _ => return None,
        })
    }
}

/// A field and its byte offset in the value.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub offset: u32,
    pub kind: FieldKind,
}

/// The fields of a type, ascending by offset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(Vec<Field>);

impl Fields {
    /// Those of a type of `size` bytes that `name` has; type 0 has none.
    pub fn of(btf: &Btf, ty: TypeId, size: u32, name: &str) -> Result<Fields, LoadError> {
        let mut fields = Fields::default();
        if ty != 0 {
            fields.add(btf, ty, 0, name)?;
        }
        fields.0.retain(|field| field.offset.saturating_add(field.kind.len()) <= size);
        Ok(fields)
    }

    /// Adds those of a type at an offset.
    pub fn add(&mut self, btf: &Btf, ty: TypeId, offset: u32, name: &str) -> Result<(), LoadError> {
        let mut left = VISITS_MAX;
        self.search(btf, ty, offset, DEPTH_MAX, &mut left)?;
        if left == 0 {
            let reason = format!("its values have more than {VISITS_MAX} members to be looked at");
            return Err(LoadError::Map { name: name.to_string(), reason });
        }
        if self.0.len() > FIELDS_MAX {
            let reason = format!("it has more than {FIELDS_MAX} pointers, timers, lists and the like in one value");
            return Err(LoadError::Map { name: name.to_string(), reason });
        }
        self.0.sort_by_key(|field| field.offset);
        Ok(())
    }

    /// Whether there are any.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `each` with the offset and the bytes of every field.
    pub fn each(&self, mut each: impl FnMut(u32, u32)) {
        self.0.iter().for_each(|field| each(field.offset, field.kind.len()));
    }

    /// What is at an offset.
    pub fn at(&self, offset: u32) -> Option<&FieldKind> {
        let index = self.0.binary_search_by_key(&offset, |field| field.offset).ok()?;
        Some(&self.0[index].kind)
    }

    fn search(&mut self, btf: &Btf, ty: TypeId, offset: u32, depth: u32, left: &mut u32) -> Result<(), LoadError> {
        let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
        if self.0.len() > FIELDS_MAX || *left == 0 {
            return Ok(());
        }
        *left -= 1;
        let found = btf.resolve(ty).map_err(ObjectError::from)?.1;
        match &found.kind {
            Kind::Composite { members, .. } => match FieldKind::of_structure(&found.name) {
                Some(kind) => self.0.push(Field { offset, kind }),
                None => {
                    for member in members.iter().filter(|member| member.bits == 0) {
                        self.search(btf, member.ty, offset.saturating_add(member.bit_offset / 8), depth, left)?;
                    }
                }
            },
            Kind::Array { element, count } => {
                let size = btf.size_of(*element).map_err(ObjectError::from)?;
                let size = u32::try_from(size).unwrap_or(u32::MAX);
                for index in 0..*count {
                    let before = self.0.len();
                    self.search(btf, *element, offset.saturating_add(size.saturating_mul(index)), depth, left)?;
                    if self.0.len() == before || before > FIELDS_MAX {
                        break;
                    }
                }
            }
            Kind::Pointer(to) => {
                let tag = btf.get(*to).map_err(ObjectError::from)?;
                if matches!(tag.kind, Kind::TypeTag(_)) && (tag.name == "kptr" || tag.name == "percpu_kptr") {
                    let name = btf.resolve(*to).map_err(ObjectError::from)?.1.name.as_str().into();
                    self.0.push(Field { offset, kind: FieldKind::Pointer(name) });
                }
            }
            _ => {}
        }
        Ok(())
    }
}
