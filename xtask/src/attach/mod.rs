//! The module in a stock server, beside the same server without it.
//!
//! `mix` replays recorded traces of tenants to both at the same time, and compares the cost of
//! their misses. `instructions` and `throughput` measure the cost of a GET. `singles` and `dlru`
//! replay one trace at a time. `versions` runs the module's tests on several servers, and `soak`
//! looks for errors under valgrind.

mod claims;
mod client;
mod costs;
mod mix;
pub(crate) mod soak;
mod traces;
mod versions;

pub(crate) use client::{Client, words};

use crate::built::path as built;
use crate::process::{Process, free_port};
use anyhow::{Result, bail};
use std::fs;
use std::process::Command;

/// The forms of the command, for errors.
const FORM: &str = "write: cargo x bench attach mix SERVER MEMORY NAME=TRACE@US… | \
                    instructions SERVER | throughput SERVER | \
                    singles SERVER RECIPE TRACE@MEMORY… | dlru SERVER TRACE@MEMORY… | \
                    claims SERVER MEMORY NAME=TRACE@US… | versions SERVER…, or: \
                    cargo x soak attach SERVER [S] [plain]";

/// Runs a measurement by its name.
pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    match words.next().as_deref() {
        Some("mix") => mix::run(words),
        Some("instructions") => costs::instructions(words),
        Some("throughput") => costs::throughput(words),
        Some("singles") => traces::singles(words),
        Some("dlru") => traces::dlru(words),
        Some("claims") => claims::run(words),
        Some("versions") => versions::run(words),
        _ => bail!(FORM),
    }
}

/// Starts the command `words`, whose last word is the server's program, with these settings, one a
/// line. With settings of the module, the module is loaded.
fn start(words: &[&str], settings: &str, module: Option<&str>) -> Result<Process> {
    let port = free_port()?;
    let mut lines = format!("port {port}\nsave \"\"\nmaxmemory-policy allkeys-lru\n{settings}\n");
    if let Some(module) = module {
        let path = built("liblarder_module.so")?;
        lines.extend([format!("loadmodule {}\n{module}\n", path.display())]);
    }
    let file = std::env::temp_dir().join(format!("larder-attach-{port}.conf"));
    fs::write(&file, lines)?;
    let [program, arguments @ ..] = words else { bail!("no program to start") };
    let process = Process::start(Command::new(program).args(arguments).arg(&file), port)?;
    let _ = fs::remove_file(file);
    Ok(process)
}
