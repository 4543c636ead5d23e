//! Access to the pages over HTTP: for users that may call INFO.
//!
//! A request without credentials counts as the user `default`, if that user needs no password.
//! Otherwise a user's name and password come by HTTP's Basic authentication. The answer to a wrong
//! password is delayed as in the other protocols, and all attempts count together.

use crate::facts::table;
use crate::server::{Clients, Logs};
use crate::services::acl_log::What;
use crate::services::clock::Clock;
use crate::settings::config::DEFAULT_USER;
use crate::settings::config::Settings;
use dashboard::Refused;
use std::net::SocketAddr;
use std::time::Duration;
use wire::memcached::decode_key;

/// Admits clients that may see everything here. A wrong password delays the answer.
pub(super) async fn admit(
    settings: &Settings,
    (clients, logs, clock): (&Clients, &Logs, &Clock),
    authorization: Option<&str>,
    peer: SocketAddr,
) -> Result<(), Refused> {
    let user = match authorization.and_then(credentials) {
        Some((name, password)) => {
            let user = settings.user(&name).filter(|user| user.admits(password.as_bytes()));
            let Some(user) = user else {
                let (now_ms, address) = (clock.micros().0 / 1_000, peer.to_string());
                note_wrong(logs, settings, name, &address);
                let most = settings.auth_delay_max;
                let delay = clients.backoff().delay_ms(&address, now_ms, most);
                tokio::time::sleep(Duration::from_millis(delay)).await;
                return Err(Refused::Unknown);
            };
            user
        }
        None if settings.is_open() => settings.user(DEFAULT_USER).ok_or(Refused::Unknown)?,
        None => return Err(Refused::Unknown),
    };
    let number = table::find(b"info").ok_or(Refused::Unknown)?;
    user.check(number, &[b"info"], 0).map_err(|_| Refused::MayNot(user.name.clone()))
}

/// Reads the name and password of `Basic …`, with the base64 decoder of meta commands.
fn credentials(authorization: &str) -> Option<(String, String)> {
    let (scheme, text) = authorization.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(decode_key(text.trim().as_bytes())?).ok()?;
    let (name, password) = text.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

/// Notes a wrong password in the ACL log.
fn note_wrong(logs: &Logs, settings: &Settings, user: String, address: &str) {
    let (reason, context) = ("auth", "toplevel");
    let what = What { reason, context, object: b"http".to_vec(), user };
    let (unix_ms, max) = (Clock::unix_us() / 1_000, settings.acllog_max_len);
    logs.acl.add(what, format!("addr={address} cmd=http"), unix_ms, max);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_passwords_are_read() {
        let pair = |name: &str, password: &str| Some((name.to_owned(), password.to_owned()));
        assert_eq!(credentials("Basic YWxpY2U6c2VjcmV0"), pair("alice", "secret"));
        assert_eq!(credentials("basic OmE6Yg=="), pair("", "a:b"));
        for text in
            ["", "Basic", "Bearer YWxpY2U6c2VjcmV0", "Basic !", "Basic YWxpY2U=", "Basic /w=="]
        {
            assert_eq!(credentials(text), None, "{text}");
        }
    }
}
