//! The load that a cache never sees: requests for ids, most of which do not exist here.
//!
//! Three streams, mixed by [`Shares`]. A *partner* walks its own catalogue, popular names far more often than rare ones. An *enumerator* counts
//! upwards and never comes back, so nothing that remembers answers can help against it. And *real clients* ask for rows that exist, again with a
//! skew. Everything follows from the seed: the same names, shares and seed give the same requests, whichever front is under test.

use flate2::read::MultiGzDecoder;
use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Who asked. Says nothing about whether the row exists: about one partner name in twenty does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    Partner,
    Enumeration,
    RealHit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) key: String,
    pub(crate) origin: Origin,
}

/// Relative weights of the three streams. They need not add up to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    pub(crate) partner: u32,
    pub(crate) enumeration: u32,
    pub(crate) real_hits: u32,
}

impl Default for Shares {
    /// A guess at a bad day, not a measurement: 70 partner, 15 enumeration, 15 real hits.
    fn default() -> Self {
        Self { partner: 70, enumeration: 15, real_hits: 15 }
    }
}

/// An endless, deterministic stream of requests. A clone replays from where the original stands.
#[derive(Clone)]
pub(crate) struct Traffic {
    /// In a random order: the files are in name order, and popularity must not follow the alphabet.
    existing: Arc<[String]>,
    /// In the order given, most popular first.
    requested: Arc<[String]>,
    existing_rank: Zipf,
    requested_rank: Zipf,
    shares: Shares,
    next_item: u64,
    rng: fastrand::Rng,
}

impl Traffic {
    /// # Panics
    ///
    /// If a list is empty. [`load_names`] never returns one.
    pub(crate) fn new(mut existing: Vec<String>, requested: Vec<String>, seed: u64) -> Self {
        assert!(!existing.is_empty() && !requested.is_empty(), "traffic needs at least one existing and one requested name");
        let mut rng = fastrand::Rng::with_seed(seed);
        rng.shuffle(&mut existing);
        Self {
            existing_rank: Zipf::new(existing.len(), 1.0),
            requested_rank: Zipf::new(requested.len(), 1.0),
            existing: existing.into(),
            requested: requested.into(),
            shares: Shares::default(),
            next_item: 1,
            rng,
        }
    }

    /// # Panics
    ///
    /// If all three weights are 0.
    pub(crate) fn with_shares(mut self, shares: Shares) -> Self {
        assert!(shares.partner > 0 || shares.enumeration > 0 || shares.real_hits > 0, "at least one share of the traffic must be above 0");
        self.shares = shares;
        self
    }

    /// The same traffic as client number `n` sends it: the same names are popular, in another order, and the enumeration walks another range.
    pub(crate) fn for_client(&self, n: u64) -> Self {
        let mut client = self.clone();
        client.rng = fastrand::Rng::with_seed(client.rng.u64(..).wrapping_add(n));
        client.next_item = n * 1_000_000 + 1;
        client
    }

    pub(crate) fn next_request(&mut self) -> Request {
        let Shares { partner, enumeration, real_hits } = self.shares;
        // u64, so that three large weights cannot overflow.
        let (partner, enumeration, real_hits) = (u64::from(partner), u64::from(enumeration), u64::from(real_hits));
        let draw = self.rng.u64(0..partner + enumeration + real_hits);
        if draw < partner {
            let rank = self.requested_rank.draw(&mut self.rng);
            Request { key: self.requested[rank].clone(), origin: Origin::Partner }
        } else if draw < partner + enumeration {
            let key = format!("item-{:06}", self.next_item);
            self.next_item += 1;
            Request { key, origin: Origin::Enumeration }
        } else {
            let rank = self.existing_rank.draw(&mut self.rng);
            Request { key: self.existing[rank].clone(), origin: Origin::RealHit }
        }
    }
}

impl Iterator for Traffic {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        Some(self.next_request())
    }
}

/// Ranks with probability proportional to 1 / rank^exponent, by inverting the summed weights: exact for any exponent, one binary search a draw,
/// 8 bytes a rank. Rejection sampling would save the table, which at these sizes nobody misses.
#[derive(Clone)]
struct Zipf {
    sums: Arc<[f64]>,
}

impl Zipf {
    fn new(ranks: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let weights = (1..=ranks).map(|rank| {
            sum += (rank as f64).powf(-exponent);
            sum
        });
        Self { sums: weights.collect() }
    }

    /// An index below the number of ranks, 0 the most likely.
    fn draw(&self, rng: &mut fastrand::Rng) -> usize {
        let last = self.sums.len() - 1;
        let draw = rng.f64() * self.sums[last];
        // `min`: the product may round up to the last sum itself.
        self.sums.partition_point(|&sum| sum <= draw).min(last)
    }
}

/// Why a list of names could not be read. Shown, it is one line that names the file.
#[derive(Debug)]
pub(crate) enum NamesError {
    Missing { path: PathBuf },
    Unreadable { path: PathBuf, source: io::Error },
    NotUtf8 { path: PathBuf, line: usize },
    Empty { path: PathBuf },
}

impl fmt::Display for NamesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { path } => write!(f, "{}: no such file", path.display()),
            Self::Unreadable { path, source } => write!(f, "{}: cannot be read: {source}", path.display()),
            Self::NotUtf8 { path, line } => write!(f, "{}: line {line} is not UTF-8", path.display()),
            Self::Empty { path } => write!(f, "{}: holds no name", path.display()),
        }
    }
}

impl std::error::Error for NamesError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Reads a list of names, one a line, plain or gzip (told by its first two bytes, not by its name).
///
/// A carriage return at a line's end is dropped and blank lines are skipped; nothing else is touched, because a space inside a key is part of it.
///
/// # Errors
///
/// The file is missing, cannot be read or unpacked, is not UTF-8, or holds no name.
pub(crate) fn load_names(path: impl AsRef<Path>) -> Result<Vec<String>, NamesError> {
    let path = path.as_ref();
    let bytes = fs::read(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => NamesError::Missing { path: path.into() },
        _ => NamesError::Unreadable { path: path.into(), source },
    })?;
    parse_names(path, &bytes)
}

/// The rows that exist in the bundled sample; see `examples/data/README.md`.
pub(crate) fn bundled_existing() -> Vec<String> {
    bundled("existing-names.txt.gz", include_bytes!("../data/existing-names.txt.gz"))
}

/// What the partner of the bundled sample asks for, most popular first.
pub(crate) fn bundled_requested() -> Vec<String> {
    bundled("requested-names.txt.gz", include_bytes!("../data/requested-names.txt.gz"))
}

fn bundled(name: &str, bytes: &[u8]) -> Vec<String> {
    parse_names(Path::new(name), bytes).expect("the bundled lists are read by a test")
}

fn parse_names(path: &Path, bytes: &[u8]) -> Result<Vec<String>, NamesError> {
    let mut unpacked = Vec::new();
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        // Multi: files that were compressed in parts and concatenated hold several members, and the single decoder stops after the first.
        MultiGzDecoder::new(bytes).read_to_end(&mut unpacked).map_err(|source| NamesError::Unreadable { path: path.into(), source })?;
        &unpacked
    } else {
        bytes
    };
    let text = str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        NamesError::NotUtf8 { path: path.into(), line }
    })?;
    // `lines` drops "\r\n" as well as "\n"; the trim is for a last line that ends in a bare "\r".
    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines().map(|line| line.trim_end_matches('\r'));
    let names: Vec<String> = lines.filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
    if names.is_empty() { Err(NamesError::Empty { path: path.into() }) } else { Ok(names) }
}
