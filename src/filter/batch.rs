//! Many keys or hashes at once.
//!
//! A kernel answers with words of one bit a hash, and those words *are* the [`BitVec`]: nothing is moved bit by bit. Keys are hashed some hundred at
//! a time, which is enough for the kernel to look ahead and little enough for the hashes to stay in the first-level cache. To hash and to look up in
//! one loop was slower, by 0.7 ns a key.

use crate::key::{Key, KeyHash, KeyHasher};
use bitvec::vec::BitVec;
use std::convert::Infallible;

/// Bits in a word of a [`BitVec`].
const WORD: usize = usize::BITS as usize;

/// Keys that are hashed before any is looked up: 8 KiB of hashes.
const CHUNK: usize = 8 * WORD;

/// One bit a hash, which `ask` writes word by word.
pub(crate) fn answers(hashes: &[KeyHash], ask: impl FnOnce(&[KeyHash], &mut [usize])) -> BitVec {
    let mut words = vec![0; hashes.len().div_ceil(WORD)];
    ask(hashes, &mut words);
    bits(words, hashes.len())
}

/// The same for keys. The hasher comes by value, so that nothing can change it in the loop.
pub(crate) fn key_answers<K: Key>(hasher: KeyHasher, keys: &[K], mut ask: impl FnMut(&[KeyHash], &mut [usize])) -> BitVec {
    let mut words = vec![0; keys.len().div_ceil(WORD)];
    let mut hashes = [KeyHash::from_parts(0, 0); CHUNK];
    for (keys, words) in keys.chunks(CHUNK).zip(words.chunks_mut(CHUNK / WORD)) {
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = hasher.hash(key);
        }
        ask(&hashes[..keys.len()], words);
    }
    bits(words, keys.len())
}

fn bits(words: Vec<usize>, count: usize) -> BitVec {
    let mut bits = BitVec::from_vec(words);
    bits.truncate(count);
    bits
}

/// Every hash of an iterator, handed on some hundred at a time with room for the answers.
pub(crate) fn in_chunks(hashes: impl IntoIterator<Item = KeyHash>, mut take: impl FnMut(&[KeyHash], &mut [usize])) {
    let mut answers = [0; CHUNK / WORD];
    let Ok(()) = try_in_chunks(hashes, |hashes| {
        take(hashes, &mut answers);
        Ok::<_, Infallible>(())
    });
}

/// The same without answers, up to the first error. Hashes that were taken from the iterator with that one are not given back.
pub(crate) fn try_in_chunks<E>(hashes: impl IntoIterator<Item = KeyHash>, mut take: impl FnMut(&[KeyHash]) -> Result<(), E>) -> Result<(), E> {
    let mut taken = [KeyHash::from_parts(0, 0); CHUNK];
    let mut hashes = hashes.into_iter();
    loop {
        let count = taken.iter_mut().zip(hashes.by_ref()).map(|(place, hash)| *place = hash).count();
        take(&taken[..count])?;
        if count < CHUNK {
            return Ok(());
        }
    }
}
