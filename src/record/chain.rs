//! The chain: every line carries a hash over the hash of the line before and itself.
//!
//! A line ends in `,"line":N,"hash":"H"}`, where H is the BLAKE3 hash, in 64 hexadecimal digits, of the hash of the line
//! before (nothing before the first) followed by all bytes of this line before `,"hash"`.

use super::{Line, RecordError};

/// What stands between a line's content and its hash.
const SEAM: &[u8] = b",\"hash\":\"";
/// Digits of a hash.
pub const DIGITS: usize = 64;

/// The end of a record that is being written or read: how many lines it has, and the hash of the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Lines so far.
    pub lines: u64,
    /// The last one's hash; empty before the first.
    pub hash: String,
}

impl Head {
    /// The bytes of the next line, its line break included; the head becomes that line.
    ///
    /// # Errors
    /// [`RecordError::Encode`].
    pub fn seal(&mut self, line: &Line) -> Result<Vec<u8>, RecordError> {
        let mut bytes = serde_json::to_vec(line)?;
        self.lines += 1;
        bytes.pop(); // the closing brace
        bytes.extend_from_slice(format!(",\"line\":{}", self.lines).as_bytes());
        self.hash = hash(&self.hash, &bytes);
        bytes.extend_from_slice(SEAM);
        bytes.extend_from_slice(self.hash.as_bytes());
        bytes.extend_from_slice(b"\"}\n");
        Ok(bytes)
    }
}

/// A line taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed<'a> {
    body: &'a [u8],
    /// The number that it gives itself.
    pub line: u64,
    /// The hash that it carries.
    pub hash: &'a str,
}

impl<'a> Sealed<'a> {
    /// Takes a line without its line break apart; none when it has no such end.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (rest, end) = bytes.split_at_checked(bytes.len().checked_sub(DIGITS + 2)?)?;
        let hash = std::str::from_utf8(end.strip_suffix(b"\"}")?).ok()?;
        let body = rest.strip_suffix(SEAM)?;
        let digits = body.iter().rev().take_while(|byte| byte.is_ascii_digit());
        let (front, number) = body.split_at(body.len() - digits.count());
        front.strip_suffix(b",\"line\":")?;
        let line = std::str::from_utf8(number).ok()?.parse().ok()?;
        let is_hash = hash
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_hash.then_some(Self { body, line, hash })
    }

    /// The hash that the line should carry if `before` is the one of the line before.
    #[must_use]
    pub fn expected(&self, before: &str) -> String {
        hash(before, self.body)
    }
}

fn hash(before: &str, body: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before.as_bytes());
    hasher.update(body);
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Note, samples};

    fn note(text: &str) -> Line {
        Line::Note(Note {
            time: samples::header().time,
            text: text.into(),
        })
    }

    #[test]
    fn a_sealed_line_is_json_with_its_number_and_hash_at_the_end() {
        let mut head = Head::default();
        head.seal(&note("one")).unwrap();
        let before = head.hash.clone();
        let bytes = head.seal(&note("two \"line\":7,")).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(
            (&value["line"], &value["hash"]),
            (&2.into(), &head.hash.as_str().into())
        );
        let sealed = Sealed::parse(bytes.strip_suffix(b"\n").unwrap()).unwrap();
        assert_eq!((sealed.line, sealed.hash), (2, head.hash.as_str()));
        assert_eq!(sealed.expected(&before), head.hash);
        assert_ne!(sealed.expected(""), head.hash);
    }

    /// The hash is the one that other programs compute: `printf %s … | b3sum`.
    #[test]
    fn the_hash_is_blake3() {
        let abc = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
        assert_eq!(hash("a", b"bc"), abc);
    }

    #[test]
    fn other_ends_are_none() {
        let mut head = Head::default();
        let bytes = head.seal(&note("one")).unwrap();
        let line = bytes.strip_suffix(b"\n").unwrap();
        assert!(Sealed::parse(line).is_some());
        for cut in 0..line.len() {
            assert_eq!(Sealed::parse(&line[..cut]), None);
        }
        assert_eq!(Sealed::parse(&line.to_ascii_uppercase()), None);
    }
}
