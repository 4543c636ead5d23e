//! The state of a connection, except its bytes.

mod flow;
mod mute;
mod session;
mod subscriptions;
mod tracks;
mod transaction;

pub(crate) use flow::{Flow, Why};
pub(crate) use mute::Mute;
pub(crate) use session::Session;
pub(crate) use subscriptions::Subscriptions;
pub(crate) use tracks::Tracks;
pub(crate) use transaction::{Transaction, Watched};
