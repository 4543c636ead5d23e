//! `math.random` of scripts: the 48-bit generator of POSIX, which starts equally in every server.

use super::answer::{Answer, Args, answering};
use super::failing::Oops;
use mlua::{Lua, Result, Table, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The constants of the generator: its factor, its addend, and the bits below the seed.
const FACTOR: u64 = 0x5_DEEC_E66D;
const ADDEND: u64 = 0xB;
const LOW: u64 = 0x330E;
/// The first state.
const FIRST: u64 = 0x1234_ABCD_330E;
const MASK: u64 = (1 << 48) - 1;
/// The divisor of a draw.
const MOST: u64 = i32::MAX as u64;

/// The state of a generator.
#[derive(Clone, Debug)]
pub(super) struct Draws(Arc<AtomicU64>);

impl Default for Draws {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(FIRST)))
    }
}

impl Draws {
    /// Starts again with this seed.
    fn seed(&self, seed: i32) {
        self.0.store((u64::from(seed as u32) << 16) | LOW, Relaxed);
    }

    /// A number from 0 to 1, without 1.
    fn draw(&self) -> f64 {
        let next = self.0.load(Relaxed).wrapping_mul(FACTOR).wrapping_add(ADDEND) & MASK;
        self.0.store(next, Relaxed);
        ((next >> 17) % MOST) as f64 / MOST as f64
    }

    /// Adds the functions of `math` that draw numbers.
    pub(super) fn register(&self, lua: &Lua, into: &Table) -> Result<()> {
        let draws = self.clone();
        into.raw_set("random", answering(lua, move |_, args| draws.random(args))?)?;
        let draws = self.clone();
        let seed = move |_: &Lua, args: Args<'_>| {
            draws.seed(args.number(0, "randomseed")? as i64 as i32);
            Ok(Answer::None)
        };
        into.raw_set("randomseed", answering(lua, seed)?)
    }

    fn random(&self, args: Args<'_>) -> std::result::Result<Answer, Oops> {
        let draw = self.draw();
        let (low, high) = match args.len() {
            0 => return Ok(Answer::One(Value::Number(draw))),
            1 => (1, args.number(0, "random")? as i64),
            2 => (args.number(0, "random")? as i64, args.number(1, "random")? as i64),
            _ => return Err("wrong number of arguments".into()),
        };
        if low > high {
            let at = args.len();
            return Err(format!("bad argument #{at} to 'random' (interval is empty)").into());
        }
        let width = (high - low + 1) as f64;
        Ok(Answer::One(Value::Number((draw * width).floor() + low as f64)))
    }
}
