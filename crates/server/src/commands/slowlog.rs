//! SLOWLOG and COMMANDLOG: commands that took long, or had many bytes.

use crate::call::{Call, Command, Done, Failure};
use crate::facts::flag::ADMIN;
use crate::server::Logs;
use crate::services::slow_log::SlowLog;
use wire::resp::{Reply, parse_integer, split_line};

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::container("slowlog", 0, SLOWLOG).doc("server", "2.2.12", "Slow commands."),
    Command::container("commandlog", 0, COMMANDLOG).doc(
        "server",
        "8.1.0",
        "Slow commands, and commands with large requests or replies.",
    ),
];

const SLOWLOG: &[Command] = &[
    Command::new("slowlog|get", -2, ADMIN, newest).doc("server", "2.2.12", "Slow commands."),
    Command::new("slowlog|len", 2, ADMIN, |call| len(call, Kind::Slow)).doc(
        "server",
        "2.2.12",
        "Counts slow commands.",
    ),
    Command::new("slowlog|reset", 2, ADMIN, |call| reset(call, Kind::Slow)).doc(
        "server",
        "2.2.12",
        "Forgets slow commands.",
    ),
    Command::new("slowlog|help", 2, 0, help).doc("server", "6.2.0", "The subcommands of SLOWLOG."),
];

const COMMANDLOG: &[Command] = &[
    Command::new("commandlog|get", 4, ADMIN, newest_of_kind).doc(
        "server",
        "8.1.0",
        "The newest entries of a log.",
    ),
    Command::new("commandlog|len", 3, ADMIN, |call| len(call, Kind::named(call, 2)?)).doc(
        "server",
        "8.1.0",
        "Counts the entries of a log.",
    ),
    Command::new("commandlog|reset", 3, ADMIN, |call| reset(call, Kind::named(call, 2)?)).doc(
        "server",
        "8.1.0",
        "Forgets the entries of a log.",
    ),
    Command::new("commandlog|help", 2, 0, log_help).doc(
        "server",
        "8.1.0",
        "The subcommands of COMMANDLOG.",
    ),
];

/// The log that a command is about.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Slow,
    LargeRequest,
    LargeReply,
}

impl Kind {
    /// The log that the argument at `at` names.
    fn named(call: &Call<'_>, at: usize) -> Result<Self, Failure> {
        match call.arg(at).to_ascii_lowercase().as_slice() {
            b"slow" => Ok(Self::Slow),
            b"large-request" => Ok(Self::LargeRequest),
            b"large-reply" => Ok(Self::LargeReply),
            _ => {
                Err("ERR type should be one of the following: slow, large-request, large-reply"
                    .into())
            }
        }
    }

    const fn log(self, logs: &Logs) -> &SlowLog {
        match self {
            Self::Slow => &logs.slow,
            Self::LargeRequest => &logs.large_requests,
            Self::LargeReply => &logs.large_replies,
        }
    }
}

fn newest(call: &mut Call<'_>) -> Done {
    let count = match call.args.len() {
        2 => 10,
        3 => parse_integer(call.arg(2)).unwrap_or(i64::MIN),
        _ => return Err(crate::call::SYNTAX.into()),
    };
    show(call, count, Kind::Slow)
}

fn newest_of_kind(call: &mut Call<'_>) -> Done {
    let count = parse_integer(call.arg(2)).unwrap_or(i64::MIN);
    show(call, count, Kind::named(call, 3)?)
}

/// Shows the newest `count` entries; all for -1.
fn show(call: &mut Call<'_>, count: i64, kind: Kind) -> Done {
    if count < -1 {
        return Err("ERR count should be greater than or equal to -1".into());
    }
    let entries = kind.log(&call.server.logs).newest(usize::try_from(count).unwrap_or(usize::MAX));
    call.out.array(entries.len());
    for entry in entries {
        call.out.array(6);
        call.out.integer(entry.id as i64);
        call.out.integer(entry.unix_s as i64);
        call.out.integer(entry.amount as i64);
        call.out.array(entry.args.len());
        for arg in &entry.args {
            call.out.bulk(arg);
        }
        call.out.bulk(entry.address.as_bytes());
        call.out.bulk(entry.name.as_bytes());
    }
    Ok(())
}

fn len(call: &mut Call<'_>, kind: Kind) -> Done {
    call.out.integer(kind.log(&call.server.logs).len() as i64);
    Ok(())
}

fn reset(call: &mut Call<'_>, kind: Kind) -> Done {
    kind.log(&call.server.logs).reset();
    call.ok()
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "GET [<count>]",
        "    The newest entries: id, time, microseconds, arguments, client, client's name.",
        "LEN",
        "    Count the entries.",
        "RESET",
        "    Forget the entries.",
        "HELP",
        "    Print this help.",
    ])
}

fn log_help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "COMMANDLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "GET <count> <type>",
        "    The newest entries: id, time, amount, arguments, client, client's name. The amount is",
        "    microseconds for the type slow, bytes for large-request and large-reply.",
        "LEN <type>",
        "    Count the entries.",
        "RESET <type>",
        "    Forget the entries.",
        "HELP",
        "    Print this help.",
    ])
}

/// The first command in these bytes, which have run before, and its length. It does not use the
/// decoder: with one more caller the compiler no longer inlines the decoder in the path of every
/// command.
#[cold]
pub(crate) fn read(bytes: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    if bytes.first() == Some(&b'*') {
        let (reply, len) = Reply::decode(bytes).ok()??;
        let Reply::Array(parts) = reply else {
            return None;
        };
        if parts.is_empty() {
            let (args, more) = read(&bytes[len..])?;
            return Some((args, len + more));
        }
        let args = parts.iter().map(|part| part.as_bytes().unwrap_or_default().to_vec());
        return Some((args.collect(), len));
    }
    let len = bytes.iter().position(|&byte| byte == b'\n')? + 1;
    let args = split_line(&bytes[..len])?;
    if args.is_empty() {
        let (args, more) = read(&bytes[len..])?;
        return Some((args, len + more));
    }
    Some((args, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_either_form_are_read_one_after_another() {
        let mut rest = &b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n\r\n*0\r\nSET a 'b c'\r\nPING\n*1\r\n"[..];
        let mut seen = vec![];
        while let Some((args, len)) = read(rest) {
            seen.push(args.join(&b' '));
            rest = &rest[len..];
        }
        assert_eq!(seen, [&b"GET a"[..], b"SET a b c", b"PING"]);
        assert_eq!(rest, b"*1\r\n");
    }
}
