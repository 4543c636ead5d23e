//! The server as its clients see it over a socket: the binary in a process of its own. With
//! `--release` that is the shipped binary, as `.ci/run` tests it.

mod acl;
mod atomic;
mod attach;
mod blocking;
mod bounds;
mod capture;
mod client;
mod clients;
mod cluster;
mod collections;
mod compatibility;
mod connections;
mod dashboard;
mod exporters;
mod files;
mod findings;
mod frameworks;
mod hashes;
mod hostile;
mod http;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod instructions;
mod kept;
mod large_hashes;
mod limit_names;
mod limits;
mod memcached;
mod metrics;
mod monitor;
mod notifications;
mod observe;
mod operator;
mod pause;
mod process;
#[path = "../programs/mod.rs"]
mod programs;
mod protocol;
mod recipes;
mod replays;
mod replies;
mod robust;
mod script_clients;
mod script_ends;
mod scripts;
mod settings;
#[cfg(target_os = "linux")]
mod shifts;
mod signals;
mod sockets;
mod starting;
mod strangers;
mod systemd;
mod tenants;
mod tides;
mod tls;
mod tools;
mod tracking;
mod transactions;
mod warm_restart;
