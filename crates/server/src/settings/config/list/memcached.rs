//! Directives about memcached's protocol.

use super::not_empty;
use crate::settings::config::directive::When::Start;
use crate::settings::config::directive::{Directive, Shape, join, number, word};

pub(super) const ALL: &[Directive] = &[
    number!(
        "memcached-port",
        Start,
        memcached_port,
        0..=65535,
        "The TCP port for memcached's text and meta protocol, over the same data; 0 for none."
    ),
    word!(
        "memcached-item-size-max",
        Always,
        memcached_item_max,
        "Most bytes in a value from a client of memcached's protocol (memcached's -I)."
    ),
    word!(
        "memcached-auth-file",
        Start,
        memcached_auth_file,
        "Path of a file of lines user:password. With it, or with requirepass, a client of \
         memcached's protocol must first send: set KEY 0 0 LENGTH, and as the value USER PASSWORD."
    ),
    Directive::new(
        "memcached-bind",
        Start,
        "Addresses for memcached's protocol, as [notls:]ADDRESS[:PORT]; empty for the \
         memcached-port at every address of bind (memcached's -l).",
        |settings| join(&settings.memcached_bind),
        Shape::Words(|settings, words| {
            settings.memcached_bind = not_empty(words);
            Ok(())
        }),
    ),
    word!(
        "memcached-shutdown",
        Start,
        memcached_shutdown,
        "Whether a client of memcached's protocol may end the server (memcached's -A)."
    ),
    word!(
        "memcached-flush-all",
        Start,
        memcached_flush_all,
        "Whether a client of memcached's protocol may flush_all (memcached's -F forbids it)."
    ),
    word!(
        "memcached-dump",
        Start,
        memcached_dump,
        "Whether a client of memcached's protocol may list keys (memcached's -X forbids it)."
    ),
    word!(
        "memcached-watch",
        Start,
        memcached_watch,
        "Whether a client of memcached's protocol may watch other clients (memcached's -W forbids \
         it)."
    ),
    word!(
        "memcached-cas",
        Start,
        memcached_cas,
        "Whether values have cas numbers that clients of memcached's protocol can compare \
         (memcached's -C switches them off)."
    ),
    Directive::new(
        "memcached-delimiter",
        Start,
        "The byte that ends the prefix of a key in memcached's stats detail (memcached's -D). If \
         it is set, the server counts by prefix from its start. If it is empty, the byte is a \
         colon, and the server counts once a client sends stats detail on.",
        |settings| settings.memcached_delimiter.map_or_else(String::new, |b| char::from(b).into()),
        Shape::Word(|settings, word| {
            settings.memcached_delimiter = match word.as_bytes() {
                [] => None,
                [byte @ b'!'..=b'~'] => Some(*byte),
                _ => return Err("argument must be one byte".into()),
            };
            Ok(())
        }),
    ),
    word!(
        "memcached-tls",
        Start,
        memcached_tls,
        "Whether the memcached-port speaks TLS, with the files of the tls- directives."
    ),
    word!(
        "memcached-unixsocket",
        Start,
        memcached_unixsocket,
        "Path of a Unix socket for memcached's protocol."
    ),
];
