//! The gatekeeper example's traffic and its readers of name lists. They live beside the example; cargo does not run an example's own tests.

#[path = "../examples/gatekeeper/traffic.rs"]
mod traffic;

use flate2::{Compression, write::GzEncoder};
use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::PathBuf;
use traffic::{NamesError, Origin, Shares, Traffic, bundled_existing, bundled_requested, load_names};

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{prefix}{i}")).collect()
}

/// A file of this test's own, under the build folder, so that parallel tests and parallel runs do not meet.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).expect("the build folder can be written to");
    path
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory")
}

#[test]
fn the_same_seed_gives_the_same_requests_and_another_seed_others() {
    let traffic = |seed| Traffic::new(names("row-", 100), names("ask-", 100), seed).take(1000).collect::<Vec<_>>();
    assert_eq!(traffic(1), traffic(1));
    assert_ne!(traffic(1), traffic(2));
}

#[test]
fn a_clone_replays_from_where_the_original_stands() {
    let mut traffic = Traffic::new(names("row-", 100), names("ask-", 100), 3);
    traffic.by_ref().take(500).for_each(drop);
    let replay: Vec<_> = traffic.clone().take(500).collect();
    assert_eq!(traffic.take(500).collect::<Vec<_>>(), replay);
}

#[test]
fn clients_send_the_same_traffic_in_another_order_and_walk_other_ids() {
    let traffic = Traffic::new(names("row-", 100), names("ask-", 100), 3);
    let requests = |client| traffic.for_client(client).take(2000).collect::<Vec<_>>();
    assert_eq!(requests(1), requests(1));
    assert_ne!(requests(1), requests(2));
    let walked = |client| requests(client).into_iter().filter(|r| r.origin == Origin::Enumeration).map(|r| r.key).collect::<HashSet<_>>();
    assert!(walked(1).is_disjoint(&walked(2)));
    let popular = |client| {
        let mut counts = HashMap::<String, u32>::new();
        requests(client).into_iter().filter(|r| r.origin == Origin::Partner).for_each(|r| *counts.entry(r.key).or_default() += 1);
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(key, _)| key)
    };
    assert_eq!(popular(1), popular(2), "what is popular with one is popular with all");
}

/// n = 100,000 requests with a fixed seed, so this passes always or never; the bound, 0.01, is 6 standard deviations of the largest share.
#[test]
fn the_streams_come_in_their_shares() {
    let share_of = |traffic: Traffic, origin| traffic.take(100_000).filter(|r| r.origin == origin).count() as f64 / 100_000.0;
    let traffic = Traffic::new(names("row-", 1000), names("ask-", 1000), 4);
    for (origin, share) in [(Origin::Partner, 0.70), (Origin::Enumeration, 0.15), (Origin::RealHit, 0.15)] {
        let seen = share_of(traffic.clone(), origin);
        assert!((seen - share).abs() < 0.01, "{origin:?}: {seen}, not {share}");
    }
    let flood = traffic.with_shares(Shares { partner: 0, enumeration: 1, real_hits: 0 });
    assert_eq!(share_of(flood, Origin::Enumeration), 1.0);
}

#[test]
fn every_stream_asks_from_its_own_list() {
    for request in Traffic::new(names("row-", 50), names("ask-", 50), 5).take(10_000) {
        let prefix = match request.origin {
            Origin::Partner => "ask-",
            Origin::Enumeration => "item-",
            Origin::RealHit => "row-",
        };
        assert!(request.key.starts_with(prefix), "{request:?}");
    }
}

#[test]
fn an_enumeration_walks_on_and_never_repeats() {
    let flood = Traffic::new(names("row-", 1), names("ask-", 1), 6).filter(|r| r.origin == Origin::Enumeration);
    let keys: Vec<_> = flood.take(1000).map(|r| r.key).collect();
    assert_eq!((keys[0].as_str(), keys[999].as_str()), ("item-000001", "item-001000"));
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 1000);
}

/// Rank r comes in proportion to 1/r. With 1000 ranks the first is 13.4 % of the partner's requests and ten times as frequent as the tenth; fixed
/// seed, n = 200,000, bounds at more than 5 standard deviations.
#[test]
fn popular_names_are_asked_for_by_rank() {
    let only_partner = Shares { partner: 1, enumeration: 0, real_hits: 0 };
    let traffic = Traffic::new(names("row-", 1), names("ask-", 1000), 7).with_shares(only_partner);
    let mut seen: HashMap<String, u32> = HashMap::new();
    for request in traffic.take(200_000) {
        *seen.entry(request.key).or_default() += 1;
    }
    let (first, tenth) = (f64::from(seen["ask-0"]), f64::from(seen["ask-9"]));
    assert!((first / 200_000.0 - 0.1336).abs() < 0.004, "{first}");
    assert!((8.9..11.3).contains(&(first / tenth)), "{first} / {tenth}");
    assert!(seen.len() > 990, "rare names are asked for too, of 1000 came {}", seen.len());
}

#[test]
fn single_names_are_enough() {
    let traffic = Traffic::new(names("row-", 1), names("ask-", 1), u64::MAX);
    assert_eq!(traffic.take(100).count(), 100);
}

#[test]
#[should_panic(expected = "at least one existing")]
fn an_empty_list_is_refused() {
    let _ = Traffic::new(Vec::new(), names("ask-", 1), 0);
}

#[test]
#[should_panic(expected = "at least one share")]
fn no_traffic_at_all_is_refused() {
    let _ = Traffic::new(names("row-", 1), names("ask-", 1), 0).with_shares(Shares { partner: 0, enumeration: 0, real_hits: 0 });
}

#[test]
fn the_bundled_lists_are_as_their_readme_says() {
    let (existing, requested) = (bundled_existing(), bundled_requested());
    assert_eq!((existing.len(), requested.len()), (23_268, 24_000));
    let rows: HashSet<_> = existing.iter().collect();
    assert_eq!(rows.len(), existing.len(), "a row twice");
    assert_eq!(requested.iter().collect::<HashSet<_>>().len(), requested.len(), "a requested name twice");
    assert_eq!(requested.iter().filter(|name| rows.contains(name)).count(), 1138);
}

#[test]
fn plain_gzip_and_concatenated_gzip_read_alike() {
    let expected = ["left-pad", "a b", "ünïcode", "0"];
    let plain = "left-pad\r\n\n  \na b\nünïcode\r\n0\r".as_bytes();
    let (head, tail) = plain.split_at(14);
    for (name, bytes) in [
        ("plain.txt", plain.to_vec()),
        ("whole.gz", gzip(plain)),
        ("no-gz-in-its-name", gzip(plain)),
        ("parts.gz", [gzip(head), gzip(tail)].concat()),
        ("bom.txt", ["\u{feff}".as_bytes(), plain].concat()),
    ] {
        assert_eq!(load_names(file(name, &bytes)).expect(name), expected, "{name}");
    }
}

#[test]
fn every_error_is_one_line_that_names_the_file() {
    let cut = gzip(&[b'x'; 1000]);
    let cases = [
        (PathBuf::from("no/such/names.txt"), "no such file"),
        (file("empty.txt", b""), "holds no name"),
        (file("blank.txt", b"\r\n \n\n"), "holds no name"),
        (file("empty.gz", &gzip(b"")), "holds no name"),
        (file("latin1.txt", b"one\ntwo\nthr\xe9\nfour\n"), "line 3 is not UTF-8"),
        (file("latin1.gz", &gzip(b"\xff")), "line 1 is not UTF-8"),
        (file("cut.gz", &cut[..cut.len() / 2]), "cannot be read: "),
    ];
    for (path, expected) in cases {
        let error = load_names(&path).expect_err(expected);
        let line = error.to_string();
        assert!(line.starts_with(&path.display().to_string()) && line.contains(expected) && !line.contains('\n'), "{line}");
        assert_eq!(std::error::Error::source(&error).is_some(), matches!(error, NamesError::Unreadable { .. }), "{line}");
    }
}
