//! The translation of a command line, word by word.

use super::process::Process;
use super::table::{Act, ELSEWHERE, FLAGS, Flag, Value, WORDS};
use crate::memcached::admin::MEMCACHED_VERSION;
use crate::settings::config::Error;
use std::fmt::Write;

/// The defaults of memcached: 64 MiB, all addresses, 1024 connections, no certificates of clients.
/// No port that memcached would not open is opened.
const BEGIN: &str = "--port 0 --http-port 0 --bind * -::* --maxmemory 64mb --maxclients 1024 \
                     --tls-auth-clients no";
const PORT: &str = "11211";
/// The limits for the largest value in bytes: the least, the most, and its part of the memory (one
/// in `ITEM_SHARE`).
const ITEM_MIN: u64 = 1 << 10;
const ITEM_MAX: u64 = 1 << 30;
const ITEM_SHARE: u64 = 2;

/// The meaning of the flags.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Print this text and end.
    Text(String),
    /// Run this server.
    Serve(Serve),
}

/// A server as the flags describe it.
#[derive(Debug, Default)]
pub(crate) struct Serve {
    /// Directives and their words, as on the command line.
    pub(crate) directives: Vec<String>,
    /// Changes to the process, not to the server.
    pub(crate) process: Process,
    /// Differences from memcached, for the log.
    pub(crate) notes: Vec<String>,
}

fn fail<T>(text: String) -> Result<T, Error> {
    Err(Error(text))
}

impl Value {
    fn check(self, name: &str, value: &str) -> Result<(), Error> {
        let is_number = value.parse::<i64>().is_ok();
        let fits = match self {
            Self::None => value.is_empty(),
            Self::Word => !value.is_empty(),
            Self::Number => is_number,
            Self::Ratio => value.parse::<f64>().is_ok_and(f64::is_finite),
            Self::Maybe => value.is_empty() || is_number,
        };
        if fits {
            return Ok(());
        }
        fail(match self {
            Self::None => format!("{name} takes no value: leave out '{value}'"),
            Self::Word => format!("{name} needs a value"),
            Self::Number | Self::Ratio | Self::Maybe => {
                format!("{name} needs a number, but '{value}' is not a number")
            }
        })
    }
}

/// The flags read so far.
#[derive(Default)]
struct Reader {
    serve: Serve,
    port: Option<String>,
    listen: Vec<String>,
    megabytes: Option<u64>,
    item_max: Option<u64>,
    /// Flags that change nothing here.
    idle: Vec<String>,
    text: Option<String>,
}

/// Reads memcached's flags. A directive of the server, which begins with `--`, stays as it is.
pub(crate) fn translate(words: &[String]) -> Result<Asked, Error> {
    let mut reader = Reader::default();
    reader.serve.directives = BEGIN.split_whitespace().map(str::to_owned).collect();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if let Some(long) = word.strip_prefix("--") {
            let (name, mut value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let Some(flag) = FLAGS.iter().find(|flag| flag.long == name) else {
                // This is a directive of the server, and the next word is its value.
                reader.serve.directives.push(word.clone());
                reader.serve.directives.extend(rest.next().cloned());
                continue;
            };
            if flag.value != Value::None && value.is_none() {
                value = rest.next().cloned();
            }
            reader.take(flag, &value.unwrap_or_default())?;
            continue;
        }
        let Some(mut letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return fail(format!("'{word}' is not a flag: memcached's flags begin with -"));
        };
        // -vv means -v twice, but -p11211 is -p with a value.
        while let Some(letter) = letters.chars().next() {
            letters = &letters[letter.len_utf8()..];
            let Some(flag) = FLAGS.iter().find(|flag| flag.short == letter) else {
                return fail(format!("memcached has no flag -{letter}: -h lists all flags"));
            };
            if flag.value == Value::None {
                reader.take(flag, "")?;
                continue;
            }
            let value = if letters.is_empty() { rest.next().cloned() } else { None };
            reader.take(flag, &value.unwrap_or_else(|| letters.to_owned()))?;
            break;
        }
    }
    reader.finish()
}

impl Reader {
    fn set(&mut self, directive: &str, value: &str) {
        self.serve.directives.extend([format!("--{directive}"), value.into()]);
    }

    /// Applies a flag.
    fn take(&mut self, flag: &Flag, value: &str) -> Result<(), Error> {
        let name = format!("-{}", flag.short);
        flag.value.check(&name, value)?;
        match flag.act {
            Act::Directive(directive) => self.set(directive, value),
            Act::Directives(words) => {
                self.serve.directives.extend(words.iter().map(|word| (*word).to_owned()));
            }
            Act::Nothing => self.idle.push(name),
            Act::Always => {}
            Act::Refused(reason) => return fail(format!("{name} is not supported: {reason}")),
            Act::Special => return self.special(flag.short, value),
        }
        Ok(())
    }

    fn special(&mut self, short: char, value: &str) -> Result<(), Error> {
        match short {
            'p' => self.port = Some(value.into()),
            'U' if value.parse() != Ok(0) => {
                return fail(format!("-U {value}: the server does not speak UDP: leave -U out"));
            }
            'l' => self.listen.extend(value.split(',').map(str::to_owned)),
            'd' => self.serve.process.daemon = true,
            'r' => self.serve.process.core_dumps = true,
            'k' => self.serve.process.lock_memory = true,
            'u' => self.serve.process.user = Some(value.into()),
            'h' => self.text = Some(help()),
            'i' => self.text = Some(include_str!("../../../LICENSE").into()),
            'V' => self.text = Some(version()),
            'm' => match value.parse::<u64>() {
                Ok(megabytes) if u32::try_from(megabytes).is_ok() => {
                    self.megabytes = Some(megabytes);
                }
                _ => {
                    return fail(format!(
                        "-m {value}: write the memory in megabytes, such as -m 64"
                    ));
                }
            },
            'I' => self.item_max = Some(item_size(value)?),
            'B' if !matches!(value, "ascii" | "auto") => {
                return fail(format!(
                    "-B {value}: the server does not speak this protocol: use -B ascii"
                ));
            }
            'o' => {
                for word in value.split(',') {
                    self.word(word)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Applies a word of `-o`.
    fn word(&mut self, word: &str) -> Result<(), Error> {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let shown = format!("-o {name}");
        if let Some((_, reason)) = ELSEWHERE.iter().find(|(begin, _)| name.starts_with(begin)) {
            return fail(format!("{shown} is not supported: {reason}"));
        }
        let Some((_, kind, act)) = WORDS.iter().find(|(known, ..)| *known == name) else {
            return fail(format!("memcached's -o has no word '{name}': -h lists all words"));
        };
        kind.check(&shown, value)?;
        match act {
            Act::Directive(directive) => self.set(directive, value),
            Act::Nothing => self.idle.push(shown),
            Act::Refused(reason) => return fail(format!("{shown} is not supported: {reason}")),
            Act::Always | Act::Directives(_) => {}
            Act::Special => match (name, value) {
                ("ssl_verify_mode", "0") => self.set("tls-auth-clients", "no"),
                ("ssl_verify_mode", "1" | "3") => self.set("tls-auth-clients", "optional"),
                ("ssl_verify_mode", "2") => self.set("tls-auth-clients", "yes"),
                // TLS versions before 1.2 are not supported at all.
                ("ssl_min_version", "0" | "1" | "2") => {
                    self.set("tls-protocols", "TLSv1.2 TLSv1.3");
                }
                ("ssl_min_version", "3") => self.set("tls-protocols", "TLSv1.3"),
                ("ssl_keyformat", "1") => {}
                ("ssl_keyformat", _) => {
                    return fail(format!("{shown}: keys must be in PEM format, 1"));
                }
                _ => return fail(format!("{shown}: '{value}' is not one of memcached's values")),
            },
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Asked, Error> {
        if let Some(text) = self.text {
            return Ok(Asked::Text(text));
        }
        if let Some(megabytes) = self.megabytes {
            self.set("maxmemory", &format!("{megabytes}mb"));
        }
        if let Some(item_max) = self.item_max {
            let memory = self.megabytes.unwrap_or(64) << 20;
            if memory > 0 && item_max > memory / ITEM_SHARE {
                return fail("-I must not be above half of the memory: raise -m".into());
            }
            self.set("memcached-item-size-max", &item_max.to_string());
        }
        let has_path = self.serve.directives.iter().any(|word| word == "--memcached-unixsocket");
        let port = self.port.clone().unwrap_or_else(|| PORT.into());
        let free = port == "-1";
        if port == "0" && !has_path {
            return fail("-p 0 opens no port: write a port, or a path with -s".into());
        }
        if has_path {
            // As in memcached, a path replaces the port.
            self.set("memcached-port", "0");
        } else {
            self.set("memcached-port", if free { PORT } else { &port });
            if free && self.listen.is_empty() {
                self.listen.push("0.0.0.0".into());
            }
            if free {
                for place in &mut self.listen {
                    *place += if place.ends_with(']') || !place.contains(':') { ":0" } else { "" };
                }
            }
        }
        if !self.listen.is_empty() && !has_path {
            self.serve.directives.push("--memcached-bind".into());
            self.serve.directives.append(&mut self.listen);
            // The operator has chosen the addresses, and so the clients.
            self.set("protected-mode", "no");
        } else if !has_path {
            self.serve.notes.push(
                "memcached serves clients of all machines, but without -l and without passwords \
                 (-Y) Larder serves only clients of this machine: to serve others, use -l ADDRESS"
                    .into(),
            );
        }
        if !self.idle.is_empty() {
            let idle = self.idle.join(" ");
            self.serve.notes.push(format!("these flags of memcached have no effect: {idle}"));
        }
        Ok(Asked::Serve(self.serve))
    }
}

/// A number of bytes; k and m are powers of two.
fn item_size(value: &str) -> Result<u64, Error> {
    let (digits, unit) = match value.as_bytes().last() {
        Some(b'k' | b'K') => (&value[..value.len() - 1], 10),
        Some(b'm' | b'M') => (&value[..value.len() - 1], 20),
        _ => (value, 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << unit));
    match bytes {
        Some(bytes) if (ITEM_MIN..=ITEM_MAX).contains(&bytes) => Ok(bytes),
        _ => fail(format!("-I {value}: write a size from 1k to 1024m, such as -I 2m")),
    }
}

fn version() -> String {
    format!("memcached {MEMCACHED_VERSION} (Larder {})\n", env!("CARGO_PKG_VERSION"))
}

/// The text of the help, in which tools look for flags.
fn help() -> String {
    let mut text = version();
    for flag in FLAGS {
        let value = if flag.value == Value::None { "" } else { "=<value>" };
        let names = format!("-{}, --{}{value}", flag.short, flag.long);
        // Writing to a String does not fail.
        let _ = writeln!(text, "{names:<34} {}", flag.doc);
    }
    text += "Words of -o:\n";
    for (name, value, act) in WORDS {
        let does = match act {
            Act::Nothing => "no effect",
            Act::Always => "always on",
            Act::Refused(_) => "refused",
            Act::Directive(_) | Act::Directives(_) | Act::Special => "supported",
        };
        let value = if *value == Value::None { "" } else { "=<value>" };
        let _ = writeln!(text, "  {:<32} {does}", format!("{name}{value}"));
    }
    text += "Directives of the server may follow as --directive value; larder serve --directives \
             lists them.\n";
    text
}
