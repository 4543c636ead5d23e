//! `larder attach`, against the memcached and the redis-server of the PATH (or the memcached that
//! `MEMCACHED` names). A test skips a server that is not installed: it says so and passes.

mod beside;
mod load;
mod memcached;
mod redis;
mod served;

use crate::capture::interrupt;
use crate::process::larder;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A running `larder attach`; it is killed at the end of its test.
struct Attached {
    child: Child,
    /// The objects that it has printed so far, one a line.
    said: Arc<Mutex<Vec<Value>>>,
    reader: Option<JoinHandle<()>>,
}

impl Attached {
    fn begin(words: &str) -> Self {
        let mut command = larder(&format!("attach --json {words}"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(vec![]));
        let (own, lines) = (said.clone(), BufReader::new(child.stdout.take().unwrap()).lines());
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let object = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
                own.lock().unwrap().push(object);
            }
        });
        Self { child, said, reader: Some(reader) }
    }

    /// All printed objects of one kind.
    fn said(&self, event: &str) -> Vec<Value> {
        let said = self.said.lock().unwrap();
        said.iter().filter(|one| one["event"] == event).cloned().collect()
    }

    /// Waits until it prints an object of this kind for which `is_it` holds.
    fn until(&self, event: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            if let Some(found) = self.said(event).into_iter().find(|one| is_it(one)) {
                return found;
            }
            let all = || self.said.lock().unwrap().clone();
            assert!(began.elapsed() < Duration::from_secs(120), "no {event}: {:#?}", all());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it with SIGINT, as Ctrl-C does.
    fn interrupt(self) -> (ExitStatus, Vec<Value>) {
        interrupt(&self.child);
        self.wait()
    }

    /// Waits until it has ended; returns its status and all printed objects.
    fn wait(mut self) -> (ExitStatus, Vec<Value>) {
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        (status, self.said.lock().unwrap().clone())
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
