//! `larder attach`: the pilot on a running cache server of another project, which stays in place.
//!
//! ```text
//!                  watch in bursts, stats                        slabs reassign, CONFIG SET
//!   stock server ──────────────────────────▶ plant ─▶ pilot ─▶ ─────────────────────────────▶
//!                                                       │       only with --act; what was found
//!                                                       ▼       is restored at the end
//!                                             plan and forecast, each epoch
//! ```
//!
//! For memcached (`memcached.rs`), the pilot divides the pages among the size classes. For Redis or
//! Valkey (`redis.rs`), it chooses the number of candidates and the policy. Without `--act`, it
//! only watches and reports what it would do.

mod better;
mod board;
mod burst;
mod classes;
mod counts;
mod keys;
mod memcached;
mod mover;
mod plant;
mod redis;
mod run;
mod say;
pub(crate) mod told;

use crate::capture_command::windows::time;
use anyhow::bail;
use base::Micros;
use board::Board;
use load::Place;
use say::Say;
use std::net::SocketAddr;
use tune::Recipe;
use tune::recipe;

/// Steer a running memcached, Redis or Valkey from outside: watch it, plan, and act if told.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  larder attach memcached://127.0.0.1:11211                  # says what it would do
  larder attach memcached://127.0.0.1:11211 --act            # moves pages, until Ctrl-C
  larder attach memcached://127.0.0.1:11211 --act --recipe rankcache:planner=psa --json
  larder attach valkey://127.0.0.1:6379 --act              # maxmemory-samples and -policy

Without --act nothing is changed. With it, what is set (memcached: slabs automove; Redis, Valkey:
maxmemory-samples and maxmemory-policy) is put back as it was found at the end: Ctrl-C, an error, a
connection that is lost and comes back. A process that is killed (-9) cannot do so: say `slabs
automove 1` then, or CONFIG SET. Watching costs the server: it is watched for 10 s of a minute.")]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct Args {
    /// The server: memcached://[user:password@]host[:port], or valkey:// or redis:// without the
    /// module
    #[arg(value_name = "URL")]
    url: String,
    /// How: lama or rankcache, with settings such as lama:move=0.05 or rankcache:planner=psa
    /// (automove, automove_former, facebook, twemcache, cachelib); of a Redis or Valkey dlru
    #[arg(long, value_name = "RECIPE")]
    recipe: Option<String>,
    /// Move pages, or set what is to be set; without it nothing is changed, and the plan is shown
    #[arg(long)]
    act: bool,
    /// Only show the plan, which is so without --act anyway
    #[arg(long, conflicts_with = "act")]
    dry_run: bool,
    /// Act on a memcached before 1.6.43, too: one that moves pages could crash there
    #[arg(long, requires = "act")]
    act_before_1_6_43: bool,
    /// How long the server is watched at a time
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    window: Micros,
    /// From the start of one window to that of the next; 60s, or 1s where a recipe only counts
    #[arg(long, value_name = "TIME", value_parser = time)]
    every: Option<Micros>,
    /// End by itself after so long; without it Ctrl-C ends it
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    span: Option<Micros>,
    /// Serve the dashboard, /metrics and /report.json there, as 127.0.0.1:9380: to whoever reaches
    /// it, for there are no passwords
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Print an object a line: one for each epoch, and one for whatever else happens
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// A message that states the cause and the fix.
#[expect(clippy::needless_pass_by_value, reason = "all subcommands are run alike")]
pub fn run(args: Args) -> anyhow::Result<()> {
    match Place::parse(&args.url)? {
        Place::Memcached(address) => memcached::run(&address, &args),
        Place::Redis(address) => redis::run(&address, &args),
    }
}

/// Serves the dashboard if `--http` asks for it, and prints its address.
fn serve(args: &Args, say: Say) -> anyhow::Result<Option<Board>> {
    let Some(address) = args.http else { return Ok(None) };
    let (board, address) = Board::serve(address)?;
    say.event("http", &format!("the dashboard is at http://{address}/."));
    Ok(Some(board))
}

/// Length of a window, and the time from the start of one window to that of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rhythm {
    window: Micros,
    every: Micros,
}

/// Share of the pages that an epoch may move, unless the recipe allows more. An epoch of an
/// attached pilot is a window, a minute apart from the next. So it may move more than an epoch of a
/// second may, and there is time for ten pages a second.
const MOVE_MAX: f64 = 0.25;
/// Least gain that a plan must promise. A page that moves costs the server its items, or the work
/// to move them, and the curves of a burst are noisy.
const GAIN_MIN: f64 = 0.05;

/// Parses the recipe for the classes of a memcached. Returns it with the rhythm of watching.
fn classes(text: &str, window: Micros, every: Option<Micros>) -> anyhow::Result<(Recipe, Rhythm)> {
    let mut recipe = recipe::parse(text).map_err(anyhow::Error::msg)?;
    if !recipe.pools.needs_pages() {
        let known = recipe::ALL.iter().filter(|recipe| recipe.pools.needs_pages());
        let known: Vec<_> = known.map(|recipe| recipe.name).collect();
        bail!(
            "recipe {} divides what memcached does not tell apart: choose one of {}",
            recipe.name,
            known.join(", ")
        );
    }
    let counts = recipe.model.is_none();
    let default = Micros::from_secs(if counts { 1 } else { 60 });
    let window = if counts { every.unwrap_or(default) } else { window };
    if window < Micros::from_millis(100) {
        bail!("a window lasts at least 100ms: write --window 10s");
    }
    let every = every.unwrap_or(default).max(window);
    let says = |name: &str| text.split(':').any(|part| part.split('=').next() == Some(name));
    if !says("interval") {
        (recipe.epoch, recipe.interval, recipe.turnover) = (window, 0, false);
    }
    recipe.seen_in_parts = true;
    if !says("move") {
        recipe.move_max = recipe.move_max.max(MOVE_MAX);
    }
    if !says("gain") && !counts {
        recipe.gain_min = recipe.gain_min.max(GAIN_MIN);
    }
    Ok((recipe, Rhythm { window, every }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_of_classes_keep_what_is_said() {
        let of = |text, every| classes(text, Micros::from_secs(10), every);
        let (lama, rhythm) = of("lama", None).unwrap();
        assert_eq!((lama.epoch, lama.interval, lama.gain_min), (rhythm.window, 0, GAIN_MIN));
        assert_eq!(rhythm.every, Micros::from_secs(60));
        let (lama, _) = of("lama:gain=0.005:move=0.01:interval=7", None).unwrap();
        assert_eq!((lama.gain_min, lama.move_max, lama.interval), (0.005, 0.01, 7));
        let (_, rhythm) = of("rankcache:planner=psa", None).unwrap();
        let second = Micros::from_secs(1);
        assert_eq!(rhythm, Rhythm { window: second, every: second });
        let (_, rhythm) = of("lama", Some(second)).unwrap();
        assert_eq!(rhythm.every, rhythm.window, "windows do not overlap");
        let error = of("kredis", None).unwrap_err().to_string();
        assert!(error.contains("lama, rankcache"), "{error}");
    }
}
