//! The vocabulary of filters: [`Membership`] asks, [`Insert`] and [`Remove`] change through `&mut`, [`InsertShared`] and [`RemoveShared`] through
//! `&`, [`FilterFactory`] makes.
//!
//! All of it speaks [`KeyHash`], so that a key is hashed once however many filters it meets, and all of it is dyn-compatible, so that the gate
//! holds any filter kind. A new kind joins by implementing these; the gate does not change.

pub(crate) mod batch;
mod combine;
mod error;

pub use combine::CombineError;
pub use error::InsertError;

use crate::key::{HasherFingerprint, KeyHash};
use crate::params::{Capacity, Fpr, ParamError};
use bitvec::vec::BitVec;
use std::fmt;
use std::sync::Arc;

/// A set that may err towards "maybe".
///
/// **The contract that everything rests on:** `contains_hash(h) == false` means that no copy of `h` is in it: it was never inserted, or all its
/// copies were removed. An implementation that cannot keep it must answer `true`.
pub trait Membership: fmt::Debug + Send + Sync {
    /// `false` means that it is not in, having never been inserted or been removed; `true`, that it is, or a false positive.
    #[must_use]
    fn contains_hash(&self, hash: KeyHash) -> bool;

    /// One bit per hash, in order: [`contains_hash`](Self::contains_hash) for each. Kinds override it where a group of keys can be answered faster
    /// than one by one.
    #[must_use]
    fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        hashes.iter().map(|&hash| self.contains_hash(hash)).collect()
    }

    /// Which hasher, under which secret, the inserted hashes must come from. Filters of different fingerprints never mix.
    fn hasher_fingerprint(&self) -> HasherFingerprint;

    /// How many distinct keys it was sized for.
    fn capacity(&self) -> u64;

    /// The false-positive rate of the present contents, estimated from what is actually in it. May cost a pass over the filter.
    #[must_use]
    fn estimated_fpr(&self) -> f64;

    /// Bytes of filter memory.
    fn memory_bytes(&self) -> u64;

    /// Itself, where a copy of a hash can be taken out while others ask. None where it cannot, as of a Bloom filter.
    fn remover(&self) -> Option<&dyn RemoveShared> {
        None
    }
}

/// A filter that takes keys through `&mut self`.
pub trait Insert: Membership {
    /// Adds one copy of `hash`, also where one is there already or seems to be. From here on `contains_hash(hash)` is true.
    ///
    /// A kind that can remove counts copies: it must not skip one because [`contains_hash`](Membership::contains_hash) is true, since that may be the
    /// copy of another key, whose removal would then take both.
    ///
    /// # Errors
    ///
    /// [`InsertError`] where the filter has no room for the copy, which then is not in it; everything that was accepted before still is.
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), InsertError>;

    /// [`insert_hash`](Self::insert_hash) for every hash, in order. Kinds override it where a group is faster than one by one.
    ///
    /// # Errors
    ///
    /// The first that there is. The hashes before that one are in the filter, it and those after it are not.
    fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> Result<(), InsertError> {
        hashes.iter().try_for_each(|&hash| self.insert_hash(hash))
    }

    /// Gives up the right to insert. The result is what readers share.
    fn freeze(self: Box<Self>) -> Arc<dyn Membership>;
}

/// A filter from which copies can be taken out through `&mut self`.
pub trait Remove: Membership {
    /// Takes one copy of `hash` out; true where one was there. **Of a hash that was never inserted it may take the copy of another one, which is then
    /// denied.**
    fn remove_hash(&mut self, hash: KeyHash) -> bool;
}

/// A filter from which copies can be taken out while others ask.
pub trait RemoveShared: Membership {
    /// [`Remove::remove_hash`] through `&self`. Hashes of which a copy stays are found throughout.
    fn remove_hash_shared(&self, hash: KeyHash) -> bool;
}

/// A filter that takes keys through `&self`, from many threads at once, while others read.
pub trait InsertShared: Membership {
    /// Adds `hash`; true where it was new, for at most one of the callers that add it at once. When it returns, every thread that learns of the
    /// return finds `contains_hash(hash)` true.
    fn insert_hash_shared(&self, hash: KeyHash) -> bool;
}

/// Makes the two filters of a generation: a base that a rebuild fills once, and a delta that takes creates while it serves.
pub trait FilterFactory: fmt::Debug + Send + Sync {
    /// An empty base for `capacity` keys at rate `fpr`, whose hashes come from the hasher with this fingerprint.
    ///
    /// # Errors
    ///
    /// [`ParamError`] where the filter cannot be made; the rebuild then fails and the generation that serves goes on.
    fn base(&self, capacity: Capacity, fpr: Fpr, hasher: HasherFingerprint) -> Result<Box<dyn Insert>, ParamError>;

    /// An empty delta, likewise.
    ///
    /// # Errors
    ///
    /// As for [`base`](Self::base).
    fn delta(&self, capacity: Capacity, fpr: Fpr, hasher: HasherFingerprint) -> Result<Arc<dyn InsertShared>, ParamError>;
}
