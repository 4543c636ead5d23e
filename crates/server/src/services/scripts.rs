//! Scripts and functions in Lua, as other threads see them: the running one, and sizes for INFO.

use super::running_script::Running;
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The memory and the number of scripts, for INFO.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub(crate) vm: AtomicU64,
    pub(crate) scripts: AtomicU64,
    pub(crate) script_bytes: AtomicU64,
    /// Scripts of EVAL that were forgotten for newer ones.
    pub(crate) evicted: AtomicU64,
    pub(crate) libraries: AtomicU64,
    pub(crate) functions: AtomicU64,
    pub(crate) function_bytes: AtomicU64,
}

impl Usage {
    /// The memory of the interpreter, scripts and functions together, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let all = [&self.vm, &self.script_bytes, &self.function_bytes];
        all.into_iter().map(|bytes| bytes.load(Relaxed)).sum()
    }
}

/// The scripts and functions of a server.
#[derive(Debug, Default)]
pub(crate) struct Scripts {
    /// The engine, whose type is of a higher floor; `scripting/engine.rs` makes and uses it.
    pub(crate) engine: Mutex<Option<Box<dyn Any + Send>>>,
    pub(crate) running: Arc<Running>,
    pub(crate) usage: Usage,
}
