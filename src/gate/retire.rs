//! When a filter may forget a deleted key (R9): the rule, and why.
//!
//! A base that can remove holds one copy for each row that its scan pushed. Copies have no names: whoever takes one out that is not his takes another
//! key's, which is then denied. So [`Core::retire`] takes a copy of k only where base certainly holds one for k, and no row of k that relies on it:
//!
//! 1. **The delete was confirmed, and of the last row** ([`Removed::LastRow`]). So k had a row r up to this COMMIT, and has none after it.
//! 2. **The generation is the one that served before the COMMIT** ([`Doomed`], captured before). Its scan was over before r went, so r was there to
//!    be seen, if it existed by then.
//! 3. **It has been trustworthy since its build began**: every create since then was announced.
//! 4. **Nobody else writes under the fence**, before or since.
//! 5. **The delta does not claim k.** A create of k that the scan did not see has set k's bits in it (R1, R8), before its COMMIT. So r was not
//!    created after the scan, the scan pushed it, and base took a copy for it, because a single failed insert fails the build.
//!
//! Nobody has taken that copy before: each retirement answers to a COMMIT that deleted the last row of k while the generation served; between two of
//! those lies the COMMIT of a create of k, after the scan, and then (5) refuses the second. Whoever creates k from here on sets its bits in the delta
//! before his COMMIT, so k is claimed whatever base says. Equal fingerprints of two keys do not matter: each takes one copy, and copies are alike.
//!
//! What another does between the checks and the removal changes none of this: a swap makes the generation one that nobody asks any more, a create
//! sets bits in a delta, a doubt that begins now is about keys that are written from now on.
//!
//! Equivalent, so no test can tell: without (4) the rest still holds, since an announced create is in the delta before it can commit; it is a second
//! line. That the generation was trusted *when captured* follows from its being trusted now, in the epoch of its build: every end of a doubt moves
//! the epoch. Taking the copy from the captured generation after all, though another serves, would harm nobody and help nobody.
//!
//! docs/internals has each condition's counter-example.

use super::core::Core;
use super::coverage::Coverage;
use super::generation::Trust;
use crate::key::KeyHash;
use crate::loader::{Event, Kept, Retired};
use crate::sync::{point, rule_off};

/// What a confirmed DELETE did, by the caller's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removed {
    /// This transaction deleted a row of the key, and no row of the key is left. **Said wrongly, it makes the filter deny another key.**
    LastRow,
    /// It deleted nothing (somebody else was faster), or rows of the key remain, or you do not know. Never wrong to say.
    Other,
}

impl Removed {
    /// For a table in which a key has at most one row: the number of rows that the DELETE affected. 1 is the last row, anything else is not.
    ///
    /// A soft delete is one too, if the scan of the rebuild skips such rows and the statement matches only rows that it does not skip.
    #[must_use]
    pub const fn of_unique(affected_rows: u64) -> Self {
        if affected_rows == 1 { Self::LastRow } else { Self::Other }
    }
}

/// What served, and who wrote, when a delete was announced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doomed {
    /// Generations have numbers of their own, so one with the same number is the same. Not the generation itself, which a delete that takes long
    /// would keep in memory.
    generation: Option<u64>,
    /// The fence, where ours was the only write under it.
    alone: Option<u64>,
}

impl Core {
    /// After the fence of the delete was raised, and before its COMMIT.
    pub(super) fn doom(&self, hash: KeyHash) -> Doomed {
        let word = self.stripes.read(hash);
        point("delete: fence read");
        let generation = self.state.load().current.as_ref().map(|generation| generation.id);
        Doomed { generation, alone: (word.pending == 1).then_some(word.seq) }
    }

    /// After the COMMIT of the delete, and before its fence is lowered: takes one copy of the key out of the filter, if it is certainly the key's
    /// own.
    pub(super) fn retire(&self, hash: KeyHash, doomed: Doomed, removed: Removed) -> Retired {
        let retired = match self.take_copy(hash, doomed, removed) {
            Ok(()) => Retired::Removed,
            Err(kept) => Retired::Kept(kept),
        };
        self.record(Event::Retired(retired));
        if retired == Retired::Kept(Kept::NotThere) {
            // By the argument above a copy was there. The row was, and until now the filter denied it.
            self.wrong_absence();
        }
        retired
    }

    fn take_copy(&self, hash: KeyHash, doomed: Doomed, removed: Removed) -> Result<(), Kept> {
        let keep = |unless: bool, why: Kept| if unless { Ok(()) } else { Err(why) };
        keep(removed == Removed::LastRow || rule_off!(RetireNotLast), Kept::NotLastRow)?;
        keep(matches!(self.coverage, Coverage::Exclusive(_)) || rule_off!(RetireAdvisory), Kept::NotExclusive)?;
        // A close look: whoever has the lock now may have created the key. A lost one shows as a lost trust.
        self.verify_exclusivity();
        point("retire: begun");
        let state = self.state.load();
        let generation = state.current.as_deref().ok_or(Kept::NoRemover)?;
        let remover = generation.remover().ok_or(Kept::NoRemover)?;
        keep(doomed.generation == Some(generation.id) || rule_off!(RetireReloads), Kept::GenerationChanged)?;
        let trustworthy = state.trust == Trust::Trusted && state.guards == 0 && state.epoch == generation.epoch;
        keep(trustworthy || rule_off!(RetireUntrusted), Kept::NotTrusted)?;
        point("retire: trusted");
        let word = self.stripes.read(hash);
        keep((word.pending == 1 && doomed.alone == Some(word.seq)) || rule_off!(RetireOtherWrite), Kept::OtherWrite)?;
        point("retire: alone");
        keep(!generation.was_created(hash) || rule_off!(RetireDeltaIgnored), Kept::InDelta)?;
        point("retire: allowed");
        let taken = remover.remove_hash_shared(hash);
        point("retire: done");
        keep(taken, Kept::NotThere)
    }
}
