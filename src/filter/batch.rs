//! Many keys or hashes at once.
//!
//! A kernel answers with words of one bit a hash, and those words *are* the [`BitVec`]: nothing is moved bit by bit. Keys are hashed some hundred at
//! a time, which is enough for the kernel to look ahead and little enough for the hashes to stay in the first-level cache. To hash and to look up in
//! one loop was slower, by 0.7 ns a key.

use crate::key::{Key, KeyHash, KeyHasher};
use bitvec::vec::BitVec;

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
    let (mut taken, mut answers) = ([KeyHash::from_parts(0, 0); CHUNK], [0; CHUNK / WORD]);
    let mut hashes = hashes.into_iter();
    loop {
        let count = taken.iter_mut().zip(hashes.by_ref()).map(|(place, hash)| *place = hash).count();
        take(&taken[..count], &mut answers);
        if count < CHUNK {
            return;
        }
    }
}
