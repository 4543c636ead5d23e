//! Place of a database: `scheme://user[:password]@host[:port]/db`.
//!
//! The password is never shown: `Display` leaves it out, there is no `Debug`, and errors of parsing
//! do not repeat the text.

use anyhow::{Context, bail};
use std::fmt;

/// A database of a server, and the user that logs in.
pub(super) struct Place {
    scheme: &'static str,
    pub(super) user: String,
    pub(super) password: Option<String>,
    /// Name or address of the host, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) db: String,
}

impl Place {
    /// Reads the text behind `scheme://`; `port` is the default. `%` and two hexadecimal digits
    /// stand for any byte of a user, a password or a database.
    pub(super) fn parse(scheme: &'static str, rest: &str, port: u16) -> anyhow::Result<Self> {
        let form = || {
            format!(
                "a backend {scheme}:// has the form {scheme}://user[:password]@host[:port]/db, \
                 followed by an added delay such as +900us if you want one; write % , + @ and / in \
                 names and passwords as %25 %2C %2B %40 and %2F"
            )
        };
        let (login, place) = rest.rsplit_once('@').with_context(form)?;
        let (user, password) = login.split_once(':').map_or((login, None), |(u, p)| (u, Some(p)));
        let (place, db) = place.split_once('/').with_context(form)?;
        // An IPv6 address stands in brackets, because it has colons of its own.
        let (host, given) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        let port = given.map_or(Ok(port), str::parse).ok().with_context(form)?;
        if user.is_empty() || host.is_empty() || db.is_empty() || db.contains(['/', '+', '?']) {
            bail!(form());
        }
        Ok(Self {
            scheme,
            user: decoded(user).with_context(form)?,
            password: password.map(|word| decoded(word).with_context(form)).transpose()?,
            host: host.to_owned(),
            port,
            db: decoded(db).with_context(form)?,
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, user, host, port, db, .. } = self;
        if host.contains(':') {
            write!(f, "{scheme}://{user}@[{host}]:{port}/{db}")
        } else {
            write!(f, "{scheme}://{user}@{host}:{port}/{db}")
        }
    }
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = vec![];
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written_without_the_password() {
        for (text, shown, password) in [
            ("u@h/d", "x://u@h:5/d", None),
            ("u:p@ss:w@h:7/d", "x://u@h:7/d", Some("p@ss:w")),
            ("u:%2Ca%25+b@[::1]/my%2Bdb", "x://u@[::1]:5/my+db", Some(",a%+b")),
        ] {
            let place = Place::parse("x", text, 5).unwrap();
            assert_eq!(place.to_string(), shown, "{text}");
            assert_eq!(place.password.as_deref(), password, "{text}");
        }
        for text in ["", "h/d", "@h/d", "u@h", "u@h/", "u@/d", "u:secret@h:port/d", "u:%zz@h/d"] {
            let error = Place::parse("x", text, 5).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("x://user[:password]@host") && !error.contains("secret"));
        }
    }
}
