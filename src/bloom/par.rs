//! Many keys into a filter from many threads at once, without a line that two of them write.
//!
//! ```text
//! keys ──hash──▶ each thread lays places aside by region ──a region's share is full──▶ its lock ──▶ its lines
//!                region 0 │ region 1 │ … │ region R−1
//! ```
//!
//! A *region* is a stretch of lines, some for each thread. Threads hash keys as they come, and keep the places of a region together until there are
//! enough to be worth its lock; whoever holds that is alone with the region's lines. Bits are only ever set, and an "or" does not mind the order: the
//! filter is bit for bit the one that a single thread would have made. Places wait in little memory, not all of them at once.
//!
//! One region after another, so that its lines stay in the cache, was the idea of this layout (fastfilter_cpp does so) and is not what makes it fast:
//! on one thread it was slower, at every size of region from 32 KiB to 8 MiB, than to insert in the order of the keys with lines asked for ahead.

use super::BlockedBloom;
use super::shape::Shape;
use crate::bits::Line;
use crate::kernel::Place;
use crate::key::{Key, KeyHash};
use crate::sync::{Mutex, lock};
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelExtend, ParallelIterator};

/// Regions for each thread, so that two rarely want the same.
const REGIONS_A_THREAD: usize = 8;

/// Places of a region that a thread keeps at most: 32 KiB of them, or less where there are so many regions that a thread's would exceed [`ASIDE`].
const ROOM: usize = 2048;

/// Places that a thread keeps at most: 4 MiB of them.
const ASIDE: usize = 1 << 18;

/// Adds keys, owned or borrowed, on all cores of the rayon pool that it runs in: the same bits as [`Extend`] sets. Needs the feature `rayon`, and
/// `rayon::iter::ParallelExtend` in scope.
///
/// Where the iterator or a [`Key`] of yours panics, some of the keys are in the filter and some are not.
impl<K: Key + Send> ParallelExtend<K> for BlockedBloom {
    fn par_extend<I: IntoParallelIterator<Item = K>>(&mut self, keys: I) {
        let hasher = *self.hasher();
        self.par_extend_hashes(keys.into_par_iter().map(|key| hasher.hash(&key)));
    }
}

impl<H> BlockedBloom<H> {
    /// Adds hashes as [`ParallelExtend`] adds keys. Needs the feature `rayon`.
    pub fn par_extend_hashes(&mut self, hashes: impl IntoParallelIterator<Item = KeyHash>) {
        let (shape, lines) = self.parts_mut();
        let regions = Regions::new(shape, lines, rayon::current_num_threads());
        // Not one for each thread but one for each that is at work: a lease goes back when a stretch of the iterator has ended.
        let idle = Mutex::new(Vec::new());
        hashes.into_par_iter().for_each_init(|| Lease::take(&idle, &regions), |lease, hash| lease.add(hash));
        let left: Vec<Aside> = std::mem::take(&mut *lock(&idle));
        regions.lines.par_iter().enumerate().for_each(|(region, _)| {
            left.iter().for_each(|aside| regions.write(region, aside.of(region, regions.room)));
        });
    }
}

/// The lines of a filter in stretches of a power of two, each behind a lock.
struct Regions<'a> {
    shape: &'a Shape,
    count: usize,
    shift: u32,
    /// Places of a region that a thread keeps.
    room: usize,
    lines: Vec<Mutex<&'a mut [Line]>>,
}

impl<'a> Regions<'a> {
    fn new(shape: &'a Shape, lines: &'a mut [Line], threads: usize) -> Self {
        let count = lines.len();
        let shift = (count / (threads * REGIONS_A_THREAD)).max(1).ilog2();
        let lines: Vec<_> = lines.chunks_mut(1 << shift).map(Mutex::new).collect();
        Self { shape, count, shift, room: (ASIDE / lines.len()).clamp(64, ROOM), lines }
    }

    fn write(&self, region: usize, places: &[Place]) {
        let mut lines = lock(&self.lines[region]);
        self.shape.kernel.set_places(&mut lines, region << self.shift, places, self.shape.layout);
    }
}

/// What a thread has laid aside, by region: one array with [`room`](Regions::room) places for each.
struct Aside {
    places: Vec<Place>,
    taken: Vec<usize>,
}

impl Aside {
    fn new(regions: &Regions<'_>) -> Self {
        Self { places: vec![Place::default(); regions.lines.len() * regions.room], taken: vec![0; regions.lines.len()] }
    }

    fn of(&self, region: usize, room: usize) -> &[Place] {
        &self.places[region * room..][..self.taken[region]]
    }

    #[inline(always)]
    fn add(&mut self, place: Place, regions: &Regions<'_>) {
        let region = place.line >> regions.shift;
        let taken = &mut self.taken[region];
        self.places[region * regions.room + *taken] = place;
        *taken += 1;
        if *taken == regions.room {
            regions.write(region, self.of(region, regions.room));
            self.taken[region] = 0;
        }
    }
}

/// Hashes that a thread takes before it sorts them by region, in a loop without anything else in it.
const CHUNK: usize = 512;

/// The use of an [`Aside`] by one thread.
struct Lease<'a> {
    hashes: [KeyHash; CHUNK],
    count: usize,
    /// There until the lease ends.
    aside: Option<Aside>,
    idle: &'a Mutex<Vec<Aside>>,
    regions: &'a Regions<'a>,
}

impl<'a> Lease<'a> {
    fn take(idle: &'a Mutex<Vec<Aside>>, regions: &'a Regions<'a>) -> Self {
        let used = lock(idle).pop();
        let aside = Some(used.unwrap_or_else(|| Aside::new(regions)));
        Self { hashes: [KeyHash::from_parts(0, 0); CHUNK], count: 0, aside, idle, regions }
    }

    #[inline(always)]
    fn add(&mut self, hash: KeyHash) {
        self.hashes[self.count] = hash;
        self.count += 1;
        if self.count == CHUNK {
            self.sort();
        }
    }

    #[inline(never)]
    fn sort(&mut self) {
        let Some(aside) = &mut self.aside else { return };
        let Regions { shape, count, .. } = *self.regions;
        for &hash in &self.hashes[..self.count] {
            // Not the iterator over both: 12 ns a key on one thread in place of 18.
            aside.add(shape.layout.first(count, hash), self.regions);
            if let Some(second) = shape.layout.second(count, hash) {
                aside.add(second, self.regions);
            }
        }
        self.count = 0;
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.sort();
        if let Some(aside) = self.aside.take() {
            lock(self.idle).push(aside);
        }
    }
}
