//! Every kernel against counters that are counted one by one.

use super::*;
use crate::kernel::MAX_HASHES;
use bitvec::vec::BitVec;
use proptest::prelude::*;
use std::collections::BTreeSet;

const WORD: usize = usize::BITS as usize;

/// The counters of a key, each once: what `portable.rs` says of bits, in the top 7 bits in place of 9.
fn counters_of(count: usize, layout: Layout, hash: KeyHash) -> BTreeSet<(usize, usize)> {
    let of_place = |place: crate::kernel::Place| {
        (0..layout.k() as usize).map(move |lane| {
            let half = if lane % 2 == 0 { place.second as u32 } else { (place.second >> 32) as u32 };
            (place.line, (half.wrapping_mul(portable::SALT[lane]) >> 25) as usize)
        })
    };
    layout.places(count, hash).flat_map(of_place).collect()
}

fn counter(lines: &[Line], (line, counter): (usize, usize)) -> u64 {
    lines[line].0[counter / 16] >> (4 * (counter % 16)) & 15
}

fn change(lines: &mut [Line], (line, counter): (usize, usize), by: impl Fn(u64) -> u64) {
    let (word, foot) = (&mut lines[line].0[counter / 16], 4 * (counter % 16));
    *word = *word & !(15 << foot) | by(*word >> foot & 15) << foot;
}

fn layouts() -> impl Strategy<Value = (Layout, usize)> {
    (1..=MAX_HASHES, any::<bool>(), 1usize..20).prop_map(|(k, halves, lines)| (Layout::new(k, halves), if halves { 2 * lines } else { lines }))
}

/// Few different halves, so that counters coincide and lines repeat.
fn hashes() -> impl Strategy<Value = Vec<KeyHash>> {
    let word = prop_oneof![any::<u64>(), 0u64..4, Just(u64::MAX), any::<u32>().prop_map(|half| u64::from(half) << 32)];
    prop::collection::vec((word.clone(), word).prop_map(|(first, second)| KeyHash::from_parts(first, second)), 0..200)
}

/// Counters that were there before: of all values, and in `kind` 1 and 2 mostly full or mostly 0, so that each answer comes up with 16 counters too.
fn dirty(noise: u64, kind: u8) -> Line {
    Line(std::array::from_fn(|word| {
        let (a, b) = (noise.rotate_left(7 * word as u32), noise.rotate_left(29 * word as u32 + 11));
        match kind {
            0 => a,
            1 => a | b | 0xeeee_eeee_eeee_eeee,
            2 => a & b & a.rotate_left(17),
            _ => u64::MAX,
        }
    }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_kernel_counts_like_one_counter_after_another((layout, count) in layouts(), hashes in hashes(), noise: u64, kind in 0u8..4) {
        for kernel in Kernel::available() {
            let mut want = vec![dirty(noise, kind); count];
            let mut have = want.clone();
            for (index, &hash) in hashes.iter().enumerate() {
                let counters = counters_of(count, layout, hash);
                let least = counters.iter().map(|&at| counter(&want, at)).min().unwrap();
                let all_stuck = least == 15;
                prop_assert_eq!(kernel.holds(&have, layout, hash), least > 0, "{}", kernel);
                prop_assert_eq!(u64::from(kernel.least(&have, layout, hash)), least, "{}", kernel);
                for place in layout.places(count, hash) {
                    let marks = kernel.marks(place.second, layout);
                    let feet: u32 = marks.iter().map(|word| word.count_ones()).sum();
                    prop_assert_eq!(feet as usize, counters.iter().filter(|(line, _)| *line == place.line).count(), "{}", kernel);
                    for &(_, at) in counters.iter().filter(|(line, _)| *line == place.line) {
                        prop_assert_eq!(marks[at / 16] >> (4 * (at % 16)) & 1, 1, "{}", kernel);
                    }
                }
                if index % 3 == 2 {
                    let taken = match () {
                        () if least == 0 => Taken::Nothing,
                        () if all_stuck => Taken::Stuck,
                        () => Taken::Copy,
                    };
                    if taken == Taken::Copy {
                        counters.iter().for_each(|&at| change(&mut want, at, |count| if count == 15 { 15 } else { count - 1 }));
                    }
                    prop_assert_eq!(kernel.take(&mut have, layout, hash), taken, "{}", kernel);
                } else {
                    counters.iter().for_each(|&at| change(&mut want, at, |count| (count + 1).min(15)));
                    prop_assert_eq!(kernel.add(&mut have, layout, hash), least == 0, "{}", kernel);
                    prop_assert!(kernel.holds(&have, layout, hash), "{}", kernel);
                }
                prop_assert_eq!(&have, &want, "{}", kernel);
            }
        }
    }

    #[test]
    fn a_batch_counts_like_its_members((layout, count) in layouts(), hashes in hashes(), others in hashes(), long: bool) {
        // Lines that are asked for ahead are those of filters that are larger than a cache.
        let count = if long { 8194 } else { count };
        for kernel in Kernel::available() {
            let mut one_by_one = vec![Line::EMPTY; count];
            let mut batched = one_by_one.clone();
            for batch in [&hashes, &others, &hashes] {
                // What is in the words before does not matter.
                let mut answers = vec![7; batch.len().div_ceil(WORD)];
                let mut want = BitVec::<usize>::new();
                want.extend(batch.iter().map(|&hash| kernel.add(&mut one_by_one, layout, hash)));
                kernel.add_batch(&mut batched, layout, batch, &mut answers);
                prop_assert_eq!(&answers, want.as_raw_slice(), "{} adds", kernel);
                prop_assert_eq!(&batched, &one_by_one, "{}", kernel);

                let batch = &hashes;
                let mut answers = vec![7; batch.len().div_ceil(WORD)];
                let mut want = BitVec::<usize>::new();
                want.extend(batch.iter().map(|&hash| kernel.take(&mut one_by_one, layout, hash) == Taken::Copy));
                kernel.take_batch(&mut batched, layout, batch, &mut answers);
                prop_assert_eq!(&answers, want.as_raw_slice(), "{} takes", kernel);
                prop_assert_eq!(&batched, &one_by_one, "{}", kernel);

                want.clear();
                want.extend(batch.iter().map(|&hash| kernel.holds(&one_by_one, layout, hash)));
                kernel.holds_batch(&batched, layout, batch, &mut answers);
                prop_assert_eq!(&answers, want.as_raw_slice(), "{} holds", kernel);
            }
        }
    }
}
