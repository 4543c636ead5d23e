//! The address of a server: `redis://[user:pass@]host[:port][/db]`.

use std::fmt;

/// A server, the login to use there, and the database to select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Host name or address, without brackets.
    pub host: String,
    /// Port, 6379 if the URL names none.
    pub port: u16,
    /// User and password; an empty user is the default one.
    pub login: Option<(String, String)>,
    /// The database to select first.
    pub db: u32,
}

/// The error for a text that is not an address. Its message shows the expected form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAddress(String);

impl fmt::Display for NoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoAddress {}

impl Address {
    /// A server on this machine, without login.
    pub fn loopback(port: u16) -> Self {
        Self { host: "127.0.0.1".into(), port, login: None, db: 0 }
    }

    /// Parses a URL.
    ///
    /// # Errors
    /// A sentence that shows the form.
    pub fn parse(url: &str) -> Result<Self, NoAddress> {
        let shown = without_login(url);
        let form =
            || NoAddress(format!("'{shown}' is not redis://[user:password@]host[:port][/db]"));
        let rest = url.strip_prefix("redis://").ok_or_else(form)?;
        let (login, place) = match rest.rsplit_once('@') {
            None => (None, rest),
            Some((login, place)) => {
                let (user, password) = login.split_once(':').unwrap_or(("", login));
                (Some((user.to_owned(), password.to_owned())), place)
            }
        };
        let (place, db) = place.split_once('/').unwrap_or((place, ""));
        let db = if db.is_empty() { 0 } else { db.parse().map_err(|_| form())? };
        // An IPv6 address stands in brackets, for it has colons of its own.
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Ok(6379), str::parse).map_err(|_| form())?;
        if host.is_empty() {
            return Err(form());
        }
        Ok(Self { host: host.to_owned(), port, login, db })
    }
}

/// The part of a URL that may be shown: the text after the login, or all of it without one.
pub fn without_login(url: &str) -> &str {
    url.rsplit_once('@').map_or(url, |(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        let read = |url| {
            let Address { host, port, login, db } = Address::parse(url).unwrap();
            (host, port, login.unwrap_or_default(), db)
        };
        let none = || (String::new(), String::new());
        assert_eq!(read("redis://localhost"), ("localhost".into(), 6379, none(), 0));
        assert_eq!(read("redis://[::1]:7000/3"), ("::1".into(), 7000, none(), 3));
        let who = ("ann".to_owned(), "p@ss:word".to_owned());
        assert_eq!(read("redis://ann:p@ss:word@cache:1/2"), ("cache".into(), 1, who, 2));
        assert_eq!(read("redis://secret@cache").2, (String::new(), "secret".into()));
        for url in ["cache:6379", "redis://", "redis://cache:port", "redis://cache/db"] {
            assert!(Address::parse(url).unwrap_err().to_string().contains("redis://["), "{url}");
        }
    }
}
