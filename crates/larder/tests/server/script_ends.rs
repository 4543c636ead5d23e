//! Every script can be ended, uses no more memory than it may, and leaves nothing that the next
//! script sees. (`scripts.rs` has the rest.)

use crate::client::Client;
use crate::process::{Server, serve};
use std::time::{Duration, Instant};

fn eval(client: &mut Client, script: &str) -> String {
    begin(client, script);
    String::from_utf8_lossy(&client.reply()).into_owned()
}

/// Sends a script and does not wait for its reply.
pub(crate) fn begin(client: &mut Client, script: &str) {
    let len = script.len();
    client.send(format!("*3\r\n$4\r\nEVAL\r\n${len}\r\n{script}\r\n$1\r\n0\r\n").as_bytes());
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
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Scripts that never end: in coroutines, in handlers, in one call of a library.
const ENDLESS: [&str; 16] = [
    "while true do pcall(coroutine.wrap(function() while true do end end)) end",
    "while true do pcall(function() coroutine.wrap(function() while true do pcall(function() \
     while true do end end) end end)() end) end",
    "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
    "while true do coroutine.wrap(function() for i = 1, 90 do coroutine.wrap(function() \
     for j = 1, 90 do coroutine.wrap(function() for k = 1, 90 do end end)() end end)() end end)() \
     end",
    "xpcall(function() while true do end end, function() while true do end end)",
    "while true do xpcall(error, function() while true do end end) end",
    "while true do pcall(error) xpcall(function() while true do end end, function(e) return e end) \
     end",
    "return string.find(string.rep('a', 40000), string.rep('a*', 20) .. 'b')",
    "return (string.rep('a', 60) .. 'c'):gsub(string.rep('a?', 40) .. string.rep('a', 60), '')",
    "return string.match(string.rep('a', 3000), '.-.-.-.-.-b')",
    "for word in string.gmatch(string.rep('a', 40000), string.rep('a*', 20) .. 'b') do end",
    "return string.gsub(string.rep('a', 40000), string.rep('a*', 20) .. 'b', function() end)",
    "while true do string.rep('', 2^31 - 1) end",
    "table.insert({}, -2^40, 1)",
    "local s, t = string.rep('a', 1000000), {} for i = 1, 3000 do t[i] = s end table.sort(t)",
    "while true do pcall(redis.call, 'nosuch') end",
];

#[test]
fn nothing_keeps_a_script_from_being_killed() {
    let server = serve("--busy-reply-threshold 20 --io-threads 1");
    let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
    for script in ENDLESS {
        begin(&mut one, script);
        until(&mut two, "GET x", "-BUSY");
        let asked = Instant::now();
        assert!(two.ask("FUNCTION STATS").starts_with("-BUSY"), "{script}");
        // A second kill, sent without waiting for the first reply; the script may have ended
        // meanwhile.
        two.send(b"SCRIPT KILL\r\nSCRIPT KILL\r\n");
        assert_eq!(two.reply(), b"+OK\r\n", "{script}");
        let again = two.reply();
        assert!(again == b"+OK\r\n" || again.starts_with(b"-NOTBUSY"), "{script}");
        let reply = String::from_utf8(one.reply()).unwrap();
        assert!(reply.starts_with("-ERR Script killed by user"), "{script}: {reply}");
        assert!(asked.elapsed() < Duration::from_secs(10), "{script}: {:?}", asked.elapsed());
        assert_eq!(eval(&mut one, "return 1"), ":1\r\n", "what follows is not ended");
        assert_eq!(two.ask("GET x"), "$-1\r\n");
    }
}

#[test]
fn nothing_keeps_a_function_from_being_killed() {
    let server = serve("--busy-reply-threshold 20 --io-threads 1");
    let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
    let library = "#!lua name=lib\nredis.register_function('f', function() while true do \
                   pcall(coroutine.wrap(function() while true do end end)) end end)";
    one.send(
        format!("*3\r\n$8\r\nFUNCTION\r\n$4\r\nLOAD\r\n${}\r\n{library}\r\n", library.len())
            .as_bytes(),
    );
    assert_eq!(one.reply(), b"$3\r\nlib\r\n");
    one.send(b"FCALL f 0\r\n");
    until(&mut two, "GET x", "-BUSY");
    assert!(two.ask("FUNCTION STATS").contains("FCALL"), "what runs is told");
    assert!(two.ask("SCRIPT KILL").starts_with("-BUSY"));
    assert_eq!(two.ask("FUNCTION KILL"), "+OK\r\n");
    assert!(one.reply().starts_with(b"-ERR Script killed by user with FUNCTION KILL"));
    until(&mut two, "FUNCTION STATS", "*4\r\n$14\r\nrunning_script\r\n$-1");
}

/// Waits for the end of a server; returns the time, and whether the status is 0.
fn ends(server: Server) -> (Duration, bool) {
    let asked = Instant::now();
    let status = server.wait();
    (asked.elapsed(), status.success())
}

#[test]
fn the_server_ends_whatever_a_script_does() {
    let wrote = "redis.call('set', 'x', 1) while true do pcall(coroutine.wrap(function() while \
                 true do end end)) end";
    for script in [ENDLESS[0], ENDLESS[5], ENDLESS[7], wrote] {
        for by_command in [true, false] {
            let server = serve("--busy-reply-threshold 20 --io-threads 1");
            let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
            // The second copy does not start any more.
            begin(&mut one, script);
            begin(&mut one, script);
            until(&mut two, "GET x", "-BUSY");
            if by_command {
                two.send(b"SHUTDOWN NOSAVE\r\n");
            } else {
                server.signal("-TERM");
            }
            let (took, is_well) = ends(server);
            assert!(took < Duration::from_secs(4) && is_well, "{script}: {took:?}");
        }
    }
}

/// The peak memory of a server, in bytes.
fn peak(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    1_024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}

/// Scripts may use 32 MB here. The same bound holds for memory that other parts of the server
/// allocate for a script.
#[test]
fn what_a_script_makes_others_allocate_is_its_memory() {
    let server = serve("--maxmemory 64mb --proto-max-bulk-len 512mb");
    let mut client = Client::new(server.addr());
    assert_eq!(client.ask("RPUSH numbers 1"), ":1\r\n");
    let before = peak(&server);
    let doubled = "local t = {string.rep('a', 1000)} for i = 1, 60 do t = {t, t} end ";
    let wide = "local t = string.rep('a', 1000) for i = 1, 14 do local w = {} for j = 1, 100 do \
                w[j] = t end t = w end ";
    let long = "local s = string.rep('a', 1000000) local t = {} for i = 1, 7900 do t[i] = s end ";
    for script in [
        &format!("{doubled} return cjson.encode(t)"),
        &format!("{doubled} return t"),
        &format!("{wide} return cmsgpack.pack(t)"),
        &format!("{long} return cjson.encode(t)"),
        &format!("{long} return cmsgpack.pack(t)"),
        &format!("{long} return t"),
        &format!("{long} return {{set = {{[t] = true}}}}"),
        &format!("{long} return struct.pack(string.rep('s', 6000), unpack(t, 1, 6000))"),
        &format!("{long} return redis.call('RPUSH', 'list', unpack(t))"),
        &format!("{long} return redis.call('RPUSH', 'list', unpack(t, 1, 6000))"),
        &format!("{long} return redis.acl_check_cmd('RPUSH', 'list', unpack(t, 1, 6000))"),
        &format!("{long} return table.concat(t)"),
        "local s = string.rep('a', 1000) return s:gsub('a', string.rep('b', 100000))",
        "local s = string.rep('a', 1000) return s:gsub('(a)', '%1' .. string.rep('b', 100000))",
        "cjson.encode_sparse_array(false, 0, 0) return cjson.encode({[1] = 1, [1e9] = 1})",
    ] {
        let reply = eval(&mut client, script);
        assert!(reply.contains("not enough memory"), "{script}: {reply:.200}");
        let caught = format!("local ok, wrong = pcall(function() {script} end) return 1");
        assert!(eval(&mut client, &caught).contains(":1\r\n") || reply.starts_with("-ERR"));
        let more = (peak(&server) - before) >> 20;
        assert!(more < 130, "{script}: {more} MB more");
    }
    assert_eq!(eval(&mut client, "return redis.call('llen', 'numbers')"), ":1\r\n");
    assert!(client.ask("EXISTS list").starts_with(":0"), "a refused command does nothing");
    let log =
        "local s = string.rep('a', 1000000) for i = 1, 5 do redis.log(3, s, s, s) end return 1";
    assert_eq!(eval(&mut client, log), ":1\r\n");
    assert!(server.log().len() < 20_000, "lines of the log are short");
}

/// Two scripts: one changes every value that it can reach, the other lists every value that it can
/// reach.
const CHANGES: &str = "
    local seen, type, pcall, pairs, rawset = {}, type, pcall, pairs, rawset
    local setmetatable, getmetatable = setmetatable, getmetatable
    local insert, globals, keys, args = table.insert, _G, KEYS, ARGV
    local function change(value, depth)
      local kind = type(value)
      if seen[value] or depth > 8 or (kind ~= 'table' and kind ~= 'function') then return end
      seen[value] = true
      if kind == 'table' then
        pcall(function() value.planted = 1 end)
        pcall(rawset, value, 'planted', 1)
        pcall(insert, value, 'planted')
        pcall(setmetatable, value, {__index = function() return 'planted' end})
        local meta = getmetatable(value)
        for name, inner in pairs(value) do
          pcall(function() value[name] = 'planted' end)
          pcall(rawset, value, name, 'planted')
          change(name, depth + 1)
          change(inner, depth + 1)
        end
        change(meta, depth + 1)
      end
    end
    change(globals, 0) change(getmetatable(''), 0) change(getmetatable(globals), 0)
    change(keys, 0) change(args, 0)
    return 1";
const SHOWS: &str = "
    local lines, seen = {}, {}
    local function show(name, value, depth)
      local kind = type(value)
      if kind == 'string' or kind == 'number' or kind == 'boolean' then
        lines[#lines + 1] = name .. '=' .. tostring(value)
      else
        lines[#lines + 1] = name .. ':' .. kind
      end
      if seen[value] or (kind ~= 'table' and kind ~= 'function') or depth > 8 then return end
      seen[value] = true
      if kind == 'table' then
        for key, inner in pairs(value) do show(name .. '.' .. tostring(key), inner, depth + 1) end
        show(name .. '#meta', getmetatable(value), depth + 1)
      end
    end
    show('G', _G, 0) show('S', getmetatable(''), 0) show('K', KEYS, 0) show('A', ARGV, 0)
    lines[#lines + 1] = ('x'):rep(3) .. tostring(planted == nil)
    table.sort(lines)
    return table.concat(lines, ' ')";

#[test]
fn nothing_that_a_script_changes_is_seen_by_the_next() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    // Reading a name that does not exist is an error, so the last line uses rawget.
    let shows = SHOWS.replace("planted == nil", "rawget(_G, 'planted') == nil");
    let before = eval(&mut client, &shows);
    assert!(before.starts_with('$') && before.len() > 1_000, "{before}");
    assert!(before.contains("xxxtrue"), "{before}");
    for round in 0..2 {
        let changed = eval(&mut client, CHANGES);
        assert_eq!(changed, ":1\r\n", "round {round}");
        assert_eq!(eval(&mut client, &shows), before);
    }
    for absent in ["return string.dump", "return (''):dump()", "return ('').dump"] {
        let reply = eval(&mut client, absent);
        assert!(reply == "$-1\r\n" || reply.contains("attempt to call"), "{absent}: {reply}");
    }
}

/// An array of texts is returned whole, whatever its length.
#[test]
fn arrays_of_texts_are_replied() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    for len in 1..130 {
        let script = format!("local t = {{}} for i = 1, {len} do t[i] = 'x' end return t");
        let expected = format!("*{len}\r\n{}", "$1\r\nx\r\n".repeat(len));
        assert_eq!(eval(&mut client, &script), expected);
    }
}

/// The error for a command that Larder lacks gives the reason, in a script as well.
#[test]
fn a_command_that_is_absent_says_why_in_a_script() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    for (command, why) in
        [("XADD", "no streams"), ("geoadd", "geospatial"), ("pfadd", "HyperLogLogs")]
    {
        let reply = eval(&mut client, &format!("return redis.call('{command}', 'a', 1)"));
        let begins = format!("-ERR Unknown Redis command called from script: '{command}' is not");
        assert!(reply.starts_with(&begins) && reply.contains(why), "{reply}");
        let caught = eval(&mut client, &format!("return redis.pcall('{command}', 'a').err"));
        assert!(caught.contains(why), "{caught}");
    }
    assert!(!eval(&mut client, "return redis.call('nosuch')").contains("not supported"));
}

/// `unpack` returns as many values as the stack of a C function holds, and a command takes as many
/// arguments.
#[test]
fn many_values_are_unpacked() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let table = "local t = {} for i = 1, 8000 do t[i] = 'm' .. i end ";
    let less = "t[8000] = nil ";
    assert_eq!(eval(&mut client, &format!("{table}{less}return #{{unpack(t)}}")), ":7999\r\n");
    assert!(
        eval(&mut client, &format!("{table}return #{{unpack(t)}}")).contains("too many results")
    );
    let added = format!("{table}{less}return redis.call('sadd', 'set', unpack(t))");
    assert_eq!(eval(&mut client, &added), ":7999\r\n");
    let caught = format!("{table}{less}return redis.pcall('nosuch', unpack(t)).err");
    assert!(eval(&mut client, &caught).contains("Unknown Redis command"));
    let packed = format!("{table}{less}return #cmsgpack.pack(unpack(t))");
    assert_eq!(eval(&mut client, &packed), ":46887\r\n");
    let reply = eval(&mut client, &format!("{table}{less}return struct.pack(unpack(t))"));
    assert!(reply.contains("too many arguments"), "{reply}");
    assert_eq!(eval(&mut client, "return 1"), ":1\r\n");
}
