//! `larder serve`: the server as its own process.

use super::daemonize;
use super::reload::{Sources, reload};
use crate::background::warm;
use crate::families;
use crate::memcached;
use crate::services::warm_restart::Warm;
use crate::settings::config::directive::{self, When};
use crate::settings::config::{Error, Level, Settings, ignored};
use crate::settings::log;
use crate::{Handle, start_from};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest time that a script may delay the end of the server.
const SCRIPT_ENDS_IN: Duration = Duration::from_millis(1_500);

const AFTER_HELP: &str = "\
Examples:
  larder serve
  larder serve --port 7000 --maxmemory 1gb
  larder serve larder.conf --tenant web match prefix web: min 100mb --tenant jobs match db 1
  larder serve --directives

FILE has the format of redis.conf. Environment variables such as LARDER_CONFIG_MAXMEMORY=1gb \
override the file, and --directive value pairs override both. With a warm-restart-file, data \
survives a restart: SIGTERM saves it, and SIGUSR1 saves a copy while the server goes on. SIGHUP \
rereads settings, users, tenants and certificates. With --memcached, the flags are those of \
memcached (-p -m -c -t -I -l -A -Y ...; -h lists all), and the server speaks only memcached's \
protocol; SIGUSR1 then ends it.";

/// Start a cache server for clients of Redis, and of memcached if asked.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Print the server's addresses as one JSON document on standard output, as soon as it listens.
    #[arg(long)]
    json: bool,
    /// Print every directive with its default and its meaning, then exit.
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

/// Serves until SIGTERM, SIGINT or SHUTDOWN ends it. SIGUSR1 saves a copy.
///
/// # Errors
/// The error in the configuration, or the reason why it cannot listen.
pub fn run(args: Args) -> Result<(), Error> {
    families::install();
    let mut rest = args.rest;
    // Behind the file these are ordinary words.
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
    let file = match rest.first() {
        Some(first) if !first.starts_with('-') => Some(PathBuf::from(rest.remove(0))),
        _ => None,
    };
    // The path is resolved before the current folder may change.
    let file = file.map(|file| std::fs::canonicalize(&file).unwrap_or(file));
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
    let sources = Sources::new(file, asked.directives);
    let settings = sources.read()?;
    let in_background = asked.process.daemon || settings.daemonize && !is_supervised();
    if in_background && !daemonize::is_child() {
        return daemonize::start();
    }
    asked.process.carry_out()?;
    if in_background {
        daemonize::leave_session()?;
    }
    log::start(&settings)?;
    for note in &asked.notes {
        tracing::warn!("{note}");
    }
    if settings.daemonize && !in_background {
        tracing::warn!("ignored daemonize yes: systemd manages this process");
    }
    let talks = json || settings.loglevel == Level::Debug;
    let pidfile = settings.pidfile.clone();
    let mut configured = settings.clone();
    configured.read_users()?;
    let handle = start_from(settings, sources.file.clone())?;
    let has_pidfile = write_pidfile(&pidfile, &sources)?;
    // Signals are watched before anything announces the server.
    let signals = [SIGTERM, SIGINT, SIGHUP, SIGUSR1];
    let mut signals = signal_hook::iterator::Signals::new(signals)
        .map_err(|error| Error(format!("cannot handle signals: {error}")))?;
    if json {
        print_json(&handle);
    }
    memcached::write_ports(handle.server.process.sockets())?;
    notify(sd_notify::NotifyState::Ready);
    if in_background {
        daemonize::ready(talks)?;
    }
    let stopper = handle.stopper();
    let server = handle.server.clone();
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGHUP {
                if let Err(error) = log::reopen() {
                    tracing::warn!("{error}");
                }
                reload(&server, &sources, &mut configured);
                continue;
            }
            // With memcached's flags, SIGUSR1 is memcached's graceful end.
            if signal == SIGUSR1 && !as_memcached {
                let server = server.clone();
                std::thread::spawn(move || warm::copy(&server));
                continue;
            }
            tracing::info!("signal {signal}: the server ends");
            notify(sd_notify::NotifyState::Stopping);
            stopper.stop();
            break;
        }
    });
    let server = handle.server.clone();
    let ended = if handle.may_end(SCRIPT_ENDS_IN) {
        handle.wait()
    } else {
        end_without_script(&server.saved.warm, has_pidfile.then_some(pidfile.as_str()))
    };
    if has_pidfile {
        let _ = std::fs::remove_file(&pidfile);
    }
    tracing::info!("ended");
    ended
}

/// Whether systemd started this process and waits for its report.
fn is_supervised() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some()
}

/// Writes the process id to a file. Returns whether the file exists now. As in Redis, it is only a
/// warning if a path in a settings file cannot be written: its folder may be on another machine. A
/// path on the command line is meant for this machine, so a failure is an error.
fn write_pidfile(path: &str, sources: &Sources) -> Result<bool, Error> {
    if path.is_empty() {
        return Ok(false);
    }
    let (file, line) = (Path::new(path), format!("{}\n", std::process::id()));
    match files::replace(file, line.as_bytes(), files::PUBLIC) {
        Ok(()) => Ok(true),
        Err(error) => {
            let text = format!("cannot write pidfile {path}: {error}: name another file");
            if sources.asks_for("pidfile") {
                return Err(Error(text));
            }
            tracing::warn!("{text}");
            Ok(false)
        }
    }
}

/// Ends the process without waiting for its threads.
fn end_without_script(warm: &Warm, pidfile: Option<&str>) -> ! {
    if let Some(pidfile) = pidfile {
        let _ = std::fs::remove_file(pidfile);
    }
    let is_lost = warm.saves_at_end();
    let what = if is_lost { ", and does not save its data" } else { "" };
    tracing::error!("a script does not end: the server ends without waiting for it{what}");
    std::process::exit(i32::from(is_lost));
}

/// Reports the state to systemd, if systemd asked for that.
fn notify(state: sd_notify::NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!("cannot notify systemd: {error}");
    }
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
    // The reader may be gone; the server serves all the same.
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
    let _ = writeln!(out, "Accepted, but without effect: {}", ignored.join(" "));
}
