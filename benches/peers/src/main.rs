//! How fast is absentia beside the other filter crates, on this machine, and beside the least that it could take?
//!
//! ```sh
//! cargo run --release --manifest-path benches/peers/Cargo.toml                                    # everything
//! cargo run --release --manifest-path benches/peers/Cargo.toml -- --keys 1e5 --filters fastbloom  # seconds
//! ```
//!
//! **What is measured.** ns a key of asking for absent keys, of asking for present ones and of inserting, one by one and, where a crate can, in batches
//! of 1024; hashing included. A static filter's insert is its construction. One process, one thread, the same keys for all, all filters alive at once,
//! interleaved rounds, fresh random questions every round. Questions do not wait for one another, so a processor overlaps them as far as a filter lets
//! it: this is how many answers a core gives, not how long one takes. Each filter is asked by the best call that its crate has, with XXH3 as its hash
//! where it takes one ("xxh3"); "own" is the hash or mix of the crate itself. Builds on two threads come last, in a line below the table; and filters that can
//! remove, filled to a load of 0.95 and emptied, in a table of their own (`churn.rs`).
//!
//! **How to read it.** A peer that can be given any number of bits has two rows: equal "bits" and equal measured "fpr". Of the others there is one row,
//! "fpr~", as near as they come. The floors are loops that hash a key and read one or two random lines: no filter can do less. Our large filters ask
//! for huge pages, so there are floors that do too; peers have the memory that they allocate themselves. An interval of an FPR is of 95 %. The bars at
//! the end are those of the crate's design notes.
//!
//! **Times and ratios.** A time is the median of its rounds, in processor time of the thread: what others have of a core is not in it, what they do
//! to its clock and caches is. Builds on two threads are in elapsed time, and mean nothing while others are at work. A ratio is *not* one of medians:
//! it is taken in each round, to ours in the same round, and the median of these is shown; the bars do the same. On a machine whose clock and
//! neighbours change by half from minute to minute the figures of a round rise and fall together, and those of different rounds cannot be divided.
//! Ours is the filter that absentia plans by itself for the rate, one line a key above 3e-4 and two lines below, with the best kernel; above 1 ours
//! is faster.
//!
//! **How long it takes.** With the defaults a quarter of an hour and 6 GB, with `--keys 1e5` half a minute. Nearly all of it goes into filling
//! filters of 10^8 keys: slow ones are filled once, and those of row 3 three times (`--slow-fill`), and from 5·10^7 keys on some rows are left out.
//! The line "noise" below a table says whether the machine was quiet.
//!
//! A filter that denies an inserted key, a batch that does not answer as single questions do, and a parallel build with other bits than the serial one
//! end the program with exit code 1; bad arguments end it with 2. Progress goes to the standard error, results to the standard output; one run can
//! write a table, JSON (`--json-file`) and plots (`--plots`).

mod args;
mod bars;
mod block;
mod churn;
mod filter;
mod floor;
mod json;
mod keys;
mod machine;
mod ours;
mod peers;
mod plots;
mod run;
mod size;
mod stats;
mod table;

use args::{Args, KeyType};
use block::Block;
use keys::{BenchKey, Str20};
use run::Plan;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let args = match Args::parse_from_words(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(help) if !help.use_stderr() => {
            print!("{help}");
            return ExitCode::SUCCESS;
        }
        Err(error) => return usage(&args::one_line(&error)),
    };
    if let Err(error) = possible(&args) {
        return usage(&format!("error: {error}"));
    }
    match measure(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage(line: &str) -> ExitCode {
    eprintln!("{line}");
    ExitCode::from(2)
}

/// What clap cannot see: that the filters exist, that the memory does, and that plots have a place.
fn possible(args: &Args) -> Result<(), String> {
    let names = run::names::<u64>();
    for part in &args.filters {
        if !names.iter().any(|name| name.to_lowercase().contains(part)) {
            return Err(format!("no filter is called '{part}'; there are: {}", names.join("; ")));
        }
    }
    // Some three bytes a key for each of two dozen filters, forty while xorf constructs, and the keys.
    let most = args.keys.iter().max().copied().unwrap_or(1);
    let key = if args.key_type.contains(&KeyType::Str20) { 20 } else { 8 };
    let needed = most.saturating_mul(key + 40 + if args.filters.is_empty() { 24 * 3 } else { 12 });
    if machine::available_memory().is_some_and(|available| available < needed) {
        return Err(format!("{most} keys need some {} GiB, and there is less memory than that", needed >> 30));
    }
    // A place that cannot be written is better known now than after a quarter of an hour.
    if let Some(path) = &args.json_file {
        std::fs::write(path, "").map_err(|error| format!("{}: {error}", path.display()))?;
    }
    match &args.plots {
        Some(directory) => std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display())),
        None => Ok(()),
    }
}

fn measure(args: &Args) -> Result<(), String> {
    let plan =
        Plan { rounds: args.rounds as u32, queries: args.queries, slow_fill: Duration::from_secs_f64(args.slow_fill), filters: args.filters.clone() };
    let machine = machine::Machine::here();
    let started = Instant::now();
    if !args.json {
        say(&format!("{}\n", machine.header()));
    }
    let mut blocks = Vec::new();
    for &key_type in &args.key_type {
        for &keys in &args.keys {
            match key_type {
                KeyType::U64 => of_keys::<u64>(keys, args, &plan, &mut blocks)?,
                KeyType::Str20 => of_keys::<Str20>(keys, args, &plan, &mut blocks)?,
            }
        }
    }
    let bars = bars::bars(&blocks);
    let document = json::document(&machine, &blocks, &bars).to_string();
    if let Some(path) = &args.json_file {
        std::fs::write(path, format!("{document}\n")).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if args.json {
        say(&document);
    } else {
        say(&bars::summary(&bars));
        say(&format!("{:.0} s in all", started.elapsed().as_secs_f64()));
    }
    match &args.plots {
        Some(directory) => plots::write(&blocks, directory),
        None => Ok(()),
    }
}

/// The blocks of one number of keys, shown as they come.
fn of_keys<K: BenchKey>(keys: u64, args: &Args, plan: &Plan, blocks: &mut Vec<Block>) -> Result<(), String> {
    let inserted: Vec<K> = keys::keys_from(0, keys);
    for &p in &args.fpr {
        let started = Instant::now();
        let place = format!("{:e} {} keys, p = {p}", keys as f64, K::NAME);
        let block = run::block(&inserted, p, plan, &|step| progress(&format!("{place}, {:.0} s: {step}", started.elapsed().as_secs_f64())))?;
        progress_done(&format!("{place}: done in {:.0} s", started.elapsed().as_secs_f64()));
        if !args.json {
            say(&table::table(&block));
        }
        blocks.push(block);
    }
    Ok(())
}

/// A line of the results. Nobody may be left to read them, as behind `| head`: then the program is done.
fn say(line: &str) {
    if writeln!(std::io::stdout(), "{line}").is_err() {
        std::process::exit(0);
    }
}

/// One line that is written over and over; nothing where nobody watches.
fn progress(step: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{step}");
    }
}

/// A line that stays, watched or not.
fn progress_done(what: &str) {
    progress("");
    eprintln!("{what}");
}
