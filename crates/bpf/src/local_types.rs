//! The types of its own of which a program makes objects (`bpf_obj_new`), by BTF number.
//!
//! An object file says of which: CO-RE relocates their numbers. In a program that a loader hands over they are plain
//! numbers of the BTF that comes with it, so each is looked for there when it is first used.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::btf::{Btf, Kind, TypeId};
use crate::fields::Fields;
use crate::object::{LoadError, ObjectError};

/// A type of which objects are made.
#[derive(Clone, Debug)]
pub(crate) struct LocalType {
    pub name: String,
    /// Bytes.
    pub size: u32,
    pub fields: Fields,
    /// How many of the loader's BTFs were looked at for it.
    seen: usize,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalTypes {
    known: BTreeMap<u64, LocalType>,
    /// What a loader's programs came with.
    sources: Vec<Arc<Btf>>,
}

impl LocalTypes {
    /// Remembers a type of an object file.
    pub fn note(&mut self, btf: &Btf, number: TypeId) -> Result<(), LoadError> {
        self.known.insert(u64::from(number), describe(btf, number)?);
        Ok(())
    }

    /// What a loader's program came with; most of its programs come with the same.
    pub fn look_in(&mut self, btf: &Arc<Btf>) {
        if !self.sources.iter().any(|source| Arc::ptr_eq(source, btf)) {
            self.sources.push(Arc::clone(btf));
        }
    }

    /// A type of which an object was made.
    pub fn get(&self, number: u64) -> Option<&LocalType> {
        self.known.get(&number)
    }

    /// A type of which an object is to be made, or why that cannot be.
    pub fn find(&mut self, number: u64) -> Result<&LocalType, String> {
        let seen = self.known.get(&number).map_or(0, |known| known.seen);
        if seen < self.sources.len() {
            self.look_for(number, seen)?;
        }
        self.known.get(&number).ok_or_else(|| format!("type {number}, which the object file does not have"))
    }

    fn look_for(&mut self, number: u64, seen: usize) -> Result<(), String> {
        for source in &self.sources[seen..] {
            let is_struct = |number: &TypeId| {
                source.get(*number).is_ok_and(|ty| matches!(ty.kind, Kind::Composite { union: false, .. }))
            };
            let Some(id) = TypeId::try_from(number).ok().filter(is_struct) else { continue };
            let found = describe(source, id).map_err(|error| error.to_string())?;
            let known = self.known.entry(number).or_insert_with(|| found.clone());
            if (&known.name, known.size) != (&found.name, found.size) {
                return Err(format!("type {number}, which is `{}` or `{}`", known.name, found.name));
            }
        }
        if let Some(known) = self.known.get_mut(&number) {
            known.seen = self.sources.len();
        }
        Ok(())
    }
}

fn describe(btf: &Btf, number: TypeId) -> Result<LocalType, LoadError> {
    let size = btf.size_of(number).map_err(ObjectError::from)?;
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    let (ty, found) = btf.resolve(number).map_err(ObjectError::from)?;
    let fields = Fields::of(btf, ty, size, &found.name)?;
    Ok(LocalType { name: found.name.clone(), size, fields, seen: 0 })
}
