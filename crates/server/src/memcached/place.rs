//! The addresses of the protocol (`memcached-bind`), and the file that names its ports.

use crate::settings::config::{Error, Settings};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;

/// The environment variable with the path of the file.
const PORT_FILE: &str = "MEMCACHED_PORT_FILENAME";

/// The addresses of `memcached-bind`, each with whether it uses TLS.
pub(crate) fn places(settings: &Settings) -> Result<Vec<(SocketAddr, bool)>, Error> {
    let mut places = vec![];
    for text in &settings.memcached_bind {
        let (place, tls) = match text.strip_prefix("notls:") {
            Some(place) => (place, false),
            None => (text.as_str(), settings.memcached_tls),
        };
        let found = resolve(place, settings.memcached_port).ok_or_else(|| {
            Error(format!(
                "memcached-bind: '{text}' is not an address: write [notls:]ADDRESS[:PORT]"
            ))
        })?;
        places.extend(found.into_iter().map(|address| (address, tls)));
    }
    Ok(places)
}

/// The addresses that a text names, with or without a port.
fn resolve(place: &str, port: u16) -> Option<Vec<SocketAddr>> {
    let ip = match place {
        "*" => Some(IpAddr::from([0, 0, 0, 0])),
        _ => place.trim_matches(['[', ']']).parse().ok(),
    };
    if let Some(ip) = ip {
        return Some(vec![SocketAddr::new(ip, port)]);
    }
    let (name, port) = match place.rsplit_once(':') {
        Some((name, port)) => (name, port.parse().ok()?),
        None => (place, port),
    };
    let name = if name == "*" { "0.0.0.0" } else { name.trim_matches(['[', ']']) };
    let found: Vec<_> = (name, port).to_socket_addrs().ok()?.collect();
    (!found.is_empty()).then_some(found)
}

/// Writes the ports to the file that the environment names. memcached does the same, for tests that
/// let it choose a port.
pub(crate) fn write_ports(sockets: &[(i32, String)]) -> Result<(), Error> {
    let Some(path) = std::env::var_os(PORT_FILE).filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let addresses = sockets.iter().filter_map(|(_, address)| address.strip_prefix("tcp:"));
    let lines = addresses.filter_map(|address| address.parse::<SocketAddr>().ok());
    let line = |address: SocketAddr| {
        let family = if address.is_ipv6() { "INET6" } else { "INET" };
        format!("TCP {family}: {}\n", address.port())
    };
    let text: String = lines.map(line).collect();
    files::replace(Path::new(&path), text.as_bytes(), files::PUBLIC).map_err(|error| {
        let path = path.to_string_lossy();
        Error(format!("cannot write {PORT_FILE} {path}: {error}: name another file"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_ports() {
        for (text, expected) in [
            ("127.0.0.1", "127.0.0.1:7"),
            ("127.0.0.1:8", "127.0.0.1:8"),
            ("*", "0.0.0.0:7"),
            ("*:0", "0.0.0.0:0"),
            ("::1", "[::1]:7"),
            ("[::1]", "[::1]:7"),
            ("[::1]:8", "[::1]:8"),
        ] {
            assert_eq!(resolve(text, 7), Some(vec![expected.parse().unwrap()]), "{text}");
        }
        for text in ["", "127.0.0.1:x", "127.0.0.1:99999", "mtls:127.0.0.1:8", "no.such.name."] {
            assert_eq!(resolve(text, 7), None, "{text}");
        }
    }
}
