//! memcached's own flags, as directives: what `larder serve --memcached` is given.

use crate::config::Error;

/// Flags with a value, and the directive each means; an empty one means nothing here.
const VALUES: &[(&str, &str, &str)] = &[
    ("p", "port", "memcached-port"),
    ("l", "listen", "bind"),
    ("m", "memory-limit", "maxmemory"),
    ("c", "conn-limit", "maxclients"),
    ("t", "threads", "io-threads"),
    ("I", "max-item-size", "memcached-item-size-max"),
    ("Y", "auth-file", "memcached-auth-file"),
    ("P", "pidfile", "pidfile"),
    ("b", "listen-backlog", "tcp-backlog"),
    ("U", "udp-port", ""),
    ("u", "user", ""),
    ("R", "max-reqs-per-event", ""),
    ("f", "slab-growth-factor", "slab-growth-factor"),
    ("n", "slab-min-size", "slab-chunk-min"),
    ("D", "delimiter", ""),
    ("B", "protocol", ""),
    ("e", "memory-file", "warm-restart-file"),
    ("s", "unix-socket", "memcached-unixsocket"),
    ("a", "unix-mask", "unixsocketperm"),
];

/// Flags without a value, and the directive with its value.
const SWITCHES: &[(&str, &str, &[&str])] = &[
    ("Z", "enable-ssl", &["--memcached-tls", "yes"]),
    ("A", "enable-shutdown", &["--memcached-shutdown", "yes"]),
    ("M", "disable-evictions", &["--maxmemory-policy", "noeviction"]),
    ("v", "verbose", &["--loglevel", "debug"]),
    ("k", "lock-memory", &[]),
    ("L", "enable-largepages", &[]),
    ("d", "daemon", &[]),
    ("r", "enable-coredumps", &[]),
    ("C", "disable-cas", &[]),
    ("F", "disable-flush-all", &[]),
    ("X", "disable-dumping", &[]),
];

/// Parts of `-o` that mean something here; the others tune what is not here.
const EXTENDED: &[(&str, &str)] = &[
    ("ssl_chain_cert", "tls-cert-file"),
    ("ssl_key", "tls-key-file"),
    ("ssl_ca_cert", "tls-ca-cert-file"),
];

/// What `-o` says.
fn extended(value: &str, out: &mut Vec<String>) {
    for part in value.split(',') {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let found = EXTENDED.iter().find(|(known, _)| *known == name);
        let mode = match (name, value) {
            ("ssl_verify_mode", "2") => Some("yes"),
            ("ssl_verify_mode", "1" | "3") => Some("optional"),
            _ => None,
        };
        match (found, mode) {
            (Some((_, directive)), _) => out.extend([format!("--{directive}"), value.into()]),
            (None, Some(mode)) => out.extend(["--tls-auth-clients".into(), mode.into()]),
            (None, None) => {}
        }
    }
}

/// Refused: ignoring them would leave open what they close, or closed what they open.
const REFUSED: &[&str] = &["F", "X", "C", "S", "d"];

fn refused(flag: &str) -> Error {
    Error(format!("-{flag} is not supported here, and ignoring it would not do what it says"))
}

/// Directives that mean what memcached's flags say. What begins with `--` and is a directive of the
/// server stays as it is.
pub(crate) fn translate(flags: &[String]) -> Result<Vec<String>, Error> {
    // As memcached without a flag: port 11211, 64 MiB, all addresses, no certificates of clients.
    let begin = "--port 0 --memcached-port 11211 --maxmemory 64mb --tls-auth-clients no";
    let mut out: Vec<String> = begin.split(' ').map(str::to_owned).collect();
    let mut rest = flags.iter();
    while let Some(word) = rest.next() {
        let (name, mut value) = if let Some(long) = word.strip_prefix("--") {
            match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            }
        } else {
            let short = word.strip_prefix('-').filter(|short| !short.is_empty());
            let short = short.ok_or_else(|| Error(format!("'{word}' is no flag")))?;
            let end = short.chars().next().map_or(0, char::len_utf8);
            let (name, value) = short.split_at(end);
            // -vv is -v twice, -p11211 a value.
            let is_switch = SWITCHES.iter().any(|(short, ..)| *short == name);
            (name, (!value.is_empty() && !is_switch).then(|| value.to_owned()))
        };
        let matches = |short: &str, long: &str| short == name || long == name;
        if let Some((short, _, words)) = SWITCHES.iter().find(|(s, l, _)| matches(s, l)) {
            if REFUSED.contains(short) {
                return Err(refused(short));
            }
            out.extend(words.iter().map(|word| (*word).to_owned()));
            continue;
        }
        if matches("o", "extended") {
            let value = value.or_else(|| rest.next().cloned());
            extended(&value.ok_or_else(|| Error("-o needs a value".into()))?, &mut out);
            continue;
        }
        let Some((short, _, directive)) = VALUES.iter().find(|(s, l, _)| matches(s, l)) else {
            if !word.starts_with("--") {
                return Err(Error(format!("memcached has no flag {word}")));
            }
            // A directive of the server, with the words behind it.
            out.push(word.clone());
            out.extend(rest.by_ref().next().cloned());
            continue;
        };
        if REFUSED.contains(short) {
            return Err(refused(short));
        }
        if value.is_none() {
            value = rest.next().cloned();
        }
        let value = value.ok_or_else(|| Error(format!("-{short} needs a value")))?;
        if directive.is_empty() {
            continue;
        }
        out.push(format!("--{directive}"));
        match *short {
            "m" => out.push(format!("{value}mb")),
            // Here k and m are powers of two.
            "I" if value.ends_with(['k', 'K', 'm', 'M']) => out.push(format!("{value}b")),
            "l" => out.extend(value.split(',').map(str::to_owned)),
            _ => out.push(value),
        }
    }
    if out.iter().any(|word| word == "--memcached-unixsocket") {
        // As memcached does: a path is instead of a port.
        out.extend(["--memcached-port".into(), "0".into()]);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use base::Bytes;

    fn settings(line: &str) -> Result<Settings, Error> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let mut settings = Settings::default();
        settings.read_arguments(&translate(&words)?)?;
        Ok(settings)
    }

    #[test]
    fn flags_of_a_service_file() {
        let read =
            settings("-m 128 -p11222 -u memcache -l 127.0.0.1,::1 -P /run/m.pid -vv").unwrap();
        assert_eq!((read.maxmemory, read.memcached_port, read.port), (Bytes(128 << 20), 11222, 0));
        assert_eq!(read.bind, ["127.0.0.1", "::1"]);
        assert_eq!((read.pidfile.as_str(), read.loglevel.as_str()), ("/run/m.pid", "debug"));
        let read = settings("-I 2m -c 500 -t 3 -M -A --udp-port=0 --maxmemory-samples 7").unwrap();
        assert_eq!((read.memcached_item_max, read.maxclients), (Bytes(2 << 20), 500));
        assert_eq!((read.io_threads, read.maxmemory_samples), (3, 7));
        assert!(read.memcached_shutdown);
        assert_eq!((read.memcached_port, read.maxmemory), (11211, Bytes(64 << 20)));
        let read = settings("-s /run/m.sock -a 0770 -p 11300").unwrap();
        assert_eq!(read.memcached_unixsocket.to_str(), Some("/run/m.sock"));
        assert_eq!((read.memcached_port, read.unixsocketperm), (0, 0o770));
        let read = settings("-Z -o ssl_chain_cert=/c,ssl_key=/k,slab_reassign").unwrap();
        assert!(read.memcached_tls);
        assert_eq!((read.tls_cert_file.as_str(), read.tls_key_file.as_str()), ("/c", "/k"));
        assert_eq!(read.tls_auth_clients, "no");
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        for line in ["-S", "-F", "-q", "-p", "x", "-p x", "-"] {
            assert!(settings(line).is_err(), "{line}");
        }
    }
}
