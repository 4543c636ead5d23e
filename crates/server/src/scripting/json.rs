//! Reads JSON into Lua values. `cjson.rs` writes JSON.
//!
//! Errors name the unexpected token and its character position, as lua-cjson does.

use super::failing::Oops;
use super::json_settings::{DEPTH_MAX, JsonSettings};
use super::look::Work;
use mlua::{Lua, Value};
use std::borrow::Cow;

/// Reads a text that consists of one value.
pub(super) fn decode(lua: &Lua, text: &[u8], settings: &JsonSettings) -> Result<Value, Oops> {
    if text.len() >= 2 && (text[0] == 0 || text[1] == 0) {
        return Err("JSON parser does not support UTF-16 or UTF-32".into());
    }
    let work = Work::new(lua);
    let mut reader = Reader { lua, text, at: 0, settings, depth: 0, work };
    let token = reader.next();
    let value = reader.value(token)?;
    match reader.next() {
        (Token::End, _) => Ok(value),
        other => Err(Reader::expected("the end", &other)),
    }
}

#[derive(Debug, PartialEq)]
enum Token<'a> {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String(Cow<'a, [u8]>),
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Wrong(&'static str),
}

impl Token<'_> {
    const fn name(&self) -> &'static str {
        match self {
            Self::ObjectBegin => "T_OBJ_BEGIN",
            Self::ObjectEnd => "T_OBJ_END",
            Self::ArrayBegin => "T_ARR_BEGIN",
            Self::ArrayEnd => "T_ARR_END",
            Self::String(_) => "T_STRING",
            Self::Number(_) => "T_NUMBER",
            Self::Boolean(_) => "T_BOOLEAN",
            Self::Null => "T_NULL",
            Self::Colon => "T_COLON",
            Self::Comma => "T_COMMA",
            Self::End => "T_END",
            Self::Wrong(why) => why,
        }
    }
}

/// A token, and the place where it begins.
type Placed<'a> = (Token<'a>, usize);

struct Reader<'a> {
    lua: &'a Lua,
    text: &'a [u8],
    at: usize,
    settings: &'a JsonSettings,
    depth: i64,
    work: Work<'a>,
}

impl<'a> Reader<'a> {
    fn expected(wanted: &str, (found, at): &Placed<'_>) -> Oops {
        let (found, at) = (found.name(), at + 1);
        format!("Expected {wanted} but found {found} at character {at}").into()
    }

    fn deeper(&mut self) -> Result<(), Oops> {
        self.depth += 1;
        if self.depth <= self.settings.decode_depth.min(DEPTH_MAX) {
            return Ok(());
        }
        let (depth, at) = (self.depth, self.at);
        Err(format!("Found too many nested data structures ({depth}) at character {at}").into())
    }

    fn value(&mut self, token: Placed<'a>) -> Result<Value, Oops> {
        self.work.step(16)?;
        Ok(match token.0 {
            Token::String(bytes) => Value::String(self.string_of(&bytes)?),
            Token::Number(number) => Value::Number(number),
            Token::Boolean(on) => Value::Boolean(on),
            Token::Null => Value::NULL,
            Token::ObjectBegin => self.object()?,
            Token::ArrayBegin => self.array()?,
            _ => return Err(Self::expected("value", &token)),
        })
    }

    /// A Lua string with these bytes. It counts the steps that copying them takes.
    fn string_of(&mut self, bytes: &[u8]) -> Result<mlua::String, Oops> {
        self.work.step(bytes.len() / 16)?;
        Ok(self.lua.create_string(bytes)?)
    }

    fn object(&mut self) -> Result<Value, Oops> {
        self.deeper()?;
        let table = self.lua.create_table()?;
        let mut token = self.next();
        if token.0 == Token::ObjectEnd {
            self.depth -= 1;
            return Ok(Value::Table(table));
        }
        loop {
            let (Token::String(key), _) = token else {
                return Err(Self::expected("object key string", &token));
            };
            match self.next() {
                (Token::Colon, _) => {}
                other => return Err(Self::expected("colon", &other)),
            }
            token = self.next();
            let value = self.value(token)?;
            table.raw_set(self.string_of(&key)?, value)?;
            match self.next() {
                (Token::ObjectEnd, _) => break,
                (Token::Comma, _) => {}
                other => return Err(Self::expected("comma or object end", &other)),
            }
            token = self.next();
        }
        self.depth -= 1;
        Ok(Value::Table(table))
    }

    fn array(&mut self) -> Result<Value, Oops> {
        self.deeper()?;
        let table = self.lua.create_table()?;
        let mut token = self.next();
        if token.0 == Token::ArrayEnd {
            self.depth -= 1;
            return Ok(Value::Table(table));
        }
        for at in 1.. {
            let value = self.value(token)?;
            table.raw_set(at, value)?;
            match self.next() {
                (Token::ArrayEnd, _) => break,
                (Token::Comma, _) => {}
                other => return Err(Self::expected("comma or array end", &other)),
            }
            token = self.next();
        }
        self.depth -= 1;
        Ok(Value::Table(table))
    }

    fn next(&mut self) -> Placed<'a> {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        let start = self.at;
        let Some(&byte) = self.text.get(start) else {
            return (Token::End, start);
        };
        self.at += 1;
        let token = match byte {
            b'{' => Token::ObjectBegin,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayBegin,
            b']' => Token::ArrayEnd,
            b':' => Token::Colon,
            b',' => Token::Comma,
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(start),
            b'+' if self.settings.decode_invalid => self.number(start),
            b'n' if self.follows("ull") => Token::Null,
            b'n' | b'N' | b'i' | b'I' => self.odd_number(start),
            b't' if self.follows("rue") => Token::Boolean(true),
            b'f' if self.follows("alse") => Token::Boolean(false),
            _ => Token::Wrong("invalid token"),
        };
        let at = if matches!(token, Token::Wrong("invalid token" | "invalid number")) {
            start
        } else if matches!(token, Token::Wrong(_)) {
            self.at
        } else {
            start
        };
        (token, at)
    }

    fn follows(&mut self, word: &str) -> bool {
        let follows = self.text[self.at..].starts_with(word.as_bytes());
        if follows {
            self.at += word.len();
        }
        follows
    }

    /// Reads numbers that JSON does not have, if the settings allow it.
    fn odd_number(&mut self, start: usize) -> Token<'a> {
        if !self.settings.decode_invalid {
            return Token::Wrong("invalid token");
        }
        self.at = start;
        self.infinite().map_or(Token::Wrong("invalid token"), Token::Number)
    }

    /// Reads `inf`, `infinity` or `nan`, in any case.
    fn infinite(&mut self) -> Option<f64> {
        for (word, value) in
            [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)]
        {
            let found = self.text.get(self.at..self.at + word.len());
            if found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes())) {
                self.at += word.len();
                return Some(value);
            }
        }
        None
    }

    fn number(&mut self, start: usize) -> Token<'a> {
        let negative = self.text[start] == b'-';
        let digits = start + usize::from(matches!(self.text[start], b'-' | b'+'));
        let is_hexadecimal = matches!(self.text.get(digits..), Some([b'0', b'x' | b'X', ..]));
        let has_zero = matches!(self.text.get(digits..), Some([b'0', b'0'..=b'9', ..]));
        if (is_hexadecimal || has_zero) && !self.settings.decode_invalid {
            return Token::Wrong("invalid number");
        }
        self.at = digits;
        if is_hexadecimal {
            let value = self.hexadecimal(digits + 2);
            return Token::Number(if negative { -value } else { value });
        }
        if self.settings.decode_invalid
            && let Some(value) = self.infinite()
        {
            return Token::Number(if negative { -value } else { value });
        }
        let mut end = digits;
        let skip = |end: &mut usize| {
            let from = *end;
            while self.text.get(*end).is_some_and(u8::is_ascii_digit) {
                *end += 1;
            }
            *end > from
        };
        let mut has_digits = skip(&mut end);
        if self.text.get(end) == Some(&b'.') {
            end += 1;
            has_digits |= skip(&mut end);
        }
        if !has_digits {
            return Token::Wrong("invalid number");
        }
        if matches!(self.text.get(end), Some(b'e' | b'E')) {
            let mut behind = end + 1;
            if matches!(self.text.get(behind), Some(b'+' | b'-')) {
                behind += 1;
            }
            if skip(&mut behind) {
                end = behind;
            }
        }
        self.at = end;
        let text = std::str::from_utf8(&self.text[start..end]).unwrap_or_default();
        text.parse().map_or(Token::Wrong("invalid number"), Token::Number)
    }

    /// Reads hexadecimal digits with a point and a power of two; `0` alone if there are none.
    fn hexadecimal(&mut self, from: usize) -> f64 {
        let (mut value, mut at, mut scale, mut count) = (0.0, from, 0, 0);
        let mut is_behind = false;
        while let Some(&byte) = self.text.get(at) {
            match char::from(byte).to_digit(16) {
                Some(digit) => {
                    value = value * 16.0 + f64::from(digit);
                    count += 1;
                    scale -= 4 * i32::from(is_behind);
                }
                None if byte == b'.' && !is_behind => is_behind = true,
                None => break,
            }
            at += 1;
        }
        if count == 0 {
            self.at = from - 1;
            return 0.0;
        }
        if matches!(self.text.get(at), Some(b'p' | b'P')) {
            let sign = self.text.get(at + 1).filter(|sign| matches!(sign, b'+' | b'-'));
            let first = at + 1 + usize::from(sign.is_some());
            let digits = self.text[first.min(self.text.len())..].iter();
            let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
            if digits > 0 {
                let text = std::str::from_utf8(&self.text[at + 1..first + digits]);
                let power: i32 = text.ok().and_then(|text| text.parse().ok()).unwrap_or(0);
                scale = scale.saturating_add(power);
                at = first + digits;
            }
        }
        self.at = at;
        value * f64::from(scale).exp2()
    }

    /// Reads a string. Its bytes are those of the text, unless an escape occurs.
    fn string(&mut self) -> Token<'a> {
        let rest = &self.text[self.at..];
        let plain = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        self.at += plain;
        if rest.get(plain) == Some(&b'"') {
            self.at += 1;
            return Token::String(Cow::Borrowed(&rest[..plain]));
        }
        let mut bytes = rest[..plain].to_vec();
        loop {
            let Some(&byte) = self.text.get(self.at) else {
                return Token::Wrong("unexpected end of string");
            };
            self.at += 1;
            match byte {
                b'"' => return Token::String(Cow::Owned(bytes)),
                b'\\' => {
                    let Some(&code) = self.text.get(self.at) else {
                        return Token::Wrong("invalid escape code");
                    };
                    let plain = match code {
                        b'"' | b'\\' | b'/' => code,
                        b'b' => 0x08,
                        b'f' => 0x0c,
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'u' => {
                            let Some(letter) = self.unicode() else {
                                self.at -= 1;
                                return Token::Wrong("invalid unicode escape code");
                            };
                            let mut room = [0; 4];
                            bytes.extend_from_slice(letter.encode_utf8(&mut room).as_bytes());
                            continue;
                        }
                        _ => {
                            self.at -= 1;
                            return Token::Wrong("invalid escape code");
                        }
                    };
                    self.at += 1;
                    bytes.push(plain);
                }
                _ => bytes.push(byte),
            }
        }
    }

    /// Reads the character of `\uXXXX`, or of a surrogate pair.
    fn unicode(&mut self) -> Option<char> {
        let code = |at: usize| {
            let digits = self.text.get(at..at + 4)?;
            let digits = std::str::from_utf8(digits).ok()?;
            digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
            u32::from_str_radix(digits, 16).ok()
        };
        let first = code(self.at + 1)?;
        if !(0xd800..0xe000).contains(&first) {
            self.at += 5;
            return char::from_u32(first);
        }
        if first >= 0xdc00 || self.text.get(self.at + 5..self.at + 7)? != b"\\u" {
            return None;
        }
        let second = code(self.at + 7)?;
        (0xdc00..0xe000).contains(&second).then_some(())?;
        self.at += 11;
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }
}
