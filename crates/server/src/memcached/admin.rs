//! flush_all, verbosity, version, quit, shutdown, cache_memlimit, refresh_certs.

use super::lru::short;
use super::request::{Ask, BAD_EXPIRY, BAD_FORMAT, Done, UNKNOWN};
use crate::facts::memcached_events::Event;
use crate::settings::config::Error;
use base::Bytes;
use wire::memcached::parse_signed;

/// The version of memcached that the commands and replies follow. Clients branch on it.
pub(super) const MEMCACHED_VERSION: &str = "1.6.45";

/// Deletes all items of the tenants that the client can reach, at once or after a time.
pub(super) fn flush_all(ask: &mut Ask<'_>) -> Done {
    let seconds = match ask.request.get(1) {
        None => 0,
        Some(b"noreply") if ask.request.len() == 2 => 0,
        Some(word) => parse_signed(word).ok_or(BAD_EXPIRY)?,
    };
    let is_short = i32::try_from(seconds).is_ok();
    ask.count(Event::CmdFlush);
    if !ask.view.settings.memcached_flush_all {
        return Err("CLIENT_ERROR flush_all not allowed");
    }
    if !is_short {
        return Err(BAD_EXPIRY);
    }
    let tenants = ask.session.reachable(ask.view);
    // The last request counts: it replaces one that still waits.
    ask.server.memcached.forget_flushes(&tenants);
    if let super::request::Expiry::Until(at) = super::request::Expiry::of(seconds, ask.now) {
        ask.server.memcached.flush_later(at, tenants);
    } else {
        for tenant in tenants {
            ask.server.flush(store::Scope::tenant(tenant));
        }
    }
    ask.line("OK")
}

/// Checks the argument and replies OK. The setting `loglevel` decides how much is logged.
pub(super) fn verbosity(ask: &mut Ask<'_>) -> Done {
    short(ask.request.get(1)).ok_or(BAD_FORMAT)?;
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
        return Err("SERVER_ERROR: shutdown not enabled");
    }
    match ask.request.get(1) {
        None | Some(b"graceful") => {}
        Some(_) => return Err("CLIENT_ERROR invalid shutdown mode"),
    }
    tracing::warn!("shutdown by client {}", ask.session.client.address);
    ask.session.closing = true;
    ask.server.stop();
    Ok(())
}

/// Rereads the certificates.
pub(super) fn refresh_certs(ask: &mut Ask<'_>) -> Done {
    if ask.view.tls.is_none() {
        return Err("SERVER_ERROR ssl is not enabled");
    }
    let read_anew = ask.server.change(|settings| -> Result<(), Error> {
        settings.files_generation += 1;
        Ok(())
    });
    match read_anew {
        Ok(()) => ask.line("OK"),
        Err(error) => {
            ask.print(format_args!("SERVER_ERROR {error}\r\n"));
            Ok(())
        }
    }
}

/// Sets maxmemory, in megabytes.
pub(super) fn cache_memlimit(ask: &mut Ask<'_>) -> Done {
    let megabytes = short(ask.request.get(1)).ok_or(UNKNOWN)?;
    match megabytes {
        ..8 => return ask.line("MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m"),
        1_000_000_001.. => {
            return ask.line("MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes");
        }
        _ => {}
    }
    let changed = ask.server.change(|settings| -> Result<(), Error> {
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
