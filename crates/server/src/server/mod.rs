//! The state that all threads share, and the clients that must hear of a key.

pub(crate) mod audience;
mod server;

pub(crate) use server::{Server, View};
