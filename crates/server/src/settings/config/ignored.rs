//! Directives of Redis and Valkey that Larder ignores.
//!
//! Larder accepts them, so that an existing file starts the server. CONFIG GET shows them with
//! Redis' default or with the value that was set. One warning at the start lists the ones that were
//! set.
//!
//! Some of them promise something: persistence, a limit, a cipher. CONFIG SET refuses these,
//! because their user would rely on them. A file that sets one still starts the server, with the
//! warning.

use super::directive::When;

/// Names that CONFIG SET accepts.
const ALWAYS: &[(&str, &str)] = &[
    ("active-defrag-cycle-max", "25"),
    ("active-defrag-cycle-min", "1"),
    ("active-defrag-cycle-us", "500"),
    ("active-defrag-ignore-bytes", "104857600"),
    ("active-defrag-max-scan-fields", "1000"),
    ("active-defrag-threshold-lower", "10"),
    ("active-defrag-threshold-upper", "100"),
    ("active-expire-effort", "1"),
    ("activedefrag", "no"),
    ("activerehashing", "yes"),
    ("aof-disable-auto-gc", "no"),
    ("aof-load-truncated", "yes"),
    ("aof-rewrite-incremental-fsync", "yes"),
    ("aof-timestamp-enabled", "no"),
    ("aof-use-rdb-preamble", "yes"),
    ("appendfsync", "everysec"),
    ("appendonly", "no"),
    ("auto-aof-rewrite-min-size", "67108864"),
    ("auto-aof-rewrite-percentage", "100"),
    ("bind-source-addr", ""),
    ("cluster-allow-pubsubshard-when-down", "yes"),
    ("cluster-allow-reads-when-down", "no"),
    ("cluster-allow-replica-migration", "yes"),
    ("cluster-announce-bus-port", "0"),
    ("cluster-announce-client-port", "0"),
    ("cluster-announce-client-tls-port", "0"),
    ("cluster-announce-client-ipv4", ""),
    ("cluster-announce-client-ipv6", ""),
    ("cluster-announce-hostname", ""),
    ("cluster-announce-human-nodename", ""),
    ("cluster-announce-ip", ""),
    ("cluster-announce-port", "0"),
    ("cluster-announce-tls-port", "0"),
    ("cluster-blacklist-ttl", "60"),
    ("cluster-config-save-behavior", "sync"),
    ("cluster-link-sendbuf-limit", "0"),
    ("cluster-manual-failover-timeout", "5000"),
    ("cluster-message-gossip-perc", "10"),
    ("cluster-migration-barrier", "1"),
    ("cluster-node-timeout", "15000"),
    ("cluster-preferred-endpoint-type", "ip"),
    ("cluster-replica-no-failover", "no"),
    ("cluster-replica-validity-factor", "10"),
    ("cluster-require-full-coverage", "yes"),
    ("cluster-slave-no-failover", "no"),
    ("cluster-slave-validity-factor", "10"),
    ("cluster-slot-migration-log-max-len", "1000"),
    ("cluster-slot-stats-enabled", "no"),
    ("crash-log-enabled", "yes"),
    ("crash-memcheck-enabled", "yes"),
    ("dbfilename", "dump.rdb"),
    ("dual-channel-replication-enabled", "no"),
    ("dynamic-hz", "yes"),
    ("events-per-io-thread", "2"),
    ("extended-redis-compatibility", "no"),
    ("hash-max-listpack-entries", "512"),
    ("hash-max-listpack-value", "64"),
    ("hash-max-ziplist-entries", "512"),
    ("hash-max-ziplist-value", "64"),
    ("hide-user-data-from-log", "yes"),
    ("hll-sparse-max-bytes", "3000"),
    ("hz", "10"),
    ("ignore-warnings", ""),
    ("jemalloc-bg-thread", "yes"),
    ("lazyfree-lazy-eviction", "no"),
    ("lazyfree-lazy-expire", "no"),
    ("lazyfree-lazy-server-del", "no"),
    ("lazyfree-lazy-user-del", "no"),
    ("lazyfree-lazy-user-flush", "no"),
    ("lfu-decay-time", "1"),
    ("lfu-log-factor", "10"),
    ("list-compress-depth", "0"),
    ("list-max-listpack-size", "-2"),
    ("list-max-ziplist-size", "-2"),
    ("locale-collate", ""),
    ("log-timestamp-format", "legacy"),
    ("masterauth", ""),
    ("masteruser", ""),
    ("max-new-connections-per-cycle", "10"),
    ("max-new-tls-connections-per-cycle", "1"),
    ("maxmemory-clients", "0"),
    ("maxmemory-eviction-tenacity", "10"),
    ("min-io-threads-avoid-copy-reply", "7"),
    ("min-replicas-max-lag", "10"),
    ("min-replicas-to-write", "0"),
    ("min-slaves-max-lag", "10"),
    ("min-slaves-to-write", "0"),
    ("min-string-size-avoid-copy-reply", "16384"),
    ("min-string-size-avoid-copy-reply-threaded", "65536"),
    ("no-appendfsync-on-rewrite", "no"),
    ("oom-score-adj", "no"),
    ("oom-score-adj-values", "0 200 800"),
    ("prefetch-batch-max-size", "16"),
    ("primaryauth", ""),
    ("primaryuser", ""),
    ("proc-title-template", "{title} {listen-addr} {server-mode}"),
    ("propagation-error-behavior", "ignore"),
    ("rdb-del-sync-files", "no"),
    ("rdb-save-incremental-fsync", "yes"),
    ("rdb-version-check", "strict"),
    ("layout", "slab"),
    ("rdbcompression", "yes"),
    ("repl-backlog-size", "1048576"),
    ("repl-backlog-ttl", "3600"),
    ("repl-disable-tcp-nodelay", "no"),
    ("repl-diskless-load", "disabled"),
    ("repl-diskless-sync", "yes"),
    ("repl-diskless-sync-delay", "5"),
    ("repl-diskless-sync-max-replicas", "0"),
    ("repl-ping-replica-period", "10"),
    ("repl-ping-slave-period", "10"),
    ("repl-timeout", "60"),
    ("replica-announce-ip", ""),
    ("replica-announce-port", "0"),
    ("replica-announced", "yes"),
    ("replica-ignore-disk-write-errors", "no"),
    ("replica-ignore-maxmemory", "yes"),
    ("replica-lazy-flush", "no"),
    ("replica-priority", "100"),
    ("replica-read-only", "yes"),
    ("replica-serve-stale-data", "yes"),
    ("sanitize-dump-payload", "no"),
    ("save", ""),
    ("set-max-intset-entries", "512"),
    ("set-max-listpack-entries", "128"),
    ("set-max-listpack-value", "64"),
    ("shutdown-on-sigint", "default"),
    ("shutdown-on-sigterm", "default"),
    ("shutdown-timeout", "10"),
    ("slave-announce-ip", ""),
    ("slave-announce-port", "0"),
    ("slave-ignore-maxmemory", "yes"),
    ("slave-lazy-flush", "no"),
    ("slave-priority", "100"),
    ("slave-read-only", "yes"),
    ("slave-serve-stale-data", "yes"),
    ("slot-migration-max-failover-repl-bytes", "0"),
    ("stop-writes-on-bgsave-error", "yes"),
    ("stream-node-max-bytes", "4096"),
    ("stream-node-max-entries", "100"),
    ("tls-ca-cert-dir", ""),
    ("tls-ciphers", ""),
    ("tls-ciphersuites", ""),
    ("tls-client-cert-file", ""),
    ("tls-client-key-file", ""),
    ("tls-client-key-file-pass", ""),
    ("tls-cluster", "no"),
    ("tls-dh-params-file", ""),
    ("tls-key-file-pass", ""),
    ("tls-prefer-server-ciphers", "no"),
    ("tls-replication", "no"),
    ("tls-session-cache-size", "20480"),
    ("tls-session-cache-timeout", "300"),
    ("tls-session-caching", "yes"),
    ("zset-max-listpack-entries", "128"),
    ("zset-max-listpack-value", "64"),
    ("zset-max-ziplist-entries", "128"),
    ("zset-max-ziplist-value", "64"),
];

/// Names with a promise, and what Larder offers instead.
const PROMISES: &[(&str, &str)] = &[
    (
        "appendonly",
        "Larder writes no data while it serves; set warm-restart-file to keep data across a \
         restart",
    ),
    ("masterauth", "there are no replicas"),
    (
        "maxmemory-clients",
        "client-query-buffer-limit and client-output-buffer-limit limit each client",
    ),
    ("min-replicas-to-write", "there are no replicas"),
    ("min-slaves-to-write", "there are no replicas"),
    ("oom-score-adj", "set it in the service manager, such as OOMScoreAdjust= in systemd"),
    ("primaryauth", "there are no replicas"),
    (
        "save",
        "Larder writes no data while it serves; set warm-restart-file to keep data across a \
         restart",
    ),
    ("tls-ca-cert-dir", "set tls-ca-cert-file"),
    ("tls-ciphers", "only tls-protocols can be chosen"),
    ("tls-ciphersuites", "only tls-protocols can be chosen"),
    ("tls-key-file-pass", "use a tls-key-file without a password"),
];

/// The reason why CONFIG SET refuses a value; `None` if the directive promises nothing or has this
/// value already.
pub(crate) fn refusal(name: &str, value: &str, kept: Option<&str>) -> Option<String> {
    let (_, instead) = PROMISES.iter().find(|(known, _)| *known == name)?;
    let first = all().find(|(known, _)| *known == name).map(|(_, first)| first)?;
    let same = |other: &str| other.eq_ignore_ascii_case(value);
    (!same(first) && !kept.is_some_and(same)).then(|| format!("it would have no effect: {instead}"))
}

/// Names that only the file and the command line may set.
const START: &[(&str, &str)] = &[
    ("always-show-logo", "no"),
    ("aof-rewrite-cpulist", ""),
    ("aof_rewrite_cpulist", ""),
    ("appenddirname", "appendonlydir"),
    ("appendfilename", "appendonly.aof"),
    ("bgsave-cpulist", ""),
    ("bgsave_cpulist", ""),
    ("bio-cpulist", ""),
    ("bio_cpulist", ""),
    ("cluster-config-file", "nodes.conf"),
    ("cluster-enabled", "no"),
    ("cluster-port", "0"),
    ("disable-thp", "yes"),
    ("enable-debug-command", "no"),
    ("enable-module-command", "no"),
    ("enable-protected-configs", "no"),
    ("hash-seed", ""),
    ("io-threads-do-reads", "no"),
    ("lua-enable-deprecated-api", "no"),
    ("lua-enable-insecure-api", "no"),
    ("mptcp", "no"),
    ("rdbchecksum", "yes"),
    ("rdma-bind", ""),
    ("rdma-completion-vector", "-1"),
    ("rdma-port", "0"),
    ("rdma-rx-size", "1048576"),
    ("repl-mptcp", "no"),
    ("replicaof", ""),
    ("server-cpulist", ""),
    ("server_cpulist", ""),
    ("set-proc-title", "yes"),
    ("slaveof", ""),
    ("socket-mark-id", "0"),
    ("supervised", "no"),
    ("syslog-enabled", "no"),
    ("syslog-facility", "local0"),
    ("syslog-ident", "redis"),
];

/// Prefixes of directives about clusters, replicas, or TLS details that rustls decides.
const FAMILIES: &[&str] = &["cluster-", "replica-", "slave-", "repl-", "tls-"];

/// All of these names, each with its default value.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALWAYS.iter().chain(START).copied()
}

/// The time at which one of these directives may be set; `None` for other names.
pub(crate) fn when(name: &str) -> Option<When> {
    let has = |list: &[(&str, &str)]| list.iter().any(|(known, _)| *known == name);
    match (has(ALWAYS), has(START)) {
        (true, _) => Some(When::Always),
        (_, true) => Some(When::Start),
        _ => None,
    }
}

/// Parts of old names of Redis' and Valkey's directives, and the parts that replaced them.
const RENAMED: &[(&str, &str)] = &[
    ("-ziplist-", "-listpack-"),
    ("slave", "replica"),
    ("masteruser", "primaryuser"),
    ("masterauth", "primaryauth"),
    ("aof_rewrite", "aof-rewrite"),
    ("_cpulist", "-cpulist"),
    ("lua-enable-deprecated-api", "lua-enable-insecure-api"),
];

/// The current name of a directive. Values are kept under it, so an old and a new name share one
/// value.
pub(crate) fn kept_as(name: &str) -> String {
    let renamed = |name: String, (old, new): &(&str, &str)| name.replace(old, new);
    RENAMED.iter().fold(name.to_owned(), renamed)
}

/// Whether Larder ignores a directive: one of these names, or one with a prefix of their families.
pub(crate) fn is_ignored(name: &str) -> bool {
    let is_relative = || FAMILIES.iter().any(|family| name.starts_with(family));
    when(name).is_some() || is_relative() || name == "loadmodule"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_would_be_relied_on_is_refused() {
        for (name, _) in PROMISES {
            let first = all().find(|(known, _)| known == name).unwrap().1;
            assert_eq!(refusal(name, first, None), None, "{name}");
            assert!(
                refusal(name, "1", None).is_some_and(|why| why.contains("no effect: ")),
                "{name}"
            );
            assert_eq!(refusal(name, "1", Some("1")), None, "{name}: as it was");
        }
        assert_eq!(refusal("hz", "100", None), None);
    }

    /// An old name and its new name have the same default, and may be set at the same time.
    #[test]
    fn an_old_name_is_another_of_the_same() {
        let mut renamed = 0;
        for (name, first) in all() {
            let kept = kept_as(name);
            let new = all().find(|(known, _)| **known == kept);
            assert_eq!(new.map(|(_, first)| first), Some(first), "{name} is kept as {kept}");
            assert_eq!(when(name), when(&kept), "{name}");
            renamed += usize::from(kept != name);
        }
        assert_eq!(renamed, 25, "the aliases of Redis and Valkey");
    }

    /// Advice and alerts must not name ignored directives.
    #[test]
    fn nothing_recommends_what_does_nothing() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let findings = std::fs::read_dir(root.join("crates/report/src/finding")).unwrap();
        let mut files: Vec<_> = findings.map(|entry| entry.unwrap().path()).collect();
        files.push(root.join("packaging/alerts.yml"));
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let words: Vec<_> = text.split(|c| !is_word(c)).collect();
            for (name, _) in all().filter(|(name, _)| name.contains('-')) {
                assert!(!words.contains(&name), "{} recommends {name}", file.display());
            }
        }
    }
}
