//! What [`Core`] believes: trust and distrust, the lock, the time of a predecessor; and what tokens are worth because of it.
//!
//! Every doubt and every end of one is a single read-copy-update of the state, in which trust, guards and epoch change together. So there is no
//! moment at which a token from before a doubt counts after it, and a rebuild's swap decides about trust against the very state that it replaces.

use super::core::Core;
use super::coverage::{Coverage, Exclusivity, Tombstones};
use super::generation::{State, Trust};
use crate::fence::Token;
use crate::key::KeyHash;
use crate::loader::{Event, Fences, Join};
use crate::sync::{point, rule_off};
use crate::time::Timestamp;
use std::time::Duration;

impl Core {
    pub(crate) fn lose_lock(&self) {
        if self.doubt(Trust::LockLost) {
            self.record(Event::LockLost);
        }
    }

    /// An absence was, or would have been, wrong.
    pub(crate) fn wrong_absence(&self) {
        self.record(Event::WrongAbsent);
        self.doubt(Trust::WrongAbsence);
    }

    /// True where this doubt is new.
    fn doubt(&self, trust: Trust) -> bool {
        // A new epoch kills every token at once, and keeps a rebuild that was published before the doubt from restoring trust.
        let seen_from = self.seen_from();
        let (before, after) = self.state.update(|state| match state.trust {
            // Nothing is worse, and each new epoch would void what is remembered.
            Trust::LockLost => state.copy(),
            _ => State { epoch: state.epoch + 1, trust: worse(state.trust, trust), seen_from, ..state.copy() },
        });
        self.count_epoch(&before, &after);
        before.trust != after.trust
    }

    pub(super) fn count_epoch(&self, before: &State, after: &State) {
        if before.epoch != after.epoch {
            self.record(Event::EpochChanged);
        }
    }

    pub(crate) fn begin_distrust(&self) {
        let _ = self.state.update(|state| State { guards: state.guards + 1, trust: worse(state.trust, Trust::Distrusted), ..state.copy() });
        point("distrust: begun");
    }

    pub(crate) fn end_distrust(&self) {
        // The guard's end and the new epoch are one step: there is no moment at which tokens from before the guard count again.
        let seen_from = self.seen_from();
        let _ = self.state.update(|state| State { guards: state.guards - 1, epoch: state.epoch + 1, seen_from, ..state.copy() });
        self.record(Event::EpochChanged);
    }

    /// From when on a scan is sure to see what was written unannounced until now.
    fn seen_from(&self) -> Timestamp {
        self.clock.now().plus(if rule_off!(LagForgotten) { Duration::ZERO } else { self.scan_lag })
    }

    /// How long a scan that begins now could, by its lag, still miss what was written unannounced, so that it would not restore trust.
    pub(crate) fn too_early_for(&self) -> Duration {
        let ready = self.not_ready_for();
        ready.max(self.state.load().seen_from.since(self.clock.now()))
    }

    /// What makes this process the only creator still holds, as far as can be found out by looking closely.
    pub(crate) fn verify_exclusivity(&self) -> bool {
        let held = self.exclusivity().is_none_or(Exclusivity::verify);
        if !held {
            self.lose_lock();
        }
        held
    }

    /// How far the filter may be believed now: also asks whether the lock is still held.
    pub(crate) fn trust(&self) -> Trust {
        if !self.exclusivity().is_none_or(Exclusivity::is_held) && self.state.load().trust != Trust::LockLost {
            self.lose_lock();
        }
        self.state.load().trust
    }

    fn exclusivity(&self) -> Option<&Exclusivity> {
        match &self.coverage {
            Coverage::Exclusive(lock) => Some(lock),
            Coverage::Advisory { .. } => None,
        }
    }

    /// How long a COMMIT of a predecessor may still be in flight. Zero from the moment on at which that is over for everybody: then the epoch has
    /// moved, so that no token captured before vouches for a read that such a COMMIT overtook.
    pub(crate) fn not_ready_for(&self) -> Duration {
        if self.state.load().ready {
            return Duration::ZERO;
        }
        let left = self.ready_at.since(self.clock.now());
        if left.is_zero() {
            let (before, after) = self.state.update(|state| match state.ready {
                true => state.copy(),
                false => State { ready: true, epoch: state.epoch + u64::from(!rule_off!(ReadyInOldEpoch)), ..state.copy() },
            });
            self.count_epoch(&before, &after);
        }
        left
    }

    /// Under Advisory coverage: how old a tombstone may be, if there may be any.
    pub(crate) fn tombstone_age_limit(&self) -> Option<Duration> {
        match &self.coverage {
            Coverage::Advisory { tombstones: Tombstones::Bounded(ttl) } => Some(ttl.get()),
            _ => None,
        }
    }
}

/// The graver of two doubts.
fn worse(now: Trust, new: Trust) -> Trust {
    const fn grade(trust: Trust) -> u8 {
        match trust {
            Trust::Trusted => 0,
            Trust::Loading => 1,
            Trust::Distrusted => 2,
            Trust::WrongAbsence => 3,
            Trust::LockLost => 4,
        }
    }
    // Loading stays Loading under a distrust: there is no filter to believe or not, and the guard is counted apart.
    if grade(new) > grade(now) && !(now == Trust::Loading && new == Trust::Distrusted) { new } else { now }
}

impl Fences for Core {
    fn capture(&self, hash: KeyHash) -> Token {
        let word = self.stripes.read(hash);
        let state = self.state.load();
        let usable = (word.pending == 0 || rule_off!(PendingIgnored)) && state.guards == 0;
        Token::new(self.id, state.epoch, word.seq, usable)
    }

    fn still_valid(&self, hash: KeyHash, token: Token) -> bool {
        let word = self.stripes.read(hash);
        let state = self.state.load();
        let same = (token.seq() == word.seq || rule_off!(TokenNotCompared)) && token.is_of(self.id, state.epoch);
        token.is_usable() && same && (word.pending == 0 || rule_off!(PendingIgnored)) && state.guards == 0
    }

    fn same_epoch(&self, token: Token) -> bool {
        token.is_of(self.id, self.state.load().epoch)
    }

    fn tombstones_allowed(&self) -> bool {
        match &self.coverage {
            Coverage::Advisory { tombstones } => *tombstones != Tombstones::Off,
            Coverage::Exclusive(lock) => {
                let trust = self.state.load().trust;
                // Wrong absences and lost locks mean creators that do not announce: then tombstones prove nothing. While the gate is merely loading,
                // or a distrust has ended and awaits its rebuild, every creator announces again, and they do.
                let announced = !matches!(trust, Trust::WrongAbsence | Trust::LockLost) && self.not_ready_for().is_zero();
                if announced && !lock.is_held() {
                    self.lose_lock();
                    return false;
                }
                announced
            }
        }
    }

    fn join(&self, token: Token) -> Join {
        let revalidates = match &self.coverage {
            Coverage::Exclusive(_) => self.tombstones_allowed(),
            Coverage::Advisory { .. } => rule_off!(AdvisoryRevalidates),
        };
        if revalidates && token.is_usable() { Join::Revalidate } else { Join::Next }
    }
}
