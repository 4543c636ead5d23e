//! Opens whatever a user names as a trace: a file of any format, standard input, a generator.
//!
//! Files are read through their compression, which is known by the first bytes and not by the
//! name; the format is known by `--format`, by the first bytes behind the compression, or by the
//! name, in that order.

use anyhow::{Context, anyhow};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use trace::format::{self, Spec};
use trace::{Access, Charge, Error, SkipBad, Source};

/// Bytes read from a file at a time.
const CHUNK: usize = 1 << 18;
/// Bytes looked at to tell a format.
const HEAD: u64 = 1 << 12;

/// How a trace is read: the flags every command that reads one has.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Format of the trace, where neither its first bytes nor its name tell
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Names of the columns, for --format columns: time, key, size and so on
    #[arg(long, value_name = "NAMES")]
    pub columns: Option<String>,
    /// What stands between two columns: a character, or `tab` or `space`
    #[arg(long, value_name = "CHAR", value_parser = separator)]
    pub separator: Option<u8>,
    /// Bytes of a value where the trace does not say
    #[arg(long, value_name = "BYTES")]
    pub value_size: Option<u32>,
    /// What the cache is charged for an object
    #[arg(long, value_enum, default_value_t)]
    pub charge: ChargeBy,
    /// Charge one for every object: sizes are then numbers of objects
    #[arg(long, conflicts_with = "charge")]
    pub ignore_size: bool,
    /// Count malformed records and go on, instead of ending at the first
    #[arg(long)]
    pub skip_bad: bool,
    /// Read no more than this many requests
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
}

/// What the cache is charged for an object.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChargeBy {
    /// Its value: what other simulators charge
    #[default]
    Value,
    /// Its key and its value
    KeyValue,
}

impl Options {
    /// What the readers of `trace` need of it.
    pub fn trace_options(&self) -> trace::Options {
        let charge = match self.charge {
            _ if self.ignore_size => Charge::One,
            ChargeBy::Value => Charge::Value,
            ChargeBy::KeyValue => Charge::Item(u32::saturating_add),
        };
        trace::Options {
            charge,
            columns: self.columns.clone(),
            separator: self.separator,
            value_size: self.value_size,
        }
    }
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
/// A sentence that names what is known, or what the machine said.
pub fn open(name: &str, options: &Options) -> anyhow::Result<Box<dyn Source>> {
    let source = if name.starts_with("synth:") {
        trace::synth::open(name, &options.trace_options())?
    } else {
        read_file(name, options)?
    };
    let source = if options.skip_bad { Box::new(SkipBad::new(source)) } else { source };
    Ok(match options.limit {
        Some(left) => Box::new(Limit { inner: source, left }),
        None => source,
    })
}

fn read_file(name: &str, options: &Options) -> anyhow::Result<Box<dyn Source>> {
    let mut reader = bytes(name).with_context(|| format!("cannot open trace '{name}'"))?;
    let head = peek(&mut reader).with_context(|| format!("cannot read trace '{name}'"))?;
    let spec = choose(name, options, &head)?;
    let reader = Box::new(BufReader::with_capacity(CHUNK, Cursor::new(head).chain(reader)));
    (spec.open)(reader, &options.trace_options()).with_context(|| format!("trace '{name}'"))
}

fn choose(name: &str, options: &Options, head: &[u8]) -> anyhow::Result<&'static Spec> {
    if let Some(wanted) = &options.format {
        return format::find(wanted).map_err(|error| anyhow!(error));
    }
    let wanted = if options.columns.is_some() { format::find("columns").ok() } else { None };
    wanted.or_else(|| format::detect(name, head)).ok_or_else(|| {
        let known: Vec<_> = format::ALL.iter().map(|spec| spec.name).collect();
        anyhow!(
            "cannot tell the format of trace '{name}': name it with --format, one of {}",
            known.join(", ")
        )
    })
}

/// The bytes of a file or of standard input, behind their compression.
fn bytes(name: &str) -> io::Result<Box<dyn Read + Send>> {
    let mut raw: Box<dyn BufRead + Send> = if name == "-" {
        Box::new(BufReader::with_capacity(CHUNK, io::stdin()))
    } else {
        let file = File::open(name)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a directory: name one file in it",
            ));
        }
        Box::new(BufReader::with_capacity(CHUNK, file))
    };
    let magic = peek(&mut raw)?;
    let whole = Cursor::new(magic.clone()).chain(raw);
    Ok(match magic.as_slice() {
        // A frame, or a skippable frame before it.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            let mut decoder = zstd::Decoder::new(whole)?;
            decoder.window_log_max(31)?;
            Box::new(decoder)
        }
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        _ => Box::new(whole),
    })
}

/// The first bytes, taken out of the reader.
fn peek(reader: &mut (impl Read + ?Sized)) -> io::Result<Vec<u8>> {
    let mut head = vec![];
    reader.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

/// The first so many accesses.
struct Limit {
    inner: Box<dyn Source>,
    left: u64,
}

impl Source for Limit {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        self.left = self.left.checked_sub(1)?;
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
}
