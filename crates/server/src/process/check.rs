//! `larder config check`: reads a configuration as `larder serve` does, and starts no server.

use super::reload::Sources;
use crate::families;
use crate::settings::certificates;
use crate::settings::cluster::Cluster;
use crate::settings::config::{Error, Settings};
use crate::settings::memcached_tokens::Tokens;
use std::io::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  larder config check larder.conf
  larder config check larder.conf --maxmemory 1gb
  larder config check /etc/redis/redis.conf --json

The environment and --directive value pairs override the file, as they do in larder serve. The \
exit status is 1 if a server would refuse to start.";

/// Check configuration files.
#[derive(Debug, clap::Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigCommand {
    Check(CheckArgs),
}

/// Check a configuration: report what larder serve would refuse, warn of or ignore
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct CheckArgs {
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    /// The configuration file.
    file: PathBuf,
    /// --DIRECTIVE VALUE pairs.
    #[arg(value_name = "--DIRECTIVE VALUE", trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Checks a configuration file, and prints the result.
///
/// # Errors
/// The error for which a server would not start.
pub fn check_config(args: ConfigArgs) -> Result<(), Error> {
    let ConfigCommand::Check(CheckArgs { mut json, file, mut rest }) = args.command;
    let count = rest.len();
    // Behind the file this flag is an ordinary word.
    rest.retain(|word| word != "--json");
    json |= rest.len() < count;
    families::install();
    let name = file.display().to_string();
    let checked = check(&Sources::new(Some(file), rest));
    let mut out = std::io::stdout().lock();
    if json {
        let document = match &checked {
            Ok(settings) => serde_json::json!({
                "file": name,
                "error": null,
                "warnings": settings.first_warnings(),
                "ignored": settings.ignored.keys().collect::<Vec<_>>(),
            }),
            Err(error) => serde_json::json!({ "file": name, "error": error.to_string() }),
        };
        let _ = writeln!(out, "{document}");
    }
    let settings = checked?;
    if !json {
        let _ = out.write_all(describe(&name, &settings).as_bytes());
    }
    Ok(())
}

/// Reads the settings, and the files that they name.
fn check(sources: &Sources) -> Result<Settings, Error> {
    let mut settings = sources.read()?;
    settings.check()?;
    settings.check_start()?;
    settings.read_users()?;
    Cluster::load(&settings.cluster_config, &settings.cluster_node)?;
    certificates::load(&settings)?;
    Tokens::read(&settings.memcached_auth_file)?;
    Ok(settings)
}

/// The result as text: what the server would do, then what its author may not expect.
fn describe(name: &str, settings: &Settings) -> String {
    let tenants: Vec<_> = settings.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    let mut lines = vec![
        format!("{name}: a server starts with this file."),
        format!("The server holds data {}.", settings.memory_use()),
    ];
    if !tenants.is_empty() {
        lines.push(format!("Tenants: {}.", tenants.join(", ")));
    }
    if !settings.ignored.is_empty() {
        let names: Vec<_> = settings.ignored.keys().map(String::as_str).collect();
        lines.push(format!("Larder ignores these directives: {}.", names.join(", ")));
    }
    lines.extend(settings.first_warnings().iter().map(|warning| format!("Warning: {warning}.")));
    lines.join("\n") + "\n"
}
