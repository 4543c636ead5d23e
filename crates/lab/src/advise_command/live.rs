//! Advice of a running Larder, or of a Redis or Valkey with its module: the server itself gives it.

use crate::capture_command::redis::Control;
use crate::report::json;
use anyhow::{Context, bail};
use load::Place;

/// Asks the server at `url` for its advice, about all tenants or about one. Returns a JSON
/// document.
///
/// # Errors
/// No server listens there, or the server is no Larder and has no module of Larder.
pub fn ask(url: &str, tenant: Option<&str>) -> anyhow::Result<String> {
    let place = Place::parse(url)?;
    if matches!(place, Place::Memcached(_)) {
        bail!(
            "memcached does not give advice: `larder advise --from {url}` watches it for a while \
             and says what would help, `larder attach {url}` says what another division of its \
             pages would save"
        );
    }
    let mut server = Control::connect(place.address())?;
    let mut words = if server.info()?.contains_key("larder_version") {
        vec!["LARDER", "ADVISE"]
    } else if server.has_module()? {
        vec!["LARDER.ADVISE"]
    } else {
        bail!(
            "{url} is not a Larder: `larder advise --from {url}` watches it for a while and says \
             what would help, `larder attach {url}` says which settings to change"
        );
    };
    words.extend(tenant);
    // The document also holds the lines of text.
    words.push("JSON");
    server.text(&words)
}

/// Prints the advice of the server at `url`.
pub(super) fn run(url: &str, tenant: Option<&str>, as_json: bool) -> anyhow::Result<()> {
    let document = json::told(&ask(url, tenant)?).with_context(|| {
        format!("{url} runs another version of Larder, whose advice this version cannot read")
    })?;
    print(&document, as_json)
}

/// Prints advice, as a document or only its sentences.
pub(super) fn print(document: &serde_json::Value, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return json::print(document);
    }
    for line in document["says"].as_array().into_iter().flatten() {
        println!("{}", line.as_str().unwrap_or_default());
    }
    Ok(())
}
