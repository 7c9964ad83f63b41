//! What host functions take: types that only a check of the words makes.

use std::marker::PhantomData;

use crate::check::Check;
use crate::fault::FaultKind;
use crate::memory::{GuestMemory, Word};
use crate::program::{FunctionId, MapId};

/// A key of a map, copied: what it was copied from may change while the map is.
pub(crate) enum Key {
    Short([u8; 16], u8),
    Long(Box<[u8]>),
}

impl Key {
    pub fn of_len(len: usize) -> Key {
        match len {
            0..=16 => Key::Short([0; 16], len as u8),
            _ => Key::Long(vec![0; len].into()),
        }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Key::Short(bytes, len) => &mut bytes[..usize::from(*len)],
            Key::Long(bytes) => bytes,
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Key::Short(bytes, len) => &bytes[..usize::from(*len)],
            Key::Long(bytes) => bytes,
        }
    }
}

/// Something that a host function takes: made of the words of a call, by a check that raises a fault if they do not mean
/// such a thing.
pub trait Argument: Sized {
    /// How many words it takes.
    const WORDS: u8 = 1;

    /// Checks the words, of which there are at least [`WORDS`](Self::WORDS).
    fn take(check: &mut Check<'_>, words: &[u64]) -> Option<Self>;
}

macro_rules! scalars {
    ($($type:ty: $from:expr;)*) => {$(
        impl Argument for $type {
            #[inline(always)]
            fn take(_: &mut Check<'_>, words: &[u64]) -> Option<$type> {
                Some(($from)(words[0]))
            }
        }
    )*};
}

scalars! {
    u64: |word| word;
    u32: |word| word as u32;
    i32: |word| word as i32;
    i64: |word| word as i64;
    bool: |word| word as u8 != 0;
}

/// A pointer that nothing is known of yet: only checks take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer(pub(crate) u64);

impl Pointer {
    /// Whether it points nowhere.
    #[inline]
    pub fn is_null(self) -> bool {
        self.0 == 0
    }
}

impl Argument for Pointer {
    #[inline(always)]
    fn take(_: &mut Check<'_>, words: &[u64]) -> Option<Pointer> {
        Some(Pointer(words[0]))
    }
}

/// Bytes that the program lets the host read: as an argument an address and a length.
#[derive(Clone, Copy, Debug)]
pub struct Readable {
    pub(crate) address: u64,
    pub(crate) len: u64,
}

impl Readable {
    /// How many.
    #[inline]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The whole words of them.
    pub fn words(&self, check: &Check<'_>) -> Vec<u64> {
        self.first_words(check, usize::MAX)
    }

    /// At most this many of the whole words.
    pub fn first_words(&self, check: &Check<'_>, most: usize) -> Vec<u64> {
        (0..self.len / 8).take(most).map(|index| check.memory().read(self.address + 8 * index)).collect()
    }
}

impl Argument for Readable {
    const WORDS: u8 = 2;

    #[inline]
    fn take(check: &mut Check<'_>, words: &[u64]) -> Option<Readable> {
        check.readable(words[0], words[1])
    }
}

/// Bytes that the program lets the host write: as an argument an address and a length.
#[derive(Clone, Copy, Debug)]
pub struct Writable {
    pub(crate) address: u64,
    pub(crate) len: u64,
}

impl Writable {
    /// Sets all to zero.
    pub fn clear(&self, check: &Check<'_>) {
        check.memory().zero(self.address, self.len as usize);
    }

    /// Copies as many bytes as there is room for.
    pub fn write(&self, check: &Check<'_>, bytes: &[u8]) {
        check.memory().write_bytes(self.address, &bytes[..bytes.len().min(self.len as usize)]);
    }
}

impl Argument for Writable {
    const WORDS: u8 = 2;

    #[inline]
    fn take(check: &mut Check<'_>, words: &[u64]) -> Option<Writable> {
        check.writable(words[0], words[1])
    }
}

/// A place for an integer that the host function gives.
#[derive(Clone, Copy, Debug)]
pub struct Out<T> {
    address: u64,
    word: PhantomData<T>,
}

impl<T: Word> Out<T> {
    /// Gives it.
    #[inline]
    pub fn set(&self, memory: &GuestMemory, value: T) {
        memory.write(self.address, value);
    }
}

impl<T> Argument for Out<T> {
    #[inline]
    fn take(check: &mut Check<'_>, words: &[u64]) -> Option<Out<T>> {
        let address = check.range(words[0], size_of::<T>() as u64, true)?;
        Some(Out { address, word: PhantomData })
    }
}

/// A structure of `LEN` bytes that the host function reads.
#[derive(Clone, Copy, Debug)]
pub struct In<const LEN: u64>(u64);

impl<const LEN: u64> In<LEN> {
    /// An integer at an offset in it.
    pub fn read<T: Word>(&self, memory: &GuestMemory, offset: usize) -> T {
        assert!(offset as u64 + size_of::<T>() as u64 <= LEN);
        memory.read(self.0 + offset as u64)
    }
}

impl<const LEN: u64> Argument for In<LEN> {
    fn take(check: &mut Check<'_>, words: &[u64]) -> Option<In<LEN>> {
        Some(In(check.range(words[0], LEN, false)?))
    }
}

/// A structure of `LEN` bytes on the program's stack: an iterator or a dynptr.
#[derive(Clone, Copy, Debug)]
pub struct OnStack<const LEN: u64>(u64);

impl<const LEN: u64> OnStack<LEN> {
    /// Where it is.
    #[inline]
    pub fn address(&self) -> u64 {
        self.0
    }
}

impl<const LEN: u64> Argument for OnStack<LEN> {
    #[inline]
    fn take(check: &mut Check<'_>, words: &[u64]) -> Option<OnStack<LEN>> {
        check.stack(words[0], LEN)?;
        Some(OnStack(words[0]))
    }
}

impl Argument for MapId {
    #[inline]
    fn take(check: &mut Check<'_>, words: &[u64]) -> Option<MapId> {
        match check.vm().map_of(words[0]) {
            Some(map) => Some(map),
            None => check.fail(format!("passes {:#x} as a map, which it is not", words[0])),
        }
    }
}

/// A function of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Callback {
    pub handle: u64,
}

impl Argument for Callback {
    fn take(check: &mut Check<'_>, words: &[u64]) -> Option<Callback> {
        let found: Option<FunctionId> = check.vm().program.function_of(words[0]);
        match found {
            Some(_) => Some(Callback { handle: words[0] }),
            None => check.raise(FaultKind::WildCall(words[0])),
        }
    }
}

/// An object that the program made, by any address in it that is not of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    pub base: u64,
    /// Number of its type.
    pub ty: u64,
}

/// Declares host functions, each of which gives its [`Routine`](crate::kernel::Routine): the arguments are taken in order
/// and checked, the result is a word, or nothing after a fault.
macro_rules! host_functions {
    ($($(#[$doc:meta])* fn $name:ident($call:ident $(, $arg:ident: $type:ty)*) $body:block)*) => {$(
        $(#[$doc])*
        pub const fn $name() -> $crate::kernel::Routine {
            unsafe extern "C" fn $name(
                ctx: *mut $crate::context::CallContext, a1: u64, a2: u64, a3: u64, a4: u64, a5: u64,
            ) -> u64 {
                #[inline(always)]
                #[allow(unused_variables)]
                fn body($call: &mut $crate::check::Check<'_> $(, $arg: $type)*) -> Option<u64> $body
                // SAFETY: a host function is given the context of the running call.
                unsafe {
                    $crate::check::guard(ctx, |call| {
                        let _words = [a1, a2, a3, a4, a5];
                        let mut _at = 0;
                        $(
                            let $arg = <$type as $crate::arguments::Argument>::take(call, &_words[_at..])?;
                            _at += usize::from(<$type as $crate::arguments::Argument>::WORDS);
                        )*
                        body(call $(, $arg)*)
                    })
                }
            }
            const ARGUMENTS: u8 = 0 $(+ <$type as $crate::arguments::Argument>::WORDS)*;
            $crate::kernel::Routine { call: $name, arguments: ARGUMENTS, calls_back: false }
        }
    )*};
}

pub(crate) use host_functions;
