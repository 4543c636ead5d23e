//! Memory shared with the kernel: the two queues, the ring of provided buffers, and the bytes of
//! sends.
//!
//! The kernel knows three kinds of memory by their addresses. Each must outlive the kernel's use of
//! it:
//!
//! - *the ring of provided buffers*, from its registration until the io_uring is closed: `Provided`
//!   is dropped after the io_uring;
//! - *a provided buffer*, until the kernel reports that it is filled: until then `Provided::lent`
//!   holds it as a raw pointer, and there is no other pointer to it;
//! - *the bytes of a send*, until the send is complete: `Ring::sends` owns them.
//!
//! A ring that is dropped cancels its armed requests synchronously. If that fails, it frees none of
//! the three.

use io_uring::types::{BufRingEntry, CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// Size of a buffer in bytes.
const BUFFER: usize = 16 << 10;
/// Number of buffers at first, and the most there may be: a power of two.
const BUFFERS: u16 = 64;
const BUFFERS_MAX: u16 = 1_024;
/// Entries of the submission queue.
const ENTRIES: u32 = 256;
/// Entries of the completion queue.
const COMPLETIONS: u32 = 4_096;
/// Number of send buffers that are kept for reuse, and the largest capacity of each.
const SPARE: usize = 256;
const SPARE_BYTES: usize = 64 << 10;
/// The only group of provided buffers.
const GROUP: u16 = 0;

/// The kind of request that a completion belongs to: the upper two bits of its number.
const KIND: u64 = 3 << 62;
const RECEIVE: u64 = 0;
const SEND: u64 = 1 << 62;
const WATCH: u64 = 2 << 62;
const CANCEL: u64 = 3 << 62;

/// An event that the kernel reports.
#[derive(Debug)]
pub enum Completion {
    /// Bytes have arrived at the socket with this token.
    Received(u64, Buffer),
    /// The other side sends no more.
    Closed(u64),
    /// The socket failed.
    Failed(u64),
    /// The ring no longer receives from the socket, because buffers ran out or because it was
    /// cancelled. Further bytes wait in the socket for the next [`Ring::receive`].
    Paused(u64),
    /// A watched descriptor is ready.
    Ready,
}

/// An incomplete send: the kernel sent only the first `written` bytes. The reason is not kept; the
/// caller sees it when it sends the rest.
#[derive(Debug)]
pub struct Unsent {
    /// The token of the socket.
    pub token: u64,
    /// All bytes of the send.
    pub bytes: Vec<u8>,
    /// Number of bytes that were sent.
    pub written: usize,
}

/// A buffer of received bytes.
#[derive(Debug)]
pub struct Buffer {
    memory: Box<[u8; BUFFER]>,
    len: usize,
    number: u16,
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}

/// The buffers provided to the kernel, and the ring through which the kernel takes them.
#[derive(Debug)]
struct Provided {
    entries: NonNull<BufRingEntry>,
    /// Position in the ring for the next buffer.
    tail: u16,
    /// The buffers that the kernel holds, by number.
    lent: Vec<Option<NonNull<[u8; BUFFER]>>>,
}

impl Provided {
    /// Page-aligned, as the kernel requires.
    const LAYOUT: Layout = {
        let size = BUFFERS_MAX as usize * size_of::<BufRingEntry>();
        match Layout::from_size_align(size, 4_096) {
            Ok(layout) => layout,
            Err(_) => panic!("a page is a power of two"),
        }
    };

    fn new() -> Self {
        // SAFETY: the size is not 0.
        let memory = unsafe { alloc_zeroed(Self::LAYOUT) };
        let Some(entries) = NonNull::new(memory.cast()) else { handle_alloc_error(Self::LAYOUT) };
        Self { entries, tail: 0, lent: vec![] }
    }

    /// Gives the kernel a buffer. If the kernel already holds one of this number, as for a buffer
    /// of another ring, the buffer is dropped instead.
    fn lend(&mut self, number: u16, memory: Box<[u8; BUFFER]>) {
        let Some(place @ None) = self.lent.get_mut(usize::from(number)) else { return };
        let memory = NonNull::from(Box::leak(memory));
        *place = Some(memory);
        // SAFETY: the index is below BUFFERS_MAX, so the entry lies in the allocation, which was
        // zeroed and is a valid entry. The kernel reads only entries below the tail that it was
        // shown. There are never more of them than buffers, so this entry is free.
        let entry = unsafe { self.entries.add(usize::from(self.tail % BUFFERS_MAX)).as_mut() };
        entry.set_addr(memory.as_ptr() as u64);
        entry.set_len(BUFFER as u32);
        entry.set_bid(number);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail is two bytes within the first entry, aligned to two. Only this thread
        // changes it; the kernel reads it.
        let tail =
            unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    /// Takes a buffer that the kernel has filled.
    fn take(&mut self, number: u16, len: usize) -> Option<Buffer> {
        let memory = self.lent.get_mut(usize::from(number))?.take()?;
        // SAFETY: it was leaked from a box of this type in `lend`. The kernel, which reported it as
        // filled, no longer uses it, and there is no other pointer to it.
        let memory = unsafe { Box::from_raw(memory.as_ptr()) };
        Some(Buffer { memory, len: len.min(BUFFER), number })
    }

    /// Provides up to `more` further buffers, within [`BUFFERS_MAX`].
    fn grow(&mut self, more: usize) {
        let most = usize::from(BUFFERS_MAX) - self.lent.len();
        for _ in 0..more.min(most) {
            let number = self.lent.len() as u16;
            self.lent.push(None);
            // Allocated on the heap directly, and zeroed once.
            let memory = vec![0; BUFFER].into_boxed_slice();
            if let Ok(memory) = memory.try_into() {
                self.lend(number, memory);
            }
        }
    }
}

impl Drop for Provided {
    fn drop(&mut self) {
        for number in 0..self.lent.len() {
            drop(self.take(number as u16, 0));
        }
        // SAFETY: allocated in `new` with this layout; the io_uring that knew the address is
        // closed.
        unsafe { dealloc(self.entries.as_ptr().cast(), Self::LAYOUT) };
    }
}

/// A send: its socket and its bytes.
#[derive(Debug)]
struct Send {
    token: u64,
    socket: RawFd,
    bytes: Vec<u8>,
}

/// An io_uring, used only by the thread that made it.
pub struct Ring {
    uring: ManuallyDrop<IoUring>,
    provided: ManuallyDrop<Provided>,
    /// Sends by number: first those that the kernel may know, then those that it does not know yet.
    sends: ManuallyDrop<Vec<Send>>,
    unsent: Vec<Unsent>,
    /// Number of sends that are submitted and not complete.
    open: usize,
    /// Number of requests that stay armed.
    armed: usize,
    spare: Vec<Vec<u8>>,
    /// Whether the kernel found no free buffer.
    is_starved: bool,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { sends, open, armed, .. } = self;
        write!(f, "Ring {{ sends: {}, open: {open}, armed: {armed} }}", sends.len())
    }
}

impl Ring {
    /// Creates a ring for this thread.
    ///
    /// # Errors
    /// If the kernel forbids io_uring or is too old; it must be 6.1 or newer.
    pub fn new() -> io::Result<Self> {
        let uring: IoUring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_clamp()
            .setup_cqsize(COMPLETIONS)
            .build(ENTRIES)?;
        if !uring.params().is_feature_ext_arg() || !uring.params().is_feature_nodrop() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut provided = Provided::new();
        let address = provided.entries.as_ptr() as u64;
        // SAFETY: `provided` outlives the io_uring: see `Drop`.
        unsafe {
            uring.submitter().register_buf_ring_with_flags(address, BUFFERS_MAX, GROUP, 0)?;
        }
        provided.grow(BUFFERS.into());
        Ok(Self {
            uring: ManuallyDrop::new(uring),
            provided: ManuallyDrop::new(provided),
            sends: ManuallyDrop::default(),
            unsent: vec![],
            open: 0,
            armed: 0,
            spare: vec![],
            is_starved: false,
        })
    }

    /// Puts an entry into the submission queue.
    ///
    /// # Safety
    /// The memory that the entry points to must live until the request is complete.
    unsafe fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        loop {
            // SAFETY: the caller's promise.
            if unsafe { self.uring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.uring.submit()?;
        }
    }

    /// Receives from a socket from now on, until it is closed, fails or pauses. Only this call uses
    /// the descriptor: the socket stays open until then even if the descriptor is closed.
    ///
    /// `token` names the socket in completions; it has 62 bits.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn receive(&mut self, socket: impl AsFd, token: u64) -> io::Result<()> {
        let socket = Fd(socket.as_fd().as_raw_fd());
        let entry = opcode::RecvMulti::new(socket, GROUP).build().user_data(RECEIVE | token);
        // SAFETY: the entry points to no memory; the kernel takes provided buffers.
        unsafe { self.push(&entry) }?;
        self.armed += 1;
        self.uring.submit().map(drop)
    }

    /// Ends the reception from a socket. [`Completion::Paused`] reports its end.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn cancel(&mut self, token: u64) -> io::Result<()> {
        let entry = opcode::AsyncCancel::new(RECEIVE | token).build().user_data(CANCEL);
        // SAFETY: the entry points to no memory.
        unsafe { self.push(&entry) }
    }

    /// Reports [`Completion::Ready`] whenever new bytes can be read from `source`.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn watch(&mut self, source: &impl AsRawFd) -> io::Result<()> {
        self.watch_raw(source.as_raw_fd())
    }

    fn watch_raw(&mut self, source: RawFd) -> io::Result<()> {
        let events = libc::POLLIN as u32;
        let entry = opcode::PollAdd::new(Fd(source), events).multi(true).build();
        // SAFETY: the entry points to no memory.
        unsafe { self.push(&entry.user_data(WATCH | source as u64)) }?;
        self.armed += 1;
        self.uring.submit().map(drop)
    }

    /// Queues bytes for a socket. The next [`Self::wait`] sends them; until then the socket's
    /// descriptor must stay open.
    pub fn send(&mut self, socket: impl AsFd, token: u64, bytes: Vec<u8>) {
        self.sends.push(Send { token, socket: socket.as_fd().as_raw_fd(), bytes });
    }

    /// An empty buffer for the bytes of a send, with the memory of an earlier send if there is any.
    pub fn spare(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Returns a buffer to the kernel.
    pub fn give_back(&mut self, buffer: Buffer) {
        self.provided.lend(buffer.number, buffer.memory);
    }

    /// Sends the queued bytes and waits for an event, at most for `most`. Appends the events to
    /// `completions`.
    ///
    /// # Errors
    /// If the kernel refuses to wait.
    pub fn wait(&mut self, most: Duration, completions: &mut Vec<Completion>) -> io::Result<()> {
        self.enter(Some(&Timespec::from(most)), completions)
    }

    /// Sends the queued bytes, and appends events that are already there to `completions`.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn flush(&mut self, completions: &mut Vec<Completion>) -> io::Result<()> {
        self.enter(None, completions)
    }

    fn enter(
        &mut self,
        most: Option<&Timespec>,
        completions: &mut Vec<Completion>,
    ) -> io::Result<()> {
        if self.is_starved {
            self.is_starved = false;
            let as_many = self.provided.lent.len();
            self.provided.grow(as_many);
        }
        for number in 0..self.sends.len() {
            let Send { socket, bytes, .. } = &self.sends[number];
            let entry = opcode::Send::new(Fd(*socket), bytes.as_ptr(), bytes.len() as u32)
                .flags(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
                .build()
                .user_data(SEND | number as u64);
            // SAFETY: `sends` owns the bytes, and keeps them until the send is complete. The outer
            // vector may move its elements; the bytes themselves do not move.
            unsafe { self.push(&entry) }?;
            self.open += 1;
        }
        let before = completions.len();
        loop {
            let waits = most.is_some() && completions.len() == before;
            let wanted = self.open + usize::from(waits);
            let submitter = self.uring.submitter();
            let result = match most {
                Some(most) => submitter.submit_with_args(wanted, &SubmitArgs::new().timespec(most)),
                None => submitter.submit_and_wait(wanted),
            };
            self.reap(completions);
            match result.as_ref().map_err(io::Error::raw_os_error) {
                // The completion queue was full, or memory is short: the loop has just taken some
                // completions.
                Ok(_) | Err(Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {}
                Err(_) => return result.map(drop),
            }
            if self.open == 0 {
                break;
            }
        }
        // `sent` has already moved incomplete sends to `unsent`.
        for number in (0..self.sends.len()).rev() {
            let mut bytes = std::mem::take(&mut self.sends[number].bytes);
            if self.spare.len() < SPARE && (1..=SPARE_BYTES).contains(&bytes.capacity()) {
                bytes.clear();
                self.spare.push(bytes);
            }
        }
        self.sends.clear();
        Ok(())
    }

    /// Takes all entries of the completion queue.
    fn reap(&mut self, completions: &mut Vec<Completion>) {
        loop {
            let Some(entry) = self.uring.completion().next() else { break };
            let number = entry.user_data() & !KIND;
            let is_over = !cqueue::more(entry.flags());
            match entry.user_data() & KIND {
                RECEIVE => self.received(&entry, number, is_over, completions),
                SEND => self.sent(number as usize, entry.result()),
                WATCH => {
                    completions.push(Completion::Ready);
                    if is_over {
                        self.armed -= 1;
                        // If this fails, the next wait fails too.
                        let _ = self.watch_raw(number as RawFd);
                    }
                }
                _ => {}
            }
        }
    }

    fn received(
        &mut self,
        entry: &cqueue::Entry,
        token: u64,
        is_over: bool,
        completions: &mut Vec<Completion>,
    ) {
        let (result, flags) = (entry.result(), entry.flags());
        let buffer = cqueue::buffer_select(flags)
            .and_then(|number| self.provided.take(number, result.max(0) as usize));
        self.armed -= usize::from(is_over);
        match (result, buffer) {
            (1.., Some(buffer)) => {
                completions.push(Completion::Received(token, buffer));
                if is_over {
                    completions.push(Completion::Paused(token));
                }
                return;
            }
            (_, Some(buffer)) => self.give_back(buffer),
            (_, None) => {}
        }
        completions.push(match -result {
            0 => Completion::Closed(token),
            libc::ENOBUFS => {
                self.is_starved = true;
                Completion::Paused(token)
            }
            libc::ECANCELED | libc::EINTR | libc::EAGAIN => Completion::Paused(token),
            _ => Completion::Failed(token),
        });
    }

    fn sent(&mut self, number: usize, result: i32) {
        self.open -= 1;
        let Send { token, bytes, .. } = &mut self.sends[number];
        let written = result.max(0) as usize;
        if written < bytes.len() {
            let bytes = std::mem::take(bytes);
            self.unsent.push(Unsent { token: *token, bytes, written });
        }
    }

    /// An incomplete send. After each [`Self::wait`] and [`Self::flush`], the caller must take all
    /// of them before it sends anything else to their sockets.
    pub fn unsent(&mut self) -> Option<Unsent> {
        self.unsent.pop()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let submitter = self.uring.submitter();
        let any = CancelBuilder::any();
        let cancelled = submitter.register_sync_cancel(Some(Timespec::new().sec(1)), any);
        let none = |error: &io::Error| error.raw_os_error() == Some(libc::ENOENT);
        let is_quiet = self.open == 0 && cancelled.as_ref().err().is_none_or(none);
        // SAFETY: none of the fields is used again. The io_uring is dropped first, because it knows
        // the memory of the other two. They are dropped only if all requests are over, when the
        // kernel no longer uses that memory.
        unsafe {
            ManuallyDrop::drop(&mut self.uring);
            if is_quiet {
                ManuallyDrop::drop(&mut self.provided);
                ManuallyDrop::drop(&mut self.sends);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    const LONG: Duration = Duration::from_secs(10);

    fn ring() -> Option<Ring> {
        let ring = Ring::new();
        ring.inspect_err(|why| skip::skip("io_uring", &format!("the kernel says: {why}"))).ok()
    }

    fn wait(ring: &mut Ring, most: Duration) -> Vec<Completion> {
        let mut completions = vec![];
        ring.wait(most, &mut completions).unwrap();
        completions
    }

    #[test]
    fn what_arrives_is_received_until_the_end() {
        let Some(mut ring) = ring() else { return };
        let (mut here, there) = UnixStream::pair().unwrap();
        ring.receive(&there, 7).unwrap();
        for round in 0..300 {
            let sent = vec![round as u8; 1 + round * 37];
            here.write_all(&sent).unwrap();
            let mut got = vec![];
            while got.len() < sent.len() {
                for completion in wait(&mut ring, LONG) {
                    let Completion::Received(7, buffer) = completion else {
                        panic!("{completion:?}")
                    };
                    got.extend_from_slice(&buffer);
                    ring.give_back(buffer);
                }
            }
            assert_eq!(got, sent);
        }
        drop(here);
        assert!(matches!(wait(&mut ring, LONG)[..], [Completion::Closed(7)]));
    }

    #[test]
    fn sends_are_complete_when_the_wait_is_over() {
        let Some(mut ring) = ring() else { return };
        let pairs: Vec<_> = (0..300).map(|_| UnixStream::pair().unwrap()).collect();
        for (at, (_, there)) in pairs.iter().enumerate() {
            ring.send(there, at as u64, format!("to {at}").into_bytes());
        }
        let mut completions = vec![];
        ring.flush(&mut completions).unwrap();
        assert!(completions.is_empty());
        for (at, (here, _)) in pairs.iter().enumerate() {
            let mut text = [0; 16];
            let read = (&*here).read(&mut text).unwrap();
            assert_eq!(text[..read], *format!("to {at}").as_bytes());
        }
        assert!(ring.spare().capacity() > 0, "memory is kept");
    }

    #[test]
    fn what_a_socket_does_not_take_comes_back() {
        let Some(mut ring) = ring() else { return };
        let (here, there) = UnixStream::pair().unwrap();
        ring.send(&there, 3, vec![1; 8 << 20]);
        assert!(wait(&mut ring, Duration::ZERO).is_empty());
        let Unsent { token, bytes, written } = ring.unsent().unwrap();
        assert!(token == 3 && bytes.len() == 8 << 20 && written > 0, "{token} {written}");
        assert!(written < bytes.len(), "{written}");
        drop(here);
        ring.send(&there, 3, vec![1]);
        assert!(wait(&mut ring, Duration::ZERO).is_empty());
        assert_eq!(ring.unsent().unwrap().written, 0);
        assert!(ring.unsent().is_none());
    }

    #[test]
    fn without_buffers_nothing_is_lost_and_there_are_more_then() {
        let Some(mut ring) = ring() else { return };
        let (here, there) = UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        ring.receive(&there, 1).unwrap();
        let (mut sent, mut got, mut held, mut pauses) = (0usize, 0usize, vec![], 0);
        while pauses < 2 || got < sent {
            if pauses < 2
                && let Ok(n) = (&here).write(&[5; 1 << 10])
            {
                sent += n;
            }
            for completion in wait(&mut ring, Duration::from_millis(1)) {
                match completion {
                    Completion::Received(1, buffer) => {
                        assert!(buffer.iter().all(|byte| *byte == 5));
                        got += buffer.len();
                        held.push(buffer);
                    }
                    Completion::Paused(1) => {
                        pauses += 1;
                        ring.receive(&there, 1).unwrap();
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!(got, sent);
        assert!(held.len() > usize::from(BUFFERS));
        for buffer in held {
            ring.give_back(buffer);
        }
    }

    #[test]
    fn a_cancelled_socket_keeps_its_bytes() {
        let Some(mut ring) = ring() else { return };
        let (mut here, mut there) = UnixStream::pair().unwrap();
        ring.receive(&there, 9).unwrap();
        ring.cancel(9).unwrap();
        while !wait(&mut ring, LONG).iter().any(|c| matches!(c, Completion::Paused(9))) {}
        here.write_all(b"later").unwrap();
        assert!(wait(&mut ring, Duration::ZERO).is_empty());
        let mut text = [0; 5];
        there.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"later");
    }

    #[test]
    fn what_is_watched_reports_each_arrival() {
        let Some(mut ring) = ring() else { return };
        let (mut here, mut there) = UnixStream::pair().unwrap();
        ring.watch(&there).unwrap();
        for _ in 0..5 {
            here.write_all(b"x").unwrap();
            assert!(wait(&mut ring, LONG).iter().all(|c| matches!(c, Completion::Ready)));
            there.read_exact(&mut [0]).unwrap();
        }
    }

    #[test]
    fn a_buffer_of_another_ring_is_let_go() {
        let (Some(mut one), Some(mut two)) = (ring(), ring()) else { return };
        let (mut here, there) = UnixStream::pair().unwrap();
        one.receive(&there, 0).unwrap();
        here.write_all(b"x").unwrap();
        let Some(Completion::Received(_, buffer)) = wait(&mut one, LONG).pop() else { panic!() };
        two.give_back(buffer);
    }

    #[test]
    fn a_ring_is_dropped_while_it_receives() {
        for _ in 0..20 {
            let Some(mut ring) = ring() else { return };
            let (mut here, there) = UnixStream::pair().unwrap();
            ring.receive(&there, 0).unwrap();
            here.write_all(b"unread").unwrap();
            drop(ring);
            drop(there);
        }
    }
}
