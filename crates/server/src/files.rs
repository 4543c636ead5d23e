//! How many files the process may open, and so how many clients it may have.
//!
//! Each connection is an open file, and where none is left nothing works any more: no client and no
//! probe is accepted, no log and no dump is written. So the limit of the system (`ulimit -n`) is
//! raised to what the settings need, up to the hard limit; else `maxclients` is lowered, as
//! Redis does:
//!
//! ```text
//! ulimit -n = files of the server's own + http-maxclients + maxclients
//! ```

use crate::config::{Error, Settings};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files that are open beside connections and what each thread waits with: listeners, the log,
/// dumps, a warm restart, certificates. As many as Redis keeps back.
const OWN: usize = 32;
/// Files that each worker waits with.
const PER_WORKER: usize = 3;
/// Connections to HTTP that are kept room for where room is scarce, and their share elsewhere.
const HTTP_LEAST: usize = 8;
const HTTP_SHARE: usize = 8;

/// Connections that there may be: of clients, and to HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    clients: usize,
    http: usize,
}

/// Files of the server's own.
fn own(settings: &Settings) -> usize {
    let ports = settings.bind.len() * settings.extra_ports().len();
    OWN + PER_WORKER * settings.io_threads + ports
}

/// Connections that the settings ask for.
const fn wanted(settings: &Settings) -> Room {
    let has_http = !matches!(settings.http_port, Some(0));
    let http = if has_http { settings.http_maxclients } else { 0 };
    Room { clients: settings.maxclients, http }
}

/// The part of it that `limit` files allow, beside `own`.
fn allowed(limit: usize, own: usize, wanted: Room) -> Room {
    let room = limit.saturating_sub(own);
    if wanted.clients + wanted.http <= room {
        return wanted;
    }
    let http = wanted.http.min((room / HTTP_SHARE).max(HTTP_LEAST));
    Room { clients: wanted.clients.min(room.saturating_sub(http)), http }
}

/// Raises the limit to `files`, as far as the hard limit lets it; the limit then.
fn raise(files: usize) -> usize {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return files };
    let wanted = files as u64;
    if soft >= wanted {
        return soft as usize;
    }
    let most = wanted.min(hard);
    let raised = setrlimit(Resource::RLIMIT_NOFILE, most, hard);
    raised.map_or(soft, |()| most) as usize
}

/// Raises the limit for what the settings ask for; the limit then, and what it allows.
fn ask(settings: &Settings) -> (usize, Room) {
    let (own, wanted) = (own(settings), wanted(settings));
    let limit = raise(own + wanted.clients + wanted.http);
    (limit, allowed(limit, own, wanted))
}

/// Makes the settings ask for no more connections than the system allows, with a line in the log.
///
/// # Errors
/// That there is no room for a single client.
pub(crate) fn fit(settings: &mut Settings) -> Result<(), Error> {
    let ((limit, room), wanted) = (ask(settings), wanted(settings));
    if room.clients == 0 {
        let least = own(settings) + room.http + 1;
        return Err(Error(format!(
            "ulimit -n is {limit}, which leaves no file for a client: raise it to {least} at least"
        )));
    }
    if room != wanted {
        let need = own(settings) + wanted.clients + wanted.http;
        tracing::warn!(
            "ulimit -n is {limit}: maxclients is lowered from {} to {}; for as many as were asked \
             for raise it to {need}",
            wanted.clients,
            room.clients
        );
        settings.maxclients = room.clients;
        settings.http_maxclients = settings.http_maxclients.min(room.http.max(1));
    }
    Ok(())
}

/// Refuses settings that ask for more.
///
/// # Errors
/// How many clients there may be.
pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
    let (limit, room) = ask(settings);
    if room == wanted(settings) {
        return Ok(());
    }
    Err(Error(format!(
        "The operating system is not able to handle the specified number of clients, try with {} \
         (ulimit -n is {limit})",
        room.clients
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_have_what_is_left() {
        let wanted = Room { clients: 10_000, http: 64 };
        let of = |limit| allowed(limit, 36, wanted);
        assert_eq!(of(20_000), wanted);
        assert_eq!(of(10_100), wanted);
        assert_eq!(of(10_099), Room { clients: 9_999, http: 64 });
        assert_eq!(of(1_024), Room { clients: 924, http: 64 });
        assert_eq!(of(64), Room { clients: 20, http: 8 });
        assert_eq!(of(40).clients, 0);
        let none = Room { http: 0, ..wanted };
        assert_eq!(allowed(64, 36, none), Room { clients: 28, http: 0 });
    }
}
