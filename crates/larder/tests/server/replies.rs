//! Replies to commands, byte for byte those of redis-server 7.0.15, and to scripts those of 7.2.6.
//!
//! `replies/record.py` recorded them. The recorded commands go to a fresh server over one
//! connection, in both ways that a client may send them: whole, and byte by byte.

use crate::client::Client;
use crate::process::serve;
use wire::resp::{encode_command, split_line};

const RECORDED: &str = include_str!("replies/recorded.txt");
const SCRIPTS: &str = include_str!("replies/scripts_recorded.txt");

/// The bytes that an escaped line of the recording stands for.
fn unescape(text: &str) -> Vec<u8> {
    let text = text.replace('"', "\\\"");
    split_line(format!("\"{text}\"").as_bytes()).unwrap().swap_remove(0)
}

/// A reply without the setting that Larder names at the end of a limit's error.
fn without_setting(reply: Vec<u8>) -> Vec<u8> {
    let text = String::from_utf8_lossy(&reply);
    let named = text.strip_suffix(")\r\n").filter(|text| text.starts_with("-ERR "));
    let (error, setting) = named.and_then(|text| text.rsplit_once(" (")).unwrap_or_default();
    match setting.split_once(' ') {
        Some(("databases" | "proto-max-bulk-len", _)) => format!("{error}\r\n").into_bytes(),
        _ => reply,
    }
}

fn compare(recorded: &str, piecewise: bool) {
    // On a busy machine any command may take long, and the recorded log of slow commands is empty.
    let server = serve("--slowlog-log-slower-than -1");
    let mut client = Client::new(server.addr());
    let mut lines = recorded.lines();
    let mut compared = 0;
    while let (Some(line), Some(expected)) = (lines.next(), lines.next()) {
        let args = split_line(line.as_bytes()).unwrap();
        let mut bytes = vec![];
        encode_command(&mut bytes, &args);
        if piecewise {
            for byte in bytes {
                client.send(&[byte]);
            }
        } else {
            client.send(&bytes);
        }
        let name = args[0].to_ascii_uppercase();
        let replies = if name.ends_with(b"SUBSCRIBE") && !name.ends_with(b"UNSUBSCRIBE") {
            args.len() - 1
        } else {
            1
        };
        let reply: Vec<u8> = (0..replies).flat_map(|_| client.reply()).collect();
        let expected = expected.trim_start();
        if expected != "(any)" {
            let (reply, expected) = (without_setting(reply), unescape(expected));
            assert_eq!(
                String::from_utf8_lossy(&reply),
                String::from_utf8_lossy(&expected),
                "{line}"
            );
            compared += 1;
        }
    }
    assert!(compared > 600, "{compared} replies are too few to say anything");
}

#[test]
fn every_reply_is_that_of_redis() {
    compare(RECORDED, false);
}

/// A command that arrives byte by byte gets the same reply as one that arrives whole.
#[test]
fn also_when_commands_arrive_byte_by_byte() {
    compare(RECORDED, true);
}

#[test]
fn replies_to_scripts_are_those_of_redis() {
    compare(SCRIPTS, false);
}
