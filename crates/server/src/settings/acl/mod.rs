//! Users: their passwords, and their permissions.
//!
//! ```text
//!   user NAME on|off  >PASSWORD  nopass  ~KEYS  %R~KEYS  &CHANNELS  +COMMAND  -@CATEGORY  db=N …
//! ```
//!
//! The words are those of Redis' ACL, and `db=` is Valkey's. Passwords are kept as hashes. A
//! session knows whether its user has any limits ([`User::is_unlimited`]); commands of unlimited
//! users are not checked.

pub(crate) mod category;
mod file;
mod selector;
mod user;

pub(crate) use file::{path, read};
pub(crate) use selector::{Denied, Rules};
pub(crate) use user::WordError;
pub use user::{DEFAULT, User};
pub(crate) use user::{hex, is_equal};
