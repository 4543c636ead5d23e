//! The io_uring of one thread: what sockets receive arrives by itself, what is sent is gathered,
//! and one system call submits, waits and brings what is complete.
//!
//! By epoll a request costs three system calls: one that waits, one that reads, one that writes.
//! Here a socket is armed once (a multishot receive): whenever bytes arrive the kernel copies them
//! into one of the buffers that it was given, and says so in the completion queue. Sends are
//! entries of the submission queue. [`Ring::wait`] hands over the sends and takes what is complete
//! in one call, for all sockets of the thread.
//!
//! ```text
//!   receive(socket) ── armed ──► kernel ──► Completion::Received { buffer } ──► give_back(buffer)
//!   send(socket, bytes) ──► wait() ──► all at once ──► unsent(), where a socket did not take all
//!   watch(descriptor) ── armed ──► kernel ──► Completion::Ready
//! ```
//!
//! A send never waits inside the kernel (`MSG_DONTWAIT`): it is complete when the call returns, as
//! a `send` of a socket that does not block. So `wait` asks for one completion more than there are
//! sends, and sleeps only if nothing else has happened.
//!
//! **Buffers** belong to whoever may write to them: to the kernel while they are provided, to the
//! caller as a [`Buffer`] once they are filled. None is copied. There are few at first, and twice
//! as many whenever the kernel found none ([`Completion::Paused`]): what it could not store waits
//! in the socket, and nothing is lost.
//!
//! Containers often forbid io_uring, and kernels before 6.1 lack what is needed here: then
//! [`Ring::new`] fails, and the caller waits by other means.
//!
//! All unsafe code is in `kernel.rs`.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod kernel;

pub use kernel::{Buffer, Completion, Ring, Unsent};
