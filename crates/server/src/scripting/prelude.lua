-- The world that scripts see, made once for an interpreter.
--
-- Scripts of all users share it, so none may change it. A table of it is shown by a *front*: an
-- empty table that reads through to the table behind it and refuses to be written. Whatever would
-- get past a front (rawset, setmetatable, next, the metatable of strings) is replaced by a function
-- that heeds it, or is not there (getfenv, setfenv). The settings of cjson stay, as they do in the
-- servers.
--
-- An error of a function in Rust is userdata that scripts cannot inspect. Code here that catches one
-- translates it (`translated`), unless the error ends the script: then the code passes it on.
--
-- The hook of the interpreter counts the instructions of a coroutine, and a function of C is one
-- instruction. What a script could hide in for long is therefore done here, in Rust, or after a look
-- (`look.rs`).
local real, rust = ...

local error, type, tostring, select = real.error, real.type, real.tostring, real.select
local next, pairs, rawget, rawset = real.next, real.pairs, real.rawget, real.rawset
local setmetatable, getmetatable = real.setmetatable, real.getmetatable
local setfenv, collectgarbage = real.setfenv, real.collectgarbage
local pcall, xpcall = real.pcall, real.xpcall
local loadstring, unpack, tonumber = real.loadstring, real.unpack, real.tonumber
local create, resume = real.coroutine.create, real.coroutine.resume
local concat, insert, sort = real.table.concat, real.table.insert, real.table.sort
local sub, rep = real.string.sub, real.string.rep
local find, match = real.string.find, real.string.match
local gmatch, gsub = real.string.gmatch, real.string.gsub
local look, translated, patterns = rust.look, rust.translated, rust.pattern

local READONLY = "Attempt to modify a readonly table"

-- The table behind each front, and what makes it one.
local behind = setmetatable({}, { __mode = "k" })
local metas = setmetatable({}, { __mode = "k" })

local function refuse()
  error(READONLY, 2)
end

-- The metatable that scripts see of a front. Its own metatable is itself.
local nothing = {}
setmetatable(nothing, { __newindex = refuse, __metatable = nothing })
behind[nothing] = {}

local function front(table)
  local meta = { __index = table, __newindex = refuse, __metatable = nothing }
  local shown = setmetatable({}, meta)
  behind[shown], metas[shown] = table, meta
  return shown
end

-- Raises what Lua says of a first argument that is not what it should be.
local function wanted(name, what, value)
  local got = value == nil and "no value" or type(value)
  error("bad argument #1 to '" .. name .. "' (" .. what .. " expected, got " .. got .. ")", 3)
end

-- What is behind a front, whole.
local eval_globals
local function all_behind(shown)
  local table = behind[shown]
  if table and table == eval_globals then
    return table, table.KEYS, table.ARGV
  end
  return table
end

local function copied(table)
  local copy = {}
  for name, value in pairs(table) do
    copy[name] = value
  end
  return copy
end

-- The base library, as far as it does no harm.
local base = {}
for _, name in real.ipairs {
  "assert", "error", "ipairs", "rawequal", "rawget", "select", "tonumber", "tostring", "type",
  "_VERSION",
} do
  base[name] = real[name]
end

-- A bound of `unpack`, as a number.
local function bound(place, given, otherwise)
  if given == nil then
    return otherwise
  end
  return tonumber(given)
    or error("bad argument #" .. place .. " to 'unpack' (number expected, got " .. type(given) .. ")", 3)
end

-- Lua reckons in 32 bits how many values there are, and where that overflows it reads behind the
-- table and ends the process.
function base.unpack(list, first, last)
  if type(list) ~= "table" then
    local got = list == nil and "no value" or type(list)
    error("bad argument #1 to 'unpack' (table expected, got " .. got .. ")", 2)
  end
  if first == nil and last == nil then
    return unpack(list)
  end
  local from, to = bound(2, first, 1), bound(3, last, #list)
  if from > to then
    return
  end
  if not (to - from < 1e6 and from > -2 ^ 31 and to < 2 ^ 31) then
    error("too many results to unpack", 2)
  end
  return unpack(list, from, to)
end

-- An error as a script sees it, where it sees it.
local function seen(failure)
  if type(failure) == "userdata" then
    local shown, ends = translated(failure)
    if ends then
      error(failure, 0)
    end
    return shown
  end
  -- No script has a line in here.
  if type(failure) == "string" and sub(failure, 1, 8) == "prelude:" then
    return match(failure, "^prelude:%d+: (.*)$") or failure
  end
  return failure
end

local function unwrapped(ok, ...)
  if ok then
    return true, ...
  end
  local failure = seen((...))
  if type(failure) == "table" and type(failure.err) == "string" then
    failure = failure.err
  end
  return false, failure
end

-- An error of the server is caught as its text.
function base.pcall(...)
  return unwrapped(pcall(...))
end

-- The handler runs before the stack is undone, and without a hook if it was a hook that raised the
-- error: it is not asked about one that ends the script.
local function handled(ok, ...)
  if ok then
    return true, ...
  end
  return false, seen((...))
end
function base.xpcall(f, handler)
  return handled(xpcall(f, function(failure)
    if type(failure) == "userdata" then
      local shown, ends = translated(failure)
      if ends then
        return failure
      end
      failure = shown
    end
    return handler(failure)
  end))
end

function base.rawset(table, name, value)
  if behind[table] then
    error(READONLY, 0)
  end
  return rawset(table, name, value)
end

function base.setmetatable(table, meta)
  if behind[table] then
    error(READONLY, 0)
  end
  if type(table) ~= "table" then
    wanted("setmetatable", "table", table)
  end
  return setmetatable(table, meta)
end

-- The library of strings as scripts see it, and as methods are looked up in it.
local strings = copied(real.string)
strings.dump = nil
getmetatable("").__index = strings

-- The longest text that Lua's own library is given, by pattern; others are for `pattern.rs`.
local longest, known = {}, 0
local KNOWN_MAX = 1000
local function weigh(pattern)
  if known == KNOWN_MAX then
    longest, known = {}, 0
  end
  known = known + 1
  longest[pattern] = patterns.weigh(pattern)
  return longest[pattern]
end

local function is_quick(text, pattern)
  return type(text) == "string"
    and type(pattern) == "string"
    and #text <= (longest[pattern] or weigh(pattern))
end

local function is_number(value)
  return value == nil or type(value) == "number"
end

function strings.find(text, pattern, from, is_plain)
  if is_quick(text, pattern) and is_number(from) then
    return find(text, pattern, from, is_plain)
  end
  return patterns.find(text, pattern, from, is_plain)
end

function strings.match(text, pattern, from)
  if is_quick(text, pattern) and is_number(from) then
    return match(text, pattern, from)
  end
  return patterns.match(text, pattern, from)
end

function strings.gmatch(text, pattern)
  if is_quick(text, pattern) then
    return gmatch(text, pattern)
  end
  local at = 0
  local function step(following, ...)
    at = following
    return ...
  end
  return function()
    if at then
      return step(patterns.next(text, pattern, at))
    end
  end
end
strings.gfind = strings.gmatch

-- `gsub` with a function or a table, which is asked for what stands in place of each match.
local function replaced(text, pattern, by, most)
  text = tostring(text)
  local pieces, count, at = {}, 0, 0
  local is_bound = sub(pattern, 1, 1) == "^"
  local function keep(first, behind, ...)
    if not first then
      return false
    end
    local value
    if type(by) == "table" then
      value = by[(...)]
    else
      value = by(...)
    end
    if not value then
      value = sub(text, first + 1, behind)
    elseif type(value) ~= "string" and type(value) ~= "number" then
      error("invalid replacement value (a " .. type(value) .. ")", 4)
    end
    count = count + 1
    pieces[#pieces + 1] = sub(text, at + 1, first)
    pieces[#pieces + 1] = value
    at = behind
    if first == behind then
      if at == #text then
        return false
      end
      pieces[#pieces + 1] = sub(text, at + 1, at + 1)
      at = at + 1
    end
    return not is_bound
  end
  local is_one = type(by) == "table"
  while count < most and keep(patterns.search(text, pattern, at, is_one)) do
  end
  pieces[#pieces + 1] = sub(text, at + 1)
  return concat(pieces), count
end

function strings.gsub(text, pattern, by, most)
  local asks = type(by) == "function" or type(by) == "table"
  local is_text = type(by) == "string" and not find(by, "%", 1, true)
  if (asks or is_text) and is_quick(text, pattern) and is_number(most) then
    return gsub(text, pattern, by, most)
  end
  if type(by) ~= "string" and type(by) ~= "number" and not asks then
    error("bad argument #3 to 'gsub' (string/function/table expected)", 2)
  end
  if asks and (type(text) == "string" or type(text) == "number") and type(pattern) == "string" then
    return replaced(text, pattern, by, tonumber(most) or 1 / 0)
  end
  return patterns.replace(text, pattern, by, most)
end

function strings.rep(...)
  local text, count = ...
  -- Which takes its time to make nothing.
  if text == "" and tonumber(count) then
    return ""
  end
  return rep(...)
end

local string_front = front(strings)
local of_strings = front { __index = string_front }

function base.getmetatable(value)
  if type(value) == "string" then
    return of_strings
  end
  return getmetatable(value)
end

function base.next(table, name)
  return next(behind[table] and copied((all_behind(table))) or table, name)
end

function base.pairs(table)
  if behind[table] then
    return next, copied((all_behind(table))), nil
  end
  return pairs(table)
end

function base.rawget(table, name)
  return rawget(all_behind(table) or table, name)
end

function base.collectgarbage(option, argument)
  if option == nil or option == "collect" or option == "count" then
    return collectgarbage(option)
  end
  return 0
end

function base.gcinfo()
  return (collectgarbage("count"))
end

local maths = copied(real.math)
maths.random, maths.randomseed = rust.random, rust.randomseed

local function fresh_cjson()
  local fresh = rust.cjson()
  fresh.null, fresh.new, fresh._NAME, fresh._VERSION = rust.null, fresh_cjson, "cjson", "2.1.0"
  return fresh
end

local cmsgpack = copied(rust.cmsgpack)
local structs = copied(rust.struct)
cmsgpack._NAME, cmsgpack._VERSION = "cmsgpack", "lua-cmsgpack 0.4.0"
cmsgpack._COPYRIGHT, cmsgpack._DESCRIPTION = "Larder", "MessagePack for Lua"

-- Places that a value is moved over at once, and values that are sorted so.
local MOVES_MAX, SORTED_MAX = 1000000, 3000

local tables = copied(real.table)
function tables.insert(table, ...)
  if behind[table] then
    error(READONLY, 0)
  end
  local at, value = ...
  local is_between = select("#", ...) == 2 and type(table) == "table" and type(at) == "number"
  if is_between and #table - at > MOVES_MAX then
    for place = #table, at, -1 do
      rawset(table, place + 1, rawget(table, place))
    end
    rawset(table, at, value)
    return
  end
  return insert(table, ...)
end

local function less(a, b)
  return a < b
end

-- Whether C may compare all values: long texts are compared for long, and many values often.
local function is_sorted_soon(table)
  if #table > SORTED_MAX then
    return false
  end
  for at = 1, #table do
    local value = rawget(table, at)
    if type(value) == "string" and #value > SORTED_MAX then
      return false
    end
  end
  return true
end

function tables.sort(table, is_less)
  if is_less == nil and type(table) == "table" and not is_sorted_soon(table) then
    is_less = less
  end
  return sort(table, is_less)
end

local coroutines = copied(real.coroutine)

-- Each coroutine counts its own instructions: who makes many of them would never be looked at.
local RESUMED_MAX = 100
local resumed_since = 0
local function counted_resume(...)
  resumed_since = resumed_since + 1
  if resumed_since > RESUMED_MAX then
    resumed_since = 0
    look()
  end
  return resume(...)
end

local function resumed(ok, ...)
  if ok then
    return true, ...
  end
  return false, seen((...))
end
function coroutines.resume(...)
  return resumed(counted_resume(...))
end

local function passed_on(ok, ...)
  if ok then
    return ...
  end
  local failure = ...
  error(failure, type(failure) == "string" and 3 or 0)
end
function coroutines.wrap(f)
  local coroutine = create(f)
  return function(...)
    return passed_on(counted_resume(coroutine, ...))
  end
end

local libraries = {
  string = string_front,
  table = front(tables),
  math = front(maths),
  coroutine = front(coroutines),
  os = front { clock = rust.clock },
  cjson = front(fresh_cjson()),
  cmsgpack = front(cmsgpack),
  struct = front(structs),
  bit = front(rust.bit),
}

local NONEXISTENT = {
  __index = function(globals, name)
    if globals == eval_globals and (name == "KEYS" or name == "ARGV") then
      -- Empty ones are made for those who ask.
      local empty = {}
      rawset(globals, name, empty)
      return empty
    end
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
}

-- An environment of scripts: the tables above and `more`, behind a front of its own.
local function environment(redis, more)
  local shown
  local globals = setmetatable(copied(base), NONEXISTENT)
  for name, library in pairs(libraries) do
    globals[name] = library
  end
  globals.redis = front(redis)
  globals.server = globals.redis
  shown = front(globals)
  rawset(globals, "_G", shown)
  -- What is loaded as it runs lives where the script does. Only text is loaded.
  local function load_text(text, name)
    look()
    if sub(text, 1, 1) == "\27" then
      return nil, "unexpected symbol near '<\\27>'"
    end
    local f, wrong = loadstring(text, name)
    if f then
      setfenv(f, shown)
    end
    return f, wrong
  end
  globals.loadstring = function(text, name)
    if type(text) ~= "string" and type(text) ~= "number" then
      wanted("loadstring", "string", text)
    end
    text = tostring(text)
    return load_text(text, name or text)
  end
  globals.load = function(read, name)
    if type(read) ~= "function" then
      wanted("load", "function", read)
    end
    local pieces = {}
    while true do
      local piece = read()
      if piece == nil or piece == "" then
        break
      end
      if type(piece) ~= "string" then
        return nil, "reader function must return a string"
      end
      pieces[#pieces + 1] = piece
    end
    return load_text(concat(pieces), name or "=(load)")
  end
  return shown, globals
end

-- What Rust gives a run was made while there was no limit to memory.
local limited, caught = rust.limited, rust.caught

local eval
eval, eval_globals = environment(rust.eval_api)
local functions, function_globals = environment(rust.function_api)

-- While a library is loaded it sees what it registers with, and nothing else.
local registers
local load_api = setmetatable({}, NONEXISTENT)
for name, value in pairs(rust.function_api) do
  if name == "log" or sub(name, 1, 4) == "LOG_" or sub(name, 1, 13) == "REDIS_VERSION" then
    load_api[name] = value
  end
end
function load_api.register_function(...)
  if not registers then
    error("redis.register_function can only be called on FUNCTION LOAD command", 0)
  end
  return registers(...)
end
local load_globals = setmetatable({}, NONEXISTENT)
load_globals.redis = front(load_api)
load_globals.server, load_globals._G = load_globals.redis, functions

-- Scripts by their digest, functions by their name.
local scripts, registered = {}, {}
local world = { eval = eval, functions = functions, scripts = scripts, registered = registered }

-- A function of Rust takes fewer arguments than one of Lua returns values, so those that are given
-- the values of `unpack` are behind a function of Lua. That costs a seventh of a GET, and hides the
-- line that calls in `return redis.call(...)`: only scripts with `unpack` in their text have it.
local MANY = 7000
local few, many = {}, {}
for _, api in real.ipairs { rust.eval_api, rust.function_api } do
  few[api], many[api] = { call = api.call, pcall = api.pcall }, {}
  for name, call in pairs(few[api]) do
    local call_many = rust[name .. "_many"]
    many[api][name] = function(...)
      local count = select("#", ...)
      if count > MANY then
        return call_many({ ... }, count)
      end
      return call(...)
    end
  end
end
few[structs], many[structs] = { pack = structs.pack }, {}
many[structs].pack = function(...)
  if select("#", ...) > MANY then
    error("too many arguments", 2)
  end
  return few[structs].pack(...)
end
-- A message of many values is those of a part and of the rest, one behind the other.
few[cmsgpack], many[cmsgpack] = { pack = cmsgpack.pack }, {}
many[cmsgpack].pack = function(...)
  local pack, count = few[cmsgpack].pack, select("#", ...)
  if count <= MANY then
    return pack(...)
  end
  local values = { ... }
  return pack(unpack(values, 1, MANY)) .. pack(unpack(values, MANY + 1, count))
end
local function choose(functions)
  for library, chosen in pairs(functions) do
    for name, f in pairs(chosen) do
      library[name] = f
    end
  end
end
-- Scripts by their digest and functions by their name that have `unpack`.
local unpacks = {}
world.unpacks = unpacks

-- What runs: of all it returns the first value counts.
local callback, call_keys, call_args
local function run_callback()
  return (callback(call_keys, call_args))
end

local function all_but_first(first, ...)
  return { first }, { ... }
end

-- The keys and the arguments: so many keys and then the arguments, or the two tables.
local function split(count, ...)
  if count == 0 then
    return {}, { ... }
  elseif count == 1 then
    return all_but_first(...)
  elseif type(count) == "table" then
    return count, (...)
  end
  local keys, args = { ... }, {}
  for at = count + 1, #keys do
    args[at - count], keys[at] = keys[at], nil
  end
  return keys, args
end

-- The values of an array and how many they are; nil for another table, and for a long array.
local FLAT_MAX = 100
function world.flat(table)
  if
    getmetatable(table) ~= nil
    or table.ok ~= nil
    or table.err ~= nil
    or table.double ~= nil
    or table.map ~= nil
    or table.set ~= nil
    or table.big_number ~= nil
    or table.verbatim_string ~= nil
  then
    return nil
  end
  local len = 0
  while table[len + 1] ~= nil and len <= FLAT_MAX do
    len = len + 1
  end
  if len <= FLAT_MAX then
    return len, unpack(table, 1, len)
  end
end

-- Called once with many values, so that the stack has places for as many that come back.
function world.make_room() end

-- Runs the code of a library; true, or false and its error.
function world.load_run(code, register)
  registers, metas[functions].__index = register, load_globals
  local ok, value = xpcall(code, caught)
  registers, metas[functions].__index = nil, function_globals
  return ok, value
end

-- Runs a script; true and what it returns, or false and its error.
function world.eval_run(digest, count, ...)
  limited()
  local first, second = ...
  if count == 1 and not second then
    eval_globals.KEYS = { first }
  elseif first then
    eval_globals.KEYS, eval_globals.ARGV = split(count, ...)
  end
  local takes_many = unpacks[digest]
  if takes_many then
    choose(many)
  end
  local ok, value = xpcall(scripts[digest], caught)
  if takes_many then
    choose(few)
  end
  eval_globals.KEYS, eval_globals.ARGV = nil, nil
  return ok, value
end

-- Runs a function.
function world.function_run(name, count, ...)
  limited()
  local first, second = ...
  callback = registered[name]
  if count == 1 and not second then
    call_keys, call_args = { first }, {}
  else
    call_keys, call_args = split(count, ...)
  end
  local takes_many = unpacks[name]
  if takes_many then
    choose(many)
  end
  local ok, value = xpcall(run_callback, caught)
  if takes_many then
    choose(few)
  end
  callback, call_keys, call_args = nil, nil, nil
  return ok, value
end

return world
