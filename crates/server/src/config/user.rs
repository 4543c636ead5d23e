//! Who may come in, and by which password.
//!
//! ```text
//!   user NAME [on|off] [>PASSWORD]… [<PASSWORD]… [nopass] [resetpass] [reset] [allkeys] …
//! ```
//!
//! The words are those of Redis' ACL. A user may do everything or nothing: words that would limit
//! commands, keys or channels are refused rather than taken and not kept.

use std::fmt;

/// The user of every client that has not said another name.
pub const DEFAULT: &str = "default";

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// Whether it may come in.
    pub enabled: bool,
    /// Whether any password will do.
    pub nopass: bool,
    /// The passwords, any of which will do.
    pub passwords: Vec<String>,
}

impl User {
    /// A user that cannot come in yet.
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), enabled: false, nopass: false, passwords: vec![] }
    }

    /// The user `default` before anybody configures it: everybody.
    pub fn everybody() -> Self {
        Self { enabled: true, nopass: true, ..Self::new(DEFAULT) }
    }

    /// Reads the words behind `user NAME`, which change what is known of the user.
    ///
    /// # Errors
    /// The word that cannot be kept, and what would mend it.
    pub fn apply(&mut self, words: &[String]) -> Result<(), String> {
        for word in words {
            match word.as_str() {
                "on" => self.enabled = true,
                "off" => self.enabled = false,
                "nopass" => {
                    self.nopass = true;
                    self.passwords.clear();
                }
                "resetpass" => {
                    self.nopass = false;
                    self.passwords.clear();
                }
                "reset" => *self = Self::new(&self.name),
                // All there is: everything is allowed to whoever is let in.
                "~*"
                | "&*"
                | "+@all"
                | "allkeys"
                | "allchannels"
                | "allcommands"
                | "resetkeys"
                | "resetchannels"
                | "sanitize-payload"
                | "skip-sanitize-payload" => {}
                word => match word.split_at_checked(1) {
                    Some((">", password)) => {
                        self.nopass = false;
                        if !self.passwords.iter().any(|known| known == password) {
                            self.passwords.push(password.into());
                        }
                    }
                    Some(("<", password)) => self.passwords.retain(|known| known != password),
                    _ => {
                        return Err(format!(
                            "user {}: '{word}' cannot be kept: a user may do everything or \
                             nothing, so use on, off, nopass, resetpass, >PASSWORD, ~*, &*, +@all",
                            self.name
                        ));
                    }
                },
            }
        }
        Ok(())
    }

    /// Whether `password` lets this user in.
    pub fn admits(&self, password: &[u8]) -> bool {
        let mut found = self.nopass;
        for known in &self.passwords {
            found |= is_equal(known.as_bytes(), password);
        }
        self.enabled && found
    }
}

/// Compares in a time that does not tell how far the two agree.
pub(crate) fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let mut different = u8::from(a.len() != b.len());
    for (at, byte) in b.iter().enumerate() {
        different |= byte ^ a.get(at).copied().unwrap_or(0xff);
    }
    different == 0
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, if self.enabled { "on" } else { "off" })?;
        if self.nopass {
            f.write_str(" nopass")?;
        }
        for password in &self.passwords {
            write!(f, " {}", super::quoted(&format!(">{password}")))?;
        }
        f.write_str(" ~* &* +@all")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_password_of_an_enabled_user_opens() {
        let mut user = User::new("alice");
        assert!(!user.admits(b""));
        user.apply(&[">secret".into(), "~*".into()]).unwrap();
        assert!(!user.admits(b"secret"), "off until it is on");
        user.apply(&["on".into()]).unwrap();
        assert!(user.admits(b"secret"));
        for wrong in [&b""[..], b"secre", b"secrets", b"Secret", b"secret\xff"] {
            assert!(!user.admits(wrong));
        }
        user.apply(&["nopass".into()]).unwrap();
        assert!(user.admits(b"anything"));
        user.apply(&["resetpass".into()]).unwrap();
        assert!(!user.admits(b"anything"));
    }

    /// A limit that is read and not kept would let people in where they were shut out.
    #[test]
    fn what_cannot_be_kept_is_refused() {
        let mut user = User::new("alice");
        for word in ["~app:*", "-flushall", "+get", "&news", "#0123", ""] {
            assert!(user.apply(&[word.into()]).is_err(), "{word}");
        }
    }
}
