//! What does the hash cost, and what does the choice of SipHash for hostile keys?
//!
//! XXH3-128 has three methods by length: up to 16 bytes, up to 240, and beyond, where it takes long strides. SipHash-1-3 is one loop of 8 bytes. Ids are
//! `hashing/hasher/key`; a key is another one each time, and hashes do not wait for one another.

mod subject;

use absentia::{Key, KeyHash, KeyHasher};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Throughput};
use std::collections::HashSet;
use std::hint::black_box;

fn main() {
    subject::run(&[|c| {
        for (name, hasher) in [("xxh3", KeyHasher::xxh3(1)), ("siphash", KeyHasher::siphash([1; 16]))] {
            let mut group = c.benchmark_group(format!("hashing/{name}"));
            of_key(&mut group, "u64", hasher, 8, |number| number);
            of_key(&mut group, "20B", hasher, 20, bytes::<20>);
            of_key(&mut group, "240B", hasher, 240, bytes::<240>);
            of_key(&mut group, "241B", hasher, 241, bytes::<241>);
            of_key(&mut group, "1KiB", hasher, 1024, bytes::<1024>);
            group.finish();
        }
    }]);
}

fn bytes<const N: usize>(number: u64) -> [u8; N] {
    let mut key = [0x5a; N];
    key[..8].copy_from_slice(&number.to_le_bytes());
    key
}

/// As many keys as leave the longest ones in the second-level cache.
const KEYS: u64 = 256;

fn of_key<K: Key>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, hasher: KeyHasher, length: u64, key: impl Fn(u64) -> K) {
    let keys: Vec<K> = (0..KEYS).map(key).collect();
    // A hash does not change, is the one of the key's bytes, and is not that of another key.
    let hashes: HashSet<KeyHash> = keys.iter().map(|key| hasher.hash(key)).collect();
    assert_eq!(hashes.len(), keys.len(), "two keys have one hash");
    assert!(keys.iter().all(|key| hashes.contains(&key.with_bytes(|bytes| hasher.hash_bytes(bytes)))), "a key is not hashed by its bytes");
    let mut next = 0;
    group.throughput(Throughput::Bytes(length)).bench_function(name, |b| {
        b.iter(|| {
            next = (next + 1) % keys.len();
            hasher.hash(black_box(&keys[next]))
        });
    });
}
