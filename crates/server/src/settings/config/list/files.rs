//! Directives about files and folders of the server.

use crate::settings::config::directive::When::Always;
use crate::settings::config::directive::{Directive, Shape, word};
use crate::settings::config::value::{Value, ratio};
use base::{Bytes, Micros};

pub(super) const ALL: &[Directive] = &[
    word!(
        "pidfile",
        Start,
        pidfile,
        "Path of a file that holds the process id while it runs. On the command line a path that \
         cannot be written ends the start, in a file it is a warning."
    ),
    word!(
        "daemonize",
        Start,
        daemonize,
        "Whether it runs in the background: the command ends when the server serves, with a \
         status above 0 where it cannot. Left out where systemd started it."
    ),
    word!(
        "warm-restart-file",
        Start,
        warm_restart_file,
        "Path of a file where data and models are saved when the server ends (SIGTERM, \
         SHUTDOWN), to be restored by the next start, which uses it up. SIGUSR1 saves a copy \
         beside it, with the ending .copy. Empty saves nothing."
    ),
    word!(
        "dir",
        Always,
        dir,
        "The folder of what is dumped. The files there have no names and go with the server."
    ),
    word!(
        "dump-max",
        Always,
        dump_max,
        "Bytes of the disk that dumps may take; 0 dumps nothing. With some, the reads of each \
         tenant are counted: where they come and go with a period its items are dumped when \
         they reach a valley, and loaded before their peak. LARDER TIDES shows what is seen and \
         done."
    ),
    Directive::new(
        "dump-rate",
        Always,
        "Bytes a second that are written or read at most when tenants are dumped and loaded.",
        |settings| settings.dump_rate.show(),
        Shape::Word(|settings, word| match Value::parse(word)? {
            rate if rate >= Bytes(64 << 10) => {
                settings.dump_rate = rate;
                Ok(())
            }
            _ => Err("argument must be at least 64kb".into()),
        }),
    )
    .in_file(|settings| Some(settings.dump_rate.written())),
    Directive::new(
        "dump-bucket",
        Always,
        "Seconds for which reads are counted together, to find the period of a tenant's load: \
         periods of 8 to 682 buckets are found, once three have passed.",
        |settings| (settings.dump_bucket.as_f64() / 1e6).to_string(),
        Shape::Word(|settings, word| {
            let wrong = "argument must be a number of seconds from 0.05 to 86400";
            let seconds = ratio(word, 0.05..=86_400.0, wrong)?;
            settings.dump_bucket = Micros((seconds * 1e6).round() as u64);
            Ok(())
        }),
    ),
];
