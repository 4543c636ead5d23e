//! Warnings about settings that are valid but will hardly do what their author intends, given when
//! they are set.

use super::Match;
use super::settings::Settings;
use crate::settings::memory_limit;
use files::is_writable;
use std::fs::File;
use std::path::Path;

impl Settings {
    /// The memory that a server with these settings uses, and what it does when that is full: the
    /// end of a sentence that begins with "it holds data".
    pub(crate) fn memory_use(&self) -> String {
        match self.maxmemory.0 {
            0 => "without a memory limit, so it never evicts (set maxmemory)".to_owned(),
            _ if !self.maxmemory_policy.evicts() => {
                format!("up to {}, then refuses writes (noeviction)", self.maxmemory)
            }
            _ => format!(
                "up to {}, then evicts ({}, recipe {})",
                self.maxmemory,
                self.maxmemory_policy.name(),
                self.recipe
            ),
        }
    }

    /// Lines for the log. Each is a sentence that names the remedy.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut all = vec![];
        let machine = memory_limit::bytes_of(1.0);
        if machine.0 > 0 && self.maxmemory > machine {
            all.push(format!(
                "maxmemory is {}, but this machine has {}: lower it, or set maxmemory auto",
                self.maxmemory, machine
            ));
        }
        for tenant in &self.tenants {
            for rule in &tenant.matches {
                if let Match::User(user) = rule
                    && self.user(user).is_none()
                    && self.memcached_auth_file.is_empty()
                {
                    all.push(format!(
                        "tenant {} matches user {user}, but there is no such user: add a user \
                         line, or run ACL SETUSER {user}",
                        tenant.name
                    ));
                }
            }
        }
        all
    }

    /// The warnings at the start: those of [`Self::doubts`], and those about folders and files of
    /// this machine.
    pub(crate) fn first_warnings(&self) -> Vec<String> {
        let mut all = self.warnings();
        if !Path::new(&self.dir).is_dir() {
            all.push(format!("dir {} is not a folder: create it, or name another", self.dir));
        }
        all.extend(self.unreadable_tls());
        let warm = Path::new(&self.warm_restart_file);
        if !self.warm_restart_file.is_empty() && !is_writable(warm) {
            all.push(format!(
                "cannot write warm-restart-file {}, so the server will save nothing: create its \
                 folder, let the server's user write there, or name another file",
                warm.display()
            ));
        }
        all
    }

    /// A TLS file that cannot be read, with the error.
    pub(crate) fn unreadable_tls(&self) -> Option<String> {
        let files = [
            ("tls-cert-file", &self.tls_cert_file),
            ("tls-key-file", &self.tls_key_file),
            ("tls-ca-cert-file", &self.tls_ca_cert_file),
        ];
        files.into_iter().filter(|(_, path)| !path.is_empty()).find_map(|(name, path)| {
            let error = File::open(path).err()?;
            Some(format!("cannot read {name} {path}: {error}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::config::{User, words};

    #[test]
    fn what_is_doubted_is_said_with_its_fix() {
        let mut settings = Settings::default();
        assert_eq!(settings.first_warnings(), Vec::<String>::new());
        for (name, value, part) in [
            ("maxmemory", "1000tb", "set maxmemory auto"),
            ("tenant", "web match user bob", "ACL SETUSER bob"),
            ("dir", "/nonexistent", "not a folder"),
            ("tls-cert-file", "/nonexistent/cert.pem", "cannot read tls-cert-file"),
            ("warm-restart-file", "/nonexistent/warm", "will save nothing"),
        ] {
            let mut doubtful = Settings::default();
            doubtful.apply(name, &words(value).unwrap()).unwrap();
            let warnings = doubtful.first_warnings();
            assert!(warnings.len() == 1 && warnings[0].contains(part), "{name}: {warnings:?}");
        }
        settings.apply("tenant", &words("web match user bob").unwrap()).unwrap();
        settings.set_user(User::new("bob"));
        assert_eq!(settings.warnings(), Vec::<String>::new());
    }
}
