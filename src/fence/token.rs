//! [`Token`]: what the fence of a key said at one moment.

/// What the fence of a key, and the gate's epoch, said when the token was captured.
///
/// It is captured before the source is read and compared afterwards: where nothing changed, and nothing was pending at either moment, no create of
/// the key began in between, and an absence that the source reported in between still holds. Keys share fences (stripes), so a token may die
/// because of another key's create; that costs a source read and nothing else. Tokens of different gates mean nothing to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    epoch: u64,
    seq: u64,
    usable: bool,
}

impl Token {
    pub(crate) const fn new(epoch: u64, seq: u64, usable: bool) -> Self {
        Self { epoch, seq, usable }
    }

    /// A token that proves nothing: what is captured where nothing can be validated.
    #[must_use]
    pub const fn unusable() -> Self {
        Self { epoch: 0, seq: 0, usable: false }
    }

    /// False where a create was pending, or the gate was distrusted, at the capture: nothing read under such a token may be remembered.
    #[must_use]
    pub const fn is_usable(self) -> bool {
        self.usable
    }

    pub(crate) const fn epoch(self) -> u64 {
        self.epoch
    }

    pub(crate) const fn seq(self) -> u64 {
        self.seq
    }
}
