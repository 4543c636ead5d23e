//! Serialized sessions, made from a number: PHP's form, JSON, and Python's pickle.
//!
//! A session has what web frameworks store: who is logged in, a token, preferences, the pages seen
//! last and a cart. Names of fields and most words recur from session to session; numbers, tokens
//! and times do not.

use super::values::Random;
use std::fmt::Write as _;

/// Words of names, titles and paths.
const WORDS: [&str; 32] = [
    "amber", "basket", "copper", "delta", "ember", "falcon", "garden", "harbor", "indigo",
    "juniper", "kettle", "lantern", "meadow", "nectar", "orchid", "pepper", "quartz", "ribbon",
    "saddle", "timber", "umbra", "velvet", "willow", "yarrow", "zephyr", "anchor", "bridge",
    "canyon", "desert", "forest", "island", "valley",
];
const LOCALES: [&str; 6] = ["en_US", "en_GB", "de_DE", "fr_FR", "ja_JP", "pt_BR"];
/// Most pages seen and most things in a cart.
const PAGES: u64 = 12;
const CART: u64 = 8;

/// A field's value.
enum Value {
    Number(u64),
    Text(String),
    /// Fields, or a list if the names are numbers.
    Fields(Vec<(String, Value)>),
}

fn word(random: &mut Random) -> &'static str {
    WORDS[(random.next() % WORDS.len() as u64) as usize]
}

fn list(values: impl Iterator<Item = Value>) -> Value {
    Value::Fields(values.enumerate().map(|(at, value)| (at.to_string(), value)).collect())
}

fn fields<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Fields(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The contents of a session.
fn contents(random: &mut Random) -> Value {
    let (first, last) = (word(random), word(random));
    let id = random.next() % 10_000_000;
    let began = 1_700_000_000 + random.next() % 10_000_000;
    let locale = LOCALES[(random.next() % LOCALES.len() as u64) as usize];
    let (pages, things) = (random.next() % PAGES, random.next() % CART);
    let page = |random: &mut Random| {
        let path = format!("/{}/{}/{}", word(random), word(random), random.next() % 100_000);
        let when = Value::Number(began + random.next() % 3_600);
        fields([("path", Value::Text(path)), ("seen_at", when)])
    };
    let thing = |random: &mut Random| {
        let title = format!("{} {} {}", word(random), word(random), word(random));
        fields([
            ("product_id", Value::Number(random.next() % 1_000_000)),
            ("title", Value::Text(title)),
            ("quantity", Value::Number(1 + random.next() % 4)),
            ("unit_price", Value::Number(random.next() % 20_000)),
        ])
    };
    fields([
        ("_token", Value::Text(format!("{:016x}{:016x}", random.next(), random.next()))),
        ("user_id", Value::Number(id)),
        ("user_name", Value::Text(format!("{first} {last}"))),
        ("email", Value::Text(format!("{first}.{last}{}@example.com", id % 100))),
        ("locale", Value::Text(locale.to_owned())),
        ("logged_in_at", Value::Number(began)),
        ("is_admin", Value::Number(u64::from(id.is_multiple_of(50)))),
        ("last_pages", list((0..pages).map(|_| page(random)))),
        ("cart", list((0..things).map(|_| thing(random)))),
        ("flash", fields([("new", list([].into_iter())), ("old", list([].into_iter()))])),
    ])
}

/// PHP's `serialize`.
fn php(value: &Value, into: &mut String) {
    // Writing to a String does not fail.
    let _ = match value {
        Value::Number(number) => write!(into, "i:{number};"),
        Value::Text(text) => write!(into, "s:{}:\"{text}\";", text.len()),
        Value::Fields(fields) => {
            let _ = write!(into, "a:{}:{{", fields.len());
            for (name, value) in fields {
                php(&name.parse().map_or(Value::Text(name.clone()), Value::Number), into);
                php(value, into);
            }
            into.write_str("}")
        }
    };
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Number(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
        Value::Fields(fields) => {
            fields.iter().map(|(name, value)| (&**name, json(value))).collect()
        }
    }
}

/// Pickle, protocol 4, without its memo.
fn pickle(value: &Value, into: &mut Vec<u8>) {
    match value {
        Value::Number(number) => {
            into.push(b'J');
            into.extend_from_slice(&(*number as u32).to_le_bytes());
        }
        Value::Text(text) => {
            into.extend_from_slice(&[0x8c, text.len() as u8]);
            into.extend_from_slice(text.as_bytes());
        }
        Value::Fields(fields) => {
            into.extend_from_slice(b"}(");
            for (name, value) in fields {
                pickle(&Value::Text(name.clone()), into);
                pickle(value, into);
            }
            into.push(b'u');
        }
    }
}

/// The session of a number: in PHP's form, JSON or pickle by turns.
pub(crate) fn session(number: u64) -> Vec<u8> {
    let contents = contents(&mut Random(number));
    match number % 3 {
        0 => {
            let mut text = String::new();
            php(&contents, &mut text);
            text.into_bytes()
        }
        1 => json(&contents).to_string().into_bytes(),
        _ => {
            let mut bytes = vec![0x80, 4];
            pickle(&contents, &mut bytes);
            bytes.push(b'.');
            bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_serialized_and_differ() {
        let text = |number| String::from_utf8(session(number)).unwrap();
        assert!(text(0).starts_with("a:10:{s:6:\"_token\";s:32:\""), "{}", text(0));
        let parsed: serde_json::Value = serde_json::from_str(&text(1)).unwrap();
        assert_eq!(parsed["_token"].as_str().map(str::len), Some(32));
        assert!(session(2).starts_with(b"\x80\x04}(\x8c\x06_token\x8c\x20"));
        let mean = (0..300).map(|number| session(number).len()).sum::<usize>() / 300;
        assert!((500..2_000).contains(&mean), "{mean} bytes on average");
        assert!(session(3) != session(6) && session(3) == session(3));
    }
}
