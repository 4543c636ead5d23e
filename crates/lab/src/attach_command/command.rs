//! The command: steers the server by its kind.

use super::args::Args;
use super::{memcached, redis};
use load::Place;

/// Runs the command.
///
/// # Errors
/// A message that states the cause and the fix.
#[expect(clippy::needless_pass_by_value, reason = "all subcommands have the same signature")]
pub fn run(args: Args) -> anyhow::Result<()> {
    match Place::parse(&args.url)? {
        Place::Memcached(address) => memcached::run(&address, &args),
        Place::Redis(address) => redis::run(&address, &args),
    }
}
