//! [`LoadContext`]: what the gate tells a loader about one load, and what the loader may ask back.

use super::{CallerId, Cause, Event, Lane, Observer, Permit};
use crate::fence::Token;
use crate::key::KeyHash;
use crate::time::{Clock, Timestamp};
use std::fmt;

/// How a caller may share a read that is already under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Share it, and take its outcome only while the token captured before that read is still valid.
    Revalidate,
    /// Do not share it: share the *next* read of the key, which begins after this call and so needs no validation.
    Next,
}

/// Whether anything older than the call may answer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    Any,
    Fresh,
}

/// What a gate knows that a load depends on.
pub(crate) trait Fences: Send + Sync {
    /// The fence of the key as it is now.
    fn capture(&self, hash: KeyHash) -> Token;
    /// The fence still says so, nothing is pending, nobody distrusts.
    fn still_valid(&self, hash: KeyHash, token: Token) -> bool;
    /// The gate's epoch is still that of the token.
    fn same_epoch(&self, token: Token) -> bool;
    /// Absences may be remembered at all.
    fn tombstones_allowed(&self) -> bool;
    /// How reads may be shared while the key's fence says `token`.
    fn join(&self, token: Token) -> Join;
}

/// One load: whose key, under which fence, how it may be shared, and who pays for it.
pub struct LoadContext<'a> {
    pub(crate) hash: KeyHash,
    pub(crate) fences: &'a dyn Fences,
    pub(crate) freshness: Freshness,
    /// The lane whose budget each read of the source is taken from. None: not limited.
    pub(crate) lane: Option<&'a Lane>,
    pub(crate) caller: CallerId,
    pub(crate) clock: &'a Clock,
    pub(crate) observer: Option<&'a dyn Observer>,
}

impl LoadContext<'_> {
    /// The key's hash under the gate's hasher.
    #[must_use]
    pub fn hash(&self) -> KeyHash {
        self.hash
    }

    /// The key's fence as it is now. Capture it *before* reading the source.
    #[must_use]
    pub fn token(&self) -> Token {
        self.fences.capture(self.hash)
    }

    /// True while nothing has happened since `token` was captured that could make an absence read under it wrong.
    #[must_use]
    pub fn still_valid(&self, token: Token) -> bool {
        self.fences.still_valid(self.hash, token)
    }

    /// True while the gate's epoch is that of `token`. What is remembered from an earlier epoch, present or absent, is void.
    #[must_use]
    pub fn same_epoch(&self, token: Token) -> bool {
        self.fences.same_epoch(token)
    }

    /// True where the gate's coverage lets absences be remembered. Elsewhere storing one is waste: the gate would not accept it.
    #[must_use]
    pub fn tombstones_allowed(&self) -> bool {
        self.fences.tombstones_allowed()
    }

    /// How a read that is under way may be shared by a caller that holds `token`.
    #[must_use]
    pub fn join(&self, token: Token) -> Join {
        match self.freshness {
            Freshness::Fresh => Join::Next,
            Freshness::Any => self.fences.join(token),
        }
    }

    /// True where neither memory nor a read that began before this call may answer.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.freshness == Freshness::Fresh
    }

    /// Asks for leave to read the source. Hold the permit while reading. Only for a loader whose
    /// [`admits_its_own_reads`](super::Loader::admits_its_own_reads) is true.
    ///
    /// # Errors
    ///
    /// [`Cause::Shed`] where the lane is over its budget, or this caller over its share.
    pub fn admit(&self) -> Result<Permit<'_>, Cause> {
        match self.lane {
            None => Ok(Permit::free()),
            Some(lane) => lane.admit(self.caller, self.clock.now()).map_err(|retry_after| Cause::Shed { retry_after }),
        }
    }

    /// Now, by the gate's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The gate's clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        self.clock
    }

    /// Tells the gate's observer.
    pub fn record(&self, event: Event) {
        if let Some(observer) = self.observer {
            observer.record(&event);
        }
    }
}

impl fmt::Debug for LoadContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadContext").field("fresh", &self.is_fresh()).field("limited", &self.lane.is_some()).finish_non_exhaustive()
    }
}
