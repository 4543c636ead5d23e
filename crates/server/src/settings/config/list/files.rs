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
        "Path of a file that holds the process id while the server runs. If the server cannot \
         write the file, it warns. If the path comes from the command line, it does not start."
    ),
    word!(
        "daemonize",
        Start,
        daemonize,
        "Whether the server runs in the background. The command ends when the server accepts \
         clients, with a status above 0 if the start fails. The server ignores it if systemd \
         started the server."
    ),
    word!(
        "warm-restart-file",
        Start,
        warm_restart_file,
        "Path of a file to which the server saves data and models when it ends (SIGTERM, \
         SHUTDOWN). The next start removes the file and restores them. SIGUSR1 saves a copy beside \
         it, with the ending .copy. Empty saves nothing."
    ),
    word!(
        "dir",
        Always,
        dir,
        "The folder for dumps. The files there have no names and disappear when the server ends."
    ),
    word!(
        "dump-max",
        Always,
        dump_max,
        "Bytes of disk space that dumps may take; 0 dumps nothing. Above 0, the server counts the \
         reads of each tenant. If the reads rise and fall with a period, the server dumps the \
         tenant's items when its reads reach a valley, and loads the items before the peak. LARDER \
         TIDES shows the periods, the dumps and the loads."
    ),
    Directive::new(
        "dump-rate",
        Always,
        "Most bytes per second that the server writes for dumps or reads for loads.",
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
        "Seconds of a bucket: the server counts reads in buckets to find the period of a tenant's \
         load. It finds periods of 8 to 682 buckets, after three of them.",
        |settings| (settings.dump_bucket.as_f64() / 1e6).to_string(),
        Shape::Word(|settings, word| {
            let wrong = "argument must be a number of seconds from 0.05 to 86400";
            let seconds = ratio(word, 0.05..=86_400.0, wrong)?;
            settings.dump_bucket = Micros((seconds * 1e6).round() as u64);
            Ok(())
        }),
    ),
];
