//! `daemonize yes` and memcached's `-d`: the server in the background.
//!
//! ```text
//!   larder serve -d ──starts──▶ the same command, of a session of its own
//!         │                         │ opens ports and files, writes its pidfile
//!         ◀──────── ready ──────────┤
//!       ends: 0                     │ serves, without the terminal
//! ```
//!
//! The first process waits until the server serves. If the server cannot start, it writes the
//! reason to the standard error, which it keeps until then. The first process then exits with a
//! nonzero status.

use crate::settings::config::Error;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

/// Set in the process that serves; its standard input is then the socket to the first process.
const CHILD: &str = "LARDER_IN_BACKGROUND";
const READY: &[u8] = b"ready";

/// Whether this process was started to serve in the background.
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Starts the same command again, and waits until it serves.
///
/// # Errors
/// The process cannot be started, or it ends before it serves.
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
    // Reading ends as soon as the server is ready or has exited.
    let _ = here.read_to_end(&mut answer);
    if answer == READY {
        return Ok(());
    }
    let status = child.wait().map_err(failed)?;
    Err(Error(format!("the server in the background did not start ({status})")))
}

/// Starts a new session, so that the server gets no signals of the terminal.
pub(crate) fn leave_session() -> Result<(), Error> {
    // This fails only for the leader of a process group, which a child is not.
    nix::unistd::setsid()
        .map(|_| ())
        .map_err(|error| Error(format!("cannot run in the background: {error}")))
}

/// Reports that the server serves, and detaches it from the terminal. It keeps standard output and
/// standard error if `talks` is set.
pub(crate) fn ready(talks: bool) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error(format!("cannot run in the background: {error}"));
    let way_back = rustix::io::dup(rustix::stdio::stdin()).map_err(|error| failed(error.into()))?;
    let nothing = File::options().read(true).write(true).open("/dev/null").map_err(failed)?;
    let mut done = dup2_stdin(&nothing);
    if !talks {
        done = done.and_then(|()| dup2_stdout(&nothing)).and_then(|()| dup2_stderr(&nothing));
    }
    done.map_err(|error| failed(error.into()))?;
    // The first process may have exited; the server serves all the same.
    let _ = UnixStream::from(way_back).write_all(READY);
    Ok(())
}
