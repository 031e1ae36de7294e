//! [`RotatingBloom`]: the filter for one writer. Lines of planes, which of them are live (`slots.rs`), and a pass that clears those that are not.

use super::slots::{STEP, Slots, Sweep};
use super::{RotatingBuilder, occupancy::Occupancy, shape::Shape, timer::Timer};
use crate::bits::Line;
use crate::filter::{CombineError, batch};
use crate::kernel::Kernel;
use crate::key::{Key, KeyHash, KeyHasher};
use crate::params::ParamError;
use bitvec::vec::BitVec;
use std::fmt;
use std::time::Duration;

/// The keys of the last G windows of time: `contains` is false only for keys that were not inserted in the last G − 1 whole windows.
///
/// Precisely: a key that was inserted while window w was the current one is found as long as the current window is at most w + G − 1, and from w + G
/// on no more, but for false positives. For other keys `contains` is true at a rate that was chosen beforehand **for all windows together**, for as
/// many keys in each window as the capacity.
///
/// Windows are begun by [`rotate`](Self::rotate), or by a clock: [`every`](RotatingBloom::every). With a clock, a question in an idle filter is
/// answered by the time of the question; windows that nobody noticed have passed all the same.
///
/// A question costs one hash and one cache line, or two lines whose misses overlap, whatever the number of windows; with a clock also a look at it.
/// Memory for G = 8 is 18.2 bits for each key of each window at 1 %, 27.5 at 1e-3, in two lines a key: [`plan`](super::plan) tells.
///
/// ```
/// use absentia::{ParamError, RotatingBloom};
///
/// let mut seen = RotatingBloom::new(3, 10_000, 0.001)?;
/// assert!(seen.insert("nonce-17"));
/// seen.rotate();
/// seen.rotate();
/// assert_eq!(seen.age("nonce-17"), Some(2)); // two whole windows ago
/// seen.rotate();
/// assert!(!seen.contains("nonce-17"));
/// # Ok::<(), ParamError>(())
/// ```
///
/// # Limitations
///
/// What is forgotten is forgotten: where "never seen" must be certain, as behind an existence gate, this is no filter. So it implements none of the
/// traits in [`filter`](crate::filter), whose `false` means "not in it", where nothing leaves that is not removed. A window that holds more than its
/// capacity raises the rate until it is forgotten; [`is_saturated`](Self::is_saturated) tells. Nothing can be removed singly. A rotation clears what
/// the inserts have left to clear, and so after a window of few inserts passes over the whole table.
#[derive(Clone)]
pub struct RotatingBloom<H = KeyHasher> {
    shape: Shape,
    lines: Vec<Line>,
    /// The number of the current window.
    window: u64,
    slots: Slots,
    /// The live planes of `slots`.
    live: u32,
    /// Planes into which something was inserted since a pass over them began.
    written: u32,
    sweep: Sweep,
    timer: Option<Timer>,
    hasher: H,
}

impl RotatingBloom {
    /// A filter of `windows` windows for `capacity` keys each, that claim a stranger at rate `p` all together; windows are begun by
    /// [`rotate`](Self::rotate).
    ///
    /// # Errors
    ///
    /// As for [`RotatingBuilder::build`].
    pub fn new(windows: u32, capacity: u64, p: f64) -> Result<Self, ParamError> {
        Self::builder().windows(windows).capacity(capacity).fpr(p).build()
    }

    /// Every other choice.
    pub fn builder() -> RotatingBuilder {
        RotatingBuilder::default()
    }

    /// A builder of a filter whose windows a clock begins, one every `duration`; [`build`](RotatingBuilder::build) finishes it.
    pub fn every(duration: Duration) -> RotatingBuilder {
        Self::builder().every(duration)
    }

    /// Adds `key` to the current window; true where it was new there, whatever older windows hold. It is remembered anew from here on.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_hash(self.hasher.hash(key))
    }

    /// `false` means that `key` was not inserted in the current window nor in the G − 1 before it.
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// How many windows ago `key` was last inserted, 0 for the current one; none where it was not. A false positive may make it look younger.
    #[inline]
    #[must_use]
    pub fn age<K: Key + ?Sized>(&self, key: &K) -> Option<u32> {
        self.age_hash(self.hasher.hash(key))
    }

    /// [`insert`](Self::insert) for every key, in order, a bit each.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> BitVec {
        batch::key_answers(self.hasher, keys, |hashes, answers| self.insert_all(hashes, answers))
    }

    /// [`contains`](Self::contains) for every key, a bit each. Its cache misses overlap.
    #[must_use]
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        let live = self.live_now();
        batch::key_answers(self.hasher, keys, |hashes, answers| self.ask(live, hashes, answers))
    }

    /// The hasher of this filter.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }
}

impl<H> RotatingBloom<H> {
    pub(super) fn with_shape(shape: Shape, memory_limit: u64, timer: Option<Timer>, hasher: H) -> Result<Self, ParamError> {
        let lines = shape.allocate(memory_limit, || Line::EMPTY)?;
        let slots = Slots::new(shape.plan.windows);
        Ok(Self { shape, lines, window: 0, slots, live: slots.live(), written: 0, sweep: Sweep::default(), timer, hasher })
    }

    /// Adds a key by its hash; see [`insert`](RotatingBloom::insert). The hash must come from a hasher of this filter's fingerprint.
    #[inline]
    pub fn insert_hash(&mut self, hash: KeyHash) -> bool {
        self.prepare(1);
        self.shape.kernel.insert_in(&mut self.lines, self.shape.layout, self.slots.head(), hash)
    }

    /// `false` means that no key of this hash was inserted in the current window nor in the G − 1 before it.
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        self.shape.kernel.claims(&self.lines, self.shape.layout, self.live_now(), hash) != 0
    }

    /// See [`age`](RotatingBloom::age).
    #[must_use]
    pub fn age_hash(&self, hash: KeyHash) -> Option<u32> {
        let slots = self.slots_now();
        slots.age_of(self.shape.kernel.claims(&self.lines, self.shape.layout, slots.live(), hash))
    }

    /// [`insert_hash`](Self::insert_hash) for every hash, in order, a bit each.
    pub fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> BitVec {
        batch::answers(hashes, |hashes, answers| self.insert_all(hashes, answers))
    }

    /// [`contains_hash`](Self::contains_hash) for every hash, a bit each.
    #[must_use]
    pub fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        batch::answers(hashes, |hashes, answers| self.ask(self.live_now(), hashes, answers))
    }

    /// Adds hashes as [`Extend`] adds keys.
    pub fn extend_hashes(&mut self, hashes: impl IntoIterator<Item = KeyHash>) {
        batch::in_chunks(hashes, |hashes, answers| self.insert_all(hashes, answers));
    }

    fn insert_all(&mut self, hashes: &[KeyHash], answers: &mut [usize]) {
        if hashes.is_empty() {
            return;
        }
        self.prepare(hashes.len());
        self.shape.kernel.insert_batch_in(&mut self.lines, self.shape.layout, self.slots.head(), hashes, answers);
    }

    fn ask(&self, live: u32, hashes: &[KeyHash], answers: &mut [usize]) {
        self.shape.kernel.claims_batch(&self.lines, self.shape.layout, live, hashes, answers);
    }

    /// Begins a new window; what was inserted only in the oldest one is forgotten. In a filter with a clock the next
    /// window begins early, and the clock begins none until it has caught up with what was begun by hand.
    ///
    /// Cost: a few instructions where nothing was inserted since the last rotation, or where the plane of the new window is clean. It is once a
    /// quarter as many keys were inserted as there are lines; else this call clears the lines that are left, at most all of them once. Windows
    /// without inserts take no plane, so that rotations in an idle filter cost nothing.
    pub fn rotate(&mut self) {
        self.keep_time();
        self.advance(1);
    }

    /// The windows that have passed by the clock but not in the slots.
    fn missed(&self) -> u64 {
        self.timer.as_ref().map_or(0, |timer| timer.window().saturating_sub(self.window))
    }

    #[inline]
    fn slots_now(&self) -> Slots {
        self.slots.aged_if(self.missed())
    }

    /// The clock's part is a call, so that without a clock a question saves no registers for it.
    #[inline]
    fn live_now(&self) -> u32 {
        if self.timer.is_none() { self.live } else { self.live_by_clock() }
    }

    #[inline(never)]
    fn live_by_clock(&self) -> u32 {
        self.slots_now().live()
    }

    #[inline(never)]
    fn keep_time(&mut self) {
        self.advance(self.missed());
    }

    /// Before `inserts` inserts: the window is that of the clock, some lines are cleared, and the plane counts as written.
    #[inline]
    fn prepare(&mut self, inserts: usize) {
        if self.timer.is_some() {
            self.keep_time();
        }
        if self.sweep.planes | self.written & !self.live != 0 {
            self.sweep_lines(inserts.saturating_mul(STEP));
        }
        self.written |= 1 << self.slots.head();
    }

    /// So many windows pass. At most one pass over the table, whatever the number.
    pub(super) fn advance(&mut self, by: u64) {
        if by == 0 {
            return;
        }
        let aged = self.slots.aged(by);
        self.slots = if self.written >> self.slots.head() & 1 == 0 {
            aged.kept()
        } else {
            // It is dead already now, before this rotation, so that a pass takes it.
            let next = 1 << self.slots.next();
            while (self.written | self.sweep.planes) & next != 0 {
                self.sweep_lines(usize::MAX);
            }
            aged.begun()
        };
        self.live = self.slots.live();
        self.window = self.window.saturating_add(by);
    }

    /// Goes on with the pass over the lines, or begins one, for so many lines.
    #[inline(never)]
    fn sweep_lines(&mut self, lines: usize) {
        if self.sweep.planes == 0 {
            let planes = self.written & self.slots.dead();
            if planes == 0 {
                return;
            }
            self.written &= !planes;
            self.sweep = Sweep { planes, keep: !self.shape.layout.spread(planes), next: 0 };
        }
        let Sweep { keep, next, .. } = self.sweep;
        let end = next.saturating_add(lines).min(self.lines.len());
        for line in &mut self.lines[next..end] {
            line.0.iter_mut().for_each(|word| *word &= keep);
        }
        self.sweep.next = end;
        if end == self.lines.len() {
            self.sweep = Sweep::default();
        }
    }

    /// Forgets every key. Parameters, hasher, memory and the number of the window stay.
    pub fn clear(&mut self) {
        self.lines.fill(Line::EMPTY);
        self.slots = Slots::new(self.shape.plan.windows);
        self.live = self.slots.live();
        self.written = 0;
        self.sweep = Sweep::default();
    }

    /// How many windows are remembered, the current one among them: G.
    #[must_use]
    pub fn windows(&self) -> u32 {
        self.shape.plan.windows
    }

    /// The number of the current window, from 0: how many have passed, those included that only the clock knows of.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window.saturating_add(self.missed())
    }

    /// How long a window is, where a clock begins them. What [`every`](RotatingBuilder::every) was told beyond 584 years is cut to that.
    #[must_use]
    pub fn window_duration(&self) -> Option<Duration> {
        self.timer.as_ref().map(Timer::every)
    }

    /// How many distinct keys **each window** was sized for.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.shape.capacity
    }

    /// Bits of filter memory, the spare plane among them.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.shape.bits()
    }

    /// Bytes of filter memory: an eighth of [`bits`](Self::bits).
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.shape.memory_bytes()
    }

    /// Bits for each key of each window; a capacity of 0 counts as 1.
    #[must_use]
    pub fn bits_per_key(&self) -> f64 {
        self.shape.bits_per_key()
    }

    /// Bit positions a key, in all its lines together.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.shape.plan.k
    }

    /// Lines of 512 bits.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.shape.plan.lines
    }

    /// In how many lines a key has its bits, 1 or 2.
    #[must_use]
    pub fn lines_per_key(&self) -> u32 {
        self.shape.plan.lines_per_key
    }

    /// The share of the positions of all G windows that are set; 0 for those that have passed or not come. Costs a pass over the filter, as do all
    /// estimates.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        self.occupancy().fill_ratio(self.windows())
    }

    /// About how many distinct keys were inserted in each window, summed over the windows: a key that came in three counts three times.
    #[must_use]
    pub fn estimated_len(&self) -> u64 {
        self.occupancy().len()
    }

    /// About how many distinct keys were inserted in the window of this age, 0 being the current one.
    #[must_use]
    pub fn estimated_len_of(&self, age: u32) -> u64 {
        self.occupancy().len_of(age)
    }

    /// The false-positive rate of the present contents, all windows together, from what is set: 1 − Π (1 − r) over the windows' rates r. An upper
    /// bound where windows hold the same keys.
    #[must_use]
    pub fn estimated_fpr(&self) -> f64 {
        self.occupancy().fpr()
    }

    /// A bound on the rate of all windows together, each with as many keys as the capacity; see [`plan`](super::plan).
    #[must_use]
    pub fn predicted_fpr(&self) -> f64 {
        self.shape.plan.predicted_fpr
    }

    /// Whether [`estimated_fpr`](Self::estimated_fpr) is above twice the rate asked for, or above the middle between that and 1 where this is less.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.shape.is_saturated(self.estimated_fpr())
    }

    /// Which inner loops serve this filter on this machine.
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.shape.kernel
    }

    /// Its name: `portable`, `avx2`, `avx512` or `neon`; the loops of the last are the portable ones here.
    #[must_use]
    pub fn kernel_name(&self) -> &'static str {
        self.shape.kernel.name()
    }

    /// Adds every key of `other`, each to its window: from here on this filter is the one into which both filters' keys were inserted when they were.
    ///
    /// **Size every shard for the keys of all of them**, and rotate them together. Costs a pass over both, at some instructions a window and word.
    ///
    /// # Errors
    ///
    /// [`CombineError`], and nothing changed, where hasher or secret, windows, size, positions, lines a key or the number of the current window
    /// differ, or where either follows a clock.
    pub fn union_with<G>(&mut self, other: &RotatingBloom<G>) -> Result<(), CombineError> {
        self.shape.combines_with(&other.shape)?;
        if self.timer.is_some() || other.timer.is_some() {
            return Err(CombineError::Clocked);
        }
        if self.window != other.window {
            return Err(CombineError::Window { ours: self.window, theirs: other.window });
        }
        let united = self.slots.united(other.slots);
        let ones = self.shape.layout.spread(1);
        let moves: Vec<_> = united.ages().filter_map(|age| Some((self.slots.of_age(age), other.slots.of_age(age), united.of_age(age)?))).collect();
        for (ours, theirs) in self.lines.iter_mut().zip(&other.lines) {
            for (ours, &theirs) in ours.0.iter_mut().zip(&theirs.0) {
                let of = |word: u64, plane: Option<u32>| plane.map_or(0, |plane| word >> plane & ones);
                *ours = moves.iter().fold(0, |word, &(our, their, to)| word | (of(*ours, our) | of(theirs, their)) << to);
            }
        }
        self.slots = united;
        self.live = united.live();
        // Dead planes are clean now. Of a live one it does no harm to believe that it was written.
        self.written = self.live;
        self.sweep = Sweep::default();
        Ok(())
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy::of(self.shape.layout, self.slots_now(), &self.lines)
    }
}

/// Equal where parameters, hasher fingerprint, the number of the window and the keys' bits in every window are. Not the clock, nor what is left to
/// clear.
impl<H> PartialEq for RotatingBloom<H> {
    fn eq(&self, other: &Self) -> bool {
        let ones = self.shape.layout.spread(1);
        let same_words = |ours: &u64, theirs: &u64| {
            (0..self.windows()).all(|age| {
                let of = |word: u64, slots: Slots| slots.of_age(age).map_or(0, |plane| word >> plane & ones);
                of(*ours, self.slots) == of(*theirs, other.slots)
            })
        };
        self.shape == other.shape
            && self.window == other.window
            && self.lines.iter().zip(&other.lines).all(|(ours, theirs)| ours.0.iter().zip(&theirs.0).all(|(ours, theirs)| same_words(ours, theirs)))
    }
}

/// Shows kind, windows, bits, k, fill and kernel, which costs a pass over the filter; never the bits themselves or the secret.
impl<H> fmt::Debug for RotatingBloom<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.debug(f, "RotatingBloom", self.window(), &self.occupancy())
    }
}

/// Adds keys to the current window, owned or borrowed.
impl<K: Key> Extend<K> for RotatingBloom {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        let hasher = self.hasher;
        self.extend_hashes(keys.into_iter().map(|key| hasher.hash(&key)));
    }
}

#[cfg(all(test, not(absentia_loom)))]
impl<H> RotatingBloom<H> {
    /// Whether a pass is under way or due.
    pub(super) fn has_to_sweep(&self) -> bool {
        self.sweep.planes | self.written & !self.live != 0
    }
}
