//! Redis without the module, attached: two settings are changed and restored.

use super::Attached;
use crate::capture::Stranger;
use crate::process::larder;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The value of a setting, from CONFIG GET.
fn setting(server: &Stranger, name: &str) -> String {
    let answer = server.client().ask(&format!("CONFIG GET {name}"));
    answer.split("\r\n").nth(4).unwrap_or_default().to_owned()
}

/// A loop over more keys than fit. LRU with many candidates misses nearly all of them, with one
/// candidate only a part.
#[test]
fn candidates_are_set_and_put_back() {
    let Some(server) = Stranger::redis("--maxmemory 6mb --maxmemory-policy allkeys-lru") else {
        return;
    };
    let ends = Arc::new(AtomicBool::new(false));
    let (own, mut client) = (ends.clone(), server.client());
    let value = "v".repeat(1_000);
    let load = std::thread::spawn(move || {
        for key in (0..5_000).cycle() {
            if own.load(Ordering::Relaxed) {
                return;
            }
            if client.ask(&format!("GET key:{key}")) == "$-1\r\n" {
                client.ask(&format!("SET key:{key} {value}"));
            }
            // The pause leaves the server time, so that enough of these few keys are sampled for a
            // curve.
            std::thread::sleep(Duration::from_micros(150));
        }
    });
    let url = format!("redis://127.0.0.1:{}", server.port);
    let watching = Attached::begin(&format!("{url} --window 1s --every 1s"));
    // Until it has seen the whole loop, the tool may advise many candidates.
    watching.until("epoch", |one| one["decision"] == "advised" && one["wanted"] == 1);
    assert!(watching.interrupt().0.success());
    assert_eq!(setting(&server, "maxmemory-samples"), "5", "nothing is set without --act");

    let acting = Attached::begin(&format!("{url} --window 1s --every 1s --act"));
    acting
        .until("set", |one| one["says"].as_str().unwrap().contains("maxmemory-samples is now 1;"));
    assert_eq!(setting(&server, "maxmemory-samples"), "1");
    let (status, said) = acting.interrupt();
    assert!(status.success() && said.iter().any(|one| one["event"] == "restored"), "{said:#?}");
    assert_eq!(setting(&server, "maxmemory-samples"), "5");
    assert_eq!(setting(&server, "maxmemory-policy"), "allkeys-lru");
    ends.store(true, Ordering::Relaxed);
    load.join().unwrap();
}

/// An error about an unsuitable server names the fix.
#[test]
fn a_server_that_evicts_nothing_is_no_cache() {
    let Some(server) = Stranger::redis("--maxmemory 0") else { return };
    let url = format!("redis://127.0.0.1:{}", server.port);
    for (words, part) in [("", "maxmemory-policy allkeys-lru"), ("--recipe kredis", "the module")] {
        let output = larder(&format!("attach {url} {words}")).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(part), "{error}");
    }
}
