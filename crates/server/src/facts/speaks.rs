//! The protocols that a port may speak.

/// The protocol of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    Redis,
    Memcached,
}
