//! The formats of traces: one file each, and an entry in the list below.

mod detect;
mod spec;

pub use detect::{detect, find};
pub use spec::{Create, FormatSpec, Loss, Open};

macro_rules! formats {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*
        /// Every format, in the order in which they are tried on a trace.
        pub const ALL: &[&FormatSpec] = &[$(&$name::SPEC,)*];
    };
}

formats! {
    compact, lcs, memcached_watch, monitor, monitor_trace, kvcache, msr, ibm, mooncake, vscsi,
    vscsi_csv, twitter, csv, columns, oracle_general, keys32, keys64, arc, lirs,
}
