//! [`Running`]: a lookup under way, polled by hand next to others.

use crate::gate::Lookup;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A lookup under way.
pub(super) struct Running<'a> {
    lookup: Pin<Box<dyn Future<Output = Lookup<String>> + 'a>>,
    pub(super) answer: Option<Lookup<String>>,
}

impl<'a> Running<'a> {
    pub(super) fn new(lookup: impl Future<Output = Lookup<String>> + 'a) -> Self {
        Self { lookup: Box::pin(lookup), answer: None }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) {
        if self.answer.is_none()
            && let Poll::Ready(answer) = self.lookup.as_mut().poll(cx)
        {
            self.answer = Some(answer);
        }
    }

    pub(super) async fn answer(&mut self) -> Lookup<String> {
        poll_fn(|cx| {
            self.poll(cx);
            self.answer.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}
