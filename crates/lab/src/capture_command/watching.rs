//! Watches a server, window by window.

use super::assumptions::assumptions;
use super::cost::{Cost, Reading};
use super::summary::{Server, Summary};
use super::windows::Windows;
use super::{TenantRules, Watch, memcached, redis, sizes};
use crate::interrupt::Interrupt;
use anyhow::{Context, anyhow, bail};
use base::Micros;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use load::{Address, Bounds, Place};
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use trace::capture::{Event, Monitor, Parser, Recorded, Recorder, TraceLines};

/// Time for which the server's counters are read before the first window, to know its cost without
/// watching.
const BEFORE: Duration = Duration::from_secs(2);
/// Minimum time to wait for an answer, however short the watch.
const LEAST: Duration = Duration::from_secs(2);
/// Time between two looks at the clock and at the keyboard.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes read at a time.
const CHUNK: usize = 1 << 18;

/// Recorded requests and their summary.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) summary: Summary,
    pub(crate) recorded: Recorded,
}

/// Connection that asks a server, with the settings to watch it.
enum Control {
    Redis { control: redis::Control, to: Address, bounds: Bounds, trace: bool },
    Memcached { control: memcached::Control, to: Address, bounds: Bounds, deletions: bool },
}

impl Control {
    /// Connects to a server that is watched for `span`. An answer may take as long as that, within
    /// the bounds of `LEAST` and [`Bounds::STRANGER`].
    fn connect(place: &Place, span: Micros) -> anyhow::Result<(Self, Server)> {
        let span = Duration::from_micros(span.0).max(LEAST);
        let bounds = Bounds { time: Bounds::STRANGER.time.min(span), ..Bounds::STRANGER };
        match place {
            Place::Redis(to) => {
                let mut control = redis::Control::within(to, bounds)?;
                let server = control.server()?;
                let trace = server.kind == "larder";
                Ok((Self::Redis { control, to: to.clone(), bounds, trace }, server))
            }
            Place::Memcached(to) => {
                let mut control = memcached::Control::within(to, bounds)?;
                let server = control.server()?;
                Ok((Self::Memcached { control, to: to.clone(), bounds, deletions: false }, server))
            }
        }
    }

    const fn how(&self) -> &'static str {
        match self {
            Self::Redis { trace: true, .. } => "MONITOR TRACE",
            Self::Redis { .. } => "MONITOR",
            Self::Memcached { .. } => "watch",
        }
    }

    fn reading(&mut self) -> anyhow::Result<Reading> {
        match self {
            Self::Redis { control, .. } => control.reading(),
            Self::Memcached { control, .. } => control.reading(),
        }
    }

    fn open(&mut self) -> anyhow::Result<(TcpStream, Vec<u8>, Box<dyn Parser>)> {
        match self {
            Self::Redis { to, bounds, trace, .. } => {
                let (stream, arrived) = redis::open(to, *trace, *bounds)?;
                let parser: Box<dyn Parser> =
                    if *trace { Box::<TraceLines>::default() } else { Box::<Monitor>::default() };
                Ok((stream, arrived, parser))
            }
            Self::Memcached { to, bounds, deletions, .. } => {
                let (stream, arrived, with_deletions) = memcached::open(to, *bounds)?;
                *deletions = with_deletions;
                Ok((stream, arrived, Box::<trace::capture::Watch>::default()))
            }
        }
    }
}

/// Why a window ended.
#[derive(Clone, Debug, PartialEq)]
enum End {
    Time,
    Interrupt,
    Limit,
    Lost(String),
}

/// Watches the server as `wanted` says.
///
/// # Errors
/// No server answers, the server refuses, or no request for a key was seen.
pub(crate) fn watch(place: &Place, wanted: &Watch) -> anyhow::Result<Captured> {
    let windows = Windows::of(wanted.span, &wanted.window, wanted.every)?;
    let rules = if wanted.tenant.is_empty() {
        None
    } else {
        Some(
            TenantRules::parse(&wanted.tenant, place.address().port)
                .map_err(|error| anyhow!(error))?,
        )
    };
    let (mut control, server) = Control::connect(place, wanted.span)?;
    let interrupt = Interrupt::listen()?;
    let mut capture = Capture {
        recorder: Recorder::new(owner(rules), wanted.requests as usize),
        cost: Cost::default(),
        watched: Duration::ZERO,
        malformed: 0,
        lost: 0,
        bar: bar(),
        interrupt,
    };
    let began = Instant::now();
    capture.announce(place, &mut control, &windows)?;
    let mut end = End::Time;
    let mut done = 0;
    let first = Instant::now();
    while done < windows.count && end == End::Time {
        if done > 0 {
            let due = first + windows.every * u32::try_from(done).unwrap_or(u32::MAX);
            end = capture.pause(&mut control, due);
            if end != End::Time {
                break;
            }
        }
        done += 1;
        let name = format!("window {done} of {}", windows.count);
        end = match capture.window(&mut control, &name, windows.length) {
            Ok(end) => end,
            // A failure of the first window means that the server cannot be watched at all.
            Err(error) if done == 1 => return Err(error),
            Err(error) => End::Lost(format!("{error:#}")),
        };
    }
    let mut asked = sizes::Asked::default();
    if let Control::Redis { control, trace: false, .. } = &mut control
        && !matches!(end, End::Lost(_))
    {
        capture.bar.set_message("asking for sizes");
        match sizes::ask(&mut control.link, &mut capture.recorder, wanted.ask) {
            Ok(answers) => asked = answers,
            Err(error) => asked.refused = Some(format!("{error:#}")),
        }
    }
    capture.bar.finish_and_clear();
    if capture.recorder.is_empty() {
        match end {
            End::Lost(why) => bail!("{place}: {why}, before the first request"),
            _ => bail!(
                "{place}: no request for a key arrived in {:.1} s: check that the clients use this \
                 server, or watch longer with --window and --for",
                capture.watched.as_secs_f64()
            ),
        }
    }
    let deletions = !matches!(control, Control::Memcached { deletions: false, .. });
    let recorded = capture.recorder.finish();
    let mut summary = Summary {
        from: place.to_string(),
        server,
        how: control.how(),
        windows: done,
        window_seconds: windows.length.as_secs_f64(),
        seconds: capture.watched.as_secs_f64(),
        span_seconds: began.elapsed().as_secs_f64(),
        ended: match end {
            End::Time => None,
            End::Interrupt => Some("it was interrupted".to_owned()),
            End::Limit => Some(format!("the limit of {} requests was reached", wanted.requests)),
            End::Lost(why) => Some(why),
        },
        malformed: capture.malformed,
        lost: capture.lost,
        keys_asked: asked.keys,
        asking_refused: asked.refused,
        tells_deletions: deletions,
        cost: capture.cost,
        ..Summary::of(&recorded)
    };
    summary.assumptions = assumptions(&summary);
    Ok(Captured { summary, recorded })
}

/// Finds the tenant of an event: by the rules, by the name that the server states, or by database.
fn owner(mut rules: Option<TenantRules>) -> trace::capture::Owner {
    Box::new(move |event: &Event<'_>| match (&mut rules, event.tenant) {
        (Some(rules), _) => rules.owner(event.db, event.key).to_owned(),
        (None, Some(name)) => base::printable(name).into_owned(),
        (None, None) => format!("db{}", event.db),
    })
}

struct Capture {
    recorder: Recorder,
    cost: Cost,
    watched: Duration,
    malformed: u64,
    lost: u64,
    bar: ProgressBar,
    interrupt: Interrupt,
}

impl Capture {
    /// Prints how the server will be watched and at what cost, and measures the server without
    /// watching.
    fn announce(
        &mut self,
        place: &Place,
        control: &mut Control,
        windows: &Windows,
    ) -> anyhow::Result<()> {
        let times = if windows.count == 1 {
            format!("for {:.1} s", windows.length.as_secs_f64())
        } else {
            let (count, length) = (windows.count, windows.length.as_secs_f64());
            let every = windows.every.as_secs_f64();
            format!("{count} times for {length:.1} s, every {every:.0} s")
        };
        let how = control.how();
        eprintln!(
            "larder: {how} at {place}, {times}. Ctrl-C ends the capture and keeps its requests."
        );
        if how == "MONITOR" {
            eprintln!(
                "larder: MONITOR makes the server write every command once more: expect about \
                 twice\nlarder: the work per command for {:.0} s in all. The summary states the \
                 measured cost.",
                windows.watched().as_secs_f64()
            );
        }
        let before = control.reading()?;
        self.bar.set_message("measuring the server before the capture");
        self.wait(Instant::now() + BEFORE.min(windows.length));
        let after = control.reading()?;
        self.cost.without.add(&before, &after);
        let busy = self.cost.without.busy();
        if busy > 0.5 && how == "MONITOR" {
            eprintln!(
                "larder: the server already uses {:.0} % of a core, and MONITOR may slow it down. \
                 If that\nlarder: matters, press Ctrl-C now and choose a shorter --window.",
                100.0 * busy
            );
        }
        Ok(())
    }

    /// Waits until this time. Returns true at once if the user interrupts the command.
    fn wait(&self, until: Instant) -> bool {
        while !self.interrupt.is_wanted() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.bar.tick();
            std::thread::sleep(left.min(LOOK));
        }
        true
    }

    fn pause(&mut self, control: &mut Control, until: Instant) -> End {
        let before = control.reading();
        self.bar.set_message(format!(
            "pause, {} requests so far",
            HumanCount(self.recorder.len() as u64)
        ));
        if self.wait(until) {
            return End::Interrupt;
        }
        match before.and_then(|before| Ok((before, control.reading()?))) {
            Ok((before, after)) => {
                self.cost.without.add(&before, &after);
                End::Time
            }
            Err(error) => End::Lost(format!("{error:#}")),
        }
    }

    fn window(
        &mut self,
        control: &mut Control,
        name: &str,
        length: Duration,
    ) -> anyhow::Result<End> {
        let (mut stream, arrived, mut parser) = control.open()?;
        stream.set_read_timeout(Some(LOOK)).context("could not set the read timeout")?;
        let before = control.reading();
        let began = Instant::now();
        let mut buffer = vec![0; CHUNK];
        let recorder = &mut self.recorder;
        parser.feed(&arrived, &mut |event| recorder.see(event));
        let mut shown = began;
        let end = loop {
            let elapsed = began.elapsed();
            if self.interrupt.is_wanted() {
                break End::Interrupt;
            } else if elapsed >= length {
                break End::Time;
            } else if recorder.is_full() {
                break End::Limit;
            }
            match stream.read(&mut buffer) {
                Ok(0) => break End::Lost("the server closed the connection".to_owned()),
                Ok(got) => parser.feed(&buffer[..got], &mut |event| recorder.see(event)),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                    _ => break End::Lost(format!("the connection was lost ({error})")),
                },
            }
            if shown.elapsed() >= LOOK {
                shown = Instant::now();
                let left = length.saturating_sub(elapsed).as_secs_f64();
                let requests = HumanCount(recorder.len() as u64);
                self.bar.set_message(format!("{name}, {left:.0} s left: {requests} requests"));
                self.bar.tick();
            }
        };
        parser.end(&mut |event| recorder.see(event));
        recorder.pause();
        self.watched += began.elapsed();
        self.malformed += parser.malformed();
        self.lost += parser.lost();
        drop(stream);
        if let (Ok(before), Ok(after)) = (before, control.reading()) {
            self.cost.with.add(&before, &after);
        }
        Ok(end)
    }
}

/// A progress bar on standard error, shown only on a terminal.
fn bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    match ProgressStyle::with_template("{spinner} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
