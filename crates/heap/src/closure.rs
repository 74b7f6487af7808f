//! Heap objects: what an info table says about them, and how many words one takes. Owns the numbers
//! of closure types and their layouts (`rts/storage/ClosureTypes.h`, `Closures.h`; the non-profiled
//! ways of 64-bit machines, with tables next to code). Refuses profiled programs, whose objects have
//! longer headers.

use crate::memory::Memory;
/// Bytes of an info table, which ends where the code that an object's first word points to begins.
pub const TABLE: usize = 16;
/// More words than any object has. Movable objects are far smaller: those larger than a block of
/// 4 KiB (512 words) get blocks of their own.
const WORDS_MAX: u64 = 1 << 32;

/// Object types: the runtime's numbers for each, and its name in the runtime's heap profiles if it has one.
macro_rules! types {
    ($($(#[$doc:meta])* $name:ident($($number:tt)+) = $word:literal,)*) => {
        /// Type of the objects that share an info table.
        #[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
        pub enum Type { $($(#[$doc])* $name,)* }

        impl Type {
            /// The type with this number in the runtime; `None`: objects of the type do not lie in blocks.
            pub fn of(number: u32) -> Option<Type> {
                match number {
                    $($($number)+ => Some(Type::$name),)*
                    _ => None,
                }
            }

            /// Its name in the runtime's heap profiles, if it has one.
            pub fn word(self) -> &'static str {
                match self {
                    $(Type::$name => $word,)*
                }
            }
        }
    };
}

types! {
    /// A constructor and its fields.
    Constructor(1..=7) = "CONSTR",
    /// A function closure with its free variables.
    Function(8..=13) = "FUN",
    /// An unevaluated expression.
    Thunk(15..=20) = "THUNK",
    /// An unevaluated field selection.
    Selector(22) = "THUNK_SELECTOR",
    /// A bytecode object of the interpreter.
    Bco(23) = "BCO",
    /// An unevaluated application.
    Ap(24) = "AP",
    /// A function with too few arguments.
    Pap(25) = "PAP",
    /// A suspended stack chunk.
    ApStack(26) = "AP_STACK",
    /// A reference to another object.
    Indirection(27) = "IND",
    /// A thunk that a thread is evaluating.
    BlackHole(38) = "BLACKHOLE",
    /// Threads that wait for a black hole.
    BlockingQueue(37) = "BLOCKING_QUEUE",
    /// An `MVar#`.
    MVar(39 | 40) = "MVAR",
    /// A `TVar#`.
    TVar(41) = "TVAR",
    /// A `ByteArray#`.
    Bytes(42) = "ARR_WORDS",
    /// An `Array#`.
    Array(43..=46) = "MUT_ARR_PTRS",
    /// A `SmallArray#`.
    SmallArray(59..=62) = "SMALL_MUT_ARR_PTRS",
    /// A `MutVar#`, as in an `IORef`.
    MutVar(47 | 48) = "MUT_VAR",
    /// A `Weak#`.
    Weak(49) = "WEAK",
    /// A runtime object with ordinary fields.
    Primitive(50 | 51) = "PRIM",
    /// A thread.
    Thread(52) = "TSO",
    /// A chunk of a thread's stack.
    Stack(53) = "STACK",
    /// A chunk of a transaction's record.
    Transaction(54) = "TREC_CHUNK",
    /// A captured continuation.
    Continuation(64) = "CONTINUATION",
}

impl Type {
    /// The first word that may point to another object, in an object of `size` words that begins with
    /// `words` at `address`. For a stack, it is the word at its stack pointer: what lies before belongs
    /// to frames that have returned.
    pub fn first_field(self, words: &[u64], address: u64, size: usize) -> usize {
        match self {
            Type::Bytes => size,
            Type::Stack => {
                let used = words.get(2).and_then(|pointer| pointer.checked_sub(address)).map(|bytes| bytes / 8);
                used.and_then(|used| usize::try_from(used).ok()).unwrap_or(3).clamp(3, size.max(3))
            }
            _ => 1,
        }
    }
}

/// What an info table says about its objects.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Info {
    /// The type of its objects.
    pub kind: Type,
    /// Number of pointer fields.
    pub pointers: u32,
    /// Number of non-pointer fields.
    pub others: u32,
}

impl Info {
    /// Parses an info table from its last bytes, `table`, in this machine's byte order.
    pub fn parse(table: &[u8; TABLE]) -> Option<Info> {
        let word = |at: usize| table.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
        let kind = Type::of(word(8)?)?;
        Some(Info { kind, pointers: word(0)?, others: word(4)? })
    }

    /// Words of an object of this type that begins with `words`; `None`: `words` are too few, or only
    /// the runtime knows the size.
    pub fn words(&self, words: &[u64]) -> Option<u64> {
        let word = |at: usize| words.get(at).copied();
        let fields = u64::from(self.pointers) + u64::from(self.others);
        let count = match self.kind {
            Type::Constructor | Type::Function | Type::Primitive => 1 + fields,
            // A collection leaves a forwarding pointer in each object that it has moved.
            Type::Thunk => 2 + fields.max(1),
            Type::Selector => 3,
            Type::Indirection | Type::BlackHole | Type::MutVar => 2,
            Type::MVar | Type::TVar => 4,
            Type::BlockingQueue => 5,
            Type::Weak => 6,
            Type::Bytes => 2 + word(1)?.div_ceil(8),
            Type::Array => 3u64.checked_add(word(2)?)?,
            Type::SmallArray => 2u64.checked_add(word(1)?)?,
            Type::Ap => 4 + (word(2)? >> 32),
            Type::Pap => 3 + (word(1)? >> 32),
            Type::ApStack => 4u64.checked_add(word(2)?)?,
            Type::Stack => 3 + (word(1)? & 0xffff_ffff),
            Type::Bco => word(4)? >> 32,
            Type::Continuation => 4u64.checked_add(word(3)?)?,
            Type::Thread | Type::Transaction => return None,
        };
        (1..WORDS_MAX).contains(&count).then_some(count)
    }
}

/// Bytes before a constructor's table where the offset to its name lies.
const TO_NAME: u64 = 8;
/// Longest name that is read, bytes.
const NAME_MAX: usize = 512;

/// The name that a constructor's table leads to, without its package:
/// `Data.ByteString.Internal.PS`. It lies in the program's own data, so it is there without
/// symbols, too. `None`: the table does not belong to a constructor.
pub fn constructor_name(memory: &impl Memory, info_address: u64) -> Option<String> {
    let offset = memory.read_u32(info_address.checked_sub(TABLE as u64 + TO_NAME)?).ok()?;
    let at = info_address.wrapping_add_signed(i64::from(offset.cast_signed()));
    let mut name = Vec::new();
    // Piece by piece: the mapping may end right after the name.
    while name.len() < NAME_MAX {
        let mut piece = [0; 8];
        memory.read(at.checked_add(name.len() as u64)?, &mut piece).ok()?;
        let end = piece.iter().position(|byte| *byte == 0);
        name.extend_from_slice(piece.get(..end.unwrap_or(piece.len()))?);
        if end.is_some() {
            break;
        }
    }
    let name = String::from_utf8(name).ok()?;
    let (package, name) = name.split_once(':')?;
    let plain = |text: &str| !text.is_empty() && text.chars().all(|sign| !sign.is_control() && sign != ' ');
    (plain(package) && plain(name) && name.contains('.')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(number: u32, pointers: u32, others: u32) -> Info {
        let mut table = [0; TABLE];
        table[..4].copy_from_slice(&pointers.to_ne_bytes());
        table[4..8].copy_from_slice(&others.to_ne_bytes());
        table[8..12].copy_from_slice(&number.to_ne_bytes());
        Info::parse(&table).expect("a type")
    }

    #[test]
    fn a_constructors_table_has_its_name() {
        use crate::testing::Image;
        let at = 0x40_0000_u64;
        let name = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(bytes.len().next_multiple_of(8) + 8, 0);
            let words: Vec<u64> =
                bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect();
            let mut table = vec![(-64_i64) as u64 & 0xffff_ffff, 2, 4];
            table.resize(3, 0);
            // The name lies 64 bytes before the code.
            let image = Image::default().words(at + 64 - 24, &table).words(at, &words[..words.len().min(5)]);
            constructor_name(&image, at + 64)
        };
        assert_eq!(name("base:GHC.Types.:").as_deref(), Some("GHC.Types.:"));
        assert_eq!(name("main:Main.A b"), None);
        assert_eq!(name("no name of one"), None);
        assert_eq!(name(""), None);
    }

    #[test]
    fn objects_take_the_words_of_their_layouts() {
        assert_eq!(info(4, 2, 0).words(&[0]), Some(3));
        assert_eq!(info(15, 0, 0).words(&[0]), Some(3));
        assert_eq!(info(16, 1, 2).words(&[0]), Some(5));
        assert_eq!(info(42, 0, 0).words(&[0, 17]), Some(5));
        assert_eq!(info(42, 0, 0).words(&[0]), None);
        assert_eq!(info(25, 0, 0).words(&[0, 3 << 32 | 1]), Some(6));
        assert_eq!(info(43, 0, 0).words(&[0, 10, 12]), Some(15));
        assert_eq!(info(43, 0, 0).words(&[0, 10, u64::MAX]), None);
        assert_eq!(info(52, 0, 0).words(&[0; 30]), None);
        let stack = [0, 5, 0x1000 + 6 * 8, 1, 2, 3, 4, 5];
        assert_eq!(Type::Stack.first_field(&stack, 0x1000, 8), 6);
        assert_eq!([Type::Stack, Type::Bytes, Type::Thunk].map(|kind| kind.first_field(&stack, 0x2000, 8)), [3, 8, 1]);
        assert!(Info::parse(&[0; TABLE]).is_none() && Info::parse(&[0xff; TABLE]).is_none());
    }
}
