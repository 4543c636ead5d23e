//! Threads: the lock of a shard, the gate, and the primitives below both.

#[allow(unsafe_code)]
pub(crate) mod big_reader;
pub(crate) mod gate;
#[allow(unsafe_code)]
pub(crate) mod prefetch;
pub(crate) mod segments;
#[allow(unsafe_code)]
pub(crate) mod shim;
