//! [`Key`] for the types of the standard library and for `Uuid`: the table of which value is which bytes.
//!
//! Every line here is a promise to filters that are already written somewhere. `golden_bytes` below pins it; a change there is a new
//! [`KeyEncoding`] number, not an edit.

use super::{Key, KeyEncoding};
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

impl Key for [u8] {
    const ENCODING: KeyEncoding = KeyEncoding::Bytes;

    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

impl Key for str {
    const ENCODING: KeyEncoding = KeyEncoding::Bytes;

    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.as_bytes())
    }
}

impl<const N: usize> Key for [u8; N] {
    const ENCODING: KeyEncoding = KeyEncoding::Bytes;

    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

/// Types that are a key because what they hold or point at is one.
macro_rules! key_by_deref {
    ($([$($generics:tt)*] $holder:ty => $held:ty;)*) => {$(
        impl<$($generics)*> Key for $holder {
            const ENCODING: KeyEncoding = <$held>::ENCODING;

            #[inline]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                <$held>::with_bytes(self, f)
            }
        }
    )*};
}
key_by_deref! {
    [] String => str;
    [] Vec<u8> => [u8];
    [T: Key + ?Sized] &T => T;
    [T: Key + ?Sized] Box<T> => T;
    [T: Key + ?Sized] Rc<T> => T;
    [T: Key + ?Sized] Arc<T> => T;
    [T: Key + ToOwned + ?Sized] Cow<'_, T> => T;
}

/// The width is that of the value, never that of the type: 8 bytes up to `u64::MAX`, and 16 for a negative number or a larger one. An unsigned type
/// of 64 bits or less has one width for all its values, and random ones cost the hasher no mispredicted branch; with the sign in 8 bytes, and the
/// upper half of `u64` in 16, that cost 4 ns a key.
#[inline]
fn with_int_bytes<R>(value: i128, f: impl FnOnce(&[u8]) -> R) -> R {
    match u64::try_from(value) {
        Ok(short) => f(&short.to_le_bytes()),
        Err(_) => f(&value.to_le_bytes()),
    }
}

macro_rules! key_by_value {
    ($($int:ty)*) => {$(
        impl Key for $int {
            const ENCODING: KeyEncoding = KeyEncoding::Int;

            #[inline]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                // Lossless for all of these; `From` is not there for the pointer-sized two.
                with_int_bytes(*self as i128, f)
            }
        }
    )*};
}
key_by_value! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 usize }

impl Key for u128 {
    const ENCODING: KeyEncoding = KeyEncoding::Int;

    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        if let Ok(value) = i128::try_from(*self) {
            return with_int_bytes(value, f);
        }
        // Sixteen bytes with the top bit set would be a negative number; a seventeenth, zero, is the sign.
        let mut wide = [0; 17];
        wide[..16].copy_from_slice(&self.to_le_bytes());
        f(&wide)
    }
}

#[cfg(feature = "uuid")]
impl Key for uuid::Uuid {
    const ENCODING: KeyEncoding = KeyEncoding::Uuid;

    #[inline]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self.as_bytes())
    }
}

/// The parts of a tuple behind one another: on the stack while they fit, on the heap from the first that does not.
struct Joined {
    short: [u8; Self::SHORT],
    len: usize,
    long: Vec<u8>,
}

impl Joined {
    /// Room for a pair of a UUID or an integer and a string of some 80 bytes. A guess; a longer tuple costs one allocation.
    const SHORT: usize = 128;

    fn new() -> Self {
        Self { short: [0; Self::SHORT], len: 0, long: Vec::new() }
    }

    #[inline]
    fn push(&mut self, part: &[u8]) {
        self.append(&(part.len() as u64).to_le_bytes());
        self.append(part);
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        if self.long.is_empty() && end <= Self::SHORT {
            self.short[self.len..end].copy_from_slice(bytes);
        } else {
            if self.long.is_empty() {
                self.long.extend_from_slice(&self.short[..self.len]);
            }
            self.long.extend_from_slice(bytes);
        }
        self.len = end;
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        if self.long.is_empty() { &self.short[..self.len] } else { &self.long }
    }
}

macro_rules! key_by_parts {
    ($(($($part:ident $index:tt),+))*) => {$(
        impl<$($part: Key),+> Key for ($($part,)+) {
            const ENCODING: KeyEncoding = KeyEncoding::Tuple;

            #[inline]
            fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
                let mut joined = Joined::new();
                $(self.$index.with_bytes(|bytes| joined.push(bytes));)+
                f(joined.bytes())
            }
        }
    )*};
}
key_by_parts! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<K: Key + ?Sized>(key: &K) -> Vec<u8> {
        key.with_bytes(<[u8]>::to_vec)
    }

    #[test]
    fn golden_bytes() {
        assert_eq!(bytes(&5u8), [5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes(&-2i8), [&[0xfe][..], &[0xff; 15]].concat());
        assert_eq!(bytes(&u64::MAX), [0xff; 8]);
        assert_eq!(bytes(&(1u128 << 64)), (1u128 << 64).to_le_bytes());
        assert_eq!(bytes(&u128::MAX), [&[0xff; 16][..], &[0]].concat());
        assert_eq!(bytes("aé"), [0x61, 0xc3, 0xa9]);
        assert_eq!(bytes(&("a", 1u8)), [1, 0, 0, 0, 0, 0, 0, 0, 0x61, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn width_does_not_matter_to_an_integer() {
        let five = bytes(&5i64);
        for other in [bytes(&5u8), bytes(&5i16), bytes(&5u32), bytes(&5u64), bytes(&5i128), bytes(&5u128), bytes(&5usize), bytes(&5isize)] {
            assert_eq!(other, five);
        }
        assert_eq!(bytes(&(1u64 << 63)), bytes(&(1i128 << 63)));
        assert_eq!(bytes(&i64::MIN), bytes(&i128::from(i64::MIN)));
    }

    #[test]
    fn different_integers_have_different_bytes_at_every_edge() {
        let mut seen = std::collections::HashSet::new();
        for edge in [0, i128::from(i64::MAX), i128::from(u64::MAX), i128::from(i64::MIN)] {
            for step in -2i128..=2 {
                seen.insert(bytes(&(edge + step)));
            }
        }
        assert_eq!(seen.len(), 20);
        for step in 0..3 {
            seen.insert(bytes(&(i128::MIN + step)));
            seen.insert(bytes(&(i128::MAX - step)));
            seen.insert(bytes(&(i128::MAX as u128 + 1 + step as u128)));
            seen.insert(bytes(&(u128::MAX - step as u128)));
        }
        assert_eq!(seen.len(), 32);
    }

    /// The upper half of `u64` once took 16 bytes: random ids then cost a mispredicted branch every second time, more than the hash.
    #[test]
    fn every_unsigned_integer_of_64_bits_has_one_width() {
        for value in [0, 1, 1 << 31, 1 << 63, u64::MAX] {
            assert_eq!(bytes(&value).len(), 8);
        }
    }

    #[test]
    fn borrowed_and_owned_forms_are_one_key() {
        let text = bytes("key");
        assert_eq!(bytes(&String::from("key")), text);
        assert_eq!(bytes(b"key"), text);
        assert_eq!(bytes(&b"key"[..]), text);
        assert_eq!(bytes(&Vec::from(*b"key")), text);
        assert_eq!(bytes(&Box::<str>::from("key")), text);
        assert_eq!(bytes(&Arc::<str>::from("key")), text);
        assert_eq!(bytes(&Rc::<[u8]>::from(&b"key"[..])), text);
        assert_eq!(bytes(&Cow::Borrowed("key")), text);
        assert_eq!(bytes(&&&"key"), text);
        assert_eq!(<Arc<str> as Key>::ENCODING, KeyEncoding::Bytes);
        assert_eq!(<&u32 as Key>::ENCODING, KeyEncoding::Int);
    }

    #[test]
    fn where_a_tuple_is_cut_matters() {
        assert_ne!(bytes(&("ab", "c")), bytes(&("a", "bc")));
        assert_ne!(bytes(&("", "a")), bytes(&("a", "")));
        assert_ne!(bytes(&("a", "b")), bytes(&("a", "b", "")));
        assert_eq!(bytes(&(1u8, "a")), bytes(&(1i64, String::from("a"))));
        assert_eq!(bytes(&(1u8, 2, 3, 4, 5, 6)).len(), 6 * 16);
    }

    #[test]
    fn a_tuple_that_outgrows_the_stack_has_the_same_bytes() {
        for len in [0, 1, 100, 111, 112, 113, 120, 121, 127, 128, 129, 1000] {
            let part = vec![7u8; len];
            let mut want = (len as u64).to_le_bytes().to_vec();
            want.extend_from_slice(&part);
            want.extend_from_slice(&0u64.to_le_bytes());
            want.extend_from_slice(&want.clone());
            assert_eq!(bytes(&(&part, "", &part, "")), want, "part of {len}");
        }
    }

    #[cfg(feature = "uuid")]
    #[test]
    fn a_uuid_is_its_bytes_as_written() {
        let id = uuid::Uuid::from_u128(0x00112233_4455_6677_8899_aabbccddeeff);
        assert_eq!(bytes(&id), [0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff]);
    }
}
