//! The command: one look as text or JSON, or looks on the screen until the user ends it.

use super::cluster;
use super::look::{Look, Source};
use super::screen::Screen;
use super::source::open;
use anyhow::Context;
use load::Place;
use ratatui::crossterm::event::{
    self, DisableMouseCapture, EnableMouseCapture, Event, KeyCode, KeyEventKind, KeyModifiers,
    MouseButton, MouseEventKind,
};
use ratatui::crossterm::execute;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Rows that a key moves that moves by pages.
const PAGE: isize = 10;

/// Watch a running server: who holds its memory, who waits, and why.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  larder top redis://127.0.0.1:6379\n\nKeys: ? shows all. The arrows \
                  choose a tenant, Enter opens its page, 1 to 6 sort, a shows the advice, c the \
                  changes, p the policies, q quits."
)]
pub struct Args {
    /// The server: redis://[user:password@]host[:port] of a Larder, Redis or Valkey, or
    /// memcached://host[:port]
    #[arg(default_value = "redis://127.0.0.1:6379")]
    url: String,
    /// Port of a Larder, Redis or Valkey on this machine, in place of a URL
    #[arg(long, conflicts_with_all = ["url", "cluster"])]
    port: Option<u16>,
    /// Node of a cluster: shows all masters as one server
    #[arg(long, value_name = "URL", conflicts_with = "url")]
    cluster: Option<String>,
    /// Seconds between two looks
    #[arg(long, default_value_t = 1.0)]
    every: f64,
    /// Print one look as text, then exit; the default if the output is no terminal
    #[arg(long)]
    once: bool,
    /// Print one look as JSON, then exit
    #[arg(long)]
    json: bool,
    /// Let the mouse choose tenants: a click chooses, a second one opens, the wheel moves. The
    /// terminal then selects no text
    #[arg(long)]
    mouse: bool,
}

/// The look that `larder top --json` prints of the server at `url`. Rates take two looks, `every`
/// apart.
///
/// # Errors
/// The server cannot be reached, or speaks something else.
pub fn look(url: &str, every: Duration) -> anyhow::Result<Look> {
    look_twice(&mut *open(&Place::parse(url)?)?, every)
}

/// The look at the cluster of the server at `url`.
///
/// # Errors
/// As [`look`], or the server is part of no cluster.
pub fn look_at_cluster(url: &str, every: Duration) -> anyhow::Result<Look> {
    look_twice(&mut cluster::Cluster::new(url)?, every)
}

fn look_twice(source: &mut dyn Source, every: Duration) -> anyhow::Result<Look> {
    let look = source.look()?;
    if look.rows.iter().any(|row| row.reads_per_s.is_some()) {
        return Ok(look);
    }
    std::thread::sleep(every);
    source.look()
}

/// Runs until the user ends it, or prints a single look.
///
/// # Errors
/// The server cannot be reached, or speaks something else.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut source = match &args.cluster {
        Some(url) => Box::new(cluster::Cluster::new(url)?),
        None => reach(args)?,
    };
    let every = Duration::try_from_secs_f64(args.every.max(0.1))
        .context("--every is not a valid time: write a number of seconds")?;
    if args.json || args.once || !std::io::stdout().is_terminal() {
        let look = look_twice(&mut *source, every)?;
        if args.json {
            println!("{}", serde_json::to_string_pretty(&look)?);
        } else {
            let mut screen = Screen::new(every.as_secs_f64());
            screen.see(look);
            print!("{}", screen.text());
        }
        return Ok(());
    }
    let mut terminal = ratatui::try_init().context("could not draw on the terminal")?;
    if args.mouse {
        execute!(std::io::stdout(), EnableMouseCapture).context("the terminal has no mouse")?;
    }
    let ended = watch(&mut terminal, &mut *source, every);
    if args.mouse {
        // The terminal is given back even if it does not take this.
        let _ = execute!(std::io::stdout(), DisableMouseCapture);
    }
    ratatui::restore();
    ended
}

/// The source for the server that the arguments name.
fn reach(args: &Args) -> anyhow::Result<Box<dyn Source>> {
    let url = args.port.map(|port| format!("redis://127.0.0.1:{port}"));
    let place = Place::parse(url.as_ref().unwrap_or(&args.url))?;
    open(&place).with_context(|| {
        format!(
            "{place} does not answer as a Larder, Redis, Valkey or memcached. `larder top \
             redis://HOST:PORT` names another place, `larder top --port PORT` another port of \
             this machine; the first line of a Larder's log has its ports, and the one with \
             (http) is the dashboard's"
        )
    })
}

fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    source: &mut dyn Source,
    every: Duration,
) -> anyhow::Result<()> {
    let mut screen = Screen::new(every.as_secs_f64());
    let mut next = Instant::now();
    loop {
        if Instant::now() >= next {
            screen.see(source.look()?);
            next = Instant::now() + every;
        }
        terminal.draw(|frame| screen.draw(frame))?;
        if event::poll(next.saturating_duration_since(Instant::now()))?
            && !act(&mut screen, &event::read()?)
        {
            return Ok(());
        }
    }
}

/// Acts on what the user did; returns false if it ends the program.
fn act(screen: &mut Screen, event: &Event) -> bool {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Press => match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Esc => return screen.closes(),
            KeyCode::Up | KeyCode::Char('k') => screen.choose(-1),
            KeyCode::Down | KeyCode::Char('j') => screen.choose(1),
            KeyCode::PageUp => screen.choose(-PAGE),
            KeyCode::PageDown => screen.choose(PAGE),
            KeyCode::Enter => screen.open(),
            KeyCode::Char(key) => return screen.press(key),
            _ => {}
        },
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => screen.click(mouse.row),
            MouseEventKind::ScrollUp => screen.choose(-1),
            MouseEventKind::ScrollDown => screen.choose(1),
            _ => {}
        },
        _ => {}
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// Nothing listens there: the error names the place and the way to name another.
    #[test]
    fn a_wrong_port_names_the_fix() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        drop(listener);
        let args = Line::parse_from(["top", "--port", &port, "--once"]).args;
        let error = format!("{:#}", run(&args).unwrap_err());
        for part in [format!("redis://127.0.0.1:{port}"), "larder top --port PORT".to_owned()] {
            assert!(error.contains(&part), "{part}: {error}");
        }
    }
}
