//! libCacheSim's `oracleGeneral`: binary, with the time of each object's next request.
//!
//! ```text
//!  0         4                   12        16                  24
//! ┌─────────┬───────────────────┬─────────┬───────────────────┐
//! │ time, s │ object            │ size    │ next request      │   little endian, no header
//! └─────────┴───────────────────┴─────────┴───────────────────┘
//! ```
//!
//! Objects are numbers; their text is the number in decimal. `next request` counts requests from
//! the start, and is -1 (in some traces: the largest number) if the object is not requested again.
//! Every request is a read.
//!
//! Times are whole seconds; writing such a trace drops fractions. The writer does not look ahead.
//! It writes `next` where the source of the accesses knows it, and -1 elsewhere.

use super::{FormatSpec, Loss};
use crate::object::{Number, RecentHashes, next_field, next_request, number_of};
use crate::records::{Fields, Records};
use crate::timeline::Timeline;
use crate::{Charge, Error, Sink, Source, Unit};
use base::{Access, Micros};
use std::io::{BufWriter, Write};

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "oracleGeneral",
    about: "binary: u32 seconds, u64 object, u32 size, i64 next request",
    units: "times in seconds",
    extensions: &["oracleGeneral", "oracleGeneral.bin"],
    recognises: |_| false,
    open: |reader, options| {
        Ok(Box::new(Oracle {
            records: Records::new(reader),
            timeline: Timeline::default(),
            charge: options.charge,
            key: Number::default(),
            recent: RecentHashes::default(),
        }))
    },
    create: Some(|writer, _| {
        Ok(Box::new(OracleGeneralWriter {
            out: BufWriter::with_capacity(1 << 16, writer),
            written: 0,
        }))
    }),
    looks_ahead: true,
    loses: &[
        Loss::Operations,
        Loss::Tenants,
        Loss::Lives,
        Loss::Penalties,
        Loss::Names,
        Loss::Fractions,
        Loss::Sizes,
    ],
};

struct Oracle {
    records: Records,
    timeline: Timeline,
    charge: Charge,
    key: Number,
    recent: RecentHashes,
}

impl Oracle {
    #[inline]
    fn access(
        &mut self,
        record: &[u8; 24],
        hash: impl FnOnce(&mut Self, u64) -> (u64, u32),
    ) -> Access {
        let mut fields = Fields(record);
        let (seconds, object) = (fields.u32(), fields.u64());
        let (value_size, next) = (u64::from(fields.u32()), fields.i64());
        let (key, key_size) = hash(self, object);
        Access {
            time: self.timeline.at(Micros::from_secs(u64::from(seconds)).0),
            key,
            key_size,
            value_size,
            size: self.charge.size(key_size, value_size),
            next: next_request(next),
            ..Access::get(0, 0)
        }
    }
}

impl Source for Oracle {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        match self.records.take::<24>() {
            Ok(record) => Some(Ok(self.access(&record?, |own, object| own.key.hash(object)))),
            Err(error) => Some(Err(error)),
        }
    }

    fn read(&mut self, block: &mut Vec<Access>, count: usize) -> Result<(), Error> {
        for _ in 0..count {
            let Some(record) = self.records.take::<24>()? else { break };
            let access = self.access(&record, |own, object| own.recent.of(object, &mut own.key));
            block.push(access);
        }
        Ok(())
    }

    fn key(&self) -> &[u8] {
        self.key.text()
    }
}

struct OracleGeneralWriter<W: Write> {
    out: BufWriter<W>,
    written: u64,
}

impl<W: Write> OracleGeneralWriter<W> {
    fn io(&self, source: std::io::Error) -> Error {
        Error::Io { unit: Unit::Record, at: self.written, source }
    }
}

impl<W: Write + Send> Sink for OracleGeneralWriter<W> {
    fn put(&mut self, access: &Access, key: &[u8]) -> Result<(), Error> {
        let mut record = [0; 24];
        let seconds = u32::try_from(access.time.0 / 1_000_000).unwrap_or(u32::MAX);
        record[..4].copy_from_slice(&seconds.to_le_bytes());
        record[4..12].copy_from_slice(&number_of(access, key).to_le_bytes());
        let size = u32::try_from(access.value_size).unwrap_or(u32::MAX);
        record[12..16].copy_from_slice(&size.to_le_bytes());
        record[16..].copy_from_slice(&next_field(access.next).to_le_bytes());
        self.written += 1;
        self.out.write_all(&record).map_err(|source| self.io(source))
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(|source| self.io(source))
    }
}
