//! The clock by which file systems stamp what is made.

use super::Errno;
use nix::time::{ClockId, clock_gettime};

/// The time of the last tick, in nanoseconds since the epoch: never later than what an inode made from now on is
/// stamped with (kernel: `ktime_get_coarse_real_ts64`).
///
/// # Errors
/// As clock_gettime(2).
pub fn last_tick() -> Result<i64, Errno> {
    let time = clock_gettime(ClockId::CLOCK_REALTIME_COARSE)?;
    Ok(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}
