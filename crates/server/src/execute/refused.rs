//! The reasons why a command does not run.

use crate::settings::acl::Denied;
use crate::settings::cluster::Elsewhere;

/// The reason why a command does not run, with the command's number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refused {
    Unknown,
    /// The command has no such subcommand.
    Subcommand(u16),
    Arity(u16),
    /// The client has not authenticated.
    Stranger(u16),
    Denied(u16, Denied),
    Listens(u16),
    InMulti(u16),
    /// A script holds the gate.
    Busy(u16),
    /// Another node of the cluster owns its keys.
    Elsewhere(u16, Elsewhere),
    /// EXEC does not run it.
    NoExec(u16),
    /// A script may not run it, for the reason in this error text.
    InScript(u16, &'static str),
    /// Its keys are in another slot than the earlier keys of the script.
    CrossSlot,
}

impl Refused {
    pub(crate) const fn number(self) -> Option<u16> {
        match self {
            Self::Unknown | Self::CrossSlot => None,
            Self::Subcommand(number)
            | Self::Arity(number)
            | Self::Stranger(number)
            | Self::Denied(number, _)
            | Self::Listens(number)
            | Self::InMulti(number)
            | Self::Busy(number)
            | Self::Elsewhere(number, _)
            | Self::NoExec(number)
            | Self::InScript(number, _) => Some(number),
        }
    }
}
