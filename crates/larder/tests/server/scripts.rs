//! Scripts beyond single replies: their bounds, their effects on others, and their restrictions.
//! (`replies/scripts.txt` has the replies, `script_clients.rs` the scripts that clients send.)

use crate::client::Client;
use crate::process::serve;
use crate::script_ends::begin;
use std::time::{Duration, Instant};

fn eval(client: &mut Client, script: &str) -> String {
    client.ask(&format!("EVAL \"{script}\" 0"))
}

/// Repeats a command until its reply begins with `wanted`.
fn until(client: &mut Client, line: &str, wanted: &str) {
    let begun = Instant::now();
    loop {
        let reply = client.ask(line);
        if reply.starts_with(wanted) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{line}: {reply}");
    }
}

#[test]
fn a_script_that_does_not_end_is_killed() {
    // Killed by a client of another thread, and by a client of the same thread.
    for threads in [3, 1] {
        kill_scripts(threads);
    }
}

fn kill_scripts(threads: usize) {
    let server = serve(&format!("--busy-reply-threshold 50 --io-threads {threads}"));
    let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
    assert!(two.ask("SCRIPT KILL").starts_with("-NOTBUSY"));
    for script in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "coroutine.wrap(function() while true do end end)()",
    ] {
        begin(&mut one, script);
        until(&mut two, "GET x", "-BUSY Redis is busy running a script.");
        assert!(two.ask("FUNCTION KILL").starts_with("-BUSY"));
        assert_eq!(two.ask("SCRIPT KILL"), "+OK\r\n");
        let reply = String::from_utf8(one.reply()).unwrap();
        assert!(reply.starts_with("-ERR Script killed by user with SCRIPT KILL"), "{reply}");
        until(&mut two, "GET x", "$-1");
        assert_eq!(eval(&mut one, "return 1"), ":1\r\n", "what follows is not ended");
    }
}

/// On a single thread the server answers other clients during a script, each in order. The commands
/// of the script's own client wait.
#[test]
fn clients_of_the_thread_of_a_script_are_answered() {
    let server = serve("--busy-reply-threshold 50 --io-threads 1");
    let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
    two.ask("SET x 1");
    begin(&mut one, "redis.call('get', 'x') while true do end");
    one.send(b"INCR x\r\n");
    until(&mut two, "GET x", "-BUSY");
    one.send(b"INCR x\r\n");
    two.send(b"GET x\r\nMULTI\r\nGET x\r\nDISCARD\r\n");
    let starts = ["-BUSY", "+OK", "-BUSY", "+OK"];
    assert!(starts.iter().all(|start| two.reply().starts_with(start.as_bytes())));
    let mut three = Client::new(server.addr());
    assert!(three.ask("GET x").starts_with("-BUSY"), "who comes meanwhile as well");
    drop(three);
    assert_eq!(two.ask("SCRIPT KILL"), "+OK\r\n");
    assert!(one.reply().starts_with(b"-ERR Script killed"));
    assert_eq!([one.reply(), one.reply()], [b":2\r\n", b":3\r\n"]);
    until(&mut two, "INFO clients", "$");
    assert_eq!(two.info("connected_clients"), "2");
}

/// A client sends much before its script and behind it, in pieces: no command is lost.
#[test]
fn what_surrounds_a_long_script_is_answered() {
    for driver in ["auto", "no"] {
        let server =
            serve(&format!("--busy-reply-threshold 50 --io-threads 1 --io-uring {driver}"));
        let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
        let before = format!("SET y {}\r\n", "y".repeat(200)).repeat(200);
        let script = "EVAL \"while true do end\" 0\r\n";
        one.send((before + script + &"INCR x\r\n".repeat(6_000)).as_bytes());
        until(&mut two, "GET x", "-BUSY");
        std::thread::sleep(Duration::from_millis(100));
        one.send(b"INCR x\r\n");
        assert_eq!(two.ask("SCRIPT KILL"), "+OK\r\n");
        for _ in 0..200 {
            assert_eq!(one.reply(), b"+OK\r\n");
        }
        assert!(one.reply().starts_with(b"-ERR Script killed"));
        for number in 1..=6_001 {
            assert_eq!(one.reply(), format!(":{number}\r\n").as_bytes());
        }
    }
}

/// With a single worker too, a client that connects just before an endless script can end it.
#[test]
fn a_client_that_connects_as_a_script_begins_can_end_it() {
    for driver in ["auto", "no"] {
        let server =
            serve(&format!("--busy-reply-threshold 1000 --io-threads 1 --io-uring {driver}"));
        let (mut first, mut one) = (Client::new(server.addr()), Client::new(server.addr()));
        for client in [&mut first, &mut one] {
            client.ask("PING");
        }
        // Both the endless script and the new client find the worker in this script.
        begin(&mut first, "local till = os.clock() + 0.3 while os.clock() < till do end");
        std::thread::sleep(Duration::from_millis(50));
        begin(&mut one, "while true do end");
        std::thread::sleep(Duration::from_millis(50));
        let mut two = Client::new(server.addr());
        until(&mut two, "GET x", "-BUSY");
        assert_eq!(two.ask("SCRIPT KILL"), "+OK\r\n");
        assert!(one.reply().starts_with(b"-ERR Script killed"));
    }
}

/// A script that has written is not killed half way.
#[test]
fn a_script_that_wrote_is_not_killed() {
    let server = serve("--busy-reply-threshold 20 --io-threads 3");
    let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
    let script = "redis.call('set', 'x', 1) local till = os.clock() + 3 \
                  while os.clock() < till do end return redis.call('incr', 'x')";
    begin(&mut one, script);
    until(&mut two, "GET x", "-BUSY");
    assert!(two.ask("SCRIPT KILL").starts_with("-UNKILLABLE"));
    assert_eq!(one.reply(), b":2\r\n");
}

#[test]
fn memory_of_scripts_is_bounded() {
    let server = serve("--maxmemory 64mb");
    let mut client = Client::new(server.addr());
    client.ask(
        "FUNCTION LOAD \"#!lua name=lib\\nredis.register_function('f', \
                function() return 7 end)\"",
    );
    let much = "local all = {} for at = 1, 1e9 do all[at] = string.rep(at, 1000) end";
    assert!(eval(&mut client, much).starts_with("-ERR not enough memory"));
    let caught = format!("local ok, wrong = pcall(function() {much} end) return wrong");
    assert_eq!(eval(&mut client, &caught), "$17\r\nnot enough memory\r\n");
    assert_eq!(eval(&mut client, "return 1"), ":1\r\n");
    assert_eq!(client.value("FCALL f 0"), "7", "libraries are there again");
    let used: u64 = client.info("used_memory_vm_total").parse().unwrap();
    assert!(used > 10_000 && used < 40 << 20, "{used}");
    assert_eq!(client.info("number_of_functions"), "1");
}

/// A command takes as many arguments as fit on the stack of Lua, and more give an error.
#[test]
fn commands_of_scripts_have_many_arguments() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let call = |count: u32, script: &str| {
        format!("local all = {{}} for at = 1, {count} do all[at] = 'k' .. at end {script}")
    };
    let wide = "redis.call('del', unpack(all))";
    assert_eq!(eval(&mut client, &call(7_999, &format!("return {wide}"))), ":0\r\n");
    let error = eval(&mut client, &call(8_000, wide));
    assert!(error.starts_with("-ERR user_script:1: too many results to unpack"), "{error}");
    let packed = "return #cmsgpack.pack(1, 2, 3, unpack(all))";
    assert_eq!(eval(&mut client, &call(7_990, packed)), ":46836\r\n");
    assert_eq!(eval(&mut client, &call(20_000, "return #all")), ":20000\r\n");
    let all = eval(&mut client, &call(20_000, "return all"));
    assert!(all.starts_with("*20000\r\n$2\r\nk1\r\n"));
}

/// Bounds whose difference exceeds 32 bits end the script, and not the server.
#[test]
fn unpack_bears_any_bounds() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    for bounds in [
        "0, 2147483647",
        "-2147483648, -1",
        "-2147483640, 2147483647",
        "-1e300, 1e300",
        "0/0, 1",
        "0/0",
        "4294967296, 1e18",
    ] {
        let said = eval(&mut client, &format!("return {{unpack({{1, 2, 3}}, {bounds})}}"));
        assert!(said.contains("too many results to unpack"), "{bounds}: {said}");
    }
    for (bounds, want) in [
        ("21474836480, 2147483647", "*0\r\n"),
        ("2, 1", "*0\r\n"),
        ("'2'", "*2\r\n:2\r\n:3\r\n"),
        ("nil, 1", "*1\r\n:1\r\n"),
    ] {
        let script = format!("return {{unpack({{1, 2, 3}}, {bounds})}}");
        assert_eq!(eval(&mut client, &script), want, "{bounds}");
    }
    let error = eval(&mut client, "return unpack(7)");
    assert!(error.contains("bad argument #1 to 'unpack' (table expected, got number)"), "{error}");
}

/// Scripts from EVAL make room for newer ones; scripts from SCRIPT LOAD stay.
#[test]
fn scripts_are_forgotten_when_they_are_many() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let kept = client.value("SCRIPT LOAD \"return 'kept'\"");
    let first = client.value("EVAL \"return redis.sha1hex('return 0')\" 0");
    for at in 0..600 {
        assert_eq!(eval(&mut client, &format!("return {at}")), format!(":{at}\r\n"));
    }
    assert_eq!(client.ask(&format!("SCRIPT EXISTS {kept} {first}")), "*2\r\n:1\r\n:0\r\n");
    assert_eq!(client.info("number_of_cached_scripts"), "501");
    assert_eq!(client.info("evicted_scripts"), "101");
    assert_eq!(eval(&mut client, "return 0"), ":0\r\n");
    // A script that is used again stays.
    client.ask("SCRIPT FLUSH");
    client.ask("CONFIG RESETSTAT");
    assert_eq!(client.info("evicted_scripts"), "0");
    for at in 0..500 {
        eval(&mut client, &format!("return {at}"));
    }
    let digests: Vec<_> = (0..3)
        .map(|at| client.value(&format!("EVAL \"return redis.sha1hex('return {at}')\" 0")))
        .collect();
    client.ask("SCRIPT FLUSH");
    for at in 0..500 {
        eval(&mut client, &format!("return {at}"));
    }
    eval(&mut client, "return 0");
    client.ask(&format!("EVALSHA {} 0", digests[1]));
    eval(&mut client, "return 500");
    let exist = client.ask(&format!("SCRIPT EXISTS {}", digests.join(" ")));
    assert_eq!(exist, "*3\r\n:1\r\n:1\r\n:0\r\n");
}

/// A set has no order, but a script sees it sorted.
#[test]
fn a_script_sees_a_set_in_order() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("SADD s c a e b d");
    for (options, wanted) in [
        ("'by','nosort'", "a b c d e"),
        ("'by','_','desc'", "e d c b a"),
        ("'by','_','desc','limit',1,2", "d c"),
        ("'by','_','get','#'", "a b c d e"),
    ] {
        for command in ["sort", "sort_ro"] {
            let script = format!("return table.concat(redis.call('{command}','s',{options}),' ')");
            let reply = eval(&mut client, &script);
            assert_eq!(reply.lines().nth(1), Some(wanted), "{command} {options}");
        }
    }
    client.ask("SORT s BY _ DESC STORE l");
    assert_eq!(client.ask("LRANGE l 0 0"), "*1\r\n$1\r\ne\r\n");
}

/// A script that replies with an error counts as failed, and its error counts once.
#[test]
fn a_script_that_replies_an_error_has_failed() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    for script in [
        "return redis.error_reply('MY own')",
        "return {err = 'YOUR own'}",
        "return redis.pcall('nosuch')",
        "return redis.call('nosuch')",
        "error('boo')",
        "redis.pcall('nosuch') return 1",
    ] {
        eval(&mut client, script);
    }
    let stats = client.info("cmdstat_eval");
    assert!(stats.starts_with("calls=6,"), "{stats}");
    assert!(stats.ends_with("rejected_calls=0,failed_calls=5"), "{stats}");
    for (code, count) in [("MY", 1), ("YOUR", 1), ("ERR", 4)] {
        assert_eq!(client.info(&format!("errorstat_{code}")), format!("count={count}"));
    }
    assert_eq!(client.info("total_error_replies"), "6");
}

/// A command that a script may not call counts as rejected, as in Redis.
#[test]
fn what_a_script_may_not_is_counted() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    eval(&mut client, "return redis.call('subscribe', 'x')");
    client.ask("EVAL_RO \"return redis.call('set', 'a', '1')\" 0");
    for name in ["subscribe", "set"] {
        let stats = client.info(&format!("cmdstat_{name}"));
        assert!(stats.starts_with("calls=0,"), "{name}: {stats}");
        assert!(stats.ends_with("rejected_calls=1,failed_calls=0"), "{name}: {stats}");
    }
}

/// No script changes the environment of other scripts.
#[test]
fn a_script_leaves_nothing_behind() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    for script in [
        "redis.call = nil",
        "string.format = nil",
        "rawset(_G, 'x', 1)",
        "rawset(redis, 'call', 1)",
        "setmetatable(_G, {})",
        "getmetatable('').__index = 1",
        "getmetatable('').__index.upper = nil",
        "getmetatable(_G).__index = 1",
        "for _, value in pairs(_G) do if type(value) == 'table' and value ~= _G then \
         value.x = 1 end end",
        "table.insert(_G, 1)",
        "local f = loadstring('x = 1') f()",
    ] {
        let reply = eval(&mut client, script);
        assert!(reply.contains("Attempt to modify a readonly table"), "{script}: {reply}");
    }
    for script in [
        "KEYS.x, ARGV.x = 1, 1",
        "select(2, pairs(_G)).string = nil",
        "local real = select(2, pairs(redis)) real.call = nil",
    ] {
        eval(&mut client, script);
    }
    let check = "return {type(redis.call), ('a'):upper(), #KEYS, type(string.format), \
                 tostring(KEYS.x), tostring(rawget(_G, 'x'))}";
    let wanted = "*6\r\n$8\r\nfunction\r\n$1\r\nA\r\n:0\r\n$8\r\nfunction\r\n$3\r\nnil\r\n\
                  $3\r\nnil\r\n";
    assert_eq!(eval(&mut client, check), wanted);
}

/// The names that redis-server 7.0.15 shows to a script, and two more of Valkey: `server` and `os`,
/// which holds only the clock.
const GLOBALS: &str = "ARGV KEYS _G _VERSION assert bit cjson cmsgpack collectgarbage coroutine \
                       error gcinfo getmetatable ipairs load loadstring math next os pairs pcall \
                       rawequal rawget rawset redis select server setmetatable string struct \
                       table tonumber tostring type unpack xpcall";

#[test]
fn a_script_sees_the_names_of_the_servers() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let names = "local names = {} for name in pairs(_G) do names[#names + 1] = name end \
                 table.sort(names) return table.concat(names, ' ')";
    let reply = eval(&mut client, names);
    assert_eq!(reply.lines().nth(1), Some(GLOBALS));
    let clock = "local names = {} for name in pairs(os) do names[#names + 1] = name end \
                 return table.concat(names, ' ')";
    assert_eq!(eval(&mut client, clock), "$5\r\nclock\r\n");
    for name in [
        "io", "debug", "package", "require", "module", "dofile", "loadfile", "print", "newproxy",
        "getfenv", "setfenv",
    ] {
        let reply = eval(&mut client, &format!("return {name}"));
        assert!(reply.contains("nonexistent global variable"), "{name}: {reply}");
    }
}

/// A script leaves the state of its client unchanged.
#[test]
fn the_client_is_as_it_was_after_a_script() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    assert_eq!(eval(&mut client, "redis.call('select', 3) redis.call('set', 'a', 1)"), "$-1\r\n");
    assert_eq!(client.value("EXISTS a"), "0");
    assert_eq!(eval(&mut client, "return redis.call('blpop', 'none', 0)"), "$-1\r\n");
    client.ask("MULTI");
    client.ask("SET a 1");
    client.ask("EVAL \"return redis.call('incr', KEYS[1])\" 1 a");
    assert_eq!(client.ask("EXEC"), "*2\r\n+OK\r\n:2\r\n");
}

/// Two threads and two keys: no script sees one key changed without the other.
#[test]
fn scripts_run_alone() {
    let server = serve("--io-threads 3");
    let address = server.addr();
    let write = "for at = 1, 2 do redis.call('incr', KEYS[at]) end";
    let read = "return redis.call('get', KEYS[1]) == redis.call('get', KEYS[2])";
    let threads: Vec<_> = (0..4)
        .map(|at| {
            let script = if at % 2 == 0 { write } else { read };
            std::thread::spawn(move || {
                let mut client = Client::new(address);
                for _ in 0..500 {
                    let reply = client.ask(&format!("EVAL \"{script}\" 2 a b"));
                    assert_eq!(reply, if at % 2 == 0 { "$-1\r\n" } else { ":1\r\n" });
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(Client::new(address).ask("MGET a b"), "*2\r\n$4\r\n1000\r\n$4\r\n1000\r\n");
}

#[test]
fn rights_hold_inside_of_scripts() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("ACL SETUSER app on nopass ~app:* +@all -incr");
    client.ask("AUTH app any");
    let call = |script: &str, keys: &str| format!("EVAL \"return {script}\" {keys}");
    assert_eq!(client.ask(&call("redis.call('set', KEYS[1], 1)", "1 app:a")), "+OK\r\n");
    assert!(client.ask(&call("1", "1 other")).starts_with("-NOPERM"), "its keys are checked");
    let error = client.ask(&call("redis.call('get', 'other')", "0"));
    assert!(error.starts_with("-ERR ACL failure in script: No permissions"), "{error}");
    let error = client.ask(&call("redis.call('incr', 'app:a')", "0"));
    assert!(error.starts_with("-ERR ACL failure in script: User app has no perm"), "{error}");
    assert_eq!(client.ask(&call("redis.acl_check_cmd('incr', 'app:a')", "0")), "$-1\r\n");
    assert_eq!(client.ask(&call("redis.acl_check_cmd('get', 'app:a')", "0")), ":1\r\n");
    client.ask("AUTH default any");
    assert!(client.ask("ACL LOG").contains("$3\r\nlua\r\n"));
    client.ask("ACL SETUSER reader on nopass ~* -@all +@read");
    client.ask("AUTH reader any");
    assert!(client.ask("EVAL_RO \"return 1\" 0").starts_with("-NOPERM"), "no @read lets it in");
}

#[test]
fn a_full_server_runs_what_frees() {
    let server = serve("--maxmemory 3mb --maxmemory-policy noeviction");
    let mut client = Client::new(server.addr());
    let value = "x".repeat(100_000);
    let mut at = 0;
    while client.ask(&format!("SET key:{at} {value}")).starts_with('+') {
        at += 1;
    }
    client.ask("CONFIG SET maxmemory 1mb");
    let reply = eval(&mut client, "return redis.call('set', 'a', 1)");
    assert!(reply.starts_with("-OOM command not allowed"), "{reply}");
    let refused = client.ask("EVAL \"#!lua\\nreturn 1\" 0");
    assert!(refused.starts_with("-OOM allow-oom flag is not set on the script"), "{refused}");
    assert_eq!(client.ask("EVAL \"#!lua flags=allow-oom\\nreturn 1\" 0"), ":1\r\n");
    assert_eq!(eval(&mut client, "return redis.call('del', 'key:0')"), ":1\r\n");
}

/// MONITOR, counters, listeners and client-side caches see the commands of a script.
#[test]
fn what_a_script_does_is_seen() {
    let server = serve("--notify-keyspace-events KEA");
    let (mut client, mut watcher) = (Client::new(server.addr()), Client::new(server.addr()));
    let mut listener = Client::new(server.addr());
    listener.ask("SUBSCRIBE __keyspace@0__:a");
    watcher.ask("MONITOR");
    assert_eq!(eval(&mut client, "return redis.call('set', 'a', 1)"), "+OK\r\n");
    let first = String::from_utf8(watcher.reply()).unwrap();
    let second = String::from_utf8(watcher.reply()).unwrap();
    assert!(
        first.contains("\"EVAL\"") && second.contains("[0 lua] \"set\" \"a\" \"1\""),
        "{second}"
    );
    assert!(String::from_utf8(listener.reply()).unwrap().ends_with("set\r\n"));
    let stats = client.value("INFO commandstats");
    assert!(stats.contains("cmdstat_set:calls=1,") && stats.contains("cmdstat_eval:calls=1,"));
    let mut tracker = Client::new(server.addr());
    tracker.ask("HELLO 3");
    tracker.ask("CLIENT TRACKING on");
    tracker.ask("EVAL \"return redis.call('get', 'a')\" 0");
    eval(&mut client, "redis.call('incr', 'a')");
    assert!(String::from_utf8(tracker.reply()).unwrap().contains("invalidate"));
}

#[test]
fn functions_outlive_what_loads_them() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let code = "#!lua name=lib\\nlocal count = 0 redis.register_function('next', \
                function() count = count + 1 return count end)";
    assert_eq!(client.value(&format!("FUNCTION LOAD \"{code}\"")), "lib");
    let mut other = Client::new(server.addr());
    assert_eq!(client.value("FCALL next 0"), "1");
    assert_eq!(other.value("FCALL NEXT 0"), "2", "by any client, in any case");
    client.ask("SCRIPT FLUSH");
    assert_eq!(client.value("FCALL next 0"), "3");
    let loads = client.ask("FUNCTION LOAD \"#!lua name=slow\\nwhile true do end\"");
    assert!(loads.contains("FUNCTION LOAD timeout"), "{loads}");
    assert_eq!(client.value("FCALL next 0"), "4");
    // FUNCTION RESTORE loads the output of DUMP.
    client.send(b"*2\r\n$8\r\nFUNCTION\r\n$4\r\nDUMP\r\n");
    let dump = client.reply();
    let at = dump.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let dump = &dump[at..dump.len() - 2];
    assert_eq!(client.ask("FUNCTION FLUSH"), "+OK\r\n");
    assert!(client.ask("FCALL next 0").starts_with("-ERR Function not found"));
    let head = format!("*3\r\n$8\r\nFUNCTION\r\n$7\r\nRESTORE\r\n${}\r\n", dump.len());
    client.send(&[head.as_bytes(), dump, b"\r\n"].concat());
    assert_eq!(client.reply(), b"+OK\r\n");
    assert_eq!(client.value("FCALL next 0"), "1");
    assert!(client.ask("FUNCTION RESTORE rubbish").starts_with("-ERR DUMP payload"));
}
