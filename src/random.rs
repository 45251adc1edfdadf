//! Numbers without a pattern for tests, the same ones in every run.
#![forbid(unsafe_code)]

/// A generator (xorshift64). The start is any number but 0.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number, of 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// One of `0..count`.
    pub fn below(&mut self, count: usize) -> usize {
        ((self.next() >> 32) % count as u64) as usize
    }
}
