//! `larder advise`: what would make clients wait less, in sentences.
//!
//! A Larder gives the advice itself, and so does its module in another server (`live.rs`). Without
//! either (`offline`), the command watches another server for a while, or reads a trace. It then
//! plays the requests through simulated caches.

mod apply;
mod cluster;
mod live;
mod offline;

pub use cluster::ask_cluster;
pub use live::ask;

/// Advise what would make clients wait less: another size, a division, or Larder.
#[derive(clap::Args, Debug)]
#[command(after_help = offline::EXAMPLES)]
pub struct Args {
    /// A running Larder, or a Redis or Valkey with its module: redis://[user:password@]host[:port]
    #[arg(value_name = "URL", conflicts_with = "from")]
    url: Option<String>,
    /// Node of a cluster of Larders, or of Redis or Valkey with the module: asks all masters, and
    /// merges their reports
    #[arg(long, value_name = "URL", conflicts_with_all = ["url", "from"])]
    cluster: Option<String>,
    /// Tenant to report on, instead of all
    #[arg(value_name = "NAME", requires = "url")]
    of: Option<String>,
    /// Set what the Larder proposes, after asking, and print the figures before and after
    #[arg(long, requires = "url")]
    apply: bool,
    /// With --apply: set every proposal without asking
    #[arg(long, requires = "apply")]
    yes: bool,
    /// With --apply: longest wait for the figures after a change
    #[arg(long, value_name = "SECONDS", requires = "apply", default_value_t = 150)]
    wait: u64,
    #[command(flatten)]
    offline: offline::Args,
}

/// Runs the command.
///
/// # Errors
/// A message that states the cause and the fix.
#[expect(clippy::needless_pass_by_value, reason = "all subcommands have the same signature")]
pub fn run(args: Args) -> anyhow::Result<()> {
    if let Some(url) = &args.cluster {
        return live::print(&ask_cluster(url)?, args.offline.json);
    }
    match &args.url {
        Some(url) if args.apply => apply::run(url, args.of.as_deref(), args.yes, args.wait),
        Some(url) => live::run(url, args.of.as_deref(), args.offline.json),
        None if args.offline.from.is_empty() => anyhow::bail!(
            "name a server or a trace: `larder advise redis://localhost` asks a Larder, `larder \
             advise --from redis://localhost` watches another server, and --from FILE reads a trace"
        ),
        None => offline::run(&args.offline),
    }
}
