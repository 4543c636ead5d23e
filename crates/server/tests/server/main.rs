//! The server over a socket: what clients see, against an in-process server on a free port.

mod acl;
mod client;
mod clients;
mod compatibility;
mod exporters;
mod frameworks;
mod hashes;
mod http;
mod limits;
mod memcached;
mod monitor;
mod observe;
mod protocol;
mod replies;
mod robust;
mod settings;
mod sockets;
mod tenants;
mod tls;
mod tools;
