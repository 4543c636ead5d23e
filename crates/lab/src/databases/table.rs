//! Names of tables.

use anyhow::bail;

/// Maximum length of a table's name, in bytes. PostgreSQL cuts longer names off, so that two tables
/// may become one.
const TABLE_MAX: usize = 63;

/// Name of the table of a tenant's objects, not quoted.
pub(super) fn table(tenant: &str) -> anyhow::Result<String> {
    let table = format!("larder objects {tenant}");
    if table.len() > TABLE_MAX || tenant.contains('\0') || tenant.ends_with(' ') {
        bail!(
            "'{table}' is not a valid table name: choose a shorter and simpler tenant name with \
             --names"
        );
    }
    Ok(table)
}

/// The name of a table as one word of SQL, between `quote`s.
pub(super) fn quoted(table: &str, quote: char) -> String {
    let doubled = table.replace(quote, &format!("{quote}{quote}"));
    format!("{quote}{doubled}{quote}")
}
