//! What an object says about itself, for people and for the environment.

/// A variable of `.struct_ops`: the table of operations that the object implements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructOps {
    /// C name of the variable: `simple_ops`.
    pub name: String,
    /// Name of its type: `sched_ext_ops`.
    pub type_name: String,
    /// Members in the order of declaration; operations that are not set do not appear.
    pub members: Vec<(String, Member)>,
}

impl StructOps {
    /// The program that implements an operation.
    pub fn operation(&self, name: &str) -> Option<&str> {
        self.members.iter().find_map(|(member, value)| match value {
            Member::Program(program) if member == name => Some(program.as_str()),
            _ => None,
        })
    }

    /// The programs of all operations that are set.
    pub fn programs(&self) -> Vec<&str> {
        let values = self.members.iter().map(|(_, value)| value);
        values
            .filter_map(|value| if let Member::Program(program) = value { Some(program.as_str()) } else { None })
            .collect()
    }

    /// The number of a scalar member, 0 when there is none of the name.
    pub fn scalar(&self, name: &str) -> u64 {
        let found = self.members.iter().find(|(member, _)| member == name);
        if let Some((_, Member::Integer(value))) = found { *value } else { 0 }
    }

    /// The text of a character array.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.members.iter().find_map(|(member, value)| match value {
            Member::Text(text) if member == name => Some(text.as_str()),
            _ => None,
        })
    }
}

/// The initial value of a member of a [`StructOps`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member {
    /// A program, by C name.
    Program(String),
    /// A number.
    Integer(u64),
    /// A character array.
    Text(String),
}

/// A program with a section of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramInfo {
    /// C name.
    pub name: String,
    /// ELF section, which says its kind: `struct_ops/enqueue`, `tp_btf/sched_switch`, `syscall`.
    pub section: String,
    /// Number of instructions, as the section counts them.
    pub instructions: u32,
}

/// A constant that is the number of a map's entries, of which each control group needs one on each CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomForGroups {
    /// Its name.
    pub name: String,
    /// The map's name.
    pub map: String,
    /// How many entries there are unless the loader asks for more.
    pub least: u32,
}

/// A map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapInfo {
    /// C name.
    pub name: String,
    /// Kind as in `BPF_MAP_TYPE_*`, in lower case: `array`, `task_storage`; `map type 99` when unknown.
    pub kind: String,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Number of entries; 0 when it is given at run time.
    pub max_entries: u32,
}

/// A `const volatile` global: something that the loader may set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstantInfo {
    /// C name.
    pub name: String,
    /// C type, as text: `u64`, `bool`, `s32[16]`.
    pub type_name: String,
    /// Bytes.
    pub size: u32,
    /// The value in the object.
    pub default: ConstantValue,
    /// Texts of its BTF declaration tags.
    pub tags: Vec<String>,
}

/// The value of a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstantValue {
    /// An integer or enumerator.
    Integer(i128),
    /// A truth value.
    Bool(bool),
    /// A character array.
    Text(String),
    /// Anything else, as its bytes.
    Bytes(Vec<u8>),
}

/// A constant that stands for an enumerator of the kernel and is 0 until a loader fills it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumeratorInfo {
    /// The enumerator's name in the kernel: `SCX_SLICE_DFL`.
    pub name: String,
    /// Where its eight bytes are.
    pub place: DataPlace,
}

/// A place in the data of an object, for a loader that writes there itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPlace {
    /// The section.
    pub section: String,
    /// Bytes from its start.
    pub offset: u64,
}

/// Something that the object expects from the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternInfo {
    /// The name as the object has it.
    pub name: String,
    /// Whether the object can do without it.
    pub weak: bool,
}
