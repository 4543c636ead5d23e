//! Reads lines whose columns are named.

use super::splitter::{Splitter, header_of};
use crate::column::{Column, Header, known};
use crate::error::excerpt;
use crate::lines::{Lines, whole_number};
use crate::object::next_request;
use crate::ops::{FIX as OPS_FIX, Ops};
use crate::tenants::Tenants;
use crate::text::{Batch, LineFormat, LineRequest, MADE_GAP_US, key_size, scaled, size};
use crate::{Error, ReadOptions};
use base::{Micros, TenantId};

pub(super) struct Columns {
    named: Vec<Column>,
    splitter: Splitter,
    unknown_size: u64,
    requests: u64,
    key: Vec<u8>,
    tenants: Tenants,
    remark: Option<String>,
    /// The meanings of words and numbers for operations.
    ops: Ops,
}

impl Columns {
    /// Reads the lines before the first request.
    pub(super) fn begin(lines: &mut Lines, options: &ReadOptions) -> Result<Self, Error> {
        let asked = options.columns.as_deref().map(Header::asked).transpose();
        let asked = asked.map_err(Error::Unusable)?;
        let mut format = Self {
            named: vec![],
            splitter: Splitter::new(options.separator.unwrap_or(b',')),
            unknown_size: options.unknown_size(),
            requests: 0,
            key: vec![],
            tenants: Tenants::default(),
            remark: None,
            ops: Ops::of(options).map_err(Error::Unusable)?,
        };
        while lines.advance()? {
            let line = lines.line().trim_ascii();
            if options.separator.is_none() {
                format.splitter = Splitter::of(line);
            }
            let header = header_of(&mut format.splitter, line);
            if line.is_empty() || (line[0] == b'#' && header.is_none()) {
                continue;
            }
            let header = match (&asked, header) {
                (Some(asked), header) => {
                    format.named.clone_from(&asked.columns);
                    format.splitter.split(line);
                    let fields = format.splitter.fields().count();
                    // A line of names above columns that the user has named.
                    let is_request = line[0] != b'#' && format.parse(line).is_ok();
                    if is_request || header.is_none() {
                        lines.back();
                    }
                    let more = fields.saturating_sub(asked.columns.len());
                    format.remark = Some(asked.remark(options, more));
                    return Ok(format);
                }
                (None, Some(header)) => header,
                (None, None) => {
                    return Err(Error::Unusable(format!(
                        "expected column names in the first line, and found '{}': name the columns \
                         with --columns, as in --columns time,key,size, with - for a column to \
                         skip, from {}",
                        excerpt(line),
                        known()
                    )));
                }
            };
            header.check(options).map_err(Error::Unusable)?;
            format.remark = Some(header.remark(options, 0));
            format.named = header.columns;
            return Ok(format);
        }
        Ok(format)
    }

    /// Parses the request of a line and puts its key into `key`; the error names the wrong column.
    fn parse(&mut self, line: &[u8]) -> Result<LineRequest, String> {
        let mut request = LineRequest::get(self.requests * MADE_GAP_US, self.unknown_size);
        self.key.clear();
        self.splitter.split(line);
        let mut fields = self.splitter.fields();
        for column in &self.named {
            // Ignored columns at the end may be missing.
            let Some(field) = fields.next() else {
                if *column == Column::Ignored {
                    continue;
                }
                return Err(column.about());
            };
            let tenants = &mut self.tenants;
            let read = match column {
                Column::Ignored => Some(()),
                Column::Time(unit) => micros(field, *unit).map(|micros| request.micros = micros),
                Column::Key => {
                    self.key.extend_from_slice(field);
                    Some(())
                }
                Column::Size => size(field).map(|size| request.value_size = size),
                Column::KeySize => key_size(field).map(|size| request.key_size = Some(size)),
                Column::Op => self.ops.get(field).map(|op| request.op = op),
                Column::Tenant => (!field.is_empty()).then(|| request.tenant = tenants.of(field)),
                Column::Ttl => scaled(field, 1_000_000).map(|us| request.ttl = Micros(us)),
                Column::Penalty(unit) => {
                    micros(field, *unit).map(|us| request.penalty = Micros(us))
                }
                Column::Next => std::str::from_utf8(field)
                    .ok()
                    .and_then(|text| text.parse().ok())
                    .map(|next| request.next = next_request(next)),
            };
            if read.is_none() && *column == Column::Op && whole_number(field).is_some() {
                return Err(format!("operation: a number, {OPS_FIX}"));
            }
            read.ok_or_else(|| column.about())?;
        }
        if self.key.is_empty() { Err(Column::Key.about()) } else { Ok(request) }
    }
}

impl LineFormat for Columns {
    fn read(&mut self, _: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        if line.is_empty() || line[0] == b'#' {
            return Ok(());
        }
        let request = self.parse(line).map_err(|column| {
            format!("the {column} column is missing or wrong in '{}'", excerpt(line))
        })?;
        self.requests += 1;
        batch.push(&self.key, request);
        Ok(())
    }

    fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        self.tenants.name_of(tenant)
    }
}

/// Converts a time in units of `unit` per second into microseconds.
fn micros(field: &[u8], unit: u64) -> Option<u64> {
    match MICROS_A_SECOND.checked_div(unit) {
        Some(0) | None => scaled(field, 1).map(|time| time / (unit / MICROS_A_SECOND)),
        Some(scale) => scaled(field, scale),
    }
}

pub(super) const MICROS_A_SECOND: u64 = 1_000_000;
