//! Writes a capture as a trace.

use crate::output::{self, create};
use anyhow::Result;
use std::io;
use trace::Totals;
use trace::capture::Recorded;
use trace::format::{self, FormatSpec};

/// Size of the written trace, and the facts that its format could not hold.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) requests: u64,
    pub(super) bytes: u64,
    pub(super) losses: Vec<String>,
}

/// The format for a file of this name. Unless the name or `wanted` asks for another one, it is
/// `columns`, which holds names of tenants and penalties.
///
/// # Errors
/// A sentence that names the formats that can be written.
pub(super) fn chosen(name: &str, wanted: Option<&str>) -> Result<&'static FormatSpec> {
    let named = format::detect(name, b"").filter(|spec| spec.create.is_some());
    let plain = named.is_none_or(|spec| spec.name == "csv");
    output::written(name, wanted.or(plain.then_some("columns")))
}

/// Writes the file. While the disk is full, it tries again with half as many of the first requests.
///
/// # Errors
/// The system refuses the file. Then no file is left.
pub(super) fn write(name: &str, spec: &FormatSpec, recorded: &Recorded) -> Result<Written> {
    fitting(recorded.len(), |most| one(name, spec, recorded, most))
}

/// Minimum number of requests that make a trace worth keeping.
const WORTH: usize = 1_000;

/// Tries all requests, and half as many each time while the disk is full.
fn fitting(all: usize, mut write: impl FnMut(usize) -> Result<Written>) -> Result<Written> {
    let mut most = all;
    loop {
        match write(most) {
            Err(error) if is_full(&error) && most / 2 >= WORTH => most /= 2,
            done => return done,
        }
    }
}

fn is_full(error: &anyhow::Error) -> bool {
    let full = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    };
    error.chain().any(|cause| cause.downcast_ref().is_some_and(full))
}

fn one(name: &str, spec: &FormatSpec, recorded: &Recorded, most: usize) -> Result<Written> {
    let mut out = create(name, &[], spec, &Totals::default())?;
    let mut has_words = true;
    for (tenant, word) in (0..).zip(recorded.names()) {
        has_words = out.name_tenant(tenant, word);
    }
    let mut lost = vec![0u64; spec.loses.len()];
    recorded.each(most, |access, key| {
        for (count, loss) in lost.iter_mut().zip(spec.loses) {
            *count += u64::from(loss.hits(access, key));
        }
        out.put(access, key)
    })?;
    let bytes = out.finish()?;
    let said = |(loss, count): (&format::Loss, u64)| format!("{count} {}", loss.about());
    let mut losses: Vec<_> =
        spec.loses.iter().zip(lost).filter(|(_, count)| *count > 0).map(said).collect();
    if !has_words {
        let names =
            (0..).zip(recorded.names()).map(|(at, name): (u16, _)| format!("{name} is {at}"));
        losses.push(format!("tenants become numbers ({})", names.collect::<Vec<_>>().join(", ")));
    }
    Ok(Written { requests: recorded.len().min(most) as u64, bytes, losses })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_keeps_everything_unless_another_is_named() {
        let of = |name: &str, wanted| chosen(name, wanted).map(|spec| spec.name);
        for name in ["a.csv", "a.csv.zst", "a.trace", "a", "-", "a.monitor"] {
            assert_eq!(of(name, None).unwrap(), "columns", "{name}");
        }
        assert_eq!(of("a.compact.zst", None).unwrap(), "compact");
        assert_eq!(of("a.csv", Some("csv")).unwrap(), "csv");
        assert!(of("a", Some("monitor")).is_err());
    }

    /// A capture cannot be repeated, so a full disk keeps a part of it.
    #[test]
    fn on_a_full_disk_the_first_requests_are_kept() {
        let full = || anyhow::Error::new(io::Error::from(io::ErrorKind::StorageFull));
        let room = |most: usize| {
            let written = Written { requests: most as u64, ..Written::default() };
            if most > 30_000 { Err(full()) } else { Ok(written) }
        };
        assert_eq!(fitting(100_000, room).unwrap().requests, 25_000);
        let mut tries = 0;
        let nothing = |_| {
            tries += 1;
            Err(full())
        };
        assert!(fitting(100_000, nothing).is_err());
        assert_eq!(tries, 7);
        let broken = |_| Err(anyhow::anyhow!("read-only"));
        assert_eq!(fitting(100_000, broken).unwrap_err().to_string(), "read-only");
    }
}
