//! `cargo x live`: the papers' live experiments, with databases of their own.
//!
//! PostgreSQL is the near database and MariaDB the far one, with 900 µs added to its own time. Both
//! are started on this machine and end with the run. The peers are the servers in the PATH. A
//! program that is not installed is left out and reported. The chore prints the command of each
//! experiment.

#[path = "../../crates/lab/tests/databases/mod.rs"]
mod databases;

use anyhow::{Context, Result, ensure};
use databases::{MariaDb, Postgres};
use std::env;
use std::path::PathBuf;
use std::process::Command;

pub(crate) const FORM: &str = "cargo x live NAME|all [arguments of larder experiment]";

/// The peers of Larder, and their programs.
const PEERS: [(&str, &str); 3] =
    [("redis", "redis-server"), ("valkey", "valkey-server"), ("memcached", "memcached")];

/// The added distance of the papers' second database.
const FARTHER: &str = "+900us";

/// All experiments, in the order of `larder experiment list`.
const ALL: [&str; 7] = ["dlru", "kredis", "predis", "periodic", "lama", "rankcache", "overhead"];

pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let name = words.next().context(FORM)?;
    let more: Vec<_> = words.collect();
    crate::built::build(&["larder", "lab --features lab/databases"])?;
    let (near, far) = (Postgres::start()?, MariaDb::start()?);
    let mut arguments = vec!["--live".to_owned()];
    match &near {
        Some(database) => arguments.extend(["--near".to_owned(), database.url()]),
        None => eprintln!("skipped: PostgreSQL is not installed; a delay takes its place"),
    }
    match &far {
        Some(database) => {
            arguments.extend(["--far".to_owned(), format!("{}{FARTHER}", database.url())]);
        }
        None => eprintln!("skipped: MariaDB is not installed; a delay takes its place"),
    }
    for (peer, program) in PEERS {
        let given = format!("{peer}=");
        match path_of(program) {
            _ if more.iter().any(|word| word.starts_with(&given)) => {}
            Some(path) => {
                arguments.extend(["--peer".to_owned(), format!("{given}{}", path.display())]);
            }
            None => eprintln!("skipped: {program} is not in PATH"),
        }
    }
    arguments.extend(more);
    let larder = crate::built::path("larder")?;
    for name in if name == "all" { ALL.to_vec() } else { vec![name.as_str()] } {
        println!("> larder experiment {name} {}", arguments.join(" "));
        let status = Command::new(&larder).args(["experiment", name]).args(&arguments).status();
        ensure!(status?.success(), "the experiment {name} failed");
    }
    Ok(())
}

/// The path of a program in the PATH.
fn path_of(program: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}
