//! Memcached's counters, under its own names.

macro_rules! events {
    ($($event:ident $name:literal),* $(,)?) => {
        /// An event of a client of memcached's protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Event { $($event),* }

        /// The names in `stats`, in the order of [`Event`].
        pub(crate) const NAMES: &[&str] = &[$($name),*];
    };
}

events! {
    CmdGet "cmd_get",
    CmdSet "cmd_set",
    CmdFlush "cmd_flush",
    CmdTouch "cmd_touch",
    CmdMeta "cmd_meta",
    GetHits "get_hits",
    GetMisses "get_misses",
    DeleteMisses "delete_misses",
    DeleteHits "delete_hits",
    IncrMisses "incr_misses",
    IncrHits "incr_hits",
    DecrMisses "decr_misses",
    DecrHits "decr_hits",
    CasMisses "cas_misses",
    CasHits "cas_hits",
    CasBadval "cas_badval",
    TouchHits "touch_hits",
    TouchMisses "touch_misses",
    StoreTooLarge "store_too_large",
    StoreNoMemory "store_no_memory",
    AuthCmds "auth_cmds",
    AuthErrors "auth_errors",
}

/// The number of kinds of events.
pub(crate) const EVENTS: usize = NAMES.len();
