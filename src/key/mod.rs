//! [`Key`]: how a key becomes bytes, the same bytes on every platform and in every version.
//!
//! A filter that outlives one process, or is fed by one program and asked by another, is only as right as the agreement on bytes between them.
//! So a key says itself which bytes it is, and the encoding has a number that travels with the filter. The implementations are in `encode.rs`;
//! the way from bytes to the two 64-bit hashes that everything else speaks is [`KeyHasher`].

mod encode;
#[cfg(test)]
mod golden;
mod hash;
mod hasher;

pub use hash::KeyHash;
pub use hasher::{HasherFingerprint, HasherId, KeyHasher};

/// What can be put into a filter: a value with one portable sequence of bytes.
///
/// Two keys have equal bytes exactly when they are the same key. If equal keys had different bytes, a filter would deny a key that was inserted;
/// if different keys had equal bytes, it would only say "maybe" once too often.
///
/// **Equal means equal to the source of truth.** Where the database compares without regard to case, ignores trailing blanks (`CHAR(n)`) or
/// normalises Unicode, its `=` calls two strings equal that are different bytes, and a filter then answers "absent" for a row that a query would
/// find. Bring such keys to one form before they reach this crate, on both sides.
///
/// Byte strings and text are their bytes. Integers are encoded *by value*: `5u8`, `5i32` and `5u128` are one key, on 32-bit machines too. A
/// tuple is its parts, each behind its length, so that `("ab", "c")` and `("a", "bc")` differ. References, boxes and `Cow` are what they hold.
/// Encodings are told apart by [`ENCODING`](Self::ENCODING), not by their bytes: one filter should hold keys of one encoding.
///
/// # Your own type
///
/// Delegate to a tuple of the parts that make two values the same key:
///
/// ```
/// use absentia::{Key, KeyEncoding, KeyHasher};
///
/// struct Sku {
///     tenant: u32,
///     code: String,
///     label: String, // shown to people; two labels do not make two keys
/// }
///
/// impl Key for Sku {
///     const ENCODING: KeyEncoding = KeyEncoding::Tuple;
///
///     fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
///         (self.tenant, self.code.as_str()).with_bytes(f)
///     }
/// }
///
/// let hasher = KeyHasher::xxh3(7);
/// let sku = Sku { tenant: 3, code: "A-17".into(), label: "Lamp".into() };
/// assert_eq!(hasher.hash(&sku), hasher.hash(&(3u64, "A-17")));
/// # assert_eq!(sku.label, "Lamp");
/// ```
///
/// A type that is looked up by a borrowed form (`String` by `str`) must give the same bytes as that form.
///
/// # Limitations
///
/// This is not `std::hash::Hash`, because what that feeds a hasher differs with word size, byte order and compiler version: a filter built on
/// one machine would deny its keys on another.
///
/// `char`, `bool`, `Option` and lists have no implementation: delegate to an integer or a tuple. Integers that are negative take twice the bytes, and a
/// mixture of both signs costs the hasher a branch.
///
/// Floats have none either: `-0.0 == 0.0` with different bits, `NaN != NaN` with the same, so no bytes agree with `=`. Use the integer or
/// the text that the source stores.
pub trait Key {
    /// Which encoding the bytes follow.
    const ENCODING: KeyEncoding;

    /// Calls `f` with the bytes of this key. The bytes are lent, so that an integer or a short tuple needs no allocation.
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R;
}

/// How the bytes of a [`Key`] came about. The numbers are stable: they are what a snapshot will carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum KeyEncoding {
    /// Text or a byte string: the bytes as they are.
    Bytes = 1,
    /// An integer by value, little-endian: 8 bytes where a `u64` holds it, else 16 in two's complement where an `i128` does, else 17.
    Int = 2,
    /// A UUID: its 16 bytes in the order in which they are written.
    Uuid = 3,
    /// Several parts: for each its length as a `u64`, little-endian, then its bytes.
    Tuple = 4,
    /// Bytes that only the type itself can explain.
    Other = 255,
}
