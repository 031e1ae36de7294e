//! Any sequence of operations on a filter of any kind, and of any parameters, against an exact multiset. What is claimed, and the run itself, are those
//! of the property tests: `tests/kinds/model.rs`. (That plain, shared and classic filters are the same set under algebra is `bloom_ops`.)

#![no_main]

#[path = "../../tests/kinds/mod.rs"]
mod kinds;

use absentia::bloom::{ClassicBloom, Kernel, LinesPerKey};
use absentia::{AtomicBlockedBloom, AtomicCuckoo, AtomicRotatingBloom, BlockedBloom, Clock, CountingBloom, CuckooFilter, KeyHasher, RotatingBloom};
use arbitrary::Arbitrary;
use kinds::Wanted;
use kinds::model::{Op, run};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Plan {
    kind: Kind,
    seed: u64,
    capacity: Capacity,
    rate: Rate,
    lines: Lines,
    foldable: u8,
    kernel: Option<u8>,
    windows: u8,
    clocked: bool,
    steps: Vec<(bool, [u8; 3])>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Kind {
    Blocked,
    AtomicBlocked,
    Classic,
    Counting,
    Cuckoo,
    AtomicCuckoo,
    Rotating,
    AtomicRotating,
}

/// Small ones on purpose: full and over-full filters, and filters of one line, are where the mistakes would be.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Capacity {
    Few(u8),
    Some(u16),
    Any(u64),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Rate {
    Loosest,
    Loose,
    Usual,
    Tight,
    Tightest,
    Any(f64),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Lines {
    Auto,
    One,
    Two,
}

impl Plan {
    fn wanted(&self) -> Wanted {
        let kernels: Vec<_> = Kernel::available().collect();
        Wanted {
            capacity: Some(match self.capacity {
                Capacity::Few(keys) => keys.into(),
                Capacity::Some(keys) => (keys % 4096).into(),
                Capacity::Any(keys) => keys,
            }),
            fpr: match self.rate {
                Rate::Loosest => 0.9,
                Rate::Loose => 0.1,
                Rate::Usual => 1e-2,
                Rate::Tight => 1e-4,
                Rate::Tightest => 1e-8,
                Rate::Any(rate) => rate,
            },
            hasher: KeyHasher::xxh3(self.seed),
            lines: match self.lines {
                Lines::Auto => LinesPerKey::Auto,
                Lines::One => LinesPerKey::One,
                Lines::Two => LinesPerKey::Two,
            },
            foldable: u32::from(self.foldable % 5),
            kernel: self.kernel.map(|number| kernels[usize::from(number) % kernels.len()]),
            memory_limit: 1 << 20,
            windows: u32::from(self.windows % 34),
            clock: None,
        }
    }
}

fuzz_target!(|plan: Plan| {
    let (clock, hand) = Clock::mock();
    let wanted = Wanted { clock: plan.clocked.then_some(clock), ..plan.wanted() };
    let hand = plan.clocked.then_some(&hand);
    let steps = plan.steps.iter().map(|&(second, step)| (second, Op::of(step)));
    match plan.kind {
        Kind::Blocked => run::<BlockedBloom>(&wanted, hand, steps),
        Kind::AtomicBlocked => run::<AtomicBlockedBloom>(&wanted, hand, steps),
        Kind::Classic => run::<ClassicBloom>(&wanted, hand, steps),
        Kind::Counting => run::<CountingBloom>(&wanted, hand, steps),
        Kind::Cuckoo => run::<CuckooFilter>(&wanted, hand, steps),
        Kind::AtomicCuckoo => run::<AtomicCuckoo>(&wanted, hand, steps),
        Kind::Rotating => run::<RotatingBloom>(&wanted, hand, steps),
        Kind::AtomicRotating => run::<AtomicRotatingBloom>(&wanted, hand, steps),
    }
});
