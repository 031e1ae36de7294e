//! Where the bits of a key are in a [`ClassicBloom`](super::ClassicBloom), and how they are asked for and set.
//!
//! **Positions** come from the two base hashes `a` and `b` of a key, read as fractions of 2^64; `index_below` takes the high bits of each `x`:
//!
//! ```text
//! x_0 = a        x_{i+1} = x_i + s_i           position i = ⌊x_i · m / 2^64⌋
//! s_0 = b        s_{i+1} = s_i · MULTIPLIER    all modulo 2^64
//! ```
//!
//! This departs from *enhanced double hashing* (Dillinger and Manolios 2004), whose step grows by adding: s_{i+1} = s_i + i. Both cure that a key's
//! positions are an arithmetic progression, which another key can share but for one end. But adding keeps neighbours together: a key whose `a` and
//! `b` differ from another's by less than a fraction 1/(k·m) has all its positions in the same places, whatever constants are added. That is
//! some n/(k·m²) of all questions, and a larger part of the false positives the lower their rate and the smaller `m`. A product spreads a
//! difference in the low bits of `b` over the high bits, so that such keys part after a few steps. It costs one multiplication a step.
//!
//! The false-positive rate over that of independent uniform positions, from 8e7 to 6e8 questions to 400 to 8000 filters, with errors of 1 to 2 %
//! (5 % and 8 % in the last two lines). `modulo m` is the double hashing of most libraries, `fractions` the same in the ring above, where the
//! enhanced step grows by i·φ·2^64, since i alone would never reach the high bits:
//!
//! | bits | keys | k | modulo m | fractions | enhanced, modulo m | enhanced, fractions | this |
//! |---|---|---|---|---|---|---|---|
//! | 64 | 4 | 11 | 38 | 8.7 | 2.6 | 1.06 | 1.01 |
//! | 256 | 13 | 14 | 63 | 11.9 | 3.4 | 1.10 | 0.98 |
//! | 1000 | 104 | 7 | 1.14 | 1.04 | 1.01 | 1.00 | 1.00 |
//! | 1000 | 52 | 13 | 14.7 | 3.3 | 1.6 | 1.03 | 0.99 |
//! | 1000 | 34 | 20 | 1700 | 180 | 45 | 1.6 | 1.00 |
//! | 20 000 | 695 | 20 | 65 | 8.4 | 2.5 | 1.03 | 0.95 |
//!
//! **The question** looks at two bits, leaves if one of them is clear, as for three strangers in four, and looks at all the others without a
//! further branch. Measured on a shared Zen machine, in ns a question, in a loop over 2^20 prepared hashes (the best of ten passes, base pages):
//!
//! | keys, k | | two, then all | leave at the first clear bit | no branch |
//! |---|---|---|---|---|
//! | 1e5, 7 | absent / present | 6.1 / 7.1 | 11.8 / 7.6 | 7.6 / 7.6 |
//! | 1e5, 10 | absent / present | 6.4 / 10 | 11.5 / 10.4 | 10 / 10 |
//! | 1e7, 7 | absent / present | 27 / 51 | 34 / 63 | 47 / 53 |
//! | 1e7, 10 | absent / present | 39 / 80 | 43 / 106 | 86 / 85 |
//! | 5e7, 7 | absent / present | 44 / 75 | 59 / 94 | 75 / 75 |
//!
//! Batches ask one key after the other: with so little between the questions the machine overlaps their cache misses by itself. To touch the first
//! bit of all 64 keys beforehand, cost 10 to 25 % here.

use crate::bits::index_below;
use crate::key::KeyHash;
use bitvec::{order::Lsb0, vec::BitVec};

pub(super) const WORD_BITS: usize = usize::BITS as usize;

/// Steele and Vigna's multiplier of 64-bit congruential generators (*Computationally Easy, Spectrally Good Multipliers*, 2021), by which the steps
/// of a key grow. It is 1 modulo 4, so that x_i − x_j takes all but the last log2(i − j) bits of `b` into account.
const MULTIPLIER: u64 = 0xd134_2543_de82_ef95;

/// The `k` positions of a key among `m`, as (word, bit in the word). They may repeat. See the head of this file.
#[inline(always)]
pub(super) fn positions(hash: KeyHash, m: usize, k: u32) -> impl Iterator<Item = (usize, usize)> {
    let (mut x, mut step) = (hash.first(), hash.second());
    (0..k).map(move |_| {
        let position = index_below(m, x);
        x = x.wrapping_add(step);
        step = step.wrapping_mul(MULTIPLIER);
        (position / WORD_BITS, position % WORD_BITS)
    })
}

/// The words of a filter, to ask: what they are is looked up once for a batch.
#[derive(Clone, Copy)]
pub(super) struct Bits<'a> {
    m: usize,
    k: u32,
    words: &'a [usize],
}

impl<'a> Bits<'a> {
    #[inline(always)]
    pub(super) fn of(k: u32, bits: &'a BitVec<usize, Lsb0>) -> Self {
        Self { m: bits.len(), k, words: bits.as_raw_slice() }
    }

    #[inline(always)]
    pub(super) fn contains(self, hash: KeyHash) -> bool {
        let mut positions = positions(hash, self.m, self.k);
        let all = |all, (word, bit): (usize, usize)| all & (self.words[word] >> bit);
        let two = positions.by_ref().take(2).fold(1, all);
        two & 1 != 0 && positions.fold(1, all) & 1 != 0
    }

    pub(super) fn contains_batch(self, hashes: &[KeyHash], answers: &mut [usize]) {
        for (hashes, answer) in hashes.chunks(WORD_BITS).zip(answers) {
            *answer = hashes.iter().enumerate().fold(0, |answer, (bit, &hash)| answer | (usize::from(self.contains(hash)) << bit));
        }
    }
}

/// The same, to add.
pub(super) struct BitsMut<'a> {
    m: usize,
    k: u32,
    words: &'a mut [usize],
}

impl<'a> BitsMut<'a> {
    #[inline(always)]
    pub(super) fn of(k: u32, bits: &'a mut BitVec<usize, Lsb0>) -> Self {
        Self { m: bits.len(), k, words: bits.as_raw_mut_slice() }
    }

    #[inline(always)]
    pub(super) fn insert(&mut self, hash: KeyHash) -> bool {
        let mut all = 1;
        for (index, bit) in positions(hash, self.m, self.k) {
            let word = &mut self.words[index];
            // A position that repeats finds its bit set by its twin; where the key was new, the twin has already said so.
            all &= *word >> bit;
            *word |= 1 << bit;
        }
        all & 1 == 0
    }

    pub(super) fn insert_batch(&mut self, hashes: &[KeyHash], answers: &mut [usize]) {
        for (hashes, answer) in hashes.chunks(WORD_BITS).zip(answers) {
            *answer = hashes.iter().enumerate().fold(0, |answer, (bit, &hash)| answer | (usize::from(self.insert(hash)) << bit));
        }
    }
}

/// Bits 2i and 2i + 1 of a word or'd into bit i, in the lower half of the result.
pub(super) fn halved(word: usize) -> usize {
    let mut word = word as u64;
    word = (word | (word >> 1)) & 0x5555_5555_5555_5555;
    word = (word | (word >> 1)) & 0x3333_3333_3333_3333;
    word = (word | (word >> 2)) & 0x0f0f_0f0f_0f0f_0f0f;
    word = (word | (word >> 4)) & 0x00ff_00ff_00ff_00ff;
    word = (word | (word >> 8)) & 0x0000_ffff_0000_ffff;
    ((word | (word >> 16)) & 0xffff_ffff) as usize
}
