//! The server's rules of tenants, for commands of the lab: neither crate knows the other.

use lab::capture_command::TenantRules;

/// Reads lines such as `web match prefix web:`.
pub(crate) fn rules(lines: &[String], port: u16) -> Result<TenantRules, String> {
    let mut rules = server::TenantRules::parse(lines, port)?;
    Ok(Box::new(move |db, key| rules.owner(db, key).to_owned()))
}
