//! System calls, one function each: arguments checked, results owned. All `unsafe` of the program is here.

pub mod clock;
pub mod content;
pub mod credentials;
pub mod descriptor;
pub mod file;
pub mod limit;
pub mod metadata;
pub mod process;
pub mod seccomp;
pub mod signal;
pub mod startup;

pub use nix::errno::Errno;

/// Turns the return value of a system call (-1 and `errno`, as the C library gives it) into a result.
fn check(returned: libc::c_long) -> Result<libc::c_long, Errno> {
    if returned == -1 {
        Err(Errno::last())
    } else {
        Ok(returned)
    }
}
