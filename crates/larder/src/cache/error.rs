//! Errors: sentences that name the fix, in the words of the library.

use std::fmt;
use store::Error as Refusal;

/// The reason for a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The entry does not fit; the old value of its key stays.
    ///
    /// ```
    /// use larder::{Cache, Error, Refusal};
    ///
    /// let cache = Cache::new(1 << 20);
    /// let error = cache.insert("key", vec![0; 2 << 20]).unwrap_err();
    /// assert!(matches!(error, Error::Refused(Refusal::TooLarge { .. })));
    /// ```
    Refused(Refusal),
    /// The recipe is unknown or invalid; the sentence names the fix.
    Recipe(String),
    /// More parts than the cache has ids for.
    Parts,
    /// The maintenance thread could not be started.
    Thread(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(Refusal::TooLarge { need, limit }) => write!(
                f,
                "the entry needs {need}, more than the limit of {limit}: raise the cache's \
                 capacity or split the value"
            ),
            Self::Refused(Refusal::TooLong { need, limit }) => {
                write!(f, "the value has {need}, more than the limit of {limit}: split it")
            }
            Self::Refused(Refusal::Full) => {
                f.write_str("the cache is full and nothing may be evicted: raise its capacity")
            }
            Self::Recipe(sentence) => f.write_str(sentence),
            Self::Parts => f.write_str("a cache has at most 65535 parts: use fewer"),
            Self::Thread(error) => write!(
                f,
                "could not start the maintenance thread ({error}): build without `maintained` and \
                 call `maintain` from a thread of your own"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Recipe(_) | Self::Parts | Self::Thread(_) => None,
        }
    }
}
