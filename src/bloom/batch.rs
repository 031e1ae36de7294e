//! Many keys or hashes at once, a group at a time.
//!
//! A group is as many keys as a word has bits, so that a kernel's answer to a group *is* a word of the [`BitVec`] and nothing is moved bit by bit.

use crate::kernel::GROUP;
use crate::key::{Key, KeyHash, KeyHasher};
use bitvec::vec::BitVec;

/// One bit an item: bit `i` of what `group` answers is for its `i`-th item.
pub(super) fn answers<T>(items: &[T], group: impl FnMut(&[T]) -> usize) -> BitVec {
    let mut bits = BitVec::from_vec(items.chunks(GROUP).map(group).collect());
    bits.truncate(items.len());
    bits
}

/// The same for keys, which are hashed group by group: the hashes stay in the first-level cache, and their cost overlaps the cache misses.
pub(super) fn key_answers<K: Key>(hasher: &KeyHasher, keys: &[K], mut group: impl FnMut(&[KeyHash]) -> usize) -> BitVec {
    let mut hashes = [KeyHash::from_parts(0, 0); GROUP];
    answers(keys, |keys| {
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = hasher.hash(key);
        }
        group(&hashes[..keys.len()])
    })
}

/// Every key of an iterator, hashed and handed on in groups.
pub(super) fn in_groups<K: Key>(hasher: &KeyHasher, keys: impl IntoIterator<Item = K>, mut group: impl FnMut(&[KeyHash])) {
    let mut hashes = [KeyHash::from_parts(0, 0); GROUP];
    let mut keys = keys.into_iter();
    loop {
        let taken = hashes.iter_mut().zip(keys.by_ref()).map(|(hash, key)| *hash = hasher.hash(&key)).count();
        group(&hashes[..taken]);
        if taken < GROUP {
            return;
        }
    }
}
