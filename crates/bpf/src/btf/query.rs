//! Questions about types. Every walk is bounded, because a damaged file may hold types that contain themselves.

use super::{Btf, BtfError, BtfMember, BtfType, Kind, TypeId};

/// How many types are looked through before a chain counts as endless.
const CHAIN_LIMIT: usize = 64;

/// A name without its flavour: `task_struct___old` is `task_struct`.
pub fn essential_name(name: &str) -> &str {
    match name.rfind("___") {
        Some(0) | None => name,
        Some(at) => &name[..at],
    }
}

impl Btf {
    /// A type by number.
    pub fn get(&self, id: TypeId) -> Result<&BtfType, BtfError> {
        let ty = self.types.get(id as usize);
        ty.ok_or_else(|| BtfError(format!("BTF names type {id} of {}", self.types.len())))
    }

    /// All types with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (TypeId, &BtfType)> {
        self.types.iter().enumerate().map(|(id, ty)| (id as TypeId, ty))
    }

    /// The type of a variable of a section.
    pub fn variable_in(&self, section: &str, name: &str) -> Option<TypeId> {
        let found = self.types.iter().find(|ty| ty.name == section && matches!(ty.kind, Kind::DataSection(_)))?;
        let Kind::DataSection(variables) = &found.kind else { return None };
        variables.iter().find_map(|variable| match self.get(variable.ty).ok()? {
            BtfType { name: found, kind: Kind::Variable { ty, .. } } if found == name => Some(*ty),
            _ => None,
        })
    }

    /// Looks through qualifiers, tags and typedefs.
    pub fn resolve(&self, id: TypeId) -> Result<(TypeId, &BtfType), BtfError> {
        let mut id = id;
        for _ in 0..CHAIN_LIMIT {
            let ty = self.get(id)?;
            match ty.kind {
                Kind::Typedef(next)
                | Kind::Volatile(next)
                | Kind::Const(next)
                | Kind::Restrict(next)
                | Kind::TypeTag(next) => id = next,
                _ => return Ok((id, ty)),
            }
        }
        Err(BtfError(format!("BTF type {id} refers to itself")))
    }

    /// Looks through qualifiers and tags, not typedefs.
    pub fn strip(&self, id: TypeId) -> Result<(TypeId, &BtfType), BtfError> {
        let mut id = id;
        for _ in 0..CHAIN_LIMIT {
            let ty = self.get(id)?;
            match ty.kind {
                Kind::Volatile(next) | Kind::Const(next) | Kind::Restrict(next) | Kind::TypeTag(next) => id = next,
                _ => return Ok((id, ty)),
            }
        }
        Err(BtfError(format!("BTF type {id} refers to itself")))
    }

    /// Bytes of a type.
    pub fn size_of(&self, id: TypeId) -> Result<u64, BtfError> {
        let mut factor = 1u64;
        let mut id = id;
        for _ in 0..CHAIN_LIMIT {
            let (_, ty) = self.resolve(id)?;
            let size = match &ty.kind {
                Kind::Array { element, count } => {
                    factor = factor.saturating_mul(u64::from(*count));
                    id = *element;
                    continue;
                }
                Kind::Int { size, .. } | Kind::Composite { size, .. } | Kind::Enum { size, .. } | Kind::Float(size) => {
                    u64::from(*size)
                }
                Kind::Pointer(_) => 8,
                Kind::Variable { ty, .. } => {
                    id = *ty;
                    continue;
                }
                _ => 0,
            };
            return Ok(factor.saturating_mul(size));
        }
        Err(BtfError(format!("BTF type {id} refers to itself")))
    }

    /// The members of a structure or union, looking through typedefs.
    pub fn members(&self, id: TypeId) -> Result<&[BtfMember], BtfError> {
        match &self.resolve(id)?.1.kind {
            Kind::Composite { members, .. } => Ok(members),
            _ => Err(BtfError(format!("BTF type {id} is not a structure"))),
        }
    }

    /// The number of parameters of a function or prototype.
    pub fn parameter_count(&self, id: TypeId) -> Result<usize, BtfError> {
        match &self.resolve(id)?.1.kind {
            Kind::Function(prototype) => match &self.get(*prototype)?.kind {
                Kind::Prototype { parameters, .. } => Ok(parameters.len()),
                _ => Err(BtfError(format!("BTF function {id} has no prototype"))),
            },
            Kind::Prototype { parameters, .. } => Ok(parameters.len()),
            _ => Err(BtfError(format!("BTF type {id} is not a function"))),
        }
    }

    /// Whether a variable's type is `const volatile`, in either order, behind arrays too.
    pub fn is_constant_parameter(&self, id: TypeId) -> bool {
        let (mut id, mut constant, mut volatile) = (id, false, false);
        for _ in 0..CHAIN_LIMIT {
            match self.get(id).map(|ty| &ty.kind) {
                Ok(Kind::Const(next)) => (id, constant) = (*next, true),
                Ok(Kind::Volatile(next)) => (id, volatile) = (*next, true),
                Ok(Kind::Array { element, .. }) => id = *element,
                _ => return constant && volatile,
            }
        }
        false
    }

    /// A type as C writes it, shortly: `u64`, `struct stats`, `s32[16]`, `char *`.
    pub fn type_name(&self, id: TypeId) -> String {
        self.type_name_within(id, CHAIN_LIMIT)
    }

    fn type_name_within(&self, id: TypeId, depth: usize) -> String {
        let (Some(depth), Ok((_, ty))) = (depth.checked_sub(1), self.strip(id)) else { return "?".to_string() };
        match &ty.kind {
            Kind::Void => "void".to_string(),
            Kind::Pointer(to) => format!("{} *", self.type_name_within(*to, depth)),
            Kind::Array { element, count } => {
                // As C writes it: the rows before what is in a row.
                let element = self.type_name_within(*element, depth);
                let (base, inner) = element.split_at(element.find('[').unwrap_or(element.len()));
                format!("{base}[{count}]{inner}")
            }
            Kind::Composite { union, .. } => format!("{} {}", if *union { "union" } else { "struct" }, ty.name),
            Kind::Enum { .. } => format!("enum {}", ty.name).trim_end().to_string(),
            _ => ty.name.clone(),
        }
    }

    /// Texts of the declaration tags of a variable or type.
    pub fn tags_of(&self, id: TypeId) -> Vec<String> {
        let of_id = |ty: &BtfType| matches!(ty.kind, Kind::DeclTag { ty, component: -1 } if ty == id);
        self.types.iter().filter(|ty| of_id(ty)).map(|ty| ty.name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn btf(kinds: Vec<(&str, Kind)>) -> Btf {
        let mut types = vec![BtfType { name: String::new(), kind: Kind::Void }];
        types.extend(kinds.into_iter().map(|(name, kind)| BtfType { name: name.to_string(), kind }));
        Btf { types, strings: vec![0] }
    }

    #[test]
    fn the_flavour_is_stripped() {
        assert_eq!(essential_name("task_struct___new"), "task_struct");
        assert_eq!(essential_name("scx_bpf_dsq_insert___v2___compat"), "scx_bpf_dsq_insert___v2");
        assert_eq!(essential_name("___x"), "___x");
        assert_eq!(essential_name("plain__name"), "plain__name");
    }

    #[test]
    fn sizes_and_names() {
        let int = Kind::Int { size: 4, signed: true, boolean: false };
        let btf = btf(vec![
            ("int", int),
            ("s32", Kind::Typedef(1)),
            ("", Kind::Array { element: 2, count: 16 }),
            ("", Kind::Volatile(3)),
            ("", Kind::Const(4)),
            ("loop", Kind::Typedef(6)),
            ("", Kind::Array { element: 7, count: 2 }),
            ("", Kind::Array { element: 3, count: 4 }),
        ]);
        assert_eq!(btf.size_of(5), Ok(64));
        assert_eq!(btf.type_name(5), "s32[16]");
        assert_eq!(btf.type_name(8), "s32[4][16]");
        assert!(btf.is_constant_parameter(5) && !btf.is_constant_parameter(4));
        assert!(btf.size_of(6).is_err() && btf.size_of(7).is_err());
        assert!(btf.type_name(7).ends_with("[2]"));
    }
}
