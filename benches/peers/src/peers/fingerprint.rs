//! xorf, qfilter, cuckoofilter and scalable_cuckoo_filter: filters that keep a fingerprint of each key.
//!
//! None of them can be given a number of bits: fingerprints are whole bits wide, and all tables but xorf's are powers of two.
//!
//! - **xorf** is static: "insert" is the construction from all keys, their hashing included. It mixes the 64 bits that it is given, so for integers
//!   there is a row without our hash. `BinaryFuse8` has one rate, 0.39 %; below that `BinaryFuse16` is shown too.
//! - **qfilter** through `contains_fingerprint`, and with its own hasher. Sized by its own rule.
//! - **cuckoofilter** has fingerprints of 8 bits and cannot be sized for a rate. Above a load of some 95 % an insert fails and *loses another key*,
//!   so it gets room for 6 % more keys than there are.
//! - **scalable_cuckoo_filter** by its own rule; it grows by itself when an insert finds no room.

use crate::filter::{Candidate, Compare, Family, Filter, Sizing, count};
use crate::keys::{BenchKey, SEED, Xxh3Hasher};
use crate::size::MANY_KEYS;
use cuckoofilter::CuckooFilter;
use scalable_cuckoo_filter::{ScalableCuckooFilter, ScalableCuckooFilterBuilder};
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::hint::black_box;
use xorf::{BinaryFuse8, BinaryFuse16, Filter as _};

/// A static filter of either width: nothing until it is filled.
struct Fuse<F> {
    filter: Option<F>,
    /// `None` leaves the mixing to xorf.
    seed: Option<u64>,
}

impl<F> Fuse<F> {
    fn new(seed: Option<u64>) -> Self {
        Self { filter: None, seed: black_box(seed) }
    }

    #[inline(always)]
    fn built(&self) -> &F {
        self.filter.as_ref().expect("filled before it is asked")
    }
}

/// The calls are the same for both widths, but no trait of xorf's has the constructor.
macro_rules! fuse {
    ($fuse:ty, $fingerprint_bits:literal) => {
        impl<K: BenchKey> Filter<K> for Fuse<$fuse> {
            fn fill(&mut self, keys: &[K]) -> Result<(), String> {
                let hashes: Vec<u64> = match self.seed {
                    Some(seed) => keys.iter().map(|key| key.hash64(seed)).collect(),
                    None => keys.iter().filter_map(BenchKey::raw64).collect(),
                };
                self.filter = Some(<$fuse>::try_from(&hashes)?);
                Ok(())
            }

            fn count(&self, keys: &[K]) -> usize {
                let filter = self.built();
                match self.seed {
                    Some(seed) => count(keys, |key| filter.contains(&key.hash64(seed))),
                    None => count(keys, |key| key.raw64().is_some_and(|raw| filter.contains(&raw))),
                }
            }

            fn bits(&self) -> u64 {
                self.built().len() as u64 * $fingerprint_bits
            }
        }
    };
}
fuse!(BinaryFuse8, 8);
fuse!(BinaryFuse16, 16);

struct Quotient {
    filter: qfilter::Filter,
    seed: u64,
}

impl Quotient {
    fn new(n: u64, p: f64) -> Self {
        Self { filter: qfilter::Filter::new(n, p).expect("some keys, and a rate between 0 and 1"), seed: black_box(SEED) }
    }
}

impl<K: BenchKey> Filter<K> for Quotient {
    fn fill(&mut self, keys: &[K]) -> Result<(), String> {
        let full = |error| format!("qfilter: {error}");
        keys.iter().try_for_each(|key| self.filter.insert_fingerprint(false, key.hash64(self.seed)).map(|_| ()).map_err(full))
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |key| self.filter.contains_fingerprint(key.hash64(self.seed)))
    }

    fn bits(&self) -> u64 {
        self.filter.memory_usage() as u64 * 8
    }
}

/// The same filter asked by key.
struct QuotientOwnHash(qfilter::Filter);

impl<K: BenchKey> Filter<K> for QuotientOwnHash {
    fn fill(&mut self, keys: &[K]) -> Result<(), String> {
        let full = |error| format!("qfilter: {error}");
        keys.iter().try_for_each(|key| self.0.insert(key).map(|_| ()).map_err(full))
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |key| self.0.contains(key))
    }

    fn bits(&self) -> u64 {
        self.0.memory_usage() as u64 * 8
    }
}

impl<K: BenchKey, H: Hasher + Default> Filter<K> for CuckooFilter<H> {
    fn fill(&mut self, keys: &[K]) -> Result<(), String> {
        let full = |error| format!("cuckoofilter: {error}");
        keys.iter().try_for_each(|key| self.add(key).map_err(full))
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |key| self.contains(key))
    }

    fn bits(&self) -> u64 {
        self.memory_usage() as u64 * 8
    }
}

impl<K: BenchKey, H: Hasher + Clone> Filter<K> for ScalableCuckooFilter<K, H> {
    fn fill(&mut self, keys: &[K]) -> Result<(), String> {
        for key in keys {
            self.insert(key);
        }
        Ok(())
    }

    fn count(&self, keys: &[K]) -> usize {
        count(keys, |key| self.contains(key))
    }

    fn bits(&self) -> u64 {
        self.bits()
    }
}

/// The rate of 8-bit fingerprints in a binary fuse filter.
const FUSE8_RATE: f64 = 1.0 / 256.0;

pub(super) fn candidates<K: BenchKey>(n: u64, p: f64) -> Vec<Candidate<K>> {
    let roomy = (n as f64 * 1.06).ceil() as usize;
    let scalable = move || ScalableCuckooFilterBuilder::new().initial_capacity(n as usize).false_positive_probability(p);
    type Make<K> = Box<dyn Fn() -> Box<dyn Filter<K>>>;
    let mut peers: Vec<(&str, Make<K>)> = vec![("xorf BinaryFuse8, xxh3", Box::new(|| Box::new(Fuse::<BinaryFuse8>::new(Some(SEED)))))];
    if K::from_number(0).raw64().is_some() {
        peers.push(("xorf BinaryFuse8, own mix", Box::new(|| Box::new(Fuse::<BinaryFuse8>::new(None)))));
    }
    if p < FUSE8_RATE {
        peers.push(("xorf BinaryFuse16, xxh3", Box::new(|| Box::new(Fuse::<BinaryFuse16>::new(Some(SEED))))));
    }
    peers.push(("qfilter, xxh3", Box::new(move || Box::new(Quotient::new(n, p)))));
    peers.push(("qfilter, own foldhash", Box::new(move || Box::new(QuotientOwnHash(Quotient::new(n, p).filter)))));
    peers.push(("cuckoofilter, xxh3", Box::new(move || Box::new(CuckooFilter::<Xxh3Hasher>::with_capacity(roomy)))));
    peers.push(("cuckoofilter, own SipHash-1-3", Box::new(move || Box::new(CuckooFilter::<DefaultHasher>::with_capacity(roomy)))));
    peers.push(("scalable_cuckoo, xxh3", Box::new(move || Box::new(scalable().hasher(Xxh3Hasher::default()).finish::<K>()))));
    peers.push(("scalable_cuckoo, own SipHash-1-3", Box::new(move || Box::new(scalable().finish::<K>()))));
    // Of many keys the slow ones take minutes to fill: there they are shown by the faster hash only.
    let wanted = |name: &str| n < MANY_KEYS || name.starts_with("xorf") || !name.contains("own ");
    peers.retain(|peer| wanted(peer.0));
    let family = |name: &str| match name {
        "qfilter, xxh3" => Family::Quotient,
        "cuckoofilter, xxh3" => Family::CuckooPeer,
        "cuckoofilter, own SipHash-1-3" => Family::CuckooPeerOwnHash,
        _ => Family::Other,
    };
    peers.into_iter().map(|(name, make)| Candidate::peer(name, family(name), Compare::Fpr, Sizing::Nearest, make)).collect()
}
