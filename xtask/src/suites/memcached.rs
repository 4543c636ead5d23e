//! memcached's tests, played against the installed memcached and against this server.
//!
//! Each file starts servers itself, through a program `memcached-debug` beside it. Here this is a
//! script that starts either server. A file counts as equal if both servers pass and fail the same
//! cases in the same order, except for cases that the list leaves out. The original is the binary
//! built in the checkout, or else the installed one, which should have the checkout's version.

use super::{Lists, copy, larder, lists, script};
use anyhow::{Context, Result, ensure};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Files and cases about features that Larder does not offer.
const LIST: &str = include_str!("memcached.txt");
/// The least percentage of files that must be equal to the original.
const EQUAL_MIN: usize = 90;
/// Starts the original. Without these words in its help, the suite does not test features that
/// Larder lacks. The test library adds a flag that not every build knows.
const ORIGINAL: &str = r#"#!/bin/bash
words=()
while [ $# -gt 0 ]; do
    case "$1 $2" in
        "-h "*)
            ORIGINAL -h | grep -v 'ext_path\|sasl\|proxy_config\|drop_privileges'
            exit ;;
        "-o relaxed_privileges") shift 2 ;;
        *) words+=("$1"); shift ;;
    esac
done
exec ORIGINAL "${words[@]}"
"#;
/// Starts this server, without the UDP port that the test library adds.
const OURS: &str = r#"#!/bin/bash
words=()
while [ $# -gt 0 ]; do
    case "$1" in
        -h)
            LARDER serve --memcached -h | grep -v 'ext_path\|sasl\|proxy_config\|drop_privileges'
            exit ;;
        -U) shift 2 ;;
        *) words+=("$1"); shift ;;
    esac
done
exec LARDER serve --memcached "${words[@]}"
"#;

/// The cases of a file: whether each passed, and its name.
type Cases = Vec<(bool, String)>;

pub(super) fn run(checkout: &Path, folder: &Path, files: &[String]) -> Result<()> {
    let lists = lists(LIST);
    let built = checkout.join("memcached");
    let original = if built.is_file() { fs::canonicalize(built)? } else { "memcached".into() };
    let original = ORIGINAL.replace("ORIGINAL", original.to_str().context("the path is not text")?);
    let ours = OURS.replace("LARDER", larder()?.to_str().context("the path is not text")?);
    for (name, text) in [("original", &original), ("ours", &ours)] {
        let folder = folder.join(name);
        copy(&checkout.join("t"), &folder.join("t"))?;
        script(&folder.join("memcached-debug"), text)?;
        script(&folder.join("memcached"), text)?;
        script(&folder.join("timedrun"), "#!/bin/sh\nshift\nexec \"$@\"\n")?;
    }
    let mut names: Vec<String> = fs::read_dir(checkout.join("t"))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".t").map(str::to_owned))
        .filter(|name| files.is_empty() || files.contains(name))
        .filter(|name| !name.starts_with("proxy") && !is_left_out(&lists, name))
        .collect();
    names.sort();
    let (mut same, mut differ) = (0, vec![]);
    for name in &names {
        let (ours, original) = std::thread::scope(|scope| {
            let other = scope.spawn(|| play(&folder.join("original"), name));
            (play(&folder.join("ours"), name), other.join().expect("no panic"))
        });
        let (ours, original) = (kept(&lists, name, ours?), kept(&lists, name, original?));
        if ours.iter().map(|case| case.0).eq(original.iter().map(|case| case.0)) {
            same += 1;
            continue;
        }
        let mut pairs = original.iter().zip(&ours);
        let first = pairs.find(|(original, ours)| original.0 != ours.0);
        let (passed, all) = (ours.iter().filter(|case| case.0).count(), original.len());
        let first = first.map_or("the numbers of cases differ", |(_, ours)| ours.1.as_str());
        differ.push(format!("{name}: {passed} of {all} pass; the first that differs: {first}"));
    }
    let left_out = |is_file: bool| -> usize {
        lists.iter().filter(|(unit, _)| (**unit == "files") == is_file).map(|(_, l)| l.len()).sum()
    };
    println!("| files | as with the original | files not offered | and cases |");
    println!("|--:|--:|--:|--:|");
    println!("| {} | {same} | {} | {} |", names.len(), left_out(true), left_out(false));
    for file in &differ {
        println!("differs: {file}");
    }
    ensure!(same * 100 >= names.len() * EQUAL_MIN, "fewer than {EQUAL_MIN} % are equal");
    Ok(())
}

/// Whether the list leaves out the whole file.
fn is_left_out(lists: &Lists, file: &str) -> bool {
    lists.get("files").is_some_and(|files| files.iter().any(|(_, name)| *name == file))
}

/// The cases that the list does not leave out. A name of the list may be the beginning of several
/// cases.
fn kept(lists: &Lists, file: &str, mut cases: Cases) -> Cases {
    let left_out = lists.get(file).map_or(&[][..], Vec::as_slice);
    cases.retain(|case| !left_out.iter().any(|(_, name)| case.1.starts_with(name)));
    cases
}

/// Runs one file, and reads the cases from its output. The output goes to a file, because a pipe
/// would not end before the daemons that some tests leave behind.
fn play(folder: &Path, file: &str) -> Result<Cases> {
    let printed = folder.join("printed");
    Command::new("timeout")
        .current_dir(folder)
        .args(["--kill-after=5", "120", "perl", "-I", "t/lib", &format!("t/{file}.t")])
        .stdout(File::create(&printed)?)
        .stderr(Stdio::null())
        .status()
        .context("could not start timeout")?;
    let text = fs::read(&printed)?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(case).collect())
}

/// Parses a line such as `not ok 3 - it is stored`.
fn case(line: &str) -> Option<(bool, String)> {
    let line = line.trim_start();
    let (passed, rest) = match line.strip_prefix("not ok ") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok ")?),
    };
    let name = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    Some((passed, name.trim_start_matches(" - ").to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read_and_left_out() {
        assert_eq!(case("not ok 12 - key == 'a'"), Some((false, "key == 'a'".to_owned())));
        assert_eq!(case("ok 3"), Some((true, String::new())));
        assert_eq!(case("# Failed test"), None);
        let lists = lists("[files]\nudp udp\n\n[stats]\ntext    set rejected\n");
        assert!(is_left_out(&lists, "udp") && !is_left_out(&lists, "stats"));
        let cases = vec![(false, "set rejected due to".to_owned()), (true, "stored".to_owned())];
        assert_eq!(kept(&lists, "stats", cases), [(true, "stored".to_owned())]);
    }
}
