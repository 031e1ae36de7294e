//! [`allocate`]: the memory of a filter, asked for in a way that may be refused.

use crate::params::ParamError;
use crate::sys;

/// `count` items that are made one by one, where there is [room](reserve).
pub(crate) fn allocate<T>(count: u64, limit: u64, empty: impl FnMut() -> T) -> Result<Vec<T>, ParamError> {
    let mut items = reserve(count, limit)?;
    items.resize_with(count as usize, empty);
    Ok(items)
}

/// Room for `count` items, checked against `limit` in 64-bit arithmetic before anything is allocated. That `count` fits in `usize` is known
/// afterwards. Large pages are asked for where that is worth it.
pub(crate) fn reserve<T>(count: u64, limit: u64) -> Result<Vec<T>, ParamError> {
    const { assert!(size_of::<T>() > 0) };
    // No allocation may be larger than isize::MAX; on a 32-bit machine that limit is the lower one.
    let limit = limit.min(isize::MAX as u64);
    let needed = count.saturating_mul(size_of::<T>() as u64);
    if needed > limit {
        return Err(ParamError::TooLarge { needed, limit });
    }
    let count = usize::try_from(count).expect("a number of items whose bytes fit in isize");
    let mut items = Vec::new();
    items.try_reserve_exact(count).map_err(|_| ParamError::OutOfMemory { needed })?;
    // Before the first write: pages that exist are not made larger at once.
    sys::advise_huge_pages(items.spare_capacity_mut());
    Ok(items)
}
