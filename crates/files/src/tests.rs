//! A file is replaced as a whole, with access for its owner alone, or nothing changes.

use super::*;
use std::os::unix::fs::symlink;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// The number of names in a folder.
fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_taken_name_is_never_opened() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("victim"), "kept").unwrap();
    symlink("victim", at("link")).unwrap();
    symlink("nothing", at("astray")).unwrap();
    for name in ["victim", "link", "astray"] {
        assert_eq!(create(&at(name)).unwrap_err().kind(), ErrorKind::AlreadyExists, "{name}");
    }
    assert!(!at("nothing").exists());
    drop(create(&at("new")).unwrap());
    assert_eq!(mode(&at("new")), OWN);
}

/// A file or a link at the name of the part is neither followed nor kept.
#[test]
fn what_was_planted_beside_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let (part, path) = (at("warm.part"), at("warm"));
    fs::write(at("victim"), "kept").unwrap();
    for planted in ["link", "file"] {
        if planted == "link" {
            symlink("victim", &part).unwrap();
        } else {
            fs::write(&part, "planted").unwrap();
            fs::set_permissions(&part, Permissions::from_mode(0o666)).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        }
        let aside = Aside::begin_as(&part, &path).unwrap();
        aside.file().write_all(b"data").unwrap();
        assert_eq!(mode(&part), OWN);
        assert_eq!(aside.keep().unwrap(), 4);
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (OWN, b"data".to_vec()), "{planted}");
        assert!(!part.exists());
    }
    assert_eq!(fs::read(at("victim")).unwrap(), b"kept");
    drop(Aside::begin_as(&part, &path).unwrap());
    assert_eq!(count(dir.path()), 2, "a part that was not kept is gone");
}

#[test]
fn the_new_file_is_like_the_old() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users.acl");
    replace(&path, b"one", OWN).unwrap();
    assert_eq!(mode(&path), 0o600, "a new file is its owner's alone");
    for wanted in [0o640, 0o644, 0o400] {
        fs::set_permissions(&path, Permissions::from_mode(wanted)).unwrap();
        let before = fs::metadata(&path).unwrap();
        replace(&path, b"two", OWN).unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!((after.mode() & 0o7777, after.uid()), (wanted, before.uid()));
        assert_ne!(after.ino(), before.ino(), "it is written beside");
    }
    let open = dir.path().join("larder.pid");
    replace(&open, b"1", PUBLIC).unwrap();
    assert_eq!(mode(&open), PUBLIC);
    fs::remove_file(open).unwrap();
    let link = dir.path().join("link");
    symlink(&path, &link).unwrap();
    replace(&link, b"three", OWN).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"three");
    assert_eq!(count(dir.path()), 2, "nothing is left over");
    assert!(replace(&dir.path().join("none/file"), b"", OWN).is_err());
    symlink("nothing", dir.path().join("astray")).unwrap();
    let error = replace(&dir.path().join("astray"), b"", OWN).unwrap_err();
    assert!(error.to_string().contains("a link to a file that does not exist"), "{error}");
}

/// Needs root: only root can give a file to another user.
#[test]
fn a_link_or_a_file_of_another_user_decides_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("victim"), "kept").unwrap();
    symlink(at("victim"), at("link")).unwrap();
    fs::write(at("planted"), "").unwrap();
    fs::set_permissions(at("planted"), Permissions::from_mode(0o666)).unwrap();
    let nobody = Some(65_534);
    if std::os::unix::fs::lchown(at("link"), nobody, nobody).is_err() {
        eprintln!("skipped: only root can give a file away");
        return;
    }
    std::os::unix::fs::chown(at("planted"), nobody, nobody).unwrap();
    // An own link that leads to it chooses no more.
    symlink("link", at("own")).unwrap();
    for name in ["link", "own"] {
        for error in [replace(&at(name), b"", OWN).unwrap_err(), append(&at(name)).unwrap_err()] {
            assert!(error.to_string().contains("another user"), "{error}");
        }
    }
    symlink("circle", at("circle")).unwrap();
    assert!(append(&at("circle")).unwrap_err().to_string().contains("leads to itself"));
    assert_eq!(fs::read(at("victim")).unwrap(), b"kept");
    replace(&at("planted"), b"data", OWN).unwrap();
    let there = fs::metadata(at("planted")).unwrap();
    assert_eq!((there.mode() & 0o777, there.uid()), (OWN, 0));
}

#[test]
fn a_log_is_added_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    for line in ["one\n", "two\n"] {
        append(&path).unwrap().write_all(line.as_bytes()).unwrap();
    }
    assert_eq!((mode(&path), fs::read_to_string(&path).unwrap()), (OWN, "one\ntwo\n".into()));
    append(Path::new("/dev/null")).unwrap().write_all(b"x").unwrap();
}
