//! Keys, scopes and times: the parameter types of calls to the store.

use base::{Micros, TenantId, hash};

/// The time of a call, read once by the caller for a batch of commands.
///
/// The store itself never reads a clock, so its behaviour depends only on the calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since the Unix epoch, to which expiries are compared.
    pub unix_ms: u64,
    /// A monotone clock, by which penalties and samples are measured.
    pub micros: Micros,
}

/// A key with its tenant and its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The tenant that owns it: a number from [`Config::tenants`](crate::Config::tenants) or
    /// [`Store::add_tenant`](crate::Store::add_tenant).
    pub tenant: TenantId,
    /// The database.
    pub db: u8,
    /// The text of the key.
    pub bytes: &'a [u8],
    /// The hash of the text, different in every database.
    pub hash: u64,
    /// Whether a read that misses starts no stopwatch, because its client will not fetch the value.
    pub is_untimed: bool,
    /// Whether a write of a large value may be declined if the key does not exist: the client only
    /// asks for the value to be cached.
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

/// The hash that places a key. Database 0 uses the plain seed, so that with seed 0 its samples have
/// the same keys as traces.
#[inline]
pub(crate) fn hash_of(seed: u64, db: u8, bytes: &[u8]) -> u64 {
    let seed = if db == 0 { seed } else { seed ^ hash::mix(u64::from(db)) };
    hash::bytes(seed, bytes)
}

/// The items that a call applies to: all, or only those of a tenant, of a database, or of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only items of this tenant.
    pub tenant: Option<TenantId>,
    /// Only items in this database.
    pub db: Option<u8>,
}

impl Scope {
    /// Every item.
    pub const ALL: Self = Self { tenant: None, db: None };

    /// The items of database `db`, of all tenants.
    pub const fn db(db: u8) -> Self {
        Self { tenant: None, db: Some(db) }
    }

    /// The items of `tenant`, in every database.
    pub const fn tenant(tenant: TenantId) -> Self {
        Self { tenant: Some(tenant), db: None }
    }
}
