//! The properties of the image in the last stage of the Dockerfile.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::HashMap;

/// One field for each instruction that the stage may contain.
#[derive(Debug, Default)]
pub(super) struct Stage {
    pub(super) user: String,
    pub(super) ports: Vec<String>,
    pub(super) entrypoint: Vec<String>,
    pub(super) command: Vec<String>,
    pub(super) stop_signal: String,
    pub(super) labels: HashMap<String, String>,
    /// The health check in Docker's form, with times in nanoseconds.
    pub(super) health: Value,
}

impl Stage {
    /// Reads the stage. An unknown instruction is refused, because the image would lack its effect.
    pub(super) fn read(dockerfile: &str) -> Result<Self> {
        let (_, last) =
            dockerfile.rsplit_once("\nFROM ").context("the Dockerfile has no last stage")?;
        let mut lines = last.lines();
        let base = lines.next().unwrap_or_default();
        ensure!(base == "scratch", "the image has one layer, so {base} cannot be its base");
        let mut stage = Self::default();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                // The files of the layer.
                "COPY" => {}
                "USER" => rest.clone_into(&mut stage.user),
                "EXPOSE" => stage.ports = rest.split(' ').map(str::to_owned).collect(),
                "STOPSIGNAL" => rest.clone_into(&mut stage.stop_signal),
                "ENTRYPOINT" => stage.entrypoint = serde_json::from_str(rest)?,
                "CMD" => stage.command = serde_json::from_str(rest)?,
                "LABEL" => {
                    let (name, value) = rest.split_once('=').context("a label has no value")?;
                    stage.labels.insert(name.to_owned(), serde_json::from_str(value)?);
                }
                "HEALTHCHECK" => stage.health = health(rest)?,
                other => bail!("the Dockerfile's {other} is not supported here"),
            }
        }
        Ok(stage)
    }
}

fn health(text: &str) -> Result<Value> {
    let (options, command) = text.split_once("CMD ").context("a health check needs a CMD")?;
    let mut test = vec!["CMD".to_owned()];
    test.extend(serde_json::from_str::<Vec<String>>(command)?);
    let mut health = json!({ "Test": test });
    for option in options.split_whitespace() {
        let seconds = option.split_once('=').and_then(|(name, value)| {
            let name = match name {
                "--interval" => "Interval",
                "--timeout" => "Timeout",
                _ => return None,
            };
            Some((name, value.strip_suffix('s')?.parse::<u64>().ok()?))
        });
        let (name, seconds) =
            seconds.with_context(|| format!("the option {option} is not supported here"))?;
        health[name] = (seconds * 1_000_000_000).into();
    }
    Ok(health)
}
