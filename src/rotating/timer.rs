//! [`Timer`]: the number of the window that a clock is in.

use crate::params::ParamError;
use crate::time::{Clock, Timestamp};
use std::time::Duration;

/// Windows of one length, of which number 0 began when this was made.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    clock: Clock,
    start: Timestamp,
    /// Nanoseconds, at least 1.
    every: u64,
}

impl Timer {
    pub(super) fn new(every: Duration, clock: Clock) -> Result<Self, ParamError> {
        let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        if every == 0 {
            return Err(ParamError::ZeroDuration);
        }
        let start = clock.now();
        Ok(Self { clock, start, every })
    }

    /// The window of now. Whoever compares it with the greatest number seen so far takes the greater: a clock that went back shortens no key's life.
    #[inline]
    pub(super) fn window(&self) -> u64 {
        self.window_at(self.clock.now())
    }

    #[inline]
    pub(super) fn window_at(&self, now: Timestamp) -> u64 {
        now.as_nanos().saturating_sub(self.start.as_nanos()) / self.every
    }

    pub(super) fn every(&self) -> Duration {
        Duration::from_nanos(self.every)
    }
}
