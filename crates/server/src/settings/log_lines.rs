//! The layout of a line of the log: text for people, JSON or logfmt for programs, and a priority
//! in front of it for journald.
//!
//! ```text
//! text    2026-11-28T10:00:00.000000Z  INFO ended
//! json    {"level":"info","message":"ended","time":"2026-11-28T10:00:00.000000Z"}
//! logfmt  time=2026-11-28T10:00:00.000000Z level=info message="ended"
//! ```

use super::config::LogFormat;
use serde_json::{Map, Value};
use std::fmt;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{Format, FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, format};
use tracing_subscriber::registry::LookupSpan;

/// Writes events in the layout that the settings choose.
#[derive(Debug)]
pub(super) struct Lines {
    format: LogFormat,
    text: Format<format::Full, SystemTime>,
    /// Whether each line begins with its priority, as journald reads it from standard error.
    has_priority: bool,
}

impl Lines {
    pub(super) fn new(format: LogFormat, has_priority: bool) -> Self {
        Self { format, text: Format::default().with_target(false), has_priority }
    }
}

/// Whether journald reads the standard error of this process (systemd.exec(5), JOURNAL_STREAM).
pub(super) fn is_read_by_journald() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else {
        return false;
    };
    let own = std::io::stderr().as_fd().try_clone_to_owned().map(File::from);
    let own = own.and_then(|file| file.metadata());
    own.is_ok_and(|own| stream == format!("{}:{}", own.dev(), own.ino()))
}

/// The priority of a level, as syslog numbers it.
const fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = *event.metadata().level();
        if self.has_priority {
            write!(writer, "<{}>", priority(level))?;
        }
        if self.format == LogFormat::Text {
            return self.text.format_event(context, writer, event);
        }
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let level = level.as_str().to_ascii_lowercase();
        if self.format == LogFormat::Json {
            fields.0.insert("time".into(), time.into());
            fields.0.insert("level".into(), level.into());
            return writeln!(writer, "{}", Value::Object(fields.0));
        }
        write!(writer, "time={time} level={level}")?;
        for (name, value) in &fields.0 {
            // Quoted as JSON does, so that no text can begin a line or a field of its own.
            write!(writer, " {name}={value}")?;
        }
        writeln!(writer)
    }
}

/// The fields of an event; the text is `message`.
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}
