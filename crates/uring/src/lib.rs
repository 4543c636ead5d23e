//! The io_uring of one thread. The kernel receives from sockets without being asked each time, and
//! sends are gathered. One system call submits, waits and returns completions.
//!
//! With epoll a request costs three system calls: one that waits, one that reads, one that writes.
//! Here a socket is armed once (a multishot receive). Whenever bytes arrive, the kernel copies them
//! into a provided buffer and reports it in the completion queue. Sends are entries of the
//! submission queue. [`Ring::wait`] submits the sends and takes completions in one call, for all
//! sockets of the thread.
//!
//! ```text
//!   receive(socket) ── armed ──► kernel ──► Completion::Received { buffer } ──► give_back(buffer)
//!   send(socket, bytes) ──► wait() ──► all at once ──► unsent(), where a socket did not take all
//!   watch(descriptor) ── armed ──► kernel ──► Completion::Ready
//! ```
//!
//! A send never waits inside the kernel (`MSG_DONTWAIT`): it is complete when the call returns,
//! like a `send` to a non-blocking socket. So `wait` asks for one completion more than there are
//! sends, and sleeps only if there is no other event.
//!
//! **Buffers** belong to the side that may write to them: to the kernel while they are provided, to
//! the caller as a [`Buffer`] once they are filled. They are never copied. There are few at first.
//! Their number doubles whenever the kernel finds none free ([`Completion::Paused`]). Bytes that
//! the kernel cannot store wait in the socket, and nothing is lost.
//!
//! Containers often forbid io_uring, and kernels before 6.1 lack features needed here. Then
//! [`Ring::new`] fails, and the caller waits by other means.
//!
//! All unsafe code is in `kernel.rs`.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod kernel;

pub use kernel::{Buffer, Completion, Ring, Unsent};
