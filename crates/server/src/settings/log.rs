//! The log of `larder serve`: one line for each event.
//!
//! The text of an event may come from a client: a key, a name, a text of `redis.log`. Each field
//! passes through [`Printable`] here, so the code that logs need not care. No text can begin a line
//! of its own, or reach the terminal as anything but text.

use super::config::{Error, Level};
use base::printable::Printable;
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Mutex, OnceLock};
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::debug_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

/// The function that sets the level of the log, once there is a log.
static SET: OnceLock<Box<dyn Fn(LevelFilter) + Send + Sync>> = OnceLock::new();

const fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Debug | Level::Verbose => LevelFilter::DEBUG,
        Level::Notice => LevelFilter::INFO,
        Level::Warning => LevelFilter::WARN,
        Level::Nothing => LevelFilter::OFF,
    }
}

/// Begins to log from `level` on, to the file, or to the standard error if `file` is empty.
pub(crate) fn start(level: Level, file: &str) -> Result<(), Error> {
    let fields = debug_fn(|writer, field, value| {
        if field.name() != "message" {
            write!(writer, "{}=", field.name())?;
        }
        write!(Printable(writer), "{value:?}")
    });
    let (filter, handle) = reload::Layer::new(filter(level));
    // The reader of the log may be gone. Reporting that would fail as well, and end the thread.
    let log = tracing_subscriber::fmt::layer().fmt_fields(fields.delimited(" "));
    let log = log.with_target(false).log_internal_errors(false);
    let begun = tracing_subscriber::registry().with(filter);
    if file.is_empty() {
        let on_terminal = std::io::stderr().is_terminal();
        begun.with(log.with_ansi(on_terminal).with_writer(std::io::stderr)).init();
    } else {
        let opened = files::append(Path::new(file));
        let opened =
            opened.map_err(|error| Error(format!("cannot write logfile {file}: {error}")))?;
        begun.with(log.with_ansi(false).with_writer(Mutex::new(opened))).init();
    }
    let set = move |level| {
        // This fails only if the log is gone.
        let _ = handle.reload(level);
    };
    let _ = SET.set(Box::new(set));
    Ok(())
}

/// Changes the lowest level that is logged.
pub(crate) fn set(level: Level) {
    if let Some(set) = SET.get() {
        set(filter(level));
    }
}
