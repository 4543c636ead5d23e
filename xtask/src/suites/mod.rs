//! Test suites of other servers, run against this one: `docs/results/suites.md`, made anew.
//!
//! The suites' authors wrote down the answers of a server, and no test of ours can be as impartial.
//! Each suite runs unchanged, in a checkout, a unit at a time against a server of its own. A list
//! beside this file names the cases about features that Larder does not offer, each with a word for
//! the reason. All other cases must pass, or be equal to the original server.

mod clients;
mod memcached;
mod valkey;

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Runs a suite in the checkout at the given path, or at the path in the environment variable.
pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    const USAGE: &str = "cargo x suites valkey|memcached|redis-py|ioredis CHECKOUT [unit…]";
    let suite = words.next().context(USAGE)?;
    let (variable, needed): (_, &[&str]) = match suite.as_str() {
        "valkey" => ("VALKEY_CHECKOUT", &["tclsh"]),
        "memcached" => ("MEMCACHED_CHECKOUT", &["perl"]),
        "redis-py" => ("REDIS_PY_CHECKOUT", &[]),
        "ioredis" => ("IOREDIS_CHECKOUT", &["npx"]),
        _ => bail!("there is no suite '{suite}': {USAGE}"),
    };
    let given = words.next().or_else(|| std::env::var(variable).ok());
    let Some(checkout) = given.map(PathBuf::from).filter(|path| path.is_dir()) else {
        println!("skipped: {variable} names no checkout, nor does the command line: {USAGE}");
        return Ok(());
    };
    let is_there = |program: &&str| {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
    };
    if let Some(missing) = needed.iter().find(|program| !is_there(program)) {
        println!("skipped: {missing} is not installed");
        return Ok(());
    }
    super::run("cargo build --quiet -p larder", &[])?;
    let folder = std::env::temp_dir().join(format!("larder-suite-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let units: Vec<String> = words.collect();
    let done = match suite.as_str() {
        "valkey" => valkey::run(&checkout, &folder, &units),
        "memcached" => memcached::run(&checkout, &folder, &units),
        client => clients::run(client, &checkout, &folder),
    };
    fs::remove_dir_all(&folder)?;
    done
}

/// A server that ends with its owner.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have ended already; then there is nothing to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Starts a server, and waits until it listens.
    fn start(program: &Path, port: u16, folder: &Path, flags: &[&str]) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--port", &port.to_string(), "--dir"]).arg(folder).args(flags);
        let server = Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        for _ in 0..200 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }
}

/// The cases that a list leaves out: `[unit]`, then lines with a word for the reason and a name.
type Lists = BTreeMap<&'static str, Vec<(&'static str, &'static str)>>;

fn lists(text: &'static str) -> Lists {
    let mut lists = Lists::new();
    let mut unit = "";
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            unit = name;
            lists.entry(unit).or_default();
        } else if let Some((reason, name)) = line.split_once(' ') {
            lists.entry(unit).or_default().push((reason, name.trim_start()));
        }
    }
    lists
}

/// The path of the tested server.
fn larder() -> Result<PathBuf> {
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".into());
    Ok(fs::canonicalize(Path::new(&target).join("debug/larder"))?)
}

/// Copies a folder without its links.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("{} is missing", from.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()))?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Writes a shell script.
fn script(path: &Path, text: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}
