//! What a command gathers before it can reply, or store, has a bound.
//!
//! Most commands write each element to the reply as they see it, and the reply has its bound (see
//! [`Encoder::bounded`](wire::resp::Encoder::bounded)). A command that has to see all elements
//! before it knows the first of its result, as a union has, gathers them: of those that are replied
//! no more than may wait for the client, of those that are stored no more than the destination may
//! hold. So the right to read is not enough to use up the memory.
//!
//! What a command adds to a collection in steps has its bound as well, which is asked before the
//! first step ([`Growth`]): what will be refused changes nothing, and makes nobody leave.

use super::string::room;
use super::{Call, Done, Failure, OVERFLOW};
use crate::room::Room;
use base::Bytes;
use store::{Error, Key};

/// Bytes that an element takes beside its own, at least: in a reply, and in a collection.
const BESIDE: u64 = 4;

/// A part of a tree's bytes that its entries leave free, at most.
const SLACK: u64 = 8;

/// What a command adds to a collection, all steps together.
pub(super) struct Growth {
    room: Room,
    first: usize,
    each: usize,
    copies: usize,
}

impl Growth {
    /// Of the collection of a key, by the elements from argument `first` on, each so many, which it
    /// holds so often.
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

    /// Refuses what does not fit, by `fits`, to which bytes are told that come to those that are
    /// there: all elements, and where those are too many those that `counts`.
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

/// Bytes that a command may gather.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    gathered: u64,
    limit: u64,
    is_stored: bool,
}

impl Budget {
    /// For a reply.
    pub(super) const fn reply(call: &Call<'_>) -> Self {
        Self { gathered: 0, limit: call.out.left() as u64, is_stored: false }
    }

    /// For what becomes the value of a key.
    pub(super) fn store(call: &Call<'_>, key: &Key<'_>) -> Self {
        let limit = room(call, key, usize::MAX).item_max();
        Self { gathered: 0, limit, is_stored: true }
    }

    /// Counts an element of so many bytes. Whether it may be gathered.
    pub(super) const fn takes(&mut self, len: usize) -> bool {
        self.gathered += len as u64 + BESIDE;
        self.gathered <= self.limit
    }

    /// Refuses the command where an element was not to be gathered.
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
