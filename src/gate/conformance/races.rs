//! The clauses that need two lookups at once, or a write between the two halves of a read.

use super::{
    ASKS, CREATED_JOIN, CREATED_LATE, FRESH_JOIN, GONE, Hold, LoaderSuite, PANIC, Running, Scene, ScriptedSource, TOGETHER, UNCOVERED_JOIN, create,
    expect,
};
use crate::gate::{Coverage, Lookup, Tombstones};
use crate::loader::Loader;
use crate::negative::conformance::demand;
use crate::time::Clock;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

impl<M: Fn(ScriptedSource) -> L, L: Loader<u64, String> + 'static> LoaderSuite<M> {
    pub(super) async fn creates_during_a_read(&self) {
        let Scene { source, gate } = self.exclusive();
        source.hold(Hold::AfterRead);
        let mut early = Running::new(gate.lookup(&1));
        self.until_held(&source, &mut early).await;
        create(&gate, &source, 1, "one", false).await;
        let mut late = Running::new(gate.lookup(&1));
        self.settle(&mut [&mut early, &mut late]).await;
        source.release();
        expect(CREATED_JOIN, self.both(&mut early, &mut late).await, Some("one"));
        expect(CREATED_LATE, gate.lookup(&1).await, Some("one"));

        // And where nobody reads between the create and the end of the slow read.
        source.hold(Hold::AfterRead);
        let mut early = Running::new(gate.lookup(&2));
        self.until_held(&source, &mut early).await;
        create(&gate, &source, 2, "two", false).await;
        source.release();
        let _absent = early.answer().await;
        expect(CREATED_LATE, gate.lookup(&2).await, Some("two"));
    }

    pub(super) async fn fresh_during_a_read(&self) {
        for (before, after) in [(None, "one"), (Some("one"), "two")] {
            let Scene { source, gate } = self.exclusive();
            if let Some(value) = before {
                source.insert(1, value);
            }
            source.hold(Hold::AfterRead);
            let mut early = Running::new(gate.lookup(&1));
            self.until_held(&source, &mut early).await;
            source.insert(1, after);
            let mut late = Running::new(gate.lookup_fresh(&1));
            self.settle(&mut [&mut early, &mut late]).await;
            source.release();
            expect(FRESH_JOIN, self.both(&mut early, &mut late).await, Some(after));
        }
    }

    pub(super) async fn uncovered_during_a_read(&self) {
        let Scene { source, gate } = self.scene(Coverage::Advisory { tombstones: Tombstones::Off });
        source.hold(Hold::AfterRead);
        let mut early = Running::new(gate.lookup(&1));
        self.until_held(&source, &mut early).await;
        source.insert(1, "one");
        let mut late = Running::new(gate.lookup(&1));
        self.settle(&mut [&mut early, &mut late]).await;
        source.release();
        expect(UNCOVERED_JOIN, self.both(&mut early, &mut late).await, Some("one"));
    }

    pub(super) async fn together(&self) {
        for row in [Some("one"), None] {
            let Scene { source, gate } = self.exclusive();
            if let Some(value) = row {
                source.insert(1, value);
            }
            source.hold(Hold::BeforeRead);
            let mut callers: Vec<_> = (0..32).map(|_| Running::new(gate.lookup(&1))).collect();
            self.settle(&mut callers.iter_mut().collect::<Vec<_>>()).await;
            source.release();
            poll_fn(|cx| {
                callers.iter_mut().for_each(|caller| caller.poll(cx));
                if callers.iter().all(|caller| caller.answer.is_some()) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            for mut caller in callers {
                expect(TOGETHER, caller.answer().await, row);
            }
        }
    }

    pub(super) async fn gone(&self) {
        for hold in [Hold::BeforeRead, Hold::AfterRead] {
            let Scene { source, gate } = self.exclusive();
            source.insert(1, "one");
            source.hold(hold);
            let mut first = Running::new(gate.lookup(&1));
            self.until_held(&source, &mut first).await;
            let mut second = Running::new(gate.lookup(&1));
            let mut third = Running::new(gate.lookup(&1));
            self.settle(&mut [&mut first, &mut second, &mut third]).await;
            drop(first);
            drop(second);
            source.release();
            expect(GONE, third.answer().await, Some("one"));
            expect(GONE, gate.lookup(&1).await, Some("one"));
        }
    }

    pub(super) async fn panics(&self) {
        let Scene { source, gate } = self.exclusive();
        source.insert(1, "one");
        source.hold(Hold::BeforeRead);
        let mut first = Running::new(gate.lookup(&1));
        self.until_held(&source, &mut first).await;
        let mut second = Running::new(gate.lookup(&1));
        self.settle(&mut [&mut first, &mut second]).await;
        source.panic_once();
        source.release();
        // The panic may reach its own caller, or be caught and reported to it as Unknown.
        let panicked = poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| first.poll(cx))) {
            Ok(()) if first.answer.is_none() => Poll::Pending,
            Ok(()) => Poll::Ready(false),
            Err(_) => Poll::Ready(true),
        })
        .await;
        drop(first);
        let found = poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| second.poll(cx))) {
            Ok(()) => second.answer.take().map_or(Poll::Pending, |found| Poll::Ready(Some(found))),
            Err(_) => Poll::Ready(None),
        })
        .await;
        let Some(found) = found else { return demand("loader", PANIC, false, "it panicked a second caller") };
        demand("loader", PANIC, panicked || found.is_present(), &found);
        expect(PANIC, gate.lookup(&1).await, Some("one"));
        if panicked {
            expect(PANIC, found, Some("one"));
        }
    }

    /// Polls the caller until its read is held.
    pub(super) async fn until_held(&self, source: &ScriptedSource, caller: &mut Running<'_>) {
        let held = poll_fn(|cx| {
            caller.poll(cx);
            if caller.answer.is_some() || source.held() > 0 { Poll::Ready(()) } else { Poll::Pending }
        });
        let in_time = Clock::standard().timeout(self.patience, held).await.is_some();
        demand("loader", ASKS, in_time && caller.answer.is_none(), &caller.answer);
    }

    /// Gives the callers time to get as far as they can.
    async fn settle(&self, callers: &mut [&mut Running<'_>]) {
        let all = poll_fn(|cx| {
            callers.iter_mut().for_each(|caller| caller.poll(cx));
            Poll::<()>::Pending
        });
        let _ = Clock::standard().timeout(self.pause, all).await;
    }

    /// Polls both to their ends, and gives the answer of the late one: what the early one hears is its own affair.
    async fn both(&self, early: &mut Running<'_>, late: &mut Running<'_>) -> Lookup<String> {
        poll_fn(|cx| {
            early.poll(cx);
            late.poll(cx);
            if early.answer.is_some() && late.answer.is_some() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        late.answer().await
    }
}
