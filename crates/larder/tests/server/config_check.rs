//! `larder config check`: what a server would do with a configuration, without a server.

use crate::process::larder;
use std::fs;

/// The exit status, the output and the errors of a check of this text.
fn check(text: &str, more: &str) -> (bool, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("larder.conf");
    fs::write(&file, text.replace("FOLDER", folder.path().to_str().unwrap())).unwrap();
    let output = larder(&format!("config check {} {more}", file.display())).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_good_configuration_is_described() {
    let (ok, out, errors) =
        check("maxmemory 64mb\nappendonly yes\ntenant web match prefix web:\ndir FOLDER\n", "");
    assert!(ok, "{errors}");
    assert!(out.contains("a server starts with this file"), "{out}");
    assert!(out.contains("up to 64.0 MiB, then evicts"), "{out}");
    assert!(out.contains("Tenants: web."), "{out}");
    assert!(out.contains("ignores these directives: appendonly"), "{out}");
    assert!(!out.contains("Warning"), "{out}");
}

#[test]
fn what_a_server_would_refuse_is_an_error() {
    for (text, fix) in [
        ("maxmemory 5x\n", "maxmemory"),
        ("no-such-directive 1\n", "no-such-directive"),
        ("maxmemory 1mb\ntenant web match db 1 min 2mb\n", "min"),
        ("maxmemory 100\n", "maxmemory 100mb"),
        ("aclfile FOLDER/absent\n", "absent"),
        ("cluster-config FOLDER/absent\n", "absent"),
        ("memcached-auth-file FOLDER/absent\n", "absent"),
        ("tls-port 7443\ntls-auth-clients no\ntls-cert-file FOLDER/absent\n", "tls-"),
    ] {
        let (ok, out, errors) = check(text, "");
        assert!(!ok && out.is_empty(), "{text}: {out}");
        assert!(errors.contains(fix), "{text}: {errors}");
        let (ok, out, _) = check(text, "--json");
        let document: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(!ok && document["error"].as_str().unwrap().contains(fix), "{text}: {out}");
    }
}

#[test]
fn warnings_are_told_and_arguments_override() {
    let text = "maxmemory 1gb\nwarm-restart-file FOLDER/absent/warm\n";
    let (ok, out, _) = check(text, "--maxmemory 32mb");
    assert!(ok && out.contains("up to 32.0 MiB"), "{out}");
    assert!(out.contains("Warning: cannot write warm-restart-file"), "{out}");
    let (ok, out, _) = check(text, "--maxmemory 32mb --json");
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(ok && document["error"].is_null(), "{out}");
    assert_eq!(document["warnings"].as_array().unwrap().len(), 1, "{out}");
}
