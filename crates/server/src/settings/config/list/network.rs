//! Directives about ports, sockets, TLS and the number of clients.

use super::not_empty;
use crate::settings::config::directive::When::{Always, Start};
use crate::settings::config::directive::{Directive, Shape, choice, join, number, word};
use crate::settings::config::value::{one_of, within};

pub(super) const ALL: &[Directive] = &[
    number!(
        "port",
        Start,
        port,
        0..=65535,
        "The TCP port. 0 with a unixsocket or a memcached-port: none; 0 without: a free one, \
         named in the log."
    ),
    Directive::new(
        "bind",
        Start,
        "Addresses to listen on. A leading - lets an address be missing on this machine.",
        |settings| join(&settings.bind),
        Shape::Words(|settings, words| {
            settings.bind = not_empty(words);
            Ok(())
        }),
    ),
    Directive::new(
        "listener",
        Start,
        "One more TCP port, for tenants told apart by listener. Repeatable. A port that a \
         tenant matches is opened without this line.",
        |settings| settings.listeners.iter().map(u16::to_string).collect::<Vec<_>>().join("\n"),
        Shape::Lines(|settings, words| {
            let [word] = words else {
                return Err("wrong number of arguments".into());
            };
            let port = within(word, 1..=65535)?;
            if !settings.listeners.contains(&port) {
                settings.listeners.push(port);
            }
            Ok(())
        }),
    ),
    number!(
        "tls-port",
        Start,
        tls_port,
        0..=65535,
        "The TCP port for TLS; 0 for none. With port 0 it is the only one."
    ),
    word!(
        "cluster-config",
        Always,
        cluster_config,
        "Path of a file that says which server has which slots of a Redis Cluster, the same on \
         all of them: a line a node, its name, host:port, and slots such as 0-8191. Empty for a \
         server of its own. Set again, or at SIGHUP, it is read anew."
    )
    .read_anew(),
    word!(
        "cluster-node",
        Always,
        cluster_node,
        "Which node of cluster-config this server is; empty for the name of the machine, up to \
         its first dot."
    )
    .read_anew(),
    word!(
        "tls-cert-file",
        Always,
        tls_cert_file,
        "Path of the server's certificate and its chain, PEM."
    )
    .read_anew(),
    word!("tls-key-file", Always, tls_key_file, "Path of the certificate's private key, PEM.")
        .read_anew(),
    word!(
        "tls-ca-cert-file",
        Always,
        tls_ca_cert_file,
        "Path of the certificates that clients' certificates must come from, PEM."
    )
    .read_anew(),
    choice!(
        "tls-auth-clients",
        Always,
        tls_auth_clients,
        ["yes", "no", "optional"],
        "Whether clients must show a certificate; optional checks one that is shown."
    )
    .read_anew(),
    Directive::new(
        "tls-protocols",
        Always,
        "Versions that are spoken: TLSv1.2, TLSv1.3 or both; empty is both.",
        |settings| settings.tls_protocols.clone(),
        Shape::Words(|settings, words| {
            let known = words.iter().map(|word| one_of(&["TLSv1.2", "TLSv1.3"], word));
            settings.tls_protocols = known.collect::<Result<Vec<_>, _>>()?.join(" ");
            Ok(())
        }),
    )
    .read_anew(),
    word!("unixsocket", Start, unixsocket, "Path of a Unix socket to listen on."),
    Directive::new(
        "unixsocketperm",
        Start,
        "Permissions of the Unix sockets, octal; 0 leaves them to the umask.",
        |settings| format!("{:o}", settings.unixsocketperm),
        Shape::Word(|settings, word| {
            let mode = u32::from_str_radix(word, 8).ok().filter(|&mode| mode <= 0o777);
            let wrong = "argument must be permissions in octal, such as 770";
            settings.unixsocketperm = mode.ok_or(wrong)?;
            Ok(())
        }),
    ),
    word!(
        "unixsocketgroup",
        Start,
        unixsocketgroup,
        "The group that owns the Unix sockets, by its name; empty for that of the server."
    ),
    number!(
        "tcp-backlog",
        Start,
        tcp_backlog,
        1..=65535,
        "Connections that may wait to be accepted."
    ),
    number!(
        "tcp-keepalive",
        Always,
        tcp_keepalive,
        0..=86400,
        "Seconds of silence after which a connection is probed; 0 never probes."
    ),
    number!(
        "timeout",
        Always,
        timeout,
        0..=2_147_483_647,
        "Seconds of silence after which a client is closed; 0 never closes."
    ),
    number!(
        "busy-reply-threshold",
        Always,
        busy_reply_threshold,
        0..=9_223_372_036_854_775_807,
        "Milliseconds that a script keeps others waiting before they are answered BUSY; 0 lets \
         them wait."
    ),
    number!(
        "lua-time-limit",
        Always,
        busy_reply_threshold,
        0..=9_223_372_036_854_775_807,
        "Redis' former name of busy-reply-threshold."
    ),
    number!(
        "maxclients",
        Always,
        maxclients,
        1..=1_000_000,
        "Clients that may be connected at once; fewer where the system lets fewer files be \
         open (ulimit -n)."
    ),
    word!(
        "protected-mode",
        Always,
        protected_mode,
        "Without a password, serve only clients of this machine."
    ),
    Directive::new(
        "http-port",
        Start,
        "The TCP port of /metrics, /healthz and /readyz; 0 for none. Unless it is set, 9379 if \
         that is free.",
        |settings| settings.http_port.unwrap_or(crate::facts::HTTP_PORT_DEFAULT).to_string(),
        Shape::Word(|settings, word| {
            settings.http_port = Some(within(word, 0..=65535)?);
            Ok(())
        }),
    ),
    word!(
        "availability-zone",
        Always,
        availability_zone,
        "The zone of the machine, which HELLO tells clients."
    ),
    word!("http-bind", Start, http_bind, "The address that the http-port is opened at."),
    Directive::new(
        "http-hosts",
        Always,
        "Names by which browsers may ask the http-port while no password is set, beside \
         addresses, names without a dot or of a private domain (.local, .internal, .svc) and the \
         name of the machine. A page of another site cannot pass for one of these (DNS \
         rebinding).",
        |settings| join(&settings.http_hosts),
        Shape::Words(|settings, words| {
            settings.http_hosts = not_empty(words);
            Ok(())
        }),
    ),
    number!(
        "http-maxclients",
        Always,
        http_maxclients,
        1..=10_000,
        "Connections to the http-port at once; the one that was silent the longest makes room \
         for the next."
    ),
    number!(
        "io-threads",
        Start,
        io_threads,
        1..=128,
        "Threads that serve clients. Before anybody sets it: one for each core, at most 8."
    ),
    word!(
        "io-uring",
        Start,
        io_uring,
        "Serve clients by io_uring: auto (where the kernel allows it, else by epoll), yes (the \
         same, with a warning where it does not) or no."
    ),
];
