//! The example as a program: what it does with bad input, and what its figures must say. `cargo test` builds it first.
#![cfg(feature = "gate")]

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The example that was built along with this test, or none where only this test was built.
fn program() -> Option<PathBuf> {
    let test = std::env::current_exe().expect("a running test has a path");
    let profile = test.parent()?.parent()?;
    let program = profile.join("examples").join(format!("gatekeeper{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        assert!(std::env::var_os("CI").is_none(), "in CI the example is built");
        eprintln!("skipped: the gatekeeper example is not built; `cargo test` builds it, `cargo test --test gatekeeper` does not");
        return None;
    }
    Some(program)
}

fn run(arguments: &[&str]) -> Option<Output> {
    Some(Command::new(program()?).args(arguments).output().expect("the example starts"))
}

#[track_caller]
fn is_refused(arguments: &[&str], says: &str) {
    let Some(output) = run(arguments) else { return };
    let text = String::from_utf8(output.stderr).expect("messages are UTF-8");
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert_eq!(text.lines().count(), 1, "one clear line, not: {text}");
    assert!(text.contains(says), "{text}");
    assert!(output.stdout.is_empty());
}

fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

#[test]
fn a_missing_names_file_is_one_line_and_exit_code_2() {
    is_refused(&["--existing", "no-such-file.txt"], "no-such-file.txt: no such file");
}

#[test]
fn an_empty_names_file_is_one_line_and_exit_code_2() {
    let (_folder, path) = file("empty.txt", b"");
    is_refused(&["--requested", &path], "holds no name");
}

#[test]
fn a_names_file_that_is_not_utf8_names_the_line() {
    let (_folder, path) = file("bad.txt", b"fine\nb\xffad\n");
    is_refused(&["--existing", &path], "line 2 is not UTF-8");
}

#[test]
fn a_false_positive_rate_that_is_none_is_refused_before_anything_runs() {
    for p in ["0", "1", "-1", "NaN", "inf", "1e-300"] {
        is_refused(&[&format!("--fpr={p}")], "false-positive rate");
    }
}

#[test]
fn shares_that_are_all_zero_are_refused() {
    is_refused(&["--partner", "0", "--enumeration", "0", "--hits", "0"], "all 0");
}

#[test]
fn the_gate_is_never_wrong_and_asks_the_database_for_next_to_nothing_that_is_not_there() {
    let Some(output) = run(&["--json", "--requests", "30000", "--seed", "7"]) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let figure = |mode: &str, name: &str| {
        let run = found["runs"].as_array().and_then(|runs| runs.iter().find(|run| run["mode"] == mode)).expect("each mode ran");
        run[name].as_u64().unwrap_or_else(|| panic!("{name} of {mode} is a number"))
    };
    for mode in ["cache_aside", "naive_setnx", "negative_cache", "gate"] {
        assert_eq!(figure(mode, "requests"), 30_000);
        let answers: u64 = ["present", "absent_filter", "absent_tombstone", "absent_source", "unknown"].iter().map(|a| figure(mode, a)).sum();
        assert_eq!(answers, 30_000, "every request of {mode} was answered once");
        assert!(figure(mode, "created") > 100);
    }
    assert_eq!(figure("negative_cache", "wrong_absent"), 0);
    assert_eq!(figure("gate", "wrong_absent"), 0);
    assert!(figure("naive_setnx", "wrong_absent") > 0, "the schedule is such that a naive negative cache goes wrong");
    // The created names are asked for before they exist, by readers that no cache can spare: with few requests they weigh more than in the README.
    assert!(figure("gate", "source_not_found") * 20 <= figure("cache_aside", "source_not_found"));
}
