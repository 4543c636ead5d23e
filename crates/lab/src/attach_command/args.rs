//! The arguments of `larder attach`.

use crate::capture_command::windows::time;
use base::Micros;
use std::net::SocketAddr;

/// Steer a running memcached, Redis or Valkey from outside: watch, plan, and act with --act.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  larder attach memcached://127.0.0.1:11211                  # says what it would do
  larder attach memcached://127.0.0.1:11211 --act            # moves pages, until Ctrl-C
  larder attach memcached://127.0.0.1:11211 --act --recipe rankcache:planner=psa --json
  larder attach valkey://127.0.0.1:6379 --act              # maxmemory-samples and -policy

Without --act the command changes nothing. With --act it restores every setting that it changed
(memcached: slabs automove; Redis, Valkey: maxmemory-samples and maxmemory-policy) when it ends:
after Ctrl-C, after an error, or once a lost connection is back. A process that is killed (-9)
cannot restore them: send `slabs automove 1` or CONFIG SET yourself then. Watching costs the
server CPU time, so the command watches for 10 s of every minute.")]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct Args {
    /// The server: memcached://[user:password@]host[:port], or valkey:// or redis:// without the
    /// module
    #[arg(value_name = "URL")]
    pub(super) url: String,
    /// How: lama or rankcache, with settings such as lama:move=0.05 or rankcache:planner=psa
    /// (automove, automove_former, facebook, twemcache, cachelib); of a Redis or Valkey dlru
    #[arg(long, value_name = "RECIPE")]
    pub(super) recipe: Option<String>,
    /// Move pages, or set what is to be set; without it nothing is changed, and the plan is shown
    #[arg(long)]
    pub(super) act: bool,
    /// Only show the plan, as without --act
    #[arg(long, conflicts_with = "act")]
    pub(super) dry_run: bool,
    /// Act on a memcached before 1.6.43, too: one that moves pages could crash there
    #[arg(long, requires = "act")]
    pub(super) act_before_1_6_43: bool,
    /// Duration of a window in which the server is watched
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub(super) window: Micros,
    /// From the start of one window to that of the next; 60s, or 1s where a recipe only counts
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) every: Option<Micros>,
    /// Total duration; without it, Ctrl-C ends the command
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub(super) span: Option<Micros>,
    /// Serve the dashboard, /metrics and /report.json there, as 127.0.0.1:9380: to whoever reaches
    /// it, for there are no passwords
    #[arg(long, value_name = "ADDRESS")]
    pub(super) http: Option<SocketAddr>,
    /// Print an object a line: one for each epoch, and one for whatever else happens
    #[arg(long)]
    pub(super) json: bool,
}
