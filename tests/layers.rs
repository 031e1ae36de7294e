//! Imports point down. A file of `src` names its own folder or a lower layer, never one above it and never one beside it.
//!
//! The compiler allows what this forbids, so the test reads the sources as text, sees all paths in them (those in `use` groups over several lines and
//! those that climb with `super` included) and holds them against [`LAYERS`]. Three more rules need no more than that: where `unsafe` may stand,
//! and that threads, time and timers come in by one door each, so that a model checker or a simulation can be put behind it.
//!
//! What it does not see: a path that a macro puts together, and a name that reached a module through a re-export of a lower one.

#[path = "layers/scan.rs"]
mod scan;

use scan::{Named, Word, paths, words};
use std::fmt;
use std::fs;
use std::path::Path;

/// Lowest first. Modules of one row are side by side and do not know each other. A top-level module that is not here fails the test: add it where
/// it belongs, with a reason if it needs a row of its own. A folder that fits no row collects everything.
const LAYERS: &[&[&str]] = &[
    // `params` only checks numbers and names nothing else, so the hasher above it can return its error.
    &["sync", "params"],
    // Above `sync`: a coarse clock is an atomic.
    &["time", "sys"],
    &["key", "bits"],
    &["filter", "kernel"],
    // What places in lines come to, for every kind that has some. Above `kernel`, whose lanes limit the positions.
    &["rate"],
    &["bloom", "cuckoo", "rotating"],
    &["snapshot"],
    // Below `loader`: a loader is handed the token that a fence gave out.
    &["fence"],
    // The boundary between a gate and its loader, which both sides name.
    &["loader"],
    &["negative"],
    &["gate"],
    &["integrations"],
    // The simulation drives everything; `lib.rs` must declare it under `cfg(test)`.
    &["sim"],
];

/// `lib.rs` only re-exports, `docs` is prose, a program in `bin` is a crate of its own that sees what every user sees, and `conformance` is a block
/// of re-exports inside `lib.rs`.
const MAY_NAME_ANYTHING: &[&str] = &["lib", "docs", "bin", "conformance"];

/// Lower layers that a module keeps out of all the same: (module, the others, why).
const STRANGERS: &[(&str, &[&str], &str)] =
    &[("gate", &["bloom", "cuckoo", "rotating"], "it knows filters by their traits, so that a new kind does not change it")];

/// Items of `lib.rs` itself that a module may name: (module, item, why).
const WIRED_IN_THE_ROOT: &[(&str, &str, &str)] =
    &[("gate", "default_filters", "somebody must choose the default kind, and the gate keeps kinds out")];

/// What comes in by one door: (path, the file that may name it, why). A module called `tests` may count with atomics of its own, since those are no
/// part of a protocol; loom's models are not in such modules. It may not sleep or read the time.
const DOORS: &[(&str, &str, &str)] = &[
    ("std::sync", "sync.rs", "loom replaces atomics and locks there"),
    ("core::sync", "sync.rs", "loom replaces atomics and locks there"),
    ("arc_swap", "sync.rs", "loom cannot see inside it, `sync::Swap` stands in"),
    ("Instant::now", "time.rs", "a test's clock is mocked there"),
    ("SystemTime::now", "time.rs", "a test's clock is mocked there"),
    ("thread::sleep", "time.rs", "a test's clock is mocked there"),
    ("futures_timer", "time.rs", "the clock owns the timers"),
];

/// Named in any file: neither loom nor a clock has to stand behind these.
const NO_DOOR: &[&str] = &["Arc", "Weak", "OnceLock", "LazyLock"];

fn may_be_unsafe(file: &str) -> bool {
    file == "sys.rs" || file.starts_with("kernel/")
}

struct Breach {
    file: String,
    line: usize,
    what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "src/{}:{}: {}", self.file, self.line, self.what)
    }
}

/// All breaches in one file. `file` is its path below `src`, with forward slashes.
fn check(file: &str, source: &str) -> Vec<Breach> {
    let words = words(source);
    let (home, mut breaches) = (home(file), Vec::new());
    let top = home.first().map_or("lib", String::as_str);
    let mut breach = |line, what| breaches.push(Breach { file: file.to_owned(), line, what });

    if !MAY_NAME_ANYTHING.contains(&top) && layer(top).is_none() {
        breach(1, format!("`{top}` is not in the table of layers"));
    }
    if !may_be_unsafe(file) {
        words.iter().filter(|w| w.text == "unsafe").for_each(|w| breach(w.line, "`unsafe` outside kernel/ and sys.rs".to_owned()));
    }
    if top == "lib" {
        modules_of_the_root(&words, &mut breach);
    }
    for Named { path, line, inside } in paths(&words) {
        let inside: Vec<_> = home.iter().chain(&inside).map(String::as_str).collect();
        if !MAY_NAME_ANYTHING.contains(&top)
            && let Some(named) = from_the_root(&path, &inside)
            && let Some(what) = layer_breach(top, named.first().copied())
        {
            breach(line, what);
        }
        for (door, keeper, why) in DOORS {
            let in_tests = inside.contains(&"tests") && door.ends_with("::sync");
            if file != *keeper && !in_tests && goes_through(&path, door) {
                breach(line, format!("`{}` only in {keeper}: {why}", path.join("::")));
            }
        }
    }
    breaches
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

/// `named` is the top-level module that a path from the root begins with, none for the root itself.
fn layer_breach(top: &str, named: Option<&str>) -> Option<String> {
    let named = named.unwrap_or("*");
    match (layer(top), layer(named)) {
        _ if top == named => None,
        _ if WIRED_IN_THE_ROOT.iter().any(|(module, item, _)| (*module, *item) == (top, named)) => None,
        // Also what `lib.rs` re-exports: by that way everything could reach everything.
        (_, None) => Some(format!("`crate::{named}` is no module of the table; name the module that holds it")),
        (Some(from), Some(to)) if from < to => Some(format!("`{top}` names `{named}`, which is above it")),
        (Some(from), Some(to)) if from == to => Some(format!("`{top}` names `{named}`, which is beside it")),
        _ => STRANGERS
            .iter()
            .find(|(module, others, _)| *module == top && others.contains(&named))
            .map(|(_, _, why)| format!("`{top}` names `{named}`, which it keeps out: {why}")),
    }
}

/// `lib.rs` is where a module could appear without a file of its own, and where the simulation is kept out of the library.
fn modules_of_the_root(words: &[Word], breach: &mut impl FnMut(usize, String)) {
    for (at, pair) in words.windows(2).enumerate().filter(|(_, pair)| pair[0].text == "mod") {
        let (module, line) = (pair[1].text.as_str(), pair[1].line);
        if layer(module).is_none() && !MAY_NAME_ANYTHING.contains(&module) && module != "tests" {
            breach(line, format!("`{module}` is not in the table of layers"));
        }
        // The attributes reach back to the end of the item before.
        let start = words[..at].iter().rposition(|w| matches!(w.text.as_str(), ";" | "}")).map_or(0, |end| end + 1);
        let attributes: String = words[start..at].iter().map(|w| w.text.as_str()).collect();
        if module == "sim" && !["#[cfg(test)]", "#[cfg(all(test,"].iter().any(|cfg| attributes.contains(cfg)) {
            breach(line, "`sim` must be declared under `cfg(test)`".to_owned());
        }
    }
}

/// The module that a file is: `key/mod.rs` and `key.rs` are `[key]`, `key/hash.rs` is `[key, hash]`, `lib.rs` is the root.
fn home(file: &str) -> Vec<String> {
    let mut home: Vec<_> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if home.last().is_some_and(|last| last == "mod" || home == ["lib"]) {
        home.pop();
    }
    home
}

/// Whether the path names something behind the door. A bare or globbed door is a breach too: what is reached through it would go unseen.
fn goes_through(path: &[String], door: &str) -> bool {
    let door: Vec<_> = door.split("::").collect();
    let behind = path.windows(door.len()).position(|names| names == door).map(|at| path.get(at + door.len()));
    behind.is_some_and(|next| !next.is_some_and(|name| NO_DOOR.contains(&name.as_str())))
}

/// The path as seen from the crate's root, if it is one of this crate: through `crate`, through the crate's own name, or up by `super`.
fn from_the_root<'a>(path: &'a [String], inside: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut rest: Vec<_> = path.iter().map(String::as_str).collect();
    match rest[0] {
        "crate" | "absentia" => Some(rest.split_off(1)),
        "self" | "super" => {
            let mut at = inside.to_vec();
            while let Some(&step @ ("self" | "super")) = rest.first() {
                if step == "super" {
                    at.pop();
                }
                rest.remove(0);
            }
            at.append(&mut rest);
            Some(at)
        }
        _ => None,
    }
}

/// (path below `src`, text) of every Rust file.
fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, below: &str, found: &mut Vec<(String, String)>) {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let name = entry.file_name().into_string().expect("file names of this crate are UTF-8");
            let path = entry.path();
            if path.is_dir() {
                walk(&path, &format!("{below}{name}/"), found);
            } else if name.ends_with(".rs") {
                found.push((format!("{below}{name}"), fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))));
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut found);
    found.sort();
    found
}

#[test]
fn imports_point_down_and_every_door_is_used() {
    let sources = sources();
    // A scanner that sees nothing finds no breach either.
    assert!(sources.iter().any(|(file, _)| file == "lib.rs") && sources.len() > 10, "only {} files were read", sources.len());
    let down = sources.iter().flat_map(|(_, text)| paths(&words(text))).filter(|named| named.path[0] == "crate").count();
    assert!(down > 10, "only {down} paths were seen");

    let breaches: Vec<_> = sources.iter().flat_map(|(file, text)| check(file, text)).map(|b| b.to_string()).collect();
    assert!(breaches.is_empty(), "{} breaches:\n{}", breaches.len(), breaches.join("\n"));
}

#[test]
fn no_module_stands_in_two_layers() {
    let mut modules: Vec<_> = LAYERS.concat();
    modules.extend(MAY_NAME_ANYTHING);
    modules.sort_unstable();
    assert!(modules.windows(2).all(|pair| pair[0] != pair[1]), "{modules:?}");
}

#[track_caller]
fn finds(file: &str, source: &str, expected: &[&str]) {
    let found: Vec<_> = check(file, source).iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{found}\nlacks {expected}");
    }
}

#[test]
fn an_import_from_above_is_found() {
    finds("bloom/blocked.rs", "use crate::gate::Gate;", &["src/bloom/blocked.rs:1: `bloom` names `gate`, which is above it"]);
    finds("key/mod.rs", "\n\nfn f() -> crate::negative::Entry { loop {} }", &[":3: `key` names `negative`"]);
    finds("fence/mod.rs", "pub(in crate::gate) fn f() {}", &["above"]);
    finds("gate/mod.rs", "use crate::sim;", &["above"]);
}

#[test]
fn an_import_from_beside_is_found() {
    finds("bloom/mod.rs", "use crate::cuckoo::Bucket;", &["`bloom` names `cuckoo`, which is beside it"]);
    finds("sync.rs", "use crate::params::Fpr;", &["beside"]);
}

#[test]
fn own_folder_and_lower_layers_are_fine() {
    finds("bloom/blocked.rs", "use super::sizing; use crate::{bloom::probe, filter::Insert, kernel, sync::*}; use self::inner::X;", &[]);
    finds("key/hasher.rs", "use super::{Key, KeyHash}; use crate::params::ParamError;", &[]);
    finds("negative/flight.rs", "use crate::fence::Token; fn f(x: u64) -> u64 { u64::from(x) }", &[]);
    finds("sim/mod.rs", "use crate::{gate, negative, integrations::redis};", &[]);
}

#[test]
fn groups_are_spread_even_over_lines() {
    let source = "use crate::{\n    key::{self, Key},\n    negative::{\n        entry,\n        policy as p,\n    },\n    gate,\n};";
    finds("bloom/mod.rs", source, &[":4: `bloom` names `negative`", ":5: `bloom` names `negative`", ":7: `bloom` names `gate`"]);
    finds("bloom/mod.rs", "use {crate::gate::Gate, std::fmt, crate::{self as root}};", &["`gate`", "`crate::*`"]);
    finds("bloom/mod.rs", "pub(crate) use ::absentia::gate::Gate as G;", &["`gate`"]);
}

#[test]
fn super_does_not_escape() {
    finds("bloom/blocked.rs", "use super::super::gate::Gate;", &["`gate`"]);
    finds("filter.rs", "use super::gate;", &["`gate`"]);
    finds("kernel/x86_64/avx2.rs", "use super::super::super::{bloom, key}; use super::super::portable;", &["`bloom`"]);
    // One level more inside an inline module, none after its end.
    finds(
        "filter.rs",
        "mod tests { use super::*; use super::gate::X; mod deep { use super::super::super::gate; } } use super::gate;",
        &["`gate`"; 2],
    );
    finds("bloom/mod.rs", "fn f() { self::super::cuckoo::new() }", &["beside"]);
}

#[test]
fn the_root_is_no_way_round() {
    finds("bloom/mod.rs", "use crate::ExistenceGate;", &["`crate::ExistenceGate` is no module of the table"]);
    finds("bloom/mod.rs", "use crate::*;", &["`crate::*`"]);
    finds("filter.rs", "use super::*;", &["`crate::*`"]);
}

#[test]
fn the_gate_names_no_kind_of_filter() {
    finds("gate/builder.rs", "use crate::{bloom::BlockedBloom, filter::Membership};", &["`gate` names `bloom`, which it keeps out"]);
    finds("gate/builder.rs", "fn f() { crate::default_filters() }", &[]);
    finds("negative/cache.rs", "fn f() { crate::default_filters() }", &["`crate::default_filters` is no module"]);
}

#[test]
fn comments_and_literals_are_no_imports() {
    let source = r###"
        //! crate::gate
        /// [`Gate`](crate::gate::Gate), unsafe
        /* crate::gate /* nested */ crate::gate */
        #[doc = "crate::gate"]
        const A: &str = "a \" crate::gate"; const B: &str = r#"" crate::gate"#; const C: &[u8] = b"crate::gate";
        const D: char = '"'; const E: char = '\''; const F: u8 = b'"'; const G: char = '\u{22}';
        fn f<'a>(x: &'a str) -> impl Sized + use<'a> { x }
    "###;
    finds("bloom/mod.rs", source, &[]);
    finds("bloom/mod.rs", &format!("{source} use crate::gate;"), &["src/bloom/mod.rs:9: "]);
}

#[test]
fn macros_do_not_stop_the_scan() {
    finds("bloom/mod.rs", "macro_rules! m { ($a:ident) => { use $a; use $crate::{gate}; $crate::cuckoo::f() } }", &["`gate`", "`cuckoo`"]);
    // Not Rust, but a pattern may hold it; what counts is that the scan ends.
    let _ = check("bloom/mod.rs", "use crate::{gate ; # [ 'a \" { /* ");
}

#[test]
fn a_new_top_level_module_is_found() {
    finds("util.rs", "", &["`util` is not in the table"]);
    finds("common/types.rs", "", &["`common` is not in the table"]);
    finds("lib.rs", "mod key; mod helpers { }", &["`helpers` is not in the table"]);
}

#[test]
fn the_simulation_is_for_tests_only() {
    finds("lib.rs", "mod gate; mod sim;", &["`cfg(test)`"]);
    finds("lib.rs", "mod gate; #[cfg(test)] mod sim;", &[]);
    finds("lib.rs", "mod gate; #[cfg(all(test, feature = \"gate\"))] mod sim; pub use crate::gate::Gate;", &[]);
    finds("lib.rs", "#[cfg(test)] mod gate; mod sim;", &["`cfg(test)`"]);
}

#[test]
fn unsafe_stays_in_its_two_places() {
    finds("bloom/blocked.rs", "fn f() { unsafe { g() } } #![allow(unsafe_code)]", &["`unsafe` outside kernel/ and sys.rs"]);
    finds("kernel/portable.rs", "unsafe fn f() {}", &[]);
    finds("sys.rs", "unsafe fn f() {}", &[]);
}

#[test]
fn threads_time_and_timers_come_in_by_their_doors() {
    finds("gate/mod.rs", "use std::sync::{Arc, OnceLock, atomic::AtomicU64, Mutex};", &["`std::sync::atomic::AtomicU64`", "`std::sync::Mutex`"]);
    finds("gate/mod.rs", "fn f() { core::sync::atomic::fence(O) }", &["only in sync.rs"]);
    finds("gate/mod.rs", "use std::{sync, fmt}; use std::sync::*; use std::sync::Weak;", &["`std::sync`", "`std::sync::*`"]);
    finds("gate/mod.rs", "use arc_swap::ArcSwap;", &["only in sync.rs"]);
    finds("gate/mod.rs", "fn f() { Instant::now(); std::time::SystemTime::now(); }", &["`Instant::now`", "`std::time::SystemTime::now`"]);
    finds("gate/mod.rs", "use std::time::Instant; fn f(t: Instant) { thread::sleep(D) }", &["`thread::sleep`"]);
    finds("lib.rs", "use futures_timer::Delay;", &["only in time.rs"]);
    finds("time.rs", "fn f() { Instant::now(); futures_timer::Delay::new(D); std::thread::sleep(D) }", &[]);
    finds("sync.rs", "pub(crate) use std::sync::{Mutex, atomic::*};", &[]);
    finds(
        "gate/mod.rs",
        "mod tests { use std::sync::atomic::AtomicBool; fn f() { Instant::now(); } } use std::sync::Mutex;",
        &["time.rs", "sync.rs"],
    );
    finds("gate/tests.rs", "use std::sync::Mutex;", &[]);
}
