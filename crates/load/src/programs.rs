//! The two programs: `larder` serves, `larder-lab` has the other commands, and each can start the
//! other.
//!
//! ```text
//!   larder simulate …  ─▶  larder-lab simulate …     it becomes the other: same process, pipes,
//!                                                    signals, exit status
//!   larder experiment … --live  ─▶  larder-lab  ─▶  larder serve …
//! ```
//!
//! The other program is beside this one, in `libexec/larder` of the same installation, or in the
//! PATH.

use anyhow::{Context, anyhow, ensure};
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the program that serves.
pub const LARDER: &str = "larder";
/// Name of the program with the other commands.
pub const LAB: &str = "larder-lab";

/// The variable that tells `larder-lab` the version of the `larder` that became it.
const VERSION: &str = "LARDER_STARTED_BY";

/// Finds a program of the same installation as this one.
///
/// # Errors
/// The program is not installed; the error says how to install it.
pub fn find(name: &str) -> anyhow::Result<PathBuf> {
    let here = env::current_exe().context("could not find the path of this program")?;
    // A link in another folder leads to the folder of the programs.
    let real = here.canonicalize().unwrap_or_else(|_| here.clone());
    let path = env::var_os("PATH").unwrap_or_default();
    let near = [&here, &real].into_iter().filter_map(|exe| exe.parent()).flat_map(beside);
    let mut places = near.chain(env::split_paths(&path)).map(|folder| folder.join(name));
    places.find(|place| is_program(place)).ok_or_else(|| {
        let folder = if name == LARDER { "larder" } else { "lab" };
        anyhow!(
            "{name} is not installed: `cargo install --profile dist --path crates/{folder}` \
             installs it beside {}; or add its folder to PATH",
            here.file_name().unwrap_or_default().display()
        )
    })
}

/// Folders that may hold the other program, from the folder of this one: `bin` or `libexec/larder`.
fn beside(folder: &Path) -> Vec<PathBuf> {
    let up = |levels: usize| folder.ancestors().nth(levels);
    let libexec = up(1).map(|root| root.join("libexec/larder"));
    let bin = folder.ends_with("libexec/larder").then(|| up(2).map(|root| root.join("bin")));
    [Some(folder.to_owned()), libexec, bin.flatten()].into_iter().flatten().collect()
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|there| there.is_file() && there.permissions().mode() & 0o111 != 0)
}

/// Becomes `larder-lab` with these arguments; returns only if that failed.
pub fn become_lab(words: impl IntoIterator<Item = OsString>, version: &str) -> anyhow::Error {
    let program = match find(LAB) {
        Ok(program) => program,
        Err(why) => return why,
    };
    let error = Command::new(&program).args(words).env(VERSION, version).exec();
    anyhow!(error).context(format!("could not start {}", program.display()))
}

/// Refuses to work for a `larder` of another version, because both are installed together.
///
/// # Errors
/// The versions differ.
pub fn check_caller(version: &str) -> anyhow::Result<()> {
    check(env::var_os(VERSION).as_deref(), version)
}

fn check(caller: Option<&OsStr>, version: &str) -> anyhow::Result<()> {
    let caller = caller.unwrap_or_else(|| version.as_ref());
    ensure!(
        caller == version,
        "this is {LAB} {version}, but {LARDER} is {}: install the same version of both",
        caller.display()
    );
    Ok(())
}

/// Prints the cause of a failed command on standard error. Parts of the text may come from outside:
/// from a server, a trace, a name.
pub fn complain(error: &anyhow::Error) {
    let text = format!("{error:#}");
    let lines: Vec<_> = text.lines().map(base::printable).collect();
    eprintln!("larder: {}", lines.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_an_installation_find_each_other() {
        let places = |folder: &str| beside(Path::new(folder));
        assert!(places("/usr/bin").contains(&"/usr/libexec/larder".into()));
        assert!(places("/usr/libexec/larder").contains(&"/usr/bin".into()));
        assert_eq!(places("/src/target/debug")[0], Path::new("/src/target/debug"));
    }

    #[test]
    fn what_is_absent_is_named_with_what_brings_it() {
        let error = find("larder-nothing").unwrap_err().to_string();
        assert!(error.contains("cargo install"), "{error}");
        assert!(!is_program(Path::new("/")) && !is_program(Path::new("/etc/passwd")));
    }

    #[test]
    fn both_are_of_one_version() {
        assert!(check(None, "0.1.0").is_ok() && check(Some("0.1.0".as_ref()), "0.1.0").is_ok());
        let error = check(Some("0.2.0".as_ref()), "0.1.0").unwrap_err().to_string();
        assert!(error.contains("larder is 0.2.0"), "{error}");
    }
}
