//! Keys, scopes and times: the words of every call to the store.

use base::{Micros, TenantId, hash};

/// The time of a call, read once by the caller for a batch of commands.
///
/// The store itself never reads a clock, so a run of it is a function of the calls made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since the Unix epoch: what expiry is compared with.
    pub unix_ms: u64,
    /// A monotone clock: what penalties and samples are measured by.
    pub micros: Micros,
}

/// A key, whose it is and where it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The tenant that owns it: a number that [`Config::tenants`](crate::Config::tenants) or
    /// [`Store::add_tenant`](crate::Store::add_tenant) gave.
    pub tenant: TenantId,
    /// The database.
    pub db: u8,
    /// The text of the key.
    pub bytes: &'a [u8],
    /// The hash of the text, different in every database.
    pub hash: u64,
    /// A read that misses starts no stopwatch: whoever reads goes and fetches nothing.
    pub is_untimed: bool,
    /// A write of a large value need not be kept where the key is not here: the caller asks for
    /// nothing but that the value be cached.
    pub may_be_declined: bool,
}

impl<'a> Key<'a> {
    /// The key `bytes` of `tenant` in database `db`. `seed` must be that of the store.
    #[inline]
    pub fn new(seed: u64, tenant: TenantId, db: u8, bytes: &'a [u8]) -> Self {
        let hash = hash_of(seed, db, bytes);
        Self { tenant, db, bytes, hash, is_untimed: false, may_be_declined: false }
    }
}

/// The hash that places a key. Database 0 hashes by the plain seed, so that with seed 0 its
/// samples name keys as traces do.
#[inline]
pub(crate) fn hash_of(seed: u64, db: u8, bytes: &[u8]) -> u64 {
    let seed = if db == 0 { seed } else { seed ^ hash::mix(u64::from(db)) };
    hash::bytes(seed, bytes)
}

/// Which items a call is about: all, those of a tenant, of a database, or of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only this tenant's.
    pub tenant: Option<TenantId>,
    /// Only those in this database.
    pub db: Option<u8>,
}

impl Scope {
    /// Every item.
    pub const ALL: Self = Self { tenant: None, db: None };

    /// The items of database `db`, whoever owns them.
    pub const fn db(db: u8) -> Self {
        Self { tenant: None, db: Some(db) }
    }

    /// The items of `tenant`, in every database.
    pub const fn tenant(tenant: TenantId) -> Self {
        Self { tenant: Some(tenant), db: None }
    }
}
