//! The version of Redis that clients take this server for, and the port of its pages.

/// The version in the replies of INFO and HELLO, and in scripts.
pub(crate) const REDIS_VERSION: &str = "7.2.4";

/// The port of the metrics, unless the settings name another.
pub(crate) const HTTP_PORT_DEFAULT: u16 = 9379;
