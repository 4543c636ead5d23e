//! Names by which a dashboard without a password may be asked.
//!
//! A page of another site may give its own name the address of this machine (DNS rebinding): to the
//! browser both are then one site, and the page could read everything here. But the browser sends
//! the name along. A name that somebody can register is refused; an address, a name without a dot,
//! and a name of a domain that is nobody's on the internet are not.

use std::net::{IpAddr, Ipv6Addr};

/// Domains that are not given away: RFC 6761, 6762, 8375, 9476, ICANN's .internal, and what
/// Kubernetes and Docker call their own.
const PRIVATE: [&str; 7] =
    [".localhost", ".local", ".internal", ".home.arpa", ".test", ".svc", ".alt"];

/// The name of `name:port`, without the brackets of an IPv6 address and without a last dot.
pub(crate) fn without_port(host: &str) -> &str {
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((address, rest)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let is_whole = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
        return if is_whole { address } else { host };
    }
    if host.parse::<Ipv6Addr>().is_ok() {
        return host;
    }
    let name = match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) => name,
        _ => host,
    };
    name.strip_suffix('.').unwrap_or(name)
}

/// Whether nobody can register this name.
pub(crate) fn is_private(host: &str) -> bool {
    let name = without_port(host).to_ascii_lowercase();
    let is_address = name.parse::<IpAddr>().is_ok();
    let is_plain = !name.is_empty() && !name.contains(['.', ':', '%']);
    is_address || is_plain || PRIVATE.iter().any(|domain| name.ends_with(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_can_be_registered_is_not_private() {
        for host in [
            "127.0.0.1:9379",
            "[::1]:9379",
            "::1",
            "localhost",
            "LOCALHOST:9379",
            "larder:9379",
            "cache-larder-0.cache.default.svc:9379",
            "cache.default.svc.cluster.local.",
            "printer.local",
        ] {
            assert!(is_private(host), "{host}");
        }
        for host in [
            "",
            "evil.example:9379",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "local",
            "127.0.0.1@evil.example",
            "[::1].evil.example",
        ] {
            assert_eq!(is_private(host), host == "local", "{host}");
        }
    }
}
