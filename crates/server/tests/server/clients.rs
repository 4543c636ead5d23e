//! Clients that others wrote: run where they are installed, else said to be skipped.

use crate::client::serve;
use crate::memcached::serve_both;
use std::path::Path;
use std::process::{Command, Output};

fn run(program: &str, args: &[&str]) -> Option<Output> {
    Command::new(program).args(args).output().ok()
}

#[test]
fn redis_cli() {
    if run("redis-cli", &["--version"]).is_none() {
        println!("skipped: redis-cli is not installed");
        return;
    }
    let server = serve("--maxmemory 100mb");
    let port = server.addr().port().to_string();
    let cli = |args: &[&str]| {
        let output = run("redis-cli", &[&["-p", &port], args].concat()).unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{args:?}: {text}");
        text
    };
    assert_eq!(cli(&["SET", "a", "1"]), "OK\n");
    assert_eq!(cli(&["-3", "GET", "a"]), "1\n");
    assert_eq!(cli(&["--scan"]), "a\n");
    assert!(cli(&["--bigkeys"]).contains("Biggest string found"), "bigkeys");
    assert!(cli(&["--memkeys"]).contains("Biggest string found"), "memkeys");
    assert!(cli(&["COMMAND", "DOCS", "get"]).contains("The value of a key."));
    assert!(cli(&["INFO"]).contains("redis_version"));
}

#[test]
fn redis_py() {
    let has_it = run("python3", &["-c", "import redis"]).is_some_and(|out| out.status.success());
    if !has_it {
        println!("skipped: python3 with redis is not installed");
        return;
    }
    let server = serve("--user 'bob on >pw +@all' --tenant t match user bob");
    let port = server.addr().port().to_string();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/test_redis_py.py");
    let output = run("python3", &[script.to_str().unwrap(), &port]).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

/// A script of `tests/clients`.
fn script(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name);
    path.to_str().unwrap().to_owned()
}

fn python_has(module: &str) -> bool {
    let import = format!("import {module}");
    let found = run("python3", &["-c", &import]).is_some_and(|out| out.status.success());
    if !found {
        println!("skipped: python3 with {module} is not installed");
    }
    found
}

fn succeeds(program: &str, args: &[&str]) {
    let output = run(program, args).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
}

/// One list of operations that every client must pass.
#[test]
fn operations_by_redis_py() {
    if python_has("redis") {
        let server = serve("");
        succeeds("python3", &[&script("test_operations.py"), &server.addr().port().to_string()]);
    }
}

#[test]
fn pymemcache() {
    if python_has("pymemcache") {
        let (_server, port) = serve_both("--maxmemory 64mb");
        succeeds("python3", &[&script("test_pymemcache.py"), &port.to_string()]);
    }
}

/// go-redis and gomemcache, built by `.ci/run` or by hand:
/// `cd tests/clients/go && go build -o ../../../../../target/go-clients .`
#[test]
fn go_clients() {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/go-clients");
    let program = std::env::var("LARDER_GO_CLIENTS").map_or(built, Into::into);
    if !program.exists() {
        println!("skipped: {} is not built", program.display());
        return;
    }
    let (server, port) = serve_both("--maxmemory 64mb");
    let ports = [server.addr().port().to_string(), port.to_string()];
    succeeds(program.to_str().unwrap(), &[&ports[0], &ports[1], &script("operations.json")]);
}
