//! The gate, the negative cache and its stores as their users see them: through the public API, claim by claim.
//!
//! Where a claim comes from a bug of another library, its test tells the story.
#![cfg(feature = "gate")]

mod copies;
mod db;
mod support;

mod advisory;
mod api;
mod bad_input;
#[cfg(feature = "conformance")]
mod broken_loaders;
#[cfg(feature = "conformance")]
mod broken_stores;
mod cache;
#[cfg(feature = "conformance")]
mod conformance;
mod counters;
mod creates;
mod filters;
mod flights;
mod locks;
mod no_runtime;
mod rebuild;
mod rebuild_dropped;
mod rebuilder;
mod retire;
mod retire_stress;
mod store;
mod stress;
mod trust;
mod unresolved;
