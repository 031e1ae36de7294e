//! [`crowd_in`]: a slot in one of two full buckets, by moving other fingerprints to their other buckets.
//!
//! Breadth first, as a tree: the two buckets are its roots, and the children of a bucket are the other buckets of the four fingerprints in it. The
//! first bucket with an empty slot ends the search, and the fingerprints on the way to it move, the last one first, each into the slot that the one
//! before it left:
//!
//! ```text
//! home ──s2──▶ B ──s0──▶ D, has room          D ← s0 of B,  slot s0 of B ← s2 of home,  slot s2 of home ← the new one
//!   └──s3──▶ C …
//! ```
//!
//! **Nothing is written before the way is known**, so that a search in vain leaves every byte as it was. (To kick at random, as the original filter
//! does, is to hold a victim without a place at the end; most implementations drop it, and with it somebody's key.) And the buckets of one level do
//! not depend on each other: their cache misses overlap, where those of a random walk come one after another.
//!
//! **Why the moves are right.** No bucket comes twice on one way, so that the slots on it are different ones, and each still holds what it held when
//! the search looked. Each move is of a fingerprint to its other bucket, where a question finds it as well.

use super::bucket::{Found, Lanes, SLOTS, Table};
use super::geometry::{Geometry, Place};
use crate::kernel::fetch;

/// The roots, their children and the children of those: enough but for one search in some hundred, and less to lay out than [`MOST`].
const FEW: usize = 2 + 8 + 32;

/// Buckets that are looked at before the filter is called full. At a load of 0.95 about one in eight has room, so that a search would fail with a
/// chance of some 1e-30 were buckets independent; what ends searches is a region that is really full.
const MOST: usize = 512;

#[derive(Clone, Copy)]
struct Node {
    bucket: usize,
    /// The node whose slot leads here; its own number for the roots.
    parent: u16,
    slot: u8,
}

/// Gives `fingerprint` a slot in one of the place's buckets, which are both full. False, and nothing changed, where no way was found.
#[cold]
#[inline(never)]
pub(super) fn crowd_in<L: Lanes>(table: &mut Table, geometry: Geometry, place: Place) -> bool {
    one_move::<L>(table, geometry, place) || search::<L, FEW>(table, geometry, place) || search::<L, MOST>(table, geometry, place)
}

/// The search as far as the children of the roots, which needs no tree: nine in ten end here.
#[inline(always)]
fn one_move<L: Lanes>(table: &mut Table, geometry: Geometry, place: Place) -> bool {
    for from in [place.home, place.other] {
        let lanes = table.lanes::<L>(from);
        for slot in 0..SLOTS as u32 {
            let moved = table.slot_of(lanes, slot);
            let bucket = geometry.other(from, moved);
            let empty = table.find::<L>(bucket, 0);
            if !empty.is_none() {
                table.fill_first::<L>(bucket, empty, moved);
                table.replace::<L>(from, slot, place.fingerprint);
                return true;
            }
        }
    }
    false
}

#[inline(always)]
fn search<L: Lanes, const N: usize>(table: &mut Table, geometry: Geometry, place: Place) -> bool {
    let root = |bucket, number| Node { bucket, parent: number, slot: 0 };
    let mut nodes = [root(0, 0); N];
    (nodes[0], nodes[1]) = (root(place.home, 0), root(place.other, 1));
    let (mut known, mut next) = (2, 0);
    while next < known {
        let from = nodes[next].bucket;
        let empty = table.find::<L>(from, 0);
        if !empty.is_none() {
            shift::<L>(table, &nodes, next, empty, place.fingerprint);
            return true;
        }
        for slot in 0..SLOTS as u32 {
            if known == N {
                break;
            }
            let bucket = geometry.other(from, table.slot::<L>(from, slot));
            if !is_on_the_way(&nodes, next, bucket) {
                fetch(table.first_byte(bucket));
                nodes[known] = Node { bucket, parent: next as u16, slot: slot as u8 };
                known += 1;
            }
        }
        next += 1;
    }
    false
}

/// Whether `bucket` is that of the node or of one above it.
#[inline(always)]
fn is_on_the_way(nodes: &[Node], mut number: usize, bucket: usize) -> bool {
    loop {
        let node = nodes[number];
        if node.bucket == bucket {
            return true;
        }
        if usize::from(node.parent) == number {
            return false;
        }
        number = usize::from(node.parent);
    }
}

/// Moves what stands on the way from a root to the node, whose bucket has an empty slot, and writes the new one where the first of them was.
fn shift<L: Lanes>(table: &mut Table, nodes: &[Node], mut number: usize, empty: Found<L>, new: u32) {
    let above = |number: usize| {
        let Node { parent, slot, .. } = nodes[number];
        (usize::from(parent), nodes[usize::from(parent)].bucket, u32::from(slot))
    };
    let (parent, from, slot) = above(number);
    let moved = if parent == number { new } else { table.slot::<L>(from, slot) };
    table.fill_first::<L>(nodes[number].bucket, empty, moved);
    while usize::from(nodes[number].parent) != number {
        let (parent, to, hole) = above(number);
        let (grandparent, from, slot) = above(parent);
        let moved = if grandparent == parent { new } else { table.slot::<L>(from, slot) };
        table.replace::<L>(to, hole, moved);
        number = parent;
    }
}
