//! SIGHUP: changed files take effect without a restart.
//!
//! The settings are read like at a start, and compared with the settings that were read last. Only
//! the differences are applied: changes by CONFIG SET and ACL SETUSER stay, unless the file now
//! differs about the same setting. A changed directive that needs a restart is named in the log.
//! Certificates, slots and passwords of memcached's clients are reread in any case.

use crate::server::Server;
use crate::settings::config::directive::{self, When};
use crate::settings::config::{Error, Settings, TenantConfig, User};
use std::path::PathBuf;
use std::sync::Arc;

/// The sources of the settings: a file, the environment and the command line.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) file: Option<PathBuf>,
    environment: Vec<(String, String)>,
    arguments: Vec<String>,
}

impl Sources {
    /// The sources: a file, the environment of this process, and directives with their words.
    pub(crate) fn new(file: Option<PathBuf>, arguments: Vec<String>) -> Self {
        // A variable that is no text is not for the server.
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self { file, environment: std::env::vars_os().filter_map(text).collect(), arguments }
    }

    /// Reads the settings from all sources.
    ///
    /// # Errors
    /// The error and its remedy.
    pub(crate) fn read(&self) -> Result<Settings, Error> {
        let mut settings = Settings::default();
        if let Some(file) = &self.file {
            settings.read(file)?;
        }
        settings.read_environment(self.environment.iter().cloned())?;
        settings.read_arguments(&self.arguments)?;
        Ok(settings)
    }

    /// Whether the command line sets a directive.
    pub(crate) fn asks_for(&self, directive: &str) -> bool {
        let names = self.arguments.iter().filter_map(|word| word.strip_prefix("--"));
        names.map(|name| name.split('=').next().unwrap_or(name)).any(|name| name == directive)
    }
}

/// Reads all sources again, and logs the changes. `last` are the settings that were read before.
pub(crate) fn reload(server: &Server, sources: &Sources, last: &mut Settings) {
    let mut said = Changes::default();
    let done = read(sources).and_then(|now| {
        server.change(|settings| {
            said = Changes::default();
            merge(settings, last, &now, &mut said)?;
            merge_tenants(settings, last, &now, &mut said);
            merge_users(settings, &last.users, &now.users, &mut said);
            settings.files_generation += 1;
            Ok::<_, Error>(())
        })?;
        *last = now;
        Ok(())
    });
    match done {
        Ok(()) => said.tell(server),
        Err(error) => tracing::warn!("SIGHUP changes nothing: {error}"),
    }
}

/// The settings of a start, with the users of the aclfile.
fn read(sources: &Sources) -> Result<Settings, Error> {
    let mut settings = sources.read()?;
    settings.check()?;
    settings.read_users()?;
    Ok(settings)
}

/// The changes of a reload, for the log.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    done: Vec<String>,
    /// Changed directives that need a restart.
    later: Vec<&'static str>,
}

impl Changes {
    fn tell(&self, server: &Server) {
        let view = server.view.now();
        let mut read = vec!["settings"];
        read.extend(view.tls.is_some().then_some("certificates"));
        read.extend(view.cluster.is_some().then_some("slots"));
        read.extend((!view.tokens.is_empty()).then_some("memcached-auth-file"));
        let changed =
            if self.done.is_empty() { "nothing".to_owned() } else { self.done.join("; ") };
        tracing::info!("reread {}; changed: {changed}", read.join(", "));
        if !self.later.is_empty() {
            tracing::warn!("these changes need a restart: {}", self.later.join(", "));
        }
    }
}

/// Applies the directives that differ between two readings.
fn merge(
    settings: &mut Settings,
    last: &Settings,
    now: &Settings,
    said: &mut Changes,
) -> Result<(), Error> {
    for known in directive::all().filter(|known| !known.is_named()) {
        let (before, value) = (known.file_lines(last), known.file_lines(now));
        if before == value {
            continue;
        }
        if known.when == When::Start {
            said.later.push(known.name);
            continue;
        }
        let (running, shown) = (known.show(settings), known.show(now));
        // The password itself belongs to the user `default`, which is handled with the users.
        if known.name == "requirepass" {
            settings.requirepass.clone_from(&now.requirepass);
            said.done.push(known.name.to_owned());
            continue;
        }
        let text = known.written(now);
        known
            .apply_text(settings, &text)
            .map_err(|error| Error(format!("{}: {error}", known.name)))?;
        if running != shown {
            said.done.push(format!("{} {text} (was {running})", known.name));
        }
    }
    Ok(())
}

fn merge_tenants(settings: &mut Settings, last: &Settings, now: &Settings, said: &mut Changes) {
    let find = |all: &[TenantConfig], name: &str| all.iter().find(|one| one.name == name).cloned();
    for tenant in &now.tenants {
        if find(&last.tenants, &tenant.name).as_ref() == Some(tenant) {
            continue;
        }
        let known = settings.tenants.iter_mut().find(|known| known.name == tenant.name);
        match known {
            Some(known) if known == tenant => continue,
            Some(known) => *known = tenant.clone(),
            None => settings.tenants.push(tenant.clone()),
        }
        said.done.push(format!("tenant {tenant}"));
    }
    for tenant in &last.tenants {
        let is_gone = find(&now.tenants, &tenant.name).is_none();
        if is_gone && find(&settings.tenants, &tenant.name).is_some() {
            settings.tenants.retain(|known| known.name != tenant.name);
            said.done.push(format!("the line of tenant {} was removed", tenant.name));
        }
    }
}

fn merge_users(settings: &mut Settings, last: &[Arc<User>], now: &[Arc<User>], said: &mut Changes) {
    let find = |all: &[Arc<User>], name: &str| all.iter().find(|one| one.name == name).cloned();
    for user in now {
        let is_same = |other: Option<Arc<User>>| other.is_some_and(|other| other == *user);
        if is_same(find(last, &user.name)) || is_same(find(&settings.users, &user.name)) {
            continue;
        }
        settings.set_user(User::clone(user));
        said.done.push(format!("user {}", user.name));
    }
    for user in last {
        let is_gone = find(now, &user.name).is_none();
        if is_gone && find(&settings.users, &user.name).is_some() {
            settings.users.retain(|known| known.name != user.name);
            said.done.push(format!("user {} was removed", user.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Settings {
        let mut settings = Settings::default();
        settings.read_text("larder.conf".as_ref(), text).unwrap();
        settings
    }

    fn merged(running: &mut Settings, last: &Settings, now: &Settings) -> Changes {
        let mut said = Changes::default();
        merge(running, last, now, &mut said).unwrap();
        merge_tenants(running, last, now, &mut said);
        merge_users(running, &last.users, &now.users, &mut said);
        said
    }

    #[test]
    fn what_differs_is_brought_over_and_all_else_stays() {
        let last = of(
            "maxmemory 1mb\ntimeout 5\nmaxclients 100\ntenant a match db 1\ntenant b match db 2\n\
             user bob on >x ~*\nuser eve on >y ~*\n",
        );
        let mut running = last.clone();
        running.apply("timeout", &["9".into()]).unwrap();
        running.apply("user", &["carl on nopass".into()]).unwrap();
        running.apply("tenant", &["b match db 2 min 1mb".into()]).unwrap();
        let now = of("maxmemory 2mb\ntimeout 5\nmaxclients 100\nport 7001\nrequirepass pw\n\
             tenant a match db 1 weight 2\ntenant b match db 2\ntenant c match db 3\n\
             user bob on >z ~*\n");
        let said = merged(&mut running, &last, &now);
        let done = [
            "maxmemory 2mb (was 1048576)",
            "requirepass",
            "tenant a match db 1 weight 2",
            "tenant c match db 3",
            "user bob",
            "user default",
            "user eve was removed",
        ];
        let mut told = said.done.clone();
        told.sort();
        assert_eq!(told, done);
        assert_eq!(said.later, ["port"]);
        assert_eq!((running.timeout, running.port, running.maxmemory.0), (9, 6379, 2 << 20));
        assert_eq!(running.tenants[1].to_string(), "b match db 2 min 1mb");
        let names: Vec<_> = running.users.iter().map(|user| user.name.as_str()).collect();
        assert_eq!(names, ["bob", "carl", "default"]);
        assert!(running.user("default").unwrap().admits(b"pw"));
        assert!(running.user("bob").unwrap().admits(b"z"));
        assert_eq!(merged(&mut running, &now, &now), Changes::default(), "twice is once");
        let said = merged(&mut running, &now, &of("maxmemory 2mb\n"));
        assert!(said.done.contains(&"the line of tenant c was removed".to_owned()), "{said:?}");
        assert!(running.is_open(), "the password is gone from the file");
    }
}
