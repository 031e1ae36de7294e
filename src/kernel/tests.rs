//! One suite for every kernel that this machine has, `portable` among them: a kernel joins by being in [`Kernel::available`].
//!
//! A machine without an instruction set does not test its kernel, and CI says which were tested: `every_kernel_of_this_machine` prints them.

use super::layout::turned;
use super::*;
use crate::bits::{AtomicLine, index_in};
use crate::sync::{AtomicU64, Ordering};
use bitvec::vec::BitVec;
use proptest::prelude::*;

/// Bits in a word of answers.
const WORD: usize = usize::BITS as usize;

/// Filters of one and of two lines a key, with the most, the least and odd numbers of lines and positions.
fn layouts() -> impl Strategy<Value = (Layout, usize)> {
    (1..=MAX_HASHES, any::<bool>(), 1usize..40).prop_map(|(k, halves, lines)| (Layout::new(k, halves), if halves { 2 * lines } else { lines }))
}

/// Few different halves, so that positions and lines repeat.
fn hashes() -> impl Strategy<Value = Vec<KeyHash>> {
    let word = prop_oneof![any::<u64>(), 0u64..4, Just(u64::MAX), any::<u32>().prop_map(|half| u64::from(half) << 32)];
    prop::collection::vec((word.clone(), word).prop_map(|(first, second)| KeyHash::from_parts(first, second)), 0..200)
}

fn shared(lines: &[Line]) -> Vec<AtomicLine> {
    lines.iter().map(|line| AtomicLine(line.0.map(AtomicU64::new))).collect()
}

/// What a layout says in words, one line and one position at a time.
fn meaning(lines: &[Line], layout: Layout, hash: KeyHash) -> bool {
    layout.places(lines.len(), hash).all(|place| {
        let mask = portable::mask(place.second, layout);
        lines[place.line].0.iter().zip(&mask).all(|(word, mask)| word & mask == *mask)
    })
}

#[test]
fn every_kernel_of_this_machine() {
    let names: Vec<_> = Kernel::available().map(Kernel::name).collect();
    println!("kernels tested: {}", names.join(" "));
    assert_eq!(names[0], "portable");
    assert_eq!(Kernel::best().name(), if cfg!(absentia_portable) { "portable" } else { names[names.len() - 1] });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_kernel_sets_and_finds_the_bits_of_portable((layout, count) in layouts(), hashes in hashes(), noise: u64) {
        for kernel in Kernel::available() {
            // Some bits are there beforehand, so that answers are mixed.
            let dirty = Line(std::array::from_fn(|i| noise.rotate_left(7 * i as u32) & noise.rotate_left(i as u32)));
            let mut want = vec![dirty; count];
            let mut have = want.clone();
            for &hash in &hashes {
                let known = meaning(&want, layout, hash);
                prop_assert_eq!(kernel.contains(&have, layout, hash), known, "{}", kernel);
                prop_assert_eq!(kernel.contains(&shared(&have), layout, hash), known, "{} on shared lines", kernel);
                for place in layout.places(count, hash) {
                    let mask = portable::mask(place.second, layout);
                    prop_assert_eq!(kernel.mask(place.second, layout), mask, "{}", kernel);
                    want[place.line].0.iter_mut().zip(&mask).for_each(|(word, mask)| *word |= mask);
                }
                prop_assert_eq!(kernel.insert(&mut have, layout, hash), !known, "{}", kernel);
                prop_assert_eq!(&have, &want, "{}", kernel);
                prop_assert!(kernel.contains(&have, layout, hash));
            }
            // The same bits again where the lines are known, in a stretch that does not begin with line 0.
            let places: Vec<_> = hashes.iter().flat_map(|&hash| layout.places(count, hash)).filter(|place| place.line > 0).collect();
            let mut stretch = vec![dirty; count - 1];
            kernel.set_places(&mut stretch, 1, &places, layout);
            prop_assert_eq!(&stretch, &want[1..], "{}", kernel);
        }
    }

    #[test]
    fn a_batch_answers_like_its_members((layout, count) in layouts(), hashes in hashes(), others in hashes()) {
        for kernel in Kernel::available() {
            let mut one_by_one = vec![Line::EMPTY; count];
            let mut batched = one_by_one.clone();
            for batch in [&hashes, &others, &hashes] {
                // What is in the words before does not matter.
                let (mut asked, mut new, mut want) = (vec![7; batch.len().div_ceil(WORD)], vec![7; batch.len().div_ceil(WORD)], BitVec::<usize>::new());
                want.extend(batch.iter().map(|&hash| kernel.contains(&one_by_one, layout, hash)));
                kernel.contains_batch(&batched, layout, batch, &mut asked);
                prop_assert_eq!(&asked, want.as_raw_slice(), "{}", kernel);
                kernel.contains_batch(&shared(&batched), layout, batch, &mut asked);
                prop_assert_eq!(&asked, want.as_raw_slice(), "{} on shared lines", kernel);
                want.clear();
                want.extend(batch.iter().map(|&hash| kernel.insert(&mut one_by_one, layout, hash)));
                kernel.insert_batch(&mut batched, layout, batch, &mut new);
                prop_assert_eq!(&new, want.as_raw_slice(), "{}", kernel);
                prop_assert_eq!(&batched, &one_by_one, "{}", kernel);
            }
        }
    }
}

/// The second line's choice is as free as the first's: each half is chosen by its own half of `first`, and lanes see the other half of `second`.
#[test]
fn two_lines_are_chosen_by_different_bits() {
    let layout = Layout::new(3, true);
    let places = |first| layout.places(20, KeyHash::from_parts(first, 5 << 32 | 9)).map(|place| (place.line, place.second)).collect::<Vec<_>>();
    assert_eq!(places(0), [(0, 5 << 32 | 9), (10, 9 << 32 | 5)]);
    assert_eq!(places(u64::from(u32::MAX)), [(0, 5 << 32 | 9), (19, 9 << 32 | 5)]);
    assert_eq!(places(u64::from(u32::MAX) << 32), [(9, 5 << 32 | 9), (10, 9 << 32 | 5)]);
    assert_eq!(turned(KeyHash::from_parts(1 << 63, 1)), KeyHash::from_parts(1 << 31, 1 << 32));
}

#[cfg(any(target_pointer_width = "64", target_endian = "little"))]
#[test]
fn words_of_lines_are_their_words_in_order() {
    let bits = |set: &[usize]| {
        let mut lines = [Line::EMPTY; 3];
        set.iter().for_each(|&bit| lines[bit / 512].0[bit % 512 / 64] |= 1 << (bit % 64));
        bitvec::slice::BitSlice::<usize, bitvec::order::Lsb0>::from_slice(words_of(&lines)).iter_ones().collect::<Vec<_>>()
    };
    let set = [0, 31, 32, 63, 64, 511, 512, 1000, 1535];
    assert_eq!(bits(&set), set);
    assert_eq!(words_of(&[]), [0; 0]);
}

/// Bits that another thread sets while a vector is loaded are seen or not; those that were there before are always seen.
#[test]
fn a_shared_line_shows_every_older_bit_while_it_changes() {
    for kernel in Kernel::available() {
        let lines = shared(&[Line::EMPTY; 2]);
        let layout = Layout::new(12, false);
        let hash = |id: u64| KeyHash::from_parts(id << 63, id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for id in 1..40 {
                    let place = index_in(&lines, hash(id).first());
                    for (word, bits) in lines[place].0.iter().zip(kernel.mask(hash(id).second(), layout)) {
                        word.fetch_or(bits, Ordering::Relaxed);
                    }
                    done.store(id, Ordering::Release);
                }
            });
            while done.load(Ordering::Acquire) < 39 {
                for id in 1..=done.load(Ordering::Acquire) {
                    assert!(kernel.contains(&lines, layout, hash(id)), "{kernel} lost {id}");
                }
            }
        });
    }
}
