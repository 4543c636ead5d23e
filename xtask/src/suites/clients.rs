//! The test suites of clients: the expectations of redis-py and ioredis, unchanged.
//!
//! Each suite runs in a checkout with its tools installed (`pip install -r dev_requirements.txt`,
//! `npm install`). Cases that fail must be in a list beside this file, which gives the reason.

use super::{Server, larder, lists};
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::process::Command;

/// Cases about features that Larder does not offer, by suite.
const LIST: &str = include_str!("clients.txt");
/// Files of redis-py that apply to this kind of server.
const REDIS_PY: &str = "tests/test_commands.py tests/test_lock.py tests/test_pipeline.py \
    tests/test_scripting.py tests/test_encoding.py tests/test_monitor.py tests/test_hash.py \
    tests/test_function.py tests/test_pubsub.py tests/test_connection_pool.py";
/// The cases that need no module, cluster or certificate.
const MARKS: &str = "not redismod and not onlycluster and not ssl and not cp_integration and not \
    experimental";
/// The port to which ioredis connects.
const PORT: u16 = 6379;

pub(super) fn run(suite: &str, checkout: &Path, folder: &Path) -> Result<()> {
    let flags = ["--maxmemory", "2gb", "--http-port", "0", "--bind", "127.0.0.1"];
    let _server = Server::start(&larder()?, PORT, folder, &flags)?;
    let mut command = if suite == "redis-py" {
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
        let mut command = Command::new(python);
        command.args(["-m", "pytest", "-q", "--timeout", "60", "-p", "no:cacheprovider", "-m"]);
        command.arg(MARKS).args(["--redis-url", "redis://127.0.0.1:6379/0"]);
        command.args(REDIS_PY.split_whitespace());
        command
    } else {
        let mut command = Command::new("npx");
        command.args(["mocha", "--no-experimental-strip-types", "--timeout", "8000", "--exit"]);
        command.args(["--reporter", "dot", "test/helpers/*.ts", "test/functional/*.ts"]);
        command.envs([("TS_NODE_TRANSPILE_ONLY", "true"), ("NODE_ENV", "test")]);
        command
    };
    let output = command.current_dir(checkout).output().context("could not start the suite")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed = if suite == "redis-py" { pytest(&text) } else { mocha(&text) };
    let summary = text.lines().rev().find(|line| line.contains("passed")).unwrap_or_default();
    let passing =
        text.lines().filter(|line| line.contains(" passing") || line.contains(" failing"));
    println!("{summary}{}", passing.map(str::trim).collect::<Vec<_>>().join(", "));
    let lists = lists(LIST);
    let Some(known) = lists.get(suite) else { bail!("there is no list for {suite}") };
    let is_known = |name: &String| known.iter().any(|(_, known)| name.starts_with(known));
    let others: Vec<_> = failed.iter().filter(|name| !is_known(name)).collect();
    ensure!(others.is_empty(), "failed: {others:?}");
    ensure!(text.contains("passed") || text.contains("passing"), "no case ran: {text}");
    println!("{} cases failed, each because of a feature that Larder does not offer", failed.len());
    Ok(())
}

/// The names of the functions that failed.
fn pytest(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("FAILED "));
    let names = lines.filter_map(|line| line.split(" - ").next()?.rsplit("::").next());
    names.map(str::to_owned).collect()
}

/// The names of the failed cases: in the list at the end, each is the last line of its title.
fn mocha(text: &str) -> Vec<String> {
    let list = text.split(" failing").nth(1).unwrap_or_default();
    let lines = list.lines().map(str::trim).filter(|line| line.ends_with(':'));
    lines.map(|line| line.trim_end_matches(':').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read() {
        let text = "..F\nFAILED tests/test_commands.py::TestX::test_sort - redis.Error\n1 failed";
        assert_eq!(pytest(text), ["test_sort"]);
        let text = "  3 passing (2s)\n  1 failing\n\n  1) pipelines\n       should be large:\n\n  \
                    AssertionError: no\n";
        assert_eq!(mocha(text), ["should be large"]);
    }
}
