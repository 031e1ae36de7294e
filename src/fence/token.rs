//! [`Token`]: what the fence of a key said at one moment.

/// What the fence of a key, and the gate's epoch, said when the token was captured.
///
/// It is captured before the source is read and compared afterwards: where nothing changed, and nothing was pending at either moment, no create of
/// the key began in between, and an absence that the source reported in between still holds. Keys share fences (stripes), so a token may die
/// because of another key's create; that costs a source read and nothing else. A token names its gate, so that what one gate stored means nothing to
/// another that comes upon the same store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    gate: u64,
    epoch: u64,
    seq: u64,
    usable: bool,
}

impl Token {
    pub(crate) const fn new(gate: u64, epoch: u64, seq: u64, usable: bool) -> Self {
        Self { gate, epoch, seq, usable }
    }

    /// A token that proves nothing: what is captured where nothing can be validated.
    #[must_use]
    pub const fn unusable() -> Self {
        Self { gate: 0, epoch: 0, seq: 0, usable: false }
    }

    /// False where a create was pending, or the gate was distrusted, at the capture: nothing read under such a token may be remembered.
    #[must_use]
    pub const fn is_usable(self) -> bool {
        self.usable
    }

    /// True for a token of this gate's present epoch.
    pub(crate) const fn is_of(self, gate: u64, epoch: u64) -> bool {
        self.gate == gate && self.epoch == epoch
    }

    pub(crate) const fn seq(self) -> u64 {
        self.seq
    }
}
