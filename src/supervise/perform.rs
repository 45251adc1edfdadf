//! Performing: the supervisor does the call itself, on what it holds, relative to held directories only.

use std::os::fd::{AsFd, OwnedFd};

use super::attempt::{Action, Binding, Change, Use, careful};
use super::resolve::{Entry, Object, PROC_SUPER_MAGIC, Spot};
use super::target::{Target, Trouble};
use crate::sys::file::{self, OpenHow};
use crate::sys::{Errno, content, descriptor, metadata};

/// What came of it.
#[derive(Debug)]
pub enum Outcome {
    /// The call's return value.
    Value(i64),
    /// A descriptor for the target, with the flags of its own open.
    Descriptor(OwnedFd, i32),
    /// Opening has to wait: for a reader of a FIFO, or for whoever holds a lease on a file.
    Waits(Object, OpenHow),
    /// What is there is not what it was decided on: it has to be looked at again.
    Again,
}

/// The target's own descriptor that an action is done with, if there is one. To be taken before acting as the target,
/// which may have become a user that cannot look into it.
///
/// # Errors
/// [`Trouble`].
pub fn take(target: &Target, action: &Action) -> Result<Option<OwnedFd>, Trouble> {
    match action {
        Action::Change(Spot::Held(object), Change::Control(number, ..)) => {
            target.take(*number, object).map(Some)
        }
        Action::Loosen(Spot::Held(object), number, _) => target.take(*number, object).map(Some),
        Action::Bind(binding) => target
            .take(binding.socket, &target.descriptor(binding.socket)?)
            .map(Some),
        _ => Ok(None),
    }
}

/// Which object an open of an existing file opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactly {
    /// The one that was decided on, and no other.
    TheObject,
    /// What has the name by now: every object there may be opened.
    TheName,
}

/// Does it, with what [`take`] gave. The caller has decided, acts as the target, and has its umask.
///
/// # Errors
/// The kernel's own; [`Trouble`] when guard itself could not.
pub fn perform(
    action: &Action,
    taken: Option<&OwnedFd>,
    exactly: Exactly,
    steady: &dyn Fn(&Object) -> bool,
) -> Result<Outcome, Trouble> {
    if let Action::Open(spot, how) = action {
        return open(spot, *how, exactly).map_err(Trouble::Fault);
    }
    if let Action::OpenNameless(dir, how) = action {
        let fd = file::open(dir.as_fd(), c".", careful(*how)).map_err(Trouble::Fault)?;
        return Ok(Outcome::Descriptor(fd, how.flags as i32));
    }
    if let (Action::Change(_, Change::Control(_, request, bytes)), Some(own)) = (action, taken) {
        let mut bytes = bytes.clone();
        return metadata::control(own.as_fd(), *request, &mut bytes)
            .map(Outcome::Value)
            .map_err(Trouble::Fault);
    }
    if let (Action::Loosen(_, _, used), Some(own)) = (action, taken) {
        let done = match *used {
            Use::Truncate(length) => content::truncate(own.as_fd(), length),
            Use::Allocate(mode, offset, length) => {
                content::allocate(own.as_fd(), mode, offset, length)
            }
            Use::Flags(flags) => descriptor::set_status_flags(own.as_fd(), flags),
        };
        return done.map(|()| Outcome::Value(0)).map_err(Trouble::Fault);
    }
    if let (Action::Bind(binding), Some(own)) = (action, taken) {
        return bind(own, binding, steady).map(|()| Outcome::Value(0));
    }
    plain(action)
        .map(|()| Outcome::Value(0))
        .map_err(Trouble::Fault)
}

fn plain(action: &Action) -> Result<(), Errno> {
    match action {
        Action::Truncate(spot, length) => content::truncate_held(object(spot)?.as_fd(), *length),
        Action::Unlink(spot, flags) => {
            let at = entry(spot)?;
            file::unlink(at.dir.as_fd(), &at.asked, *flags)
        }
        Action::Rename(from, to, flags) => {
            let (from, to) = (entry(from)?, entry(to)?);
            file::rename(
                from.dir.as_fd(),
                &from.asked,
                to.dir.as_fd(),
                &to.asked,
                *flags,
            )
        }
        Action::Link(from, to) => {
            let to = entry(to)?;
            match from {
                Spot::Entry(from) => {
                    file::link(from.dir.as_fd(), &from.asked, to.dir.as_fd(), &to.asked)
                }
                Spot::Held(object) => file::link_held(object.as_fd(), to.dir.as_fd(), &to.asked),
            }
        }
        Action::Symlink(content, spot) => {
            let at = entry(spot)?;
            file::make_symlink(content, at.dir.as_fd(), &at.asked)
        }
        Action::Mkdir(spot, mode) => {
            let at = entry(spot)?;
            file::make_dir(at.dir.as_fd(), &at.asked, *mode)
        }
        Action::Mknod(spot, mode, device) => {
            let at = entry(spot)?;
            file::make_node(at.dir.as_fd(), &at.asked, *mode, *device)
        }
        Action::Change(spot, change) => change_metadata(object(spot)?, change),
        Action::Nothing => Ok(()),
        Action::Pass
        | Action::Forbidden
        | Action::Open(..)
        | Action::OpenNameless(..)
        | Action::Loosen(..)
        | Action::Bind(..) => Err(Errno::ENOSYS),
    }
}

fn entry(spot: &Spot) -> Result<&Entry, Errno> {
    match spot {
        Spot::Entry(entry) => Ok(entry),
        Spot::Held(_) => Err(Errno::EINVAL),
    }
}

fn object(spot: &Spot) -> Result<&Object, Errno> {
    spot.object().ok_or(Errno::ENOENT)
}

/// Opens. A receiver must not wait, least of all with the tree held, so a FIFO or a file with a lease is opened without
/// blocking, and who has to wait does so elsewhere.
fn open(spot: &Spot, how: OpenHow, exactly: Exactly) -> Result<Outcome, Errno> {
    let place = match spot {
        Spot::Entry(at) => &at.dir,
        Spot::Held(object) => object,
    };
    if file::file_system(place.as_fd())? == PROC_SUPER_MAGIC {
        // We may look into processes that the target may not: the memory of those outside the wall, and our own.
        return Err(Errno::EACCES);
    }
    let flags = how.flags as i32;
    let may_block = flags & libc::O_NONBLOCK == 0
        && spot
            .object()
            .is_none_or(|object| matches!(object.stat.kind(), libc::S_IFREG | libc::S_IFIFO));
    let at_once = OpenHow {
        flags: how.flags
            | if may_block {
                libc::O_NONBLOCK as u64
            } else {
                0
            },
        ..how
    };
    let has = |flag: i32| flags & flag != 0;
    let opened = match (spot, spot.object()) {
        (Spot::Held(object), _) => open_held(object, at_once),
        (Spot::Entry(_), Some(object)) if exactly == Exactly::TheObject && !has(libc::O_EXCL) => {
            open_held(object, at_once)
        }
        // Who made it must be known, so it is made or not; and what was there is not made anew.
        (Spot::Entry(at), None) if has(libc::O_CREAT) => {
            let flags = at_once.flags | libc::O_EXCL as u64;
            file::open(
                at.dir.as_fd(),
                &at.name,
                careful(OpenHow { flags, ..at_once }),
            )
        }
        (Spot::Entry(at), Some(_)) if has(libc::O_CREAT) && !has(libc::O_EXCL) => {
            reopen(at, at_once)
        }
        (Spot::Entry(at), _) => file::open(at.dir.as_fd(), &at.name, careful(at_once)),
    };
    let changed = match opened {
        Err(Errno::EEXIST) => spot.object().is_none() && !has(libc::O_EXCL),
        Err(Errno::ENOENT) => spot.object().is_some() && has(libc::O_CREAT),
        _ => false,
    };
    if changed {
        return Ok(Outcome::Again);
    }
    match (opened, spot.object()) {
        (Ok(fd), _) => {
            if may_block {
                descriptor::set_blocking(fd.as_fd())?;
            }
            Ok(Outcome::Descriptor(fd, flags))
        }
        (Err(Errno::ENXIO | Errno::EAGAIN), Some(object)) if may_block => {
            Ok(Outcome::Waits(object.duplicate()?, how))
        }
        (Err(error), _) => Err(error),
    }
}

/// Opens what is there, as a call that would make it if it were not.
fn reopen(at: &Entry, how: OpenHow) -> Result<OwnedFd, Errno> {
    const STICKY: u32 = 0o1002;
    // The kernel keeps such calls from the files of others in shared folders (proc_sys_fs(5): protected_regular), so
    // there it has to see the flag.
    let made = if at.dir.stat.mode & STICKY == STICKY {
        0
    } else {
        libc::O_CREAT as u64
    };
    let flags = how.flags & !made;
    let mode = if made == 0 { how.mode } else { 0 };
    file::open(
        at.dir.as_fd(),
        &at.name,
        careful(OpenHow { flags, mode, ..how }),
    )
}

/// Opens exactly what is held, whatever has its name now.
///
/// # Errors
/// As open(2).
pub fn open_held(object: &Object, how: OpenHow) -> Result<OwnedFd, Errno> {
    let dropped = (libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW) as u64;
    let flags = (how.flags & !dropped) as i32 | libc::O_NOCTTY;
    file::open_absolute(&file::magic_path(object.as_fd()), flags)
}

fn change_metadata(object: &Object, change: &Change) -> Result<(), Errno> {
    let fd = object.as_fd();
    match change {
        Change::Mode(_) if object.stat.kind() == libc::S_IFLNK => Err(Errno::EOPNOTSUPP),
        Change::Mode(mode) => metadata::set_mode(fd, *mode),
        Change::Owner(user, group) => metadata::set_owner(fd, *user, *group),
        Change::Times(times) => metadata::set_times(fd, *times),
        Change::SetAttribute(name, value, flags) => {
            metadata::set_attribute(fd, name, value, *flags)
        }
        Change::RemoveAttribute(name) => metadata::remove_attribute(fd, name),
        Change::FileAttributes(attributes) => metadata::set_file_attributes(fd, attributes),
        Change::Control(..) => Err(Errno::ENOSYS),
    }
}

/// Binds a socket at a held place, so that its address is the text that the program gave.
///
/// The kernel keeps the address as it is spelled, so it has to be spelled that way here too; it is resolved from this
/// thread's working directory, which stands where the target's is. The caller holds the lock for the whole tree, so
/// nothing can be swapped in directories where only the supervisor acts. A way through a directory where the target can
/// act by itself is spelled as the real path instead, which leads through none.
fn bind(
    socket: &OwnedFd,
    binding: &Binding,
    steady: &dyn Fn(&Object) -> bool,
) -> Result<(), Trouble> {
    let at = entry(&binding.spot).map_err(Trouble::Fault)?;
    if at.object.is_some() {
        return Err(Trouble::Fault(Errno::EADDRINUSE));
    }
    if at.asked != at.name {
        return Err(Trouble::Fault(Errno::ENOENT));
    }
    let as_given = binding.in_our_root && binding.trail.iter().all(steady);
    let (dir, address) = match binding.trail.first() {
        Some(start) if as_given => (start.as_fd(), binding.address.clone()),
        _ => (at.dir.as_fd(), real_address(&binding.address, at)),
    };
    let back = file::open_absolute(c"/", libc::O_PATH | libc::O_DIRECTORY).map_err(Trouble::Own)?;
    file::change_dir(dir).map_err(Trouble::Own)?;
    let bound = file::bind(socket.as_fd(), &address);
    file::change_dir(back.as_fd()).map_err(Trouble::Own)?;
    bound.map_err(Trouble::Fault)
}

/// Offset of `sun_path`, and the longest path that fits with its zero.
const SUN_PATH: usize = 2;
const SUN_PATH_MAX: usize = 107;

fn real_address(address: &[u8], at: &Entry) -> Vec<u8> {
    let mut real = address[..SUN_PATH].to_vec();
    if let Ok(dir) = file::path_of(at.dir.as_fd())
        && dir.len() + 1 + at.name.count_bytes() <= SUN_PATH_MAX
    {
        real.extend_from_slice(dir.strip_suffix(b"/").unwrap_or(&dir));
        real.push(b'/');
    }
    real.extend_from_slice(at.name.to_bytes_with_nul());
    real
}
