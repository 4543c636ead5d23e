//! Commands in the format that a client sends.

/// Appends one command to `out`, its name first.
pub fn encode_command<A: AsRef<[u8]>>(out: &mut Vec<u8>, args: &[A]) {
    let mut digits = itoa::Buffer::new();
    let mut head = |out: &mut Vec<u8>, kind: u8, value: usize| {
        out.push(kind);
        out.extend_from_slice(digits.format(value).as_bytes());
        out.extend_from_slice(b"\r\n");
    };
    head(out, b'*', args.len());
    for arg in args {
        let arg = arg.as_ref();
        head(out, b'$', arg.len());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_an_array_of_bulk_strings() {
        let mut out = vec![];
        encode_command(&mut out, &["SET", "key", ""]);
        assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n");
    }
}
