//! Where the server is, and what it speaks.

use crate::replay::Address;
use anyhow::bail;
use std::fmt;

/// A server to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Redis, Valkey or Larder.
    Redis(Address),
    /// memcached, or a Larder that speaks its protocol.
    Memcached(Address),
}

impl Place {
    /// Whether a text names a server at all, and not a file.
    pub(crate) fn is_url(text: &str) -> bool {
        text.contains("://")
    }

    /// Reads the URL.
    ///
    /// # Errors
    /// A sentence that shows the form.
    pub(crate) fn parse(url: &str) -> anyhow::Result<Self> {
        let Some((scheme, rest)) = url.split_once("://") else {
            bail!("'{url}' is no URL: write redis://host:port or memcached://host:port");
        };
        match scheme {
            "redis" | "valkey" | "larder" => {
                Ok(Self::Redis(Address::parse(&format!("redis://{rest}"))?))
            }
            "memcached" | "memcache" => {
                let mut address = Address::parse(&format!("redis://{rest}")).map_err(|_| {
                    anyhow::anyhow!("'{url}' is not memcached://[user:password@]host[:port]")
                })?;
                let place = rest.rsplit('@').next().unwrap_or(rest);
                let has_port = place.rsplit(']').next().is_some_and(|end| end.contains(':'));
                if !has_port {
                    address.port = 11_211;
                }
                Ok(Self::Memcached(address))
            }
            "rediss" | "valkeys" => bail!(
                "{scheme}:// is not spoken: run a tunnel that undoes TLS on this machine (stunnel, \
                 socat), and name its end as redis://localhost:PORT"
            ),
            _ => bail!("'{scheme}://' is not known: write redis:// or memcached://"),
        }
    }

    /// Where, without the password.
    pub(crate) const fn address(&self) -> &Address {
        match self {
            Self::Redis(address) | Self::Memcached(address) => address,
        }
    }
}

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
            ("rediss://cache", "tunnel"),
            ("http://cache", "memcached://"),
            ("memcached://", "memcached://["),
        ] {
            let error = Place::parse(url).unwrap_err().to_string();
            assert!(error.contains(fix), "{error}");
        }
    }
}
