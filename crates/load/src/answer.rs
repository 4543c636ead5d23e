//! The answer of a server, in whatever protocol.

use std::borrow::Cow;

/// The answer of a server to a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer<'a> {
    /// The requested value.
    Value(&'a [u8]),
    /// The cache has no such key.
    Absent,
    /// A write or a delete is done.
    Done,
    /// The reason why the request was not served.
    Refused(Cow<'a, str>),
}
