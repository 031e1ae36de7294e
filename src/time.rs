//! [`Clock`]: the only place that asks what time it is, and the owner of every timer.
//!
//! The gate, the negative cache and the rebuilder take a clock, so tests move time by hand and neither sleep nor flake. Timers work on any thread,
//! inside any async runtime or none: they are `futures-timer` delays, which one helper thread of that crate serves. It starts with the first
//! timer, and a timer is made only where something is really waited for: an answer from memory makes none. Timers come with the feature `gate`; to ask
//! for the time needs none.
//!
//! Time is monotonic and may stand still while the machine sleeps. What the promise waits for (a predecessor, an unreported COMMIT, a lagging scan)
//! then takes longer, never shorter; a tombstone of bounded age under Advisory coverage may outlive its bound by that sleep.

use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::{Duration, Instant};
#[cfg(feature = "gate")]
use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    task::{Context, Poll, Wake},
};

/// A moment of a [`Clock`]: nanoseconds since that clock's beginning. Moments of different clocks mean nothing to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Nanoseconds since the clock's beginning.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The moment `later` after this one; the end of time where that overflows (584 years).
    #[must_use]
    pub fn plus(self, later: Duration) -> Self {
        Self(self.0.saturating_add(nanos(later)))
    }

    /// How long after `earlier` this is; zero where it is not after.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Tells the time and makes timers. Cheap to clone; clones are the same clock.
#[derive(Clone, Default)]
pub struct Clock(Kind);

#[derive(Clone, Default)]
enum Kind {
    #[default]
    Standard,
    Mock(Arc<Mock>),
}

impl Clock {
    /// The machine's monotonic clock.
    #[must_use]
    pub fn standard() -> Self {
        Self(Kind::Standard)
    }

    /// A clock that stands still until the [`MockClock`] moves it, for tests.
    #[must_use]
    pub fn mock() -> (Self, MockClock) {
        let mock = Arc::new(Mock { now: AtomicU64::new(0), sleepers: Mutex::new(Vec::new()) });
        (Self(Kind::Mock(Arc::clone(&mock))), MockClock(mock))
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Kind::Standard => {
                static BEGINNING: OnceLock<Instant> = OnceLock::new();
                Timestamp(nanos(BEGINNING.get_or_init(Instant::now).elapsed()))
            }
            // ORDERING: Acquire pairs with the Release in `advance`: whoever sees the new time sees what the test did before it.
            Kind::Mock(mock) => Timestamp(mock.now.load(Ordering::Acquire)),
        }
    }

    /// Waits. Needs no runtime, but the feature `gate`.
    #[cfg(feature = "gate")]
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send + Sync + use<> {
        match &self.0 {
            Kind::Standard => Sleep::Standard { delay: futures_timer::Delay::new(duration), until: self.now().plus(duration) },
            Kind::Mock(mock) => Sleep::Mock { mock: Arc::clone(mock), until: self.now().plus(duration) },
        }
    }

    /// Runs `future` for at most `limit`. The timer is made at the first wait, so a future that is ready at once costs none.
    ///
    /// # Cancellation
    ///
    /// On time-out the future is dropped where it stands.
    #[cfg(feature = "gate")]
    pub(crate) async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut timer = None;
        std::future::poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            let timer = timer.get_or_insert_with(|| Box::pin(self.sleep(limit)));
            timer.as_mut().poll(cx).map(|()| None)
        })
        .await
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Standard => "Clock(standard)",
            Kind::Mock(_) => "Clock(mock)",
        })
    }
}

struct Mock {
    now: AtomicU64,
    sleepers: Mutex<Vec<(Timestamp, Waker)>>,
}

/// Moves a mock [`Clock`].
#[derive(Clone)]
pub struct MockClock(Arc<Mock>);

impl MockClock {
    /// Moves time on and wakes every timer that is due.
    pub fn advance(&self, by: Duration) {
        // ORDERING: AcqRel: the Release half publishes what the test did before moving time, see `Clock::now`; Acquire for the value it moves on
        // from.
        let moved = self.0.now.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| Some(Timestamp(now).plus(by).0));
        let now = Timestamp(moved.unwrap_or_default()).plus(by);
        let due: Vec<_> = lock(&self.0.sleepers).extract_if(.., |(until, _)| *until <= now).collect();
        due.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

impl fmt::Debug for MockClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MockClock")
    }
}

/// A waker whose panic stays its own: it is called on the timer's thread, which serves everybody, or on that of another caller.
#[cfg(feature = "gate")]
pub(crate) fn contained(waker: &Waker) -> Waker {
    struct Contained(Waker);
    impl Wake for Contained {
        fn wake(self: Arc<Self>) {
            let _ = catch_unwind(AssertUnwindSafe(|| self.0.wake_by_ref()));
        }
    }
    Waker::from(Arc::new(Contained(waker.clone())))
}

#[cfg(feature = "gate")]
enum Sleep {
    Standard { delay: futures_timer::Delay, until: Timestamp },
    Mock { mock: Arc<Mock>, until: Timestamp },
}

#[cfg(feature = "gate")]
impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.get_mut() {
            Self::Standard { delay, until } => {
                if Clock::standard().now() >= *until {
                    return Poll::Ready(());
                }
                let waker = contained(cx.waker());
                let timer = catch_unwind(AssertUnwindSafe(|| Pin::new(delay).poll(&mut Context::from_waker(&waker))));
                timer.unwrap_or_else(|_| {
                    // The helper thread could not be started, or is gone. Then time is watched by asking for it, which costs a processor and no
                    // answer.
                    cx.waker().wake_by_ref();
                    Poll::Pending
                })
            }
            Self::Mock { mock, until } => {
                let mut sleepers = lock(&mock.sleepers);
                // Under the lock: `advance` moves the time first and takes the lock after, so it either sees this waker or is seen here.
                // ORDERING: Acquire, see `Clock::now`.
                if mock.now.load(Ordering::Acquire) >= until.0 {
                    return Poll::Ready(());
                }
                sleepers.push((*until, cx.waker().clone()));
                Poll::Pending
            }
        }
    }
}

#[cfg(all(test, feature = "gate", not(absentia_loom)))]
mod tests {
    use super::*;
    use std::task::Wake;

    struct Flag(std::sync::atomic::AtomicBool);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    }

    #[test]
    fn a_mock_timer_fires_when_time_reaches_it_and_not_before() {
        let (clock, hand) = Clock::mock();
        let flag = Arc::new(Flag(false.into()));
        let waker = Waker::from(Arc::clone(&flag));
        let mut cx = Context::from_waker(&waker);
        let mut sleep = pin!(clock.sleep(Duration::from_secs(2)));
        assert!(sleep.as_mut().poll(&mut cx).is_pending());
        hand.advance(Duration::from_secs(1));
        assert!(!flag.0.load(std::sync::atomic::Ordering::SeqCst));
        hand.advance(Duration::from_secs(1));
        assert!(flag.0.load(std::sync::atomic::Ordering::SeqCst));
        assert!(sleep.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn a_future_that_is_ready_beats_a_timeout_of_zero() {
        let (clock, _hand) = Clock::mock();
        let mut cx = Context::from_waker(Waker::noop());
        let mut ready = pin!(clock.timeout(Duration::ZERO, std::future::ready(7)));
        assert_eq!(ready.as_mut().poll(&mut cx), Poll::Ready(Some(7)));
        let mut never = pin!(clock.timeout(Duration::ZERO, std::future::pending::<()>()));
        assert_eq!(never.as_mut().poll(&mut cx), Poll::Ready(None));
    }

    /// A waker that panics used to take the timer thread, and with it every later lookup of the process.
    #[test]
    fn a_waker_that_panics_leaves_the_timers_of_others_alone() {
        struct Gone;
        impl Wake for Gone {
            fn wake(self: Arc<Self>) {
                panic!("the executor is gone");
            }
        }
        let clock = Clock::standard();
        let gone = Waker::from(Arc::new(Gone));
        let mut lost: Vec<_> = (0..2).map(|_| Box::pin(clock.sleep(Duration::from_millis(5)))).collect();
        for sleep in &mut lost {
            assert!(sleep.as_mut().poll(&mut Context::from_waker(&gone)).is_pending());
        }
        let flag = Arc::new(Flag(false.into()));
        let mut sleep = pin!(clock.sleep(Duration::from_millis(20)));
        assert!(sleep.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(&flag)))).is_pending());
        while !flag.0.load(std::sync::atomic::Ordering::SeqCst) {
            std::thread::yield_now();
        }
        assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }

    #[test]
    fn time_does_not_overflow() {
        let (clock, hand) = Clock::mock();
        hand.advance(Duration::from_secs(5));
        hand.advance(Duration::MAX);
        assert_eq!(clock.now(), Timestamp(u64::MAX));
        assert_eq!(Timestamp(u64::MAX).plus(Duration::MAX), Timestamp(u64::MAX));
        assert_eq!(Timestamp(1).since(Timestamp(2)), Duration::ZERO);
    }
}
