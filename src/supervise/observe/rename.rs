//! Renames: two paths, and which of them the kernel finds fault with first.

use std::ffi::CString;

use super::Observer;
use crate::supervise::attempt::Action;
use crate::supervise::calls::Dir;
use crate::supervise::resolve::{Last, Spot, walk};
use crate::supervise::target::Trouble;
use crate::sys::Errno;

fn is_too_long(spot: &Result<Spot, Trouble>) -> bool {
    matches!(spot, Err(Trouble::Fault(Errno::ENAMETOOLONG)))
}

impl Observer<'_> {
    pub(super) fn rename(
        &mut self,
        from_dir: Dir,
        from: u8,
        to_dir: Dir,
        to: u8,
        flags: Option<u8>,
    ) -> Result<Action, Trouble> {
        const ALONE: u32 = libc::RENAME_NOREPLACE | libc::RENAME_WHITEOUT;
        let flags = flags.map_or(0, |flags| self.int(flags) as u32);
        let clash = flags & libc::RENAME_EXCHANGE != 0 && flags & ALONE != 0;
        if clash || flags & !(ALONE | libc::RENAME_EXCHANGE) != 0 {
            return Ok(Action::Pass); // EINVAL
        }
        let source = self.spot(from_dir, from, Last::Name);
        if !is_too_long(&source) {
            source.as_ref().map_err(|trouble| *trouble)?;
        }
        let place = self.spot(to_dir, to, Last::Name);
        if is_too_long(&source) || is_too_long(&place) {
            self.reach_both(from_dir, from, to_dir, to)?;
            let is_no_name = |spot: &Result<Spot, Trouble>| matches!(spot, Ok(Spot::Held(_)));
            if is_no_name(&source) || is_no_name(&place) {
                return Ok(Action::Pass); // EBUSY
            }
            // The first name is looked up before the second one.
            if matches!(&source, Ok(spot) if spot.object().is_none()) {
                return Err(Trouble::Fault(Errno::ENOENT));
            }
        }
        Ok(Action::Rename(source?, place?, flags))
    }

    /// What a rename says of its folders although a last component is too long: the kernel looks at these when it has both
    /// folders, and they are on one mount.
    fn reach_both(&self, from_dir: Dir, from: u8, to_dir: Dir, to: u8) -> Result<(), Trouble> {
        let from = self.folder(from_dir, from)?;
        let to = self.folder(to_dir, to)?;
        match (from.object(), to.object()) {
            (Some(from), Some(to)) if from.stat.mount != to.stat.mount => {
                Err(Trouble::Fault(Errno::EXDEV))
            }
            _ => Ok(()),
        }
    }

    /// The folder of a path's last component.
    fn folder(&self, dir: Dir, path: u8) -> Result<Spot, Trouble> {
        let text = self.target.string(self.arguments[path as usize])?;
        if text.is_empty() {
            return Err(Trouble::Fault(Errno::ENOENT));
        }
        let mut folder = text.into_bytes();
        let is_slash = |byte: &u8| *byte == b'/';
        let end = folder.iter().rposition(|byte| !is_slash(byte));
        folder.truncate(end.map_or(0, |end| end + 1));
        let start = folder.iter().rposition(is_slash);
        folder.truncate(start.map_or(0, |slash| slash + 1));
        folder.push(b'.');
        let folder = CString::new(folder).map_err(|_| Trouble::Own(Errno::EINVAL))?;
        walk(self.target, self.base(dir), &folder, Last::Follow, 0)
    }
}
