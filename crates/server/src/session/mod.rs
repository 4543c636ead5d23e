//! The state of a connection, except its bytes.

mod session;

pub(crate) use session::{Mute, Session, Subscriptions, Tracks, Transaction, Watched};
