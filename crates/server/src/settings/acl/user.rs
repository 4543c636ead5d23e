//! A user: passwords, and permissions.

use super::selector::{Denied, Rules, Selector};
use ring::digest;
use std::fmt::{self, Write as _};

/// The user of every client that has not named another one.
pub const DEFAULT: &str = "default";

type Hash = [u8; 32];

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The user's name.
    pub name: String,
    /// Whether the user may log in.
    pub enabled: bool,
    /// Whether any password is accepted.
    pub nopass: bool,
    /// SHA-256 of the passwords, each of which is accepted.
    passwords: Vec<Hash>,
    root: Selector,
    more: Vec<Selector>,
}

/// The reason why a word of a user's rules is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordError {
    /// The refused word.
    pub word: String,
    /// The error in the word.
    pub why: String,
}

impl fmt::Display for WordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}': {}", self.word, self.why)
    }
}

fn hash(password: &[u8]) -> Hash {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest::digest(&digest::SHA256, password).as_ref());
    bytes
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

const WRONG_HASH: &str = "The password hash must be exactly 64 characters and contain only \
    lowercase hexadecimal characters";
const NO_SUCH_PASSWORD: &str = "The password you are trying to remove from the user does not exist";

fn unhex(text: &str) -> Result<Hash, &'static str> {
    let is_plain = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 64 || !text.bytes().all(is_plain) {
        return Err(WRONG_HASH);
    }
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| WRONG_HASH)?;
    }
    Ok(bytes)
}

/// Joins the words of each selector in parentheses to one word.
fn joined(words: &[String]) -> Result<Vec<String>, WordError> {
    let mut all: Vec<String> = vec![];
    let mut open: Option<String> = None;
    for word in words {
        let whole = match open.take() {
            Some(begun) => format!("{begun} {word}"),
            None => word.clone(),
        };
        if whole.starts_with('(') && !whole.ends_with(')') {
            open = Some(whole);
        } else {
            all.push(whole);
        }
    }
    match open {
        Some(word) => Err(WordError { word, why: "Unmatched parenthesis".into() }),
        None => Ok(all),
    }
}

impl User {
    /// A user that can neither log in nor call any command.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            enabled: false,
            nopass: false,
            passwords: vec![],
            root: Selector::nothing(),
            more: vec![],
        }
    }

    /// The user `default` without configuration: it needs no password and may do everything.
    pub fn everybody() -> Self {
        let root = Selector::everything();
        Self { enabled: true, nopass: true, root, ..Self::new(DEFAULT) }
    }

    /// Reads the words after `user NAME`, which change the user. Each new set of permissions begins
    /// with the word `first` (`acl-pubsub-default`): the permissions of a user after `reset`, and
    /// those of a selector.
    ///
    /// # Errors
    /// The word that is refused, and the reason. The words before it may have changed the user
    /// already.
    pub fn apply(&mut self, words: &[String], first: &str) -> Result<(), WordError> {
        for word in joined(words)? {
            self.apply_word(&word, first).map_err(|why| WordError { word, why: why.into() })?;
        }
        Ok(())
    }

    fn apply_word(&mut self, word: &str, first: &str) -> Result<(), &'static str> {
        match word.to_ascii_lowercase().as_str() {
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
            "reset" => {
                *self = Self::new(&self.name);
                self.root.apply(first)?;
            }
            "clearselectors" => self.more.clear(),
            // These words are about RESTORE, which Larder does not have.
            "sanitize-payload" | "skip-sanitize-payload" => {}
            _ => match word.split_at_checked(1) {
                Some((">", password)) => self.admit(hash(password.as_bytes())),
                Some(("#", text)) => self.admit(unhex(text)?),
                Some(("<", password)) => self.forget(&hash(password.as_bytes()))?,
                Some(("!", text)) => self.forget(&unhex(text)?)?,
                Some(("(", inner)) => {
                    let mut selector = Selector::nothing();
                    selector.apply(first)?;
                    for word in inner.trim_end_matches(')').split_whitespace() {
                        selector.apply(word)?;
                    }
                    self.more.push(selector);
                }
                _ if word.contains(|c: char| c.is_whitespace() || c.is_control()) => {
                    return Err("Syntax error");
                }
                _ => self.root.apply(word)?,
            },
        }
        Ok(())
    }

    fn admit(&mut self, password: Hash) {
        self.nopass = false;
        if !self.passwords.contains(&password) {
            self.passwords.push(password);
        }
    }

    fn forget(&mut self, password: &Hash) -> Result<(), &'static str> {
        let at = self.passwords.iter().position(|known| known == password);
        self.passwords.remove(at.ok_or(NO_SUCH_PASSWORD)?);
        Ok(())
    }

    /// Makes `password` the only one; if it is empty, the user needs no password.
    pub(crate) fn require(&mut self, password: &str) {
        self.passwords.clear();
        self.nopass = password.is_empty();
        if !self.nopass {
            self.admit(hash(password.as_bytes()));
        }
    }

    /// Whether this is the user's one and only password.
    pub(crate) fn requires(&self, password: &str) -> bool {
        !self.nopass && self.passwords == [hash(password.as_bytes())]
    }

    /// Whether `password` lets this user in.
    pub fn admits(&self, password: &[u8]) -> bool {
        let given = hash(password);
        let mut found = self.nopass;
        for known in &self.passwords {
            found |= is_equal(known, &given);
        }
        self.enabled && found
    }

    /// The words after `user` as a file holds them: quoted if needed.
    pub(crate) fn line(&self) -> String {
        let line = self.to_string();
        let words = line.split(' ').map(|word| {
            if word.contains(['"', '\'', '\\']) {
                crate::settings::config::quoted(word)
            } else {
                word.to_owned()
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Whether the user may do everything.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.selectors().any(Selector::is_unlimited)
    }

    fn selectors(&self) -> impl Iterator<Item = &Selector> {
        std::iter::once(&self.root).chain(&self.more)
    }

    /// Checks a call of the command with this number in a database. The first of `args` is the
    /// command's name.
    pub(crate) fn check(&self, number: u16, args: &[&[u8]], db: u8) -> Result<(), Denied> {
        let mut worst = None;
        for selector in self.selectors() {
            match selector.check(number, args, db) {
                Ok(()) => return Ok(()),
                Err(denied) => worst = worst.max(Some(denied)),
            }
        }
        Err(worst.unwrap_or(Denied::Command))
    }

    /// Whether the call passes [`Self::check`] through a selector that allows reading every key.
    pub(crate) fn reads_all(&self, number: u16, args: &[&[u8]], db: u8) -> bool {
        self.selectors().any(|it| it.reads_all() && it.check(number, args, db).is_ok())
    }

    /// Whether the user may read this key.
    pub(crate) fn may_read(&self, key: &[u8]) -> bool {
        self.selectors().any(|selector| selector.allows_key(key, true, false))
    }

    /// Whether the user may subscribe to a channel, or to a pattern of channels.
    pub(crate) fn allows_channel(&self, name: &[u8], is_pattern: bool) -> bool {
        self.selectors().any(|selector| selector.allows_channel(name, is_pattern))
    }

    /// The hashes of the passwords, as text.
    pub(crate) fn hashes(&self) -> impl ExactSizeIterator<Item = String> {
        self.passwords.iter().map(|hash| hex(hash))
    }

    /// The rules of the user itself first, then the rules of each further selector.
    pub(crate) fn rules(&self) -> Vec<Rules> {
        self.selectors().map(Selector::rules).collect()
    }
}

/// Compares in constant time: the time does not depend on the length of a common prefix.
pub(crate) fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let mut different = u8::from(a.len() != b.len());
    for (at, byte) in b.iter().enumerate() {
        different |= byte ^ a.get(at).copied().unwrap_or(0xff);
    }
    different == 0
}

impl fmt::Display for User {
    /// The words after `user`, in the form that [`User::apply`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, if self.enabled { "on" } else { "off" })?;
        if self.nopass {
            f.write_str(" nopass")?;
        }
        for hash in self.hashes() {
            write!(f, " #{hash}")?;
        }
        write!(f, " {}", self.root)?;
        for selector in &self.more {
            write!(f, " ({selector})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first word of new permissions.
    const NONE: &str = "resetchannels";

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn only_the_right_password_of_an_enabled_user_opens() {
        let mut user = User::new("alice");
        assert!(!user.admits(b""));
        user.apply(&words(">secret ~*"), NONE).unwrap();
        assert!(!user.admits(b"secret"), "off until it is on");
        user.apply(&words("on"), NONE).unwrap();
        assert!(user.admits(b"secret"));
        for wrong in [&b""[..], b"secre", b"secrets", b"Secret", b"secret\xff"] {
            assert!(!user.admits(wrong));
        }
        user.apply(&words("nopass"), NONE).unwrap();
        assert!(user.admits(b"anything"));
        user.apply(&words("resetpass"), NONE).unwrap();
        assert!(!user.admits(b"anything"));
    }

    #[test]
    fn a_user_prints_as_it_is_read() {
        for line in [
            "alice on nopass ~* &* +@all",
            "alice off resetchannels -@all",
            "alice on ~a:* %R~b %W~c resetchannels &n* db=0,3 -@all +@read -keys +select|0",
            "alice on ~a resetchannels -@all +get (~b resetchannels resetdbs -@all +set)",
        ] {
            let mut user = User::new("alice");
            user.apply(&words(line)[1..], NONE).unwrap();
            assert_eq!(user.to_string(), line);
        }
    }

    /// A limit that is accepted but not applied would admit users that it should refuse.
    #[test]
    fn what_cannot_be_kept_is_refused() {
        for word in ["+nosuch", "+@nosuch", "news", "#0123", "", "%~a", "%X~a", "(+get", "db=x"] {
            assert!(User::new("alice").apply(&[word.into()], NONE).is_err(), "{word}");
        }
    }

    /// One selector must allow the whole call; selectors do not add up.
    #[test]
    fn selectors_allow_each_for_itself() {
        let mut user = User::new("alice");
        user.apply(&words("on ~a* +get (~b* +set)"), NONE).unwrap();
        let check = |line: &str| {
            let args: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            user.check(crate::facts::table::find(args[0]).unwrap(), &args, 0)
        };
        assert_eq!(check("get a1"), Ok(()));
        assert_eq!(check("set b1 x"), Ok(()));
        assert_eq!(check("get b1"), Err(Denied::Key(1)));
        assert_eq!(check("set a1 x"), Err(Denied::Key(1)));
        assert_eq!(check("incr a1"), Err(Denied::Command));
        assert!(!user.is_unlimited());
        user.apply(&words("(+@all ~* &*)"), NONE).unwrap();
        assert!(user.is_unlimited());
    }

    /// The word of `acl-pubsub-default` applies wherever permissions begin anew.
    #[test]
    fn new_permissions_begin_with_the_channels_that_were_chosen() {
        let mut user = User::new("alice");
        user.apply(&words("on +@all &a reset (~b* +get)"), "allchannels").unwrap();
        assert_eq!(user.to_string(), "alice off &* -@all (~b* &* -@all +get)");
        user.apply(&words("clearselectors reset (+get)"), NONE).unwrap();
        assert_eq!(user.to_string(), "alice off resetchannels -@all (resetchannels -@all +get)");
    }
}
