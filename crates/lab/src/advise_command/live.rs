//! Of a running Larder: it says itself what it knows.

use crate::asking::{Asking, field};
use crate::replay::Address;
use anyhow::bail;

/// Prints what the server at `url` advises, of all tenants or of one.
///
/// # Errors
/// Nobody listens there, or what does is no Larder.
pub(super) fn run(url: &str, tenant: Option<&str>, json: bool) -> anyhow::Result<()> {
    let mut server = Asking::connect(&Address::parse(url)?)?;
    let info = server.text(&["INFO", "server"])?;
    if field(&info, "larder_version").is_none() {
        bail!(
            "{url} is no Larder: `larder advise --from {url}` watches it for a while and says \
             what would help"
        );
    }
    let mut words = vec!["LARDER", "ADVISE"];
    words.extend(tenant);
    // Its lines stand in the document, too.
    words.push("JSON");
    let document = server.text(&words)?;
    if json {
        println!("{document}");
        return Ok(());
    }
    let document: serde_json::Value = serde_json::from_str(&document)?;
    for line in document["says"].as_array().into_iter().flatten() {
        println!("{}", line.as_str().unwrap_or_default());
    }
    Ok(())
}
