//! Authentication by memcached's tokens.
//!
//! A client authenticates with a store command: `set KEY 0 0 LENGTH`. The key may be any, and the
//! value is `USER PASSWORD`. The pairs come from a file, or from the users of the configuration. So
//! a tenant that matches a user has its clients here too.

use super::request::{Ask, BAD_CHUNK, Done, ERROR};
use crate::facts::memcached_events::Event;
use wire::memcached::Data;

const REFUSED: &str = "CLIENT_ERROR authentication failure";
const UNAUTHENTICATED: &str = "CLIENT_ERROR unauthenticated";

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
        ask.session.back_off(ask.server.clients.backoff(), &ask.server.clock, ask.view);
        return Err(REFUSED);
    };
    ask.session.set_user(Some(name.to_owned()), ask.view);
    ask.line("STORED")
}
