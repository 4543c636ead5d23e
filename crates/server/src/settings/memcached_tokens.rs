//! Names and passwords of memcached's clients, from a file.

use super::config::{Error, is_equal};

/// The user names and passwords of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pairs: Vec<(String, String)>,
}

impl Tokens {
    /// Reads lines of `user:password`; an empty path means no file.
    pub(crate) fn read(path: &str) -> Result<Self, Error> {
        if path.is_empty() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error(format!("cannot read memcached-auth-file {path}: {error}")))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let pairs: Option<Vec<_>> = lines
            .map(|line| line.split_once(':').map(|(user, word)| (user.into(), word.into())))
            .collect();
        match pairs {
            Some(pairs) if !pairs.is_empty() => Ok(Self { pairs }),
            _ => Err(Error(format!(
                "memcached-auth-file {path} must hold at least one line of user:password"
            ))),
        }
    }

    /// Whether it has no pairs. With pairs, clients must authenticate.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Whether it has a pair for this name.
    pub(crate) fn knows(&self, user: &str) -> bool {
        self.pairs.iter().any(|(name, _)| name == user)
    }

    /// Whether it has this pair.
    pub(crate) fn admits(&self, user: &str, password: &[u8]) -> bool {
        // Every pair is compared, so that the time does not reveal which names exist.
        let mut found = false;
        for (name, known) in &self.pairs {
            let same = is_equal(known.as_bytes(), password);
            found |= same && name == user;
        }
        found
    }
}
