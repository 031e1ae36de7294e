//! The file lock that makes this process the only creator.

use crate::support::*;
use absentia::*;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const PATH: &str = "ABSENTIA_TEST_LOCK";

/// A path of this test's own.
fn path(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}.lock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn one_holder_in_this_process() {
    let path = path("one");
    let lock = Exclusivity::file_lock(&path).unwrap();
    let error = Exclusivity::file_lock(&path).unwrap_err();
    assert!(matches!(&error, LockError::Held { path: held } if *held == path), "{error}");
    let gate = World::with(Coverage::Exclusive(lock.first_start()), |b| b).rebuilt(0..10);
    assert!(gate.gate.check(&99).is_absent());
    assert!(matches!(Exclusivity::file_lock(&path), Err(LockError::Held { .. })), "the gate holds it");
    drop(gate);
    assert!(Exclusivity::file_lock(&path).is_ok(), "and gives it back");
}

/// A gate kept the guard of a distrust that nobody had settled, the guard kept the gate, and so the lock was held until the process ended.
#[test]
fn a_gate_with_an_unresolved_bulk_create_gives_its_lock_back() {
    let path = path("bulk");
    let lock = Exclusivity::file_lock(&path).unwrap().first_start();
    let world = World::with(Coverage::Exclusive(lock), |b| b.announce_limit(1)).rebuilt(0..10);
    drop(world.gate.begin_create_many(&[20, 21, 22]));
    drop(world);
    assert!(Exclusivity::file_lock(&path).is_ok(), "the gate is gone, its lock is not");
}

#[test]
fn a_path_that_cannot_be_opened_is_an_error_that_names_it() {
    let nowhere = path("none").join("below-a-file-that-is-not-there");
    let error = Exclusivity::file_lock(&nowhere).unwrap_err();
    assert!(matches!(&error, LockError::Io { .. }) && error.to_string().contains("below-a-file"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn one_holder_among_processes() {
    let path = path("processes");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "locks::hold_the_lock_until_stdin_ends", "--ignored", "--nocapture"])
        .env(PATH, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("lock held")), "the other process did not get the lock");
    let error = Exclusivity::file_lock(&path).unwrap_err();
    assert!(matches!(error, LockError::Held { .. }), "{error}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(Exclusivity::file_lock(&path).is_ok(), "a lock dies with its process");
}

/// The other process of the test above.
#[test]
#[ignore = "runs in a process of its own, for another test"]
fn hold_the_lock_until_stdin_ends() {
    let Ok(path) = std::env::var(PATH) else { return };
    let _lock = Exclusivity::file_lock(path).unwrap();
    println!("lock held");
    let _ = std::io::read_to_string(std::io::stdin());
}

#[cfg(unix)]
#[test]
fn a_lock_file_that_was_replaced_protects_nobody() {
    for replace in [false, true] {
        let path = path(if replace { "replaced" } else { "deleted" });
        let lock = Exclusivity::file_lock(&path).unwrap().first_start();
        let world = World::with(Coverage::Exclusive(lock), |b| b).rebuilt(0..10);
        assert!(world.gate.is_trusted());
        std::fs::remove_file(&path).unwrap();
        let other = replace.then(|| Exclusivity::file_lock(&path).expect("another process gets the new file's lock"));
        let rebuilt = world.rebuild().unwrap();
        assert_eq!((rebuilt.trusted, world.gate.status().trust), (false, Trust::LockLost));
        assert_eq!(world.gate.check(&99), Verdict::Possible(Reason::LockLost));
        drop(other);
    }
}

#[cfg(unix)]
#[test]
fn a_lock_file_that_is_replaced_during_the_scan_is_noticed_before_the_swap() {
    let path = path("during");
    let lock = Exclusivity::file_lock(&path).unwrap().first_start();
    let world = World::with(Coverage::Exclusive(lock), |b| b).rebuilt(0..10);
    let rebuild = Task::begun(world.gate.rebuild(&world.db));
    std::fs::remove_file(&path).unwrap();
    assert!(!rebuild.end().unwrap().trusted);
    assert_eq!(world.gate.status().trust, Trust::LockLost);
}
