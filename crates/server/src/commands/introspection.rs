//! Commands that describe the server's commands, and MODULE, which replies that there are no
//! modules.

use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::facts::Facts;
use crate::facts::Places;
use crate::facts::flag::{self, ADMIN, NO_SCRIPT};
use crate::facts::table::{all, find, get, subcommands};
use crate::settings::acl::category;
use crate::text::glob;
use wire::resp::parse_integer;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("command", -1, 0, list_all).subcommands(COMMAND).categories(&["connection"]).doc(
        "server",
        "2.8.13",
        "Describes all commands.",
    ),
    Command::container("module", NO_SCRIPT, MODULE).doc(
        "server",
        "4.0.0",
        "Modules: there are none.",
    ),
];

const COMMAND: &[Command] = &[
    Command::new("command|count", 2, 0, count).doc("server", "2.8.13", "Counts the commands."),
    Command::new("command|info", -2, 0, info).doc("server", "2.8.13", "Describes commands."),
    Command::new("command|docs", -2, 0, docs).doc("server", "7.0.0", "Documents commands."),
    Command::new("command|list", -2, 0, names).doc("server", "7.0.0", "Names the commands."),
    Command::new("command|getkeys", -3, 0, getkeys).doc(
        "server",
        "2.8.13",
        "The keys of a command.",
    ),
    Command::new("command|getkeysandflags", -3, 0, getkeysandflags).doc(
        "server",
        "7.0.0",
        "The keys of a command, with its access to each key.",
    ),
    Command::new("command|help", 2, 0, help).doc("server", "5.0.0", "The subcommands of COMMAND."),
];

const MODULE: &[Command] = &[
    Command::new("module|list", 2, ADMIN, nothing).doc("server", "4.0.0", "Modules."),
    Command::new("module|help", 2, 0, module_help).doc(
        "server",
        "5.0.0",
        "The subcommands of MODULE.",
    ),
];

fn nothing(call: &mut Call<'_>) -> Done {
    call.out.array(0);
    Ok(())
}

fn count(call: &mut Call<'_>) -> Done {
    call.out.integer(all().len() as i64);
    Ok(())
}

fn list_all(call: &mut Call<'_>) -> Done {
    call.out.array(all().len());
    for command in all() {
        describe(call, command);
    }
    Ok(())
}

/// Writes the reply of COMMAND INFO: name, arity, flags, keys, categories, and fields that Larder
/// leaves empty.
fn describe(call: &mut Call<'_>, command: &Facts) {
    let out = &mut call.out;
    out.array(10);
    out.bulk(command.name.as_bytes());
    out.integer(i64::from(command.arity));
    let names: Vec<&str> =
        flag::NAMES.iter().filter(|(flag, _)| command.has(*flag)).map(|(_, name)| *name).collect();
    let is_counted = command.keys.are_movable();
    out.set(names.len() + usize::from(is_counted));
    for name in names {
        out.simple(name);
    }
    if is_counted {
        out.simple("movablekeys");
    }
    out.integer(i64::from(command.keys.first));
    out.integer(i64::from(command.keys.last));
    out.integer(i64::from(command.keys.step));
    let categories = category::of(command);
    out.set(categories.len());
    for category in categories {
        out.simple(&format!("@{category}"));
    }
    out.array(0);
    out.array(0);
    let below = subcommands(command);
    out.array(below.len());
    for subcommand in below {
        describe(call, subcommand);
    }
}

/// Finds a command by its name, or by `command|subcommand`.
pub(super) fn by_name(name: &[u8]) -> Option<&'static Facts> {
    let mut parts = name.splitn(2, |&byte| byte == b'|');
    let command = get(find(parts.next()?)?);
    match parts.next() {
        None => Some(command),
        Some(_) => subcommands(command)
            .find(|subcommand| subcommand.name.as_bytes().eq_ignore_ascii_case(name)),
    }
}

fn info(call: &mut Call<'_>) -> Done {
    if call.args.len() == 2 {
        return list_all(call);
    }
    call.out.array(call.args.len() - 2);
    for name in call.args.iter_from(2) {
        match by_name(name) {
            Some(command) => describe(call, command),
            None => call.out.null(),
        }
    }
    Ok(())
}

fn docs(call: &mut Call<'_>) -> Done {
    let chosen: Vec<&Facts> = if call.args.len() == 2 {
        all().collect()
    } else {
        call.args.iter_from(2).filter_map(by_name).collect()
    };
    call.out.map(chosen.len());
    for command in chosen {
        document(call, command);
    }
    Ok(())
}

fn document(call: &mut Call<'_>, command: &Facts) {
    let out = &mut call.out;
    out.bulk(command.name.as_bytes());
    let arguments = arguments(command);
    out.map(3 + usize::from(!arguments.is_empty()) + usize::from(command.has_subcommands));
    for (name, text) in
        [("summary", command.summary), ("since", command.since), ("group", command.group)]
    {
        out.bulk(name.as_bytes());
        out.bulk(text.as_bytes());
    }
    if !arguments.is_empty() {
        out.bulk(b"arguments");
        out.array(arguments.len());
        for (name, kind, many) in arguments {
            out.map(2 + usize::from(many));
            out.bulk(b"name");
            out.bulk(name.as_bytes());
            out.bulk(b"type");
            out.bulk(kind.as_bytes());
            if many {
                out.bulk(b"flags");
                out.set(2);
                out.simple("optional");
                out.simple("multiple");
            }
        }
    }
    if command.has_subcommands {
        call.out.bulk(b"subcommands");
        let below = subcommands(command);
        call.out.map(below.len());
        for subcommand in below {
            document(call, subcommand);
        }
    }
}

/// The arguments, as arity and keys describe them: (name, type, whether more may follow).
fn arguments(command: &Facts) -> Vec<(&'static str, &'static str, bool)> {
    let names = 1 + usize::from(command.name.contains('|'));
    let fixed = (command.arity.unsigned_abs() as usize).saturating_sub(names);
    let mut all: Vec<_> = (0..fixed)
        .map(|at| {
            let is_key = command.keys.first > 0 && at + names == command.keys.first as usize;
            if is_key { ("key", "key", false) } else { ("argument", "string", false) }
        })
        .collect();
    if command.arity < 0 && !command.has_subcommands {
        all.push(("more", "string", true));
    }
    all
}

fn names(call: &mut Call<'_>) -> Done {
    let mut chosen: Vec<&Facts> =
        all().flat_map(|command| std::iter::once(command).chain(subcommands(command))).collect();
    match call.args.len() {
        2 => {}
        5 if call.is(2, "filterby") => {
            let value = call.arg(4);
            if call.is(3, "pattern") {
                chosen.retain(|command| glob::matches_ignore_case(value, command.name.as_bytes()));
            } else if call.is(3, "aclcat") {
                let wanted = String::from_utf8_lossy(value).to_ascii_lowercase();
                chosen.retain(|command| category::of(command).contains(&wanted.as_str()));
            } else if call.is(3, "module") {
                chosen.clear();
            } else {
                return Err(SYNTAX.into());
            }
        }
        _ => return Err(SYNTAX.into()),
    }
    call.out.array(chosen.len());
    for command in chosen {
        call.out.bulk(command.name.as_bytes());
    }
    Ok(())
}

/// The command at argument 2, which must have keys, and its arguments.
fn with_keys<'a>(call: &Call<'a>) -> Result<(&'static Facts, Vec<&'a [u8]>), Failure> {
    let mut command = by_name(call.arg(2)).ok_or("ERR Invalid command specified")?;
    if command.has_subcommands && call.args.len() > 3 {
        let name = [command.name.as_bytes(), b"|", call.arg(3)].concat();
        command = by_name(&name).ok_or("ERR Invalid command specified")?;
    }
    let args: Vec<&[u8]> = call.args.iter_from(2).collect();
    if !command.keys.is_any() {
        return Err("ERR The command has no key arguments".into());
    }
    if !command.accepts(args.len()) {
        return Err("ERR Invalid number of arguments specified for command".into());
    }
    Ok((command, args))
}

/// The positions of a call's keys, if its arguments are possible. A script may have none.
fn places_of(command: &Facts, args: &[&[u8]]) -> Result<Places, Failure> {
    let count = command.keys.count;
    if count > 0 {
        let most = args.len().saturating_sub(count + 1) as i64;
        let told = args.get(count).copied().and_then(parse_integer);
        let is_possible = told.is_some_and(|told| (1..=most).contains(&told));
        if !is_possible && !command.has(flag::CARRIES) {
            return Err("ERR Invalid arguments specified for command".into());
        }
        if !is_possible {
            return Ok(command.key_places(0, |_| None));
        }
    }
    Ok(command.key_places(args.len(), |at| args.get(at).copied()))
}

fn getkeys(call: &mut Call<'_>) -> Done {
    let (command, args) = with_keys(call)?;
    let keys = places_of(command, &args)?;
    call.out.array(keys.len());
    for at in keys {
        call.out.bulk(args[at]);
    }
    Ok(())
}

fn getkeysandflags(call: &mut Call<'_>) -> Done {
    let (command, args) = with_keys(call)?;
    let keys = places_of(command, &args)?;
    call.out.array(keys.len());
    for at in keys {
        let access = command.access_at(&args, at);
        let words = [Some(access.mode), access.tells.then_some("access"), access.change];
        call.out.array(2);
        call.out.bulk(args[at]);
        call.out.set(words.iter().flatten().count());
        for word in words.into_iter().flatten() {
            call.out.simple(word);
        }
    }
    Ok(())
}

fn module_help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "MODULE <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "LIST",
        "    The modules: there are none, and none can be loaded.",
        "HELP",
        "    Print this help.",
    ])
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "(no subcommand)",
        "    Describe all commands.",
        "COUNT",
        "    Count the commands.",
        "DOCS [<command> ...] | INFO [<command> ...]",
        "    Document or describe commands; all without a name.",
        "GETKEYS <full-command> | GETKEYSANDFLAGS <full-command>",
        "    The keys of a command, with its access to each key.",
        "LIST [FILTERBY (ACLCAT <category> | PATTERN <pattern>)]",
        "    Name the commands.",
        "HELP",
        "    Print this help.",
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_follow_arity() {
        assert_eq!(arguments(by_name(b"get").unwrap()), [("key", "key", false)]);
        assert_eq!(arguments(by_name(b"object|freq").unwrap())[0], ("key", "key", false));
        assert!(arguments(by_name(b"mset").unwrap()).last().unwrap().2);
    }
}
