//! Authentication by memcached's tokens.
//!
//! A client authenticates with a store command: `set KEY 0 0 LENGTH`. The key may be any, and the
//! value is `USER PASSWORD`. The pairs come from a file, or from the users of the configuration. So
//! a tenant that matches a user has its clients here too.

use super::request::{Ask, BAD_CHUNK, Done, ERROR};
use crate::facts::memcached_events::Event;
use crate::settings::config::Error;
use wire::memcached::Data;

const REFUSED: &str = "CLIENT_ERROR authentication failure";
const UNAUTHENTICATED: &str = "CLIENT_ERROR unauthenticated";

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
                "memcached-auth-file {path} must hold lines of user:password, at least one"
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

    fn admits(&self, user: &str, password: &[u8]) -> bool {
        // Every pair is compared, so that the time does not reveal which names exist.
        let mut found = false;
        for (name, known) in &self.pairs {
            let same = crate::settings::config::is_equal(known.as_bytes(), password);
            found |= same && name == user;
        }
        found
    }
}

/// Handles a request of a client that has not authenticated.
pub(super) fn admit(ask: &mut Ask<'_>) -> Done {
    if ask.request.get(0) != Some(b"set") {
        return Err(UNAUTHENTICATED);
    }
    let token = match ask.request.data {
        Data::Block(token) => token,
        // The rest of the token is no request. The client is unknown, so its bytes are not read on.
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
        ask.session.back_off(ask.server, ask.view);
        return Err(REFUSED);
    };
    ask.session.set_user(Some(name.to_owned()), ask.view);
    ask.line("STORED")
}
