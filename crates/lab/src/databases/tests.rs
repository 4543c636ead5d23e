//! Tests of the kinds' arguments and of names of tables.

use super::KINDS;
use super::table::{quoted, table};
use load::{Backend, Distribution, ELSEWHERE};
use std::sync::Arc;
use std::time::Duration;

fn parse(text: &str) -> anyhow::Result<Backend> {
    Backend::parse(text, KINDS)
}

fn name(backend: &Backend) -> String {
    backend.database.as_ref().unwrap().name()
}

#[test]
fn the_load_client_knows_every_kind() {
    let here: Vec<&str> = KINDS.iter().map(|kind| kind.prefix).collect();
    assert_eq!(here, ELSEWHERE.map(|(prefix, _)| prefix));
}

#[test]
fn every_kind_is_read_with_its_delay() {
    let ms = |ms| Distribution::Fixed(Duration::from_millis(ms));
    for (text, shown, delays) in [
        ("postgres://ann:pw@db/web+2ms", "postgres://ann@db:5432/web", vec![ms(2)]),
        ("mysql://ann@db:1/web,delay:1ms", "mysql://ann@db:1/web", vec![ms(1)]),
        ("mysql://a@db/w+1ms,delay:3ms", "mysql://a@db:3306/w", vec![ms(1), ms(3)]),
        ("sqlite:a b.db, delay:1ms", "sqlite:a b.db", vec![ms(1)]),
        ("sqlite:a+b", "sqlite:a+b", vec![]),
    ] {
        let backend = parse(text).unwrap();
        assert_eq!((name(&backend).as_str(), backend.delays), (shown, delays), "{text}");
    }
}

#[test]
fn errors_show_no_password() {
    for text in ["sqlite:a,sqlite:b", "postgres://a@b/c,mysql://a@b/c"] {
        assert!(parse(text).is_err(), "{text}");
    }
    for text in [
        "postgres://u:secret@h",
        "postgres://u:secret",
        "postgres://u:a,secret@h/d",
        "postgres://u:5/a,secret@h/d",
        "mysql://u:secret@h/d+fast",
        "pg://u:secret@h/d",
        "mysql://u:secret@h/d,file:x",
    ] {
        let error = format!("{:#}", parse(text).unwrap_err());
        assert!(!error.contains("secret"), "{text}: {error}");
    }
    let backend = parse("postgres://u:secret@h/d").unwrap();
    assert!(!format!("{backend:?}").contains("secret"));
}

/// Two pools to one database would be twice the connections.
#[test]
fn the_same_database_is_shared() {
    let texts = ["mysql://a@b/c", "mysql://a@b/c+1ms", "mysql://a@b/d"].map(str::to_owned);
    let backends = Backend::parse_all(&texts, 4, KINDS).unwrap();
    let at = |at: usize| backends[at].database.as_ref().unwrap();
    assert!(Arc::ptr_eq(at(0), at(1)) && !Arc::ptr_eq(at(0), at(2)));
}

#[test]
fn tables_that_would_be_cut_off_are_refused() {
    assert!(table(&"t".repeat(48)).is_ok());
    assert!(table(&"t".repeat(49)).is_err());
    assert_eq!(quoted("a`b", '`'), "`a``b`");
}
