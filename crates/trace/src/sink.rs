//! The trait of everything that accesses are written to.

use crate::{Error, Passed, Sample};
use base::{Access, TenantId};

/// A destination of accesses: a trace that is being written.
pub trait Sink: Send {
    /// Writes one access whose key has the text `key`.
    fn put(&mut self, access: &Access, key: &[u8]) -> Result<(), Error>;

    /// Names a tenant from here on. Returns whether the format has words for tenants.
    fn name_tenant(&mut self, _tenant: TenantId, _name: &str) -> bool {
        false
    }

    /// Declares that the accesses are a sample; called before the first access. Returns whether the
    /// format can store the counts of [`Sink::pass`].
    fn sample(&mut self, _sample: Sample) -> bool {
        false
    }

    /// Declares that the whole trace has these requests before the next access, or after the last.
    fn pass(&mut self, _passed: Passed) {}

    /// Writes buffered bytes. Nothing may be written after it.
    fn finish(&mut self) -> Result<(), Error>;
}
