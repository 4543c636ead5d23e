//! Settings that an operator may choose.
//!
//! [`Settings`] are plain values with defaults. A directive ([`directive::all`]) names, documents,
//! reads and prints one of them, for a file, the command line, the environment and CONFIG SET.

pub mod directive;
mod error;
mod file;
pub(crate) mod ignored;
mod list;
mod output_limit;
mod policy;
mod rewrite;
mod settings;
mod value;
mod warnings;
mod words;

pub(crate) use super::acl::is_equal;
pub use super::acl::{DEFAULT as DEFAULT_USER, User};
pub use error::Error;
pub use output_limit::OutputLimit;
pub use policy::Policy;
pub use settings::Settings;
pub(crate) use tune::tenant::quoted;
pub use tune::tenant::{DEFAULT, DEFAULT_NAME, Match, TenantConfig};
pub(crate) use value::Value;
pub use value::{IoUring, Level, LogFormat};
pub use words::words;
