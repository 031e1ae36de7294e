//! What only shows from inside: rebuilds cut into creates and creates into rebuilds at every point of the protocol, and what is left behind. The rest
//! is told in `tests/it`.

mod cuts;
mod memory;
