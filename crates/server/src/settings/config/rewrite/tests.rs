//! A file that CONFIG REWRITE wrote restores the settings.

use crate::settings::config::{Error, Settings, directive, words};
use base::Bytes;

/// A folder with these files, one of them `larder.conf`.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

/// Reads the settings, changes them and rewrites the file. Checks that the new file restores all of
/// them.
fn rewritten(files: &[(&str, &str)], change: impl FnOnce(&mut Settings)) -> Result<String, Error> {
    let dir = folder(files);
    let path = dir.path().join("larder.conf");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut settings = Settings::default();
    settings.read(&path)?;
    change(&mut settings);
    let written = settings.rewrite(&path, &text)?;
    std::fs::write(&path, &written).unwrap();
    let mut again = Settings::default();
    again.read(&path).expect("a rewritten file starts the server");
    assert_eq!(settings.different(&again).map(|known| known.name).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(settings.ignored, again.ignored);
    assert_eq!(again.rewrite(&path, &written).unwrap(), written, "twice is once");
    Ok(written)
}

fn set(settings: &mut Settings, name: &str, line: &str) {
    settings.apply(name, &words(line).unwrap()).unwrap();
}

#[test]
fn a_rewritten_file_says_what_is_set() {
    let text = "# mine\nport 7000\n# memory\nmaxmemory 1mb\nsave \"\"\ntenant a match db 1\n";
    let written = rewritten(&[("larder.conf", text)], |settings| {
        set(settings, "maxmemory", "41mb");
        set(settings, "timeout", "9");
        set(settings, "requirepass", "'a b'");
        set(settings, "tenant", "a match db 1 min 1536kb");
        set(settings, "tenant", "b match db 2");
        set(settings, "client-output-buffer-limit", "normal 3mb 2mb 60");
    })
    .unwrap();
    let begin = "# mine\nport 7000\n# memory\nmaxmemory 41mb\nsave \"\"\ntenant a match db 1 min \
                 1536kb\n";
    assert!(written.starts_with(begin), "{written}");
    for line in [
        "requirepass \"a b\"",
        "tenant b match db 2",
        "client-output-buffer-limit normal 3mb 2mb 60 replica 0 0 0 pubsub 32mb 8mb 60",
    ] {
        assert_eq!(written.lines().filter(|known| *known == line).count(), 1, "{line}: {written}");
    }
}

/// A setting with two names: its last line counts, or a later CONFIG SET.
#[test]
fn a_setting_of_two_names_is_written_once() {
    let text = "hash-max-listpack-entries 20\nsave 900 1\nHASH-MAX-ZIPLIST-ENTRIES 21\n\
                slave-priority 7\n";
    assert_eq!(rewritten(&[("larder.conf", text)], |_| ()).unwrap(), text);
    let written = rewritten(&[("larder.conf", text)], |settings| {
        set(settings, "hash-max-listpack-entries", "100");
        set(settings, "replica-priority", "8");
        set(settings, "masteruser", "'a \"b'");
        set(settings, "proc-title-template", "''");
    })
    .unwrap();
    let mut lines: Vec<_> = written.lines().collect();
    lines.sort_unstable();
    let wanted = [
        "hash-max-listpack-entries 100",
        "primaryuser \"a \\\"b\"",
        "proc-title-template \"\"",
        "replica-priority 8",
        "save 900 1",
    ];
    assert_eq!(lines, wanted);
}

const MORE: &str =
    "maxmemory 5mb\ntimeout 7\ntenant web match db 1\nuser bob on >x ~*\nlistener 7001\n";

#[test]
fn what_an_included_file_says_is_not_said_again() {
    let files = [("larder.conf", "maxmemory 1mb\ninclude more.conf\n# end\n"), ("more.conf", MORE)];
    let written = rewritten(&files, |_| ()).unwrap();
    assert_eq!(written, "maxmemory 5mb\ninclude more.conf\n# end\n", "it is what holds");
    let written = rewritten(&files, |settings| {
        set(settings, "maxmemory", "6mb");
        set(settings, "tenant", "web match db 1 min 1mb");
        set(settings, "tenant", "jobs match db 2");
        set(settings, "user", "bob on nopass ~*");
        set(settings, "listener", "7002");
    })
    .unwrap();
    let (_, added) = written.split_once("# end\n").unwrap();
    let mut added: Vec<_> = added.lines().collect();
    added.sort_unstable();
    let begins = ["listener 7002", "maxmemory 6mb", "tenant jobs", "tenant web match db 1 min 1mb"];
    for (line, begin) in added.iter().zip(begins) {
        assert!(line.starts_with(begin), "{added:?}");
    }
    assert!(added.len() == 5 && added[4].starts_with("user bob on nopass"), "{added:?}");
}

/// Lines before an include, in it and behind it stay where they are.
#[test]
fn lines_stay_before_and_behind_an_include() {
    let text = "tenant a match db 3\ninclude more.conf\ntenant c match db 4\n";
    let written = rewritten(&[("larder.conf", text), ("more.conf", MORE)], |_| ()).unwrap();
    assert_eq!(written, text);
}

#[test]
fn what_no_line_can_take_back_is_refused() {
    let files = [("larder.conf", "include more.conf\n"), ("more.conf", MORE)];
    let error = rewritten(&files, |settings| settings.users.retain(|user| user.name != "bob"));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("'user bob'") && error.contains("larder.conf"), "{error}");
    let files = [("larder.conf", "include more.conf\n"), ("more.conf", "requirepass secret\n")];
    let error = rewritten(&files, |settings| set(settings, "requirepass", "''"));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("'requirepass'") && !error.contains("secret"), "{error}");
}

/// Each directive alone, with a value other than its default, in the file and in an include.
#[test]
fn every_directive_survives() {
    let values = [
        "7",
        "1mb",
        "yes",
        "no",
        "a b",
        "70000",
        "'x y'",
        "127.0.0.1",
        "0.0.0.0",
        "64",
        "96",
        "auto",
        "debug",
        "static",
        "allkeys-lhd",
        "KEA",
        "optional",
        "allchannels",
        "TLSv1.3",
        "1.5",
        "web match db 1",
        "bob on nopass ~* +@all",
        "json",
        "normal 0 0 0",
        "0",
        "50 99",
        "8192",
        "",
    ];
    for directive in directive::all() {
        let default = directive.file_lines(&Settings::default());
        let mut tried = 0;
        for value in values {
            let mut settings = Settings::default();
            let applies = directive.apply(&mut settings, &[value.to_owned()]).is_ok();
            if !applies || directive.file_lines(&settings) == default {
                continue;
            }
            tried += 1;
            for text in ["", "include more.conf\n"] {
                let files = [("larder.conf", text), ("more.conf", "tenant t match db 9\n")];
                rewritten(&files, |there| {
                    directive.apply(there, &[value.to_owned()]).unwrap();
                })
                .unwrap_or_else(|error| panic!("{} {value}: {error}", directive.name));
            }
        }
        assert!(tried > 0, "{}: no value was tried", directive.name);
    }
    assert_eq!(Bytes(41 << 20).written(), "41mb");
}
