//! The interpreter: one state of Lua for all threads, for scripts run one at a time.
//!
//! It is made when the first script comes, and anew when a script ran out of its memory. What is
//! compiled is kept in tables of Lua, by name.

use super::answer::{Answer, Wrong, answering, translated, type_name};
use super::host::{self, Buffers};
use super::random::Draws;
use super::{api, bitop, cjson, cmsgpack, structs};
use crate::shared::Shared;
use crate::worker;
use mlua::{
    ChunkMode, Debug, Function, HookTriggers, Lua, LuaOptions, Result, StdLib, Table, Value,
    VmState,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Instructions between two looks at whether a script is to end.
const LOOKS_EVERY: u32 = 10_000;
/// Memory of the state beyond which it is tidied when a script ends.
const TIDY_FROM: usize = 8 << 20;
/// The name of the prelude among chunks.
const PRELUDE: &str = "=prelude";
/// The parts of the standard library that are loaded; the prelude shows less of them.
const LIBRARIES: [StdLib; 3] = [StdLib::TABLE, StdLib::STRING, StdLib::MATH];

/// The interpreter.
pub(super) struct Vm {
    pub(super) lua: Lua,
    /// Run a script, or a function.
    pub(super) eval_run: Function,
    pub(super) function_run: Function,
    /// Runs the code of a library.
    pub(super) load_run: Function,
    /// Takes a table apart that is an array.
    pub(super) flat: Function,
    pub(super) buffers: Buffers,
    /// Bytes that it may take.
    memory_max: usize,
    /// Whether the script that runs chose version 3 for its replies.
    pub(super) is_three: Arc<AtomicBool>,
    /// Where scripts live, and where functions do.
    eval: Table,
    functions: Table,
    /// Scripts by their digest, functions by their name.
    scripts: Table,
    registered: Table,
    /// Bytes that were left when it was last tidied.
    tidied: usize,
}

impl std::fmt::Debug for Vm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vm").field("tidied", &self.tidied).finish_non_exhaustive()
    }
}

impl Vm {
    /// A state that may take so many bytes.
    pub(super) fn new(shared: &Shared, memory_max: usize) -> Result<Self> {
        let libraries = LIBRARIES.into_iter().fold(StdLib::NONE, |all, one| all | one);
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        let is_three = Arc::new(AtomicBool::new(false));
        let eval_api = api::table(&lua, &is_three)?;
        api::add_eval(&lua, &eval_api)?;
        let function_api = api::table(&lua, &is_three)?;
        host::register(&lua, [&eval_api, &function_api])?;
        let rust = helpers(&lua)?;
        let limited = move |lua: &Lua, ()| lua.set_memory_limit(memory_max).map(drop);
        rust.raw_set("limited", lua.create_function(limited)?)?;
        rust.raw_set("eval_api", &eval_api)?;
        rust.raw_set("function_api", &function_api)?;
        let prelude = lua.load(include_str!("prelude.lua")).set_name(PRELUDE);
        let prelude = prelude.set_environment(lua.create_table()?).into_function()?;
        let world: Table = prelude.call((lua.globals(), rust))?;
        let eval: Table = world.raw_get("eval")?;
        lua.set_globals(eval.clone())?;
        let vm = Self {
            eval_run: world.raw_get("eval_run")?,
            function_run: world.raw_get("function_run")?,
            load_run: world.raw_get("load_run")?,
            flat: world.raw_get("flat")?,
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
        vm.watch(shared)?;
        vm.lua.gc_collect()?;
        vm.lua.set_memory_limit(memory_max)?;
        Ok(Self { tidied: vm.lua.used_memory(), ..vm })
    }

    /// Looks now and then whether the script that runs is to end; clients of its thread are told
    /// meanwhile, and one of them may be who ends it.
    pub(super) fn watch(&self, shared: &Shared) -> Result<()> {
        let running = Arc::clone(&shared.scripts.running);
        let script = Arc::clone(shared.gate.script());
        let triggers = HookTriggers::new().every_nth_instruction(LOOKS_EVERY);
        self.lua.set_global_hook(triggers, move |lua, _| {
            worker::serve_meanwhile();
            let Some(text) = running.ends(script.is_killed()) else { return Ok(VmState::Continue) };
            // From here on every line ends it, for it may catch the error.
            lua.set_global_hook(HookTriggers::EVERY_LINE, move |_, debug| ended(debug, text))?;
            Err(mlua::Error::runtime(text))
        })
    }

    /// Compiles a script.
    pub(super) fn compile(&self, digest: &[u8], code: &[u8]) -> Result<()> {
        let function = self.compiled(code, "@user_script", &self.eval)?;
        self.scripts.raw_set(self.lua.create_string(digest)?, function)
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
            return self.scripts.raw_set(self.lua.create_string(digest)?, Value::Nil);
        }
        self.scripts.clear()?;
        self.lua.gc_collect()
    }

    /// Registers a function, or forgets it.
    pub(super) fn register(&self, name: &[u8], function: Option<Function>) -> Result<()> {
        self.registered.raw_set(self.lua.create_string(name)?, function)
    }

    /// Does `f` with no limit to memory: what it gives the interpreter is as large as it is.
    pub(super) fn unlimited<R>(&self, f: impl FnOnce() -> R) -> Result<R> {
        self.lua.set_memory_limit(0)?;
        let done = f();
        self.lua.set_memory_limit(self.memory_max)?;
        Ok(done)
    }

    /// Gives back what scripts have left behind, where it is much. The bytes it takes then.
    pub(super) fn tidy(&mut self) -> usize {
        let used = self.lua.used_memory();
        if used <= 2 * self.tidied + TIDY_FROM {
            return used;
        }
        // It fails where a finalizer does, and there are none.
        let _ = self.lua.gc_collect();
        self.tidied = self.lua.used_memory();
        self.tidied
    }
}

/// Ends a script where it is; the prelude tidies up behind it.
fn ended(debug: &Debug<'_>, text: &'static str) -> Result<VmState> {
    if debug.source().source.is_some_and(|source| source == PRELUDE) {
        return Ok(VmState::Continue);
    }
    Err(mlua::Error::runtime(text))
}

/// What the prelude asks of Rust.
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
    rust.raw_set("caught", lua.create_function(|lua, wrong| caught(lua, &wrong))?)?;
    Ok(rust)
}

/// The error that ends a script, as a table with its place.
fn caught(lua: &Lua, wrong: &Value) -> Result<Table> {
    let table = match translated(lua, wrong)? {
        Value::Table(table) => table,
        Value::String(text) => wrong_table(lua, blameless(&text.as_bytes()))?,
        other @ (Value::Integer(_) | Value::Number(_) | Value::Boolean(_) | Value::Nil) => {
            wrong_table(lua, other.to_string()?.as_bytes())?
        }
        other => wrong_table(lua, format!("({} as an error)", type_name(&other)).as_bytes())?,
    };
    if let Some((source, line)) = place(lua) {
        table.raw_set("source", source)?;
        table.raw_set("line", line)?;
    }
    Ok(table)
}

/// A text without the line of the prelude that it blames: there is nothing above a script.
fn blameless(text: &[u8]) -> &[u8] {
    let behind = text.strip_prefix(b"prelude:").and_then(|rest| {
        let at = rest.iter().position(|byte| *byte == b' ')?;
        rest.get(at + 1..)
    });
    behind.unwrap_or(text)
}

fn wrong_table(lua: &Lua, text: &[u8]) -> Result<Table> {
    Wrong { text: [b"ERR ", text].concat(), is_counted: false }.table(lua)
}

/// The nearest line of a script above what is running: its source, and the line.
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
