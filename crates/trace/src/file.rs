//! The bytes of a trace: a file or standard input, decompressed. The first bytes identify the
//! compression, and not the name.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes read from a file at a time.
const CHUNK: usize = 1 << 18;
/// Bytes that are inspected to identify a format.
const HEAD: u64 = 1 << 12;

/// An open file.
pub struct Opened {
    /// The first bytes, which identify the format.
    pub head: Vec<u8>,
    /// The part of it that has been read; `None` for standard input.
    pub part: Option<ReadPart>,
    rest: Box<dyn Read + Send>,
    /// The error that stopped the reading after these bytes.
    failed: Option<io::Error>,
}

/// The part of a file that has been read, before it is decompressed.
#[derive(Clone, Debug)]
pub struct ReadPart {
    read: Arc<AtomicU64>,
    size: u64,
}

impl ReadPart {
    /// From 0 to 1.
    pub fn part(&self) -> f64 {
        (self.read.load(Ordering::Relaxed) as f64 / self.size.max(1) as f64).min(1.0)
    }
}

/// A file that counts the bytes that are read from it.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(to)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Opens a path, or standard input where it is `-`.
///
/// # Errors
/// The error of the machine, with the fix.
pub fn open(name: &str) -> io::Result<Opened> {
    let (mut rest, part) = bytes(name)?;
    let mut head = vec![];
    let failed = (&mut rest).take(HEAD).read_to_end(&mut head).err();
    Ok(Opened { head, part, rest, failed })
}

impl Opened {
    /// The error in the first bytes, if there was one; a lenient reader ignores it if there are any
    /// bytes.
    pub fn failure(&mut self, lenient: bool) -> Option<io::Error> {
        if lenient && !self.head.is_empty() { None } else { self.failed.take() }
    }

    /// All bytes, including the first ones.
    pub fn reader(self) -> Box<dyn BufRead + Send> {
        let rest: Box<dyn Read + Send> = match self.failed {
            Some(error) => Box::new(Failed(Some(error))),
            None => self.rest,
        };
        Box::new(BufReader::with_capacity(CHUNK, Cursor::new(self.head).chain(rest)))
    }
}

/// The bytes of a file or of standard input, decompressed, and the part of a regular file that has
/// been read.
fn bytes(name: &str) -> io::Result<(Box<dyn Read + Send>, Option<ReadPart>)> {
    let mut part = None;
    let mut raw: Box<dyn BufRead + Send> = if name == "-" {
        Box::new(BufReader::with_capacity(CHUNK, io::stdin()))
    } else {
        let file = File::open(name).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::new(
                io::ErrorKind::NotFound,
                "there is no such file: check the path; the name of a generator begins with \
                 synth:, as in synth:zipf",
            ),
            _ => error,
        })?;
        let about = file.metadata()?;
        if about.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a directory: name a file in it",
            ));
        }
        let read = Arc::default();
        part = about.is_file().then(|| ReadPart { read: Arc::clone(&read), size: about.len() });
        Box::new(BufReader::with_capacity(CHUNK, Counted { file, read }))
    };
    let magic = peek(&mut raw)?;
    let whole = Cursor::new(magic.clone()).chain(raw);
    let plain: Box<dyn Read + Send> = match magic.as_slice() {
        // A frame, or a skippable frame before it.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            let mut decoder = zstd::Decoder::new(whole)?;
            decoder.window_log_max(31)?;
            Box::new(Unpacked(decoder))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => return Err(packed(name, "xz")),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, ..] => return Err(packed(name, "bzip2")),
        [b'P', b'K', 3, 4, ..] => return Err(packed(name, "zip")),
        [0x1f, 0x8b, ..] => Box::new(Unpacked(flate2::read::MultiGzDecoder::new(whole))),
        _ => Box::new(whole),
    };
    Ok((plain, part))
}

/// The error for a compression that this crate does not decompress, with the fix.
fn packed(name: &str, packer: &str) -> io::Error {
    let unpack = match packer {
        "xz" => "xz -dc",
        "bzip2" => "bzip2 -dc",
        _ => "unzip -p",
    };
    let file = if name == "-" { "FILE" } else { name };
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("{packer} compressed it: decompress it first, `{unpack} {file} | larder … -`"),
    )
}

/// The output of a decompressor. Its errors count as damaged data, unless they come from the
/// machine.
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(error.kind(), "the compressed file is truncated: fetch it again")
            }
            io::ErrorKind::Other | io::ErrorKind::InvalidInput
                if error.raw_os_error().is_none() =>
            {
                io::Error::new(io::ErrorKind::InvalidData, error)
            }
            _ => error,
        })
    }
}

/// A reader that returns its error once, after the bytes that could still be read.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Reads the first bytes.
fn peek(reader: &mut (impl Read + ?Sized)) -> io::Result<Vec<u8>> {
    let mut head = vec![];
    reader.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_unpacked_here_is_refused_with_the_fix() {
        for (name, head, unpack) in [
            ("a.xz", &b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F"[..], "xz -dc"),
            ("a.bz2", b"BZh91AY&SY\x17\x72", "bzip2 -dc"),
            ("a.zip", b"PK\x03\x04\x14\0", "unzip -p"),
        ] {
            let path = std::env::temp_dir().join(format!("larder-{}-{name}", std::process::id()));
            std::fs::write(&path, head).unwrap();
            let error = open(path.to_str().unwrap()).err().unwrap();
            std::fs::remove_file(&path).unwrap();
            let fix = format!("`{unpack} {} | larder … -`", path.display());
            assert!(error.to_string().contains(&fix), "{error}");
        }
    }
}
