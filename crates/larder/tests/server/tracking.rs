//! Client-side caches: which clients are told of which change, whoever makes it.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{Server, serve, serve_both};

/// A RESP3 client that tracks with these options.
fn tracks(server: &Server, options: &str) -> Client {
    let mut client = Client::new(server.addr());
    client.ask("HELLO 3");
    assert_eq!(client.ask(&format!("CLIENT TRACKING ON {options}")), "+OK\r\n");
    client
}

/// The invalidation message for one key.
fn invalid(key: &str) -> String {
    format!(">2\r\n$10\r\ninvalidate\r\n*1\r\n${}\r\n{key}\r\n", key.len())
}

fn told(client: &mut Client) -> String {
    String::from_utf8(client.reply()).unwrap()
}

/// Checks that no message is waiting: the next reply is the reply to ECHO.
fn hears_nothing(client: &mut Client) {
    std::thread::sleep(std::time::Duration::from_millis(150));
    assert_eq!(client.ask("ECHO end"), "$3\r\nend\r\n");
}

#[test]
fn of_what_was_read_once() {
    let (server, port) = serve_both("");
    let mut writer = Client::new(server.addr());
    writer.ask("MSET a 1 b 2 c 3 d 4");
    let mut reader = tracks(&server, "");
    reader.ask("MGET a b c");
    writer.ask("SET a 2");
    assert_eq!(told(&mut reader), invalid("a"));
    writer.ask("SET a 3");
    writer.ask("SET d 5");
    writer.send(b"MULTI\r\nDEL b\r\nEXEC\r\n");
    assert!((0..3).map(|_| told(&mut writer)).any(|reply| reply == "*1\r\n:1\r\n"));
    assert_eq!(told(&mut reader), invalid("b"));
    Text::new(port).ask("set c 0 0 1|1");
    assert_eq!(told(&mut reader), invalid("c"));
    hears_nothing(&mut reader);
    // A client is told of its own writes too, unless it sets NOLOOP.
    reader.send(b"GET a\r\nSET a 4\r\n");
    let all = [told(&mut reader), told(&mut reader), told(&mut reader)];
    assert_eq!(all, ["$1\r\n3\r\n".to_owned(), "+OK\r\n".to_owned(), invalid("a")]);
    // A read in a transaction is tracked as well.
    reader.send(b"MULTI\r\nGET a\r\nEXEC\r\n");
    assert!((0..3).map(|_| told(&mut reader)).any(|reply| reply.starts_with("*1")));
    writer.ask("RENAME d a");
    assert_eq!(told(&mut reader), invalid("a"));
    reader.ask("GET a");
    writer.ask("FLUSHDB");
    assert_eq!(told(&mut reader), ">2\r\n$10\r\ninvalidate\r\n_\r\n");
    reader.ask("CLIENT TRACKING OFF");
    reader.ask("GET a");
    writer.ask("SET a 1");
    hears_nothing(&mut reader);
}

/// The command that enables tracking and the first tracked read may arrive in one batch.
#[test]
fn from_the_next_command_on() {
    let server = serve("");
    let mut reader = Client::new(server.addr());
    reader.send(b"HELLO 3\r\nCLIENT TRACKING ON NOLOOP\r\nGET a\r\nSET a 1\r\n");
    let replies: Vec<_> = (0..4).map(|_| told(&mut reader)).collect();
    assert_eq!(replies[1..], ["+OK\r\n", "_\r\n", "+OK\r\n"]);
    hears_nothing(&mut reader);
    reader.ask("GET a");
    Client::new(server.addr()).ask("SET a 2");
    assert_eq!(told(&mut reader), invalid("a"));
}

#[test]
fn of_prefixes() {
    let server = serve("--tenant mine match user bob --user 'bob on >pw ~* +@all'");
    let mut reader = tracks(&server, "BCAST PREFIX user: PREFIX page:");
    let mut writer = Client::new(server.addr());
    writer.ask("SET user:1 x");
    assert_eq!(told(&mut reader), invalid("user:1"));
    writer.ask("SET other:1 x");
    writer.ask("SET page:1 x");
    assert_eq!(told(&mut reader), invalid("page:1"));
    // A key of the same name that this client cannot see.
    let mut bob = Client::new(server.addr());
    bob.ask("AUTH bob pw");
    bob.ask("SET page:1 x");
    hears_nothing(&mut reader);
}

#[test]
fn only_of_what_is_wanted() {
    let server = serve("");
    let mut writer = Client::new(server.addr());
    let mut reader = tracks(&server, "OPTIN");
    reader.ask("GET a");
    reader.ask("CLIENT CACHING YES");
    reader.ask("GET b");
    reader.ask("GET c");
    writer.ask("MSET a 1 c 1 b 1");
    assert_eq!(told(&mut reader), invalid("b"));
    hears_nothing(&mut reader);
    let mut reader = tracks(&server, "OPTOUT");
    reader.ask("CLIENT CACHING NO");
    reader.ask("GET a");
    reader.ask("GET b");
    writer.ask("MSET a 1 b 1");
    assert_eq!(told(&mut reader), invalid("b"));
    hears_nothing(&mut reader);
}

/// A RESP2 client redirects its messages to another connection.
#[test]
fn by_another_connection() {
    let server = serve("");
    let mut listener = Client::new(server.addr());
    let id = listener.value("CLIENT ID");
    listener.ask("SUBSCRIBE __redis__:invalidate");
    let mut reader = Client::new(server.addr());
    assert_eq!(reader.ask(&format!("CLIENT TRACKING ON REDIRECT {id}")), "+OK\r\n");
    assert_eq!(reader.value("CLIENT GETREDIR"), id);
    reader.ask("GET a");
    Client::new(server.addr()).ask("SET a 1");
    let message = "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*1\r\n$1\r\na\r\n";
    assert_eq!(told(&mut listener), message);
    drop(listener);
    while !reader.ask("CLIENT TRACKINGINFO").contains("broken_redirect") {}
}

/// Expired and evicted keys are reported, too.
#[test]
fn of_the_dead_and_the_evicted() {
    let server = serve("--maxmemory 1mb --io-threads 1");
    let mut writer = Client::new(server.addr());
    writer.ask("SET short x PX 2000");
    let value = "x".repeat(1_000);
    writer.ask(&format!("SET key:old {value}"));
    let mut reader = tracks(&server, "");
    reader.ask("MGET short key:old");
    assert_eq!(told(&mut reader), invalid("short"));
    writer.ask_all((1_000..4_000).map(|at| format!("SET key:{at} {value}")));
    assert_eq!(told(&mut reader), invalid("key:old"));
}

/// BCAST gets all changes of a batch in one message for each prefix.
#[test]
fn of_several_keys_at_once() {
    let server = serve("");
    let mut reader = tracks(&server, "BCAST PREFIX a PREFIX b");
    let mut writer = Client::new(server.addr());
    writer.ask("MSET a1 1 a2 2 b1 3 c 4");
    assert_eq!(told(&mut reader), ">2\r\n$10\r\ninvalidate\r\n*2\r\n$2\r\na1\r\n$2\r\na2\r\n");
    assert_eq!(told(&mut reader), invalid("b1"));
    writer.send(b"MULTI\r\nSET a1 1\r\nSET a2 2\r\nEXEC\r\n");
    assert_eq!(told(&mut reader), ">2\r\n$10\r\ninvalidate\r\n*2\r\n$2\r\na1\r\n$2\r\na2\r\n");
    hears_nothing(&mut reader);
}

/// No client is told of a key that it may not read.
#[test]
fn only_of_what_may_be_read() {
    let server = serve("--user 'bob on >pw %R~open:* %W~* +@all'");
    let mut bob = Client::new(server.addr());
    bob.ask("HELLO 3 AUTH bob pw");
    assert_eq!(bob.ask("CLIENT TRACKING ON BCAST"), "+OK\r\n");
    let mut writer = Client::new(server.addr());
    writer.ask("MSET secret 1 open:1 1");
    writer.ask("SET secret 2");
    assert_eq!(told(&mut bob), invalid("open:1"));
    hears_nothing(&mut bob);
}

#[test]
fn of_fields_that_die() {
    let server = serve("");
    let mut writer = Client::new(server.addr());
    writer.ask("HSET h a 1 b 2 c 3");
    writer.ask("HPEXPIRE h 200 FIELDS 1 a");
    let mut reader = tracks(&server, "");
    let mut all = tracks(&server, "BCAST");
    reader.ask("HGET h b");
    assert_eq!(told(&mut reader), invalid("h"));
    assert_eq!(reader.ask("HGET h a"), "_\r\n");
    assert_eq!(told(&mut all), invalid("h"));
    // A field that gets a time to live later.
    writer.ask("HPEXPIRE h 100 FIELDS 1 b");
    assert_eq!(told(&mut reader), invalid("h"));
    assert_eq!([told(&mut all), told(&mut all)], [invalid("h"), invalid("h")]);
}

/// NOLOOP hides the client's own write, but not the expiry right after it.
#[test]
fn of_short_lives() {
    let server = serve("");
    for round in 0..20 {
        let mut reader = tracks(&server, "BCAST NOLOOP");
        reader.ask(&format!("SET short:{round} x PX 1"));
        assert_eq!(told(&mut reader), invalid(&format!("short:{round}")));
    }
}

#[test]
fn the_table_is_bounded_and_counted() {
    let server = serve("");
    let mut reader = tracks(&server, "");
    for at in 0..100 {
        reader.ask(&format!("GET key:{at}"));
    }
    let _all = tracks(&server, "BCAST PREFIX x PREFIX y");
    let mut admin = Client::new(server.addr());
    assert_eq!(admin.info("tracking_clients"), "2");
    assert_eq!(admin.info("tracking_total_keys"), "100");
    assert_eq!(admin.info("tracking_total_items"), "100");
    assert_eq!(admin.info("tracking_total_prefixes"), "2");
    admin.ask("CONFIG SET tracking-table-max-keys 40");
    assert_eq!(admin.info("tracking_total_keys"), "40");
    for _ in 0..60 {
        assert!(told(&mut reader).contains("invalidate"));
    }
    reader.ask("GET one:more");
    assert!(told(&mut reader).contains("invalidate"), "room is made for it, or it has none");
    assert_eq!(admin.info("tracking_total_keys"), "40");
}

/// The message about a client's own write comes after the reply to the write, and before the next
/// reply.
#[test]
fn of_its_own_writes_in_their_order() {
    let server = serve("");
    let mut client = tracks(&server, "");
    client.send(b"GET a\r\nSET a 1\r\nGET a\r\nMULTI\r\nSET a 2\r\nEXEC\r\n");
    let all: Vec<String> = (0..8).map(|_| told(&mut client)).collect();
    let expected = ["_\r\n", "+OK\r\n", &invalid("a"), "$1\r\n1\r\n", "+OK\r\n", "+QUEUED\r\n"];
    assert_eq!(all[..6], expected);
    assert_eq!(all[6..], ["*1\r\n+OK\r\n".to_owned(), invalid("a")]);
    // The message comes even when replies are switched off.
    client.send(b"GET a\r\nCLIENT REPLY OFF\r\nSET a 3\r\nCLIENT REPLY ON\r\n");
    let mut all: Vec<String> = (0..3).map(|_| told(&mut client)).collect();
    all.sort();
    assert_eq!(all, ["$1\r\n2\r\n".to_owned(), "+OK\r\n".to_owned(), invalid("a")]);
}

/// A client that sent QUIT can no longer be told, even while its side of the connection stays open.
#[test]
fn a_client_that_quit_breaks_the_redirection() {
    let server = serve("");
    let (mut other, mut target) = (Client::new(server.addr()), Client::new(server.addr()));
    let id = target.value("CLIENT ID");
    target.ask("SUBSCRIBE __redis__:invalidate");
    let mut reader = tracks(&server, &format!("REDIRECT {id}"));
    reader.ask("GET a");
    assert_eq!(target.ask("QUIT"), "+OK\r\n");
    assert_eq!(target.reply(), b"");
    // The connection is closed before the server has forgotten the client.
    let id_of_target = format!("id={id} ");
    while other.value("CLIENT LIST").contains(&id_of_target) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    other.ask("SET a 1");
    let broken = format!(">2\r\n$21\r\ntracking-redir-broken\r\n:{id}\r\n");
    assert_eq!(told(&mut reader), broken);
}

/// Each prefix is compared only with prefixes near it, however many there are.
#[test]
fn many_prefixes_take_a_moment() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("HELLO 3");
    let prefixes = (0..10_000).map(|at| format!(" PREFIX p:{at}:")).collect::<Vec<_>>().concat();
    let began = std::time::Instant::now();
    assert_eq!(client.ask(&format!("CLIENT TRACKING ON BCAST{prefixes}")), "+OK\r\n");
    // The bound suits a debug build on a busy machine; comparing all pairs takes minutes.
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    for (more, what) in [
        ("PREFIX p:77:x", "'p:77:x' overlaps with an existing prefix 'p:77:'"),
        ("PREFIX p:7", "overlaps with an existing prefix 'p:7"),
        ("PREFIX a PREFIX b PREFIX ab", "'a' overlaps with another provided prefix 'ab'"),
        ("PREFIX ab PREFIX b PREFIX a", "'ab' overlaps with another provided prefix 'a'"),
        ("PREFIX q PREFIX q", "'q' overlaps with another provided prefix 'q'"),
    ] {
        let told = client.ask(&format!("CLIENT TRACKING ON BCAST {more}"));
        assert!(told.contains(what), "{more}: {told}");
    }
}
