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
        "The TCP port. With 0, the server opens no TCP port if a unixsocket or a memcached-port is \
         set, else a free port, which the log names."
    ),
    Directive::new(
        "bind",
        Start,
        "Addresses to listen on. If this machine does not have an address with a leading -, the \
         server skips the address.",
        |settings| join(&settings.bind),
        Shape::Words(|settings, words| {
            settings.bind = not_empty(words);
            Ok(())
        }),
    ),
    Directive::new(
        "listener",
        Start,
        "One more TCP port, for tenants that match a listener. Repeatable. The server also opens \
         the ports that tenants match, without this line.",
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
        "The TCP port for TLS; 0 for none. With port 0 it is the only TCP port."
    ),
    word!(
        "cluster-config",
        Always,
        cluster_config,
        "Path of a file that assigns the slots of a Redis Cluster to servers, the same on all \
         servers. Each line describes a node: its name, host:port, and slots such as 0-8191. Empty \
         for a single server. The server reads the file again at SIGHUP, or when CONFIG SET sets \
         the path."
    )
    .read_anew(),
    word!(
        "cluster-node",
        Always,
        cluster_node,
        "Name of this server's node in cluster-config; empty for the host name of the machine, up \
         to its first dot."
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
        "Path of the certificates of the authorities that sign clients' certificates, PEM."
    )
    .read_anew(),
    choice!(
        "tls-auth-clients",
        Always,
        tls_auth_clients,
        ["yes", "no", "optional"],
        "Whether clients must show a certificate. With optional, clients may connect without one, \
         and the server checks the others."
    )
    .read_anew(),
    Directive::new(
        "tls-protocols",
        Always,
        "TLS versions that the server accepts: TLSv1.2, TLSv1.3 or both; empty for both.",
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
        "Name of the group that owns the Unix sockets; empty for the server's group."
    ),
    number!(
        "tcp-backlog",
        Start,
        tcp_backlog,
        1..=65535,
        "Most connections that may wait until the server accepts them."
    ),
    number!(
        "tcp-keepalive",
        Always,
        tcp_keepalive,
        0..=86400,
        "Seconds of silence after which the system probes a connection; 0 never probes."
    ),
    number!(
        "timeout",
        Always,
        timeout,
        0..=2_147_483_647,
        "Seconds of silence after which the server closes a client; 0 never closes."
    ),
    number!(
        "busy-reply-threshold",
        Always,
        busy_reply_threshold,
        0..=9_223_372_036_854_775_807,
        "Milliseconds that other clients wait for a script before the server answers them with \
         BUSY; 0 lets them wait."
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
        "Most clients at the same time; fewer if the system allows fewer open files (ulimit -n)."
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
        "The TCP port of /metrics, /healthz and /readyz; 0 for none. If it is not set, the server \
         opens 9379, unless another program uses that port.",
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
        "The availability zone of the machine, as HELLO reports it to clients."
    ),
    word!("http-bind", Start, http_bind, "The address on which the server opens the http-port."),
    Directive::new(
        "http-hosts",
        Always,
        "More host names that browsers may use for the http-port while no password is set. They \
         may always use addresses, names without a dot, names in a private domain (.local, \
         .internal, .svc) and the host name of the machine. The server refuses other names, so \
         that a page of another site cannot read it (DNS rebinding).",
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
        "Most connections to the http-port at the same time. A further connection replaces the \
         connection that was silent for longest."
    ),
    number!(
        "io-threads",
        Start,
        io_threads,
        1..=128,
        "Threads that serve clients. If it is not set: one for each core, at most 8."
    ),
    word!(
        "io-uring",
        Start,
        io_uring,
        "Whether the server uses io_uring: auto (if the kernel allows it, else epoll), yes (the \
         same, with a warning if the kernel refuses) or no."
    ),
];
