//! Every kernel of this machine sets the same bits and gives the same answers as the portable one, for any hashes and any layout.
//!
//! Hashes are put together from a few 32-bit halves, so that the fuzzer makes lines, lanes and positions coincide, in one line and across two.

#![no_main]

use absentia::bloom::{Kernel, LinesPerKey};
use absentia::{BlockedBloom, KeyHash, KeyHasher};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Plan {
    two_lines: bool,
    /// Small on purpose: places coincide, and a remainder is a large part.
    lines: u8,
    /// Keys a line, which decides how many positions a key has: 16 for few, 1 for many.
    load: u16,
    halves: Vec<u32>,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Insert(Hash),
    InsertBatch(Vec<Hash>),
    Extend(Vec<Hash>),
    Ask(Hash),
    AskBatch(Vec<Hash>),
    Fold,
}

/// Which half stands where.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Hash([u8; 4]);

impl Hash {
    fn of(self, halves: &[u32]) -> KeyHash {
        // Beyond those that were given, the ends of the range.
        let half = |index: u8| {
            let ends = [0, u32::MAX, 1, 1 << 31];
            u64::from(*halves.get(usize::from(index)).unwrap_or(&ends[usize::from(index % 4)]))
        };
        let [a, b, c, d] = self.0.map(half);
        KeyHash::from_parts(a << 32 | b, c << 32 | d)
    }
}

/// A filter for each kernel.
struct Kernels(Vec<BlockedBloom>);

impl Kernels {
    /// What all of them answer.
    fn all<T: PartialEq + std::fmt::Debug>(&mut self, mut ask: impl FnMut(&mut BlockedBloom) -> T) -> T {
        let (portable, others) = self.0.split_first_mut().expect("one kernel runs anywhere");
        let want = ask(portable);
        for other in others {
            assert_eq!(ask(other), want, "{} answers unlike the portable kernel", other.kernel_name());
        }
        want
    }
}

fuzz_target!(|plan: Plan| {
    let lines = u64::from(plan.lines % 33) + 2;
    let per_key = if plan.two_lines { LinesPerKey::Two } else { LinesPerKey::One };
    let builder =
        BlockedBloom::builder().memory(lines * 64).capacity(lines * u64::from(plan.load) / 16).lines_per_key(per_key).hasher(KeyHasher::xxh3(0));
    let mut filters = Kernels(Kernel::available().map(|kernel| builder.clone().kernel(kernel).build().expect("a small filter")).collect());
    let mut inserted = Vec::new();
    let hashes = |some: &[Hash]| some.iter().map(|hash| hash.of(&plan.halves)).collect::<Vec<_>>();
    for step in &plan.steps {
        match step {
            Step::Insert(hash) => {
                let hash = hash.of(&plan.halves);
                let known = filters.all(|filter| filter.contains_hash(hash));
                assert_eq!(filters.all(|filter| filter.insert_hash(hash)), !known);
                assert!(filters.all(|filter| filter.contains_hash(hash)));
                inserted.push(hash);
            }
            Step::InsertBatch(some) => {
                let some = hashes(some);
                // As one by one, on a copy.
                let singles = filters.all(|filter| {
                    let mut copy = filter.clone();
                    some.iter().map(|&hash| copy.insert_hash(hash)).collect::<Vec<_>>()
                });
                let batch = filters.all(|filter| filter.insert_hash_batch(&some));
                assert!(batch.iter().by_vals().eq(singles), "a batch of inserts answers unlike its hashes");
                inserted.extend(some);
            }
            Step::Extend(some) => {
                let some = hashes(some);
                filters.all(|filter| filter.extend_hashes(some.iter().copied()));
                inserted.extend(some);
            }
            Step::Ask(hash) => _ = filters.all(|filter| filter.contains_hash(hash.of(&plan.halves))),
            Step::AskBatch(some) => {
                let some = hashes(some);
                let batch = filters.all(|filter| filter.contains_hash_batch(&some));
                let singles = filters.all(|filter| some.iter().map(|&hash| filter.contains_hash(hash)).collect::<Vec<_>>());
                assert!(batch.iter().by_vals().eq(singles), "a batch answers unlike its hashes");
            }
            Step::Fold => _ = filters.all(BlockedBloom::fold),
        }
        filters.all(|filter| filter.as_bits().to_bitvec());
    }
    assert!(filters.all(|filter| filter.contains_hash_batch(&inserted).all()), "an inserted hash is denied");
});
