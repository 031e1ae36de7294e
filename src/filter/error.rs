//! [`InsertError`]: a filter has no room for one more copy. Why, its kind says.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why a filter did not take a hash. The kind's own error is its [`source`](Error::source).
#[derive(Clone, Debug)]
pub struct InsertError {
    error: Arc<dyn Error + Send + Sync>,
    full: bool,
}

impl InsertError {
    /// There is no room, and in a larger filter there would be.
    pub fn full(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { error: Arc::from(error.into()), full: true }
    }

    /// No size of this kind takes it.
    pub fn refused(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { error: Arc::from(error.into()), full: false }
    }

    /// Whether a larger filter would have taken it.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.full
    }
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the filter did not take the key: {}", self.error)
    }
}

impl Error for InsertError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}
