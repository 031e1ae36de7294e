//! [`AtomicRotatingBloom`]: the filter for many writers at whose windows pass while they write.
//!
//! Besides the bits, three words are shared. `slots` says which planes are live, in which order, and carries the low 27 bits of the number of the
//! current window (`slots.rs`): its store is what begins a window. `window` is that number in full, and stored just before. `written` marks planes
//! that hold bits. Windows pass, and planes are cleared, only under the lock around [`Sweep`]; questions and inserts never wait for it, but for an
//! insert that finds by the clock that a window is due.
//!
//! ```text
//! insert                                         rotate, under the lock
//! 1  load slots, then window: plane p            a  clear p', the next plane, as far as it is not clean
//! 2  set the bits in p                           b  store window, then slots: p' is the head, the oldest window's plane is dead
//! 3  mark p as written                           c  a fence
//! 4  a fence                                     later, under the lock: clear planes that are dead
//! 5  load slots and window again: as in 1?
//!    if not, begin again
//! ```
//!
//! **What is promised.** When an insert has returned, there was a moment during the call at which all bits of the key were set in the plane of the
//! window that was then the current one, call it w; and the key is found until w + G is published. So only a rotation that comes *after* the last bit
//! of the key counts against it, and it takes G of those: G − 1 whole windows lie between them.
//!
//! **Why the bits were in the plane of a current window.** Step 5 found what step 1 had. A rotation between the two loads of `slots` would have
//! changed its number, and 2^27 of them `window` as well. (By the clock, one rotation may skip a multiple of 2^27 windows and leave `slots` as it
//! was. Then the plane was kept, and the key is the younger for it.) By the two fences (4 and c) either step 5 sees a rotation, or the bits of step 2
//! are before everything that comes after that rotation's c. So, had the window moved before the bits were all set, the insert would have begun
//! again.
//!
//! **Why no clearing eats them.** A plane is cleared (1) before it becomes the head: that happened before the store of `slots` in b, which step 1
//! acquired, so before step 2; and (2) when it is dead again, after the store of w + G at the earliest. All clearing is under the lock, so that
//! nobody who was put to sleep in the middle of it can go on later.
//!
//! **An insert that slept.** Between steps 1 and 2, G windows and more may pass: the bits then land in a plane that is dead, or being cleared, or
//! another window's by now. The insert finds that the window moved and begins again, so its key is not lost. What it left behind is bits of this one
//! key, in a plane of a later window at worst: that is a false positive there, for a key that is in the current window anyway, and may outlive it by
//! the age of that plane. No bit is ever taken away by it. It comes before the mark, so that a plane with such bits does not pass for clean once the
//! call is over.
//!
//! **A known key writes nothing.** Where all its bits are there, step 2 is a look. An acquire fence stands in place of 4: whoever cleared or set any
//! of the words that were seen, in a later life of the plane, published the move of the window before it, and released that with the word or by c.
//!
//! **Why a question needs one load**, and with a clock a second, of `window`. `slots` is acquired, so that a plane is seen as clean as it was when it
//! became the head. Planes that die during the question may be seen half cleared, and then w + G has been published.

use super::slots::{STEP, Slots, Sweep};
use super::{RotatingBuilder, occupancy::Occupancy, shape::Shape, timer::Timer};
use crate::bits::{AtomicLine, insert_once};
use crate::filter::batch;
use crate::kernel::Kernel;
use crate::key::{Key, KeyHash, KeyHasher};
use crate::params::ParamError;
use crate::sync::{AtomicU64, Mutex, Ordering, fence, lock, try_lock};
use bitvec::vec::BitVec;
use std::fmt;
use std::time::Duration;

/// The keys of the last G windows, inserted by many threads while others ask and windows pass.
///
/// When `insert` has returned, `contains` is true until G − 1 whole windows have passed. Everything that [`RotatingBloom`](super::RotatingBloom) says
/// of rate, memory and clocks holds here. Questions take no lock and write nothing; inserts take none, but for the one that finds by the clock that a
/// window is due, and the few that find the lock free when there is something to clear.
///
/// ```
/// use absentia::{AtomicRotatingBloom, ParamError};
///
/// let seen = AtomicRotatingBloom::new(3, 10_000, 0.001)?;
/// std::thread::scope(|s| {
///     s.spawn(|| seen.insert("nonce-17"));
///     s.spawn(|| seen.rotate());
/// });
/// assert!(seen.contains("nonce-17"));
/// # Ok::<(), ParamError>(())
/// ```
///
/// # Limitations
///
/// Those of the plain filter. Estimates read the words one by one while others insert. A thread that is put to sleep inside an insert for G windows
/// may leave its own key in a later window's plane, where it is then found for longer than G windows. There is no `Clone`, no `PartialEq` and no
/// union, which would promise a copy of one moment.
pub struct AtomicRotatingBloom<H = KeyHasher> {
    shape: Shape,
    lines: Vec<AtomicLine>,
    slots: AtomicU64,
    window: AtomicU64,
    /// A bit for each plane into which something was inserted since a pass over it began.
    written: AtomicU64,
    /// 0 while inserts need not look for something to clear.
    due: AtomicU64,
    sweep: Mutex<Sweep>,
    timer: Option<Timer>,
    hasher: H,
}

impl AtomicRotatingBloom {
    /// As [`RotatingBloom::new`](super::RotatingBloom::new).
    ///
    /// # Errors
    ///
    /// As for [`RotatingBuilder::build`].
    pub fn new(windows: u32, capacity: u64, p: f64) -> Result<Self, ParamError> {
        Self::builder().windows(windows).capacity(capacity).fpr(p).build_atomic()
    }

    /// Every other choice; [`build_atomic`](RotatingBuilder::build_atomic) finishes it.
    pub fn builder() -> RotatingBuilder {
        RotatingBuilder::default()
    }

    /// A builder of a filter whose windows a clock begins, one every `duration`; [`build_atomic`](RotatingBuilder::build_atomic) finishes it.
    pub fn every(duration: Duration) -> RotatingBuilder {
        Self::builder().every(duration)
    }

    /// Adds `key` to the current window; true where it was new there, for at most one of the callers that add it to that window at once.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.insert_hash(self.hasher.hash(key))
    }

    /// `false` means that no insertion of `key` had returned in the current window nor in the G − 1 before it.
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// How many windows ago `key` was last inserted, 0 for the current one; see [`RotatingBloom::age`](super::RotatingBloom::age).
    #[inline]
    #[must_use]
    pub fn age<K: Key + ?Sized>(&self, key: &K) -> Option<u32> {
        self.age_hash(self.hasher.hash(key))
    }

    /// [`insert`](Self::insert) for every key, a bit each.
    pub fn insert_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        batch::key_answers(self.hasher, keys, |hashes, answers| self.insert_all(hashes, answers))
    }

    /// [`contains`](Self::contains) for every key, a bit each.
    #[must_use]
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> BitVec {
        batch::key_answers(self.hasher, keys, |hashes, answers| self.ask(hashes, answers))
    }

    /// The hasher of this filter.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }
}

impl<H> AtomicRotatingBloom<H> {
    pub(super) fn with_shape(shape: Shape, memory_limit: u64, timer: Option<Timer>, hasher: H) -> Result<Self, ParamError> {
        let lines = shape.allocate(memory_limit, AtomicLine::empty)?;
        let slots = AtomicU64::new(Slots::new(shape.plan.windows).packed(0));
        let [window, written, due] = [(); 3].map(|()| AtomicU64::new(0));
        Ok(Self { shape, lines, slots, window, written, due, sweep: Mutex::new(Sweep::default()), timer, hasher })
    }

    /// Adds a key by its hash; see [`insert`](AtomicRotatingBloom::insert). The hash must come from a hasher of this filter's fingerprint.
    #[inline]
    pub fn insert_hash(&self, hash: KeyHash) -> bool {
        self.keep_time();
        self.insert_seen(hash).0
    }

    /// An insert; and the window that was current when its last bit was set.
    #[inline]
    pub(super) fn insert_seen(&self, hash: KeyHash) -> (bool, u64) {
        let mut seen = self.current();
        let mut new = self.set(hash, self.unpacked(seen.0).head());
        while !self.is_current(seen) {
            let before = std::mem::replace(&mut seen, self.current());
            let again = self.set(hash, self.unpacked(seen.0).head());
            new = again || new && self.is_kept(before, seen);
        }
        self.help(1);
        (new, Slots::number(seen.0, seen.1))
    }

    /// Whether the window of `now` has the plane that the window of `before` had, uncleared. Then what was new to it is so still, though it is found
    /// there.
    fn is_kept(&self, before: (u64, u64), now: (u64, u64)) -> bool {
        // A plane comes round no sooner than after as many windows as there are planes.
        self.unpacked(before.0).head() == self.unpacked(now.0).head()
            && Slots::number(now.0, now.1) - Slots::number(before.0, before.1) <= u64::from(self.windows())
    }

    /// Steps 2 to 4 of an insert.
    #[inline]
    fn set(&self, hash: KeyHash, plane: u32) -> bool {
        let Shape { layout, kernel, .. } = self.shape;
        if kernel.claims(&self.lines, layout, 1 << plane, hash) != 0 {
            self.mark(plane);
            // ORDERING: Acquire; see "a known key writes nothing" at the head.
            fence(Ordering::Acquire);
            return false;
        }
        let places = layout.lines().places(self.lines.len(), hash);
        let new = insert_once(places.map(|place| (&self.lines[place.line], layout.mask(place.second, plane))));
        self.mark(plane);
        // ORDERING: SeqCst, with the fence in `advance`: either the loads that follow see that the window moved, or the bits are before what comes
        // after that fence.
        fence(Ordering::SeqCst);
        new
    }

    /// Step 1: the slots as one word, and the number of their window or a later one.
    #[inline]
    fn current(&self) -> (u64, u64) {
        // ORDERING: Acquire pairs with the Release in `advance`: the head's plane is seen as clean as it was then, and the number is not older.
        let slots = self.slots.load(Ordering::Acquire);
        // ORDERING: Relaxed; see above.
        (slots, self.window.load(Ordering::Relaxed))
    }

    /// Step 5. A fence comes before it.
    #[inline]
    fn is_current(&self, seen: (u64, u64)) -> bool {
        self.current() == seen
    }

    #[inline]
    fn unpacked(&self, slots: u64) -> Slots {
        Slots::unpacked(slots, self.shape.plan.windows)
    }

    /// A plane holds bits. Read first, so that inserts do not fight for the word.
    #[inline]
    fn mark(&self, plane: u32) {
        // ORDERING: Relaxed. A mark of the plane's life before was taken away before the plane became the head, which the caller acquired. Who
        // rotates after this insert returned sees the mark by coherence; who rotates at once and does not keeps the plane for the next window, and
        // the key in it.
        if self.written.load(Ordering::Relaxed) >> plane & 1 == 0 {
            // ORDERING: Relaxed, as above.
            self.written.fetch_or(1 << plane, Ordering::Relaxed);
        }
    }

    /// `false` means that no insertion of this hash had returned in the current window nor in the G − 1 before it.
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        self.shape.kernel.claims(&self.lines, self.shape.layout, self.live_now(), hash) != 0
    }

    /// See [`age`](AtomicRotatingBloom::age).
    #[must_use]
    pub fn age_hash(&self, hash: KeyHash) -> Option<u32> {
        let slots = self.slots_now();
        slots.age_of(self.shape.kernel.claims(&self.lines, self.shape.layout, slots.live(), hash))
    }

    /// [`insert_hash`](Self::insert_hash) for every hash, a bit each.
    pub fn insert_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        batch::answers(hashes, |hashes, answers| self.insert_all(hashes, answers))
    }

    /// [`contains_hash`](Self::contains_hash) for every hash, a bit each.
    #[must_use]
    pub fn contains_hash_batch(&self, hashes: &[KeyHash]) -> BitVec {
        batch::answers(hashes, |hashes, answers| self.ask(hashes, answers))
    }

    fn ask(&self, hashes: &[KeyHash], answers: &mut [usize]) {
        self.shape.kernel.claims_batch(&self.lines, self.shape.layout, self.slots_now().live(), hashes, answers);
    }

    /// Asks first, which overlaps the cache misses; what is in the current window already needs no insert.
    fn insert_all(&self, hashes: &[KeyHash], answers: &mut [usize]) {
        self.keep_time();
        let seen = self.current();
        let plane = self.unpacked(seen.0).head();
        self.shape.kernel.claims_batch(&self.lines, self.shape.layout, 1 << plane, hashes, answers);
        // ORDERING: Acquire, as in `set` for a known key.
        fence(Ordering::Acquire);
        let valid = self.is_current(seen);
        for (hashes, answer) in hashes.chunks(usize::BITS as usize).zip(answers) {
            let known = if valid { *answer } else { 0 };
            let insert = |(bit, &hash): (usize, &KeyHash)| usize::from(known >> bit & 1 == 0 && self.insert_hash(hash)) << bit;
            *answer = hashes.iter().enumerate().map(insert).sum();
        }
    }

    /// Begins a new window; see [`RotatingBloom::rotate`](super::RotatingBloom::rotate). Waits for another rotation that is under way.
    pub fn rotate(&self) {
        self.keep_time();
        self.advance(&mut lock(&self.sweep), 1);
    }

    /// Brings the window up to the clock. **Waits for the lock where a window is due**: a key that went into the window before would be forgotten too
    /// early.
    #[inline]
    fn keep_time(&self) {
        if self.timer.is_some() {
            self.pass_to_clock();
        }
    }

    #[inline(never)]
    fn pass_to_clock(&self) {
        if let Some(timer) = &self.timer {
            self.pass_to(timer.window());
        }
    }

    pub(super) fn pass_to(&self, window: u64) {
        let (slots, latest) = self.current();
        // The number of the slots: that in `window` may be of a rotation that has not happened yet.
        if window > Slots::number(slots, latest) {
            let mut sweep = lock(&self.sweep);
            // ORDERING: Relaxed: written under the lock only.
            let by = window.saturating_sub(self.window.load(Ordering::Relaxed));
            self.advance(&mut sweep, by);
        }
    }

    /// The clock's part is a call, so that without a clock a question saves no registers for it.
    #[inline]
    fn live_now(&self) -> u32 {
        // ORDERING: Acquire, as in `current`.
        if self.timer.is_none() { self.unpacked(self.slots.load(Ordering::Acquire)).live() } else { self.live_by_clock() }
    }

    #[inline(never)]
    fn live_by_clock(&self) -> u32 {
        self.slots_now().live()
    }

    /// The slots as of now by the clock.
    fn slots_now(&self) -> Slots {
        match &self.timer {
            // ORDERING: Acquire, as in `current`.
            None => self.unpacked(self.slots.load(Ordering::Acquire)),
            Some(timer) => {
                let (slots, latest) = self.current();
                self.unpacked(slots).aged_if(timer.window().saturating_sub(Slots::number(slots, latest)))
            }
        }
    }

    /// So many windows pass. The caller holds the lock.
    fn advance(&self, sweep: &mut Sweep, by: u64) {
        if by == 0 {
            return;
        }
        // ORDERING: Relaxed: slots and window are written under the lock only.
        let (slots, window) = (self.unpacked(self.slots.load(Ordering::Relaxed)), self.window.load(Ordering::Relaxed).saturating_add(by));
        let aged = slots.aged(by);
        // ORDERING: Relaxed, see `mark`.
        let new = if self.written.load(Ordering::Relaxed) >> slots.head() & 1 == 0 {
            aged.kept()
        } else {
            let next = 1u32 << slots.next();
            // Once, and again for each insert that slept and marks that plane meanwhile. ORDERING: Relaxed, see `mark`.
            while (self.written.load(Ordering::Relaxed) as u32 | sweep.planes) & next != 0 {
                self.sweep_lines(sweep, slots, usize::MAX);
            }
            aged.begun()
        };
        // ORDERING: Relaxed; who acquires the slots sees it.
        self.window.store(window, Ordering::Relaxed);
        // ORDERING: Release, see `current`.
        self.slots.store(new.packed(window), Ordering::Release);
        // ORDERING: SeqCst, with the fence of an insert, and as a Release for its acquire fence: it comes before every later clearing.
        fence(Ordering::SeqCst);
        // ORDERING: Relaxed, a hint.
        self.due.store(1, Ordering::Relaxed);
    }

    /// After so many inserts: clears some lines where there is something to clear and the lock is free.
    #[inline]
    fn help(&self, inserts: usize) {
        // ORDERING: Relaxed, a hint.
        if self.due.load(Ordering::Relaxed) != 0
            && let Some(mut sweep) = try_lock(&self.sweep)
        {
            // ORDERING: Relaxed: written under the lock only.
            let slots = self.unpacked(self.slots.load(Ordering::Relaxed));
            self.sweep_lines(&mut sweep, slots, inserts.saturating_mul(STEP));
        }
    }

    /// Goes on with the pass over the lines, or begins one, for so many lines. The caller holds the lock.
    #[inline(never)]
    fn sweep_lines(&self, sweep: &mut Sweep, slots: Slots, lines: usize) {
        if sweep.planes == 0 {
            // ORDERING: Relaxed, see `mark`.
            let planes = self.written.load(Ordering::Relaxed) as u32 & slots.dead();
            if planes == 0 {
                // ORDERING: Relaxed, a hint.
                self.due.store(0, Ordering::Relaxed);
                return;
            }
            // Before the clearing: a mark that comes later makes another pass. ORDERING: Relaxed, see `mark`.
            self.written.fetch_and(!u64::from(planes), Ordering::Relaxed);
            *sweep = Sweep { planes, keep: !self.shape.layout.spread(planes), next: 0 };
        }
        let end = sweep.next.saturating_add(lines).min(self.lines.len());
        for word in self.lines[sweep.next..end].iter().flat_map(|line| &line.0) {
            // ORDERING: Relaxed. What inserts into the plane's next life set comes after this, by the Release of the slots; bits of other planes are
            // kept by the read-modify-write.
            if word.load(Ordering::Relaxed) & !sweep.keep != 0 {
                // ORDERING: Relaxed, as above.
                word.fetch_and(sweep.keep, Ordering::Relaxed);
            }
        }
        sweep.next = end;
        if end == self.lines.len() {
            *sweep = Sweep::default();
        }
    }

    /// Forgets every key. Parameters, hasher, memory and the number of the window stay.
    pub fn clear(&mut self) {
        self.lines.fill_with(AtomicLine::empty);
        let (slots, latest) = self.current();
        self.slots = AtomicU64::new(Slots::new(self.windows()).packed(Slots::number(slots, latest)));
        self.written = AtomicU64::new(0);
        self.due = AtomicU64::new(0);
        *lock(&self.sweep) = Sweep::default();
    }

    /// How many windows are remembered, the current one among them: G.
    #[must_use]
    pub fn windows(&self) -> u32 {
        self.shape.plan.windows
    }

    /// The number of the current window, from 0; see [`RotatingBloom::window`](super::RotatingBloom::window).
    #[must_use]
    pub fn window(&self) -> u64 {
        let (slots, latest) = self.current();
        let window = Slots::number(slots, latest);
        self.timer.as_ref().map_or(window, |timer| window.max(timer.window()))
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

    /// See [`RotatingBloom::fill_ratio`](super::RotatingBloom::fill_ratio).
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        self.occupancy().fill_ratio(self.windows())
    }

    /// See [`RotatingBloom::estimated_len`](super::RotatingBloom::estimated_len).
    #[must_use]
    pub fn estimated_len(&self) -> u64 {
        self.occupancy().len()
    }

    /// See [`RotatingBloom::estimated_len_of`](super::RotatingBloom::estimated_len_of).
    #[must_use]
    pub fn estimated_len_of(&self, age: u32) -> u64 {
        self.occupancy().len_of(age)
    }

    /// See [`RotatingBloom::estimated_fpr`](super::RotatingBloom::estimated_fpr).
    #[must_use]
    pub fn estimated_fpr(&self) -> f64 {
        self.occupancy().fpr()
    }

    /// See [`RotatingBloom::predicted_fpr`](super::RotatingBloom::predicted_fpr).
    #[must_use]
    pub fn predicted_fpr(&self) -> f64 {
        self.shape.plan.predicted_fpr
    }

    /// See [`RotatingBloom::is_saturated`](super::RotatingBloom::is_saturated).
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.shape.is_saturated(self.estimated_fpr())
    }

    /// Which inner loops serve this filter on this machine.
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.shape.kernel
    }

    /// Its name; see [`RotatingBloom::kernel_name`](super::RotatingBloom::kernel_name).
    #[must_use]
    pub fn kernel_name(&self) -> &'static str {
        self.shape.kernel.name()
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy::of(self.shape.layout, self.slots_now(), &self.lines)
    }
}

/// Shows kind, windows, bits, k, fill and kernel, which costs a pass over the filter; never the bits themselves or the secret.
impl<H> fmt::Debug for AtomicRotatingBloom<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.debug(f, "AtomicRotatingBloom", self.window(), &self.occupancy())
    }
}

/// Adds keys, owned or borrowed.
impl<K: Key> Extend<K> for AtomicRotatingBloom {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        (&*self).extend(keys);
    }
}

/// Adds keys while others do: `(&filter).extend(keys)`.
impl<K: Key> Extend<K> for &AtomicRotatingBloom {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        batch::in_chunks(keys.into_iter().map(|key| self.hasher.hash(&key)), |hashes, answers| self.insert_all(hashes, answers));
    }
}

#[cfg(all(test, absentia_loom))]
impl<H> AtomicRotatingBloom<H> {
    /// The wrong scheme that the models must refuse: what was set is not held against the window again.
    pub(super) fn insert_unchecked(&self, hash: KeyHash) -> (bool, u64) {
        let seen = self.current();
        (self.set(hash, self.unpacked(seen.0).head()), Slots::number(seen.0, seen.1))
    }

    /// Whether any plane has all bits of `hash`, dead ones among them.
    pub(super) fn anywhere(&self, hash: KeyHash) -> bool {
        self.shape.kernel.claims(&self.lines, self.shape.layout, u32::MAX >> (31 - self.windows()), hash) != 0
    }
}
