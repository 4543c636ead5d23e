//! Host names that a dashboard without a password accepts.
//!
//! Another site's page may point its own name to the address of this machine (DNS rebinding). The
//! browser then takes both for one site, and the page could read everything here. But the browser
//! sends the name in `Host`. The dashboard refuses names that somebody can register. It accepts an
//! address, a name without a dot, and a name in a private domain.

use std::net::{IpAddr, Ipv6Addr};

/// Private domains: RFC 6761, 6762, 8375, 9476, ICANN's .internal, and the domains that Kubernetes
/// and Docker use for themselves.
const PRIVATE: [&str; 7] =
    [".localhost", ".local", ".internal", ".home.arpa", ".test", ".svc", ".alt"];

/// The name in `name:port`, without the brackets of an IPv6 address and without a trailing dot.
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

/// Whether the name is an address or one that nobody can register.
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
