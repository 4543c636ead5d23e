//! The demo: the same requests to a plain cache and to a tuned one, side by side.
//!
//! Both runs use the same server in the same process, started empty on loopback, with the same
//! memory. One follows recipe `static`, which does what Redis does: one shared pool, five
//! candidates per eviction and sixteen kept. The other follows `auto`. It has one pool too, and
//! evicts the item whose bytes save the least waiting, from learnt reuse and measured costs of
//! misses. The load is a cache-aside application: a miss reads the object from a file, waits as
//! long as the tenant's penalty says, as for a database that far away, and writes the answer to the
//! cache.
//!
//! **Both run at the same time**, each with clients of its own. One after the other they would meet
//! two different machines. If another program took a core for some seconds of one run, its requests
//! would wait for the core and not for misses, and the comparison would measure the neighbours.
//! Side by side, every disturbance hits both runs.
//!
//! Requests come in small bursts, because a page of a tenant asks for several things at once. They
//! come at a fixed rate well below the limit of two cores, and connections work in a closed loop.
//! In an open loop a machine that is busy with other work for a fifth of a second would make
//! thousands of requests late. So the figures show the cost of a request, not the behaviour of the
//! server at its limit; `larder replay --open-loop` measures that. Other processes still influence
//! the times, so the verdict uses counts: misses, multiplied by the stated cost of each.
//!
//! The first part of each run warms up cache and pilot and is not counted, in both runs alike.

mod cache;
mod command;
mod result;
mod screen;
mod serve;
mod workload;

pub(crate) use command::{Args, run};
