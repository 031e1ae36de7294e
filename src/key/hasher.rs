//! [`KeyHasher`]: from a key to its [`KeyHash`], under a secret.
//!
//! XXH3-128 with a secret 64-bit seed is the default. SipHash-1-3 with 128-bit output and a 128-bit key is the choice for keys that a hostile
//! party picks while watching answers: XXH3 is fast and well mixed, but it is not a keyed pseudo-random function. The seed is random unless the
//! caller gives one, because a known seed lets anyone compute keys that all answer "maybe" (research: Gerbet, Kumar, Lauradoux 2015).

use super::{Key, KeyHash};
use crate::params::ParamError;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::fmt;
use std::hash::Hasher as _;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Identifies a hasher and its secret without giving the secret away: SipHash-1-3-128, keyed by the secret, of a constant.
///
/// Two filters may be combined, and a filter may serve a gate, only where these are equal. It cannot be used to recover the seed except by
/// trying seeds, which for a random one means 2^64 trials (XXH3) or 2^128 (SipHash).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HasherFingerprint {
    id: HasherId,
    check: [u8; 16],
}

impl HasherFingerprint {
    /// The hash function.
    #[must_use]
    pub const fn id(&self) -> HasherId {
        self.id
    }
}

impl fmt::Debug for HasherFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}:{:02x}{:02x}{:02x}{:02x}", self.id, self.check[0], self.check[1], self.check[2], self.check[3])
    }
}

impl fmt::Display for HasherFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Which hash function. The numbers are stable: they are what a snapshot will carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum HasherId {
    /// XXH3, 128-bit output, 64-bit secret seed.
    Xxh3 = 1,
    /// SipHash-1-3, 128-bit output, 128-bit secret key.
    SipHash13 = 2,
}

#[derive(Clone, Copy)]
enum Secret {
    Xxh3(u64),
    SipHash13([u8; 16]),
}

/// Turns keys into [`KeyHash`]es. Cheap to clone; the same secret gives the same hashes on every platform and in every version.
#[derive(Clone, Copy)]
pub struct KeyHasher {
    secret: Secret,
    fingerprint: HasherFingerprint,
}

impl KeyHasher {
    /// XXH3-128 under a random secret seed.
    ///
    /// # Errors
    ///
    /// [`ParamError::NoEntropy`] where the operating system gives no random bytes.
    pub fn random() -> Result<Self, ParamError> {
        Ok(Self::xxh3(getrandom::u64().map_err(|_| ParamError::NoEntropy)?))
    }

    /// SipHash-1-3-128 under a random 128-bit key: for keys that an attacker chooses.
    ///
    /// # Errors
    ///
    /// [`ParamError::NoEntropy`] where the operating system gives no random bytes.
    pub fn random_siphash() -> Result<Self, ParamError> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(|_| ParamError::NoEntropy)?;
        Ok(Self::siphash(key))
    }

    /// XXH3-128 under this seed. Keep it secret: whoever knows it can compute keys that answer "maybe".
    #[must_use]
    pub fn xxh3(seed: u64) -> Self {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self { secret: Secret::Xxh3(seed), fingerprint: fingerprint(HasherId::Xxh3, &key) }
    }

    /// SipHash-1-3-128 under this key. Keep it secret.
    #[must_use]
    pub fn siphash(key: [u8; 16]) -> Self {
        Self { secret: Secret::SipHash13(key), fingerprint: fingerprint(HasherId::SipHash13, &key) }
    }

    /// The hash of `key`. Cost: about 2 ns for a short key under XXH3.
    #[inline]
    #[must_use]
    pub fn hash<K: Key + ?Sized>(&self, key: &K) -> KeyHash {
        key.with_bytes(|bytes| self.hash_bytes(bytes))
    }

    /// The hash of these bytes, as of a `[u8]` key.
    #[inline]
    #[must_use]
    pub fn hash_bytes(&self, bytes: &[u8]) -> KeyHash {
        match &self.secret {
            Secret::Xxh3(seed) => {
                let wide = xxh3_128_with_seed(bytes, *seed);
                KeyHash::from_parts(wide as u64, (wide >> 64) as u64)
            }
            Secret::SipHash13(key) => sip13(key, bytes),
        }
    }

    /// What two filters must share to be combined.
    #[must_use]
    pub const fn fingerprint(&self) -> HasherFingerprint {
        self.fingerprint
    }
}

/// Out of line: in the loop of a caller it would take the registers of the default, and its own cost hides that of the call.
#[inline(never)]
fn sip13(key: &[u8; 16], bytes: &[u8]) -> KeyHash {
    let mut sip = SipHasher13::new_with_key(key);
    sip.write(bytes);
    let wide = sip.finish128();
    KeyHash::from_parts(wide.h1, wide.h2)
}

fn fingerprint(id: HasherId, key: &[u8; 16]) -> HasherFingerprint {
    let mut sip = SipHasher13::new_with_key(key);
    sip.write(b"absentia key fingerprint 1");
    sip.write_u8(id as u8);
    HasherFingerprint { id, check: sip.finish128().as_bytes() }
}

/// Shows the function and the fingerprint, never the secret.
impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyHasher({:?})", self.fingerprint)
    }
}

/// Hashers are equal where their fingerprints are, which is where their secrets are.
impl PartialEq for KeyHasher {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl Eq for KeyHasher {}
