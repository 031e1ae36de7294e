//! fastbloom, sbbf-rs-safe and bloomfilter: Bloom filters of any number of bits.
//!
//! - **fastbloom** (classic, bits anywhere) through `contains_hash` and `insert_hash` with XXH3-64, and again with its default hasher, SipHash-1-3.
//! - **sbbf-rs-safe** (split blocks of 256 bits, eight bits a key) takes hashes only. It has no rule for a rate; the first guess is Parquet's. Its
//!   constructor multiplies whole bits a key by keys, so that one bit a "key" gives any size. With XXH3-64, which is what it needs, and again with the
//!   XXH3-128 that ours is given.
//! - **bloomfilter** (jedisct1; classic) hashes by SipHash-1-3, twice a key, and takes neither a hash nor a hasher.

use crate::filter::{Candidate, Compare, Family, Filter, Sizing, count};
use crate::keys::{BenchKey, SEED};
use crate::size::{Calibration, MANY_KEYS, bits_for, classical_bits_per_key, parquet_bits_per_key};
use bloomfilter::Bloom;
use fastbloom::BloomFilter;
use std::hint::black_box;

struct Fastbloom {
    filter: BloomFilter,
    seed: u64,
}

impl Fastbloom {
    fn new(bits: u64, n: u64) -> Self {
        let filter = BloomFilter::with_num_bits(bits as usize).seed(&u128::from(SEED)).expected_items(n as usize);
        Self { filter, seed: black_box(SEED) }
    }
}

impl<K: BenchKey> Filter<K> for Fastbloom {
    fn fill(&mut self, keys: &[K]) -> Result<(), String> {
        for key in keys {
            self.filter.insert_hash(key.hash64(self.seed));
        }
        Ok(())
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |key| self.filter.contains_hash(key.hash64(self.seed)))
    }

    fn bits(&self) -> u64 {
        self.filter.num_bits() as u64
    }
}

/// The same filter asked by key.
struct FastbloomOwnHash(Fastbloom);

impl<K: BenchKey> Filter<K> for FastbloomOwnHash {
    fn fill(&mut self, keys: &[K]) -> Result<(), String> {
        for key in keys {
            self.0.filter.insert(key);
        }
        Ok(())
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |key| self.0.filter.contains(key))
    }

    fn bits(&self) -> u64 {
        self.0.filter.num_bits() as u64
    }
}

struct Sbbf {
    filter: sbbf_rs_safe::Filter,
    seed: u64,
}

impl<K: BenchKey> Filter<K> for Sbbf {
    fn fill(&mut self, keys: &[K]) -> Result<(), String> {
        for key in keys {
            self.filter.insert_hash(key.hash64(self.seed));
        }
        Ok(())
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |key| self.filter.contains_hash(key.hash64(self.seed)))
    }

    fn bits(&self) -> u64 {
        self.filter.as_bytes().len() as u64 * 8
    }
}

/// The same filter given the hash that ours is given: what a service pays that computes one hash for several filters.
struct SbbfOurHash(Sbbf);

impl<K: BenchKey> Filter<K> for SbbfOurHash {
    fn fill(&mut self, keys: &[K]) -> Result<(), String> {
        for key in keys {
            self.0.filter.insert_hash(key.hash128(self.0.seed) as u64);
        }
        Ok(())
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |key| self.0.filter.contains_hash(key.hash128(self.0.seed) as u64))
    }

    fn bits(&self) -> u64 {
        self.0.filter.as_bytes().len() as u64 * 8
    }
}

impl<K: BenchKey> Filter<K> for Bloom<K> {
    fn fill(&mut self, keys: &[K]) -> Result<(), String> {
        for key in keys {
            self.set(key);
        }
        Ok(())
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |key| self.check(key))
    }

    fn bits(&self) -> u64 {
        self.len()
    }
}

/// The two keys of bloomfilter's two hashes. Were they equal, so were the hashes, and its rate at 1 % would be 3.4 %.
const SIP_KEYS: [u8; 32] = *b"one key and quite another one!!!";

/// An empty filter of so many bits for so many keys.
type Make<K> = fn(u64, u64) -> Box<dyn Filter<K>>;

/// Name, family, first guess of bits a key at rate `p`, and how to make one.
fn table<K: BenchKey>(p: f64) -> [(&'static str, Family, f64, Make<K>); 5] {
    let classical = classical_bits_per_key(p);
    [
        ("fastbloom, xxh3", Family::Fastbloom, classical, |bits, n| Box::new(Fastbloom::new(bits, n))),
        ("fastbloom, own SipHash-1-3", Family::FastbloomOwnHash, classical, |bits, n| Box::new(FastbloomOwnHash(Fastbloom::new(bits, n)))),
        ("sbbf-rs-safe, xxh3", Family::Sbbf, parquet_bits_per_key(p), |bits, _| {
            Box::new(Sbbf { filter: sbbf_rs_safe::Filter::new(1, bits as usize), seed: black_box(SEED) })
        }),
        ("sbbf-rs-safe, xxh3-128", Family::SbbfOurHash, parquet_bits_per_key(p), |bits, _| {
            Box::new(SbbfOurHash(Sbbf { filter: sbbf_rs_safe::Filter::new(1, bits as usize), seed: black_box(SEED) }))
        }),
        ("bloomfilter, own SipHash-1-3", Family::Other, classical, |bits, n| {
            let filter = Bloom::<K>::new_with_seed(bits.div_ceil(8) as usize, n as usize, &SIP_KEYS);
            Box::new(filter.expect("a size and a number of keys that are not 0"))
        }),
    ]
}

pub(super) fn names<K: BenchKey>() -> Vec<String> {
    table::<K>(0.5).iter().map(|peer| peer.0.to_string()).collect()
}

pub(super) fn candidates<K: BenchKey>(
    n: u64,
    p: f64,
    our_bits: u64,
    calibration: &Calibration<K>,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Candidate<K>>, String> {
    let mut candidates = Vec::new();
    for (name, family, guess, make) in table(p).into_iter().filter(|peer| wanted(peer.0)) {
        // Of many keys a fill by a slow hash takes half a minute, and the row at equal bits tells nothing that the one with our hash does not.
        if n < MANY_KEYS || !name.contains("own ") {
            candidates.push(Candidate::peer(name, family, Compare::Bits, Sizing::Given, move || make(our_bits, n)));
        }
        let found = calibration.bits_per_key(guess, make)?;
        let sizing = if found.first_guess { Sizing::OwnRule } else { Sizing::Adjusted };
        let bits = bits_for(found.bits_per_key, n);
        candidates.push(Candidate::peer(name, family, Compare::Fpr, sizing, move || make(bits, n)));
    }
    Ok(candidates)
}
