//! Users and their rights: the rules, the errors, the log.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{Server, serve, serve_both};

/// Connects a client and logs it in as this user, with the password `pw`.
fn enter(server: &Server, user: &str) -> Client {
    let mut client = Client::new(server.addr());
    assert_eq!(client.ask(&format!("AUTH {user} pw")), "+OK\r\n");
    client
}

const KEY: &str = "-NOPERM No permissions to access a key\r\n";
const CHANNEL: &str = "-NOPERM No permissions to access a channel\r\n";

fn not_allowed(user: &str, command: &str) -> String {
    format!("-NOPERM User {user} has no permissions to run the '{command}' command\r\n")
}

#[test]
fn commands_and_categories() {
    let server = serve("");
    let mut admin = Client::new(server.addr());
    assert_eq!(
        admin.ask(
            "ACL SETUSER alice on >pw ~* +@read +@connection -@dangerous +config|get +select|0"
        ),
        "+OK\r\n"
    );
    let mut alice = enter(&server, "alice");
    for line in ["GET a", "MGET a b", "PING", "CONFIG GET port", "STRLEN a", "TTL a", "HGET h f"] {
        assert!(!alice.ask(line).starts_with('-'), "{line}");
    }
    for (line, name) in [
        ("SET a 1", "set"),
        ("KEYS *", "keys"),
        ("CONFIG SET timeout 0", "config|set"),
        ("FLUSHALL", "flushall"),
        ("ACL SETUSER alice +@all", "acl|setuser"),
        ("INFO", "info"),
        ("CLIENT KILL ID 1", "client|kill"),
        ("MONITOR", "monitor"),
        ("SHUTDOWN", "shutdown"),
    ] {
        assert_eq!(alice.ask(line), not_allowed("alice", name), "{line}");
    }
    assert_eq!(
        alice.ask("NOSUCH"),
        "-ERR unknown command 'NOSUCH', with args beginning with: \r\n"
    );
    // A change applies at once, also to clients that have logged in before.
    admin.ask("ACL SETUSER alice +set -get");
    assert_eq!(alice.ask("SET a 1"), "+OK\r\n");
    assert_eq!(alice.ask("GET a"), not_allowed("alice", "get"));
    admin.ask("ACL SETUSER alice allcommands");
    assert_eq!(alice.ask("FLUSHALL"), "+OK\r\n");
    // SELECT is allowed with this first argument only.
    admin.ask("ACL SETUSER alice -@all +select|1");
    assert_eq!(alice.ask("SELECT 1"), "+OK\r\n");
    assert_eq!(alice.ask("SELECT 2"), not_allowed("alice", "select"));
    assert!(alice.ask("AUTH alice pw").starts_with("+OK"), "AUTH is for everybody");
}

#[test]
fn keys_are_read_and_written_as_allowed() {
    let server = serve("");
    let mut admin = Client::new(server.addr());
    admin.ask("MSET app:1 a ro:1 r wo:1 w other o");
    admin.ask("ACL SETUSER alice on >pw +@all ~app:* %R~ro:* %W~wo:*");
    let mut alice = enter(&server, "alice");
    for line in [
        "GET app:1",
        "SET app:1 x GET",
        "GET ro:1",
        "SET wo:1 x",
        "DEL wo:1",
        "SET wo:1 x EX 5",
        "EXPIRE wo:1 100",
        "STRLEN wo:1",
        "BITOP AND wo:1 ro:1 app:1",
        "MGET app:1 ro:1",
        "OBJECT FREQ ro:1",
        "DBSIZE",
        "HSET wo:h f 1",
    ] {
        assert!(!alice.ask(line).starts_with('-'), "{line}");
    }
    for line in [
        "GET other",
        "GET wo:1",
        "SET ro:1 x",
        "SET wo:1 x GET",
        "GETDEL wo:1",
        "MGET app:1 other",
        "MSET app:1 x other x",
        "BITOP AND ro:1 app:1",
        "BITOP AND app:1 wo:1",
        "INCR ro:1",
        "APPEND ro:1 x",
        "OBJECT FREQ other",
        "MEMORY USAGE other",
        "HGETALL wo:h",
        "WATCH other",
        "EXISTS other",
        "GETEX ro:1 EX 5",
    ] {
        assert_eq!(alice.ask(line), KEY, "{line}");
    }
    assert_eq!(admin.value("GET other"), "o");
    // A command refused while it is queued aborts the transaction.
    alice.ask("MULTI");
    assert_eq!(alice.ask("GET other"), KEY);
    assert!(alice.ask("EXEC").starts_with("-EXECABORT"));
    // A queued command may also be refused at EXEC.
    alice.ask("MULTI");
    assert_eq!(alice.ask("GET app:1"), "+QUEUED\r\n");
    admin.ask("ACL SETUSER alice resetkeys");
    assert_eq!(alice.ask("EXEC"), format!("*1\r\n{KEY}"));
}

#[test]
fn channels_are_listened_to_as_allowed() {
    let server = serve("");
    let mut admin = Client::new(server.addr());
    admin.ask("ACL SETUSER alice on >pw +@all &news:* &all");
    let mut alice = enter(&server, "alice");
    assert_eq!(alice.ask("PUBLISH other x"), CHANNEL);
    assert_eq!(alice.ask("SUBSCRIBE news:1 other"), CHANNEL);
    assert_eq!(alice.ask("PSUBSCRIBE news:1*"), CHANNEL, "a pattern is allowed as it stands");
    assert_eq!(alice.ask("PUBLISH news:1 x"), ":0\r\n");
    assert!(alice.ask("PSUBSCRIBE news:*").contains("psubscribe"));
    assert!(alice.ask("SUBSCRIBE news:7").contains("subscribe"));
    // A client keeps its connection if it may still listen to all its channels; otherwise the
    // server closes it.
    admin.ask("ACL SETUSER alice &more");
    assert!(alice.ask("PING").contains("pong"));
    admin.ask("ACL SETUSER alice resetchannels &all");
    assert_eq!(alice.reply(), b"");
}

#[test]
fn databases_are_entered_as_allowed() {
    let server = serve("");
    let mut admin = Client::new(server.addr());
    admin.ask("SET a 0");
    admin.ask("ACL SETUSER alice on >pw ~* +@all db=1,2");
    let mut alice = enter(&server, "alice");
    let refused = "-NOPERM No permissions to access database\r\n";
    for line in ["GET a", "SET a 1", "DBSIZE", "SCAN 0", "FLUSHDB", "FLUSHALL", "SELECT 3"] {
        assert_eq!(alice.ask(line), refused, "{line}");
    }
    assert_eq!(alice.ask("PING"), "+PONG\r\n");
    assert_eq!(alice.ask("SELECT 2"), "+OK\r\n");
    assert_eq!(alice.ask("SET a 1"), "+OK\r\n");
    assert_eq!(alice.ask("FLUSHDB"), "+OK\r\n");
    assert!(admin.ask("ACL LIST").contains("alice on #"));
    assert!(admin.ask("ACL LIST").contains("~* resetchannels db=1,2 +@all"));
    admin.ask("ACL SETUSER alice alldbs");
    assert_eq!(alice.ask("SELECT 0"), "+OK\r\n");
    assert_eq!(alice.value("GET a"), "0");
}

#[test]
fn a_removed_user_is_out() {
    let server = serve("");
    let mut admin = Client::new(server.addr());
    admin.ask("ACL SETUSER alice on >pw ~* +@all");
    admin.ask("ACL SETUSER bob on >pw ~* +@all");
    let (mut alice, mut bob) = (enter(&server, "alice"), enter(&server, "bob"));
    assert_eq!(admin.ask("ACL DELUSER alice nobody"), ":1\r\n");
    assert_eq!(alice.reply(), b"");
    assert_eq!(bob.ask("PING"), "+PONG\r\n");
    assert_eq!(admin.ask("ACL USERS"), "*2\r\n$3\r\nbob\r\n$7\r\ndefault\r\n");
    assert_eq!(admin.ask("ACL DELUSER default"), "-ERR The 'default' user cannot be removed\r\n");
    // Nobody can log in as a user that is off, nor with a password that was removed.
    admin.ask("ACL SETUSER bob off");
    assert_eq!(bob.ask("PING"), "+PONG\r\n");
    assert!(Client::new(server.addr()).ask("AUTH bob pw").starts_with("-WRONGPASS"));
    admin.ask("ACL SETUSER bob on <pw >other");
    assert!(Client::new(server.addr()).ask("AUTH bob pw").starts_with("-WRONGPASS"));
    assert_eq!(Client::new(server.addr()).ask("AUTH bob other"), "+OK\r\n");
}

#[test]
fn the_default_user_may_be_limited_too() {
    let server =
        serve("--user 'default on nopass ~public:* +@read' --user 'root on >pw ~* &* +@all'");
    let mut client = Client::new(server.addr());
    assert_eq!(client.value("GET public:a"), "(null)");
    assert_eq!(client.ask("GET private"), KEY);
    assert_eq!(client.ask("SET public:a 1"), not_allowed("default", "set"));
    let mut root = enter(&server, "root");
    assert_eq!(root.ask("SET public:a 1"), "+OK\r\n");
    assert_eq!(client.value("GET public:a"), "1");
    root.ask("ACL SETUSER default reset");
    assert!(Client::new(server.addr()).ask("GET public:a").starts_with("-NOAUTH"));
}

#[test]
fn what_would_be_refused_is_told_without_trying() {
    let server = serve("");
    let mut admin = Client::new(server.addr());
    admin.ask("ACL SETUSER alice on >pw ~app:* &n +get +set +publish");
    for (line, reply) in [
        ("get app:1", "OK"),
        ("get other", "User alice has no permissions to access the 'other' key"),
        ("incr app:1", "User alice has no permissions to run the 'incr' command"),
        ("config get port", "User alice has no permissions to run the 'config|get' command"),
        ("publish x y", "User alice has no permissions to access the 'x' channel"),
        ("get", "ERR wrong number of arguments for 'get' command"),
        ("nosuch", "ERR Command 'nosuch' not found"),
    ] {
        assert_eq!(admin.value(&format!("ACL DRYRUN alice {line}")), reply, "{line}");
    }
    assert_eq!(admin.value("ACL DRYRUN nobody get a"), "ERR User 'nobody' not found");
    assert_eq!(admin.value("DBSIZE"), "0");
}

#[test]
fn refusals_are_kept_in_the_log() {
    let server = serve("");
    let mut admin = Client::new(server.addr());
    admin.ask("ACL SETUSER alice on >pw ~app:* +get +multi");
    let mut alice = enter(&server, "alice");
    for line in ["GET other", "GET other", "SET app:1 x", "AUTH alice wrong", "MULTI", "GET more"] {
        alice.ask(line);
    }
    let log = admin.ask("ACL LOG");
    let order: Vec<_> = log
        .lines()
        .filter(|word| matches!(*word, "key" | "command" | "auth" | "multi" | "toplevel"))
        .collect();
    let expected = ["key", "multi", "auth", "toplevel", "command", "toplevel", "key", "toplevel"];
    assert_eq!(order, expected, "{log}");
    assert!(log.starts_with("*4\r\n*20\r\n$5\r\ncount\r\n:1\r\n"), "{log}");
    assert!(log.contains("$5\r\ncount\r\n:2\r\n"), "the same again is counted: {log}");
    for word in ["\r\nother\r\n", "\r\nset\r\n", "\r\nAUTH\r\n", "\r\nalice\r\n", "cmd=set"] {
        assert!(log.contains(word), "{word}: {log}");
    }
    assert!(admin.ask("ACL LOG 1").starts_with("*1\r\n"));
    admin.ask("CONFIG SET acllog-max-len 2");
    alice.ask("SET app:2 x");
    assert!(admin.ask("ACL LOG 100").starts_with("*2\r\n"));
    assert_eq!(admin.ask("ACL LOG RESET"), "+OK\r\n");
    assert_eq!(admin.ask("ACL LOG"), "*0\r\n");
    // A command refused at EXEC because the rules changed meanwhile.
    let mut alice = enter(&server, "alice");
    alice.ask("MULTI");
    alice.ask("GET app:1");
    admin.ask("ACL SETUSER alice -get +exec");
    assert!(alice.ask("EXEC").starts_with("*1\r\n-NOPERM"));
    let log = admin.ask("ACL LOG");
    assert!(log.contains("\r\nmulti\r\n") && log.contains(" cmd=exec "), "{log}");
}

#[test]
fn users_outlive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users.acl");
    std::fs::write(&path, "# mine\nuser default on nopass ~* &* +@all\n").unwrap();
    let arguments = format!("--aclfile {}", path.display());
    let server = serve(&arguments);
    let mut admin = Client::new(server.addr());
    admin.ask("ACL SETUSER alice on '>p w' ~app:* &news resetchannels -@all +@read (+set ~x*)");
    let listed = admin.ask("ACL LIST");
    assert_eq!(admin.ask("ACL SAVE"), "+OK\r\n");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("p w"), "no password is written: {text}");
    drop(server);
    let server = serve(&arguments);
    let mut admin = Client::new(server.addr());
    assert_eq!(admin.ask("ACL LIST"), listed);
    assert_eq!(Client::new(server.addr()).ask("AUTH alice 'p w'"), "+OK\r\n");
    // A wrong file changes nothing.
    std::fs::write(&path, "user bob on +nosuch\n").unwrap();
    let error = admin.ask("ACL LOAD");
    assert!(error.contains("line 1") && error.contains("+nosuch"), "{error}");
    assert_eq!(admin.ask("ACL LIST"), listed);
    std::fs::write(&path, "user bob on nopass ~* +@all\n").unwrap();
    assert_eq!(admin.ask("ACL LOAD"), "+OK\r\n");
    assert_eq!(admin.ask("ACL USERS"), "*2\r\n$3\r\nbob\r\n$7\r\ndefault\r\n");
}

/// The rights of a memcached client follow from the Redis commands that its user may run.
#[test]
fn limits_hold_for_memcacheds_clients_too() {
    let (server, port) = serve_both(
        "--requirepass root --user 'alice on >pw ~app:* +get +set' --user 'bob on >pw ~* +@all' \
         --user 'carl on >pw ~* +get'",
    );
    let refused = "CLIENT_ERROR user has no permission for this";
    let mut alice = Text::new(port);
    assert_eq!(alice.ask("set x 0 0 8|alice pw"), "STORED");
    assert_eq!(alice.ask("set app:1 0 0 1|1"), "STORED");
    assert_eq!(alice.ask("set other 0 0 1|1"), refused);
    assert_eq!(alice.ask("get other"), refused);
    assert_eq!(alice.ask("get app:1 other"), refused);
    assert_eq!(alice.ask("mg other v"), refused);
    assert_eq!(alice.ask("mg b3RoZXI= v b"), refused, "in base64");
    assert_eq!(alice.ask("ms other 1|1"), refused);
    assert_eq!(alice.ask("ms app:2 1|1"), "HD");
    assert_eq!(alice.ask("mg app:2 v"), "VA 1\r\n1");
    for line in [
        "delete app:1",
        "md app:1",
        "incr app:1 1",
        "touch app:1 5",
        "gat 5 app:1",
        "flush_all",
        "stats",
        "cache_memlimit 1000",
        "watch mutations",
        "lru_crawler metadump all",
        "mg app:1 T30",
        "mg app:1 R30",
        "md app:1 I",
        "ma app:1 N0",
        "stats reset",
        "stats conns",
        "stats cachedump 1 0",
        "stats detail dump",
        "lru_crawler enable",
        "lru mode flat",
        "verbosity 1",
        "refresh_certs",
        "shutdown",
    ] {
        assert_eq!(alice.ask(line), refused, "{line}");
    }
    // Every verb needs a right except for a few that tell nothing of the data, as these two.
    for line in ["mn", "version"] {
        assert!(!alice.ask(line).contains("permission"), "{line}");
    }
    // A flag may need a right beyond that of its verb.
    let mut carl = Text::new(port);
    assert_eq!(carl.ask("set x 0 0 7|carl pw"), "STORED");
    assert_eq!(carl.ask("mg app:1 v"), "VA 1\r\n1");
    assert_eq!(carl.ask("mg app:3 N30"), refused, "it would write");
    let mut bob = Text::new(port);
    assert_eq!(bob.ask("set x 0 0 6|bob pw"), "STORED");
    assert_eq!(bob.ask("delete app:1"), "DELETED");
    let mut admin = Client::new(server.addr());
    admin.ask("AUTH root");
    assert!(admin.ask("ACL LOG 100").contains("delete"), "it is in the log");
}

/// A rule for databases replaces the previous rule, and every database of a command is checked.
#[test]
fn every_database_of_a_command_is_looked_at() {
    let server = serve("");
    let mut admin = Client::new(server.addr());
    admin.ask("SET a 1");
    admin.ask("ACL SETUSER alice on >pw ~* +@all db=0,1 db=0,2");
    assert!(admin.ask("ACL LIST").contains("db=0,2 "), "the last rule wins");
    let mut alice = enter(&server, "alice");
    let refused = "-NOPERM No permissions to access database\r\n";
    assert_eq!(alice.ask("COPY a b DB 2 DB 1"), refused, "the last option is what counts");
    assert_eq!(alice.ask("COPY a b DB 1 DB 2"), ":1\r\n");
    assert_eq!(alice.ask("MOVE a 1"), refused);
    // A queued command needs the right to the database that the commands before it select.
    for (line, reply) in [
        ("MULTI", "+OK\r\n"),
        ("SELECT 2", "+QUEUED\r\n"),
        ("GET b", "+QUEUED\r\n"),
        ("SELECT 1", refused),
        ("DISCARD", "+OK\r\n"),
    ] {
        assert_eq!(alice.ask(line), reply, "{line}");
    }
    admin.ask("ACL SETUSER alice db=2");
    for (line, reply) in [
        ("GET a", refused),
        ("MULTI", "+OK\r\n"),
        ("SELECT 2", "+QUEUED\r\n"),
        ("GET b", "+QUEUED\r\n"),
        ("EXEC", "*2\r\n+OK\r\n$1\r\n1\r\n"),
    ] {
        assert_eq!(alice.ask(line), reply, "{line}");
    }
    // The log and ACL DRYRUN name the refused database.
    admin.ask("ACL LOG RESET");
    alice.ask("SELECT 5");
    let log = admin.ask("ACL LOG");
    assert!(log.contains("object\r\n$1\r\n5\r\n"), "{log}");
    // For commands about the client's own database the log names the command, with one entry for
    // each command.
    admin.ask("ACL LOG RESET");
    admin.ask("ACL SETUSER alice db=3");
    for line in ["GET a", "SET a 1", "GET b", "COPY a b DB 2", "COPY a b DB 5"] {
        assert_eq!(alice.ask(line), refused, "{line}");
    }
    let log = admin.ask("ACL LOG");
    let object = |line: &&str| matches!(*line, "get" | "set" | "copy");
    let objects: Vec<_> = log.lines().filter(object).collect();
    assert_eq!(objects, ["copy", "get", "set"], "{log}");
    assert_eq!(
        admin.value("ACL DRYRUN alice select 7"),
        "User alice has no permissions to access database 7"
    );
    assert!(admin.info("acl_access_denied_db").parse::<u64>().unwrap() >= 4);
}

/// Rule files written for other servers name commands that Larder does not have.
#[test]
fn rules_may_name_commands_that_are_not_here() {
    let server = serve("");
    let mut admin = Client::new(server.addr());
    let rules = "+@all -debug -swapdb +eval +lpush -script|kill -module|load -cluster|reset -sort";
    assert_eq!(admin.ask(&format!("ACL SETUSER alice on >pw ~* {rules}")), "+OK\r\n");
    assert!(admin.ask("ACL LIST").contains(rules));
    assert_eq!(enter(&server, "alice").ask("SET a 1"), "+OK\r\n");
    for word in ["+nosuch", "-config|nosuch", "+@nosuch"] {
        let error = admin.ask(&format!("ACL SETUSER alice {word}"));
        assert!(error.contains("Unknown command or category name in ACL"), "{word}: {error}");
    }
}

#[test]
fn the_channels_of_new_users_are_as_chosen() {
    let server = serve("--acl-pubsub-default allchannels --user 'bob on nopass +@all'");
    let mut admin = Client::new(server.addr());
    admin.ask("ACL SETUSER alice on >pw");
    admin.ask("CONFIG SET acl-pubsub-default resetchannels");
    admin.ask("ACL SETUSER carol on >pw");
    let all = admin.ask("ACL LIST");
    let line = |name: &str| all.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("alice").contains("&*") && line("bob").contains("&*"));
    assert!(line("carol").contains("resetchannels"));
}

/// `BITFIELD` without writes needs the right to read only.
#[test]
fn rights_follow_from_the_arguments() {
    let server = serve("");
    let mut admin = Client::new(server.addr());
    admin.ask("ACL SETUSER alice on >pw +@all %R~ro %W~wo");
    let mut alice = enter(&server, "alice");
    for line in ["BITFIELD ro GET u8 0", "SET wo 1", "RENAME wo wo", "COPY ro wo REPLACE"] {
        let allowed = line != "RENAME wo wo";
        assert_eq!(alice.ask(line) != KEY, allowed, "{line}: what moves a value tells of it");
    }
    assert_eq!(alice.ask("BITFIELD ro SET u8 0 1"), KEY);
    assert_eq!(alice.ask("SET wo 1 GET"), KEY);
}

/// `reset` and selectors start with the channels of `acl-pubsub-default`, as new users do.
#[test]
fn what_begins_anew_has_the_channels_that_were_chosen() {
    let server = serve("--acl-pubsub-default allchannels");
    let mut admin = Client::new(server.addr());
    admin.ask("ACL SETUSER alice on resetchannels &a ~a +get reset (~b +get)");
    let all = admin.ask("ACL LIST");
    assert!(all.contains("user alice off &* -@all (~b &* -@all +get)"), "{all}");
}

/// A relative path starts at `dir`, when the file is read and when it is written.
#[test]
fn a_relative_aclfile_is_sought_in_dir() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users.acl");
    std::fs::write(&path, "user default on nopass ~* &* +@all\nuser bob on nopass\n").unwrap();
    let server = serve(&format!("--dir {} --aclfile users.acl", dir.path().display()));
    let mut admin = Client::new(server.addr());
    assert_eq!(admin.ask("ACL USERS"), "*2\r\n$3\r\nbob\r\n$7\r\ndefault\r\n");
    admin.ask("ACL SETUSER carol");
    assert_eq!(admin.ask("ACL SAVE"), "+OK\r\n");
    assert!(std::fs::read_to_string(&path).unwrap().contains("user carol"));
    admin.ask("ACL DELUSER carol");
    assert_eq!(admin.ask("ACL LOAD"), "+OK\r\n");
    assert!(admin.ask("ACL LIST").contains("user carol"));
}

/// SORT's patterns may name any key, so they need the right to read all keys.
#[test]
fn sort_by_a_pattern_needs_the_right_to_read_all_keys() {
    let server = serve("");
    let mut admin = Client::new(server.addr());
    admin.ask("RPUSH l 1 2");
    let denied = |option: &str| {
        format!("-ERR {option} option of SORT denied due to insufficient ACL permissions.\r\n")
    };
    for (keys, may) in [("~l", false), ("%W~* %R~l", false), ("%R~*", true), ("~*", true)] {
        admin.ask(&format!("ACL SETUSER alice reset on >pw {keys} +sort_ro"));
        let mut alice = enter(&server, "alice");
        let by = alice.ask("SORT_RO l BY w_* DESC");
        let get = alice.ask("SORT_RO l GET w_*");
        let expected = [(by, "BY"), (get, "GET")];
        assert!(expected.iter().all(|(told, option)| (*told != denied(option)) == may), "{keys}");
        assert!(alice.ask("SORT_RO l GET #").starts_with("*2"), "{keys}");
    }
}
