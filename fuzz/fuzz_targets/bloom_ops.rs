//! Any sequence of operations on filters of every kind, against exact sets: a key that was inserted is never denied, the plain and the shared filter
//! are the same filter, a batch says what its keys say one by one, and an error leaves everything as it was.

#![no_main]

use absentia::bloom::{ClassicBloom, CombineError, Kernel, LinesPerKey};
use absentia::{AtomicBlockedBloom, BlockedBloom, BloomBuilder, KeyHasher};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::collections::HashSet;

#[derive(Arbitrary, Debug)]
struct Plan {
    seed: u64,
    /// Small on purpose: full and over-full filters, and filters of one line, are where the mistakes would be.
    capacity: u16,
    size: Size,
    lines: Lines,
    kernel: u8,
    foldable: u8,
    operations: Vec<(bool, Operation)>,
}

/// Rates on both sides of the one where a key gets two lines, or a budget.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Size {
    Loose,
    Usual,
    Tight,
    Tightest,
    Bytes(u16),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Lines {
    Auto,
    One,
    Two,
}

impl Plan {
    fn builder(&self) -> BloomBuilder {
        let builder = BlockedBloom::builder()
            .capacity(self.capacity.into())
            .hasher(KeyHasher::xxh3(self.seed))
            .foldable(u32::from(self.foldable % 5))
            .lines_per_key(match self.lines {
                Lines::Auto => LinesPerKey::Auto,
                Lines::One => LinesPerKey::One,
                Lines::Two => LinesPerKey::Two,
            });
        match self.size {
            Size::Loose => builder.fpr(0.3),
            Size::Usual => builder.fpr(1e-2),
            Size::Tight => builder.fpr(1e-4),
            Size::Tightest => builder.fpr(1e-6),
            // Enough for two lines that fold four times.
            Size::Bytes(bytes) => builder.memory(2048 + u64::from(bytes)),
        }
    }

    fn kernel(&self) -> Kernel {
        let kernels: Vec<_> = Kernel::available().collect();
        kernels[usize::from(self.kernel) % kernels.len()]
    }
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(Name),
    InsertBatch(Vec<Name>),
    Extend(Vec<Name>),
    Ask(Name),
    AskBatch(Vec<Name>),
    Clear,
    Fold,
    Shrink,
    /// Plain becomes shared and shared plain.
    Exchange,
    Clone,
    Union,
    Intersect,
    /// Filters whose bits mean something else.
    Stranger(Stranger),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Stranger {
    Secret,
    Size,
    Lines,
}

/// A key. The short form makes the fuzzer come back to keys that it has inserted.
#[derive(Arbitrary, Clone, Debug)]
enum Name {
    Short(u8),
    Bytes(Vec<u8>),
}

fn keys(names: Vec<Name>) -> Vec<Vec<u8>> {
    names.into_iter().map(Name::into_key).collect()
}

impl Name {
    fn into_key(self) -> Vec<u8> {
        match self {
            Self::Short(byte) => vec![byte],
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// The two that must agree, one that must not deny either, and what is known to be in all three.
struct Filters {
    plain: BlockedBloom,
    shared: AtomicBlockedBloom,
    classic: ClassicBloom,
    exact: HashSet<Vec<u8>>,
}

impl Filters {
    fn new(builder: &BloomBuilder, kernel: Kernel) -> Self {
        Self {
            plain: builder.clone().build().expect("a small filter can be built"),
            shared: builder.clone().kernel(kernel).build_atomic().expect("a small filter can be built"),
            classic: builder.clone().build_classic().expect("a small filter can be built"),
            exact: HashSet::new(),
        }
    }

    fn insert(&mut self, key: Vec<u8>) {
        let known = (self.plain.contains(&key), self.classic.contains(&key));
        let new = self.plain.insert(&key);
        assert_eq!(self.shared.insert(&key), new, "plain and shared disagree on whether {key:?} is new");
        assert_eq!((!new, !self.classic.insert(&key)), known, "{key:?} is new exactly where it was denied");
        assert!(!new || !self.exact.contains(&key), "{key:?} was inserted before and is called new");
        self.exact.insert(key);
    }

    fn insert_batch(&mut self, keys: Vec<Vec<u8>>) {
        let new = self.plain.insert_batch(&keys);
        assert_eq!(self.shared.insert_batch(&keys), new, "plain and shared disagree on which of {keys:?} are new");
        let classic = self.classic.insert_batch(&keys);
        assert_eq!((new.len(), classic.len()), (keys.len(), keys.len()));
        for (index, key) in keys.into_iter().enumerate() {
            let called_new = new[index] || classic[index];
            assert!(!called_new || !self.exact.contains(&key), "{key:?} was inserted before, or earlier in the batch, and is called new");
            self.exact.insert(key);
        }
    }

    fn extend(&mut self, keys: Vec<Vec<u8>>) {
        self.plain.extend(&keys);
        (&self.shared).extend(&keys);
        self.classic.extend(&keys);
        self.exact.extend(keys);
    }

    fn ask(&self, key: &Vec<u8>) -> [bool; 2] {
        let answers = [self.plain.contains(key), self.classic.contains(key)];
        assert_eq!(self.shared.contains(key), answers[0], "plain and shared disagree on {key:?}");
        assert!(answers == [true; 2] || !self.exact.contains(key), "{key:?} was inserted and is denied");
        answers
    }

    fn ask_batch(&self, keys: &[Vec<u8>]) {
        let (plain, shared, classic) = (self.plain.contains_batch(keys), self.shared.contains_batch(keys), self.classic.contains_batch(keys));
        assert_eq!([plain.len(), classic.len()], [keys.len(); 2]);
        assert_eq!(plain, shared, "plain and shared disagree in a batch");
        for (index, key) in keys.iter().enumerate() {
            assert_eq!([plain[index], classic[index]], self.ask(key), "a batch answers unlike its keys");
        }
    }

    fn ask_all(&self) {
        let inserted: Vec<_> = self.exact.iter().cloned().collect();
        self.ask_batch(&inserted);
    }

    fn clear(&mut self) {
        self.plain.clear();
        self.shared.clear();
        self.classic.clear();
        for key in self.exact.drain() {
            assert!(!self.plain.contains(&key) && !self.shared.contains(&key) && !self.classic.contains(&key), "{key:?} is there after a clear");
        }
    }

    fn fold(&mut self) {
        let (plain, classic) = (self.plain.clone(), self.classic.clone());
        let folded = self.plain.fold();
        assert_eq!(self.shared.fold(), folded);
        assert!(folded.is_ok() || self.plain == plain, "an error has changed a filter");
        assert!(self.classic.fold().is_ok() || self.classic == classic, "an error has changed a filter");
    }

    /// The classic filter knows no such thing.
    fn shrink(&mut self) {
        let before = self.plain.memory_bytes();
        let folds = self.plain.shrink_to_fit();
        assert_eq!(self.plain.memory_bytes(), before >> folds);
        (0..folds).for_each(|_| assert_eq!(self.shared.fold(), Ok(())));
    }

    fn exchange(&mut self) {
        let (plain, shared) = (self.plain.clone(), self.take_shared());
        self.plain = shared;
        self.shared = plain.into();
    }

    /// The shared one's contents, at the price of it.
    fn take_shared(&mut self) -> BlockedBloom {
        let stand_in = BlockedBloom::builder().capacity(0).hasher(KeyHasher::xxh3(0)).build_atomic().expect("a small filter can be built");
        let shared = BlockedBloom::from(std::mem::replace(&mut self.shared, stand_in));
        assert!(shared == self.plain, "plain and shared are different filters");
        shared
    }

    /// Filters that fold together may lose their likeness: an error then leaves things as they were.
    fn combine(
        &mut self,
        other: &Self,
        plain: fn(&mut BlockedBloom, &BlockedBloom) -> Result<(), CombineError>,
        shared: fn(&mut AtomicBlockedBloom, &AtomicBlockedBloom) -> Result<(), CombineError>,
        classic: fn(&mut ClassicBloom, &ClassicBloom) -> Result<(), CombineError>,
    ) -> [bool; 2] {
        let before = (self.plain.clone(), self.classic.clone());
        let results = [plain(&mut self.plain, &other.plain), classic(&mut self.classic, &other.classic)];
        assert_eq!(shared(&mut self.shared, &other.shared), results[0]);
        assert!(results[0].is_ok() || self.plain == before.0, "an error has changed a filter");
        assert!(results[1].is_ok() || self.classic == before.1, "an error has changed a filter");
        results.map(|result| result.is_ok())
    }

    fn union(&mut self, other: &Self) {
        let done = self.combine(other, BlockedBloom::union_with, |ours, theirs| ours.union_with(theirs), ClassicBloom::union_with);
        match done {
            [true, true] => self.exact.extend(other.exact.iter().cloned()),
            // In one kind and not in the other: what is known of all is what was known.
            [plain, classic] => {
                assert!(!plain || other.exact.iter().all(|key| self.plain.contains(key) && self.shared.contains(key)));
                assert!(!classic || other.exact.iter().all(|key| self.classic.contains(key)));
            }
        }
    }

    fn intersect(&mut self, other: &Self) {
        let done = self.combine(other, BlockedBloom::intersect_with, AtomicBlockedBloom::intersect_with, ClassicBloom::intersect_with);
        if done != [false; 2] {
            self.exact.retain(|key| other.exact.contains(key));
        }
    }

    /// Nothing of it may come in, by a union or by an intersection.
    fn meet(&mut self, other: &BlockedBloom, other_classic: &ClassicBloom) {
        let (plain, classic) = (self.plain.clone(), self.classic.clone());
        for result in [self.plain.union_with(other), self.plain.intersect_with(other)] {
            assert!(result.is_err(), "a stranger was taken in");
        }
        let shared = AtomicBlockedBloom::from(other.clone());
        for result in [self.shared.union_with(&shared), self.shared.intersect_with(&shared)] {
            assert!(result.is_err(), "a stranger was taken in");
        }
        // To a classic filter lines are no difference.
        if self.classic.union_with(other_classic).is_err() {
            assert!(self.classic.intersect_with(other_classic).is_err() && self.classic == classic);
        }
        assert!(self.plain == plain, "an error has changed a filter");
    }
}

fn stranger(plan: &Plan, ours: &BlockedBloom, which: Stranger) -> BloomBuilder {
    let builder = plan.builder();
    match which {
        Stranger::Secret => builder.hasher(KeyHasher::xxh3(plan.seed ^ 1)),
        // Twice the lines of the larger of the two.
        Stranger::Size => builder.memory(ours.memory_bytes() * 2 + 4096),
        Stranger::Lines if ours.lines_per_key() == 1 => builder.lines_per_key(LinesPerKey::Two),
        Stranger::Lines => builder.lines_per_key(LinesPerKey::One),
    }
}

fuzz_target!(|plan: Plan| {
    let builder = plan.builder();
    let mut pair = [Filters::new(&builder, plan.kernel()), Filters::new(&builder, plan.kernel())];
    let mut plan = plan;
    for (second, operation) in std::mem::take(&mut plan.operations) {
        let (front, back) = pair.split_at_mut(1);
        let (ours, theirs) = if second { (&mut back[0], &front[0]) } else { (&mut front[0], &back[0]) };
        match operation {
            Operation::Insert(name) => ours.insert(name.into_key()),
            Operation::InsertBatch(names) => ours.insert_batch(keys(names)),
            Operation::Extend(names) => ours.extend(keys(names)),
            Operation::Ask(name) => _ = ours.ask(&name.into_key()),
            Operation::AskBatch(names) => ours.ask_batch(&keys(names)),
            Operation::Clear => ours.clear(),
            Operation::Fold => ours.fold(),
            Operation::Shrink => ours.shrink(),
            Operation::Exchange => ours.exchange(),
            Operation::Clone => (ours.plain, ours.classic) = (ours.plain.clone(), ours.classic.clone()),
            Operation::Union => ours.union(theirs),
            Operation::Intersect => ours.intersect(theirs),
            Operation::Stranger(which) => {
                let builder = stranger(&plan, &ours.plain, which);
                let mut other = builder.clone().build().expect("a small filter can be built");
                other.extend(0..20u64);
                let mut classic = builder.build_classic().expect("a small filter can be built");
                if ours.classic.union_with(&classic).is_err() {
                    classic.extend(0..20u64);
                }
                ours.meet(&other, &classic);
            }
        }
    }
    for filters in &mut pair {
        filters.ask_all();
        assert!((0.0..=1.0).contains(&filters.plain.estimated_fpr()) && (0.0..=1.0).contains(&filters.classic.estimated_fpr()));
        assert_eq!(filters.plain.estimated_len(), filters.shared.estimated_len());
        filters.take_shared();
    }
});
