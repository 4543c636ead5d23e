//! Tests of `larder replay` with database servers as backends, against real servers.

mod databases;

use clap::{Args as _, FromArgMatches};
use databases::{MariaDb, Postgres};
use lab::databases::KINDS;
use load::{Args, Backend, Origin};
use mysql::prelude::Queryable;
use std::thread;

const TRACE: &str = "synth:zipf:keys=300:skew=0.8:requests=2000:size=const/100:seed=1";

fn replay(words: &[&str]) -> anyhow::Result<()> {
    let command = Args::augment_args(clap::Command::new("replay"));
    let words = ["replay", TRACE].into_iter().chain(words.iter().copied());
    load::run(Args::from_arg_matches(&command.try_get_matches_from(words)?)?, KINDS)
}

/// Checks a kind of database. `spoil` overwrites the value of key `k2` of tenant `odd "`name``,
/// `cut` ends all other connections.
fn holds(url: &str, spoil: impl Fn(), cut: impl Fn()) {
    let error = format!(
        "{:#}",
        Backend::parse(&url.replace("s3cret", "no"), KINDS)
            .unwrap()
            .connect("t1", 1)
            .map(|_| ())
            .unwrap_err()
    );
    assert!(error.contains("bench@127.0.0.1") && !error.contains(":no@"), "{error}");

    // Only a prepared database is replayed, and the error says how to prepare one.
    let to = ["--to", "redis://127.0.0.1:1", "--backend", url];
    let error = format!("{:#}", replay(&to).unwrap_err());
    assert!(error.contains("--prepare first") && !error.contains("s3cret"), "{error}");
    replay(&["--prepare", "--json", "--backend", url]).unwrap();
    let error = format!("{:#}", replay(&to).unwrap_err());
    assert!(error.contains("127.0.0.1:1"), "now only the server is missing: {error}");

    let backends = Backend::parse_all(&[url.to_owned(), format!("{url}+1ms")], 2, KINDS).unwrap();
    let database = backends[0].database.as_ref().unwrap();
    let tenant = "odd \"`name``";
    let origin = Origin { trace: "a.csv".into(), requests: 9 };
    assert_eq!(database.origin(tenant).unwrap(), None);
    assert!(database.reader(tenant).is_err());
    // There are more rows, and more bytes, than go in one piece. A key may hold any bytes.
    let keys = |n: u32| [format!("k{n}").as_bytes(), &[0, 255, b'\\', b'\'']].concat();
    let sizes = [0, 7, 5_000_000, 100, 20_000];
    for round in 0..2 {
        let mut filler = database.filler(tenant, &origin).unwrap();
        for n in 0..1_000 {
            let size = if n < 5 { sizes[n as usize] } else { u64::from(n) };
            filler.add(&keys(n), size).unwrap();
            filler.add(&keys(n / 2), 3).unwrap();
        }
        filler.add(b"k2", 12).unwrap();
        assert!(filler.add(&[b'x'; 5_000], 1).unwrap_err().to_string().contains("5000 bytes"));
        if round == 0 {
            continue; // Dropped before its end.
        }
        let filled = filler.finish().unwrap();
        assert_eq!(filled.rows, 1_001);
        let rest: u64 = (5..1_000).sum();
        assert_eq!(filled.bytes, sizes.iter().sum::<u64>() + rest + 12);
    }
    assert_eq!(database.origin(tenant).unwrap(), Some(origin));

    thread::scope(|scope| {
        for worker in 0..6 {
            let mut connection = backends[worker % 2].connect(tenant, 1).unwrap();
            scope.spawn(move || {
                for n in 0..1_000 {
                    let (_, wait) = connection.ask(&keys(n)).unwrap();
                    assert_eq!(wait.as_millis(), worker as u128 % 2);
                }
            });
        }
    });

    let mut connection = backends[0].connect(tenant, 1).unwrap();
    let error = connection.ask(b"k3").unwrap_err().to_string();
    assert!(error.contains("no row"), "{error}");
    connection.ask(b"k2").unwrap();
    cut();
    connection.ask(b"k2").unwrap_err();
    connection.ask(b"k2").expect("connected again");
    spoil();
    let error = connection.ask(b"k2").unwrap_err().to_string();
    assert!(error.contains("a wrong value"), "{error}");
    connection.ask(&keys(1)).expect("a wrong value costs no connection");
}

#[test]
fn postgres() {
    let Some(server) = Postgres::start().unwrap() else {
        skip::skip("postgres", "apt-get install postgresql");
        return;
    };
    let client = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
    let client = std::cell::RefCell::new(client);
    let run = |sql: &str| client.borrow_mut().batch_execute(sql).unwrap();
    holds(
        &server.url(),
        || run("UPDATE \"larder objects odd \"\"`name``\" SET value = 'other' WHERE key = 'k2'"),
        || {
            run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE application_name = 'larder replay'");
        },
    );
}

#[test]
fn mariadb() {
    let Some(server) = MariaDb::start().unwrap() else {
        skip::skip("mariadbd", "apt-get install mariadb-server");
        return;
    };
    let client = std::cell::RefCell::new(mysql::Conn::new(server.url().as_str()).unwrap());
    holds(
        &server.url(),
        || {
            let spoil =
                "UPDATE `larder objects odd \"``name````` SET value = 'x' WHERE `key` = 'k2'";
            client.borrow_mut().query_drop(spoil).unwrap();
        },
        || {
            let mut client = client.borrow_mut();
            let select = "SELECT id FROM information_schema.processlist
                          WHERE user = 'bench' AND id <> connection_id()";
            for id in client.query::<u64, _>(select).unwrap() {
                client.query_drop(format!("KILL {id}")).unwrap();
            }
        },
    );
}
