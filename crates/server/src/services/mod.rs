//! Services that threads share: clients and their messages, exclusive access, counts and logs.
//!
//! Each service knows only its own data. A caller hands it the other parts that it needs.

pub(crate) mod acl_log;
pub(crate) mod blocked_clients;
pub(crate) mod clients;
pub(crate) mod clock;
pub(crate) mod exclusive;
pub(crate) mod hot_keys;
pub(crate) mod idle_time;
pub(crate) mod login_backoff;
pub(crate) mod mail;
pub(crate) mod memcached_binary;
pub(crate) mod memcached_detail;
pub(crate) mod monitors;
pub(crate) mod pause;
pub(crate) mod published;
pub(crate) mod pubsub;
pub(crate) mod running_script;
pub(crate) mod scripts;
pub(crate) mod sleeper;
pub(crate) mod slow_log;
pub(crate) mod stats;
pub(crate) mod stream;
pub(crate) mod thread_times;
pub(crate) mod tls_stream;
pub(crate) mod top_keys;
pub(crate) mod tracking;
pub(crate) mod transfers;
pub(crate) mod warm_restart;
