//! Who the calling thread acts as, and what it may do. The raw calls: they change one thread, not the process.

use super::{Errno, check};

/// `struct __user_cap_header_struct`.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

/// `struct __user_cap_data_struct`, of which version 3 takes two.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const VERSION_3: u32 = 0x2008_0522;

/// Capability sets of the calling thread, one bit a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// In force.
    pub effective: u64,
    /// May be put in force.
    pub permitted: u64,
    /// Kept across execve(2) with file capabilities.
    pub inheritable: u64,
}

/// capget(2) for the calling thread.
///
/// # Errors
/// As capget(2).
pub fn capabilities() -> Result<Capabilities, Errno> {
    let mut header = CapabilityHeader {
        version: VERSION_3,
        pid: 0,
    };
    let mut data = [CapabilityData::default(); 2];
    // SAFETY: both structures are live and of the layout of version 3.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, data.as_mut_ptr()) })?;
    let join = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    Ok(Capabilities {
        effective: join(data[0].effective, data[1].effective),
        permitted: join(data[0].permitted, data[1].permitted),
        inheritable: join(data[0].inheritable, data[1].inheritable),
    })
}

/// capset(2) for the calling thread.
///
/// # Errors
/// As capset(2).
pub fn set_capabilities(sets: Capabilities) -> Result<(), Errno> {
    let mut header = CapabilityHeader {
        version: VERSION_3,
        pid: 0,
    };
    let part = |shift: u32| CapabilityData {
        effective: (sets.effective >> shift) as u32,
        permitted: (sets.permitted >> shift) as u32,
        inheritable: (sets.inheritable >> shift) as u32,
    };
    let data = [part(0), part(32)];
    // SAFETY: both structures are live and of the layout of version 3; the kernel only reads the data.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, data.as_ptr()) }).map(drop)
}

/// setfsuid(2). Gives what is in force afterwards, since the call itself never reports failure.
#[must_use]
pub fn set_file_user(user: u32) -> u32 {
    // SAFETY: no pointers; the second call, with an id that is never valid, changes nothing and tells the current one.
    unsafe { libc::syscall(libc::SYS_setfsuid, user) };
    // SAFETY: as above.
    (unsafe { libc::syscall(libc::SYS_setfsuid, u32::MAX) }) as u32
}

/// setfsgid(2). Gives what is in force afterwards.
#[must_use]
pub fn set_file_group(group: u32) -> u32 {
    // SAFETY: no pointers; see `set_file_user`.
    unsafe { libc::syscall(libc::SYS_setfsgid, group) };
    // SAFETY: as above.
    (unsafe { libc::syscall(libc::SYS_setfsgid, u32::MAX) }) as u32
}

/// setgroups(2) for the calling thread alone.
///
/// # Errors
/// As setgroups(2).
pub fn set_groups(groups: &[u32]) -> Result<(), Errno> {
    // SAFETY: the kernel reads as many ids as the slice has. The raw call: the C library would change all threads.
    check(unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) }).map(drop)
}
