//! Client libraries of other projects, run where they are installed and otherwise reported as
//! skipped.

use crate::process::{serve, serve_both};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn run(program: &str, args: &[&str]) -> Option<Output> {
    Command::new(program).args(args).output().ok()
}

#[test]
fn redis_cli() {
    if run("redis-cli", &["--version"]).is_none() {
        skip::skip("redis-cli", "apt-get install redis-tools");
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
        skip::skip("redis-py", "pip install redis");
        return;
    }
    let server = serve("--user 'bob on >pw ~* &* +@all' --tenant t match user bob");
    let port = server.addr().port().to_string();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/test_redis_py.py");
    let output = run("python3", &[script.to_str().unwrap(), &port]).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

/// The path of a script in `tests/clients`.
pub(crate) fn script(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name);
    path.to_str().unwrap().to_owned()
}

/// Whether Python has a module; a missing module is reported as skipped.
pub(crate) fn python_has(module: &str) -> bool {
    let import = format!("import {module}");
    let found = run("python3", &["-c", &import]).is_some_and(|out| out.status.success());
    if !found {
        skip::skip(module, &format!("pip install {module}"));
    }
    found
}

fn succeeds(program: &str, args: &[&str]) {
    let output = run(program, args).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
}

/// The list of operations that every client must pass.
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

/// One client spreads its keys over three servers.
#[test]
fn pymemcache_over_several_servers() {
    if python_has("pymemcache") {
        let servers: Vec<_> = (0..3).map(|_| serve_both("--maxmemory 64mb")).collect();
        let ports = servers.iter().map(|(_, port)| port.to_string());
        let args: Vec<_> = std::iter::once(script("test_ketama.py")).chain(ports).collect();
        succeeds("python3", &args.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// The path of a client that `.ci/run` built in the build folder; `None`, reported as skipped, if
/// it is not there.
pub(crate) fn built(name: &str) -> Option<String> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(name);
    if !target.exists() {
        skip::skip(name, "bash .ci/run tools");
        return None;
    }
    Some(target.to_str().unwrap().to_owned())
}

/// Runs a client program with the list of operations, against both protocols.
fn serves(program: &str, args: &[&str]) {
    let (server, memcached) = serve_both("--maxmemory 64mb");
    let last = [server.addr().port().to_string(), memcached.to_string(), script("operations.json")];
    let args = args.iter().copied().chain(last.iter().map(String::as_str));
    succeeds(program, &args.collect::<Vec<_>>());
}

/// go-redis and gomemcache.
#[test]
fn go_clients() {
    if let Some(program) = built("go-clients") {
        serves(&program, &[]);
    }
}

/// ioredis, node-redis and memcached.
#[test]
fn javascript_clients() {
    if let Some(script) = built("js-clients/main.mjs") {
        serves("node", &[&script]);
    }
}

/// jedis, lettuce and xmemcached.
#[test]
fn java_clients() {
    if let (Some(classes), Some(lib)) = (built("java-clients/classes"), built("java-clients/lib")) {
        serves("java", &["-cp", &format!("{classes}:{lib}/*"), "Clients"]);
    }
}

/// Converts a reply into the JSON of the list of operations.
fn plain(reply: redis::Value) -> Value {
    use redis::Value as Reply;
    match reply {
        Reply::Nil => Value::Null,
        Reply::Int(number) => number.into(),
        Reply::Okay => "OK".into(),
        Reply::SimpleString(text) => text.into(),
        Reply::BulkString(bytes) => String::from_utf8(bytes).unwrap().into(),
        Reply::Double(number) => number.to_string().into(),
        Reply::Array(replies) => replies.into_iter().map(plain).collect(),
        Reply::Map(pairs) => {
            let pair = |(name, value)| (plain(name).as_str().unwrap().to_owned(), plain(value));
            Value::Object(pairs.into_iter().map(pair).collect())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn redis_rs() {
    let list = std::fs::read_to_string(script("operations.json")).unwrap();
    let list: Vec<(Vec<String>, Value)> = serde_json::from_str(&list).unwrap();
    let server = serve("");
    for protocol in ["resp3", "resp2"] {
        let url = format!("redis://127.0.0.1:{}/?protocol={protocol}", server.addr().port());
        let mut client = redis::Client::open(url).unwrap().get_connection().unwrap();
        for (args, expected) in &list {
            let mut reply = plain(redis::cmd(&args[0]).arg(&args[1..]).query(&mut client).unwrap());
            if let (Value::Array(pairs), Value::Object(_)) = (&reply, expected) {
                let pair = |pair: &[Value]| (pair[0].as_str().unwrap().to_owned(), pair[1].clone());
                reply = Value::Object(pairs.chunks(2).map(pair).collect());
            }
            assert_eq!(reply, *expected, "{protocol} {args:?}");
        }
        let mut transaction = redis::pipe();
        transaction.atomic().set("tx", 1).ignore().incr("tx", 1);
        assert_eq!(transaction.query::<Vec<i64>>(&mut client).unwrap(), [2]);
    }
}
