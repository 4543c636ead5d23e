//! `daemonize yes` and memcached's `-d`: the server in the background.
//!
//! ```text
//!   larder serve -d ──starts──▶ the same command, of a session of its own
//!         │                         │ opens ports and files, writes its pidfile
//!         ◀──────── ready ──────────┤
//!       ends: 0                     │ serves, without the terminal
//! ```
//!
//! The command that was typed waits until the server serves. One that cannot start has said why on
//! the standard error, which it keeps until then, and the command ends with a status above 0.

use crate::config::Error;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

/// Set in the process that is started; its standard input is then the way back.
const CHILD: &str = "LARDER_IN_BACKGROUND";
const READY: &[u8] = b"ready";

/// Whether this process is the one that was started to serve.
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Starts the same command again, and waits until it serves.
///
/// # Errors
/// It does not.
pub(crate) fn start() -> Result<(), Error> {
    let failed = |error: std::io::Error| Error(format!("cannot run in the background: {error}"));
    let (mut here, there) = UnixStream::pair().map_err(failed)?;
    let program = std::env::current_exe().map_err(failed)?;
    let mut child = Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(CHILD, "1")
        .stdin(Stdio::from(OwnedFd::from(there)))
        .spawn()
        .map_err(failed)?;
    let mut answer = vec![];
    // It ends as soon as the server is ready, or is no more.
    let _ = here.read_to_end(&mut answer);
    if answer == READY {
        return Ok(());
    }
    let status = child.wait().map_err(failed)?;
    Err(Error(format!("the server in the background did not start ({status})")))
}

/// Leaves the session, so that no signal of its terminal arrives.
pub(crate) fn leave_session() -> Result<(), Error> {
    // It fails only for the first of a group, as which a child does not begin.
    nix::unistd::setsid()
        .map(|_| ())
        .map_err(|error| Error(format!("cannot run in the background: {error}")))
}

/// Says that the server serves, and lets go of the terminal; of its output only where nothing more
/// is to be said there.
pub(crate) fn ready(talks: bool) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error(format!("cannot run in the background: {error}"));
    let way_back = rustix::io::dup(rustix::stdio::stdin()).map_err(|error| failed(error.into()))?;
    let nothing = File::options().read(true).write(true).open("/dev/null").map_err(failed)?;
    let mut done = dup2_stdin(&nothing);
    if !talks {
        done = done.and_then(|()| dup2_stdout(&nothing)).and_then(|()| dup2_stderr(&nothing));
    }
    done.map_err(|error| failed(error.into()))?;
    // Whoever started it may be gone; the server serves all the same.
    let _ = UnixStream::from(way_back).write_all(READY);
    Ok(())
}
