//! Permissions of a client's user for a call, and the log of refusals.

use super::refused::Refused;
use crate::call::{Call, Failure};
use crate::facts::Databases;
use crate::facts::table::get;
use crate::services::acl_log::What;
use crate::services::clock::Clock;
use crate::settings::acl::Denied;
use std::sync::atomic::Ordering;
use wire::resp::parse_integer;

impl Denied {
    /// The part of the call that was refused, for the log.
    pub(crate) fn object(self, number: u16, args: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Command => get(number).name.into(),
            Self::Database(db) => named_database(number, args, db),
            Self::Key(at) | Self::Channel(at) => args[at].to_vec(),
        }
    }

    /// The error text for a client. It does not name the key or channel.
    pub(crate) fn text(self, user: &str, number: u16) -> String {
        match self {
            Self::Command => {
                format!("User {user} has no permissions to run the '{}' command", get(number).name)
            }
            Self::Database(_) => "No permissions to access database".into(),
            Self::Key(_) => "No permissions to access a key".into(),
            Self::Channel(_) => "No permissions to access a channel".into(),
        }
    }
}

/// The argument that names the refused database. For a command about the client's own database it
/// is the command's name.
fn named_database(number: u16, args: &[&[u8]], db: u32) -> Vec<u8> {
    let place = match get(number).databases {
        Databases::Enters(at) => Some(at),
        Databases::Also(find) => find(args),
        _ => None,
    };
    let named = place.and_then(|at| args.get(at)).copied();
    let is_it = |arg: &&[u8]| parse_integer(arg) == Some(i64::from(db));
    named.filter(is_it).unwrap_or(get(number).name.as_bytes()).to_vec()
}

/// Checks that the client's user may make this call. Called only for clients with limits, such as
/// those that have not logged in.
#[cold]
pub(crate) fn permit(call: &Call<'_>, number: u16) -> Result<(), Refused> {
    if call.session.user.is_none() {
        return Err(Refused::Stranger(number));
    }
    let args: Vec<&[u8]> = call.args.iter_from(0).collect();
    call.session.permits(number, &args).map_err(|denied| Refused::Denied(number, denied))
}

/// Notes a refusal in the log. Returns the error for the client.
pub(crate) fn refuse(call: &Call<'_>, number: u16, denied: Denied) -> Failure {
    // The client's last command stays EXEC, not a command that EXEC runs.
    if !call.session.executing {
        call.session.client.command.store(number, Ordering::Relaxed);
    }
    let args: Vec<&[u8]> = call.args.iter_from(0).collect();
    let user = call.session.user.as_deref().unwrap_or_default();
    note(call, denied.reason(), denied.object(number, &args), user);
    format!("NOPERM {}", denied.text(user, number)).into_bytes().into()
}

/// Notes in the log that a client tried a wrong password for a user.
pub(crate) fn note_wrong(call: &Call<'_>, name: &[u8]) {
    note(call, "auth", call.arg(0).to_vec(), &String::from_utf8_lossy(name));
}

fn note(call: &Call<'_>, reason: &'static str, object: Vec<u8>, user: &str) {
    let in_multi = call.session.transaction.is_some() || call.session.executing;
    let context = match in_multi {
        _ if call.session.scripted => "lua",
        true => "multi",
        false => "toplevel",
    };
    let what = What { reason, context, object, user: user.to_owned() };
    let (now_ms, max) = (call.now.micros.0 / 1_000, call.view.settings.acllog_max_len);
    let line = call.session.client.line(now_ms);
    call.server.logs.acl.add(what, line, Clock::unix_us() / 1_000, max);
}
