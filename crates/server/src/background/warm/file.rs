//! The file of a warm restart: blocks with checksums.
//!
//! ```text
//!   ┌──────────┬─────────┐ ┌────────┬──────┬────────┬─────────────────┐
//!   │ LARDER↵⁻ │ version │ │ length │ kind │ crc32  │ payload…        │ …
//!   └──────────┴─────────┘ └────────┴──────┴────────┴─────────────────┘
//!     8          4           8        1      4        length        numbers little-endian
//! ```
//!
//! The checksum covers length, kind and payload. A payload is postcard's encoding of one value, or
//! of items one after another. That encoding names no fields, so a payload that gets or loses a
//! field is another kind of block. The head comes first and the tail last, and nothing may follow
//! it. A file without a tail is incomplete.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// The line end reveals a file that was transferred as text.
const MAGIC: &[u8; 8] = b"LARDER\r\n";
/// The version that this program writes, and the only one that it reads.
const VERSION: u32 = 6;
/// Bytes before a payload.
const FRAME: usize = 13;

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Head = 1,
    Known = 2,
    Items = 3,
    Tail = 4,
    /// The rank's knowledge without the mean size; it is skipped.
    KeysWithoutSize = 5,
    Evicted = 6,
    /// A history without kinds, effects and claims of its changes, of an earlier program.
    BareHistory = 7,
    Libraries = 8,
    Keys = 9,
    History = 10,
    /// The gain of self-tuning over the whole run.
    Gain = 11,
    /// A dictionary of compressed items. No single wrong bit makes this or the next kind another.
    Dictionary = 0xd1,
    /// Items whose values are compressed.
    Compressed = 0xd2,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        let all = [
            Self::Head,
            Self::Known,
            Self::Items,
            Self::Tail,
            Self::KeysWithoutSize,
            Self::Evicted,
            Self::BareHistory,
            Self::Libraries,
            Self::Keys,
            Self::History,
            Self::Gain,
            Self::Dictionary,
            Self::Compressed,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The reason why a file is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("it is not a warm-restart file")]
    Foreign,
    #[error("it has version {0}, but this program reads version {VERSION}")]
    Version(u32),
    #[error("it ends too early")]
    Short,
    #[error("block {0} is damaged")]
    Damaged(u64),
}

/// Writes blocks.
#[derive(Debug)]
pub(crate) struct Writer {
    file: File,
    pub(crate) bytes: u64,
}

fn checksum(length: [u8; 8], kind: u8, payload: &[u8]) -> [u8; 4] {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&length);
    crc.update(&[kind]);
    crc.update(payload);
    crc.finalize().to_le_bytes()
}

/// Encodes one value.
pub(crate) fn encode(value: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(io::Error::other)
}

impl Writer {
    /// Begins to write to an empty file.
    pub(crate) fn to(mut file: File) -> io::Result<Self> {
        file.write_all(&[MAGIC.as_slice(), &VERSION.to_le_bytes()].concat())?;
        Ok(Self { file, bytes: 12 })
    }

    /// Adds a block.
    pub(crate) fn block(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        let length = (payload.len() as u64).to_le_bytes();
        let crc = checksum(length, kind as u8, payload);
        self.file.write_all(&[length.as_slice(), &[kind as u8], &crc].concat())?;
        self.file.write_all(payload)?;
        self.bytes += (FRAME + payload.len()) as u64;
        Ok(())
    }

    /// Waits until the blocks so far are on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Flips a bit behind `offset`, or cuts the file there for `u64::MAX`.
    #[cfg(test)]
    pub(crate) fn harm(&self, offset: u64, bit: u64) {
        use std::os::unix::fs::FileExt;
        if bit == u64::MAX {
            return self.file.set_len(offset).unwrap();
        }
        let mut byte = [0];
        self.file.read_exact_at(&mut byte, offset + bit / 8).unwrap();
        byte[0] ^= 1 << (bit % 8);
        self.file.write_all_at(&byte, offset + bit / 8).unwrap();
    }

    /// Reads the payload of the block that begins at `offset`. The file must be open for reading.
    pub(crate) fn read_at(&self, number: u64, offset: u64) -> Result<Vec<u8>, Broken> {
        use std::os::unix::fs::FileExt;
        let mut frame = [0; FRAME];
        self.file.read_exact_at(&mut frame, offset)?;
        let (length, rest) = frame.split_first_chunk::<8>().ok_or(Broken::Damaged(number))?;
        let size = u64::from_le_bytes(*length);
        // This check comes before the allocation, because the length itself may be damaged.
        if size > self.bytes.saturating_sub(offset + FRAME as u64) {
            return Err(Broken::Damaged(number));
        }
        let mut payload = vec![0; size as usize];
        self.file.read_exact_at(&mut payload, offset + FRAME as u64)?;
        if checksum(*length, rest[0], &payload) != rest[1..] {
            return Err(Broken::Damaged(number));
        }
        Ok(payload)
    }
}

/// Reads blocks.
#[derive(Debug)]
pub(crate) struct Reader {
    file: File,
    /// The bytes that follow.
    left: u64,
    blocks: u64,
    buffer: Vec<u8>,
}

impl Reader {
    /// Reads `file` from its beginning.
    pub(crate) fn new(mut file: File) -> Result<Self, Broken> {
        let left = file.metadata()?.len();
        file.seek(SeekFrom::Start(0))?;
        if left < 12 {
            return Err(Broken::Short);
        }
        let mut begin = [0; 12];
        file.read_exact(&mut begin)?;
        if begin[..8] != *MAGIC {
            return Err(Broken::Foreign);
        }
        let version = u32::from_le_bytes([begin[8], begin[9], begin[10], begin[11]]);
        if version != VERSION {
            return Err(Broken::Version(version));
        }
        Ok(Self { file, left: left - 12, blocks: 0, buffer: vec![] })
    }

    /// Reads the same file from its beginning.
    pub(crate) fn again(self) -> Result<Self, Broken> {
        Self::new(self.file)
    }

    /// The next block. A damaged dictionary is an empty one: only its own items are lost.
    pub(crate) fn next(&mut self) -> Result<(Kind, &[u8]), Broken> {
        self.blocks += 1;
        let damaged = || Broken::Damaged(self.blocks);
        if self.left < FRAME as u64 {
            return Err(Broken::Short);
        }
        let mut frame = [0; FRAME];
        self.file.read_exact(&mut frame)?;
        self.left -= FRAME as u64;
        let (length, rest) = frame.split_first_chunk::<8>().ok_or_else(damaged)?;
        let (kind, crc) = (rest[0], &rest[1..]);
        let size = u64::from_le_bytes(*length);
        // This check comes before the allocation, because the length itself may be damaged.
        if size > self.left {
            return Err(Broken::Short);
        }
        self.buffer.resize(size as usize, 0);
        self.file.read_exact(&mut self.buffer)?;
        self.left -= size;
        if checksum(*length, kind, &self.buffer) != crc {
            if kind == Kind::Dictionary as u8 {
                return Ok((Kind::Dictionary, &[]));
            }
            return Err(damaged());
        }
        let kind = Kind::of(kind).ok_or_else(damaged)?;
        if kind == Kind::Tail && self.left > 0 {
            return Err(damaged());
        }
        Ok((kind, &self.buffer))
    }

    /// The next block, if it has this kind and holds one value.
    pub(crate) fn value<T: DeserializeOwned>(&mut self, wanted: Kind) -> Result<T, Broken> {
        let at = self.blocks + 1;
        let (kind, payload) = self.next()?;
        let value = (kind == wanted).then(|| postcard::from_bytes(payload).ok()).flatten();
        value.ok_or(Broken::Damaged(at))
    }

    /// Reads the rest of the file, and checks only its checksums and its tail.
    pub(crate) fn check(&mut self) -> Result<(), Broken> {
        while self.next()?.0 != Kind::Tail {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn written(folder: &Path) -> Vec<u8> {
        let path = folder.join("file");
        let mut writer = Writer::to(files::create(&path).unwrap()).unwrap();
        writer.block(Kind::Head, &encode(&7u64).unwrap()).unwrap();
        writer.block(Kind::Items, &[b'x'; 100]).unwrap();
        writer.block(Kind::Tail, &[]).unwrap();
        let bytes = writer.bytes;
        let all = std::fs::read(path).unwrap();
        assert_eq!(all.len() as u64, bytes);
        all
    }

    fn check(folder: &Path, bytes: &[u8]) -> Result<(), Broken> {
        let path = folder.join("changed");
        std::fs::write(&path, bytes).unwrap();
        Reader::new(File::open(path).unwrap())?.check()
    }

    /// Any wrong bit, and any missing or extra byte, is detected.
    #[test]
    fn nothing_but_the_whole_is_believed() {
        let folder = tempfile::tempdir().unwrap();
        let all = written(folder.path());
        check(folder.path(), &all).unwrap();
        for len in 0..all.len() {
            assert!(check(folder.path(), &all[..len]).is_err(), "{len} bytes");
        }
        assert!(check(folder.path(), &[&all[..], b"x"].concat()).is_err());
        for bit in 0..all.len() * 8 {
            let mut changed = all.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(check(folder.path(), &changed).is_err(), "bit {bit}");
        }
        let mut next = all.clone();
        next[8] = VERSION as u8 + 1;
        let error = check(folder.path(), &next).unwrap_err().to_string();
        let (other, own) = (VERSION + 1, VERSION);
        assert_eq!(error, format!("it has version {other}, but this program reads version {own}"));
    }

    #[test]
    fn values_come_back() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path());
        let mut reader = Reader::new(File::open(folder.path().join("file")).unwrap()).unwrap();
        assert_eq!(reader.value::<u64>(Kind::Head).unwrap(), 7);
        assert!(reader.value::<u64>(Kind::Head).is_err(), "another kind");
        assert_eq!(reader.again().unwrap().value::<u64>(Kind::Head).unwrap(), 7);
    }
}
