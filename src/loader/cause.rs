//! [`Cause`]: why an answer is Unknown. Every variant is a 503 or a 429, and none of them is ever stored.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Any error, as sources give them.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why it could not be said whether the key exists. Cheap to clone, because callers that shared a load share its failure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The source of truth answered with an error.
    Source(Arc<dyn Error + Send + Sync>),
    /// No answer within the limit.
    Timeout {
        /// The limit that passed.
        limit: Duration,
    },
    /// The read was not admitted: its lane is over budget (HTTP 429).
    Shed {
        /// When asking again may succeed.
        retry_after: Duration,
    },
    /// A replica has no such row, and a replica's "no" proves nothing.
    ReplicaAbsence,
    /// The loader gave remembered absences that the gate could not validate, and went on doing so when asked for a fresh read.
    Unproven,
}

impl Cause {
    /// Wraps an error of the source.
    #[must_use]
    pub fn source(error: impl Into<BoxError>) -> Self {
        Self::Source(Arc::from(error.into()))
    }

    /// True for load that was turned away, where a client should come back later and not count it as a failure of the service.
    #[must_use]
    pub const fn is_shed(&self) -> bool {
        matches!(self, Self::Shed { .. })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => write!(f, "source of truth failed: {error}"),
            Self::Timeout { limit } => write!(f, "no answer within {limit:?}"),
            Self::Shed { retry_after } => write!(f, "source reads over budget, retry after {retry_after:?}"),
            Self::ReplicaAbsence => f.write_str("a replica has no such row, which does not prove that there is none"),
            Self::Unproven => f.write_str("the loader's absence could not be validated"),
        }
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Source(error) => Some(&**error),
            _ => None,
        }
    }
}
