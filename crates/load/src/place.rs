//! The address and the protocol of a server, from its URL.

use anyhow::{anyhow, bail};
use std::fmt;
use wire::address::{Address, without_login};

/// The default port of memcached.
const MEMCACHED_PORT: u16 = 11_211;

/// A server, by its protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Redis, Valkey or Larder.
    Redis(Address),
    /// memcached, or a Larder with memcached's protocol.
    Memcached(Address),
}

impl Place {
    /// Whether a text names a server, and not a file.
    pub fn is_url(text: &str) -> bool {
        text.contains("://")
    }

    /// Reads the URL.
    ///
    /// # Errors
    /// A sentence that shows the form.
    pub fn parse(url: &str) -> anyhow::Result<Self> {
        let shown = without_login(url);
        let Some((scheme, rest)) = url.split_once("://") else {
            bail!("'{shown}' is not a URL: write redis://host:port or memcached://host:port");
        };
        match scheme {
            "redis" | "valkey" | "larder" => {
                Ok(Self::Redis(Address::parse(&format!("redis://{rest}"))?))
            }
            "memcached" | "memcache" => {
                // memcached has no databases to select.
                let address = Address::parse(&format!("redis://{rest}"));
                let mut address =
                    address.ok().filter(|address| address.db == 0).ok_or_else(|| {
                        anyhow!("'{shown}' is not memcached://[user:password@]host[:port]")
                    })?;
                let place = rest.rsplit('@').next().unwrap_or(rest);
                let has_port = place.rsplit(']').next().is_some_and(|end| end.contains(':'));
                if !has_port {
                    address.port = MEMCACHED_PORT;
                }
                Ok(Self::Memcached(address))
            }
            "rediss" | "valkeys" => bail!(
                "Larder does not support {scheme}:// here: run a TLS tunnel on this machine \
                 (stunnel, socat), and use its local end as redis://localhost:PORT"
            ),
            _ => bail!("unknown scheme '{scheme}://': write redis:// or memcached://"),
        }
    }

    /// The address, with user and password.
    pub const fn address(&self) -> &Address {
        match self {
            Self::Redis(address) | Self::Memcached(address) => address,
        }
    }
}

/// The URL without user and password.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { host, port, .. } = self.address();
        let scheme = match self {
            Self::Redis(_) => "redis",
            Self::Memcached(_) => "memcached",
        };
        write!(f, "{scheme}://{host}:{port}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_protocol_and_port() {
        let read = |url| Place::parse(url).unwrap();
        assert_eq!(read("redis://a:b@cache:7").to_string(), "redis://cache:7");
        assert_eq!(read("valkey://cache").to_string(), "redis://cache:6379");
        assert_eq!(read("memcached://cache").to_string(), "memcached://cache:11211");
        assert_eq!(read("memcached://a:b@[::1]:7").to_string(), "memcached://::1:7");
        assert_eq!(read("memcached://[::1]").address().port, 11_211);
        for (url, fix) in [
            ("cache:6379", "redis://host"),
            ("ann:secret@cache:6379", "'cache:6379' is not a URL"),
            ("rediss://cache", "tunnel"),
            ("http://cache", "memcached://"),
            ("memcached://", "memcached://["),
            ("memcached://ann:secret@cache/3", "'cache/3' is not memcached://["),
            ("redis://ann:secret@cache:port", "'cache:port' is not redis://["),
        ] {
            let error = Place::parse(url).unwrap_err().to_string();
            assert!(error.contains(fix) && !error.contains("secret"), "{error}");
        }
    }
}
