//! Opens any trace that a user names: a file of any format, standard input, or a generator.
//!
//! Files are read through their compression, which the first bytes identify and not the name. The
//! format comes from `--format`, from the first bytes behind the compression, or from the name, in
//! that order.

use anyhow::{Context, anyhow, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use trace::file::ReadPart;
use trace::format::{self, FormatSpec};
use trace::{
    Access, Charge, Error, Passed, Sample, SkipBad, Sought, Source, TenantId, column, file,
};

/// How a trace is read: the flags of every command that reads one.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Format of the trace, if neither its first bytes nor its name tell; --help lists them
    #[arg(long, value_name = "NAME", long_help = formats_help())]
    pub format: Option<String>,
    /// Names of the columns, comma separated, for --format columns; --help lists them
    #[arg(long, value_name = "NAMES", long_help = columns_help())]
    pub columns: Option<String>,
    /// Separator between two columns: a character, or `tab` or `space`
    #[arg(long, value_name = "CHAR", value_parser = separator)]
    pub separator: Option<u8>,
    /// Bytes of a value if the trace has no sizes
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    pub value_size: Option<u64>,
    /// Split requests for ranges of a disk or an object (msr, vscsi, arc, ibm) into blocks of this
    /// size, such as 4kb
    #[arg(long, value_name = "BYTES", value_parser = block_size)]
    pub block_size: Option<u64>,
    /// Meaning of the trace's own operations, such as 0=get,1=set
    #[arg(long, value_name = "PAIRS")]
    pub ops: Option<String>,
    /// Size that the cache is charged for an object
    #[arg(long, value_enum, default_value_t)]
    pub charge: ChargeBy,
    /// Charge 1 for every object, so that sizes are numbers of objects
    #[arg(long, conflicts_with = "charge")]
    pub ignore_size: bool,
    /// Count malformed records and go on, instead of stopping at the first. A truncated trace ends
    /// where it is cut off
    #[arg(long)]
    pub skip_bad: bool,
    /// Number of requests to skip at the start
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip: u64,
    /// Largest number of requests to read
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
}

/// The size that the cache is charged for an object.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChargeBy {
    /// The value alone, as other simulators charge
    #[default]
    Value,
    /// The item with its key and header, rounded up, as the store charges
    Item,
}

impl Options {
    /// These options for the readers of the crate `trace`.
    pub fn trace_options(&self) -> trace::ReadOptions {
        let charge = match self.charge {
            _ if self.ignore_size => Charge::One,
            ChargeBy::Value => Charge::Value,
            ChargeBy::Item => Charge::Item(item),
        };
        trace::ReadOptions {
            charge,
            columns: self.columns.clone(),
            separator: self.separator,
            value_size: self.value_size,
            block_size: self.block_size,
            ops: self.ops.clone(),
        }
    }
}

/// The size that the store charges for an item without a time to live.
fn item(key_size: u32, value_size: u64) -> u64 {
    store::charge(key_size as usize, value_size as usize, false) as u64
}

/// Help of the flag that names a format, with all formats.
pub fn formats_help() -> String {
    let mut text =
        "Format of the trace, if neither its first bytes nor its name show it:".to_owned();
    for spec in format::ALL {
        text.extend(["\n  ", spec.name, ": ", spec.about]);
    }
    text
}

fn columns_help() -> String {
    format!(
        "Names of the columns from left to right, comma separated, for --format columns; - skips a \
         column. Without a unit in its name, a time is in seconds and the cost of a miss in \
         microseconds. The names are {}",
        column::known()
    )
}

fn block_size(text: &str) -> Result<u64, String> {
    let bytes = base::Bytes::parse(text)?.0;
    let fits = (512..=1 << 30).contains(&bytes);
    if fits { Ok(bytes) } else { Err("write from 512 bytes to 1gb, such as 4kb".into()) }
}

fn separator(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ if text.len() == 1 => Ok(text.as_bytes()[0]),
        _ => Err("write one character, or `tab` or `space`".into()),
    }
}

/// Opens `name`: a path, `-` for standard input, or a generator such as
/// `synth:zipf:keys=10000:skew=0.9`.
///
/// # Errors
/// A sentence that names the known formats, or the error of the machine.
pub fn open(name: &str, options: &Options) -> anyhow::Result<Box<dyn Source>> {
    open_with_part(name, options).map(|(source, _)| source)
}

/// [`open`], with the part of the trace's file that has been read.
///
/// # Errors
/// As of [`open`].
pub fn open_with_part(
    name: &str,
    options: &Options,
) -> anyhow::Result<(Box<dyn Source>, Option<ReadPart>)> {
    let (source, part) = if name.starts_with("synth:") {
        (trace::synth::open(name, &options.trace_options())?, None)
    } else {
        read_file(name, options)?
    };
    if let Some(remark) = source.remark() {
        tell(&format!("trace '{name}': {remark}"));
    }
    let mut source: Box<dyn Source> = if options.skip_bad {
        Box::new(Lenient { inner: SkipBad::new(source), name: name.to_owned() })
    } else {
        source
    };
    for _ in 0..options.skip {
        // A fault in a skipped request is a fault of the trace, and must be reported.
        match source.next() {
            Some(access) => access.with_context(|| format!("trace '{name}'"))?,
            None => bail!("trace '{name}' has fewer than {} requests: skip fewer", options.skip),
        };
    }
    let source: Box<dyn Source> = match options.limit {
        Some(left) => Box::new(Limit { inner: source, left }),
        None => source,
    };
    Ok((source, part))
}

fn read_file(name: &str, options: &Options) -> anyhow::Result<(Box<dyn Source>, Option<ReadPart>)> {
    let mut file = file::open(name).with_context(|| format!("could not open trace '{name}'"))?;
    if let Some(error) = file.failure(options.skip_bad) {
        return Err(error).with_context(|| format!("could not read trace '{name}'"));
    }
    let spec = choose(name, options, &file.head)?;
    let part = file.part.clone();
    let reader = file.reader();
    let source = (spec.open)(reader, &options.trace_options());
    let source = source.with_context(|| format!("trace '{name}'"))?;
    if !spec.units.is_empty() {
        tell(&format!("reading trace '{name}' as {}: {}", spec.name, spec.units));
    }
    Ok((source, part))
}

fn choose(name: &str, options: &Options, head: &[u8]) -> anyhow::Result<&'static FormatSpec> {
    if let Some(wanted) = &options.format {
        return format::find(wanted).map_err(|error| anyhow!(error));
    }
    let wanted = if options.columns.is_some() { format::find("columns").ok() } else { None };
    wanted.or_else(|| format::detect(name, head)).ok_or_else(|| {
        let known: Vec<_> = format::ALL.iter().map(|spec| spec.name).collect();
        anyhow!(
            "the format of trace '{name}' is not clear: name it with --format, one of {}",
            known.join(", ")
        )
    })
}

/// Prints a text on standard error, once, because a trace may be read several times.
fn tell(text: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
        eprintln!("larder: {}", base::printable(text));
    }
}

/// The words by which a trace names its tenants, in the part read so far.
pub fn tenant_names(source: &dyn Source) -> BTreeMap<TenantId, String> {
    let named = |tenant| Some((tenant, source.tenant_name(tenant)?.to_owned()));
    (0..=TenantId::MAX).filter_map(named).collect()
}

/// Skips malformed records, and reports their number at the end.
struct Lenient {
    inner: SkipBad<Box<dyn Source>>,
    name: String,
}

impl Source for Lenient {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        self.inner.next()
    }

    fn key(&self) -> &[u8] {
        self.inner.key()
    }

    fn skipped(&self) -> u64 {
        self.inner.skipped()
    }

    fn lost(&self) -> u64 {
        self.inner.lost()
    }

    fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        self.inner.tenant_name(tenant)
    }

    fn sample(&self) -> Option<Sample> {
        self.inner.sample()
    }

    fn passed(&self) -> Passed {
        self.inner.passed()
    }
}

impl Drop for Lenient {
    fn drop(&mut self) {
        if self.skipped() > 0 {
            tell(&format!("trace '{}': skipped {} malformed", self.name, self.skipped()));
        }
        if let Some(why) = self.inner.cut_off() {
            tell(&format!(
                "trace '{}' is truncated, and its rest is not counted: {why}",
                self.name
            ));
        }
    }
}

/// The first `left` accesses.
struct Limit {
    inner: Box<dyn Source>,
    left: u64,
}

impl Source for Limit {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        self.left = self.left.checked_sub(1)?;
        self.inner.next()
    }

    fn read(&mut self, block: &mut Vec<Access>, count: usize) -> Result<(), Error> {
        let before = block.len();
        let read = self.inner.read(block, count.min(usize::try_from(self.left).unwrap_or(count)));
        self.left -= (block.len() - before) as u64;
        read
    }

    fn seek(&mut self, keeps: &mut dyn FnMut(u64) -> bool, most: u64) -> Sought {
        if self.left == 0 {
            return Sought { passed: Passed::default(), found: None, is_over: true };
        }
        let sought = self.inner.seek(keeps, most.min(self.left));
        self.left -= sought.passed.requests;
        if self.left == 0 {
            return Sought { found: None, is_over: true, ..sought };
        }
        self.left -= u64::from(sought.found.is_some());
        sought
    }

    fn key(&self) -> &[u8] {
        self.inner.key()
    }

    fn skipped(&self) -> u64 {
        self.inner.skipped()
    }

    fn lost(&self) -> u64 {
        self.inner.lost()
    }

    fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        self.inner.tenant_name(tenant)
    }

    fn sample(&self) -> Option<Sample> {
        self.inner.sample()
    }

    fn passed(&self) -> Passed {
        self.inner.passed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args;

    /// Every format and column of the readers must be in the help.
    #[test]
    fn the_help_lists_formats_and_columns() {
        let mut command = Options::augment_args(clap::Command::new("x"));
        let help = command.render_long_help().to_string();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for spec in format::ALL {
            assert!(help.contains(&format!("{}: {}", spec.name, spec.about)), "{}", spec.name);
        }
        for (name, _) in column::NAMES {
            assert!(help.contains(name), "{name}");
        }
    }
}
