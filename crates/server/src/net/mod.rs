//! Sockets: the workers with their event loops, the acceptor, and pages over HTTP.

pub(crate) mod acceptor;
pub(crate) mod batch;
pub(crate) mod blocked;
pub(crate) mod busy_worker;
pub(crate) mod connection;
pub(crate) mod driver;
pub(crate) mod http;
pub(crate) mod listener;
pub(crate) mod lookahead;
pub(crate) mod pipeline;
pub(crate) mod replies;
pub(crate) mod schedule;
pub(crate) mod timing_group;
pub(crate) mod waiting;
pub(crate) mod worker;
