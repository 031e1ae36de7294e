//! What `false_positive_rate` consists of: the filters ([`filter`]), what is to be expected of each ([`expected`]), the unit that criterion counts in
//! ([`measurement`]), and the table that it prints ([`point`]).

pub(crate) mod expected;
pub(crate) mod filter;
pub(crate) mod measurement;
pub(crate) mod point;
