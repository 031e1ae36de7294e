//! [`Coverage`]: who creates keys, and so what a filter's "no" is worth. [`Exclusivity`]: how "only this process" is made true.

use crate::negative::NegativeTtl;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Who creates keys. A statement of the caller's, from which the gate concludes what it may say.
#[derive(Debug)]
#[non_exhaustive]
pub enum Coverage {
    /// Anyone, announced or not. The filter's "no" is a hint: the lookup goes on to the loader, in the suspect lane. Every absence is then a read of
    /// the source, unless tombstones are allowed.
    Advisory {
        /// Whether absences may be remembered. There is no default, because this choice is the promise.
        tombstones: Tombstones,
    },
    /// Only this process creates keys, and announces each before its COMMIT (`begin_create`, `create_with`). The filter's "no" is Absent, at no cost.
    Exclusive(Exclusivity),
}

/// Whether absences are remembered under [`Coverage::Advisory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tombstones {
    /// Never. An absence is then as fresh as a read of the source, whoever creates.
    Off,
    /// For at most this long. **A key created unannounced may be called absent for as long after its acknowledgement.** Announced ones are not.
    Bounded(NegativeTtl),
}

enum Held {
    Asserted(String),
    File { file: File, path: PathBuf },
    Own(Box<dyn Fn() -> bool + Send + Sync>),
}

/// What makes this process the only one that creates keys.
///
/// A process that starts beside a dying predecessor cannot know whether a COMMIT of it is still in flight, so the first rebuild waits for
/// `max_transaction` after the gate was built. [`Exclusivity::first_start`] says that there was none.
pub struct Exclusivity {
    held: Held,
    predecessor: bool,
}

impl Exclusivity {
    /// You say so. `why` is shown by `Debug`, for whoever looks into the day when it was not so.
    #[must_use]
    pub fn asserted(why: impl Into<String>) -> Self {
        Self { held: Held::Asserted(why.into()), predecessor: true }
    }

    /// An exclusive advisory lock on a file, held as long as the gate lives. The file is created if it is missing, and stays.
    ///
    /// It holds against processes that lock the same file on the same machine, no others. Before each rebuild, and only
    /// then, it is checked that the path still names the locked file: do not delete it.
    ///
    /// # Errors
    ///
    /// [`LockError::Held`] where another process, or another gate of this one, holds it; [`LockError::Io`] where the file cannot be opened or locked.
    pub fn file_lock(path: impl AsRef<Path>) -> Result<Self, LockError> {
        let path = path.as_ref().to_path_buf();
        let io = |error| LockError::Io { path: path.clone(), error };
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        // As an absolute path: the process may change its directory.
        let path = std::fs::canonicalize(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { held: Held::File { file, path }, predecessor: true }),
            Err(TryLockError::WouldBlock) => Err(LockError::Held { path }),
            Err(TryLockError::Error(error)) => Err(LockError::Io { path: path.clone(), error }),
        }
    }

    /// A lock of yours, such as an advisory lock of the database or a lease. `is_held` is asked whenever an absence is about to be said from memory,
    /// so it must be as cheap as reading an atomic; when it says no once, the gate never trusts again: restart, or build a new one.
    #[must_use]
    pub fn own_lock(is_held: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { held: Held::Own(Box::new(is_held)), predecessor: true }
    }

    /// No process before this one, and no earlier gate of this one, can have a COMMIT in flight, so the first rebuild need not wait: a new
    /// database, or a test. Where the scan of a rebuild may lag, nothing was committed within that lag either.
    #[must_use]
    pub fn first_start(mut self) -> Self {
        self.predecessor = false;
        self
    }

    pub(crate) fn has_predecessor(&self) -> bool {
        self.predecessor
    }

    /// The quick question, asked on the hot path.
    pub(crate) fn is_held(&self) -> bool {
        match &self.held {
            Held::Asserted(_) | Held::File { .. } => true,
            Held::Own(is_held) => is_held(),
        }
    }

    /// The thorough question, asked before a rebuild.
    pub(crate) fn verify(&self) -> bool {
        match &self.held {
            Held::File { file, path } => same_file(file, path),
            _ => self.is_held(),
        }
    }
}

/// True where `path` still names the open file: a lock file that was deleted or replaced protects nobody.
#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(theirs)) => (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()),
        _ => false,
    }
}

/// Elsewhere a file that is open and locked cannot be replaced, so that it is still there is enough.
#[cfg(not(unix))]
fn same_file(_file: &File, path: &Path) -> bool {
    path.exists()
}

impl fmt::Debug for Exclusivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.held {
            Held::Asserted(why) => write!(f, "Exclusivity(asserted: {why})"),
            Held::File { path, .. } => write!(f, "Exclusivity(file lock: {})", path.display()),
            Held::Own(_) => f.write_str("Exclusivity(own lock)"),
        }
    }
}

/// Why a file lock was not had.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockError {
    /// Somebody else holds it: another process, or another gate of this one.
    Held {
        /// The lock file.
        path: PathBuf,
    },
    /// The file could not be opened or locked.
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the operating system said.
        error: io::Error,
    },
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { path } => write!(f, "lock file {}: held by another process, or by another gate of this one", path.display()),
            Self::Io { path, error } => write!(f, "lock file {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for LockError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Held { .. } => None,
            Self::Io { error, .. } => Some(error),
        }
    }
}
