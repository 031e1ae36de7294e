//! The only door to atomics, locks and the state cell (`OnceLock`, which is written once, needs none).
//!
//! Everything that more than one thread can see goes through the names in this file, so that a model checker can be put behind it: with
//! `--cfg absentia_loom` they become loom's. It also holds the two hooks that tests use to cut a protocol in half: [`point`], a place where a
//! simulated scheduler may run somebody else, and `rule_off!`, a rule that a test can switch off to see the simulation fail without it. Outside
//! this crate's own unit tests both compile to nothing.

#[cfg(all(feature = "gate", not(absentia_loom)))]
pub(crate) use std::sync::atomic::AtomicBool;
#[cfg(not(absentia_loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(absentia_loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(all(feature = "gate", absentia_loom))]
pub(crate) use loom::sync::atomic::AtomicBool;
#[cfg(absentia_loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(absentia_loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};

#[cfg(feature = "gate")]
pub(crate) use gate::Swap;
use std::sync::TryLockError;

/// Locks, and goes on after a poisoning: what a panicking `Clone` or `Eq` of a user's key leaves behind is a structure that is still consistent,
/// because every critical section here changes its structure in one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// `lock`, where nobody else holds it.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(feature = "gate")]
mod gate {
    #[cfg(absentia_loom)]
    use super::{Mutex, lock};
    use std::sync::Arc;

    /// A shared value that readers load without waiting and writers replace as a whole.
    ///
    /// A load that happens after a replacement sees it, or a later one; the protocol's proofs use nothing else. Outside loom it is an `ArcSwap`.
    /// Loom cannot see inside that crate, so under loom it is a lock around an `Arc`, which is stronger; what is modelled is our order of steps.
    #[cfg(not(absentia_loom))]
    pub(crate) struct Swap<T>(arc_swap::ArcSwap<T>);

    #[cfg(not(absentia_loom))]
    impl<T> Swap<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(arc_swap::ArcSwap::from_pointee(value))
        }

        pub(crate) fn load(&self) -> arc_swap::Guard<Arc<T>> {
            self.0.load()
        }

        /// Replaces the value by read-copy-update and returns the pair (before, after). `change` may run more than once, and must not have effects.
        pub(crate) fn update(&self, mut change: impl FnMut(&T) -> T) -> (Arc<T>, Arc<T>) {
            let mut after = None;
            let before = self.0.rcu(|old| {
                let new = Arc::new(change(old));
                after = Some(Arc::clone(&new));
                new
            });
            (before, after.expect("rcu calls its closure at least once"))
        }
    }

    #[cfg(absentia_loom)]
    pub(crate) struct Swap<T>(Mutex<Arc<T>>);

    #[cfg(absentia_loom)]
    impl<T> Swap<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(Mutex::new(Arc::new(value)))
        }

        pub(crate) fn load(&self) -> Arc<T> {
            Arc::clone(&lock(&self.0))
        }

        pub(crate) fn update(&self, mut change: impl FnMut(&T) -> T) -> (Arc<T>, Arc<T>) {
            let mut cell = lock(&self.0);
            let after = Arc::new(change(&cell));
            (std::mem::replace(&mut *cell, Arc::clone(&after)), after)
        }
    }
}

#[cfg(not(all(test, feature = "gate")))]
#[cfg_attr(not(feature = "gate"), allow(dead_code))]
#[inline(always)]
pub(crate) fn point(_name: &'static str) {}

#[cfg(all(test, feature = "gate"))]
pub(crate) use hooks::{Mutant, mutant, point};

/// True where a test has switched the named rule off. Always false outside unit tests.
#[cfg(all(feature = "gate", not(test)))]
macro_rules! mutant {
    ($name:ident) => {
        false
    };
}
#[cfg(all(feature = "gate", test))]
macro_rules! mutant {
    ($name:ident) => {
        crate::sync::mutant(crate::sync::Mutant::$name)
    };
}
#[cfg(feature = "gate")]
pub(crate) use mutant as rule_off;

#[cfg(all(test, feature = "gate"))]
mod hooks {
    use std::cell::{Cell, RefCell};

    /// A rule of the protocol that a test can switch off, to prove that the simulation notices.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(crate) enum Mutant {
        /// R1 (i): the key is not registered as pending.
        BeginWithoutPending,
        /// R1 (ii): the fence is not raised.
        BeginWithoutFence,
        /// R1 (iii): the bits are not set in the current generation.
        BeginWithoutCurrentBits,
        /// R1 (iii): the bits are not set in the building generation.
        BeginWithoutBuildingBits,
        /// R1: pending is registered after the bits are set.
        PendingAfterBits,
        /// R2: a token is not compared before an absence is stored or served.
        TokenNotCompared,
        /// R2: a token captured, or compared, while a create is pending counts as usable.
        PendingIgnored,
        /// R3: a joiner takes the leader's absence without revalidating it.
        JoinWithoutRevalidation,
        /// Advisory: joiners revalidate a running flight instead of taking the next one.
        AdvisoryRevalidates,
        /// R8: the pending keys are not copied into the building generation.
        RebuildWithoutCopy,
        /// R8: the pending keys are copied after the scan.
        CopyAfterScan,
        /// Distrust ends by itself: a rebuild published while a guard lives restores trust.
        OneShotDistrust,
        /// An error from the create is taken for a rollback.
        ErrTakenAsAborted,
        /// R3, the other half: a flight is joined although its leader's token has died.
        JoinWithoutLook,
        /// A predecessor's last COMMIT becomes impossible without a new epoch.
        ReadyInOldEpoch,
        /// A scan restores trust although it may lag behind what was written unannounced.
        LagForgotten,
        /// Retire: a delete whose outcome is unknown is taken for one of the last row.
        RetireUnconfirmed,
        /// Retire: any delete is taken for one of the last row.
        RetireNotLast,
        /// Retire: the copy is taken from whichever generation serves after the COMMIT.
        RetireReloads,
        /// Retire: also from a generation that was not trusted all along.
        RetireUntrusted,
        /// Retire: also where others create unannounced.
        RetireAdvisory,
        /// Retire: also where the delta claims the key.
        RetireDeltaIgnored,
        /// Retire: also where another write of the fence is, or was, under way.
        RetireOtherWrite,
    }

    thread_local! {
        static MUTANTS: Cell<u32> = const { Cell::new(0) };
        static POINT: RefCell<Option<fn(&'static str)>> = const { RefCell::new(None) };
    }

    pub(crate) fn mutant(name: Mutant) -> bool {
        MUTANTS.get() & (1 << name as u32) != 0
    }

    /// Switches these rules off, and all others on.
    #[cfg(any(absentia_loom, not(target_arch = "s390x")))]
    pub(crate) fn set_mutants(names: &[Mutant]) {
        MUTANTS.set(names.iter().fold(0, |off, name| off | 1 << *name as u32));
    }

    /// Switches this rule off, and all others on.
    #[cfg(absentia_loom)]
    pub(crate) fn set_mutant(name: Option<Mutant>) {
        set_mutants(name.as_slice());
    }

    /// A place where a simulated scheduler may run another actor. Never called while a lock is held.
    pub(crate) fn point(name: &'static str) {
        let hook = POINT.with(|p| *p.borrow());
        if let Some(hook) = hook {
            hook(name);
        }
    }

    #[cfg(not(absentia_loom))]
    pub(crate) fn set_point(hook: Option<fn(&'static str)>) {
        POINT.with(|p| *p.borrow_mut() = hook);
    }
}
#[cfg(all(test, feature = "gate", absentia_loom))]
pub(crate) use hooks::set_mutant;
#[cfg(all(test, feature = "gate", not(absentia_loom)))]
pub(crate) use hooks::set_point;
// The simulation's, whose coroutines do not know that processor.
#[cfg(all(test, feature = "gate", not(absentia_loom), not(target_arch = "s390x")))]
pub(crate) use hooks::set_mutants;
