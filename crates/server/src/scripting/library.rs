//! Libraries of functions: FUNCTION LOAD loads them, and FCALL calls their functions.
//!
//! The code of a library runs once, and the functions that it registers are then called by name.
//! Local variables of a library live as long as the interpreter.

use super::answer::{self, Wrong};
use super::engine::{Engine, Parts, bytes_of, failed, parts_of};
use super::eval::Runs;
use super::flags::{self, Flags, NAMES, is_name};
use crate::call::{Call, Done, Failure};
use crate::scripting::failing;
use crate::services::scripts::Scripts;
use mlua::{Function, MultiValue, Table, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time that the code of a library may run while it is loaded.
const LOAD_MAX: Duration = Duration::from_millis(500);

/// The registration of a function: its name, description and flags.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) name: String,
    pub(crate) description: Option<Vec<u8>>,
    pub(crate) flags: Flags,
}

/// A library: its code, and its functions by their names in lower case.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) code: Box<[u8]>,
    pub(crate) functions: BTreeMap<String, Arc<Registered>>,
}

/// The functions that a library has registered so far.
#[derive(Debug, Default)]
struct Fresh {
    functions: BTreeMap<String, Arc<Registered>>,
}

impl Engine {
    /// The libraries by name.
    pub(crate) const fn libraries(&self) -> &BTreeMap<String, Library> {
        &self.libraries
    }

    /// Loads a library, and returns its name. An existing library is replaced only with `replaces`.
    pub(crate) fn load_library(
        &mut self,
        parts: Parts<'_>,
        text: &[u8],
        replaces: bool,
    ) -> Result<String, Failure> {
        let (name, _) = flags::of_library(text).map_err(|wrong| Failure::err(&wrong))?;
        if !replaces && self.libraries.contains_key(&name) {
            return Err(Failure::err(&format!("Library '{name}' already exists")));
        }
        self.vm(parts)?;
        parts.0.running.set_deadline(Some(Instant::now() + LOAD_MAX));
        let loaded = self.run_library(text);
        parts.0.running.set_deadline(None);
        let (functions, callbacks) = loaded?;
        let is_taken = |of: &&String| self.functions.get(*of).is_some_and(|has| *has != name);
        if let Some(taken) = functions.keys().find(is_taken) {
            let taken = &functions[taken].name;
            return Err(Failure::err(&format!("Function {taken} already exists")));
        }
        self.remove_library(&name);
        self.keep(name.clone(), text, functions, &callbacks);
        self.count_libraries(parts.0);
        Ok(name)
    }

    fn keep(
        &mut self,
        name: String,
        text: &[u8],
        functions: BTreeMap<String, Arc<Registered>>,
        callbacks: &Table,
    ) {
        let Some(vm) = &self.vm else { return };
        for function in functions.keys() {
            let kept = callbacks.raw_get::<Function>(function.as_str());
            if kept.and_then(|kept| vm.register(function.as_bytes(), Some(kept), text)).is_err() {
                self.vm = None;
                break;
            }
        }
        for function in functions.keys() {
            self.functions.insert(function.clone(), name.clone());
        }
        self.function_bytes += bytes_of(text);
        self.libraries.insert(name, Library { code: text.into(), functions });
    }

    /// Runs the code of a library. Returns its registrations, and the functions by name.
    fn run_library(
        &self,
        text: &[u8],
    ) -> Result<(BTreeMap<String, Arc<Registered>>, Table), Failure> {
        let Some(vm) = &self.vm else {
            return Err(Failure::err("no interpreter"));
        };
        let (_, code) = flags::of_library(text).map_err(|wrong| Failure::err(&wrong))?;
        let compiled = vm.compile_library(code).map_err(|error| {
            Failure::err(&format!("Error compiling function: {}", failing::told(&error)))
        })?;
        let callbacks = vm.lua.create_table().map_err(|error| failed(&error))?;
        let mut fresh = Fresh::default();
        let ran = vm.lua.scope(|scope| {
            let registers = scope.create_function_mut(|_, args: MultiValue| {
                let args: Vec<Value> = args.into();
                fresh.register(&args, &callbacks).map_err(|text| Wrong::new(&text).raised())
            })?;
            vm.load_run.call::<(bool, Value)>((compiled, registers))
        });
        let (is_done, wrong) = ran.map_err(|error| failed(&error))?;
        if !is_done {
            let text = match &wrong {
                Value::Table(table) => table.raw_get::<mlua::String>("err"),
                _ => wrong.to_string().and_then(|text| vm.lua.create_string(text)),
            };
            let text = text.map_or_else(|_| "unknown error".into(), |text| text.to_string_lossy());
            return Err(Failure::err(&format!("Error registering functions: {text}")));
        }
        if fresh.functions.is_empty() {
            return Err(Failure::err("No functions registered"));
        }
        Ok((fresh.functions, callbacks))
    }

    /// Loads the libraries into a new interpreter.
    pub(super) fn load_libraries_again(&mut self) {
        let codes: Vec<(String, Box<[u8]>)> =
            self.libraries.iter().map(|(name, known)| (name.clone(), known.code.clone())).collect();
        self.functions.clear();
        self.function_bytes = 0;
        for (name, code) in codes {
            // It ran before. If it fails now, the library is dropped.
            match self.run_library(&code) {
                Ok((functions, callbacks)) => self.keep(name, &code, functions, &callbacks),
                Err(failure) => {
                    let text = String::from_utf8_lossy(failure.text()).into_owned();
                    tracing::warn!("library {name} does not run any more: {text}");
                    self.libraries.remove(&name);
                }
            }
        }
    }

    fn remove_library(&mut self, name: &str) -> bool {
        let Some(library) = self.libraries.remove(name) else {
            return false;
        };
        self.function_bytes -= bytes_of(&library.code);
        for function in library.functions.keys() {
            self.functions.remove(function);
            let forgotten = self.vm.as_ref().map(|vm| vm.register(function.as_bytes(), None, b""));
            if forgotten.is_some_and(|done| done.is_err()) {
                self.vm = None;
            }
        }
        true
    }

    /// The code of every library.
    pub(crate) fn codes(&self) -> Vec<Box<[u8]>> {
        self.libraries.values().map(|library| library.code.clone()).collect()
    }

    /// Deletes a library. Returns whether there was one.
    pub(crate) fn delete_library(&mut self, scripts: &Scripts, name: &str) -> bool {
        let existed = self.remove_library(name);
        self.count_libraries(scripts);
        existed
    }

    /// Deletes a library, if its code is still this.
    pub(crate) fn take_back(&mut self, scripts: &Scripts, name: &str, code: &[u8]) {
        if self.libraries.get(name).is_some_and(|library| *library.code == *code) {
            self.delete_library(scripts, name);
        }
    }

    /// Deletes all libraries.
    pub(crate) fn flush_libraries(&mut self, scripts: &Scripts) {
        let names: Vec<String> = self.libraries.keys().cloned().collect();
        for name in names {
            self.remove_library(&name);
        }
        self.count_libraries(scripts);
    }

    /// Calls a function. Its keys and arguments follow the third word of the call.
    pub(crate) fn fcall(
        &mut self,
        call: &mut Call<'_>,
        registered: &Registered,
        keys: usize,
        is_readonly: bool,
    ) -> Done {
        if is_readonly && !registered.flags.has(Flags::NO_WRITES) {
            let text = "Can not execute a script with write flag using *_ro command.";
            return Err(Failure::err(text));
        }
        self.vm(parts_of(call))?;
        let (flags, name) = (registered.flags, registered.name.as_str());
        self.run(call, &Runs { flags, name, is_function: true, is_readonly }, keys)
    }

    /// The registration of the function with this name, in any case.
    pub(crate) fn function(&self, name: &[u8]) -> Option<Arc<Registered>> {
        let name = folded(std::str::from_utf8(name).ok()?);
        let library = self.libraries.get(self.functions.get(&*name)?)?;
        library.functions.get(&*name).cloned()
    }
}

/// The name of a function in lower case, by which it is stored.
pub(super) fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

const SINGLE: &str = "calling redis.register_function with a single argument is only applicable to \
                      Lua table (representing named arguments).";

impl Fresh {
    /// Handles `redis.register_function(name, callback)`, or its form with a table of named
    /// arguments.
    fn register(&mut self, args: &[Value], callbacks: &Table) -> Result<(), String> {
        let (registered, callback) = match args {
            [Value::Table(named)] => read_named(named)?,
            [_] => return Err(SINGLE.into()),
            [name, callback] => {
                let name = text(name)
                    .ok_or("first argument to redis.register_function must be a string")?;
                let Value::Function(callback) = callback else {
                    let text = "second argument to redis.register_function must be a function";
                    return Err(text.into());
                };
                (registered(&name, None, Flags::default()), callback.clone())
            }
            _ => return Err("wrong number of arguments to redis.register_function".into()),
        };
        if !is_name(registered.name.as_bytes()) {
            return Err(format!("Library names {NAMES}"));
        }
        let name = registered.name.to_ascii_lowercase();
        callbacks.raw_set(name.as_str(), callback).map_err(|error| failing::told(&error))?;
        if self.functions.insert(name, Arc::new(registered)).is_some() {
            return Err("Function already exists in the library".into());
        }
        Ok(())
    }
}

fn registered(name: &[u8], description: Option<Vec<u8>>, flags: Flags) -> Registered {
    Registered { name: String::from_utf8_lossy(name).into_owned(), description, flags }
}

/// The text of a string or a number.
fn text(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        Value::Integer(_) | Value::Number(_) => {
            Some(super::number::general(answer::as_f64(value), 14).into_bytes())
        }
        _ => None,
    }
}

fn read_named(named: &Table) -> Result<(Registered, Function), String> {
    let (mut name, mut description, mut callback) = (None, None, None);
    let mut flags = Flags::default();
    let must = |what: &str| format!("{what} argument given to redis.register_function must be a");
    for pair in named.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| failing::told(&error))?;
        let Value::String(key) = key else {
            return Err(
                "named argument key given to redis.register_function is not a string".into()
            );
        };
        let is = |word: &str| key.as_bytes().eq_ignore_ascii_case(word.as_bytes());
        if is("function_name") {
            name = Some(text(&value).ok_or_else(|| must("function_name") + " string")?);
        } else if is("description") {
            description = Some(text(&value).ok_or_else(|| must("description") + " string")?);
        } else if is("callback") {
            let Value::Function(function) = value else {
                return Err(must("callback") + " function");
            };
            callback = Some(function);
        } else if is("flags") {
            flags = read_flags(&value)?;
        } else {
            return Err("unknown argument given to redis.register_function".into());
        }
    }
    let name = name.ok_or("redis.register_function must get a function name argument")?;
    let callback = callback.ok_or("redis.register_function must get a callback argument")?;
    Ok((registered(&name, description, flags), callback))
}

fn read_flags(value: &Value) -> Result<Flags, String> {
    let Value::Table(list) = value else {
        return Err("flags argument to redis.register_function must be a table representing \
                    function flags"
            .into());
    };
    let mut flags = Flags::default();
    for at in 1.. {
        let flag: Value = list.raw_get(at).map_err(|error| failing::told(&error))?;
        if flag.is_nil() {
            break;
        }
        let known = text(&flag).and_then(|name| Flags::named(&name));
        flags = flags.with(known.ok_or("unknown flag given")?);
    }
    Ok(flags)
}
