//! The drivers: they own the sockets and the replies that are not sent yet.
//!
//! There are two drivers. *epoll* reports a socket as ready, and the driver then reads and writes
//! it by a system call each. *io_uring* receives the input of clients by itself and gathers
//! replies, and one call for all connections sends, waits and receives. Neither of them knows any
//! command, and a worker cannot tell them apart: it asks for events and hands over replies.
//!
//! ```text
//!   wait ──► Received(bytes) … HungUp │ Failed      the input of a client, in its order
//!   send(replies) ──► a number of bytes waits       the socket did not accept all
//!   wait ──► Sent … Sent ── nothing is unsent       it has accepted more of them
//! ```

mod choose;
mod driver;
mod epoll;
mod socket;
mod uring;

pub(super) use choose::choose;
pub(super) use driver::{Driver, Event, Token};
