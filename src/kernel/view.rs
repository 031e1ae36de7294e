//! [`words_of`]: lines as one slice of the machine's words, for people who want to see the bits.

use crate::bits::Line;

/// The words of all lines, in order: bit `b` of the filter is bit `b % usize::BITS` of word `b / usize::BITS`.
///
/// Not on machines where that would not hold, which are those of 32 bits with the high end first.
#[cfg(any(target_pointer_width = "64", target_endian = "little"))]
pub(crate) fn words_of(lines: &[Line]) -> &[usize] {
    const WORDS: usize = size_of::<Line>() / size_of::<usize>();
    const { assert!(WORDS * size_of::<usize>() == size_of::<Line>() && align_of::<Line>() >= align_of::<usize>()) };
    // SAFETY: the words must be initialised, aligned, of one allocation, and lent for as long as the lines are. A `Line` is `repr(C)` around an array
    // of integers that fills it (64 bytes of 64), and by the assertion a whole number of words; any bits are a word. So `len` lines in a row are
    // `WORDS · len` words in a row, a product that is at most the bytes of a slice that exists. The lifetime is that of `lines`.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * WORDS) }
}
