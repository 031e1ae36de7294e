//! What only shows from inside: single flight as a protocol, and the memory store against a model. The rest is told in `tests/it`.

mod flights;
mod memory;
