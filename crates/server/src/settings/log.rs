//! The log of `larder serve`: one line for each event.
//!
//! The text of an event may come from a client: a key, a name, a text of `redis.log`. Each field
//! passes through [`Printable`] here, so the code that logs need not care. No text can begin a line
//! of its own, or reach the terminal as anything but text.

use super::config::{Error, Level, Settings};
use super::log_lines::{Lines, is_read_by_journald};
use base::printable::Printable;
use std::fmt::Write;
use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::debug_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

/// The function that sets the level of the log, once there is a log.
static SET: OnceLock<Box<dyn Fn(LevelFilter) + Send + Sync>> = OnceLock::new();

/// The file of the log, if it has one.
static FILE: OnceLock<LogFile> = OnceLock::new();

struct LogFile {
    path: PathBuf,
    file: Mutex<File>,
}

impl LogFile {
    fn open(path: &Path) -> Result<File, Error> {
        let failed = |error| Error(format!("cannot write logfile {}: {error}", path.display()));
        files::append(path).map_err(failed)
    }

    fn lock(&self) -> MutexGuard<'_, File> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::io::Write for &LogFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.lock().flush()
    }
}

const fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Debug | Level::Verbose => LevelFilter::DEBUG,
        Level::Notice => LevelFilter::INFO,
        Level::Warning => LevelFilter::WARN,
        Level::Nothing => LevelFilter::OFF,
    }
}

/// Begins to log, to the file that the settings name, or to the standard error.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn start(settings: &Settings) -> Result<(), Error> {
    let path = settings.logfile.as_str();
    let fields = debug_fn(|writer, field, value| {
        if field.name() != "message" {
            write!(writer, "{}=", field.name())?;
        }
        write!(Printable(writer), "{value:?}")
    });
    let (filter, handle) = reload::Layer::new(filter(settings.loglevel));
    // The reader of the log may be gone. Reporting that would fail as well, and end the thread.
    let log = tracing_subscriber::fmt::layer().fmt_fields(fields.delimited(" "));
    let has_priority = path.is_empty() && is_read_by_journald();
    let lines = Lines::new(settings.log_format, has_priority);
    let log = log.event_format(lines).log_internal_errors(false);
    let begun = tracing_subscriber::registry().with(filter);
    if path.is_empty() {
        let on_terminal = std::io::stderr().is_terminal();
        begun.with(log.with_ansi(on_terminal).with_writer(std::io::stderr)).init();
    } else {
        let file = Mutex::new(LogFile::open(Path::new(path))?);
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        let file = FILE.get_or_init(|| LogFile { path, file });
        begun.with(log.with_ansi(false).with_writer(move || file)).init();
    }
    let set = move |level| {
        // This fails only if the log is gone.
        let _ = handle.reload(level);
    };
    let _ = SET.set(Box::new(set));
    Ok(())
}

/// Opens the file of the log again, after a tool has moved it away. If that fails, the log goes on
/// in the old file.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn reopen() -> Result<(), Error> {
    let Some(log) = FILE.get() else {
        return Ok(());
    };
    let file = LogFile::open(&log.path)?;
    *log.lock() = file;
    Ok(())
}

/// Changes the lowest level that is logged.
pub(crate) fn set(level: Level) {
    if let Some(set) = SET.get() {
        set(filter(level));
    }
}
