//! The caller's own limits, which the kernel would have looked at if it had done the call for the caller itself.

use super::resolve::Object;
use super::target::{Target, Trouble};
use crate::sys::Errno;
use crate::sys::file;
use crate::sys::limit::{self, Limit};

/// Fails where the caller has no number left for a descriptor: before anything is made, emptied or even looked up.
///
/// # Errors
/// `EMFILE`.
pub fn room_for_descriptor(target: &Target) -> Result<(), Trouble> {
    let Ok(most) = limit::soft(target.tid, Limit::Descriptors) else {
        return Ok(()); // The kernel says so when it gets the descriptor.
    };
    // Most processes are far from it: then the last number is free.
    let last = i32::try_from(most).unwrap_or(i32::MAX).saturating_sub(1);
    if most > 0 && (!target.has_descriptor(last) || target.descriptors_below(most) < most) {
        return Ok(());
    }
    Err(Trouble::Fault(Errno::EMFILE))
}

/// Fails where the caller may not make a file this long, and tells it with the signal for that. To be asked as the caller.
///
/// # Errors
/// `EFBIG`; what opening the file would have said before that.
pub fn length_allowed(target: &Target, file: &Object, length: i64) -> Result<(), Trouble> {
    let length = length as u64;
    if limit::soft(target.tid, Limit::FileSize).is_ok_and(|most| length <= most)
        || file.stat.kind() != libc::S_IFREG
        || limit::size(file.as_fd()).map_err(Trouble::Own)? >= length
    {
        return Ok(());
    }
    file::open_absolute(&file::magic_path(file.as_fd()), libc::O_WRONLY).map_err(Trouble::Fault)?;
    limit::signal_too_large(target.status()?.tgid, target.tid).map_err(Trouble::Own)?;
    Err(Trouble::Fault(Errno::EFBIG))
}
