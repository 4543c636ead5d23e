//! memcached's flags and the words of its `-o`, each with its effect here.
//!
//! A flag that restricts or changes the view of clients is applied or refused. A flag that only
//! tunes parts that Larder lacks is accepted, and named in a line of the log.

/// The effect of a flag or a word.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// It sets this directive to its value.
    Directive(&'static str),
    /// It sets these directives.
    Directives(&'static [&'static str]),
    /// It tunes a part that Larder lacks, so it has no effect.
    Nothing,
    /// It asks for something that is always so.
    Always,
    /// It is refused, for this reason.
    Refused(&'static str),
    /// It is handled by its name.
    Special,
}

/// The value behind a flag or a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    None,
    Word,
    /// A whole number.
    Number,
    /// A number that may have a fraction.
    Ratio,
    /// A whole number, or no value.
    Maybe,
}

/// A flag of memcached.
#[derive(Debug)]
pub(super) struct Flag {
    pub(super) short: char,
    pub(super) long: &'static str,
    pub(super) value: Value,
    pub(super) act: Act,
    pub(super) doc: &'static str,
}

const fn flag(short: char, long: &'static str, value: Value, act: Act, doc: &'static str) -> Flag {
    Flag { short, long, value, act, doc }
}

use Act::{Always, Directive, Directives, Nothing, Refused, Special};
use Value::{Maybe, None, Number, Ratio, Word};

const NO_SASL: &str = "Larder has no SASL: use -Y FILE";
const NO_STORAGE: &str = "Larder has no external storage: leave the word out, or use dump-max";
const NO_PROXY: &str = "Larder has no proxy: leave the word out";

/// Every flag, in the order of the help.
pub(super) const FLAGS: &[Flag] = &[
    flag('p', "port", Number, Special, "TCP port to listen on (11211); -1 for a free one"),
    flag('U', "udp-port", Number, Special, "0: there is no UDP"),
    flag('s', "unix-socket", Word, Directive("memcached-unixsocket"), "Unix socket, not a port"),
    flag('a', "unix-mask", Number, Directive("unixsocketperm"), "permissions of the socket, octal"),
    flag(
        'A',
        "enable-shutdown",
        None,
        Directives(&["--memcached-shutdown", "yes"]),
        "clients may end the server",
    ),
    flag('l', "listen", Word, Special, "addresses to listen on, as [notls:]ADDRESS[:PORT],..."),
    flag('d', "daemon", None, Special, "run in the background"),
    flag('r', "enable-coredumps", None, Special, "no limit for core files"),
    flag('u', "user", Word, Special, "the user to become, if started by root"),
    flag('m', "memory-limit", Number, Special, "memory for items, in megabytes (64)"),
    flag(
        'M',
        "disable-evictions",
        None,
        Directives(&["--maxmemory-policy", "noeviction"]),
        "refuse writes instead of evicting",
    ),
    flag('c', "conn-limit", Number, Directive("maxclients"), "connections at once (1024)"),
    flag('k', "lock-memory", None, Special, "keep all memory resident"),
    flag('v', "verbose", None, Directives(&["--loglevel", "debug"]), "log more"),
    flag('h', "help", None, Special, "print this help and end"),
    flag('i', "license", None, Special, "print the license and end"),
    flag('V', "version", None, Special, "print the version and end"),
    flag('P', "pidfile", Word, Directive("pidfile"), "a file for the process id"),
    flag('f', "slab-growth-factor", Ratio, Directive("slab-growth-factor"), "growth of chunks"),
    flag('n', "slab-min-size", Number, Directive("slab-chunk-min"), "bytes of the smallest chunk"),
    flag('L', "enable-largepages", None, Nothing, "no effect"),
    flag(
        'D',
        "delimiter",
        Word,
        Directive("memcached-delimiter"),
        "the byte that ends a prefix; counts by prefix from the start",
    ),
    flag('t', "threads", Number, Directive("io-threads"), "threads that serve clients"),
    flag('R', "max-reqs-per-event", Number, Nothing, "no effect"),
    flag('C', "disable-cas", None, Directives(&["--memcached-cas", "no"]), "no cas"),
    flag('b', "listen-backlog", Number, Directive("tcp-backlog"), "connections that may wait"),
    flag('B', "protocol", Word, Special, "ascii or auto: there is no binary protocol"),
    flag('I', "max-item-size", Word, Special, "bytes in a value (1m)"),
    flag('S', "enable-sasl", None, Refused(NO_SASL), "refused"),
    flag(
        'F',
        "disable-flush-all",
        None,
        Directives(&["--memcached-flush-all", "no"]),
        "no flush_all",
    ),
    flag('X', "disable-dumping", None, Directives(&["--memcached-dump", "no"]), "no lists of keys"),
    flag('W', "disable-watch", None, Directives(&["--memcached-watch", "no"]), "no watch"),
    flag('Y', "auth-file", Word, Directive("memcached-auth-file"), "a file of lines user:password"),
    flag('e', "memory-file", Word, Directive("warm-restart-file"), "a file that keeps the items"),
    flag('Z', "enable-ssl", None, Directives(&["--memcached-tls", "yes"]), "speak TLS"),
    flag(
        'N',
        "napi_ids",
        Number,
        Refused("the server's threads take connections in turn"),
        "refused",
    ),
    flag('o', "extended", Word, Special, "words of memcached, see below"),
];

/// The words of `-o`. Words with a prefix of [`ELSEWHERE`] are refused together.
pub(super) const WORDS: &[(&str, Value, Act)] = &[
    ("maxconns_fast", None, Always),
    ("no_maxconns_fast", None, Refused("the server closes connections above -c at once")),
    ("idle_timeout", Number, Directive("timeout")),
    ("ssl_chain_cert", Word, Directive("tls-cert-file")),
    ("ssl_key", Word, Directive("tls-key-file")),
    ("ssl_ca_cert", Word, Directive("tls-ca-cert-file")),
    ("ssl_verify_mode", Number, Special),
    ("ssl_min_version", Number, Special),
    ("ssl_keyformat", Number, Special),
    ("ssl_ciphers", Word, Refused("ciphers cannot be chosen: set ssl_min_version")),
    ("ssl_wbuf_size", Number, Nothing),
    ("ssl_session_cache", None, Nothing),
    ("ssl_kernel_tls", None, Nothing),
    ("drop_privileges", None, Refused("system calls cannot be forbidden: use -u")),
    ("no_drop_privileges", None, Always),
    ("relaxed_privileges", None, Always),
    ("sock_cookie_id", Number, Refused("the server does not mark sockets")),
    ("hashpower", Number, Nothing),
    ("no_hashexpand", None, Nothing),
    ("hash_algorithm", Word, Nothing),
    ("tail_repair_time", Number, Nothing),
    ("lru_crawler", None, Nothing),
    ("no_lru_crawler", None, Nothing),
    ("lru_crawler_sleep", Number, Nothing),
    ("lru_crawler_tocrawl", Number, Nothing),
    ("lru_maintainer", None, Nothing),
    ("no_lru_maintainer", None, Nothing),
    ("hot_lru_pct", Number, Nothing),
    ("warm_lru_pct", Number, Nothing),
    ("hot_max_factor", Ratio, Nothing),
    ("warm_max_factor", Ratio, Nothing),
    ("temporary_ttl", Number, Nothing),
    ("slab_reassign", None, Nothing),
    ("no_slab_reassign", None, Nothing),
    ("slab_automove", Maybe, Nothing),
    ("no_slab_automove", None, Nothing),
    ("slab_automove_ratio", Ratio, Nothing),
    ("slab_automove_freeratio", Ratio, Nothing),
    ("slab_automove_window", Number, Nothing),
    ("slab_chunk_max", Number, Nothing),
    ("slab_sizes", Word, Nothing),
    ("watcher_logbuf_size", Number, Nothing),
    ("worker_logbuf_size", Number, Nothing),
    ("read_buf_mem_limit", Number, Nothing),
    ("resp_obj_mem_limit", Number, Nothing),
    ("inline_ascii_resp", None, Nothing),
    ("no_inline_ascii_resp", None, Nothing),
    ("track_sizes", None, Always),
    ("modern", None, Nothing),
    ("no_modern", None, Nothing),
];

/// Prefixes of words about parts that Larder lacks, with the reason for the refusal.
pub(super) const ELSEWHERE: &[(&str, &str)] = &[("ext_", NO_STORAGE), ("proxy_", NO_PROXY)];
