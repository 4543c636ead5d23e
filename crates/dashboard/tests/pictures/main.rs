//! The dashboard in a browser, over the caches of `scenes.rs`: no page is wider than the window, no
//! text of a chart lies on another, and one picture is for the book.
//!
//! `LARDER_PICTURES=FOLDER` keeps a picture of every page, scene, width and colour scheme, to look
//! at.

mod scenes;

use dashboard::{Refused, Source};
use report::{History, Report};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io, thread};

/// A scene behind HTTP, as it was at one moment.
struct Shown {
    at: (Report, History),
    is_over: AtomicBool,
}

impl Source for Shown {
    fn now_unix_s(&self) -> u64 {
        self.at.0.server.now_unix_s
    }

    fn report(&self) -> (Report, History) {
        self.at.clone()
    }

    fn metrics(&self) -> String {
        String::new()
    }

    fn is_ending(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn places(&self) -> usize {
        32
    }

    async fn admit(&self, _: Option<&str>, _: SocketAddr) -> Result<(), Refused> {
        Ok(())
    }

    fn note_unaccepted(&self, error: &io::Error) {
        panic!("{error}");
    }
}

/// Every page of every scene fits its window, and the book has a picture of a month.
/// `LARDER_WRITE=1` takes that picture anew.
#[test]
fn pages_fit_their_windows() {
    const BYTES_MAX: usize = 160_000;
    let Some(browser) = skip::browser(&[]) else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let book = root.join("../../docs/book");
    let is_written = env::var_os("LARDER_WRITE").is_some();
    for scene in scenes::ALL {
        let listener = dashboard::listen(([127, 0, 0, 1], 0).into()).unwrap();
        let port = listener.address.port().to_string();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let shown = Arc::new(Shown { at: scene.at(now), is_over: AtomicBool::new(false) });
        let own = shown.clone();
        let server = thread::spawn(move || dashboard::run(&own, listener));
        let mut python = Command::new("python3");
        python.arg(root.join("tests/pictures/look.py")).args([&port, browser, scene.name]);
        if is_written && scene.name == "month" {
            python.env("PICTURE", book.join("pictures/month.png"));
        }
        let output = python.output().unwrap();
        shown.is_over.store(true, Ordering::Relaxed);
        server.join().unwrap();
        let (told, errors) = (&output.stdout, &output.stderr);
        let told = String::from_utf8_lossy(told) + String::from_utf8_lossy(errors);
        assert!(output.status.success(), "{}: {told}", scene.name);
    }
    let picture = fs::read(book.join("pictures/month.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG") && picture.len() < BYTES_MAX);
    let text = fs::read_to_string(book.join("dashboard.md")).unwrap();
    assert!(text.contains("](pictures/month.png)"), "the month is not shown");
}
