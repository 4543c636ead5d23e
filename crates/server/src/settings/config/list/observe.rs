//! Directives about logs and notifications.

use crate::facts::event_classes;
use crate::settings::config::directive::When::Always;
use crate::settings::config::directive::{Directive, Shape, join, number, word};
use crate::settings::config::value::ratio;

pub(super) const ALL: &[Directive] = &[
    number!(
        "latency-monitor-threshold",
        Always,
        latency_threshold_ms,
        0..=1_000_000,
        "Milliseconds from which the time of an eviction is an event of LATENCY (eviction-cycle); \
         0 switches the monitor off."
    ),
    Directive::new(
        "notify-keyspace-events",
        Always,
        "Events of keys that the server publishes: K to __keyspace@db__:key, E to \
         __keyevent@db__:event; of the classes g (DEL, EXPIRE and such), $ (strings), h (hashes), \
         x (expired), e (evicted), m (misses), n (new keys), A (all but the last two). Empty \
         publishes nothing.",
        |settings| event_classes::show(settings.notify),
        Shape::Word(|settings, word| {
            settings.notify = event_classes::parse(word)?;
            Ok(())
        }),
    ),
    word!(
        "latency-tracking",
        Always,
        latency_tracking,
        "Whether the server measures the time of some commands of each second, for INFO \
         commandstats and latencystats, and notes their keys to find the busiest keys. With no, \
         the server only counts commands."
    ),
    Directive::new(
        "latency-tracking-info-percentiles",
        Always,
        "Percentiles of the time of commands that INFO latencystats shows.",
        |settings| join(&settings.latency_percentiles),
        Shape::Words(|settings, words| {
            let wrong = "argument(s) must be numbers from 0 to 100";
            let all = words.iter().map(|word| ratio(word, 0.0..=100.0, wrong));
            settings.latency_percentiles = all.collect::<Result<_, _>>()?;
            Ok(())
        }),
    ),
    word!(
        "slowlog-log-slower-than",
        Always,
        slowlog_slower_than,
        "Microseconds above which the slow log keeps a command; negative keeps none. In a \
         pipeline, the server measures the time of short commands in groups of 16."
    ),
    number!(
        "slowlog-max-len",
        Always,
        slowlog_max_len,
        0..=1_000_000,
        "Most commands in the slow log."
    ),
    word!(
        "commandlog-execution-slower-than",
        Always,
        slowlog_slower_than,
        "Valkey's name of slowlog-log-slower-than."
    ),
    number!(
        "commandlog-slow-execution-max-len",
        Always,
        slowlog_max_len,
        0..=1_000_000,
        "Valkey's name of slowlog-max-len."
    ),
    word!(
        "commandlog-request-larger-than",
        Always,
        large_request,
        "Bytes from which the log of large requests keeps a command; negative keeps none."
    ),
    number!(
        "commandlog-large-request-max-len",
        Always,
        large_request_max_len,
        0..=1_000_000,
        "Most commands in the log of large requests."
    ),
    word!(
        "commandlog-reply-larger-than",
        Always,
        large_reply,
        "Bytes of a reply from which the log of large replies keeps its command; negative keeps \
         none."
    ),
    number!(
        "commandlog-large-reply-max-len",
        Always,
        large_reply_max_len,
        0..=1_000_000,
        "Most commands in the log of large replies."
    ),
    word!(
        "loglevel",
        Always,
        loglevel,
        "Least severe lines that the log keeps: debug, verbose, notice, warning, or nothing for an \
         empty log."
    ),
    word!(
        "log-format",
        Start,
        log_format,
        "Format of the log's lines: text, json or logfmt; legacy is Valkey's name of text."
    ),
    word!(
        "logfile",
        Start,
        logfile,
        "Path of the log; empty for standard error. SIGHUP opens the file again."
    ),
];
