//! Fences: how a reader that found nothing learns that a create overtook it.
//!
//! A create raises the fence of its key before its COMMIT and settles it after ([`Stripes`]). A load captures a [`Token`], the fence as it was
//! before the source was read; an absence is worth something only while that token is still what the fence says and nothing is pending
//! (rule R2). Next to it stands the set of keys whose creates are under way ([`Pending`]), which a rebuild copies (rule R8).
//!
//! Why a reader's own plain load of a fence word is enough: the promise speaks of lookups that start after ack(k). The create raised the fence
//! before its COMMIT, so before its ack, so before such a lookup: every load the lookup makes sees that raise or something later.

mod pending;
mod stripes;
mod token;

pub(crate) use pending::Pending;
pub(crate) use stripes::Stripes;
pub use token::Token;
