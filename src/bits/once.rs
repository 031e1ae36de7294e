//! [`insert_once`]: a key's bits into a line that others write too, and at most one caller told that they were new.
//!
//! **What it must give.** (1) When it has returned, every thread that learns of the return finds the key. (2) "It was new" is heard by at most
//! one of the callers that insert a key at once, so that whoever hears it may act on it once. Setting bits and looking whether any changed does
//! not give (2): two callers can each be the first in another word.
//!
//! **How.** An insert reads the words of its key in ascending order, those of a second line after those of the first. The last of those that it finds
//! *incomplete*, with a bit of the key not set, decides: it is written last, and the key was new if that write changed it. Words found complete are
//! not written at all.
//!
//! **Why at most one hears "new".** Suppose that two callers do, A with the deciding word `a` and B with `b`.
//!
//! - `a = b`: both write that word by read-modify-write. The later finds the earlier's bits, so it changed nothing.
//! - `a < b`: A found `b` complete, as its last incomplete word was `a`. B's write of `b` changed it, so `b` was incomplete until then, and A read
//!   B's write or a later one. That load acquires what B's write releases (later read-modify-writes carry the release on). Before that write B
//!   had found `a` complete or had completed it. So A's write of `a`, which comes after all of A's loads, finds `a` complete and changes nothing.
//!
//! **When a new key hears "not new".** Where other keys cover all its bits: the ordinary false positive. And where other keys, between this
//! caller's load and its write, set all the bits that were missing in the deciding word, though this caller itself set bits in others: a race of
//! nanoseconds within one line. Callers of *one* key that race only with each other never all hear "not new": whoever is first to write the last
//! of the words that were incomplete to begin with decides by that word, and changes it.
//!
//! **Why readers are relaxed.** (1) is per word: the insert set the bits, or saw them set, and to whoever learns of its return that happened before;
//! coherence then shows that value of the word or a later one, and in a filter that does not rotate bits are never cleared through `&self`. No other
//! memory is reached through a bit, so there is nothing to acquire.
//!
//! **Where bits are cleared**, as planes of a rotating filter are, a caller that slept may find or set bits in a plane's later life, and must learn
//! that from other words. So every write releases, for the acquire fence of whoever finds its bits (`rotating/atomic.rs`). And there (2) is all that
//! holds: who slept, left bits in a later life of the plane, and inserts again, finds them and hears "not new", as then everybody may who inserts
//! this key.

use super::{AtomicLine, WORDS};
use crate::sync::{AtomicU64, Ordering};

/// Sets the bits of each mask in its line; true where the deciding word changed. A key's lines come in the same order for every caller.
#[inline]
pub(crate) fn insert_once<'a>(masks: impl Iterator<Item = (&'a AtomicLine, [u64; WORDS])>) -> bool {
    let mut decider: Option<(&AtomicU64, u64)> = None;
    for (line, mask) in masks {
        for (word, bits) in line.0.iter().zip(mask).filter(|&(_, bits)| bits != 0) {
            step(line);
            // ORDERING: Acquire pairs with the Release of another caller's deciding write: who finds that word complete because of it comes, with its
            // own writes, after what that caller found or made complete before.
            if word.load(Ordering::Acquire) & bits == bits {
                continue;
            }
            if let Some((earlier, bits)) = decider.replace((word, bits)) {
                step(line);
                // ORDERING: Release, where bits are cleared; see the head. Elsewhere Relaxed would do: the deciding write comes after it, and
                // releases it.
                earlier.fetch_or(bits, Ordering::Release);
            }
        }
        step(line);
    }
    // ORDERING: Release pairs with the Acquire above. No Acquire here: this write comes last in its word's order by coherence with what the loads
    // acquired, and nothing is read after it.
    decider.is_some_and(|(word, bits)| word.fetch_or(bits, Ordering::Release) & bits != bits)
}

/// Nothing, but under loom an access that no two threads may exchange without a difference. Loom looks for another order only at the latest access
/// of a location, and the load of a word would hide everybody else's before the write of it: whole interleavings would go untested.
#[inline(always)]
fn step(_line: &AtomicLine) {
    // ORDERING: Relaxed; it is there to be counted, and adds no edge that the line would not have.
    #[cfg(absentia_loom)]
    _line.0[WORDS - 1].fetch_or(0, Ordering::Relaxed);
}
