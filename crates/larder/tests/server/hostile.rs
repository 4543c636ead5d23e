//! Larder's tools as clients of a malicious server: its replies have bounds, and its control
//! characters never reach a terminal.

use crate::process::larder;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// Starts a server that answers each request with these bytes, repeatedly if `again`, with a pause
/// between two answers.
fn server(answer: &'static [u8], again: bool, pause: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut asked = [0; 4096];
                while stream.read(&mut asked).is_ok_and(|got| got > 0) {
                    while stream.write_all(answer).is_ok() && again {
                        std::thread::sleep(pause);
                    }
                }
            });
        }
    });
    port
}

/// Runs a tool that must fail; returns its standard error and its running time.
fn fails(words: &str) -> (String, Duration) {
    let begun = Instant::now();
    let output = larder(words).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{words}: {error}");
    assert!(!output.stdout.iter().chain(error.as_bytes()).any(|byte| *byte == 0x1b), "{error:?}");
    (error, begun.elapsed())
}

#[test]
fn no_control_character_of_a_server_is_printed() {
    let port = server(b"-ERR \x1b]0;title\x07\x1b[2Jevil\r\n", false, Duration::ZERO);
    for words in [
        format!("top --once redis://127.0.0.1:{port}"),
        format!("advise redis://127.0.0.1:{port}"),
        format!("advise --cluster redis://127.0.0.1:{port}"),
        format!("capture --from redis://127.0.0.1:{port} --for 1s -o /dev/null"),
        format!("attach redis://127.0.0.1:{port} --for 1s"),
        format!("ping redis://127.0.0.1:{port}"),
    ] {
        let (error, _) = fails(&words);
        assert!(error.contains("evil") && error.contains("u{1b}"), "{words}: {error}");
    }
    let lines = server(b"\x1b[2Jevil\r\n", false, Duration::ZERO);
    for tool in ["top --once", "attach --for 1s", "capture --for 1s -o /dev/null --from"] {
        let (error, _) = fails(&format!("{tool} memcached://127.0.0.1:{lines}"));
        assert!(error.contains("evil"), "{tool}: {error}");
    }
}

/// A reply that grows without end, and a reply whose bytes arrive so slowly that it never ends.
#[test]
fn a_server_that_does_not_end_is_left() {
    static FLOOD: [u8; 1 << 16] = [b'x'; 1 << 16];
    let flood = server(&FLOOD, true, Duration::ZERO);
    let (error, took) = fails(&format!("top --once memcached://127.0.0.1:{flood}"));
    assert!(error.contains("is longer than"), "{error}");
    assert!(took < Duration::from_secs(30), "{took:?}");
    let drip = server(b"$9\r", true, Duration::from_millis(100));
    let (error, took) =
        fails(&format!("capture --from memcached://127.0.0.1:{drip} --for 2s -o /dev/null"));
    assert!(error.contains("did not answer within 2 s"), "{error}");
    assert!(took < Duration::from_secs(15), "it keeps its own --for: {took:?}");
}
