//! SLOWLOG: what took long.

use super::flag::ADMIN;
use super::{Call, Command, Done};
use wire::resp::{Reply, split_line};

/// This family.
pub(super) const COMMANDS: &[Command] =
    &[Command::container("slowlog", ADMIN, SLOWLOG).doc("server", "2.2.12", "Slow commands.")];

const SLOWLOG: &[Command] = &[
    Command::new("slowlog|get", -2, ADMIN, newest).doc("server", "2.2.12", "Slow commands."),
    Command::new("slowlog|len", 2, ADMIN, len).doc("server", "2.2.12", "Counts slow commands."),
    Command::new("slowlog|reset", 2, ADMIN, reset).doc(
        "server",
        "2.2.12",
        "Forgets slow commands.",
    ),
    Command::new("slowlog|help", 2, 0, help).doc("server", "6.2.0", "The subcommands of SLOWLOG."),
];

fn newest(call: &mut Call<'_>) -> Done {
    let count = match call.args.len() {
        2 => 10,
        3 => call.integer(2)?,
        _ => return Err(super::SYNTAX.into()),
    };
    if count < -1 {
        return Err("ERR count should be greater than or equal to -1".into());
    }
    let entries = call.shared.slowlog.newest(usize::try_from(count).unwrap_or(usize::MAX));
    call.out.array(entries.len());
    for entry in entries {
        call.out.array(6);
        call.out.integer(entry.id as i64);
        call.out.integer(entry.unix_s as i64);
        call.out.integer(entry.micros as i64);
        call.out.array(entry.args.len());
        for arg in &entry.args {
            call.out.bulk(arg);
        }
        call.out.bulk(entry.address.as_bytes());
        call.out.bulk(entry.name.as_bytes());
    }
    Ok(())
}

fn len(call: &mut Call<'_>) -> Done {
    call.out.integer(call.shared.slowlog.len() as i64);
    Ok(())
}

fn reset(call: &mut Call<'_>) -> Done {
    call.shared.slowlog.reset();
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

/// The command at the front of bytes that were carried out, and its length. Not by the decoder:
/// one more place that uses it, and the compiler no longer inlines it where every command passes.
#[cold]
pub(crate) fn read(bytes: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    if bytes.first() == Some(&b'*') {
        let (reply, len) = Reply::decode(bytes).ok()??;
        let Reply::Array(parts) = reply else { return None };
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
