//! Uses of a descriptor that may have been opened to append only.

use super::Observer;
use crate::supervise::attempt::{Action, Use};
use crate::supervise::calls::Kind;
use crate::supervise::resolve::Spot;
use crate::supervise::target::Trouble;

impl Observer<'_> {
    /// A use of a descriptor. What is wrong with it the kernel says when it is done.
    pub(super) fn loosen(&mut self, kind: Kind) -> Result<Action, Trouble> {
        let pairs = self.target.word() == 4;
        let wide = |low: usize| {
            let value = if pairs {
                self.arguments[low] & 0xFFFF_FFFF | self.arguments[low + 1] << 32
            } else {
                self.arguments[low]
            };
            value as i64
        };
        let used = match kind {
            Kind::Resize if pairs => Use::Truncate(i64::from(self.int(1))),
            Kind::Resize => Use::Truncate(self.arguments[1] as i64),
            Kind::ResizePair => Use::Truncate(wide(1)),
            Kind::Allocate if pairs => Use::Allocate(self.int(1), wide(2), wide(4)),
            Kind::Allocate => Use::Allocate(self.int(1), wide(2), wide(3)),
            _ => Use::Flags(self.int(2)),
        };
        let object = self.descriptor(0)?;
        Ok(Action::Loosen(Spot::Held(object), self.int(0), used))
    }
}
