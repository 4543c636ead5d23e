//! The promises of a version to the next: files that it wrote, and names that it published.
//!
//! `tests/kept` has a folder for each version whose files are still read, written by that version.
//! A new format must read the files of the version before, and this test checks it.

use crate::client::Client;
use crate::process::{larder, serve_command, start};
use std::fs;
use std::path::{Path, PathBuf};

/// Versions whose files are read: this version and the one before.
const READ: &[&str] = &["0.1"];
/// The version whose published names must still exist.
const NAMES: &str = "0.1";

fn kept(version: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept").join(version).join(name)
}

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[test]
fn a_warm_restart_file_is_read() {
    for version in READ {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("warm");
        fs::copy(kept(version, "warm"), &file).unwrap();
        let words = "--maxmemory 2mb --recipe kredis --tenant 'web match prefix web:' \
                     --tenant 'jobs match db 1' --warm-restart-file";
        let server = start(serve_command(words).arg(&file));
        let line = server.logged("restored");
        assert!(line.contains("restored 48 items"), "{version}: {line}");
        let mut client = Client::new(server.addr());
        for (line, value) in [
            ("GET web:long", "there"),
            ("HGET web:user name", "Ada"),
            ("LINDEX web:queue 2", "c"),
            ("SISMEMBER web:tags y", "1"),
            ("ZSCORE web:ranks ada", "1.5"),
            ("GETBIT bits 7", "1"),
            ("SELECT 1", "OK"),
            ("GET job", "17"),
        ] {
            assert_eq!(client.value(line), value, "{version}: {line}");
        }
        // The file stores absolute times of expiry, decades ahead.
        client.ask("SELECT 0");
        assert!(client.value("TTL web:long").parse::<u64>().unwrap() > 2_000_000_000);
    }
}

#[test]
fn counts_of_a_model_are_read() {
    for version in READ {
        let mut merge = larder("curve merge --at 20kib");
        let output = merge.arg(kept(version, "whole.counts")).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("20 KiB misses 34.40 %"), "{version}: {text}");
    }
}

/// The fields of INFO by section, without the fields of single commands and errors. Numbers at the
/// end of a name are written as `N`.
fn fields() -> String {
    const OF_THE_LOAD: &[&str] = &["Commandstats", "Errorstats", "Latencystats", "Modules"];
    let server = start(&mut serve_command("--tenant 'web match prefix web:'"));
    let info = Client::new(server.addr()).value("INFO everything");
    let mut text = "# Fields of INFO\n\n\
         Made from what a server says to `INFO everything`; `N` is a number, `NAME` that of a \
         tenant. A version\nkeeps the names of the one before ([promises](book/upgrades.md)).\n"
        .to_owned();
    for part in info.split("# ").skip(1) {
        let (section, lines) = part.split_once("\r\n").unwrap();
        let mut names: Vec<String> = lines
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, _)| match name.strip_prefix("tenant_") {
                Some(_) => "tenant_NAME".to_owned(),
                None if name.starts_with("compression_tenant_") => {
                    "compression_tenant_NAME".to_owned()
                }
                None if name.starts_with("listener") => "listenerN".to_owned(),
                None => name.to_owned(),
            })
            .collect();
        if section == "Keyspace" {
            names = vec!["dbN".to_owned()];
        }
        names.sort();
        names.dedup();
        if names.is_empty() || OF_THE_LOAD.contains(&section) {
            continue;
        }
        text.extend(["\n## ", section, "\n\n`", &names.join("`, `"), "`\n"]);
    }
    text
}

#[test]
fn fields_of_info_are_as_documented() {
    let (path, made) = (docs("info.md"), fields());
    if std::env::var_os("LARDER_WRITE").is_some() {
        return fs::write(path, made).unwrap();
    }
    let written = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(made, written, "LARDER_WRITE=1 cargo test -p larder fields_of_info");
}

/// Names in backticks, as the pages write them.
fn names(page: &str) -> Vec<&str> {
    page.split('`').skip(1).step_by(2).filter(|name| !name.contains(' ')).collect()
}

#[test]
fn names_of_the_version_before_are_there() {
    let page = |name: &str| fs::read_to_string(docs(name)).unwrap();
    let (metrics, info) = (page("metrics.md"), page("info.md"));
    let there: Vec<&str> = names(&metrics).into_iter().chain(names(&info)).collect();
    let promised = fs::read_to_string(kept(NAMES, "names.txt")).unwrap();
    assert!(promised.lines().count() > 200, "{promised}");
    let gone: Vec<&str> = promised.lines().filter(|name| !there.contains(name)).collect();
    assert!(gone.is_empty(), "promised by {NAMES}, and gone: {gone:?}");
}
