//! HTTP for observers of the server: the crate `dashboard` with this server as its source, for
//! users that may call INFO (`guard.rs`). A probe may use `-NOAUTH` alone as a sign that the server
//! lives.

mod guard;
mod metrics;
mod source;

pub(crate) use source::open;
