//! The engine: the scripts and functions that the server knows, and the interpreter.

use super::digest::{Digest, Digests};
use super::eval::Runs;
use super::flags::{self, Flags};
use super::library::Library;
use super::stored::Script;
use super::vm::Vm;
use crate::call::{Call, Done, Failure};
use crate::scripting::failing;
use crate::server::Turns;
use crate::services::scripts::Scripts;
use base::Bytes;
use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{MutexGuard, PoisonError};
use store::Store;

/// The number of EVAL scripts that are kept.
const RECENT_MAX: usize = 500;
/// The memory of the interpreter: one part in this number of the memory limit, between these
/// bounds.
const MEMORY_PART: u64 = 4;
const MEMORY_MIN: u64 = 32 << 20;
const MEMORY_MAX: u64 = 1 << 30;
/// The bytes that a stored script takes beside its text.
const SCRIPT_OVERHEAD: u64 = 160;

impl Scripts {
    /// Locks the engine, which serves one thread at a time.
    pub(crate) fn lock(&self) -> EngineGuard<'_> {
        let mut kept = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert_with(|| Box::new(Engine::default()));
        EngineGuard(kept)
    }

    /// The engine, if there is one and no other thread uses it.
    fn made(&self) -> Option<EngineGuard<'_>> {
        let kept = self.engine.try_lock().ok()?;
        kept.is_some().then(|| EngineGuard(kept))
    }

    /// Whether a call of EVAL, EVALSHA or FCALL runs code that is declared to write nothing. False
    /// while another script runs.
    pub(crate) fn writes_nothing(&self, call: &Call<'_>, command: &str) -> bool {
        let named = call.arg(1);
        let flags = match command {
            "eval" => flags::of_script(named).ok().map(|(flags, _)| flags),
            _ => self.made().and_then(|engine| match command {
                "evalsha" => engine.flags(&named.to_ascii_lowercase().try_into().ok()?),
                _ => engine.function(named).map(|function| function.flags),
            }),
        };
        flags.is_some_and(|flags| flags.has(Flags::NO_WRITES))
    }
}

/// The engine while this thread uses it.
pub(crate) struct EngineGuard<'a>(MutexGuard<'a, Option<Box<dyn Any + Send>>>);

impl Deref for EngineGuard<'_> {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        let kept = self.0.as_ref().and_then(|kept| kept.downcast_ref());
        kept.expect("only an engine is kept")
    }
}

impl DerefMut for EngineGuard<'_> {
    fn deref_mut(&mut self) -> &mut Engine {
        let kept = self.0.as_mut().and_then(|kept| kept.downcast_mut());
        kept.expect("only an engine is kept")
    }
}

/// The scripts, the libraries and their interpreter.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    pub(super) scripts: HashMap<Digest, Script>,
    pub(super) digests: Digests,
    /// The scripts of EVAL.
    pub(super) recent: Vec<Digest>,
    /// The number of calls of scripts.
    pub(super) calls: u64,
    pub(super) libraries: BTreeMap<String, Library>,
    /// The library of each function, by the function's name in lower case.
    pub(super) functions: HashMap<String, String>,
    /// The bytes of the libraries' code, with their overhead.
    pub(super) function_bytes: u64,
    pub(super) vm: Option<Vm>,
}

/// The parts of the server that an interpreter needs.
pub(crate) type Parts<'a> = (&'a Scripts, &'a Turns, &'a Store);

/// The parts, as a call has them.
pub(crate) fn parts_of<'a>(call: &Call<'a>) -> Parts<'a> {
    (&call.server.scripts, &call.server.turns, &call.server.store)
}

impl Engine {
    /// The interpreter, which is made if there is none.
    pub(super) fn vm(&mut self, parts: Parts<'_>) -> Result<&mut Vm, Failure> {
        if self.vm.is_none() {
            let (scripts, turns, store) = parts;
            let limit = store.limit();
            let part = if limit == Bytes(0) { MEMORY_MAX } else { limit.0 / MEMORY_PART };
            let most = part.clamp(MEMORY_MIN, MEMORY_MAX) as usize;
            let vm = Vm::new(&scripts.running, turns.gate.script(), most)
                .map_err(|error| failed(&error))?;
            self.vm = Some(vm);
            self.load_libraries_again();
            self.compile_again();
        }
        self.vm.as_mut().ok_or_else(|| Failure::err("no interpreter"))
    }

    /// Whether a script with this digest is stored.
    pub(crate) fn knows(&self, digest: &Digest) -> bool {
        self.scripts.contains_key(digest)
    }

    /// The flags of a stored script.
    pub(crate) fn flags(&self, digest: &Digest) -> Option<Flags> {
        self.scripts.get(digest).map(|script| script.flags)
    }

    /// Stores a script that compiles. Returns its digest and its flags.
    pub(crate) fn load(
        &mut self,
        call: &Call<'_>,
        text: &[u8],
        stays: bool,
    ) -> Result<(Digest, Flags), Failure> {
        let (digest, known) = self.digests.of(text, &self.scripts);
        if let Some(known) = known {
            let (flags, is_new) = (known.flags, stays && !known.stays);
            if is_new && let Some(script) = self.scripts.get_mut(&digest) {
                script.stays = true;
                self.recent.retain(|recent| *recent != digest);
            }
            return Ok((digest, flags));
        }
        let (flags, code) = flags::of_script(text).map_err(|wrong| Failure::err(&wrong))?;
        let compiled = self.vm(parts_of(call))?.compile(&digest, code);
        compiled.map_err(|error| {
            let text = failing::told(&error);
            Failure::err(&format!("Error compiling script (new function): {text}"))
        })?;
        let asked = self.calls;
        self.scripts.insert(digest, Script { text: text.into(), flags, stays, asked });
        if !stays {
            if self.recent.len() == RECENT_MAX {
                self.forget_oldest(&call.server.scripts);
            }
            self.recent.push(digest);
        }
        self.count(&call.server.scripts);
        Ok((digest, flags))
    }

    /// Forgets the least recently used script of EVAL.
    fn forget_oldest(&mut self, scripts: &Scripts) {
        let asked = |digest: &Digest| self.scripts.get(digest).map(|script| script.asked);
        let oldest = (0..self.recent.len()).min_by_key(|&at| asked(&self.recent[at]));
        let Some(oldest) = oldest.map(|at| self.recent.swap_remove(at)) else {
            return;
        };
        self.scripts.remove(&oldest);
        self.forget(Some(&oldest));
        scripts.usage.evicted.fetch_add(1, Relaxed);
    }

    /// Compiles the scripts in a new interpreter.
    fn compile_again(&self) {
        let Some(vm) = &self.vm else { return };
        for (digest, script) in &self.scripts {
            // It compiled before, so a failure now means a lack of memory.
            let compiled = flags::of_script(&script.text).map(|(_, code)| vm.compile(digest, code));
            if !matches!(compiled, Ok(Ok(()))) {
                tracing::warn!("script {} does not compile any more", shown(digest));
            }
        }
    }

    pub(super) fn forget(&mut self, digest: Option<&[u8]>) {
        if let Some(vm) = &mut self.vm
            && vm.forget(digest).is_err()
        {
            self.vm = None;
        }
    }

    /// Forgets all scripts.
    pub(crate) fn flush(&mut self, call: &Call<'_>) {
        self.scripts.clear();
        self.recent.clear();
        self.forget(None);
        self.count(&call.server.scripts);
    }

    /// Updates the counts and sizes for INFO.
    pub(super) fn count(&self, scripts: &Scripts) {
        let usage = &scripts.usage;
        let bytes = self.scripts.values().map(|script| bytes_of(&script.text)).sum();
        usage.scripts.store(self.scripts.len() as u64, Relaxed);
        usage.script_bytes.store(bytes, Relaxed);
        self.count_libraries(scripts);
    }

    /// Updates the counts and sizes of the libraries alone.
    pub(super) fn count_libraries(&self, scripts: &Scripts) {
        let usage = &scripts.usage;
        usage.libraries.store(self.libraries.len() as u64, Relaxed);
        usage.functions.store(self.functions.len() as u64, Relaxed);
        usage.function_bytes.store(self.function_bytes, Relaxed);
        self.weigh(scripts);
    }

    pub(super) fn weigh(&self, scripts: &Scripts) {
        let bytes = self.vm.as_ref().map_or(0, |vm| vm.lua.used_memory());
        scripts.usage.vm.store(bytes as u64, Relaxed);
    }

    /// Runs a stored script. Its keys and arguments follow the third word of the call.
    pub(crate) fn eval(
        &mut self,
        call: &mut Call<'_>,
        (digest, flags): (&Digest, Flags),
        keys: usize,
        is_readonly: bool,
    ) -> Done {
        self.vm(parts_of(call))?;
        self.calls += 1;
        if let Some(script) = self.scripts.get_mut(digest) {
            script.asked = self.calls;
        }
        let runs = Runs { flags, name: shown(digest), is_function: false, is_readonly };
        self.run(call, &runs, keys)
    }
}

/// The bytes that a text takes, with its overhead.
pub(super) fn bytes_of(text: &[u8]) -> u64 {
    text.len() as u64 + SCRIPT_OVERHEAD
}

/// A digest as text.
pub(super) fn shown(digest: &Digest) -> &str {
    std::str::from_utf8(digest).unwrap_or_default()
}

pub(super) fn failed(error: &mlua::Error) -> Failure {
    Failure::err(&failing::told(error))
}

/// The error for an unknown digest.
pub(crate) const NO_SCRIPT: &str = "NOSCRIPT No matching script. Please use EVAL.";
