//! [`Core`]: the protocol. Fences, pending keys and the state, and the few steps that change them, in the order that the proof needs.
//!
//! **Create** (R1): register the key as pending, raise its fence, load the state that it sets bits in, set them in the current and any building
//! generation; then the caller may COMMIT. **Rebuild** (R8): publish the building generation, copy the pending keys into it, scan, swap.
//!
//! Why no key is lost. Take a create that loaded a state without the generation that a later lookup meets. Then that generation was published after
//! the load, so after the key was registered. Publishing comes before the copy; the copy locks each shard of the pending set. Either the key was
//! still there: it was copied. Or it had been retired: its create had settled, after its COMMIT, before the scan began, and the scan saw the row.
//! Registering *after* loading the state would break the first half, copying after the scan the second.
//!
//! Equivalent orders, which no test can tell apart: settling lowers the fence before or after it retires the pending key (a token needs the fence, a
//! rebuild needs the set, nobody needs both); the current generation's bits are set before or after the building one's (no lookup may conclude
//! anything before the COMMIT that follows both); the fence is raised before or after the bits are set (likewise).

use super::coverage::Coverage;
use super::generation::{Building, Generation, State, Trust};
use super::verdict::{Proof, Reason, Verdict};
use crate::fence::{Pending, Stripes, Token};
use crate::filter::{InsertShared, Membership};
use crate::key::{KeyHash, KeyHasher};
use crate::loader::{Event, Observer};
use crate::params::ParamError;
use crate::sync::{AtomicU64, Ordering, Swap, point, rule_off};
use crate::time::{Clock, Timestamp};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Core {
    /// Random: tokens of other gates, whose entries a shared store may hold, are none of this one's.
    pub(super) id: u64,
    pub(crate) hasher: KeyHasher,
    pub(crate) coverage: Coverage,
    pub(crate) clock: Clock,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) state: Swap<State>,
    pub(super) stripes: Stripes,
    pub(crate) pending: Pending,
    generations: AtomicU64,
    /// Before this moment a predecessor's COMMIT may still land.
    pub(super) ready_at: Timestamp,
    /// For how long after its settlement a rebuild's scan may miss a key.
    pub(crate) scan_lag: Duration,
    /// Above this estimated rate of false positives a generation is no longer asked.
    fpr_limit: f64,
}

/// The fence and the epoch as an announced create found them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    epoch: u64,
    /// As our raise left it, or later.
    seq: u64,
}

/// What [`Core`] is made of.
pub(crate) struct CoreConfig {
    pub(crate) id: u64,
    pub(crate) hasher: KeyHasher,
    pub(crate) coverage: Coverage,
    pub(crate) clock: Clock,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) stripes: usize,
    pub(crate) pending_shards: usize,
    pub(crate) max_transaction: Duration,
    pub(crate) scan_lag: Duration,
    pub(crate) fpr_limit: f64,
}

impl Core {
    pub(crate) fn new(config: CoreConfig) -> Result<Self, ParamError> {
        let waits = matches!(&config.coverage, Coverage::Exclusive(lock) if lock.has_predecessor());
        let now = config.clock.now();
        Ok(Self {
            id: config.id,
            hasher: config.hasher,
            coverage: config.coverage,
            observer: config.observer,
            state: Swap::new(State::loading(!waits, if waits { now.plus(config.max_transaction).plus(config.scan_lag) } else { now })),
            stripes: Stripes::new(config.stripes)?,
            pending: Pending::new(config.pending_shards),
            generations: AtomicU64::new(1),
            ready_at: if waits { now.plus(config.max_transaction) } else { now },
            clock: config.clock,
            scan_lag: config.scan_lag,
            fpr_limit: config.fpr_limit,
        })
    }

    pub(crate) fn record(&self, event: Event) {
        if let Some(observer) = &self.observer {
            observer.record(&event);
        }
    }

    // ---- create -------------------------------------------------------------------------------------------------------------------------------

    /// R1. When it returns, the caller may COMMIT.
    pub(crate) fn begin(&self, hash: KeyHash) -> Begun {
        let epoch = self.state.load().epoch;
        let late = rule_off!(PendingAfterBits);
        if !late && !rule_off!(BeginWithoutPending) {
            self.pending.register(hash);
        }
        point("begin: registered");
        let seq = self.raise(hash);
        point("begin: fence raised");
        self.claim(hash);
        point("begin: bits set");
        if late {
            self.pending.register(hash);
        }
        Begun { epoch, seq }
    }

    /// Sets the key's bits wherever a lookup may look, now or after the next swap.
    pub(crate) fn claim(&self, hash: KeyHash) {
        let state = self.state.load();
        point("begin: state loaded");
        if let (Some(current), false) = (&state.current, rule_off!(BeginWithoutCurrentBits)) {
            // Once in a while, because it costs a pass over the filter: has it become useless?
            if current.insert(hash).is_multiple_of(4096) {
                self.judge(current);
            }
        }
        point("begin: current bits set");
        if let (Some(building), false) = (&state.building, rule_off!(BeginWithoutBuildingBits)) {
            building.insert(hash);
        }
    }

    /// Switches a generation off whose false positives make asking it a waste.
    pub(crate) fn judge(&self, generation: &Generation) {
        if generation.estimated_fpr() > self.fpr_limit && generation.switch_off() {
            self.record(Event::SwitchedOff);
        }
    }

    /// The create is over, one way or the other, and the caller knows which.
    pub(crate) fn settle(&self, hash: KeyHash) {
        self.lower(hash);
        point("settle: fence lowered");
        self.retire_pending(hash);
    }

    fn retire_pending(&self, hash: KeyHash) {
        let now = self.clock.now();
        let until = (!self.scan_lag.is_zero()).then(|| now.plus(self.scan_lag));
        self.pending.retire(hash, now, until);
    }

    /// Settles, and returns a token for the value that was committed, if no other write of its stripe, and no distrust that has ended, began since.
    pub(crate) fn settle_alone(&self, hash: KeyHash, began: Begun) -> Option<Token> {
        let seq = if rule_off!(BeginWithoutFence) { None } else { self.stripes.settle_alone(hash, began.seq) };
        point("settle: fence lowered");
        self.retire_pending(hash);
        let undoubted = self.state.load().guards == 0;
        seq.map(|seq| Token::new(self.id, began.epoch, seq, undoubted))
    }

    /// Announces a write that is not a create. Its key is pending as well, which costs a false positive if a rebuild comes between, and keeps the set
    /// of pending keys what [`unstick`](Self::unstick) takes it for: everybody who has a fence up.
    pub(crate) fn begin_write(&self, hash: KeyHash) {
        self.pending.register(hash);
        self.raise(hash);
    }

    fn raise(&self, hash: KeyHash) -> u64 {
        if !rule_off!(BeginWithoutFence) {
            self.stripes.raise(hash);
        }
        self.stripes.read(hash).seq
    }

    fn lower(&self, hash: KeyHash) {
        if !rule_off!(BeginWithoutFence) {
            self.stripes.settle(hash);
        }
    }

    /// Frees stripes whose pending count was lost to saturation, where nobody is pending in them.
    pub(crate) fn unstick(&self) {
        let stuck = self.stripes.stuck();
        if !stuck.is_empty() {
            self.pending.frozen(|registered| {
                let taken: std::collections::HashSet<usize> = registered.iter().map(|hash| self.stripes.index(*hash)).collect();
                stuck.into_iter().filter(|index| !taken.contains(index)).for_each(|index| self.stripes.unstick(index));
            });
        }
    }

    pub(crate) fn fence_bytes(&self) -> u64 {
        self.stripes.memory_bytes()
    }

    // ---- check --------------------------------------------------------------------------------------------------------------------------------

    /// The filter's answer, and what it is worth.
    #[inline]
    pub(crate) fn check(&self, hash: KeyHash) -> Verdict {
        let state = self.state.load();
        let Some(generation) = &state.current else { return Verdict::Possible(Reason::Loading) };
        if generation.is_switched_off() {
            return Verdict::Possible(Reason::SwitchedOff);
        }
        if generation.contains(hash) {
            return Verdict::Possible(Reason::Maybe);
        }
        self.ruled_out(&state, generation)
    }

    pub(crate) fn check_batch(&self, hashes: &[KeyHash]) -> Vec<Verdict> {
        let state = self.state.load();
        let Some(generation) = &state.current else { return vec![Verdict::Possible(Reason::Loading); hashes.len()] };
        if generation.is_switched_off() {
            return vec![Verdict::Possible(Reason::SwitchedOff); hashes.len()];
        }
        // The same state, so the same answer, for every key that is ruled out; but the lock is asked after the filter was.
        let claimed = generation.contains_batch(hashes);
        let ruled_out = self.ruled_out(&state, generation);
        claimed.iter().by_vals().map(|claimed| if claimed { Verdict::Possible(Reason::Maybe) } else { ruled_out }).collect()
    }

    /// The filter of this state says no. Is that an absence?
    fn ruled_out(&self, state: &State, generation: &Generation) -> Verdict {
        match (state.trust, &self.coverage) {
            (Trust::Trusted, Coverage::Exclusive(lock)) => {
                if lock.is_held() {
                    return Verdict::Absent(Proof::Filter { epoch: state.epoch, generation: generation.id });
                }
                self.lose_lock();
                Verdict::Possible(Reason::LockLost)
            }
            (Trust::Trusted, Coverage::Advisory { .. }) => Verdict::Possible(Reason::Hint),
            (Trust::LockLost, _) => Verdict::Possible(Reason::LockLost),
            (Trust::Loading | Trust::Distrusted | Trust::WrongAbsence, _) => Verdict::Possible(Reason::Distrusted),
        }
    }

    // ---- rebuild ------------------------------------------------------------------------------------------------------------------------------

    /// R8, step one: from here on creates set their bits in the building generation too.
    pub(crate) fn publish(&self, delta: &Arc<dyn InsertShared>) -> Arc<Building> {
        // ORDERING: Relaxed: only uniqueness is asked of it.
        let id = self.generations.fetch_add(1, Ordering::Relaxed);
        let (_, after) = self.state.update(|state| {
            // No epoch is 0: a scan that begins too early to see all that was written unannounced will not restore trust.
            let epoch = if self.clock.now() >= state.seen_from { state.epoch } else { 0 };
            let building = Arc::new(Building::new(id, Arc::clone(delta), epoch));
            State { building: Some(building), ..state.copy() }
        });
        point("rebuild: published");
        // There is one rebuild at a time, so what was published is what stands there.
        after.building.clone().expect("just published")
    }

    /// R8, step two: keys whose creates began before the publication.
    pub(crate) fn copy_pending(&self, building: &Building) {
        if !rule_off!(RebuildWithoutCopy) {
            self.pending.each(self.clock.now(), |hash| building.insert(hash));
        }
        point("rebuild: pending copied");
    }

    /// Takes a building generation back, if it is still the published one.
    pub(crate) fn unpublish(&self, id: u64) {
        let _ = self.state.update(|state| {
            let building = state.building.clone().filter(|building| building.id != id);
            State { building, ..state.copy() }
        });
    }

    /// R8, last step: the building generation becomes the current one. Whether it is trusted is decided in the same step. Returns the generation that
    /// it replaced, and whether it is trusted.
    pub(crate) fn swap(&self, building: &Building, base: &Arc<dyn Membership>, rows: u64) -> (Option<Arc<Generation>>, bool) {
        point("swap: before");
        let generation = Arc::new(Generation::new(building, Arc::clone(base), rows, self.clock.now()));
        self.judge(&generation);
        let (before, after) = self.state.update(|state| {
            let clean = (state.guards == 0 || rule_off!(OneShotDistrust)) && state.epoch == building.epoch;
            let trust = match state.trust {
                Trust::LockLost => Trust::LockLost,
                _ if clean => Trust::Trusted,
                Trust::Loading | Trust::Trusted => Trust::Distrusted,
                doubt => doubt,
            };
            // A wrong absence ends here, and with it the time in which somebody created unannounced: what was read meanwhile proves nothing, so the
            // tokens it was read under must not outlive it.
            let epoch = state.epoch + u64::from(state.trust == Trust::WrongAbsence && trust == Trust::Trusted);
            State { current: Some(Arc::clone(&generation)), building: None, trust, epoch, ..state.copy() }
        });
        self.count_epoch(&before, &after);
        point("swap: after");
        (before.current.clone(), after.trust == Trust::Trusted)
    }
}
