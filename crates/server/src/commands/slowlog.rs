//! SLOWLOG: what took long.

use super::flag::ADMIN;
use super::{Call, Command, Done};

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
