//! The log: its layouts, its file, and the priorities that journald reads.

use crate::client::Client;
use crate::process::{Server, serve, serve_command};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Makes the server log a text with what could break a line.
fn log_a_text(server: &Server) {
    let mut client = Client::new(server.addr());
    client.ask(r#"EVAL "redis.log(redis.LOG_WARNING, 'a\\n\"b\" level=error')" 0"#);
}

/// The lines of a file, once one of them has `words`.
fn lines_with(path: &Path, words: &str) -> Vec<String> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if text.lines().any(|line| line.contains(words)) {
            return text.lines().map(str::to_owned).collect();
        }
        assert!(Instant::now() < end, "no '{words}' in: {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn every_line_is_a_json_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let server = serve(&format!("--log-format json --logfile {}", path.display()));
    log_a_text(&server);
    let lines = lines_with(&path, "level=error");
    for line in &lines {
        let document: serde_json::Value = serde_json::from_str(line).expect(line);
        for name in ["time", "level", "message"] {
            assert!(document[name].is_string(), "{line}");
        }
    }
    let last: serde_json::Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!(last["level"], "warn");
    assert!(last["message"].as_str().unwrap().contains("a\n\"b\" level=error"), "{last}");
}

#[test]
fn a_line_of_logfmt_has_quoted_texts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let server = serve(&format!("--log-format logfmt --logfile {}", path.display()));
    log_a_text(&server);
    let lines = lines_with(&path, "level=error");
    assert!(lines.iter().all(|line| line.starts_with("time=")), "{lines:?}");
    let last = lines.last().unwrap();
    assert!(last.contains(r#" level=warn message=""#) && last.contains(r#"a\n\"b\""#), "{last}");
}

/// As logrotate does it: move the file away, then send SIGHUP.
#[test]
fn a_hangup_opens_the_file_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, old) = (folder.path().join("log"), folder.path().join("log.1"));
    let server = serve(&format!("--logfile {}", path.display()));
    lines_with(&path, "is a cache");
    fs::rename(&path, &old).unwrap();
    server.signal("-HUP");
    let lines = lines_with(&path, "reread");
    assert!(!lines.iter().any(|line| line.contains("is a cache")), "{lines:?}");
    server.stop();
    lines_with(&path, "ended");
}

#[test]
fn journald_gets_the_priority_of_a_line() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let known = log.as_file().metadata().unwrap();
    let mut command = serve_command("");
    command.env("JOURNAL_STREAM", format!("{}:{}", known.dev(), known.ino()));
    command.stdout(Stdio::piped()).stderr(File::create(log.path()).unwrap());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    child.wait().unwrap();
    let lines = lines_with(log.path(), "ended");
    assert!(lines.iter().all(|line| line.starts_with("<6>")), "{lines:?}");
}
