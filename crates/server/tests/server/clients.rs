//! Clients that others wrote: run where they are installed, else said to be skipped.

use crate::client::serve;
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
