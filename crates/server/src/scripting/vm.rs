//! The interpreter: one Lua state for all threads, because scripts run one at a time.
//!
//! It is made for the first script, and again after a script ran out of memory. Compiled code is
//! kept in Lua tables, by name.

use super::answer::{Answer, PRELUDE, Wrong, answering, translated, type_name};
use super::host::{self, Buffers};
use super::look::{Looks, look};
use super::random::Draws;
use super::{api, bitop, cjson, cmsgpack, pattern, structs};
use crate::services::exclusive::Script;
use crate::services::running_script::Running;
use mlua::{
    ChunkMode, Debug, Function, HookTriggers, Lua, LuaOptions, Result, StdLib, Table, Value,
    Variadic, VmState,
};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The number of instructions between two looks, and the number while instructions are slow. One
/// instruction may copy or compare as much as the interpreter has memory for.
const LOOKS_EVERY: u32 = 1_000;
const LOOKS_EVERY_SLOW: u32 = 10;
/// The microseconds between two looks above which instructions count as slow, and below which they
/// count as quick again.
const SLOW_US: u64 = 20_000;
const QUICK_US: u64 = 10;
/// More values than a function of the prelude gives Rust at once.
const VALUES_MAX: usize = 200;
/// The memory in bytes from which on the state is tidied when a script ends.
const TIDY_FROM: usize = 8 << 20;

/// The loaded parts of the standard library. The prelude shows only a part of them to scripts.
const LIBRARIES: [StdLib; 3] = [StdLib::TABLE, StdLib::STRING, StdLib::MATH];

/// The interpreter with its tables and entry points.
pub(super) struct Vm {
    pub(super) lua: Lua,
    /// The entry points for a script and a function.
    pub(super) eval_run: Function,
    pub(super) function_run: Function,
    /// The entry point for the code of a library.
    pub(super) load_run: Function,
    /// Takes a table apart if it is an array.
    pub(super) flat: Function,
    /// The scripts and functions, by the same names, that may give commands more arguments than a
    /// Rust function takes.
    unpacks: Table,
    pub(super) buffers: Buffers,
    /// The bytes that it may take.
    memory_max: usize,
    /// Whether the running script chose RESP3 for its replies.
    pub(super) is_three: Arc<AtomicBool>,
    /// The global tables of scripts and of functions.
    eval: Table,
    functions: Table,
    /// The scripts by digest, and the functions by name.
    scripts: Table,
    registered: Table,
    /// The bytes in use after it was last tidied.
    tidied: usize,
}

impl std::fmt::Debug for Vm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vm").field("tidied", &self.tidied).finish_non_exhaustive()
    }
}

impl Vm {
    /// A new state that may take `memory_max` bytes.
    pub(super) fn new(
        running: &Arc<Running>,
        script: &Arc<Script>,
        memory_max: usize,
    ) -> Result<Self> {
        let libraries = LIBRARIES.into_iter().fold(StdLib::NONE, |all, one| all | one);
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        lua.set_app_data(Looks::new(Arc::clone(running), Arc::clone(script), memory_max));
        let is_three = Arc::new(AtomicBool::new(false));
        let eval_api = api::table(&lua, &is_three)?;
        api::add_eval(&lua, &eval_api)?;
        let function_api = api::table(&lua, &is_three)?;
        let rust = helpers(&lua)?;
        host::register(&lua, [&eval_api, &function_api], &rust)?;
        let limited = move |lua: &Lua, ()| lua.set_memory_limit(memory_max).map(drop);
        rust.raw_set("limited", lua.create_function(limited)?)?;
        rust.raw_set("eval_api", &eval_api)?;
        rust.raw_set("function_api", &function_api)?;
        let prelude = lua.load(include_str!("prelude.lua")).set_name(PRELUDE);
        let prelude = prelude.set_environment(lua.create_table()?).into_function()?;
        let world: Table = prelude.call((lua.globals(), rust))?;
        let make_room: Function = world.raw_get("make_room")?;
        make_room.call::<()>(Variadic::from(vec![Value::Nil; VALUES_MAX]))?;
        let eval: Table = world.raw_get("eval")?;
        lua.set_globals(eval.clone())?;
        let vm = Self {
            eval_run: world.raw_get("eval_run")?,
            function_run: world.raw_get("function_run")?,
            load_run: world.raw_get("load_run")?,
            flat: world.raw_get("flat")?,
            unpacks: world.raw_get("unpacks")?,
            buffers: Buffers::default(),
            memory_max,
            is_three,
            functions: world.raw_get("functions")?,
            scripts: world.raw_get("scripts")?,
            registered: world.raw_get("registered")?,
            eval,
            tidied: 0,
            lua,
        };
        watch(&vm.lua, LOOKS_EVERY)?;
        vm.lua.gc_collect()?;
        vm.lua.set_memory_limit(memory_max)?;
        Ok(Self { tidied: vm.lua.used_memory(), ..vm })
    }

    /// Compiles a script, and stores it by its digest.
    pub(super) fn compile(&self, digest: &[u8], code: &[u8]) -> Result<()> {
        let function = self.compiled(code, "@user_script", &self.eval)?;
        let digest = self.lua.create_string(digest)?;
        if unpacks(code) {
            self.unpacks.raw_set(&digest, true)?;
        }
        self.scripts.raw_set(digest, function)
    }

    /// Compiles a library.
    pub(super) fn compile_library(&self, code: &[u8]) -> Result<Function> {
        self.compiled(code, "@user_function", &self.functions)
    }

    fn compiled(&self, code: &[u8], name: &str, environment: &Table) -> Result<Function> {
        let chunk = self.lua.load(code).set_name(name).set_mode(ChunkMode::Text);
        chunk.set_environment(environment.clone()).into_function()
    }

    /// Forgets one script, or all of them.
    pub(super) fn forget(&mut self, digest: Option<&[u8]>) -> Result<()> {
        if let Some(digest) = digest {
            let digest = self.lua.create_string(digest)?;
            self.unpacks.raw_set(&digest, Value::Nil)?;
            return self.scripts.raw_set(digest, Value::Nil);
        }
        self.scripts.clear()?;
        self.lua.gc_collect()
    }

    /// Registers a function of a library with this code, or forgets it.
    pub(super) fn register(
        &self,
        name: &[u8],
        function: Option<Function>,
        code: &[u8],
    ) -> Result<()> {
        let name = self.lua.create_string(name)?;
        self.unpacks.raw_set(&name, unpacks(code).then_some(true))?;
        self.registered.raw_set(name, function)
    }

    /// Runs `f` without a memory limit. The size of its input bounds what it gives the interpreter.
    pub(super) fn unlimited<R>(&self, f: impl FnOnce() -> R) -> Result<R> {
        self.lua.set_memory_limit(0)?;
        let done = f();
        self.lua.set_memory_limit(self.memory_max)?;
        Ok(done)
    }

    /// Collects the garbage of scripts, if there is much. Returns the bytes in use.
    pub(super) fn tidy(&mut self) -> usize {
        let used = self.lua.used_memory();
        if used <= 2 * self.tidied + TIDY_FROM {
            return used;
        }
        // This fails only if a finalizer does, and there are none.
        let _ = self.lua.gc_collect();
        self.tidied = self.lua.used_memory();
        self.tidied
    }
}

/// Whether code may spread an array into values.
fn unpacks(code: &[u8]) -> bool {
    memchr::memmem::find(code, b"unpack").is_some()
}

/// Sets the hook that looks after every `every` instructions. Coroutines that are made later get
/// the same hook.
fn watch(lua: &Lua, every: u32) -> Result<()> {
    let triggers = HookTriggers::new().every_nth_instruction(every);
    lua.set_global_hook(triggers, move |lua, debug| {
        let looked = lua.app_data_ref::<Looks>().map_or((0, Ok(())), |looks| {
            let looked = looks.look();
            (looks.elapsed(), looked)
        });
        match looked {
            (SLOW_US.., Ok(())) => watch(lua, LOOKS_EVERY_SLOW)?,
            (0..QUICK_US, Ok(())) if every == LOOKS_EVERY_SLOW => watch(lua, LOOKS_EVERY)?,
            (_, Ok(())) => {}
            (_, Err(_)) if is_outermost(lua, debug) => {}
            (_, Err(error)) => return Err(error),
        }
        Ok(VmState::Continue)
    })
}

/// Whether the prelude runs outside of a script: before it begins or after it has ended.
fn is_outermost(lua: &Lua, debug: &Debug<'_>) -> bool {
    debug.source().source.is_some_and(|source| source == PRELUDE)
        && lua.inspect_stack(1, |_| ()).is_none()
}

/// The Rust functions that the prelude uses.
fn helpers(lua: &Lua) -> Result<Table> {
    let rust = lua.create_table()?;
    Draws::default().register(lua, &rust)?;
    rust.raw_set("null", Value::NULL)?;
    rust.raw_set("cjson", lua.create_function(|lua, ()| cjson::table(lua))?)?;
    rust.raw_set("cmsgpack", cmsgpack::table(lua)?)?;
    rust.raw_set("struct", structs::table(lua)?)?;
    rust.raw_set("bit", bitop::table(lua)?)?;
    let began = Instant::now();
    let clock =
        answering(lua, move |_, _| Ok(Answer::One(Value::Number(began.elapsed().as_secs_f64()))))?;
    rust.raw_set("clock", clock)?;
    let shown = |lua: &Lua, wrong: Value| translated(lua, &wrong);
    rust.raw_set("translated", lua.create_function(shown)?)?;
    rust.raw_set("look", lua.create_function(|lua, ()| look(lua))?)?;
    rust.raw_set("pattern", pattern::table(lua)?)?;
    rust.raw_set("caught", lua.create_function(|lua, wrong| caught(lua, &wrong))?)?;
    Ok(rust)
}

/// The error that ends a script, as a table with its place.
fn caught(lua: &Lua, wrong: &Value) -> Result<Table> {
    let place = place(lua);
    let table = match translated(lua, wrong)?.0 {
        Value::Table(table) => table,
        Value::String(text) => wrong_table(lua, &blaming_script(&text.as_bytes(), place.as_ref()))?,
        other @ (Value::Integer(_) | Value::Number(_) | Value::Boolean(_) | Value::Nil) => {
            wrong_table(lua, other.to_string()?.as_bytes())?
        }
        other => wrong_table(lua, format!("({} as an error)", type_name(&other)).as_bytes())?,
    };
    if let Some((source, line)) = place {
        table.raw_set("source", source)?;
        table.raw_set("line", line)?;
    }
    Ok(table)
}

/// Replaces a line of the prelude in an error text by the line of the script.
fn blaming_script<'t>(text: &'t [u8], place: Option<&(String, i64)>) -> Cow<'t, [u8]> {
    let behind = text.strip_prefix(b"prelude:").and_then(|rest| {
        let at = rest.iter().position(|byte| *byte == b' ')?;
        rest.get(at + 1..)
    });
    match (behind, place) {
        (None, _) => Cow::Borrowed(text),
        (Some(rest), None) => Cow::Borrowed(rest),
        (Some(rest), Some((source, line))) => {
            let source = source.trim_start_matches('@');
            Cow::Owned([format!("{source}:{line}: ").as_bytes(), rest].concat())
        }
    }
}

fn wrong_table(lua: &Lua, text: &[u8]) -> Result<Table> {
    Wrong { text: [b"ERR ", text].concat(), is_counted: false }.table(lua)
}

/// The nearest script line above the running code: its source, and the number of the line.
fn place(lua: &Lua) -> Option<(String, i64)> {
    for level in 1..64 {
        let found = lua.inspect_stack(level, |debug| {
            let source = debug.source();
            let text = source.source.filter(|_| source.what != "C");
            let text = text.filter(|text| text != PRELUDE && !text.starts_with("=("));
            let source = text?.trim_start_matches('=').to_owned();
            Some((source, debug.current_line().map_or(-1, |line| line as i64)))
        })?;
        if found.is_some() {
            return found;
        }
    }
    None
}
