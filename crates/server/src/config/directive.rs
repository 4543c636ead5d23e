//! Every directive: its name, when it may be set, what it means, how it is read and printed.
//!
//! Names are those of Redis where it has the thing. What Redis has and this server does not need
//! stands in `ignored.rs`.

use super::tenant::Tenant;
use super::{DEFAULT_USER, OutputLimit, Policy, Settings, quoted};
use crate::memory_limit;
use crate::notify;
use base::{Bytes, Micros};
use std::path::PathBuf;

/// When a directive may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// In the file and on the command line only.
    Start,
    /// Also by CONFIG SET.
    Always,
}

type Get = fn(&Settings) -> String;
type Set = fn(&mut Settings, &[String]) -> Result<(), String>;

/// One directive.
#[derive(Clone, Copy, Debug)]
pub struct Directive {
    /// As in the file, lower case.
    pub name: &'static str,
    /// When it may be set.
    pub when: When,
    /// What it means; the value it has before anybody sets it is [`Settings::default`]'s.
    pub doc: &'static str,
    /// Prints the value as CONFIG GET shows it. A directive that may be repeated prints one line
    /// for each.
    pub get: Get,
    /// Reads the words behind the name.
    pub set: Set,
}

impl Directive {
    /// The directive of that name, in any case.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|directive| directive.name.eq_ignore_ascii_case(name))
    }

    /// Whether a line begins with the name of what it describes.
    pub(crate) fn is_named(&self) -> bool {
        matches!(self.name, "tenant" | "user")
    }

    /// Whether each line adds to those before it.
    pub fn repeats(&self) -> bool {
        matches!(self.name, "tenant" | "user" | "listener")
    }
}

/// The one word behind a directive.
fn one(words: &[String]) -> Result<&str, String> {
    match words {
        [word] => Ok(word),
        _ => Err("wrong number of arguments".into()),
    }
}

fn number(words: &[String], min: u64, max: u64) -> Result<u64, String> {
    let number: i64 =
        one(words)?.parse().map_err(|_| "argument couldn't be parsed into an integer")?;
    match u64::try_from(number) {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(format!("argument must be between {min} and {max} inclusive")),
    }
}

fn flag(words: &[String]) -> Result<bool, String> {
    match one(words)?.to_ascii_lowercase().as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("argument must be 'yes' or 'no'".into()),
    }
}

fn size(word: &str) -> Result<Bytes, String> {
    Bytes::parse(word).map_err(|_| "argument must be a memory value".into())
}

const fn yes_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

macro_rules! number {
    ($name:literal, $field:ident, $min:expr, $max:expr, $when:ident, $doc:literal) => {
        Directive {
            name: $name,
            when: When::$when,
            doc: $doc,
            get: |settings| settings.$field.to_string(),
            set: |settings, words| {
                settings.$field = number(words, $min, $max)?
                    .try_into()
                    .map_err(|_| "argument couldn't be parsed into an integer")?;
                Ok(())
            },
        }
    };
}

/// A number that is negative for never.
macro_rules! threshold {
    ($name:literal, $field:ident, $doc:literal) => {
        Directive {
            name: $name,
            when: When::Always,
            doc: $doc,
            get: |settings| settings.$field.to_string(),
            set: |settings, words| {
                settings.$field = one(words)?
                    .parse()
                    .map_err(|_| "argument couldn't be parsed into an integer")?;
                Ok(())
            },
        }
    };
}

macro_rules! bytes {
    ($name:literal, $field:ident, $when:ident, $doc:literal) => {
        Directive {
            name: $name,
            when: When::$when,
            doc: $doc,
            get: |settings| settings.$field.0.to_string(),
            set: |settings, words| {
                settings.$field = size(one(words)?)?;
                Ok(())
            },
        }
    };
}

/// Yes or no, said at the start.
macro_rules! switch {
    ($name:literal, $field:ident, $doc:literal) => {
        Directive {
            name: $name,
            when: When::Start,
            doc: $doc,
            get: |settings| yes_no(settings.$field).into(),
            set: |settings, words| {
                settings.$field = flag(words)?;
                Ok(())
            },
        }
    };
}

macro_rules! text {
    ($name:literal, $field:ident, $when:ident, $doc:literal) => {
        Directive {
            name: $name,
            when: When::$when,
            doc: $doc,
            get: |settings| settings.$field.clone(),
            set: |settings, words| {
                settings.$field = one(words)?.into();
                Ok(())
            },
        }
    };
}

macro_rules! choice {
    ($name:literal, $field:ident, $known:expr, $when:ident, $doc:literal) => {
        Directive {
            name: $name,
            when: When::$when,
            doc: $doc,
            get: |settings| settings.$field.clone(),
            set: |settings, words| {
                let word = one(words)?.to_ascii_lowercase();
                if !$known.contains(&word.as_str()) {
                    let known = $known.join(", ");
                    return Err(format!("argument(s) must be one of the following: {known}"));
                }
                settings.$field = word;
                Ok(())
            },
        }
    };
}

/// What TLS is made of. Setting it, also to what it was, reads the files anew.
macro_rules! tls {
    ($name:literal, $field:ident, $known:expr, $doc:literal) => {
        Directive {
            name: $name,
            when: When::Always,
            doc: $doc,
            get: |settings| settings.$field.clone(),
            set: |settings, words| {
                let words = words.join(" ");
                let known: &[&str] = &$known;
                if !known.is_empty()
                    && !words.split(' ').all(|word| known.contains(&word) || words.is_empty())
                {
                    let known = known.join(", ");
                    return Err(format!("argument(s) must be one of the following: {known}"));
                }
                settings.$field = words;
                settings.tls_generation += 1;
                Ok(())
            },
        }
    };
}

/// What may be logged.
const LEVELS: &[&str] = &["debug", "verbose", "notice", "warning", "nothing"];

/// Every directive, in the order the documentation lists them.
pub const ALL: &[Directive] = &[
    number!(
        "port",
        port,
        0,
        65535,
        Start,
        "The TCP port. 0 with a unixsocket or a memcached-port: none; 0 without: a free one, named \
         in the log."
    ),
    Directive {
        name: "bind",
        when: When::Start,
        doc: "Addresses to listen on. A leading - lets an address be missing on this machine.",
        get: |settings| settings.bind.join(" "),
        set: |settings, words| {
            settings.bind = words.iter().filter(|word| !word.is_empty()).cloned().collect();
            Ok(())
        },
    },
    Directive {
        name: "listener",
        when: When::Start,
        doc: "One more TCP port, for tenants told apart by listener. Repeatable. A port that a \
              tenant matches is opened without this line.",
        get: |settings| {
            let ports: Vec<_> = settings.listeners.iter().map(u16::to_string).collect();
            ports.join("\n")
        },
        set: |settings, words| {
            let port = number(words, 1, 65535)? as u16;
            if !settings.listeners.contains(&port) {
                settings.listeners.push(port);
            }
            Ok(())
        },
    },
    number!(
        "memcached-port",
        memcached_port,
        0,
        65535,
        Start,
        "The TCP port where memcached's text and meta protocol is spoken, over the same data; 0 \
         for none."
    ),
    bytes!(
        "memcached-item-size-max",
        memcached_item_max,
        Always,
        "Bytes in a value that a client of memcached's protocol stores (memcached's -I)."
    ),
    text!(
        "memcached-auth-file",
        memcached_auth_file,
        Start,
        "A file of lines user:password. With it, or with requirepass, a client of memcached's \
         protocol must first send: set KEY 0 0 LENGTH, and as the value USER PASSWORD."
    ),
    Directive {
        name: "memcached-bind",
        when: When::Start,
        doc: "Where memcached's protocol is spoken, as [notls:]ADDRESS[:PORT]; without it, at the \
              memcached-port of every address of bind (memcached's -l).",
        get: |settings| settings.memcached_bind.join(" "),
        set: |settings, words| {
            settings.memcached_bind =
                words.iter().filter(|word| !word.is_empty()).cloned().collect();
            Ok(())
        },
    },
    switch!(
        "memcached-shutdown",
        memcached_shutdown,
        "Whether a client of memcached's protocol may end the server (memcached's -A)."
    ),
    switch!(
        "memcached-flush-all",
        memcached_flush_all,
        "Whether a client of memcached's protocol may flush_all (memcached's -F forbids it)."
    ),
    switch!(
        "memcached-dump",
        memcached_dump,
        "Whether a client of memcached's protocol may list keys (memcached's -X forbids it)."
    ),
    switch!(
        "memcached-watch",
        memcached_watch,
        "Whether a client of memcached's protocol may watch others (memcached's -W forbids it)."
    ),
    switch!(
        "memcached-cas",
        memcached_cas,
        "Whether values have numbers for clients of memcached's protocol to compare (memcached's \
         -C switches them off)."
    ),
    Directive {
        name: "memcached-delimiter",
        when: When::Start,
        doc: "The byte that ends the prefix of a key in memcached's stats detail, which is then \
              counted from the start; empty for a colon, once stats detail on asks for it \
              (memcached's -D).",
        get: |settings| {
            settings.memcached_delimiter.map_or_else(String::new, |byte| char::from(byte).into())
        },
        set: |settings, words| {
            settings.memcached_delimiter = match one(words)?.as_bytes() {
                [] => None,
                [byte @ b'!'..=b'~'] => Some(*byte),
                _ => return Err("argument must be one byte".into()),
            };
            Ok(())
        },
    },
    Directive {
        name: "http-port",
        when: When::Start,
        doc: "The TCP port of /metrics, /healthz and /readyz; 0 for none. Unless it is set, 9379 \
              if that is free.",
        get: |settings| settings.http_port.unwrap_or(crate::http::PORT_DEFAULT).to_string(),
        set: |settings, words| {
            settings.http_port = Some(number(words, 0, 65535)? as u16);
            Ok(())
        },
    },
    Directive {
        name: "http-bind",
        when: When::Start,
        doc: "The address that the http-port is opened at.",
        get: |settings| settings.http_bind.clone(),
        set: |settings, words| {
            let word = one(words)?;
            word.parse::<std::net::IpAddr>().map_err(|_| "argument must be an IP address")?;
            settings.http_bind = word.into();
            Ok(())
        },
    },
    number!(
        "http-maxclients",
        http_maxclients,
        1,
        10_000,
        Always,
        "Connections to the http-port at once."
    ),
    number!(
        "tls-port",
        tls_port,
        0,
        65535,
        Start,
        "The TCP port for TLS; 0 for none. With port 0 it is the only one."
    ),
    tls!(
        "tls-cert-file",
        tls_cert_file,
        [],
        "Path of the server's certificate and its chain, PEM."
    ),
    tls!("tls-key-file", tls_key_file, [], "Path of the certificate's private key, PEM."),
    tls!(
        "tls-ca-cert-file",
        tls_ca_cert_file,
        [],
        "Path of the certificates that clients' certificates must come from, PEM."
    ),
    tls!(
        "tls-auth-clients",
        tls_auth_clients,
        ["yes", "no", "optional"],
        "Whether clients must show a certificate; optional checks one that is shown."
    ),
    tls!(
        "tls-protocols",
        tls_protocols,
        ["TLSv1.2", "TLSv1.3"],
        "Versions that are spoken: TLSv1.2, TLSv1.3 or both; empty is both."
    ),
    switch!(
        "memcached-tls",
        memcached_tls,
        "Whether the memcached-port speaks TLS, with the same files."
    ),
    Directive {
        name: "memcached-unixsocket",
        when: When::Start,
        doc: "Path of a Unix socket where memcached's protocol is spoken.",
        get: |settings| settings.memcached_unixsocket.display().to_string(),
        set: |settings, words| {
            settings.memcached_unixsocket = PathBuf::from(one(words)?);
            Ok(())
        },
    },
    Directive {
        name: "unixsocket",
        when: When::Start,
        doc: "Path of a Unix socket to listen on.",
        get: |settings| settings.unixsocket.display().to_string(),
        set: |settings, words| {
            settings.unixsocket = PathBuf::from(one(words)?);
            Ok(())
        },
    },
    Directive {
        name: "unixsocketperm",
        when: When::Start,
        doc: "Permissions of the Unix sockets, octal; 0 leaves them to the umask.",
        get: |settings| format!("{:o}", settings.unixsocketperm),
        set: |settings, words| {
            settings.unixsocketperm = u32::from_str_radix(one(words)?, 8)
                .ok()
                .filter(|&mode| mode <= 0o777)
                .ok_or("argument couldn't be parsed into an integer")?;
            Ok(())
        },
    },
    number!(
        "tcp-backlog",
        tcp_backlog,
        1,
        65535,
        Start,
        "Connections that may wait to be accepted."
    ),
    number!(
        "tcp-keepalive",
        tcp_keepalive,
        0,
        86400,
        Always,
        "Seconds of silence after which a connection is probed; 0 never probes."
    ),
    number!(
        "timeout",
        timeout,
        0,
        2_147_483_647,
        Always,
        "Seconds of silence after which a client is closed; 0 never closes."
    ),
    number!(
        "maxclients",
        maxclients,
        1,
        1_000_000,
        Always,
        "Clients that may be connected at once."
    ),
    Directive {
        name: "protected-mode",
        when: When::Always,
        doc: "Without a password, serve only clients of this machine.",
        get: |settings| yes_no(settings.protected_mode).into(),
        set: |settings, words| {
            settings.protected_mode = flag(words)?;
            Ok(())
        },
    },
    Directive {
        name: "requirepass",
        when: When::Always,
        doc: "The password of the user default; empty lets everybody in.",
        get: |settings| {
            let user = settings.user(DEFAULT_USER);
            let still = user.is_some_and(|user| user.requires(&settings.requirepass));
            if still { settings.requirepass.clone() } else { String::new() }
        },
        set: |settings, words| {
            let mut user = settings.user_or_new(DEFAULT_USER);
            settings.requirepass = one(words)?.into();
            user.require(&settings.requirepass);
            settings.set_user(user);
            Ok(())
        },
    },
    Directive {
        name: "user",
        when: When::Always,
        doc: "A user in the words of Redis' ACL, such as user NAME on >PASSWORD ~app:* +@read. \
              Repeatable; a line for a known name replaces it.",
        get: |settings| {
            let users: Vec<_> = settings.users.iter().map(|user| user.line()).collect();
            users.join("\n")
        },
        set: |settings, words| {
            let [name, rest @ ..] = words else { return Err("a user needs a name".into()) };
            let mut user = settings.new_user(name);
            user.apply(rest).map_err(|error| error.to_string())?;
            settings.set_user(user);
            Ok(())
        },
    },
    number!(
        "auth-delay-max",
        auth_delay_max,
        0,
        60_000,
        Always,
        "The longest time in milliseconds that the answer to a wrong password is held back: 25 ms \
         after the first, twice as long after each one more from the same host; 0 answers at once."
    ),
    text!(
        "aclfile",
        aclfile,
        Start,
        "Path of a file of lines that begin with user, read when the server starts and by ACL \
         LOAD, written by ACL SAVE."
    ),
    number!(
        "acllog-max-len",
        acllog_max_len,
        0,
        1_000_000,
        Always,
        "Refusals kept in the ACL log."
    ),
    choice!(
        "acl-pubsub-default",
        acl_pubsub_default,
        ["resetchannels", "allchannels"],
        Always,
        "The channels of a user that is made anew from here on: none or all."
    ),
    number!("databases", databases, 1, 256, Start, "How many databases SELECT may choose from."),
    Directive {
        name: "maxmemory",
        when: When::Always,
        doc: "Bytes that data and its metadata may take; 0 sets no limit. As a share, such as 60%, \
              of the memory of the machine or the container, followed while it changes; auto is \
              80%.",
        get: |settings| settings.maxmemory.0.to_string(),
        set: |settings, words| {
            let word = one(words)?;
            settings.maxmemory_share = memory_limit::parse(word);
            settings.maxmemory = match settings.maxmemory_share {
                Some(share) => memory_limit::bytes_of(share),
                None => size(word)?,
            };
            Ok(())
        },
    },
    Directive {
        name: "maxmemory-policy",
        when: When::Always,
        doc: "Who leaves when memory is full: allkeys-lru (K-LRU with a pool of candidates, K = \
              maxmemory-samples), allkeys-lhd (who promises the fewest hits for its bytes; it \
              learns), allkeys-cost-lhd (the same, times what a miss costs), allkeys-lfu, \
              allkeys-hyperbolic, allkeys-random, noeviction, or auto: what the recipe chooses.",
        get: |settings| settings.maxmemory_policy.name().into(),
        set: |settings, words| {
            settings.maxmemory_policy = Policy::parse(one(words)?)?;
            Ok(())
        },
    },
    number!(
        "maxmemory-samples",
        maxmemory_samples,
        1,
        64,
        Always,
        "Candidates drawn for an eviction, where the recipe does not choose."
    ),
    Directive {
        name: "slab-page-size",
        when: When::Start,
        doc: "Bytes of a page of one shard, a power of two; 0 for what suits maxmemory and the \
              number of tenants, up to 64kb. Items above half a page take whole pages.",
        get: |settings| settings.slab.page.to_string(),
        set: |settings, words| match size(one(words)?)?.0 {
            0 => {
                settings.slab.page = 0;
                Ok(())
            }
            page if page.is_power_of_two() && (4096..=64 << 20).contains(&page) => {
                settings.slab.page = page;
                Ok(())
            }
            _ => Err("argument must be 0 or a power of two from 4kb to 64mb".into()),
        },
    },
    Directive {
        name: "slab-chunk-min",
        when: When::Start,
        doc: "Bytes of the smallest chunk that pages are cut into; an item has a header of 13.",
        get: |settings| settings.slab.chunk_min.to_string(),
        set: |settings, words| {
            settings.slab.chunk_min = number(words, 32, 1024)?;
            Ok(())
        },
    },
    Directive {
        name: "slab-growth-factor",
        when: When::Start,
        doc: "What each size of chunk is larger by than the last.",
        get: |settings| settings.slab.factor.to_string(),
        set: |settings, words| match one(words)?.parse::<f64>() {
            Ok(factor) if factor > 1.0 && factor <= 4.0 => {
                settings.slab.factor = factor;
                Ok(())
            }
            _ => Err("argument must be a number above 1 and at most 4".into()),
        },
    },
    Directive {
        name: "recipe",
        when: When::Always,
        doc: "How memory is divided: static (one pool, a plain cache), dlru (one pool, whose K \
              follows its misses), kredis (a budget and a K for each tenant, from its curve \
              and the cost of its misses), predis (a budget for each class of penalties, \
              whoever owns the items), lama (pages for each class of \
              sizes, from curves) and rankcache (LHD, and pages where victims are worth \
              most). Settings follow, as in kredis:objective=hits:epoch=10 (seconds), \
              dlru:interval=100000 (reads) or lama:planner=automove.",
        get: |settings| settings.recipe.clone(),
        set: |settings, words| {
            let word = one(words)?.to_ascii_lowercase();
            let recipe = tune::recipe::parse(&word)?;
            settings.recipe = recipe.to_string();
            Ok(())
        },
    },
    Directive {
        name: "tenant",
        when: When::Always,
        doc: "A tenant: tenant NAME match db N | prefix P | user U | listener PORT, then min \
              SIZE, max SIZE, weight W, target RATIO|TIME, priority N as needed. \
              Repeatable; a line for a known name replaces it.",
        get: |settings| {
            let tenants: Vec<_> = settings.tenants.iter().map(ToString::to_string).collect();
            tenants.join("\n")
        },
        set: |settings, words| {
            let tenant = Tenant::parse(words)?;
            match settings.tenants.iter_mut().find(|known| known.name == tenant.name) {
                Some(known) => *known = tenant,
                None => settings.tenants.push(tenant),
            }
            Ok(())
        },
    },
    number!(
        "io-threads",
        io_threads,
        1,
        128,
        Start,
        "Threads that serve clients. Before anybody sets it: one for each core, at most 8."
    ),
    bytes!("proto-max-bulk-len", proto_max_bulk_len, Always, "Bytes in one argument of a command."),
    bytes!(
        "client-query-buffer-limit",
        client_query_buffer_limit,
        Always,
        "Bytes of an unfinished command; a client that sends more is closed."
    ),
    Directive {
        name: "client-output-buffer-limit",
        when: When::Always,
        doc: "Bytes of replies that wait for a slow reader: CLASS HARD SOFT SECONDS, for the \
              classes normal and pubsub. Above HARD, or above SOFT for SECONDS, it is closed; 0 \
              sets no limit.",
        get: |settings| {
            format!(
                "normal {} replica 0 0 0 pubsub {}",
                settings.output_normal, settings.output_pubsub
            )
        },
        set: |settings, words| {
            let words: Vec<&str> = words.iter().flat_map(|word| word.split_whitespace()).collect();
            if words.is_empty() || !words.len().is_multiple_of(4) {
                return Err("wrong number of arguments".into());
            }
            for group in words.chunks(4) {
                let limit = OutputLimit {
                    hard: size(group[1])?,
                    soft: size(group[2])?,
                    seconds: group[3].parse().map_err(|_| "the seconds are no number")?,
                };
                match group[0].to_ascii_lowercase().as_str() {
                    "normal" => settings.output_normal = limit,
                    "pubsub" => settings.output_pubsub = limit,
                    "replica" | "slave" => {}
                    class => return Err(format!("'{class}' is not normal, replica or pubsub")),
                }
            }
            Ok(())
        },
    },
    number!(
        "tracking-table-max-keys",
        tracking_max_keys,
        0,
        1_000_000_000,
        Always,
        "Keys remembered for clients that track what they read; above it all of them are told to \
         forget everything. 0 sets no limit."
    ),
    number!(
        "latency-monitor-threshold",
        latency_threshold_ms,
        0,
        1_000_000,
        Always,
        "Milliseconds from which on a time spent evicting is an event of LATENCY (eviction-cycle); \
         0 shows none."
    ),
    Directive {
        name: "notify-keyspace-events",
        when: When::Always,
        doc: "What becomes of keys and is told at channels: K at __keyspace@db__:key, E at \
              __keyevent@db__:event; of the classes g (DEL, EXPIRE and such), $ (strings), h \
              (hashes), x (expired), e (evicted), m (misses), n (new keys), A (all but the last \
              two). Empty tells nothing.",
        get: |settings| notify::show(settings.notify),
        set: |settings, words| {
            settings.notify = notify::parse(one(words)?)?;
            Ok(())
        },
    },
    Directive {
        name: "latency-tracking-info-percentiles",
        when: When::Always,
        doc: "The percentiles of the times of commands that INFO latencystats shows.",
        get: |settings| {
            let all: Vec<_> = settings.latency_percentiles.iter().map(f64::to_string).collect();
            all.join(" ")
        },
        set: |settings, words| {
            let wrong = "argument(s) must be numbers from 0 to 100";
            let read = |word: &str| {
                let number = word.parse::<f64>().ok();
                number.filter(|number| (0.0..=100.0).contains(number)).ok_or(wrong)
            };
            let all = words.iter().flat_map(|word| word.split_whitespace()).map(read);
            settings.latency_percentiles = all.collect::<Result<_, _>>()?;
            Ok(())
        },
    },
    threshold!(
        "slowlog-log-slower-than",
        slowlog_slower_than,
        "Microseconds above which a command is kept in the slow log; negative keeps none. Commands \
         of a step or two that come in a pipeline are timed in groups of 16."
    ),
    number!(
        "slowlog-max-len",
        slowlog_max_len,
        0,
        1_000_000,
        Always,
        "Commands kept in the slow log."
    ),
    threshold!(
        "commandlog-execution-slower-than",
        slowlog_slower_than,
        "Valkey's name of slowlog-log-slower-than."
    ),
    number!(
        "commandlog-slow-execution-max-len",
        slowlog_max_len,
        0,
        1_000_000,
        Always,
        "Valkey's name of slowlog-max-len."
    ),
    threshold!(
        "commandlog-request-larger-than",
        large_request,
        "Bytes from which on a command is kept in the log of large requests; negative keeps none."
    ),
    number!(
        "commandlog-large-request-max-len",
        large_request_max_len,
        0,
        1_000_000,
        Always,
        "Commands kept in the log of large requests."
    ),
    threshold!(
        "commandlog-reply-larger-than",
        large_reply,
        "Bytes of its reply from which on a command is kept in the log of large replies; negative \
         keeps none."
    ),
    number!(
        "commandlog-large-reply-max-len",
        large_reply_max_len,
        0,
        1_000_000,
        Always,
        "Commands kept in the log of large replies."
    ),
    choice!("loglevel", loglevel, LEVELS, Start, "What is logged: at least this."),
    text!("logfile", logfile, Start, "Path of the log; empty is the standard error."),
    text!("pidfile", pidfile, Start, "Path of a file that holds the process id while it runs."),
    text!(
        "warm-restart-file",
        warm_restart_file,
        Start,
        "Path of a file where data and models are saved when the server ends (SIGTERM, SHUTDOWN), \
         to be restored by the next start, which uses it up. SIGUSR1 saves a copy beside it, with \
         the ending .copy. Empty saves nothing."
    ),
    text!(
        "dir",
        dir,
        Always,
        "The folder of what is dumped. The files there have no names and go with the server."
    ),
    bytes!(
        "dump-max",
        dump_max,
        Always,
        "Bytes of the disk that dumps may take; 0 dumps nothing. With some, the reads of each \
         tenant are counted: where they come and go with a period its items are dumped when they \
         ebb, and loaded before they come back. LARDER TIDES shows what is seen and done."
    ),
    Directive {
        name: "dump-rate",
        when: When::Always,
        doc: "Bytes a second that are written or read at most when tenants are dumped and loaded.",
        get: |settings| settings.dump_rate.0.to_string(),
        set: |settings, words| match size(one(words)?)? {
            rate if rate >= Bytes(64 << 10) => {
                settings.dump_rate = rate;
                Ok(())
            }
            _ => Err("argument must be at least 64kb".into()),
        },
    },
    Directive {
        name: "dump-bucket",
        when: When::Always,
        doc: "Seconds for which reads are counted together, to find the period of a tenant's load: \
              periods of 8 to 682 buckets are found, once three have passed.",
        get: |settings| (settings.dump_bucket.as_f64() / 1e6).to_string(),
        set: |settings, words| match one(words)?.parse::<f64>() {
            Ok(seconds) if (0.05..=86_400.0).contains(&seconds) => {
                settings.dump_bucket = Micros((seconds * 1e6).round() as u64);
                Ok(())
            }
            _ => Err("argument must be a number of seconds from 0.05 to 86400".into()),
        },
    },
];

/// The line of a file that sets a value.
pub(super) fn line(name: &str, value: &str) -> String {
    match name {
        // These print as several words, quoted where needed.
        "bind" | "tenant" | "user" | "client-output-buffer-limit" => format!("{name} {value}"),
        _ => format!("{name} {}", quoted(value)),
    }
}
