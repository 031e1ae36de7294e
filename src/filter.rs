//! The vocabulary of filters: [`Membership`] asks, [`Insert`] adds through `&mut`, [`InsertShared`] adds through `&`, [`FilterFactory`] makes.
//!
//! All of it speaks [`KeyHash`], so that a key is hashed once however many filters it meets, and all of it is dyn-compatible, so that the gate
//! holds any filter kind. A new kind joins by implementing these; the gate does not change.

use crate::key::{HasherFingerprint, KeyHash};
use crate::params::{Capacity, Fpr, ParamError};
use bitvec::vec::BitVec;
use std::fmt;
use std::sync::Arc;

/// A set that may err towards "maybe".
///
/// **The contract that everything rests on:** `contains_hash(h) == false` means that `h` was never inserted. An implementation that cannot keep
/// it must answer `true`.
pub trait Membership: fmt::Debug + Send + Sync {
    /// `false` means never inserted; `true` means inserted, or a false positive.
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

    /// The false-positive rate of the present contents, estimated from what is actually set. Costs a pass over the filter.
    #[must_use]
    fn estimated_fpr(&self) -> f64;

    /// Bytes of filter memory.
    fn memory_bytes(&self) -> u64;
}

/// A filter that takes keys through `&mut self`.
pub trait Insert: Membership {
    /// Adds `hash`; true where it was new (a false positive hears "not new"). From here on `contains_hash(hash)` is true.
    fn insert_hash(&mut self, hash: KeyHash) -> bool;

    /// Gives up the right to insert. The result is what readers share.
    fn freeze(self: Box<Self>) -> Arc<dyn Membership>;
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
