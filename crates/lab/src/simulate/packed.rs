//! Requests in few bytes: each field of a chunk is a column of its own.
//!
//! ```text
//!   column   u64 least value │ u8 width │ value − least, in so many bytes, of each request
//! ```
//!
//! Most fields are the same in all requests of a chunk, or close to each other, so their columns
//! have a width of 0, 1 or 2. A request takes 8 bytes for its key and about as much again, where an
//! [`Access`] has 64. Packing or unpacking it takes as long as reading these 64 bytes from main
//! memory.

use super::annotator::Cause;
use super::chunk::Chunk;
use base::{Access, Micros, Op, Size, Tick};

/// Bytes of a column's head: the least value and the width.
const HEAD: usize = 9;

const OPS: [Op; 3] = [Op::Get, Op::Set, Op::Delete];

/// The operation in two bits, the cause above them.
const fn tag(op: Op, cause: Option<Cause>) -> u64 {
    let cause = match cause {
        None => 0,
        Some(cause) => cause as u64 + 1,
    };
    op as u64 | cause << 2
}

/// Appends the requests of a chunk.
pub(super) fn pack(chunk: &Chunk, to: &mut Vec<u8>) {
    let accesses = chunk.accesses.iter();
    put(accesses.clone().map(|access| access.key), to);
    put(accesses.clone().map(|access| access.time.0), to);
    put(accesses.clone().zip(&chunk.causes).map(|(access, &cause)| tag(access.op, cause)), to);
    put(accesses.clone().map(|access| access.value_size), to);
    put(accesses.clone().map(|access| access.size.get().wrapping_sub(access.value_size)), to);
    put(accesses.clone().map(|access| u64::from(access.key_size)), to);
    put(accesses.clone().map(|access| u64::from(access.tenant)), to);
    put(accesses.clone().map(|access| access.ttl.0), to);
    put(accesses.clone().map(|access| access.penalty.0), to);
    // The tick that means never wraps around to 0.
    put(accesses.map(|access| access.next.0.wrapping_add(1)), to);
}

/// Fills a chunk with this many packed requests.
pub(super) fn unpack(mut bytes: &[u8], requests: usize, chunk: &mut Chunk) {
    let Chunk { accesses, causes } = chunk;
    accesses.resize(requests, Access::get(0, 0));
    causes.resize(requests, None);
    let from = &mut bytes;
    take(from, accesses.iter_mut(), |access, key| access.key = key);
    take(from, accesses.iter_mut(), |access, time| access.time = Micros(time));
    take(from, accesses.iter_mut().zip(causes), |(access, cause), tag| {
        access.op = OPS[tag as usize & 3];
        *cause = (tag as usize >> 2).checked_sub(1).map(|at| Cause::ALL[at]);
    });
    take(from, accesses.iter_mut(), |access, size| access.value_size = size);
    take(from, accesses.iter_mut(), |access, more| {
        access.size = Size::of(access.value_size.wrapping_add(more));
    });
    take(from, accesses.iter_mut(), |access, size| access.key_size = size as u32);
    take(from, accesses.iter_mut(), |access, tenant| access.tenant = tenant as u16);
    take(from, accesses.iter_mut(), |access, ttl| access.ttl = Micros(ttl));
    take(from, accesses.iter_mut(), |access, penalty| access.penalty = Micros(penalty));
    take(from, accesses.iter_mut(), |access, next| access.next = Tick(next.wrapping_sub(1)));
}

fn put(values: impl ExactSizeIterator<Item = u64> + Clone, to: &mut Vec<u8>) {
    let range = |(least, most): (u64, u64), value: u64| (least.min(value), most.max(value));
    let (least, most) = values.clone().fold((u64::MAX, 0), range);
    let width = match most.saturating_sub(least) {
        0 => 0,
        span if span <= 0xff => 1,
        span if span <= 0xffff => 2,
        span if span <= 0xffff_ffff => 4,
        _ => 8,
    };
    to.extend_from_slice(&least.to_le_bytes());
    to.push(width);
    let values = values.map(|value| value - least);
    match width {
        1 => put_each::<1>(values, to),
        2 => put_each::<2>(values, to),
        4 => put_each::<4>(values, to),
        8 => put_each::<8>(values, to),
        _ => {}
    }
}

fn put_each<const WIDTH: usize>(values: impl ExactSizeIterator<Item = u64>, to: &mut Vec<u8>) {
    let start = to.len();
    to.resize(start + values.len() * WIDTH, 0);
    for (place, value) in to[start..].as_chunks_mut::<WIDTH>().0.iter_mut().zip(values) {
        place.copy_from_slice(&value.to_le_bytes()[..WIDTH]);
    }
}

fn take<T>(
    from: &mut &[u8],
    places: impl ExactSizeIterator<Item = T>,
    mut set: impl FnMut(T, u64),
) {
    let (head, rest) = from.split_at(HEAD);
    let mut least = [0; 8];
    least.copy_from_slice(&head[..8]);
    let (least, width) = (u64::from_le_bytes(least), usize::from(head[8]));
    let (column, rest) = rest.split_at(places.len() * width);
    *from = rest;
    match width {
        1 => take_each::<1, T>(column, least, places, set),
        2 => take_each::<2, T>(column, least, places, set),
        4 => take_each::<4, T>(column, least, places, set),
        8 => take_each::<8, T>(column, least, places, set),
        _ => places.for_each(|place| set(place, least)),
    }
}

fn take_each<const WIDTH: usize, T>(
    column: &[u8],
    least: u64,
    places: impl Iterator<Item = T>,
    mut set: impl FnMut(T, u64),
) {
    for (bytes, place) in column.as_chunks::<WIDTH>().0.iter().zip(places) {
        let mut value = [0; 8];
        value[..WIDTH].copy_from_slice(bytes);
        set(place, u64::from_le_bytes(value).wrapping_add(least));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn number()(bits in 0u32..65, raw in any::<u64>()) -> u64 {
            raw.checked_shr(bits).unwrap_or(0)
        }
    }

    prop_compose! {
        fn request()(
            numbers in prop::array::uniform6(number()),
            op in 0usize..3,
            cause in prop::option::of(0usize..4),
            tenant in any::<u16>(),
            key_size in any::<u32>(),
        ) -> (Access, Option<Cause>) {
            let [key, time, size, ttl, penalty, next] = numbers;
            let access = Access {
                key,
                time: Micros(time),
                op: OPS[op],
                value_size: size >> 3,
                size: Size::of(size),
                key_size,
                tenant,
                ttl: Micros(ttl),
                penalty: Micros(penalty),
                next: Tick(next),
            };
            (access, cause.map(|at| Cause::ALL[at]))
        }
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(requests in prop::collection::vec(request(), 0..40)) {
            let (accesses, causes): (Vec<_>, Vec<_>) = requests.into_iter().unzip();
            let chunk = Chunk { accesses, causes };
            let (mut bytes, mut back) = (vec![], Chunk::default());
            pack(&chunk, &mut bytes);
            unpack(&bytes, chunk.accesses.len(), &mut back);
            prop_assert_eq!(&back.causes, &chunk.causes);
            prop_assert_eq!(back.accesses, chunk.accesses);
        }
    }

    #[test]
    fn what_is_alike_takes_few_bytes() {
        let accesses: Vec<_> = (0..1000).map(|key| Access::get(key << 50, 100)).collect();
        let chunk = Chunk { causes: vec![Some(Cause::First); 1000], accesses };
        let mut bytes = vec![];
        pack(&chunk, &mut bytes);
        assert!(bytes.len() < 8 * 1000 + 10 * HEAD + 1, "{}", bytes.len());
    }
}
