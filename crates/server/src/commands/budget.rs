//! Limits for the bytes that a command gathers before it replies or stores.
//!
//! Most commands write each element to the reply when they see it, and the reply has a limit of its
//! own (see [`Encoder::bounded`](wire::resp::Encoder::bounded)). Some commands, such as a union,
//! must see all elements before they know the first of the result, so they gather them. For a reply
//! they gather at most the bytes that may wait for the client. For a store they gather at most the
//! bytes that the destination may hold. So the permission to read is not enough to use up the
//! memory.
//!
//! A command that adds elements to a collection in steps has a limit as well. It is checked before
//! the first step ([`Growth`]), so a refused command changes nothing and evicts nothing.

use super::string::room;
use crate::call::size_check::Room;
use crate::call::{Call, Done, Failure, OVERFLOW};
use base::Bytes;
use store::{Error, Key};

/// The least number of bytes that an element takes beside its own, in a reply and in a collection.
const BESIDE: u64 = 4;

/// The largest free part of a tree's bytes is one in this number.
const SLACK: u64 = 8;

/// The bytes that a command adds to a collection in all of its steps.
pub(super) struct Growth {
    room: Room,
    first: usize,
    each: usize,
    copies: usize,
}

impl Growth {
    /// The growth of a key's collection by the elements from argument `first` on. Each element has
    /// `each` arguments, and the collection holds each element `copies` times.
    pub(super) fn of(
        call: &Call<'_>,
        key: &Key<'_>,
        first: usize,
        each: usize,
        copies: usize,
    ) -> Self {
        let len = (first..call.args.len()).map(|at| call.arg(at).len()).sum::<usize>();
        Self { room: room(call, key, len * copies), first, each, copies }
    }

    /// Refuses the command if its elements do not fit. `fits` checks a growth of the collection in
    /// bytes. If all elements together are too many, only those elements count for which `counts`
    /// is true.
    pub(super) fn check(
        &self,
        call: &Call<'_>,
        counts: impl Fn(usize) -> bool,
        fits: impl Fn(u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let places = (self.first..call.args.len()).step_by(self.each);
        let bytes = |at: usize| {
            let len = (at..at + self.each).map(|at| call.arg(at).len()).sum::<usize>();
            (len as u64 + BESIDE) * self.copies as u64
        };
        let check = |sum: u64| {
            let growth = sum + sum / SLACK;
            self.room.check_growth(growth)?;
            fits(growth)
        };
        if check(places.clone().map(bytes).sum()).is_ok() {
            return Ok(());
        }
        check(places.filter(|&at| counts(at)).map(bytes).sum())
    }
}

/// The number of bytes that a command may gather.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    gathered: u64,
    limit: u64,
    is_stored: bool,
}

impl Budget {
    /// The limit for a reply.
    pub(super) const fn reply(call: &Call<'_>) -> Self {
        Self { gathered: 0, limit: call.out.left() as u64, is_stored: false }
    }

    /// The limit for the new value of a key.
    pub(super) fn store(call: &Call<'_>, key: &Key<'_>) -> Self {
        let limit = room(call, key, usize::MAX).item_max();
        Self { gathered: 0, limit, is_stored: true }
    }

    /// Counts an element of `len` bytes. Returns whether it may be gathered.
    pub(super) const fn takes(&mut self, len: usize) -> bool {
        self.gathered += len as u64 + BESIDE;
        self.gathered <= self.limit
    }

    /// Refuses the command if an element exceeded the limit.
    pub(super) fn check(&self) -> Done {
        if self.gathered <= self.limit {
            return Ok(());
        }
        if self.is_stored {
            let (need, limit) = (Bytes(self.gathered), Bytes(self.limit));
            return Err(Failure::from(Error::TooLarge { need, limit }));
        }
        Err(OVERFLOW.into())
    }
}
