//! `check`, `lookup` and their kin: what readers call.

use super::verdict::{Lookup, Proof, Reason, Verdict};
use super::{ExistenceGate, Trust};
use crate::key::{Key, KeyHash};
use crate::loader::{CacheKey, CacheValue, CallerId, Cause, Event, Evidence, Fences, Freshness, Join, LoadContext, Loaded, Origin, Outcome};
use crate::sync::rule_off;
use std::borrow::Borrow;

impl<K: CacheKey, V: CacheValue> ExistenceGate<K, V> {
    /// Asks memory alone: Absent is proven, Possible is anything else.
    ///
    /// Never waits and never allocates (but for a tuple key of more than 128 bytes, to hash it). Under
    /// [`Coverage::Advisory`](super::Coverage::Advisory) it never says Absent; it is [`lookup`](Self::lookup) that finds out.
    pub fn check<Q>(&self, key: &Q) -> Verdict
    where
        K: Borrow<Q>,
        Q: Key + ?Sized,
    {
        let verdict = self.inner.core.check(self.inner.core.hasher.hash(key));
        if verdict.is_absent() {
            self.inner.core.record(Event::Lookup(Outcome::AbsentFilter));
        }
        verdict
    }

    /// [`check`](Self::check) for each key, in order. Faster per key, because the keys' cache misses overlap where the filter kind makes them. For
    /// `String` keys it takes `["a", "b"]`, `&strings` and the like.
    #[must_use]
    pub fn check_batch<'k, Q>(&self, keys: impl IntoIterator<Item = &'k Q>) -> Vec<Verdict>
    where
        K: Borrow<Q>,
        Q: Key + ?Sized + 'k,
    {
        let hashes: Vec<KeyHash> = keys.into_iter().map(|key| self.inner.core.hasher.hash(key)).collect();
        let verdicts = self.inner.core.check_batch(&hashes);
        for _ in verdicts.iter().filter(|verdict| verdict.is_absent()) {
            self.inner.core.record(Event::Lookup(Outcome::AbsentFilter));
        }
        verdicts
    }

    /// Finds out whether `key` exists: by the filter where that is a proof, otherwise by the loader.
    ///
    /// * *Same key at once?* The loader decides; [`NegativeCache`](crate::NegativeCache) reads the source once and shares it where that is safe.
    /// * *Loader panics?* The panic reaches this caller.
    /// * *Loader hangs?* `Unknown(Timeout)`.
    /// * *No async runtime?* Works on any executor, and inside a plain `block_on`.
    ///
    /// # Cancellation
    ///
    /// May be dropped at any await. Other callers of the same key go on.
    pub async fn lookup<Q>(&self, key: &Q) -> Lookup<V>
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + Sync + ?Sized,
    {
        self.find(key, CallerId::ANONYMOUS, Freshness::Any).await
    }

    /// [`lookup`](Self::lookup) on behalf of `caller`, whose share of the suspect lane it is then taken from.
    pub async fn lookup_for<Q>(&self, caller: CallerId, key: &Q) -> Lookup<V>
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + Sync + ?Sized,
    {
        self.find(key, caller, Freshness::Any).await
    }

    /// Reads the source: no filter, no memory, and no read that began before this call. What a loader answers from memory all the same is refused.
    /// For decisions that a mistake of this service's operators must not spoil either: deletion, reconciliation, the first page after a sign-up.
    pub async fn lookup_fresh<Q>(&self, key: &Q) -> Lookup<V>
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + Sync + ?Sized,
    {
        self.find(key, CallerId::ANONYMOUS, Freshness::Fresh).await
    }

    async fn find<Q>(&self, key: &Q, caller: CallerId, freshness: Freshness) -> Lookup<V>
    where
        K: Borrow<Q>,
        Q: Key + ToOwned<Owned = K> + Sync + ?Sized,
    {
        let core = &self.inner.core;
        let hash = core.hasher.hash(key);
        let verdict = core.check(hash);
        let reason = match (verdict, freshness) {
            (Verdict::Absent(proof), Freshness::Any) => {
                core.record(Event::Lookup(Outcome::AbsentFilter));
                return Lookup::Absent(proof);
            }
            (Verdict::Absent(_), Freshness::Fresh) => None,
            (Verdict::Possible(reason), _) => Some(reason),
        };
        let found = self.load(&key.to_owned(), hash, reason, caller, freshness).await;
        core.record(Event::Lookup(match &found {
            Ok((_, Origin::Source | Origin::Replica)) => Outcome::PresentSource,
            Ok((_, Origin::Memory)) => Outcome::PresentCache,
            Err(Lookup::Absent(Proof::Tombstone { .. })) => Outcome::AbsentTombstone,
            Err(Lookup::Absent(_)) => Outcome::AbsentSource,
            Err(Lookup::Unknown(cause)) if cause.is_shed() => Outcome::UnknownShed,
            Err(_) => Outcome::UnknownFailed,
        }));
        found.map_or_else(|other| other, |(value, _)| Lookup::Present(value))
    }

    /// Asks the loader, and checks what it says. `reason`: why the filter did not decide; None where it did and a fresh read was asked for.
    async fn load(&self, key: &K, hash: KeyHash, reason: Option<Reason>, caller: CallerId, freshness: Freshness) -> Result<(V, Origin), Lookup<V>> {
        let inner = &*self.inner;
        let hinted = matches!(reason, Some(Reason::Hint | Reason::Distrusted | Reason::LockLost));
        // Lookups that the filter would rather rule out, but may not, are what a flood consists of: they have a budget of their own. Those that ask
        // past the filter do not belong to it.
        let suspect = hinted && freshness == Freshness::Any;
        let began = inner.core.state.load().current.as_ref().map(|generation| generation.id);
        let fence = inner.core.capture(hash);
        let attempts = async {
            // Twice: a loader whose evidence is refused is asked once more, for a fresh read.
            for freshness in [freshness, Freshness::Fresh] {
                let context = LoadContext { freshness, caller, lane: suspect.then_some(&inner.suspects), ..self.context(hash) };
                let whole = if inner.loader.admits_its_own_reads() { None } else { Some(context.admit()) };
                let _permit = whole.transpose().map_err(Lookup::Unknown)?;
                match inner.loader.load_boxed(key, &context).await.map_err(Lookup::Unknown)? {
                    // A remembered row does not answer a call that asked for none.
                    Loaded::Present { origin: Origin::Memory, .. } if freshness == Freshness::Fresh => context.record(Event::EvidenceRefused),
                    Loaded::Present { value, origin } => return Ok((value, origin)),
                    Loaded::Absent(evidence) => match self.weigh(hash, evidence, freshness) {
                        Some(proof) => return Err(Lookup::Absent(proof)),
                        None => context.record(Event::EvidenceRefused),
                    },
                }
            }
            Err(Lookup::Unknown(Cause::Unproven))
        };
        let limit = inner.settings.lookup_timeout;
        let found = inner.core.clock.timeout(limit, attempts).await.unwrap_or(Err(Lookup::Unknown(Cause::Timeout { limit })));
        match &found {
            Ok((_, Origin::Source)) => self.confirmed(key, hash, began, fence, hinted),
            // Says nothing of the filter: the row may be gone from the primary, and from the filter with it.
            Ok((_, Origin::Replica)) if hinted => inner.core.claim(hash),
            Err(Lookup::Absent(Proof::Source)) if reason == Some(Reason::Maybe) => inner.core.record(Event::FilterFalsePositive),
            _ => {}
        }
        found
    }

    /// What a loader's evidence proves, if anything.
    fn weigh(&self, hash: KeyHash, evidence: Evidence, freshness: Freshness) -> Option<Proof> {
        let core = &self.inner.core;
        if freshness == Freshness::Fresh && evidence != Evidence::Read {
            return None; // Older than the call, which was not asked for.
        }
        match evidence {
            // Began after this lookup did: whatever had been acknowledged by then was there to be seen.
            Evidence::Read => Some(Proof::Source),
            Evidence::Shared { token } => {
                let valid = core.still_valid(hash, token) && core.join(token) == Join::Revalidate;
                (valid || rule_off!(JoinWithoutRevalidation)).then_some(Proof::Source)
            }
            Evidence::Remembered { token, read_began } => {
                let age = core.clock.now().since(read_began);
                let young = core.tombstone_age_limit().is_none_or(|limit| age <= limit);
                (young && core.tombstones_allowed() && core.still_valid(hash, token)).then_some(Proof::Tombstone { age })
            }
        }
    }

    /// The source has the row. Was the filter right about it?
    fn confirmed(&self, key: &K, hash: KeyHash, began: Option<u64>, fence: crate::fence::Token, hinted: bool) {
        let core = &self.inner.core;
        self.inner.canaries.offer(key, core.clock.now());
        if hinted {
            // Created unannounced: from here on the filter knows it.
            core.claim(hash);
        } else if core.check(hash).is_absent() {
            // The filter proves absent what the source has. If one and the same generation served all along and no write of the key came between,
            // then the key was not in it though it existed: somebody creates keys behind the gate's back.
            let same = core.state.load().current.as_ref().map(|generation| generation.id) == began && core.still_valid(hash, fence);
            if same && core.check(hash).is_absent() {
                core.wrong_absence();
                core.claim(hash);
            }
        }
    }

    /// True while the filter covers every announced key: under exclusive coverage its "no" is then an absence.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.inner.core.trust() == Trust::Trusted
    }
}
