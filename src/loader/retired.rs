//! [`Retired`]: what became of a deleted key's copy in the filter.

/// What became of the filter's copy of a key whose delete was confirmed.
///
/// A filter may only be told to forget what it certainly holds: of a key that is not in it, it would take the copy of *another* key, which would then
/// be denied. So a copy goes only where that is proven. Otherwise it stays, and the key is a false positive until the next rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Retired {
    /// One copy was taken out. From here on the filter rules the key out, unless it claims it by chance, or the scan gave the key more than once.
    Removed,
    /// The copy stays until the next rebuild.
    Kept(Kept),
}

impl Retired {
    /// True where the copy was taken out.
    #[must_use]
    pub const fn is_removed(self) -> bool {
        matches!(self, Self::Removed)
    }
}

/// Why the filter keeps a deleted key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kept {
    /// By the caller's word it was not the last row of the key that was deleted.
    NotLastRow,
    /// Others may create keys unannounced, of which the filter holds no copy.
    NotExclusive,
    /// No rebuild has finished yet, or the filter kind cannot remove.
    NoRemover,
    /// A rebuild was swapped in after the delete began: its scan may have missed the row.
    GenerationChanged,
    /// The generation has not been trusted for every moment since its build began: a writer that bypassed the gate may have created the key.
    NotTrusted,
    /// Another write of the key, or of one that shares its fence, was under way or has begun.
    OtherWrite,
    /// The key was created since the rebuild, or the filter for such keys claims it by chance.
    InDelta,
    /// The filter held no copy, although it should have. Either a delete was reported as of the last row that was not, or the key was created
    /// unannounced: counted as a wrong absence, and the gate is distrusted until the next rebuild.
    NotThere,
}
