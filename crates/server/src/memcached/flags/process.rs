//! memcached's flags about the process: another user, the background, its memory.
//!
//! The changes are made before any thread, port or file is opened, as in memcached. So the port and
//! the files are opened with that user's permissions.

use crate::settings::config::Error;
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{User, geteuid, initgroups, setgid, setuid};
use std::ffi::CString;

/// Changes to the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Process {
    /// The user to become, if the process runs as root.
    pub(crate) user: Option<String>,
    /// Run in the background.
    pub(crate) daemon: bool,
    /// Keep all memory resident.
    pub(crate) lock_memory: bool,
    /// Remove the limit for core files.
    pub(crate) core_dumps: bool,
}

impl Process {
    /// Makes the changes, except for the background (`process/daemonize.rs`).
    pub(crate) fn carry_out(&self) -> Result<(), Error> {
        let failed = |what: &str, error: nix::Error| Error(format!("{what}: {error}"));
        if self.core_dumps {
            let limit = getrlimit(Resource::RLIMIT_CORE).map(|(_, hard)| hard);
            let raised = limit.and_then(|hard| setrlimit(Resource::RLIMIT_CORE, hard, hard));
            raised.map_err(|error| failed("-r: cannot raise the limit for core files", error))?;
        }
        if let Some(name) = self.user.as_deref().filter(|_| geteuid().is_root()) {
            become_user(name)?;
        }
        if self.lock_memory {
            mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).map_err(|error| {
                failed("-k: cannot lock the memory: raise ulimit -l, or leave -k out", error)
            })?;
        }
        Ok(())
    }
}

/// Gives up root's permissions for those of a user, for good.
fn become_user(name: &str) -> Result<(), Error> {
    let user = User::from_name(name)
        .map_err(|error| Error(format!("-u {name}: {error}")))?
        .ok_or_else(|| Error(format!("-u {name}: this machine has no such user: name another")))?;
    if user.uid.is_root() {
        return Ok(());
    }
    let groups =
        CString::new(name).map_err(|_| Error(format!("-u {name}: not a valid user name")))?;
    initgroups(&groups, user.gid)
        .and_then(|()| setgid(user.gid))
        .and_then(|()| setuid(user.uid))
        .map_err(|error| Error(format!("-u {name}: cannot become that user: {error}")))
}
