//! Output files of commands that write a trace.

use crate::whole_file::{self, WholeFile};
use anyhow::{Context, anyhow, bail};
use base::TenantId;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use trace::format::{self, FormatSpec};
use trace::{Access, Error, Passed, Sample, Sink, Totals};

/// A trace being written. Its file has its name once [`Output::finish`] succeeds.
pub(crate) struct Output {
    sink: Box<dyn Sink>,
    /// None where it goes to standard output.
    file: Option<WholeFile>,
    /// Error from the end of the compressed stream, which is written when the sink is dropped.
    closed: Arc<Mutex<Option<io::Error>>>,
}

/// The format in which the trace `name` is written: the `wanted` one, or else the one that the name
/// ends with. Standard output gets CSV.
///
/// # Errors
/// A sentence that names the formats that can be written.
pub(crate) fn written(name: &str, wanted: Option<&str>) -> anyhow::Result<&'static FormatSpec> {
    let spec = match wanted {
        Some(wanted) => format::find(wanted).map_err(|error| anyhow!(error))?,
        None => match format::detect(name, b"") {
            Some(spec) => spec,
            None if name == "-" => format::find("csv").map_err(|error| anyhow!(error))?,
            None => bail!(
                "the name '{name}' does not show which format to write: name the format with --to, \
                 one of {}",
                writable()
            ),
        },
    };
    if spec.create.is_none() {
        bail!(
            "Larder reads {} but does not write it: choose one of {} with --to",
            spec.name,
            writable()
        );
    }
    Ok(spec)
}

fn writable() -> String {
    let known: Vec<_> =
        format::ALL.iter().filter(|spec| spec.create.is_some()).map(|spec| spec.name).collect();
    known.join(", ")
}

/// Begins the trace `name`, compressed with zstd where the name ends with `.zst`; `-` is standard
/// output. Refuses a name that is one of `inputs`.
///
/// # Errors
/// The format or the compression can only be read, or the system refuses the file.
pub(crate) fn create(
    name: &str,
    inputs: &[String],
    spec: &FormatSpec,
    totals: &Totals,
) -> anyhow::Result<Output> {
    let create =
        spec.create.ok_or_else(|| anyhow!("Larder reads {} but does not write it", spec.name))?;
    let closed = Arc::new(Mutex::new(None));
    let ending = Path::new(name).extension().unwrap_or_default().to_ascii_lowercase();
    if let Some(packer) =
        [("gz", "gzip"), ("xz", "xz"), ("bz2", "bzip2")].iter().find(|(end, _)| ending == *end)
    {
        bail!("Larder does not write {}: end the name '{name}' with .zst", packer.1);
    }
    let (file, raw): (_, Box<dyn Write + Send>) = if name == "-" {
        whole_file::check_stdout(inputs)?;
        (None, Box::new(io::stdout()))
    } else {
        let file = WholeFile::begin(Path::new(name), inputs)?;
        let raw = file.writer()?;
        (Some(file), Box::new(raw))
    };
    let writer = if ending == "zst" || ending == "zstd" {
        let closed = Arc::clone(&closed);
        let encoder = zstd::Encoder::new(raw, zstd::DEFAULT_COMPRESSION_LEVEL)?;
        Box::new(encoder.on_finish(move |end| {
            *closed.lock().unwrap_or_else(PoisonError::into_inner) = end.err();
        }))
    } else {
        raw
    };
    Ok(Output { sink: create(writer, totals)?, file, closed })
}

impl Output {
    /// Writes one access.
    ///
    /// # Errors
    /// The system refuses the write.
    pub(crate) fn put(&mut self, access: &Access, key: &[u8]) -> Result<(), Error> {
        self.sink.put(access, key)
    }

    /// Gives the tenant this name from here on. Returns whether the format holds names of tenants.
    pub(crate) fn name_tenant(&mut self, tenant: TenantId, name: &str) -> bool {
        self.sink.name_tenant(tenant, name)
    }

    /// Marks the trace as a sample. Returns whether the format can count the requests left out.
    pub(crate) fn sample(&mut self, sample: Sample) -> bool {
        self.sink.sample(sample)
    }

    /// Records the requests that are left out before the next access, or behind the last.
    pub(crate) fn pass(&mut self, passed: Passed) {
        self.sink.pass(passed);
    }

    /// Writes buffered accesses and the end of the compressed stream, and gives the file its name.
    /// Returns its size in bytes, or 0 for standard output.
    ///
    /// # Errors
    /// The system refuses a write. The trace then gets no name.
    pub(crate) fn finish(mut self) -> anyhow::Result<u64> {
        self.sink.finish()?;
        drop(self.sink);
        if let Some(error) = self.closed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error).context("could not finish the compressed stream");
        }
        self.file.map_or(Ok(0), WholeFile::keep)
    }
}
