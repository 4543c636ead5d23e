//! CONFIG: the settings of a running server.

use crate::call::{Call, Command, Done, Failure, wrong_number};
use crate::facts::flag::{ADMIN, NO_SCRIPT, SECRET};
use crate::settings::config::directive::{Directive, When, all};
use crate::settings::config::{self, ignored};
use crate::text::glob;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] =
    &[Command::container("config", SECRET | NO_SCRIPT, CONFIG).doc("server", "2.0.0", "Settings.")];

const CONFIG: &[Command] = &[
    Command::new("config|get", -3, ADMIN, get).doc("server", "2.0.0", "Shows settings."),
    Command::new("config|set", -4, ADMIN, set).doc("server", "2.0.0", "Changes settings."),
    Command::new("config|resetstat", 2, ADMIN, resetstat).doc(
        "server",
        "2.0.0",
        "Resets the statistics.",
    ),
    Command::new("config|rewrite", 2, ADMIN, rewrite).doc(
        "server",
        "2.8.0",
        "Writes the settings to the server's configuration file.",
    ),
    Command::new("config|help", 2, 0, help).doc("server", "5.0.0", "The subcommands of CONFIG."),
];

fn get(call: &mut Call<'_>) -> Done {
    let settings = &call.view.settings;
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    for pattern in call.args.iter_from(2) {
        for directive in all() {
            if glob::matches_ignore_case(pattern, directive.name.as_bytes()) {
                found.insert(directive.name, directive.show(settings));
            }
        }
        for (name, first) in ignored::all() {
            if glob::matches_ignore_case(pattern, name.as_bytes()) {
                let set = settings.ignored.get(&ignored::kept_as(name)).cloned();
                found.insert(name, set.unwrap_or_else(|| first.into()));
            }
        }
    }
    call.out.map(found.len());
    for (name, value) in found {
        call.out.bulk(name.as_bytes());
        call.out.bulk(value.as_bytes());
    }
    Ok(())
}

fn failed(name: &str, why: &str) -> Failure {
    Failure::err(&format!("CONFIG SET failed (possibly related to argument '{name}') - {why}"))
}

impl From<config::Error> for Failure {
    fn from(error: config::Error) -> Self {
        Self::err(&format!("CONFIG SET failed - {error}"))
    }
}

fn set(call: &mut Call<'_>) -> Done {
    if !call.args.len().is_multiple_of(2) {
        return Err(wrong_number("config|set"));
    }
    let mut changes = vec![];
    for at in (2..call.args.len()).step_by(2) {
        let name = call.text(at).to_ascii_lowercase();
        let value = call.text(at + 1).into_owned();
        if changes.iter().any(|(known, _, _)| *known == name) {
            return Err(failed(&name, "duplicate parameter"));
        }
        let directive = Directive::find(&name);
        match directive.map(|directive| directive.when).or_else(|| ignored::when(&name)) {
            Some(When::Always) => changes.push((name, directive, value)),
            Some(When::Start) => return Err(failed(&name, "can't set immutable config")),
            None => {
                return Err(Failure::err(&format!(
                    "Unknown option or number of arguments for CONFIG SET - '{name}'"
                )));
            }
        }
    }
    call.server.change(|settings| {
        for (name, directive, value) in changes {
            let Some(directive) = directive else {
                let kept = ignored::kept_as(&name);
                let before = settings.ignored.get(&kept).map(String::as_str);
                if let Some(why) = ignored::refusal(&name, &value, before) {
                    return Err(failed(&name, &why));
                }
                tracing::warn!("Larder ignores the directive '{name}'");
                settings.ignored.insert(kept, value);
                continue;
            };
            let applied = directive.apply_text(settings, &value);
            applied.map_err(|error| failed(&name, &error))?;
        }
        Ok::<_, Failure>(())
    })?;
    call.ok()
}

fn resetstat(call: &mut Call<'_>) -> Done {
    call.server.logs.acl.reset_counts();
    call.server.scripts.usage.evicted.store(0, Ordering::Relaxed);
    call.server.store.forget_lazily_freed();
    let number = call.session.client.command.load(Ordering::Relaxed);
    call.server.stats.reset(call.server.counters(), Some(number));
    call.ok()
}

fn rewrite(call: &mut Call<'_>) -> Done {
    let Some(path) = &call.server.process.file() else {
        return Err("ERR The server is running without a config file".into());
    };
    let write = || {
        let old = match std::fs::read_to_string(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            old => old.unwrap_or_default(),
        };
        let settings = &call.server.view.now().settings;
        let text = settings.rewrite(path, &old).map_err(std::io::Error::other)?;
        files::replace(path, text.as_bytes(), files::OWN)
    };
    if let Err(error) = write() {
        return Err(Failure::err(&format!("Rewriting config file: {error}")));
    }
    call.ok()
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "GET <pattern> [<pattern> ...]",
        "    Show settings.",
        "SET <directive> <value> [<directive> <value> ...]",
        "    Change settings: all of them or none.",
        "RESETSTAT",
        "    Reset the statistics.",
        "REWRITE",
        "    Write the settings to the server's configuration file.",
        "HELP",
        "    Print this help.",
    ])
}
