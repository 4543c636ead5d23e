//! Block traces of Microsoft Research, Cambridge: one week of 36 volumes.
//!
//! ```text
//! Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
//! 128166372003061629,hm,1,Read,383496192,32768,413
//! ```
//!
//! Times are Windows' (100 ns). An object is an address of a request, named `host.disk:offset`; its
//! size is the request's, which may differ from one request to the next. The penalty of a miss is
//! the response time measured. The disk is the tenant.
//!
//! Narayanan, Donnelly, Rowstron. Write off-loading: practical power management for enterprise
//! storage. FAST '08.

use super::{Spec, op};
use crate::error::excerpt;
use crate::lines::whole_number;
use crate::text::{self, Batch, LineFormat, Request, size};
use crate::{Micros, tenant};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "msr",
    about: "Timestamp (100 ns),Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
    extensions: &["msr", "msr.csv"],
    recognises: |head| {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        parse(line.trim_ascii_end(), &mut vec![]).is_ok()
    },
    open: |reader, options| Ok(text::open(reader, options, Msr { key: vec![] })),
    create: None,
    looks_ahead: false,
    loses: &[],
};

struct Msr {
    key: Vec<u8>,
}

impl LineFormat for Msr {
    fn read(&mut self, at: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        if line.is_empty() || (at == 1 && line.starts_with(b"Timestamp")) {
            return Ok(());
        }
        let request = parse(line, &mut self.key).map_err(|column| {
            format!(
                "column {column} is missing or wrong in '{}'; a line reads {}",
                excerpt(line),
                SPEC.about
            )
        })?;
        batch.push(&self.key, request);
        Ok(())
    }
}

/// Writes the object's name to `key`.
fn parse(line: &[u8], key: &mut Vec<u8>) -> Result<Request, &'static str> {
    let mut columns = line.split(|byte| *byte == b',');
    let mut next = |name| columns.next().filter(|column| !column.is_empty()).ok_or(name);
    let time = whole_number(next("Timestamp")?).ok_or("Timestamp")?;
    let host = next("Hostname")?;
    let disk = next("DiskNumber")?;
    let disk_number = whole_number(disk).ok_or("DiskNumber")?;
    let op = match next("Type")? {
        kind if kind.eq_ignore_ascii_case(b"read") || kind.eq_ignore_ascii_case(b"write") => {
            op(kind).ok_or("Type")?
        }
        _ => return Err("Type (Read or Write)"),
    };
    let offset = next("Offset")?;
    whole_number(offset).ok_or("Offset")?;
    let value_size = size(next("Size")?).ok_or("Size")?;
    let response = whole_number(next("ResponseTime")?).ok_or("ResponseTime")?;
    key.clear();
    for part in [host, b".", disk, b":", offset] {
        key.extend_from_slice(part);
    }
    Ok(Request {
        op,
        tenant: tenant(disk_number),
        penalty: Micros(response / 10),
        ..Request::get(time / 10, value_size)
    })
}
