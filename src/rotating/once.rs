//! [`insert`]: a key's bits into lines that others write too, and at most one caller told that they were new.
//!
//! The algorithm and its proof are those of `bloom/once.rs`, whose head says why at most one hears "new": words are read in ascending order, the last
//! one found incomplete is written last, and decides. A fix in one belongs into the other. What differs is that **every write releases**: bits can be
//! cleared here, and who finds a bit that was set in a plane's later life must see, behind an acquire fence, that the window has moved (`atomic.rs`).
//!
//! In that one case it is weaker: a caller that slept for G windows may set bits in a plane that is by then another window's. It inserts again, finds
//! those bits, and hears "not new", as then everybody may who inserts this key there. Nobody hears "new" twice.

use crate::bits::{AtomicLine, WORDS};
use crate::sync::{AtomicU64, Ordering};

/// Sets the bits of each mask in its line; true where the deciding word changed. A key's lines come in the same order for every caller.
#[inline]
pub(super) fn insert<'a>(masks: impl Iterator<Item = (&'a AtomicLine, [u64; WORDS])>) -> bool {
    let mut decider: Option<(&AtomicU64, u64)> = None;
    for (line, mask) in masks {
        for (word, bits) in line.0.iter().zip(mask).filter(|&(_, bits)| bits != 0) {
            // ORDERING: Acquire pairs with the Release of another caller's deciding write.
            if word.load(Ordering::Acquire) & bits == bits {
                continue;
            }
            if let Some((earlier, bits)) = decider.replace((word, bits)) {
                // ORDERING: Release, for the acquire fence of whoever finds these bits; see the head.
                earlier.fetch_or(bits, Ordering::Release);
            }
        }
    }
    // ORDERING: Release, as above, and it pairs with the Acquire in the loop.
    decider.is_some_and(|(word, bits)| word.fetch_or(bits, Ordering::Release) & bits != bits)
}
