//! The memory store against a model: it may forget, it may not make anything up.

use crate::fence::Token;
use crate::key::KeyHash;
use crate::loader::Hashed;
use crate::negative::{Entry, EntryState, MemoryStore, Put, Store};
use crate::time::Timestamp;
use proptest::prelude::*;
use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a store in memory waits for nothing"),
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put { key: u64, value: Option<u8>, valid: bool },
    Remove { key: u64 },
    Get { key: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..24u64;
    prop_oneof![
        4 => (key.clone(), proptest::option::of(any::<u8>()), proptest::bool::weighted(0.8))
            .prop_map(|(key, value, valid)| Step::Put { key, value, valid }),
        1 => key.clone().prop_map(|key| Step::Remove { key }),
        2 => key.prop_map(|key| Step::Get { key }),
    ]
}

/// Four hashes for all keys, in two shards: collisions in the table are the rule.
fn hashed(key: &u64) -> Hashed<'_, u64> {
    let hash = (key % 2) << 32 | (key % 4);
    Hashed { key, hash: KeyHash::from_parts(hash, *key) }
}

fn entry(value: Option<u8>) -> Entry<u8> {
    let state = value.map_or(EntryState::Absent, EntryState::Present);
    Entry { state, token: Token::new(1, 1, 1, true), read_began: Timestamp::default(), expires: Timestamp::default() }
}

proptest! {
    #[test]
    fn an_entry_is_the_last_one_put_or_forgotten(
        steps in proptest::collection::vec(step(), 1..200),
        negative_bytes in 0..2_000usize,
        positive_bytes in 0..2_000usize,
    ) {
        let store = MemoryStore::<u64, u8>::builder().shards(2).negative_bytes(negative_bytes).positive_bytes(positive_bytes).build();
        let mut model = HashMap::<u64, Option<u8>>::new();
        for step in steps {
            match step {
                Step::Put { key, value, valid } => {
                    let put = ready(store.put(hashed(&key), entry(value), &|| valid)).unwrap();
                    prop_assert_eq!(put == Put::Stale, !valid);
                    match put {
                        Put::Stored => drop(model.insert(key, value)),
                        // What did not fit has replaced what was there by nothing.
                        Put::NoRoom => drop(model.remove(&key)),
                        Put::Stale => {}
                    }
                    if put == Put::Stored {
                        prop_assert!(ready(store.get(hashed(&key))).unwrap().is_some(), "what was just stored is there");
                    }
                }
                Step::Remove { key } => {
                    ready(store.remove(hashed(&key))).unwrap();
                    model.remove(&key);
                    prop_assert!(ready(store.get(hashed(&key))).unwrap().is_none());
                }
                Step::Get { key } => {
                    if let Some(found) = ready(store.get(hashed(&key))).unwrap() {
                        prop_assert_eq!(Some(found), model.get(&key).map(|value| entry(*value)));
                    }
                }
            }
            let stats = store.stats();
            prop_assert!(stats.negative_bytes <= negative_bytes && stats.positive_bytes <= positive_bytes);
            prop_assert!(stats.negative_entries + stats.positive_entries <= model.len());
        }
        let kept: Vec<_> = (0..24u64).filter_map(|key| ready(store.get(hashed(&key))).unwrap()).collect();
        let absent = kept.iter().filter(|entry| entry.is_absent()).count();
        prop_assert_eq!((kept.len() - absent, absent), (store.stats().positive_entries, store.stats().negative_entries));
        for key in 0..24u64 {
            ready(store.remove(hashed(&key))).unwrap();
        }
        let stats = store.stats();
        prop_assert_eq!((stats.negative_bytes, stats.positive_bytes, stats.negative_entries, stats.positive_entries), (0, 0, 0, 0));
    }
}
