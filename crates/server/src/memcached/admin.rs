//! flush_all, verbosity, version, quit, shutdown, cache_memlimit, and what changes nothing here.

use super::{Ask, BAD_FORMAT, BAD_LIFE, Done, Event, UNKNOWN};
use crate::config::Error;
use base::Bytes;
use wire::memcached::{parse_signed, parse_unsigned};

/// The version of memcached whose commands and replies these are. Clients branch on it.
pub(super) const MEMCACHED_VERSION: &str = "1.6.18";

/// Empties all that the client could reach, at once or after a time.
pub(super) fn flush_all(ask: &mut Ask<'_>) -> Done {
    let seconds = match ask.request.get(1) {
        None | Some(b"noreply") => 0,
        Some(word) => parse_signed(word).ok_or(BAD_LIFE)?,
    };
    ask.count(Event::CmdFlush);
    let tenants = ask.session.reachable(ask.view);
    if seconds > 0 {
        let delay_ms = match super::Life::of(seconds, ask.now) {
            super::Life::Until(at) => at,
            _ => ask.now.unix_ms,
        };
        ask.shared.flush_later(delay_ms, tenants);
    } else {
        for tenant in tenants {
            ask.shared.flush(store::Scope::tenant(tenant));
        }
    }
    ask.line("OK")
}

pub(super) fn verbosity(ask: &mut Ask<'_>) -> Done {
    ask.word(1)?;
    ask.line("OK")
}

/// What steers memcached's slabs and LRU lists: there are none.
pub(super) fn accept(ask: &mut Ask<'_>) -> Done {
    ask.word(1)?;
    ask.line("OK")
}

pub(super) fn version(ask: &mut Ask<'_>) -> Done {
    ask.print(format_args!("VERSION {MEMCACHED_VERSION}\r\n"));
    Ok(())
}

pub(super) fn quit(ask: &mut Ask<'_>) -> Done {
    ask.session.closing = true;
    Ok(())
}

pub(super) fn shutdown(ask: &mut Ask<'_>) -> Done {
    if !ask.view.settings.memcached_shutdown {
        return Err("ERROR: shutdown not enabled");
    }
    match ask.request.get(1) {
        None | Some(b"graceful") => {}
        Some(_) => return Err("CLIENT_ERROR invalid shutdown mode"),
    }
    tracing::warn!("shutdown by client {}", ask.session.client.address);
    ask.session.closing = true;
    ask.shared.stop();
    Ok(())
}

/// Reads the certificates anew.
pub(super) fn refresh_certs(ask: &mut Ask<'_>) -> Done {
    if ask.view.tls.is_none() {
        return Err("SERVER_ERROR ssl is not enabled");
    }
    match ask.shared.reload_certificates() {
        Ok(()) => ask.line("OK"),
        Err(error) => {
            ask.print(format_args!("SERVER_ERROR {error}\r\n"));
            Ok(())
        }
    }
}

/// Sets maxmemory, in megabytes.
pub(super) fn cache_memlimit(ask: &mut Ask<'_>) -> Done {
    let megabytes = parse_unsigned(ask.word(1)?).ok_or(UNKNOWN)?;
    if megabytes == 0 || megabytes > u64::from(u32::MAX) {
        return Err(BAD_FORMAT);
    }
    let changed = ask.shared.change(|settings| -> Result<(), Error> {
        settings.maxmemory = Bytes(megabytes << 20);
        Ok(())
    });
    match changed {
        Ok(()) => ask.line("OK"),
        Err(error) => {
            ask.print(format_args!("SERVER_ERROR {error}\r\n"));
            Ok(())
        }
    }
}
