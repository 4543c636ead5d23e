//! What is asked on a miss: an embedded database, a wait, or both.
//!
//! An answer is the seed of the value, and costs the time of a real query (`sqlite:PATH`) and of
//! a drawn wait (`delay:…`), one after the other, as a database behind a network does. Waits of
//! one connection run beside each other; what an answer really took is measured by who waits.

mod delay;
mod sqlite;

pub use delay::Distribution;
pub use sqlite::{Filler, Origin};

use super::value;
use anyhow::bail;
use base::Prng;
use sqlite::Reader;
use std::path::PathBuf;
use std::time::Duration;

/// What the misses of a tenant cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Backend {
    /// The database whose table is asked; without one the answer is computed.
    pub database: Option<PathBuf>,
    /// Waits that are added.
    pub delays: Vec<Distribution>,
}

impl Backend {
    /// Reads `sqlite:PATH`, `delay:exp 1ms`, or several separated by commas.
    ///
    /// # Errors
    /// A sentence that shows the forms.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let mut backend = Self::default();
        for part in text.split(',').map(str::trim) {
            match part.split_once(':') {
                Some(("sqlite", path)) if !path.is_empty() => {
                    if backend.database.replace(path.into()).is_some() {
                        bail!("'{text}' names two databases: name one");
                    }
                }
                Some(("delay", times)) => backend.delays.push(Distribution::parse(times)?),
                _ => bail!(
                    "'{part}' is no backend: write sqlite:PATH, delay:TIME (such as delay:1ms or \
                     delay:exp 1ms), or both with a comma between"
                ),
            }
        }
        Ok(backend)
    }

    /// A connection for the objects of `tenant`, drawing its waits from `seed`.
    pub(super) fn connect(&self, tenant: &str, seed: u64) -> anyhow::Result<Connection> {
        let database = self.database.as_ref().map(|path| Reader::open(path, tenant)).transpose()?;
        Ok(Connection { database, delays: self.delays.clone(), prng: Prng::new(seed) })
    }
}

/// One thread's way to the backend.
pub(super) struct Connection {
    database: Option<Reader>,
    delays: Vec<Distribution>,
    prng: Prng,
}

impl Connection {
    /// Asks for the value of `key`: its seed, and how long from now the answer is on its way.
    pub(super) fn ask(&mut self, key: &[u8]) -> anyhow::Result<(u64, Duration)> {
        let seed = match &mut self.database {
            Some(database) => database.get(key)?,
            None => value::seed(key),
        };
        let wait = self.delays.iter().map(|delay| delay.draw(&mut self.prng)).sum();
        Ok((seed, wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up() {
        let backend = Backend::parse("sqlite:a b.db, delay:1ms,delay:uniform 1-2ms").unwrap();
        assert_eq!(backend.database, Some("a b.db".into()));
        let mut connection = Backend { database: None, ..backend }.connect("t", 1).unwrap();
        let (seed, wait) = connection.ask(b"k").unwrap();
        assert_eq!(seed, value::seed(b"k"));
        assert!((2_000..=3_000).contains(&wait.as_micros()), "{wait:?}");
        for text in ["", "sqlite:", "delay", "sqlite:a,sqlite:b", "mysql:x", "delay:1"] {
            assert!(Backend::parse(text).is_err(), "{text}");
        }
    }
}
