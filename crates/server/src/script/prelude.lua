-- The world that scripts see, made once for an interpreter.
--
-- Scripts of all users share it, so none may change it. A table of it is shown by a *front*: an
-- empty table that reads through to the table behind it and refuses to be written. Whatever would
-- get past a front (rawset, setmetatable, next, getfenv, the metatable of strings) is replaced by a
-- function that heeds it.
--
-- The functions here have an empty environment: whoever asks for it learns nothing.
--
-- An error of a function in Rust is a value without a face: what catches it here asks for the one
-- that scripts see.
local real, rust = ...

local error, type, tostring, select = real.error, real.type, real.tostring, real.select
local next, pairs, rawget, rawset = real.next, real.pairs, real.rawget, real.rawset
local setmetatable, getmetatable = real.setmetatable, real.getmetatable
local setfenv, getfenv, collectgarbage = real.setfenv, real.getfenv, real.collectgarbage
local pcall, xpcall = real.pcall, real.xpcall
local loadstring, resume, unpack = real.loadstring, real.coroutine.resume, real.unpack
local concat, insert, sub = real.table.concat, real.table.insert, real.string.sub

local READONLY = "Attempt to modify a readonly table"

-- The table behind each front, and what makes it one.
local behind = setmetatable({}, { __mode = "k" })
local metas = setmetatable({}, { __mode = "k" })

local function refuse()
  error(READONLY, 2)
end

-- What is told of the metatable of a front.
local nothing = setmetatable({}, { __newindex = refuse })
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

local function unwrapped(ok, ...)
  if ok then
    return true, ...
  end
  local failure = ...
  if type(failure) == "userdata" then
    failure = rust.translated(failure)
  end
  if type(failure) == "table" and type(failure.err) == "string" then
    failure = failure.err
  end
  return false, failure
end

-- An error of the server is caught as its text.
function base.pcall(...)
  return unwrapped(pcall(...))
end

function base.xpcall(f, handler)
  return xpcall(f, function(failure)
    if type(failure) == "userdata" then
      failure = rust.translated(failure)
    end
    return handler(failure)
  end)
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

-- The library of strings as scripts see it, which is not the one that methods are looked up in.
local strings = copied(real.string)
strings.dump = nil
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

-- A function of Rust takes no more arguments than a stack of Lua has places, less some of its own.
local UNPACKED_MAX = 7700
function base.unpack(table, first, last)
  if type(table) == "table" and (last or #table) - (first or 1) >= UNPACKED_MAX then
    error("too many results to unpack", 2)
  end
  return unpack(table, first, last)
end

function base.setfenv(where, environment)
  if where == 0 then
    error(READONLY, 2)
  end
  if type(where) == "number" then
    where = where + 1
  end
  local done = setfenv(where, environment)
  return done
end

function base.getfenv(where)
  if where == nil then
    where = 1
  end
  if type(where) == "number" and where > 0 then
    where = where + 1
  end
  local found = getfenv(where)
  return found
end

local maths = copied(real.math)
maths.random, maths.randomseed = rust.random, rust.randomseed

local function fresh_cjson()
  local fresh = rust.cjson()
  fresh.null, fresh.new, fresh._NAME, fresh._VERSION = rust.null, fresh_cjson, "cjson", "2.1.0"
  return fresh
end

local cmsgpack = copied(rust.cmsgpack)
cmsgpack._NAME, cmsgpack._VERSION = "cmsgpack", "lua-cmsgpack 0.4.0"
cmsgpack._COPYRIGHT, cmsgpack._DESCRIPTION = "Larder", "MessagePack for Lua"

local tables = copied(real.table)
function tables.insert(table, ...)
  if behind[table] then
    error(READONLY, 0)
  end
  return insert(table, ...)
end

local coroutines = copied(real.coroutine)
local function resumed(ok, failure, ...)
  if not ok and type(failure) == "userdata" then
    failure = rust.translated(failure)
  end
  return ok, failure, ...
end
function coroutines.resume(...)
  return resumed(resume(...))
end

local libraries = {
  string = string_front,
  table = front(tables),
  math = front(maths),
  coroutine = front(coroutines),
  os = front { clock = rust.clock },
  cjson = front(fresh_cjson()),
  cmsgpack = front(cmsgpack),
  struct = front(rust.struct),
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
  while table[len + 1] ~= nil do
    len = len + 1
  end
  if len <= FLAT_MAX then
    return len, unpack(table, 1, len)
  end
end

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
  local ok, value = xpcall(scripts[digest], caught)
  eval_globals.KEYS, eval_globals.ARGV = nil, nil
  return ok, value
end

-- Runs a function.
function world.function_run(name, ...)
  limited()
  callback, call_keys, call_args = registered[name], split(...)
  local ok, value = xpcall(run_callback, caught)
  callback, call_keys, call_args = nil, nil, nil
  return ok, value
end

return world
