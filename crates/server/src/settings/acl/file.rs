//! The aclfile: a line for each user.

use super::user::{DEFAULT, User};
use crate::settings::config::{Error, Settings, words};
use std::path::{Path, PathBuf};

/// The path of the aclfile; a relative path begins in `dir`.
pub(crate) fn path(settings: &Settings) -> PathBuf {
    Path::new(&settings.dir).join(&settings.aclfile)
}

/// The users of the aclfile: lines of `user NAME words`.
pub(crate) fn read(settings: &Settings) -> Result<Vec<User>, Error> {
    let path = path(settings);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Error(format!("cannot read aclfile {}: {error}", path.display())))?;
    let mut users: Vec<User> = vec![];
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: String| {
            Error(format!("line {} of aclfile {}: {why}", number + 1, path.display()))
        };
        let words = words(line).ok_or_else(|| wrong("a quote is not closed".into()))?;
        let [first, name, rules @ ..] = words.as_slice() else {
            return Err(wrong("it must begin with 'user' and a name".into()));
        };
        if first != "user" {
            return Err(wrong("it must begin with 'user' and a name".into()));
        }
        if users.iter().any(|user| user.name == *name) {
            return Err(wrong(format!(
                "Duplicate user '{name}' found: write all its rules on one line"
            )));
        }
        let mut user = settings.new_user(name);
        user.apply(rules, &settings.acl_pubsub_default)
            .map_err(|error| wrong(error.to_string()))?;
        users.push(user);
    }
    if !users.iter().any(|user| user.name == DEFAULT) {
        users.insert(0, User::everybody());
    }
    users.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(users)
}
