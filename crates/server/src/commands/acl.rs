//! ACL: users, their permissions, and refusals.

use crate::call::{Call, Command, Done, Failure, wrong_arguments, wrong_number};
use crate::facts::Facts;
use crate::facts::flag::{ADMIN, NO_SCRIPT, SECRET};
use crate::facts::table::{find, find_subcommand, get};
use crate::services::clock::Clock;
use crate::settings::acl::{self, Denied, Rules, WordError, category};
use crate::settings::config::DEFAULT_USER;
use ring::rand::{SecureRandom, SystemRandom};
use wire::resp::{Encoder, parse_integer};

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[Command::container("acl", SECRET | NO_SCRIPT, ACL).doc(
    "server",
    "6.0.0",
    "Users and their permissions.",
)];

const ACL: &[Command] = &[
    Command::new("acl|cat", -2, 0, cat).doc("server", "6.0.0", "Categories of commands."),
    Command::new("acl|deluser", -3, ADMIN, deluser).doc("server", "6.0.0", "Removes users."),
    Command::new("acl|dryrun", -4, ADMIN, dryrun).doc(
        "server",
        "7.0.0",
        "Whether a user may call a command.",
    ),
    Command::new("acl|genpass", -2, 0, genpass).doc("server", "6.0.0", "Generates a password."),
    Command::new("acl|getuser", 3, ADMIN, getuser).doc("server", "6.0.0", "The rules of a user."),
    Command::new("acl|list", 2, ADMIN, list).doc("server", "6.0.0", "All users with their rules."),
    Command::new("acl|load", 2, ADMIN, load).doc("server", "6.0.0", "Reads the aclfile."),
    Command::new("acl|log", -2, ADMIN, log).doc(
        "server",
        "6.0.0",
        "Refused logins and commands, with their users.",
    ),
    Command::new("acl|save", 2, ADMIN, save).doc("server", "6.0.0", "Writes the aclfile."),
    Command::new("acl|setuser", -3, ADMIN, setuser).doc(
        "server",
        "6.0.0",
        "Creates or changes a user.",
    ),
    Command::new("acl|users", 2, ADMIN, users).doc("server", "6.0.0", "The names of all users."),
    Command::new("acl|whoami", 2, 0, whoami).doc("server", "6.0.0", "The client's user."),
    Command::new("acl|help", 2, 0, help).doc("server", "6.0.0", "The subcommands of ACL."),
];

fn cat(call: &mut Call<'_>) -> Done {
    match call.args.len() {
        2 => {
            call.out.array(category::NAMES.len());
            for name in category::NAMES {
                call.out.bulk(name.as_bytes());
            }
        }
        3 => {
            let wanted = call.text(2).to_ascii_lowercase();
            if !category::NAMES.contains(&wanted.as_str()) {
                return Err(Failure::err(&format!("Unknown category '{}'", call.text(2))));
            }
            let numbers = 0..crate::facts::table::count() as u16;
            let found: Vec<&Facts> = numbers
                .map(get)
                .filter(|command| category::of(command).contains(&wanted.as_str()))
                .collect();
            call.out.array(found.len());
            for command in found {
                call.out.bulk(command.name.as_bytes());
            }
        }
        _ => return Err(wrong_arguments(call)),
    }
    Ok(())
}

fn whoami(call: &mut Call<'_>) -> Done {
    let user = call.session.user.clone().unwrap_or_default();
    call.out.bulk(user.as_bytes());
    Ok(())
}

fn users(call: &mut Call<'_>) -> Done {
    let users = &call.view.settings.users;
    call.out.array(users.len());
    for user in users {
        call.out.bulk(user.name.as_bytes());
    }
    Ok(())
}

fn list(call: &mut Call<'_>) -> Done {
    let users = &call.view.settings.users;
    call.out.array(users.len());
    for user in users {
        call.out.bulk(format!("user {user}").as_bytes());
    }
    Ok(())
}

fn getuser(call: &mut Call<'_>) -> Done {
    let Some(user) = call.view.settings.user(&call.text(2)).cloned() else {
        call.out.null();
        return Ok(());
    };
    let mut rules = user.rules();
    let (root, more) = (rules.remove(0), rules);
    let out = &mut call.out;
    out.map(6 + usize::from(root.databases.is_some()));
    out.bulk(b"flags");
    let mut flags = vec![if user.enabled { "on" } else { "off" }];
    flags.extend(user.nopass.then_some("nopass"));
    out.set(flags.len());
    for flag in flags {
        out.bulk(flag.as_bytes());
    }
    out.bulk(b"passwords");
    let hashes = user.hashes();
    out.array(hashes.len());
    for hash in hashes {
        out.bulk(hash.as_bytes());
    }
    show(out, root);
    out.bulk(b"selectors");
    out.array(more.len());
    for rules in more {
        out.map(3 + usize::from(rules.databases.is_some()));
        show(out, rules);
    }
    Ok(())
}

fn show(out: &mut Encoder<'_>, rules: Rules) {
    for (name, text) in [
        ("commands", Some(rules.commands)),
        ("keys", Some(rules.keys)),
        ("channels", Some(rules.channels)),
        ("databases", rules.databases),
    ] {
        if let Some(text) = text {
            out.bulk(name.as_bytes());
            out.bulk(text.as_bytes());
        }
    }
}

/// Decodes UTF-8 strictly. With replacement characters a rule would allow something that its author
/// did not write.
fn exact(bytes: &[u8]) -> Result<String, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|_| "ERR ACL rules and names must be UTF-8")?;
    Ok(text.to_owned())
}

fn wrong_word(error: &WordError) -> Failure {
    if error.why.starts_with("Unmatched") {
        let text = format!("Unmatched parenthesis in acl selector starting at '{}'.", error.word);
        return Failure::err(&text);
    }
    Failure::err(&format!("Error in ACL SETUSER modifier '{}': {}", error.word, error.why))
}

fn setuser(call: &mut Call<'_>) -> Done {
    let name = exact(call.arg(2))?;
    if name.contains([' ', '\0']) {
        return Err("ERR Usernames can't contain spaces or null characters".into());
    }
    let rules: Result<Vec<String>, Failure> = call.args.iter_from(3).map(exact).collect();
    let rules = rules?;
    call.server.change(|settings| {
        let mut user = settings.user_or_new(&name);
        user.apply(&rules, &settings.acl_pubsub_default).map_err(|error| wrong_word(&error))?;
        settings.set_user(user);
        Ok::<_, Failure>(())
    })?;
    call.ok()
}

fn deluser(call: &mut Call<'_>) -> Done {
    let names: Vec<String> =
        call.args.iter_from(2).map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    if names.iter().any(|name| name == DEFAULT_USER) {
        return Err("ERR The 'default' user cannot be removed".into());
    }
    let mut removed = 0;
    call.server.change(|settings| {
        let before = settings.users.len();
        settings.users.retain(|user| !names.contains(&user.name));
        removed = before - settings.users.len();
        Ok::<_, Failure>(())
    })?;
    call.out.integer(removed as i64);
    Ok(())
}

fn dryrun(call: &mut Call<'_>) -> Done {
    let name = call.text(2);
    let Some(user) = call.view.settings.user(&name).cloned() else {
        return Err(Failure::err(&format!("User '{name}' not found")));
    };
    let args: Vec<&[u8]> = call.args.iter_from(3).collect();
    let unknown = || Failure::err(&format!("Command '{}' not found", call.text(3)));
    let mut number = find(args[0]).ok_or_else(unknown)?;
    if get(number).has_subcommands && args.len() > 1 {
        number = find_subcommand(number, args[1]).ok_or_else(unknown)?;
    }
    if !get(number).accepts(args.len()) {
        return Err(wrong_number(get(number).name));
    }
    let Err(denied) = user.check(number, &args, call.session.db) else {
        return call.ok();
    };
    if let Denied::Database(db) = denied {
        let text = format!("User {} has no permissions to access database {db}", user.name);
        call.out.bulk(text.as_bytes());
        return Ok(());
    }
    let object = denied.object(number, &args);
    let what = match denied {
        Denied::Command => "run the",
        _ => "access the",
    };
    let before = format!("User {} has no permissions to {what} '", user.name);
    let after = format!("' {}", denied.reason());
    let text = [before.as_bytes(), &object, after.as_bytes()];
    call.out.bulk(&text.concat());
    Ok(())
}

fn genpass(call: &mut Call<'_>) -> Done {
    let bits = match call.args.len() {
        2 => 256,
        3 => call.integer(2)?,
        _ => return Err(wrong_arguments(call)),
    };
    if !(1..=4096).contains(&bits) {
        return Err(
            "ERR ACL GENPASS argument must be the number of bits for the output password, \
                    a positive number up to 4096"
                .into(),
        );
    }
    let digits = (bits as usize).div_ceil(4);
    let mut bytes = vec![0; digits.div_ceil(2)];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Failure::err("the system returns no random bytes"))?;
    let mut text = acl::hex(&bytes);
    text.truncate(digits);
    call.out.bulk(text.as_bytes());
    Ok(())
}

fn log(call: &mut Call<'_>) -> Done {
    let count = match call.args.len() {
        2 => 10,
        3 if call.is(2, "reset") => {
            call.server.logs.acl.reset();
            return call.ok();
        }
        3 => parse_integer(call.arg(2)).ok_or(crate::call::NOT_AN_INTEGER)?.max(0) as usize,
        _ => return Err(wrong_arguments(call)),
    };
    let entries = call.server.logs.acl.newest(count);
    let unix_ms = Clock::unix_us() / 1_000;
    let out = &mut call.out;
    out.array(entries.len());
    for entry in entries {
        out.map(10);
        out.bulk(b"count");
        out.integer(entry.count as i64);
        for (name, text) in [
            ("reason", entry.what.reason.as_bytes()),
            ("context", entry.what.context.as_bytes()),
            ("object", &entry.what.object),
            ("username", entry.what.user.as_bytes()),
        ] {
            out.bulk(name.as_bytes());
            out.bulk(text);
        }
        out.bulk(b"age-seconds");
        out.double(unix_ms.saturating_sub(entry.updated_ms) as f64 / 1_000.0);
        out.bulk(b"client-info");
        out.bulk(entry.client.as_bytes());
        for (name, number) in [
            ("entry-id", entry.id),
            ("timestamp-created", entry.created_ms),
            ("timestamp-last-updated", entry.updated_ms),
        ] {
            out.bulk(name.as_bytes());
            out.integer(number as i64);
        }
    }
    Ok(())
}

const NO_FILE: &str = "ERR This Redis instance is not configured to use an ACL file. You may want \
    to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you \
    have a Redis configuration file set) in order to store users in the Redis configuration.";

fn load(call: &mut Call<'_>) -> Done {
    if call.view.settings.aclfile.is_empty() {
        return Err(NO_FILE.into());
    }
    let users = acl::read(&call.view.settings).map_err(|error| Failure::err(&error.to_string()))?;
    call.server.change(|settings| {
        settings.users = users.into_iter().map(Into::into).collect();
        Ok::<_, Failure>(())
    })?;
    call.ok()
}

fn save(call: &mut Call<'_>) -> Done {
    if call.view.settings.aclfile.is_empty() {
        return Err(NO_FILE.into());
    }
    let path = acl::path(&call.view.settings);
    let users = call.view.settings.users.iter();
    let lines: Vec<String> = users.map(|user| format!("user {}\n", user.line())).collect();
    let written = files::replace(&path, lines.concat().as_bytes(), files::OWN);
    written.map_err(|error| {
        Failure::err(&format!("cannot write aclfile {}: {error}", path.display()))
    })?;
    call.ok()
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "CAT [<category>]",
        "    The categories of commands, or the commands of one.",
        "DELUSER <username> [<username> ...]",
        "    Remove users, and close their connections.",
        "DRYRUN <username> <command> [<arg> ...]",
        "    Whether a user may call a command.",
        "GENPASS [<bits>]",
        "    Generate a password.",
        "GETUSER <username> | LIST | USERS | WHOAMI",
        "    Users and their rules.",
        "LOAD | SAVE",
        "    Read or write the aclfile.",
        "LOG [<count> | RESET]",
        "    Refused logins and commands, with their users.",
        "SETUSER <username> <attribute> [<attribute> ...]",
        "    Create or change a user.",
        "HELP",
        "    Print this help.",
    ])
}
