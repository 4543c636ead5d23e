//! Properties of both parsers that hold for any bytes. The parsers never panic, never read beyond
//! the input, and keep their limits. They find the same requests however the bytes are cut into
//! pieces.
//!
//! The fuzz targets (`fuzz/`) and the test beside this file both call these checks.

use ::wire::resp::{self, Reply, encode_command};
use ::wire::{memcached, memcached::Data};

/// Most bytes in an argument or a value.
const MAX: u64 = 4_096;
/// Most requests read from one input.
const REQUESTS_MAX: usize = 4_000;

/// The requests found in bytes that arrive in two pieces, and the error that ended the search.
type Found = (Vec<Vec<Vec<u8>>>, Option<String>);

/// Takes from the front of an input the position of the cut, and whether the client still has to
/// authenticate.
fn drawn(input: &[u8]) -> Option<(&[u8], usize, bool)> {
    let (&[first, second, flags], bytes) = input.split_first_chunk::<3>()?;
    let cut = usize::from(u16::from_le_bytes([first, second])) % (bytes.len() + 1);
    Some((bytes, cut, flags & 1 == 1))
}

/// Redis's protocol: commands, and replies as a client decodes them.
pub fn resp(input: &[u8]) {
    let Some((bytes, cut, stranger)) = drawn(input) else { return };
    let limits = resp::Limits { bulk_max: MAX, stranger };
    let whole = commands(bytes, bytes.len(), &limits);
    assert_eq!(whole, commands(bytes, cut, &limits), "cut at {cut}");
    for args in whole.0.iter().filter(|args| !args.is_empty() && !stranger) {
        let mut again = vec![];
        encode_command(&mut again, args);
        let found = commands(&again, again.len(), &limits);
        assert_eq!(found, (vec![args.clone()], None), "what was read is written and read again");
    }
    let mut rest = bytes;
    while let Ok(Some((_, consumed))) = Reply::decode(rest) {
        assert!(consumed > 0 && consumed <= rest.len());
        rest = &rest[consumed..];
    }
}

fn commands(bytes: &[u8], cut: usize, limits: &resp::Limits) -> Found {
    let (mut decoder, mut buffer, mut found) = (resp::Decoder::default(), vec![], vec![]);
    for piece in [&bytes[..cut], &bytes[cut..]] {
        buffer.extend_from_slice(piece);
        while found.len() < REQUESTS_MAX {
            let consumed = match decoder.decode(&buffer, limits) {
                Ok(None) => break,
                Err(error) => return (found, Some(error.to_string())),
                Ok(Some(command)) => {
                    let args: Vec<_> = command.iter_from(0).map(<[u8]>::to_vec).collect();
                    assert_eq!(args.len(), command.len());
                    assert!(command.consumed > 0 && command.consumed <= buffer.len());
                    found.push(args);
                    command.consumed
                }
            };
            buffer.drain(..consumed);
        }
        let room = decoder.wanted();
        assert!(room <= buffer.len() + MAX as usize + 2, "room for {room} bytes is asked for");
        decoder.shrink();
    }
    (found, None)
}

/// memcached's text and meta protocols.
pub fn memcached(input: &[u8]) {
    let Some((bytes, cut, stranger)) = drawn(input) else { return };
    let limits = memcached::Limits { data_max: MAX, stranger };
    let whole = requests(bytes, bytes.len(), &limits);
    assert_eq!(whole, requests(bytes, cut, &limits), "cut at {cut}");
    for words in whole.0.iter().filter_map(|words| words.get(1)) {
        if let Some(key) = memcached::decode_key(words) {
            let mut again = vec![];
            memcached::encode_key(&mut again, &key);
            assert_eq!(memcached::decode_key(&again), Some(key));
        }
    }
}

fn requests(bytes: &[u8], cut: usize, limits: &memcached::Limits) -> Found {
    let (mut decoder, mut buffer, mut found) = (memcached::Decoder::default(), vec![], vec![]);
    for piece in [&bytes[..cut], &bytes[cut..]] {
        buffer.extend_from_slice(piece);
        while found.len() < REQUESTS_MAX {
            let consumed = match decoder.decode(&buffer, limits) {
                Ok(None) => break,
                Err(error) => return (found, Some(format!("{error:?}"))),
                Ok(Some(request)) => {
                    let mut words: Vec<_> = request.iter_from(0).map(<[u8]>::to_vec).collect();
                    assert!(request.consumed > 0 && request.consumed <= buffer.len());
                    match request.data {
                        Data::Block(data) => {
                            assert!(data.len() as u64 <= MAX);
                            words.push(data.to_vec());
                        }
                        ref other => words.push(format!("{other:?}").into_bytes()),
                    }
                    // A request that only skips the bytes of a refused value does not count.
                    if !request.is_empty() {
                        found.push(words);
                    }
                    request.consumed
                }
            };
            buffer.drain(..consumed);
        }
        let room = decoder.wanted();
        assert!(room <= buffer.len() + MAX as usize + 2, "room for {room} bytes is asked for");
        decoder.shrink();
    }
    (found, None)
}
