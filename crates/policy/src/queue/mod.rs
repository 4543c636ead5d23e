//! Policies whose order is their state: each keeps lists of slots and has no form as a rank.
//!
//! Where a policy has more than one queue, they share one set of links (`Queues`): an object
//! moves between them without an allocation.

pub mod arc;
pub mod clock;
pub mod clock2q_plus;
pub mod fifo;
pub mod lirs;
pub mod lru;
pub mod lru_k;
mod probation;
pub mod qdlp;
mod queues;
pub mod s3fifo;
pub mod sieve;
pub mod slru;
pub mod two_q;
pub mod w_tinylfu;

pub(crate) use queues::Queues;
