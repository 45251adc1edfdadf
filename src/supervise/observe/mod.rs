//! Observing: from a notification to what the call would do, with every argument read once and every object held.

mod loosen;
mod metadata;
mod rename;

use std::ffi::CString;

use super::attempt::{Action, Binding, NAMELESS};
use super::calls::{At, Call, Dir, Follow, Kind};
use super::limits::room_for_descriptor;
use super::resolve::{Base, Last, Object, Spot, walk, walk_with_trail};
use super::target::{Target, Trouble};
use crate::record::Text;
use crate::sys::Errno;
use crate::sys::file::{OpenHow, RESOLVE_BENEATH, RESOLVE_CACHED, RESOLVE_IN_ROOT, RESOLVE_KNOWN};

/// Size of `struct open_how` in its first version; later ones are longer and must be zero there.
const OPEN_HOW: usize = 24;

/// Every flag of open(2) that the kernel knows (`VALID_OPEN_FLAGS`).
const VALID: u64 = 0o37_777_703;

/// A call as it was made.
pub struct Observer<'a> {
    /// Who made it.
    pub target: &'a Target,
    /// The registers.
    pub arguments: [u64; 6],
    /// The paths, as given, for the record.
    pub asked: Vec<Text>,
}

impl Observer<'_> {
    /// What the call would do.
    ///
    /// # Errors
    /// [`Trouble`].
    pub fn observe(&mut self, call: &Call) -> Result<Action, Trouble> {
        match call.kind {
            Kind::Open(dir, path, flags, mode) => {
                let how = plain_how(self.int(flags), self.arguments[mode as usize]);
                self.open(self.base(dir), path, how)
            }
            Kind::Creat => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                self.open(Base(libc::AT_FDCWD), 0, plain_how(flags, self.arguments[1]))
            }
            Kind::Openat2 => self.openat2(),
            Kind::Truncate => {
                let length = if self.target.word() == 4 {
                    i64::from(self.int(1))
                } else {
                    self.arguments[1] as i64
                };
                self.truncate(length)
            }
            Kind::TruncatePair => {
                let length = self.arguments[1] & 0xFFFF_FFFF | self.arguments[2] << 32;
                self.truncate(length as i64)
            }
            Kind::Resize | Kind::ResizePair | Kind::Allocate | Kind::Flags => {
                self.loosen(call.kind)
            }
            Kind::Unlink(dir, path) => Ok(Action::Unlink(self.spot(dir, path, Last::Name)?, 0)),
            Kind::Rmdir => Ok(Action::Unlink(
                self.spot(Dir::Cwd, 0, Last::Name)?,
                libc::AT_REMOVEDIR,
            )),
            Kind::Unlinkat => {
                let flags = self.int(2);
                if flags & !libc::AT_REMOVEDIR != 0 {
                    return Ok(Action::Pass);
                }
                Ok(Action::Unlink(
                    self.spot(Dir::Arg(0), 1, Last::Name)?,
                    flags,
                ))
            }
            Kind::Rename(from_dir, from, to_dir, to, flags) => {
                self.rename(from_dir, from, to_dir, to, flags)
            }
            Kind::Link(from_dir, from, to_dir, to, flags) => {
                self.link(from_dir, from, to_dir, to, flags)
            }
            Kind::Symlink(dir, path) => {
                let content = self.target.string(self.arguments[0])?;
                if content.is_empty() {
                    return Err(Trouble::Fault(Errno::ENOENT)); // before the kernel looks at any path
                }
                Ok(Action::Symlink(content, self.spot(dir, path, Last::Name)?))
            }
            Kind::Mkdir(dir, path, mode) => {
                let mode = self.int(mode) as u32;
                Ok(Action::Mkdir(self.spot(dir, path, Last::Name)?, mode))
            }
            Kind::Mknod(dir, path, mode, device) => {
                let (mode, device) = (
                    self.int(mode) as u32 & 0xFFFF,
                    self.arguments[device as usize],
                );
                let mode = if mode & libc::S_IFMT == 0 {
                    mode | libc::S_IFREG
                } else {
                    mode
                };
                if !is_node(mode) {
                    return Ok(Action::Pass); // EPERM, EINVAL
                }
                Ok(Action::Mknod(
                    self.spot(dir, path, Last::Name)?,
                    mode,
                    device,
                ))
            }
            Kind::Bind => self.bind(self.arguments[0], self.arguments[1], self.arguments[2]),
            Kind::Socketcall => {
                let bytes = self.target.bytes(self.arguments[1], 12)?;
                let word = |at: usize| {
                    u64::from(u32::from_le_bytes([
                        bytes[at],
                        bytes[at + 1],
                        bytes[at + 2],
                        bytes[at + 3],
                    ]))
                };
                self.bind(word(0), word(4), word(8))
            }
            Kind::Forbidden => Ok(Action::Forbidden),
            Kind::Restrict | Kind::Execute(..) | Kind::WriteAt | Kind::Absent => Ok(Action::Pass),
            kind => self.metadata(kind),
        }
    }

    fn int(&self, index: u8) -> i32 {
        self.arguments[index as usize] as i32
    }

    /// A `size_t`.
    fn size(&self, index: u8) -> u64 {
        let value = self.arguments[index as usize];
        if self.target.word() == 4 {
            value & 0xFFFF_FFFF
        } else {
            value
        }
    }

    fn base(&self, dir: Dir) -> Base {
        match dir {
            Dir::Cwd => Base(libc::AT_FDCWD),
            Dir::Arg(index) => Base(self.int(index)),
        }
    }

    fn path(&mut self, index: u8) -> Result<CString, Trouble> {
        let path = self.target.string(self.arguments[index as usize])?;
        self.asked.push(path.to_bytes().into());
        Ok(path)
    }

    fn spot(&mut self, dir: Dir, path: u8, last: Last) -> Result<Spot, Trouble> {
        let path = self.path(path)?;
        walk(self.target, self.base(dir), &path, last, 0)
    }

    /// What a descriptor holds; one that only names a place (`O_PATH`) is good for nothing here.
    fn descriptor(&mut self, index: u8) -> Result<Object, Trouble> {
        let number = self.int(index);
        self.asked.push(format!("fd {number}").into());
        let object = self.target.descriptor(number)?;
        if self.target.only_names(number) {
            Err(Trouble::Fault(Errno::EBADF))
        } else {
            Ok(object)
        }
    }

    /// Checks the flags in this argument against those that the call knows.
    fn only_flags(&self, index: u8, known: i32) -> Result<i32, Trouble> {
        let flags = self.int(index);
        if flags & !known == 0 {
            Ok(flags)
        } else {
            Err(Trouble::Fault(Errno::EINVAL))
        }
    }

    /// The same for the calls to which no path at all is an empty one (fs/namei.c: getname_maybe_null).
    fn at_or_itself(&mut self, at: At) -> Result<Spot, Trouble> {
        if let At::Path(dir, path, Follow::UnlessFlag(index)) = at
            && self.arguments[path as usize] == 0
            && self.place_flags(index)? & libc::AT_EMPTY_PATH != 0
        {
            return Ok(Spot::Held(self.target.base(self.number(dir))?));
        }
        self.at(at)
    }

    /// The flags that say which object a path means.
    fn place_flags(&self, index: u8) -> Result<i32, Trouble> {
        self.only_flags(index, libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH)
    }

    /// The object that a call of the metadata kind means.
    fn at(&mut self, at: At) -> Result<Spot, Trouble> {
        let (dir, path, follow) = match at {
            At::Descriptor(index) => return self.descriptor(index).map(Spot::Held),
            At::Path(dir, path, follow) => (dir, path, follow),
        };
        let flags = match follow {
            Follow::Yes => 0,
            Follow::No => libc::AT_SYMLINK_NOFOLLOW,
            Follow::UnlessFlag(index) => self.place_flags(index)?,
        };
        let text = self.path(path)?;
        if text.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
            return Ok(Spot::Held(self.target.base(self.number(dir))?));
        }
        let last = if flags & libc::AT_SYMLINK_NOFOLLOW == 0 {
            Last::Follow
        } else {
            Last::Keep
        };
        walk(self.target, self.base(dir), &text, last, 0)
    }

    fn number(&self, dir: Dir) -> i32 {
        match dir {
            Dir::Cwd => libc::AT_FDCWD,
            Dir::Arg(index) => self.int(index),
        }
    }

    fn truncate(&mut self, length: i64) -> Result<Action, Trouble> {
        if length < 0 {
            return Ok(Action::Pass); // EINVAL
        }
        let spot = self.spot(Dir::Cwd, 0, Last::Follow)?;
        Ok(Action::Truncate(spot, length))
    }

    fn open(&mut self, base: Base, path: u8, how: OpenHow) -> Result<Action, Trouble> {
        if is_impossible(how) {
            return Ok(Action::Pass); // EINVAL, before anything is looked up
        }
        let text = self.path(path)?;
        if !text.is_empty() {
            room_for_descriptor(self.target)?;
        }
        let has = |flag: i32| how.flags & flag as u64 != 0;
        let exclusive = has(libc::O_CREAT) && has(libc::O_EXCL);
        if has(libc::O_CREAT) && text.to_bytes().last() == Some(&b'/') {
            return Ok(Action::Pass); // EISDIR
        }
        let last = if has(libc::O_NOFOLLOW) || exclusive {
            Last::Keep
        } else {
            Last::Follow
        };
        let spot = walk(self.target, base, &text, last, how.resolve)?;
        if how.flags & NAMELESS == 0 {
            return Ok(Action::Open(spot, how));
        }
        match spot {
            Spot::Held(dir) if dir.is_dir() => Ok(Action::OpenNameless(dir, how)),
            Spot::Entry(entry) => match entry.object {
                Some(dir) if dir.is_dir() => Ok(Action::OpenNameless(dir, how)),
                _ => Ok(Action::Pass), // ENOENT, ENOTDIR
            },
            Spot::Held(_) => Ok(Action::Pass),
        }
    }

    fn openat2(&mut self) -> Result<Action, Trouble> {
        let size = self.size(3) as usize;
        if !(OPEN_HOW..=4096).contains(&size) {
            return Ok(Action::Pass); // EINVAL, E2BIG
        }
        let bytes = self.target.bytes(self.arguments[2], size)?;
        if bytes[OPEN_HOW..].iter().any(|byte| *byte != 0) {
            return Ok(Action::Pass); // E2BIG
        }
        let field =
            |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let how = OpenHow {
            flags: field(0),
            mode: field(8),
            resolve: field(16),
        };
        const SCOPES: u64 = RESOLVE_BENEATH | RESOLVE_IN_ROOT;
        if how.resolve & !RESOLVE_KNOWN != 0 || how.resolve & SCOPES == SCOPES {
            return Ok(Action::Pass); // EINVAL
        }
        if how.resolve & RESOLVE_CACHED != 0 && !is_impossible(how) {
            // The walk here is not the kernel's, so it cannot know: the caller has to ask again without that flag.
            return if changes(how.flags) {
                Err(Trouble::Fault(Errno::EAGAIN))
            } else {
                Ok(Action::Pass)
            };
        }
        self.open(self.base(Dir::Arg(0)), 1, how)
    }

    fn link(
        &mut self,
        from_dir: Dir,
        from: u8,
        to_dir: Dir,
        to: u8,
        flags: Option<u8>,
    ) -> Result<Action, Trouble> {
        let flags = flags.map_or(0, |flags| self.int(flags));
        if flags & !(libc::AT_SYMLINK_FOLLOW | libc::AT_EMPTY_PATH) != 0 {
            return Ok(Action::Pass); // EINVAL
        }
        let text = self.path(from)?;
        let source = if text.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
            Spot::Held(self.target.base(self.number(from_dir))?)
        } else {
            let last = if flags & libc::AT_SYMLINK_FOLLOW == 0 {
                Last::Keep
            } else {
                Last::Follow
            };
            walk(self.target, self.base(from_dir), &text, last, 0)?
        };
        if source.object().is_none() {
            return Err(Trouble::Fault(Errno::ENOENT)); // said before the new name is looked at
        }
        Ok(Action::Link(source, self.spot(to_dir, to, Last::Name)?))
    }

    fn bind(&mut self, socket: u64, address: u64, length: u64) -> Result<Action, Trouble> {
        const PATH: usize = 2; // offset of sun_path
        let length = length as u32 as usize;
        if length <= PATH || length > 110 {
            return Ok(Action::Pass);
        }
        let bytes = self.target.bytes(address, length)?;
        let family = i32::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        if family != libc::AF_UNIX || bytes[PATH] == 0 {
            return Ok(Action::Pass);
        }
        let end = bytes[PATH..]
            .iter()
            .position(|byte| *byte == 0)
            .map_or(length, |end| PATH + end);
        let path = CString::new(&bytes[PATH..end]).map_err(|_| Trouble::Own(Errno::EINVAL))?;
        self.asked.push(path.to_bytes().into());
        let (spot, trail) = walk_with_trail(self.target, Base(libc::AT_FDCWD), &path)?;
        Ok(Action::Bind(Binding {
            socket: socket as i32,
            spot,
            address: bytes,
            trail,
            in_our_root: self.target.has_our_root(),
        }))
    }
}

/// What open(2) makes of its arguments: bits that it does not know are dropped, where openat2(2) would refuse them
/// (fs/open.c: build_open_how).
fn plain_how(flags: i32, mode: u64) -> OpenHow {
    let flags = flags as u32 as u64 & VALID;
    let makes = flags & (libc::O_CREAT as u64 | NAMELESS) != 0;
    OpenHow {
        flags,
        mode: if makes { mode & 0o7777 } else { 0 },
        resolve: 0,
    }
}

/// Whether an open with these flags could change something.
fn changes(flags: u64) -> bool {
    let writing = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
    flags & (writing as u64 | NAMELESS) != 0
}

/// Whether mknod(2) makes such a thing (fs/namei.c: may_mknod).
fn is_node(mode: u32) -> bool {
    let kind = mode & libc::S_IFMT;
    matches!(
        kind,
        libc::S_IFREG | libc::S_IFCHR | libc::S_IFBLK | libc::S_IFIFO | libc::S_IFSOCK
    )
}

/// Whether the kernel takes no such combination of flags and mode (fs/open.c: build_open_flags).
fn is_impossible(how: OpenHow) -> bool {
    const DIRECTORY: u64 = libc::O_DIRECTORY as u64;
    const CREATE: u64 = libc::O_CREAT as u64;
    const PATH: u64 =
        (libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC) as u64;
    let flags = how.flags;
    let creates = flags & (CREATE | NAMELESS) != 0;
    let most = if creates { 0o7777 } else { 0 };
    let writes = flags & libc::O_ACCMODE as u64 != 0;
    flags & !VALID != 0
        || how.mode & !most != 0
        || flags & (DIRECTORY | CREATE) == DIRECTORY | CREATE
        || flags & NAMELESS != 0 && (!writes || flags & DIRECTORY == 0)
        || flags & libc::O_PATH as u64 != 0 && flags & !PATH != 0
}
