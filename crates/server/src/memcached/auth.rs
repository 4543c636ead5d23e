//! Authentication by memcached's tokens.
//!
//! A client authenticates by storing: `set KEY 0 0 LENGTH` with `USER PASSWORD` as the value, the
//! key being anything. The pairs are those of a file, or the users of the configuration; so a
//! tenant that matches a user has its clients here too.

use super::{Ask, BAD_CHUNK, Done, ERROR, Event};
use crate::config::Error;
use wire::memcached::Data;

const REFUSED: &str = "CLIENT_ERROR authentication failure";
const UNAUTHENTICATED: &str = "CLIENT_ERROR unauthenticated";

/// The pairs of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pairs: Vec<(String, String)>,
}

impl Tokens {
    /// Reads lines of `user:password`; no file for an empty path.
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
                "memcached-auth-file {path} must hold lines of user:password, at least one"
            ))),
        }
    }

    /// Whether clients must authenticate because of it.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Whether it has a pair for this name.
    pub(crate) fn knows(&self, user: &str) -> bool {
        self.pairs.iter().any(|(name, _)| name == user)
    }

    fn admits(&self, user: &str, password: &[u8]) -> bool {
        // Every pair is looked at, so that the time does not tell which names exist.
        let mut found = false;
        for (name, known) in &self.pairs {
            let same = crate::config::is_equal(known.as_bytes(), password);
            found |= same && name == user;
        }
        found
    }
}

/// A request of a client that is not known yet.
pub(super) fn admit(ask: &mut Ask<'_>) -> Done {
    if ask.request.get(0) != Some(b"set") {
        return Err(UNAUTHENTICATED);
    }
    let token = match ask.request.data {
        Data::Block(token) => token,
        // Its bytes are no requests, and nobody is known for whom they should be read over.
        Data::TooLarge => {
            (ask.session.closing, ask.session.ending) = (true, ERROR);
            return Err("CLIENT_ERROR auth token too long");
        }
        _ => return Err(BAD_CHUNK),
    };
    ask.count(Event::AuthCmds);
    let blank = token.iter().position(|&byte| byte == b' ');
    let (name, password) = token.split_at(blank.unwrap_or(token.len()));
    let password = password.get(1..).unwrap_or_default();
    let name = std::str::from_utf8(name).ok();
    let known = name.filter(|name| {
        let user = ask.view.settings.user(name);
        ask.view.tokens.admits(name, password)
            | user.is_some_and(|user| !user.nopass && user.admits(password))
    });
    let Some(name) = known else {
        ask.count(Event::AuthErrors);
        ask.session.back_off(ask.shared, ask.view);
        return Err(REFUSED);
    };
    ask.session.set_user(Some(name.to_owned()), ask.view);
    ask.line("STORED")
}
