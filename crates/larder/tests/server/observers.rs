//! Which observers see a request, by its origin: a client, EXEC, a script, the retry of a blocked
//! command, or a client of memcached's protocol.
//!
//! Each request writes the key `to`, which does not exist before. Over RESP it moves an element
//! there. Reads are of the key `none`, which does not exist either.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{Server, serve_both};
use std::thread::sleep;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Client,
    Exec,
    Script,
    Retry,
    Memcached,
}
use Origin::{Exec, Memcached, Retry, Script};

const ALL: [Origin; 5] = [Origin::Client, Exec, Script, Retry, Memcached];

const MOVE: &str = "LMOVE from to LEFT RIGHT";
const BLOCKING_MOVE: &str = "BLMOVE from to LEFT RIGHT 0";
const SCRIPT: &str =
    "EVAL \"return redis.call('LMOVE', ARGV[1], ARGV[2], 'LEFT', 'RIGHT')\" 0 from to";

/// The time after which a message that was not sent counts as never sent.
const QUIET: Duration = Duration::from_millis(150);

/// A server, a client that makes the requests, and one that looks on.
struct Bench {
    server: Server,
    port: u16,
    client: Client,
    other: Client,
}

impl Bench {
    fn new(arguments: &str) -> Self {
        let (server, port) = serve_both(arguments);
        let (client, other) = (Client::new(server.addr()), Client::new(server.addr()));
        Self { server, port, client, other }
    }

    /// Sends a request from this origin. Returns its reply; the replies around it are left out.
    fn write(&mut self, origin: Origin) -> String {
        if origin != Retry {
            self.other.ask("RPUSH from x");
        }
        self.begin(origin);
        self.end(origin)
    }

    /// Sends all but the last part of a request.
    fn begin(&mut self, origin: Origin) {
        match origin {
            Exec => {
                self.client.ask("MULTI");
                assert_eq!(self.client.ask(MOVE), "+QUEUED\r\n");
            }
            Retry => {
                self.client.send(format!("{BLOCKING_MOVE}\r\n").as_bytes());
                while self.other.info("blocked_clients") != "1" {
                    sleep(Duration::from_millis(5));
                }
            }
            _ => {}
        }
    }

    /// Sends the last part of a request. Returns its reply.
    fn end(&mut self, origin: Origin) -> String {
        self.send_end(origin);
        self.reply(origin)
    }

    fn send_end(&mut self, origin: Origin) {
        match origin {
            Origin::Client => self.client.send(format!("{MOVE}\r\n").as_bytes()),
            Exec => self.client.send(b"EXEC\r\n"),
            Script => self.client.send(format!("{SCRIPT}\r\n").as_bytes()),
            Retry => {
                self.other.ask("RPUSH from x");
            }
            Memcached => {}
        }
    }

    fn reply(&mut self, origin: Origin) -> String {
        if origin == Memcached {
            let mut text = Text::new(self.port);
            text.send(b"set to 0 0 1\r\nx\r\n");
            return text.line();
        }
        String::from_utf8(self.client.reply()).unwrap()
    }

    /// Reads a missing key.
    fn read(&mut self, origin: Origin) {
        let lines: &[&str] = match origin {
            Origin::Client => &["GET none"],
            Exec => &["MULTI", "GET none", "EXEC"],
            Script => &["EVAL \"redis.call('GET', ARGV[1])\" 0 none"],
            Retry => &[],
            Memcached => return drop(Text::new(self.port).ask("get none")),
        };
        for line in lines {
            self.client.ask(line);
        }
    }

    /// A client over RESP3.
    fn third(&self) -> Client {
        let mut client = Client::new(self.server.addr());
        client.ask("HELLO 3");
        client
    }

    /// A field of a command's line in INFO COMMANDSTATS; 0 without such a line.
    fn stat(&mut self, command: &str, field: &str) -> u64 {
        let text = self.other.value("INFO commandstats");
        let begin = format!("cmdstat_{command}:");
        let line = text.lines().find_map(|line| line.strip_prefix(&begin)).unwrap_or_default();
        let mut fields = line.split(',').filter_map(|pair| pair.split_once('='));
        fields.find(|(name, _)| *name == field).map_or(0, |(_, value)| value.parse().unwrap())
    }
}

/// The messages that a client gets before the reply to a PING.
fn heard(client: &mut Client) -> Vec<String> {
    sleep(QUIET);
    client.send(b"PING end\r\n");
    let mut all = vec![];
    loop {
        let message = String::from_utf8(client.reply()).unwrap();
        if message == "$3\r\nend\r\n" {
            return all;
        }
        all.push(message.trim_end().to_owned());
    }
}

/// The view of an observer on every origin, in the order of [`ALL`].
fn seen(arguments: &str, see: impl Fn(&mut Bench, Origin) -> String) -> [String; 5] {
    ALL.map(|origin| see(&mut Bench::new(arguments), origin))
}

#[test]
fn monitor_shows_commands_of_clients_and_scripts() {
    let lines = seen("", |bench, origin| {
        let mut watcher = bench.third();
        watcher.ask("MONITOR");
        bench.write(origin);
        let lines = heard(&mut watcher);
        let shown = lines.iter().filter(|line| line.contains("\"to\""));
        let name = |line: &String| {
            let by = if line.contains(" lua]") { "lua " } else { "" };
            format!("{by}{}", line.split('"').nth(1).unwrap())
        };
        shown.map(name).collect::<Vec<_>>().join(", ")
    });
    assert_eq!(lines, ["LMOVE", "LMOVE", "EVAL, lua LMOVE", "BLMOVE", ""]);
}

/// A queued command is timed when it is queued, and EXEC as a whole.
#[test]
fn the_histogram_has_commands_of_clients() {
    let timed = |bench: &mut Bench| {
        let all = bench.other.ask("LATENCY HISTOGRAM lmove blmove exec eval get set");
        let names = all.lines().filter(|line| line.starts_with(char::is_alphabetic));
        names
            .filter(|name| !["calls", "histogram_usec"].contains(name))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let whole = seen("", |bench, origin| {
        bench.write(origin);
        timed(bench)
    });
    assert_eq!(whole, ["lmove", "lmove exec", "eval", "blmove", ""]);
    let ends = seen("--latency-tracking no", |bench, origin| {
        bench.other.ask("RPUSH from x");
        if origin == Retry {
            bench.other.ask("DEL from");
        }
        bench.begin(origin);
        bench.other.ask("CONFIG SET latency-tracking yes");
        bench.end(origin);
        timed(bench)
    });
    assert_eq!(ends, ["lmove", "exec", "eval", "", ""]);
}

/// Each of the two keys gets half of the bytes: of `LMOVE` and its reply, of the queued `LMOVE` and
/// `QUEUED`, and of the blocked `BLMOVE` without a reply.
#[test]
fn hotkeys_counts_commands_of_clients() {
    let keys = seen("", |bench, origin| {
        bench.other.ask("HOTKEYS START METRICS 1 NET");
        bench.write(origin);
        let all = bench.other.ask("HOTKEYS GET");
        let found = all.split("$2\r\nto\r\n:").nth(1);
        found.map_or("", |rest| rest.split('\r').next().unwrap()).to_owned()
    });
    assert_eq!(keys, ["16", "31", "", "14", ""]);
}

#[test]
fn tracking_hears_of_all_writes() {
    let lines = seen("", |bench, origin| {
        let mut cache = bench.third();
        cache.ask("CLIENT TRACKING ON");
        cache.ask("EXISTS to");
        bench.write(origin);
        heard(&mut cache).concat()
    });
    assert_eq!(lines, ALL.map(|_| ">2\r\n$10\r\ninvalidate\r\n*1\r\n$2\r\nto"));
}

/// Only clients of RESP track.
#[test]
fn tracking_remembers_all_reads() {
    let lines = seen("", |bench, origin| {
        if matches!(origin, Origin::Client | Exec | Script) {
            bench.client.ask("HELLO 3");
            bench.client.ask("CLIENT TRACKING ON");
        }
        bench.read(origin);
        bench.other.ask("SET none 1");
        let lines = heard(&mut bench.client);
        lines.concat().replace("\r\n", " ")
    });
    let told = ">2 $10 invalidate *1 $4 none";
    assert_eq!(lines, [told, told, told, "", ""]);
}

/// The handlers of memcached's protocol send these events themselves.
#[test]
fn events_about_missing_keys_are_sent_for_all() {
    let lines = seen("--notify-keyspace-events Emn", |bench, origin| {
        let mut ears = Client::new(bench.server.addr());
        ears.ask("PSUBSCRIBE __key*");
        bench.write(origin);
        bench.read(origin);
        let lines = heard_by_subscriber(&mut ears);
        lines.into_iter().filter(|line| !line.ends_with(" from")).collect::<Vec<_>>().join(", ")
    });
    let read = "new to, keymiss none";
    assert_eq!(lines, [read, read, read, "new to", read]);
}

/// The keyspace notifications until now: `event key`.
fn heard_by_subscriber(client: &mut Client) -> Vec<String> {
    sleep(QUIET);
    client.send(b"PING end\r\n");
    let mut all = vec![];
    loop {
        let message = String::from_utf8(client.reply()).unwrap();
        let words: Vec<_> = message.lines().filter(|word| !word.starts_with(['*', '$'])).collect();
        let ["pmessage", _, channel, key] = words[..] else { return all };
        all.push(format!("{} {key}", channel.replace("__keyevent@0__:", "")));
    }
}

/// A retry is made in the pause that the EXEC with the awaited element begins.
#[test]
fn all_writes_wait_for_the_end_of_a_pause() {
    let replies = seen("", |bench, origin| {
        bench.begin(origin);
        if origin == Retry {
            for line in ["MULTI", "RPUSH from x", "CLIENT PAUSE 60000 WRITE", "EXEC"] {
                bench.other.ask(line);
            }
        } else {
            bench.other.ask("RPUSH from x");
            bench.other.ask("CLIENT PAUSE 60000 WRITE");
        }
        let mut text = Text::new(bench.port);
        match origin {
            Retry => {}
            Memcached => text.send(b"set to 0 0 1\r\nx\r\n"),
            _ => bench.send_end(origin),
        }
        sleep(QUIET);
        let is_there = bench.other.value("EXISTS to");
        bench.other.ask("CLIENT UNPAUSE");
        let reply = match origin {
            Memcached => text.line(),
            _ => bench.reply(origin).replace("\r\n", " "),
        };
        format!("{is_there} then {}", reply.trim_end())
    });
    let moved = "0 then $1 x";
    assert_eq!(replies, [moved, "0 then *1 $1 x", moved, moved, "0 then STORED"]);
}

/// The script writes the awaited element and then runs on. The retry waits for its end.
#[test]
fn all_but_a_retry_are_refused_while_a_script_runs_on() {
    let replies = seen("--busy-reply-threshold 50", |bench, origin| {
        let long = "redis.call('RPUSH', 'from', 'x') \
                    local function now() local t = redis.call('TIME') \
                    return t[1] * 1000 + t[2] / 1000 end \
                    local stop = now() + 1000 while now() < stop do end";
        bench.begin(origin);
        let mut runner = bench.third();
        runner.send(format!("EVAL \"{long}\" 0\r\n").as_bytes());
        while bench.other.ask("GET none").starts_with('$') {}
        let reply = match origin {
            Retry => String::new(),
            _ => bench.end(origin),
        };
        assert!(bench.other.ask("GET none").starts_with("-BUSY"), "the script still runs");
        runner.reply();
        let after = if origin == Retry { bench.reply(origin) } else { String::new() };
        format!("{}{}", reply.get(..9).unwrap_or(&reply), after.replace("\r\n", " "))
    });
    assert_eq!(replies, ["-BUSY Red", "-EXECABOR", "-BUSY Red", "$1 x ", "SERVER_ER"]);
}

/// EXEC is not logged itself. A blocked command is logged when its wait ends.
#[test]
fn the_slow_log_has_all_commands_of_resp() {
    let logged = seen("--slowlog-log-slower-than 0", |bench, origin| {
        bench.write(origin);
        let entries = bench.other.ask("SLOWLOG GET -1");
        let count = |name: &str| entries.matches(&format!("\r\n{name}\r\n")).count();
        ["LMOVE", "BLMOVE", "EXEC", "EVAL", "set"].map(|name| count(name).to_string()).join(" ")
    });
    assert_eq!(logged, ["1 0 0 0 0", "1 0 0 0 0", "1 0 0 1 0", "0 1 0 0 0", "0 0 0 0 0"]);
}

#[test]
fn commands_are_counted_once_by_all_of_resp() {
    let counts = seen("", |bench, origin| {
        bench.write(origin);
        let stats = ["lmove", "blmove", "exec", "eval", "set"];
        stats.map(|name| bench.stat(name, "calls").to_string()).join(" ")
    });
    assert_eq!(counts, ["1 0 0 0 0", "1 0 1 0 0", "1 0 0 1 0", "0 1 0 0 0", "0 0 0 0 0"]);
}

/// The last command of a client, in CLIENT LIST.
#[test]
fn a_last_command_is_what_the_client_sent() {
    let names = seen("", |bench, origin| {
        let mut text = Text::new(bench.port);
        bench.client.ask("CLIENT SETNAME me");
        if origin == Memcached {
            text.ask("set to 0 0 1|x");
        } else {
            bench.write(origin);
        }
        let all = bench.other.value("CLIENT LIST");
        let is_its = |line: &&str| match origin {
            Memcached => line.contains(&format!(":{} ", bench.port)),
            _ => line.contains(" name=me "),
        };
        let line = all.lines().find(is_its).unwrap();
        line.split(" cmd=").nth(1).unwrap().split(' ').next().unwrap().to_owned()
    });
    assert_eq!(names, ["lmove", "exec", "eval", "blmove", "NULL"]);
}

/// The reply and the context in the ACL log; then the counts of rejected and of failed calls, of
/// rejected calls of `set`, and of error replies.
#[test]
fn refusals_are_logged_for_all_and_counted_for_clients_and_scripts() {
    let refused = seen("", |bench, origin| {
        let forbid = "ACL SETUSER default -lmove -blmove -set";
        bench.other.ask("ACL SETUSER admin on >pw +@all ~*");
        bench.other.ask("AUTH admin pw");
        bench.other.ask("RPUSH from x");
        if origin == Retry {
            bench.other.ask("DEL from");
        }
        bench.begin(origin);
        bench.other.ask(forbid);
        let reply = bench.end(origin).replace("\r\n", " ");
        let log = bench.other.ask("ACL LOG");
        let context = log.split("context\r\n").nth(1).and_then(|rest| rest.lines().nth(1));
        let command = if origin == Retry { "blmove" } else { "lmove" };
        let (rejected, failed) =
            (bench.stat(command, "rejected_calls"), bench.stat(command, "failed_calls"));
        let set = bench.stat("set", "rejected_calls");
        let errors = bench.other.value("INFO errorstats");
        let errors = errors.split("errorstat_NOPERM:count=").nth(1).map_or("0", str::trim_end);
        format!(
            "{}, {}: {rejected} {failed} {set} {errors}",
            &reply[..12],
            context.unwrap_or("none")
        )
    });
    assert_eq!(
        refused,
        [
            "-NOPERM User, toplevel: 1 0 0 1",
            "*1 -NOPERM U, multi: 0 0 0 1",
            "-ERR ACL fai, lua: 1 0 0 0",
            "-NOPERM User, toplevel: 0 0 0 1",
            "CLIENT_ERROR, toplevel: 0 0 0 0",
        ]
    );
}
