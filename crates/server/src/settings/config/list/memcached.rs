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
        "The TCP port where memcached's text and meta protocol is spoken, over the same data; \
         0 for none."
    ),
    word!(
        "memcached-item-size-max",
        Always,
        memcached_item_max,
        "Bytes in a value that a client of memcached's protocol stores (memcached's -I)."
    ),
    word!(
        "memcached-auth-file",
        Start,
        memcached_auth_file,
        "A file of lines user:password. With it, or with requirepass, a client of memcached's \
         protocol must first send: set KEY 0 0 LENGTH, and as the value USER PASSWORD."
    ),
    Directive::new(
        "memcached-bind",
        Start,
        "Where memcached's protocol is spoken, as [notls:]ADDRESS[:PORT]; without it, at the \
         memcached-port of every address of bind (memcached's -l).",
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
        "Whether a client of memcached's protocol may watch others (memcached's -W forbids \
         it)."
    ),
    word!(
        "memcached-cas",
        Start,
        memcached_cas,
        "Whether values have numbers for clients of memcached's protocol to compare \
         (memcached's -C switches them off)."
    ),
    Directive::new(
        "memcached-delimiter",
        Start,
        "The byte that ends the prefix of a key in memcached's stats detail, which is then \
         counted from the start; empty for a colon, once stats detail on asks for it \
         (memcached's -D).",
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
        "Whether the memcached-port speaks TLS, with the same files."
    ),
    word!(
        "memcached-unixsocket",
        Start,
        memcached_unixsocket,
        "Path of a Unix socket where memcached's protocol is spoken."
    ),
];
