//! Strings of the system: paths, names, arguments. They are bytes, mostly UTF-8, and the record keeps them exactly.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that are mostly text. In JSON a string; where they are no UTF-8, an object `{"escaped": "caf\\xe9"}`, in whose
/// text `\xNN` stands for a byte that belongs to no character and `\\` for a backslash.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text(Vec<u8>);

impl Text {
    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As a path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// For people: bytes that belong to no character as `\xNN`, everything else as it is.
    #[must_use]
    pub fn shown(&self) -> Cow<'_, str> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(self.escaped(Backslash::Once)),
        }
    }

    /// The first bytes, at most `most`, not ending within a character.
    #[must_use]
    pub fn cut(&self, most: usize) -> Self {
        let mut end = most.min(self.0.len());
        // A character has at most three bytes that go on.
        for _ in 0..3 {
            if end < self.0.len() && end > 0 && self.0[end] & 0xC0 == 0x80 {
                end -= 1;
            }
        }
        Self(self.0[..end].to_vec())
    }

    /// As the record writes it: where it is no UTF-8, in the escaped form, which is one to one.
    #[must_use]
    pub fn written(&self) -> Written<'_> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => Written::Plain(text),
            Err(_) => Written::Escaped(self.escaped(Backslash::Twice)),
        }
    }

    fn escaped(&self, backslash: Backslash) -> String {
        let mut text = String::with_capacity(self.0.len() + 8);
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                text.push(character);
                if character == '\\' && backslash == Backslash::Twice {
                    text.push('\\');
                }
            }
            for byte in chunk.invalid() {
                // Writing to a string does not fail.
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
        text
    }

    fn unescaped(text: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            rest = after;
            if first != b'\\' {
                bytes.push(first);
                continue;
            }
            let (&kind, after) = rest.split_first()?;
            rest = after;
            match kind {
                b'\\' => bytes.push(b'\\'),
                b'x' => {
                    let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
                    bytes.push(u8::from_str_radix(digits, 16).ok()?);
                    rest = &rest[2..];
                }
                _ => return None,
            }
        }
        Some(Self(bytes))
    }
}

/// A text as the record writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written<'a> {
    /// As it is.
    Plain(&'a str),
    /// `\xNN` stands for a byte that belongs to no character, and `\\` for a backslash.
    Escaped(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Backslash {
    Once,
    Twice,
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shown(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.shown())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<&OsStr> for Text {
    fn from(text: &OsStr) -> Self {
        Self(text.as_bytes().into())
    }
}

impl From<&Path> for Text {
    fn from(path: &Path) -> Self {
        path.as_os_str().into()
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

#[derive(Serialize, Deserialize)]
struct Escaped<'a> {
    escaped: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Either<'a> {
    Plain(Cow<'a, str>),
    Escaped(Escaped<'a>),
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Escaped {
                escaped: self.escaped(Backslash::Twice).into(),
            }
            .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Either::deserialize(deserializer)? {
            Either::Plain(text) => Ok(text.as_ref().into()),
            Either::Escaped(Escaped { escaped }) => Self::unescaped(&escaped)
                .ok_or_else(|| D::Error::custom("a broken escape: only \\\\ and \\xNN are known")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(bytes: &[u8]) -> String {
        serde_json::to_string(&Text::from(bytes)).unwrap()
    }

    #[test]
    fn text_is_a_string_and_other_bytes_are_marked() {
        assert_eq!(json("a\n\"é\u{1b}\\".as_bytes()), r#""a\n\"é\u001b\\""#);
        assert_eq!(json(b"caf\xe9"), r#"{"escaped":"caf\\xe9"}"#);
        assert_eq!(json(b"\\\xff"), r#"{"escaped":"\\\\\\xff"}"#);
        assert_eq!(Text::from(&b"\\\xff"[..]).shown(), r"\\xff");
    }

    #[test]
    fn a_broken_escape_is_an_error() {
        for text in [
            r#"{"escaped":"\\x4"}"#,
            r#"{"escaped":"\\n"}"#,
            r#"{"escaped":"\\"}"#,
            "7",
        ] {
            assert!(serde_json::from_str::<Text>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn it_is_cut_between_characters() {
        assert_eq!(Text::from("aéé").cut(4), "aé");
        assert_eq!(Text::from("aéé").cut(5), "aéé");
        assert_eq!(Text::from("€").cut(2), "");
        assert_eq!(Text::from(&[0x80; 9][..]).cut(6).as_bytes().len(), 3);
    }

    proptest! {
        #[test]
        fn every_byte_comes_back(bytes: Vec<u8>) {
            let back: Text = serde_json::from_str(&json(&bytes)).unwrap();
            prop_assert_eq!(back.as_bytes(), &bytes[..]);
        }
    }
}
