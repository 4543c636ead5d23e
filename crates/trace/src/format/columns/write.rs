//! Writes lines of columns, with their names in the first line.

use super::read::MICROS_A_SECOND;
use crate::format::csv::write_key;
use crate::ops::word;
use crate::{Error, Sink, Unit};
use base::{Access, TenantId};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

/// The columns of a written trace.
pub(super) const WRITTEN: &str = "time_us,key,key_size,value_size,tenant,op,ttl,penalty_us";

pub(super) struct ColumnsWriter<W: Write> {
    pub(super) out: BufWriter<W>,
    pub(super) line: Vec<u8>,
    pub(super) names: BTreeMap<TenantId, String>,
    pub(super) written: u64,
}

impl<W: Write + Send> Sink for ColumnsWriter<W> {
    fn put(&mut self, access: &Access, key: &[u8]) -> Result<(), Error> {
        self.line.clear();
        let line = &mut self.line;
        let mut write = || {
            write!(line, "{},", access.time.0)?;
            write_key(line, key);
            write!(line, "{},{},", access.key_size, access.value_size)?;
            match self.names.get(&access.tenant) {
                Some(name) => write_key(line, name.as_bytes()),
                None => write!(line, "{},", access.tenant)?,
            }
            write!(line, "{},{}", word(access.op), access.ttl.0 / MICROS_A_SECOND)?;
            let fraction = access.ttl.0 % MICROS_A_SECOND;
            if fraction > 0 {
                write!(line, ".{fraction:06}")?;
            }
            writeln!(line, ",{}", access.penalty.0)?;
            self.out.write_all(line)
        };
        let at = self.written;
        write().map_err(|source| Error::Io { unit: Unit::Line, at, source })?;
        self.written += 1;
        Ok(())
    }

    fn name_tenant(&mut self, tenant: TenantId, name: &str) -> bool {
        self.names.insert(tenant, name.to_owned());
        true
    }

    fn finish(&mut self) -> Result<(), Error> {
        let at = self.written;
        self.out.flush().map_err(|source| Error::Io { unit: Unit::Line, at, source })
    }
}
