//! Properties that a command has or lacks. COMMAND shows some of them, and `execute/` uses all.

/// May write.
pub(crate) const WRITE: u32 = 1;
/// Only reads.
pub(crate) const READ: u32 = 1 << 1;
/// Refused when memory is full.
pub(crate) const DENY_OOM: u32 = 1 << 2;
/// Is meant for operators.
pub(crate) const ADMIN: u32 = 1 << 3;
/// Concerns channels.
pub(crate) const PUBSUB: u32 = 1 << 4;
/// Takes constant time, or time logarithmic in a size.
pub(crate) const FAST: u32 = 1 << 5;
/// Needs no authentication.
pub(crate) const NO_AUTH: u32 = 1 << 6;
/// Runs at once even between MULTI and EXEC.
pub(crate) const UNQUEUED: u32 = 1 << 7;
/// Is allowed to a RESP2 client that has subscriptions.
pub(crate) const LISTENING: u32 = 1 << 8;
/// Not allowed between MULTI and EXEC.
pub(crate) const NO_MULTI: u32 = 1 << 9;
/// Takes a step or two although it is not called fast; only a sample of its calls is timed.
pub(crate) const BRIEF: u32 = 1 << 10;
/// May be queued, but EXEC does not run it.
pub(crate) const NO_EXEC: u32 = 1 << 11;
/// Sends no reply or several replies, not always one.
pub(crate) const UNEVEN: u32 = 1 << 12;
/// Ends the transaction if it is refused between MULTI and EXEC.
pub(crate) const ABORTS: u32 = 1 << 13;
/// Waits while writes are paused, although it writes no key.
pub(crate) const MAY_REPLICATE: u32 = 1 << 14;
/// Never waits for a pause.
pub(crate) const UNPAUSED: u32 = 1 << 15;
/// May have secrets as arguments: neither MONITOR nor the slow log shows it.
pub(crate) const SECRET: u32 = 1 << 16;
/// MONITOR TRACE shows no line for it. What the counters and the models see depends on the handler:
/// `Store::get` is a read, and `Store::peek` is none.
pub(crate) const UNTRACED: u32 = 1 << 17;
/// Its channels belong to slots, like keys.
pub(crate) const SLOTTED: u32 = 1 << 18;
/// Runs even while a script keeps all other commands waiting: it accesses no key.
pub(crate) const ALLOW_BUSY: u32 = 1 << 19;
/// May wait until another client writes.
pub(crate) const BLOCKING: u32 = 1 << 20;
/// Is not allowed in a script, and neither are its subcommands.
pub(crate) const NO_SCRIPT: u32 = 1 << 22;
/// Only names its keys: the commands that it runs read and write them.
pub(crate) const CARRIES: u32 = 1 << 23;

/// Commands with one of these flags wait while writes are paused.
pub(crate) const PAUSED: u32 = WRITE | MAY_REPLICATE;

/// The names of flags in the reply of COMMAND.
pub(crate) const NAMES: &[(u32, &str)] = &[
    (WRITE, "write"),
    (READ, "readonly"),
    (DENY_OOM, "denyoom"),
    (ADMIN, "admin"),
    (PUBSUB, "pubsub"),
    (NO_SCRIPT, "noscript"),
    (BLOCKING, "blocking"),
    (FAST, "fast"),
    (NO_AUTH, "no_auth"),
    (NO_MULTI, "no_multi"),
];
