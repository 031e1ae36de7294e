//! The command line. Whatever is wrong with it is one line and exit code 2.

use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// More keys than this and xorf's 32-bit sizes overflow.
const MOST_KEYS: f64 = 2e9;

/// Measures absentia against other filter crates, in one process and on the same keys.
#[derive(Debug, Parser)]
#[command(name = "peers")]
pub struct Args {
    /// How many keys to insert.
    #[arg(long, value_delimiter = ',', default_value = "1e5,1e7,1e8", value_parser = count, allow_hyphen_values = true)]
    pub keys: Vec<u64>,

    /// False-positive rates to ask for.
    #[arg(long, value_delimiter = ',', default_value = "0.01,0.001", value_parser = rate, allow_hyphen_values = true)]
    pub fpr: Vec<f64>,

    /// Interleaved rounds, of which medians are shown; five or more, or they say little.
    #[arg(long, default_value = "5", value_parser = count, allow_hyphen_values = true)]
    pub rounds: u64,

    /// Questions a round, absent and present each.
    #[arg(long, default_value = "1e6", value_parser = count, allow_hyphen_values = true)]
    pub queries: u64,

    /// Only peers and floors whose name contains one of these; ours are always measured.
    #[arg(long, value_delimiter = ',', value_parser = part)]
    pub filters: Vec<String>,

    /// Kinds of key: random 64-bit integers, or texts of 20 bytes.
    #[arg(long, value_delimiter = ',', value_enum, default_value = "u64")]
    pub key_type: Vec<KeyType>,

    /// A filter that takes longer than so many seconds to fill is filled once, not in every round; those of row 3 three times.
    #[arg(long, default_value = "1", value_parser = seconds, allow_hyphen_values = true)]
    pub slow_fill: f64,

    /// JSON instead of tables.
    #[arg(long)]
    pub json: bool,

    /// Write the JSON into this file, beside what the standard output gets.
    #[arg(long)]
    pub json_file: Option<PathBuf>,

    /// Write absent-by-keys.svg, batch-by-keys.svg and bits-by-fpr.svg into this directory.
    #[arg(long)]
    pub plots: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyType {
    U64,
    Str20,
}

impl Args {
    /// From the command line without the program's name; the error is one line.
    pub fn parse_from_words<I: IntoIterator<Item = String>>(words: I) -> Result<Self, clap::Error> {
        let mut args = Self::try_parse_from(std::iter::once("peers".to_string()).chain(words))?;
        args.keys.sort_unstable();
        args.keys.dedup();
        // The same rate twice would be measured twice, and plotted over itself.
        args.fpr.sort_unstable_by(|a, b| b.total_cmp(a));
        args.fpr.dedup();
        Ok(args)
    }
}

/// The first line of what clap would say. The rest repeats the usage.
pub fn one_line(error: &clap::Error) -> String {
    error.render().to_string().lines().next().unwrap_or("error: bad arguments").to_string()
}

/// A whole number of at least 1; `1e7` is one.
fn count(text: &str) -> Result<u64, String> {
    let number: f64 = text.trim().parse().map_err(|_| "not a number".to_string())?;
    if !(number >= 1.0 && number.fract() == 0.0) {
        return Err("not a whole number of at least 1".to_string());
    }
    if number > MOST_KEYS {
        return Err(format!("more than {MOST_KEYS:e}"));
    }
    Ok(number as u64)
}

/// A rate that absentia accepts.
fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.trim().parse().map_err(|_| "not a number".to_string())?;
    absentia::Fpr::new(rate).map(|_| rate).map_err(|error| error.to_string())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.trim().parse().map_err(|_| "not a number".to_string())?;
    if (0.0..1e9).contains(&seconds) { Ok(seconds) } else { Err("not a number of seconds".to_string()) }
}

/// A part of a name, to be compared in lower case.
fn part(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("an empty part of a name".to_string()) } else { Ok(text.trim().to_lowercase()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, String> {
        Args::parse_from_words(line.split_whitespace().map(ToString::to_string)).map_err(|error| one_line(&error))
    }

    #[test]
    fn defaults_are_those_of_the_readme() {
        let args = parse("").unwrap();
        assert_eq!((args.keys, args.fpr), (vec![100_000, 10_000_000, 100_000_000], vec![0.01, 0.001]));
        assert_eq!((args.rounds, args.queries, args.key_type), (5, 1_000_000, vec![KeyType::U64]));
        assert!(args.filters.is_empty() && !args.json && args.json_file.is_none() && args.plots.is_none());
    }

    #[test]
    fn lists_are_split_and_cleared_of_doubles() {
        let args = parse("--keys 1e6,1000,1e3 --fpr 0.001,0.1,0.1 --key-type str20,u64 --filters SBBF,floor").unwrap();
        assert_eq!((args.keys, args.fpr), (vec![1_000, 1_000_000], vec![0.1, 0.001]));
        assert_eq!((args.key_type, args.filters), (vec![KeyType::Str20, KeyType::U64], vec!["sbbf".to_string(), "floor".to_string()]));
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        let bad = [
            ("--keys abc", "not a number"),
            ("--keys 0", "at least 1"),
            ("--keys -5", "at least 1"),
            ("--keys 1.5", "whole number"),
            ("--keys nan", "at least 1"),
            ("--keys inf", "at least 1"),
            ("--keys 1e12", "more than"),
            ("--keys 1e5,,1e6", "not a number"),
            ("--keys=", "value"),
            ("--keys", "value is required"),
            ("--fpr 0", "rate"),
            ("--fpr 1", "rate"),
            ("--fpr -0.1", "rate"),
            ("--fpr NaN", "rate"),
            ("--fpr 1e-30", "rate"),
            ("--fpr=", "value"),
            ("--rounds 0", "at least 1"),
            ("--queries 0", "at least 1"),
            ("--slow-fill -1", "seconds"),
            ("--filters=", "value"),
            ("--key-type u128", "u128"),
            ("--key-type i64", "i64"),
            ("--what", "--what"),
            ("surplus", "surplus"),
        ];
        for (line, part) in bad {
            let error = parse(line).expect_err(line);
            assert!(error.starts_with("error: ") && !error.contains('\n'), "{line}: {error}");
            println!("{line}: {error}");
            assert!(error.to_lowercase().contains(part), "{line}: {error}");
        }
    }
}
