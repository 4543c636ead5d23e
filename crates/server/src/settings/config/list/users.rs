//! Directives about users.

use crate::settings::config::directive::When::Always;
use crate::settings::config::directive::{Directive, Shape, choice, number, word};
use crate::settings::config::{DEFAULT_USER, Settings};

pub(super) const ALL: &[Directive] = &[
    Directive::new(
        "requirepass",
        Always,
        "The password of the user default; with an empty one, clients need no password.",
        |settings| {
            let user = settings.user(DEFAULT_USER);
            let still = user.is_some_and(|user| user.requires(&settings.requirepass));
            if still { settings.requirepass.clone() } else { String::new() }
        },
        Shape::Word(|settings, word| {
            let mut user = settings.user_or_new(DEFAULT_USER);
            settings.requirepass = word.into();
            user.require(&settings.requirepass);
            settings.set_user(user);
            Ok(())
        }),
    )
    // Without a password here, the line of the user `default` defines its passwords.
    .in_file(|settings| Some(settings.requirepass.clone()).filter(|password| !password.is_empty())),
    Directive::new(
        "user",
        Always,
        "A user in the language of Redis' ACL, such as user NAME on >PASSWORD ~app:* +@read. \
         Repeatable; a line for a known name replaces it.",
        show_users,
        Shape::Named(|settings, words| {
            let [name, rest @ ..] = words else {
                return Err("a user needs a name".into());
            };
            if name.contains([' ', '\0']) {
                return Err("a user's name must not contain spaces".into());
            }
            let mut user = settings.new_user(name);
            user.apply(rest, &settings.acl_pubsub_default).map_err(|error| error.to_string())?;
            settings.set_user(user);
            Ok(())
        }),
    )
    // With an aclfile, ACL SAVE writes the users instead.
    .in_file(|settings| settings.aclfile.is_empty().then(|| show_users(settings))),
    number!(
        "auth-delay-max",
        Always,
        auth_delay_max,
        0..=60_000,
        "Most milliseconds by which the server delays the answer to a wrong password. The delay is \
         25 ms at first, and doubles with each further wrong password from the same host; 0 \
         answers at once."
    ),
    word!(
        "aclfile",
        Start,
        aclfile,
        "Path of a file with one user on each line, which begins with the word user. The server \
         reads it at its start and for ACL LOAD, and writes it for ACL SAVE. A relative path \
         begins in dir."
    ),
    number!(
        "acllog-max-len",
        Always,
        acllog_max_len,
        0..=1_000_000,
        "Most refusals in the ACL log."
    ),
    choice!(
        "acl-pubsub-default",
        Always,
        acl_pubsub_default,
        ["resetchannels", "allchannels"],
        "The channels of users that are created from now on: none or all."
    ),
];

fn show_users(settings: &Settings) -> String {
    settings.users.iter().map(|user| user.line()).collect::<Vec<_>>().join("\n")
}
