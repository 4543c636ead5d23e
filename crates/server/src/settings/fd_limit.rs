//! The number of files that the process may open, which limits its clients.
//!
//! Each connection is an open file. When none is left, nothing works: the server accepts no client
//! and no probe, and writes no log and no dump. So the limit of the system (`ulimit -n`) is raised
//! to the need of the settings, up to the hard limit. If that is not enough, `maxclients` is
//! lowered, as in Redis:
//!
//! ```text
//! ulimit -n = files of the server's own + http-maxclients + maxclients
//! ```

use super::config::{Error, Settings};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Open files beside connections and the files of each thread: listeners, the log, dumps, a warm
/// restart, certificates. Redis reserves as many.
const OWN: usize = 32;
/// The files by which each worker waits for events.
const PER_WORKER: usize = 3;
/// If files are scarce, HTTP gets its share of them, but at least the least number.
const HTTP_LEAST: usize = 8;
const HTTP_SHARE: usize = 8;

/// The numbers of connections: of clients, and to HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    clients: usize,
    http: usize,
}

/// The number of the server's own files.
fn own(settings: &Settings) -> usize {
    let ports = settings.bind.len() * settings.extra_ports().len();
    OWN + PER_WORKER * settings.io_threads + ports
}

/// The number of connections for which the settings ask.
const fn wanted(settings: &Settings) -> Room {
    let has_http = !matches!(settings.http_port, Some(0));
    let http = if has_http { settings.http_maxclients } else { 0 };
    Room { clients: settings.maxclients, http }
}

/// The part of `wanted` that a limit of `limit` files allows, beside `own` files.
fn allowed(limit: usize, own: usize, wanted: Room) -> Room {
    let room = limit.saturating_sub(own);
    if wanted.clients + wanted.http <= room {
        return wanted;
    }
    let http = wanted.http.min((room / HTTP_SHARE).max(HTTP_LEAST));
    Room { clients: wanted.clients.min(room.saturating_sub(http)), http }
}

/// Raises the limit to `files`, as far as the hard limit allows. Returns the new limit.
fn raise(files: usize) -> usize {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return files;
    };
    let wanted = files as u64;
    if soft >= wanted {
        return soft as usize;
    }
    let most = wanted.min(hard);
    let raised = setrlimit(Resource::RLIMIT_NOFILE, most, hard);
    raised.map_or(soft, |()| most) as usize
}

/// Raises the limit for the connections of the settings. Returns the new limit, and the connections
/// that it allows.
fn ask(settings: &Settings) -> (usize, Room) {
    let (own, wanted) = (own(settings), wanted(settings));
    let limit = raise(own + wanted.clients + wanted.http);
    (limit, allowed(limit, own, wanted))
}

/// Lowers the numbers of connections in the settings to those that the system allows, and logs it.
///
/// # Errors
/// The limit leaves no room for a single client.
pub(crate) fn fit(settings: &mut Settings) -> Result<(), Error> {
    let ((limit, room), wanted) = (ask(settings), wanted(settings));
    if room.clients == 0 {
        let least = own(settings) + room.http + 1;
        return Err(Error(format!(
            "ulimit -n is {limit}, which leaves no file for clients: raise it to at least {least}"
        )));
    }
    if room != wanted {
        let need = own(settings) + wanted.clients + wanted.http;
        tracing::warn!(
            "ulimit -n is {limit}, so the server lowers maxclients from {} to {}: raise ulimit -n \
             to {need} to keep maxclients",
            wanted.clients,
            room.clients
        );
        settings.maxclients = room.clients;
        settings.http_maxclients = settings.http_maxclients.min(room.http.max(1));
    }
    Ok(())
}

/// Refuses settings that ask for more connections than the system allows.
///
/// # Errors
/// The number of clients that the system allows.
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
