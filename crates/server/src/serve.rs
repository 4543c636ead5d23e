//! `larder serve`: the server as a process of its own.

use crate::config::directive::{self, When};
use crate::config::{Error, Level, Settings, ignored};
use crate::replace::replace_readable;
use crate::{Handle, memcached, start_from, warm};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use tracing_subscriber::filter::LevelFilter;

const AFTER_HELP: &str = "\
Examples:
  larder serve
  larder serve --port 7000 --maxmemory 1gb
  larder serve larder.conf --tenant web match prefix web: min 100mb --tenant jobs match db 1
  larder serve --directives

FILE has the form of redis.conf. A directive may follow as --directive value, as often as needed, \
and wins over the file. In between come environment variables such as LARDER_CONFIG_MAXMEMORY=1gb. \
With a warm-restart-file the data outlives a restart: SIGTERM saves it, SIGUSR1 saves a copy and \
serves on. With --memcached the flags are those of memcached (-p -m -c -t -I -l -A -Y ..., all by \
-h), and only its protocol is spoken; SIGUSR1 ends the server then.";

/// Serve clients that speak the protocol of Redis.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Print where it listens as one JSON document on the standard output, once it does.
    #[arg(long)]
    json: bool,
    /// Print every directive with its default and what it means, and end.
    #[arg(long)]
    directives: bool,
    /// A configuration file, then --directive value pairs.
    #[arg(
        value_name = "FILE] [--DIRECTIVE VALUE",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    rest: Vec<String>,
}

/// Serves until it is told to end by SIGTERM, SIGINT or SHUTDOWN. SIGUSR1 saves a copy.
///
/// # Errors
/// The error in the configuration, or why it cannot listen.
pub fn run(args: Args) -> Result<(), Error> {
    let mut rest = args.rest;
    // Behind the file these are words like any other.
    let mut flag = |name: &str| {
        let before = rest.len();
        rest.retain(|word| word != name);
        rest.len() < before
    };
    let (json, list) = (args.json | flag("--json"), args.directives | flag("--directives"));
    let as_memcached = flag("--memcached");
    if list {
        print_directives(json);
        return Ok(());
    }
    let mut settings = Settings::default();
    let file = match rest.first() {
        Some(first) if !first.starts_with('-') => Some(PathBuf::from(rest.remove(0))),
        _ => None,
    };
    if let Some(file) = &file {
        settings.read(file)?;
    }
    settings.read_environment(std::env::vars())?;
    let mut asked = memcached::flags::Serve { directives: rest, ..Default::default() };
    if as_memcached {
        asked = match memcached::flags::translate(&asked.directives)? {
            memcached::flags::Asked::Serve(asked) => asked,
            memcached::flags::Asked::Text(text) => {
                // A reader that has seen enough may be gone.
                let _ = std::io::stdout().lock().write_all(text.as_bytes());
                return Ok(());
            }
        };
    }
    settings.read_arguments(&asked.directives)?;
    let talks = json || settings.loglevel == Level::Debug;
    asked.process.carry_out(talks)?;
    start_log(&settings)?;
    for note in &asked.notes {
        tracing::warn!("{note}");
    }
    let pidfile = settings.pidfile.clone();
    let file = file.map(|file| std::fs::canonicalize(&file).unwrap_or(file));
    let handle = start_from(settings, file)?;
    if !pidfile.is_empty() {
        let line = format!("{}\n", std::process::id());
        replace_readable(Path::new(&pidfile), line.as_bytes()).map_err(|error| {
            Error(format!("cannot write pidfile {pidfile}: {error}: name another file"))
        })?;
    }
    // Before anybody is told that it is there.
    let signals = [SIGTERM, SIGINT, SIGHUP, SIGUSR1];
    let mut signals = signal_hook::iterator::Signals::new(signals)
        .map_err(|error| Error(format!("cannot watch for signals: {error}")))?;
    if json {
        print_json(&handle);
    }
    memcached::write_ports(&handle.shared.sockets)?;
    notify(sd_notify::NotifyState::Ready);
    let stopper = handle.stopper();
    let shared = handle.shared.clone();
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGHUP {
                stopper.reload();
                continue;
            }
            // memcached's graceful end.
            if signal == SIGUSR1 && !as_memcached {
                let shared = shared.clone();
                std::thread::spawn(move || warm::copy(&shared));
                continue;
            }
            tracing::info!("signal {signal}: ending");
            notify(sd_notify::NotifyState::Stopping);
            stopper.stop();
            break;
        }
    });
    handle.wait();
    if !pidfile.is_empty() {
        let _ = std::fs::remove_file(&pidfile);
    }
    tracing::info!("ended");
    Ok(())
}

/// Tells systemd, where that started it and asked to be told.
fn notify(state: sd_notify::NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!("systemd cannot be told: {error}");
    }
}

/// Logs to where the settings say.
fn start_log(settings: &Settings) -> Result<(), Error> {
    let level = match settings.loglevel {
        Level::Debug | Level::Verbose => LevelFilter::DEBUG,
        Level::Notice => LevelFilter::INFO,
        Level::Warning => LevelFilter::WARN,
        Level::Nothing => LevelFilter::OFF,
    };
    // Whoever reads the log may be gone: to tell that would fail as well, and end the thread.
    let log = tracing_subscriber::fmt().with_max_level(level).with_target(false);
    let log = log.log_internal_errors(false);
    if settings.logfile.is_empty() {
        log.with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr).init();
    } else {
        let path = &settings.logfile;
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| Error(format!("cannot write logfile {path}: {error}")))?;
        log.with_ansi(false).with_writer(file).init();
    }
    Ok(())
}

fn print_json(handle: &Handle) {
    let document = serde_json::json!({
        "pid": std::process::id(),
        "listening": handle.listening(),
        "port": handle.addr().port(),
        "http": handle.http_addr().map(|address| address.to_string()),
        "maxmemory": handle.store().limit().0,
        "tenants": handle.tenants(),
    });
    let mut out = std::io::stdout().lock();
    // Whoever reads this may be gone; the server serves all the same.
    let _ = writeln!(out, "{document}").and_then(|()| out.flush());
}

fn print_directives(json: bool) {
    let defaults = Settings::default();
    let mut out = std::io::stdout().lock();
    if json {
        let all: Vec<_> = directive::all()
            .map(|directive| {
                serde_json::json!({
                    "name": directive.name,
                    "default": directive.show(&defaults),
                    "config_set": directive.when == When::Always,
                    "doc": directive.doc,
                })
            })
            .collect();
        let _ = writeln!(out, "{}", serde_json::Value::from(all));
        return;
    }
    for directive in directive::all() {
        let when = if directive.when == When::Always { ", CONFIG SET" } else { "" };
        let default = directive.show(&defaults);
        let _ = writeln!(
            out,
            "{} (default {default:?}{when})\n    {}\n",
            directive.name, directive.doc
        );
    }
    let ignored: Vec<_> = ignored::all().map(|(name, _)| name).collect();
    let _ = writeln!(out, "Accepted and without effect: {}", ignored.join(" "));
}
