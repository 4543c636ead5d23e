//! The listeners: the sockets that accept clients, by the settings.

use crate::facts::Speaks;
use crate::services::clients::Peer;
use crate::services::stream::Stream;
use crate::settings::config::{Error, Settings};
use mio::net::{TcpListener, UnixListener};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, TcpKeepalive, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// A TCP port with its protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    number: u16,
    speaks: Speaks,
    tls: bool,
}

/// A socket that accepts clients.
#[derive(Debug)]
pub(crate) enum Listener {
    /// A socket with its port, and the address that its connections have on this side, unless it
    /// listens at every address.
    Tcp(TcpListener, Port, Option<String>),
    Unix(UnixListener, String, Speaks),
}

/// Opens all listeners of the settings. The first is the main port, if there is one.
pub(crate) fn open(settings: &Settings) -> Result<Vec<Listener>, Error> {
    let mut listeners = vec![];
    let paths = [
        (&settings.unixsocket, Speaks::Redis),
        (&settings.memcached_unixsocket, Speaks::Memcached),
    ];
    let paths = paths.iter().filter(|(path, _)| !path.as_os_str().is_empty());
    let redis = |number, tls| Port { number, speaks: Speaks::Redis, tls };
    let mut ports = vec![];
    let elsewhere = settings.memcached_port > 0
        || !settings.memcached_bind.is_empty()
        || settings.tls_port > 0
        || paths.clone().count() > 0;
    if settings.port > 0 || !elsewhere {
        ports.push(redis(settings.port, false));
    }
    ports.extend(settings.extra_ports().into_iter().map(|number| redis(number, false)));
    if settings.tls_port > 0 {
        ports.push(redis(settings.tls_port, true));
    }
    if settings.memcached_port > 0 && settings.memcached_bind.is_empty() {
        let (number, tls) = (settings.memcached_port, settings.memcached_tls);
        ports.push(Port { number, speaks: Speaks::Memcached, tls });
    }
    for port in ports {
        open_port(settings, port, &mut listeners)?;
    }
    for (address, tls) in crate::memcached::places(settings)? {
        open_address(settings, address, tls, &mut listeners)?;
    }
    for (path, speaks) in paths {
        listeners.push(open_path(settings, path, *speaks)?);
    }
    Ok(listeners)
}

/// Listens for memcached's protocol at one address.
fn open_address(
    settings: &Settings,
    address: SocketAddr,
    tls: bool,
    listeners: &mut Vec<Listener>,
) -> Result<(), Error> {
    let listener = listen(address, settings)
        .map_err(|error| Error(format!("cannot listen on {address}: {error}: name another")))?;
    let number = listener.local_addr().map_or(address.port(), |address| address.port());
    listeners.push(Listener::tcp(listener, Port { number, speaks: Speaks::Memcached, tls }));
    Ok(())
}

/// Listens on a port at every address of `bind`.
fn open_port(settings: &Settings, port: Port, listeners: &mut Vec<Listener>) -> Result<(), Error> {
    let mut chosen = port.number;
    let mut opened = 0;
    let everywhere = ["*".to_owned(), "-::*".to_owned()];
    let addresses = if settings.bind.is_empty() { &everywhere[..] } else { &settings.bind };
    for text in addresses {
        let (optional, name) = match text.strip_prefix('-') {
            Some(name) => (true, name),
            None => (false, text.as_str()),
        };
        let ip: IpAddr = match name {
            "*" => IpAddr::from([0, 0, 0, 0]),
            "::*" => IpAddr::from([0u16; 8]),
            "localhost" => IpAddr::from([127, 0, 0, 1]),
            name => name.parse().map_err(|_| {
                Error(format!("bind: '{name}' is not an IP address: write one, such as 127.0.0.1"))
            })?,
        };
        let address = SocketAddr::new(ip, chosen);
        match listen(address, settings) {
            Ok(listener) => {
                // A free port is chosen once, and used for all addresses.
                chosen = listener.local_addr().map_or(chosen, |address| address.port());
                listeners.push(Listener::tcp(listener, Port { number: chosen, ..port }));
                opened += 1;
            }
            Err(error) if optional && error.kind() != io::ErrorKind::AddrInUse => {
                tracing::debug!(%error, "skipped the address {name} of bind");
            }
            Err(error) => {
                return Err(Error(format!(
                    "cannot listen on {address}: {error}: choose another port or bind"
                )));
            }
        }
    }
    if opened == 0 {
        let number = port.number;
        return Err(Error(format!(
            "port {number}: this machine has none of the addresses in bind: name one that it has"
        )));
    }
    Ok(())
}

fn listen(address: SocketAddr, settings: &Settings) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    if address.ip().is_loopback() {
        // Loopback has no congestion: the system's algorithm for the network (bbr) would only cost
        // time for each reply. Connections inherit this.
        let _ = socket.set_tcp_congestion(b"reno");
    }
    hand_down(&socket, settings.tcp_keepalive);
    socket.bind(&SockAddr::from(address))?;
    socket.listen(settings.tcp_backlog)?;
    Ok(TcpListener::from_std(socket.into()))
}

fn open_path(settings: &Settings, path: &Path, speaks: Speaks) -> Result<Listener, Error> {
    let fail = |error: io::Error| {
        Error(format!("cannot listen on {}: {error}: choose another unixsocket", path.display()))
    };
    let there = std::fs::symlink_metadata(path);
    // Removes the socket of a server that has ended, but no other file.
    if there.is_ok_and(|there| there.file_type().is_socket())
        && std::os::unix::net::UnixStream::connect(path).is_err()
    {
        let _ = std::fs::remove_file(path);
    }
    let listener = UnixListener::bind(path).map_err(fail)?;
    if settings.unixsocketperm > 0 {
        let mode = std::fs::Permissions::from_mode(settings.unixsocketperm);
        std::fs::set_permissions(path, mode).map_err(fail)?;
    }
    if !settings.unixsocketgroup.is_empty() {
        let group = group(&settings.unixsocketgroup)?;
        std::os::unix::fs::chown(path, None, Some(group)).map_err(fail)?;
    }
    Ok(Listener::Unix(listener, path.display().to_string(), speaks))
}

/// The number of a group of this machine.
fn group(name: &str) -> Result<u32, Error> {
    let found = nix::unistd::Group::from_name(name).ok().flatten();
    let found = found.ok_or_else(|| {
        Error(format!(
            "unixsocketgroup {name}: this machine has no such group: create it, or name another"
        ))
    })?;
    Ok(found.gid.as_raw())
}

impl Listener {
    fn tcp(listener: TcpListener, port: Port) -> Self {
        let own = listener.local_addr().ok().filter(|address| !address.ip().is_unspecified());
        Self::Tcp(listener, port, own.map(|address| address.to_string()))
    }

    /// The listener's address or path, as the log and INFO show it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Tcp(listener, port, _) => {
                let address = listener.local_addr();
                let address = address.map_or_else(|_| port.number.to_string(), |a| a.to_string());
                let kinds = [(port.speaks == Speaks::Memcached, "memcached"), (port.tls, "TLS")];
                let kinds: Vec<_> =
                    kinds.into_iter().filter_map(|(is, name)| is.then_some(name)).collect();
                match kinds.join(", ") {
                    kinds if kinds.is_empty() => address,
                    kinds => format!("{address} ({kinds})"),
                }
            }
            Self::Unix(_, path, Speaks::Redis) => path.clone(),
            Self::Unix(_, path, Speaks::Memcached) => format!("{path} (memcached)"),
        }
    }

    /// The number of its socket, and its address in memcached's form.
    pub(crate) fn socket(&self) -> (i32, String) {
        match self {
            Self::Tcp(listener, port, _) => {
                let address = listener.local_addr();
                let address = address.map_or_else(|_| port.number.to_string(), |a| a.to_string());
                (listener.as_raw_fd(), format!("tcp:{address}"))
            }
            Self::Unix(listener, path, _) => (listener.as_raw_fd(), format!("unix:{path}")),
        }
    }

    /// Its TCP address; `None` for a Unix socket.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener, ..) => listener.local_addr().ok(),
            Self::Unix(..) => None,
        }
    }

    pub(super) fn accept(&self) -> io::Result<(Stream, Peer, Option<IpAddr>)> {
        match self {
            Self::Tcp(listener, port, own) => {
                let (stream, address) = listener.accept()?;
                let asked =
                    || stream.local_addr().map_or_else(|_| String::new(), |a| a.to_string());
                let local = own.clone().unwrap_or_else(asked);
                let peer = Peer {
                    address: address.to_string(),
                    local,
                    fd: stream.as_raw_fd(),
                    listener: port.number,
                    speaks: port.speaks,
                    tls: port.tls,
                };
                Ok((Stream::Tcp(stream), peer, Some(address.ip())))
            }
            Self::Unix(listener, path, speaks) => {
                let (stream, _) = listener.accept()?;
                let peer = Peer {
                    address: format!("{path}:0"),
                    local: format!("{path}:0"),
                    fd: stream.as_raw_fd(),
                    listener: 0,
                    speaks: *speaks,
                    tls: false,
                };
                Ok((Stream::Unix(stream), peer, None))
            }
        }
    }
}

/// Sets the options that accepted connections inherit: replies are sent at once, and silent clients
/// are probed after `keepalive` seconds, unless that is 0.
pub(super) fn hand_down(listener: &impl AsFd, keepalive: u64) {
    let socket = SockRef::from(listener);
    let _ = socket.set_tcp_nodelay(true);
    let _ = socket.set_keepalive(keepalive > 0);
    if keepalive > 0 {
        let time = Duration::from_secs(keepalive);
        let third = Duration::from_secs((keepalive / 3).max(1));
        let probes = TcpKeepalive::new().with_time(time).with_interval(third);
        let _ = socket.set_tcp_keepalive(&probes.with_retries(3));
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path, _) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_inherit_what_is_set_where_they_are_accepted() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = listen(address.parse().unwrap(), &Settings::default()) else {
                skip::skip("ipv6", "an address [::1] on the loopback");
                continue;
            };
            let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let socket = SockRef::from(&accepted);
            assert!(socket.tcp_nodelay().unwrap() && socket.keepalive().unwrap());
            assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(300));
            let name = socket.tcp_congestion().unwrap();
            assert!(name.starts_with(b"reno"), "{}", String::from_utf8_lossy(&name));
        }
    }
}
