//! Observing: from a notification to what the call would do, with every argument read once and every object held.

use std::ffi::CString;

use super::calls::{At, Call, Dir, Follow, Kind, Request, TimeLayout, request};
use super::decide::{Creates, Effect, Exchange, Intent, Writes};
use super::resolve::{Base, Last, Object, Spot, walk, walk_with_trail};
use super::target::{Target, Trouble};
use crate::sys::Errno;
use crate::sys::file::{
    OpenHow, RESOLVE_BENEATH, RESOLVE_IN_ROOT, RESOLVE_KNOWN, RESOLVE_NO_MAGICLINKS,
    RESOLVE_NO_SYMLINKS,
};
use crate::sys::metadata::Time;

/// The bit of `O_TMPFILE` that no other flag has.
pub const NAMELESS: u64 = 0o20_000_000;
/// Size of `struct open_how` in its first version; later ones are longer and must be zero there.
const OPEN_HOW: usize = 24;
const XATTR_NAME_MAX: usize = 255;
const XATTR_SIZE_MAX: u64 = 65_536;

/// What a call would do, its objects held.
#[derive(Debug)]
pub enum Action {
    /// Nothing that the supervisor has a say in, or a certain failure: the kernel goes on.
    Pass,
    /// The call asks for nothing and succeeds.
    Nothing,
    /// Refused under every policy.
    Forbidden,
    /// Open.
    Open(Spot, OpenHow),
    /// Make a nameless file in the directory at the spot.
    OpenNameless(Object, OpenHow),
    /// Set a file's length.
    Truncate(Spot, i64),
    /// Remove an entry; with `AT_REMOVEDIR` a directory.
    Unlink(Spot, i32),
    /// Move, with the flags of renameat2(2).
    Rename(Spot, Spot, u32),
    /// Give another name.
    Link(Spot, Spot),
    /// Make a symbolic link with this content.
    Symlink(CString, Spot),
    /// Make a directory with this mode.
    Mkdir(Spot, u32),
    /// Make a node of this mode and device.
    Mknod(Spot, u32, u64),
    /// Bind a socket to a path.
    Bind(Binding),
    /// Change metadata.
    Change(Spot, Change),
}

/// A socket that is to get a path for its address.
#[derive(Debug)]
pub struct Binding {
    /// The descriptor's number in the target.
    pub socket: i32,
    /// Where the socket's entry will be.
    pub spot: Spot,
    /// The address as the program gave it (`struct sockaddr_un`, as long as it said).
    pub address: Vec<u8>,
    /// Every directory that the path led through.
    pub trail: Vec<Object>,
}

/// A change of metadata.
#[derive(Clone, Debug)]
pub enum Change {
    /// Permission bits.
    Mode(u32),
    /// User and group; `u32::MAX` keeps one.
    Owner(u32, u32),
    /// Access and modification time; none means now.
    Times(Option<[Time; 2]>),
    /// Sets an extended attribute, with the flags of setxattr(2).
    SetAttribute(CString, Vec<u8>, i32),
    /// Removes one.
    RemoveAttribute(CString),
    /// `struct file_attr`.
    FileAttributes(Vec<u8>),
    /// An ioctl(2) on descriptor number .0.
    Control(i32, u32, Vec<u8>),
}

impl Action {
    /// What deciding needs to know, for a call with one spot.
    #[must_use]
    pub fn intent(&self) -> Option<Intent> {
        Some(match self {
            Self::Open(_, how) => {
                let has = |flag: i32| how.flags & flag as u64 != 0;
                Intent::Open {
                    writes: if has(libc::O_ACCMODE) || has(libc::O_TRUNC) {
                        Writes::Yes
                    } else {
                        Writes::No
                    },
                    creates: match (has(libc::O_CREAT), has(libc::O_EXCL)) {
                        (true, true) => Creates::Only,
                        (true, false) => Creates::Yes,
                        (false, _) => Creates::No,
                    },
                }
            }
            Self::OpenNameless(..) => Intent::OpenNameless,
            Self::Truncate(..) => Intent::Truncate,
            Self::Unlink(..) => Intent::Remove,
            Self::Symlink(..) => Intent::Create(libc::S_IFLNK),
            Self::Mkdir(..) => Intent::Create(libc::S_IFDIR),
            Self::Mknod(_, mode, _) => Intent::Create(mode & libc::S_IFMT),
            Self::Bind(_) => Intent::Create(libc::S_IFSOCK),
            Self::Change(spot, change) => Intent::Metadata(effect(spot, change)),
            Self::Pass | Self::Nothing | Self::Forbidden | Self::Rename(..) | Self::Link(..) => {
                return None;
            }
        })
    }
}

/// The kind of move that renameat2(2) flags ask for.
#[must_use]
pub fn exchange(flags: u32) -> Exchange {
    if flags & libc::RENAME_EXCHANGE != 0 {
        Exchange::Yes
    } else if flags & libc::RENAME_NOREPLACE != 0 {
        Exchange::NoReplace
    } else {
        Exchange::No
    }
}

fn effect(spot: &Spot, change: &Change) -> Effect {
    const OWNER: u32 = 0o700;
    let open = match change {
        Change::Mode(mode) => mode & OWNER == OWNER,
        Change::Owner(user, _) => {
            *user == u32::MAX || spot.object().is_some_and(|it| it.stat.uid == *user)
        }
        Change::SetAttribute(name, value, _) if name.as_c_str() == c"system.posix_acl_access" => {
            acl_keeps_owner(value)
        }
        Change::FileAttributes(_) | Change::Control(..) => false,
        Change::SetAttribute(..) | Change::RemoveAttribute(_) | Change::Times(_) => true,
    };
    if open { Effect::Open } else { Effect::Closing }
}

/// Whether an access control list (linux/posix_acl_xattr.h: a version, then entries of tag, permissions, id) leaves the
/// owner all rights.
fn acl_keeps_owner(value: &[u8]) -> bool {
    const USER_OBJ: u16 = 1;
    value
        .get(4..)
        .unwrap_or_default()
        .chunks_exact(8)
        .all(|entry| {
            let tag = u16::from_le_bytes([entry[0], entry[1]]);
            let permissions = u16::from_le_bytes([entry[2], entry[3]]);
            tag != USER_OBJ || permissions & 7 == 7
        })
}

/// A call as it was made.
pub struct Observer<'a> {
    /// Who made it.
    pub target: &'a Target,
    /// The registers.
    pub arguments: [u64; 6],
    /// The paths, as given, for the record.
    pub asked: Vec<String>,
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
                Ok(Action::Truncate(
                    self.spot(Dir::Cwd, 0, Last::Follow)?,
                    length,
                ))
            }
            Kind::TruncatePair => {
                let length = self.arguments[1] & 0xFFFF_FFFF | self.arguments[2] << 32;
                Ok(Action::Truncate(
                    self.spot(Dir::Cwd, 0, Last::Follow)?,
                    length as i64,
                ))
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
                let flags = flags.map_or(0, |flags| self.int(flags) as u32);
                let from = self.spot(from_dir, from, Last::Name)?;
                Ok(Action::Rename(
                    from,
                    self.spot(to_dir, to, Last::Name)?,
                    flags,
                ))
            }
            Kind::Link(from_dir, from, to_dir, to, flags) => {
                self.link(from_dir, from, to_dir, to, flags)
            }
            Kind::Symlink(dir, path) => {
                let content = self.target.string(self.arguments[0])?;
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
            Kind::Absent => Ok(Action::Pass),
            kind => self.metadata(kind),
        }
    }

    fn metadata(&mut self, kind: Kind) -> Result<Action, Trouble> {
        match kind {
            Kind::Mode(at, mode) => {
                let mode = self.int(mode) as u32 & 0o7777;
                Ok(Action::Change(self.at(at, 0)?, Change::Mode(mode)))
            }
            Kind::Owner(at, user, group) => {
                let (user, group) = (self.int(user) as u32, self.int(group) as u32);
                Ok(Action::Change(self.at(at, 0)?, Change::Owner(user, group)))
            }
            Kind::ShortOwner(at, user, group) => {
                let id = |value: i32| {
                    if value as u16 == u16::MAX {
                        u32::MAX
                    } else {
                        u32::from(value as u16)
                    }
                };
                let (user, group) = (id(self.int(user)), id(self.int(group)));
                Ok(Action::Change(self.at(at, 0)?, Change::Owner(user, group)))
            }
            Kind::Times(at, times, layout) => {
                let times = self.times(times, layout)?;
                let at = match at {
                    At::Path(Dir::Arg(dir), path, _) if self.arguments[path as usize] == 0 => {
                        At::Descriptor(dir)
                    }
                    other => other,
                };
                Ok(Action::Change(self.at(at, 0)?, Change::Times(times)))
            }
            Kind::Utimensat(layout) => {
                let times = self.times(2, layout)?;
                if times.is_some_and(|pair| {
                    pair.iter().all(|time| time.nanoseconds == libc::UTIME_OMIT)
                }) {
                    return Ok(Action::Nothing);
                }
                if self.arguments[1] == 0 && self.int(0) != libc::AT_FDCWD {
                    self.only_flags(3, 0)?;
                    return Ok(Action::Change(
                        self.at(At::Descriptor(0), 0)?,
                        Change::Times(times),
                    ));
                }
                let at = At::Path(Dir::Arg(0), 1, Follow::UnlessFlag(3));
                Ok(Action::Change(self.at(at, 0)?, Change::Times(times)))
            }
            Kind::SetAttribute(at, name) => {
                let name_text = self.attribute_name(name)?;
                let at_value = self.arguments[name as usize + 1];
                let value = self.attribute_value(at_value, self.size(name + 2))?;
                let flags = self.int(name + 3);
                Ok(Action::Change(
                    self.at(at, 0)?,
                    Change::SetAttribute(name_text, value, flags),
                ))
            }
            Kind::SetAttributeAt => self.set_attribute_at(),
            Kind::RemoveAttribute(at, name) => {
                let name = self.attribute_name(name)?;
                Ok(Action::Change(
                    self.at(at, 0)?,
                    Change::RemoveAttribute(name),
                ))
            }
            Kind::FileAttributes => {
                let size = self.size(3);
                if !(24..=4096).contains(&size) {
                    return Err(Trouble::Fault(Errno::EINVAL));
                }
                let attributes = self.target.bytes(self.arguments[2], size as usize)?;
                let at = At::Path(Dir::Arg(0), 1, Follow::UnlessFlag(4));
                Ok(Action::Change(
                    self.at(at, 0)?,
                    Change::FileAttributes(attributes),
                ))
            }
            Kind::Control => self.control(),
            _ => Err(Trouble::Own(Errno::ENOSYS)),
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
        self.asked.push(path.to_string_lossy().into_owned());
        Ok(path)
    }

    fn spot(&mut self, dir: Dir, path: u8, last: Last) -> Result<Spot, Trouble> {
        let path = self.path(path)?;
        walk(self.target, self.base(dir), &path, last, 0)
    }

    /// What a descriptor holds; one that only names a place (`O_PATH`) is good for nothing here.
    fn descriptor(&mut self, index: u8) -> Result<Object, Trouble> {
        let number = self.int(index);
        self.asked.push(format!("fd {number}"));
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

    /// The object that a call of the metadata kind means. `extra` are flags beside the usual two.
    fn at(&mut self, at: At, extra: i32) -> Result<Spot, Trouble> {
        let (dir, path, follow) = match at {
            At::Descriptor(index) => return self.descriptor(index).map(Spot::Held),
            At::Path(dir, path, follow) => (dir, path, follow),
        };
        let flags = match follow {
            Follow::Yes => 0,
            Follow::No => libc::AT_SYMLINK_NOFOLLOW,
            Follow::UnlessFlag(index) => self.only_flags(
                index,
                libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH | extra,
            )?,
        };
        if flags & libc::AT_EMPTY_PATH != 0 && self.arguments[path as usize] == 0 {
            return Ok(Spot::Held(self.target.base(self.number(dir))?));
        }
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

    fn open(&mut self, base: Base, path: u8, how: OpenHow) -> Result<Action, Trouble> {
        let text = self.path(path)?;
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
        self.asked.push(path.to_string_lossy().into_owned());
        let (spot, trail) = walk_with_trail(self.target, Base(libc::AT_FDCWD), &path)?;
        Ok(Action::Bind(Binding {
            socket: socket as i32,
            spot,
            address: bytes,
            trail,
        }))
    }

    fn times(&self, index: u8, layout: TimeLayout) -> Result<Option<[Time; 2]>, Trouble> {
        let address = self.arguments[index as usize];
        if address == 0 {
            return Ok(None);
        }
        let word = if layout == TimeLayout::Nano64 {
            8
        } else {
            self.target.word()
        };
        let fields = if layout == TimeLayout::Seconds { 2 } else { 4 };
        let bytes = self.target.bytes(address, word * fields)?;
        let field = |index: usize| {
            let part = &bytes[index * word..(index + 1) * word];
            match part.try_into() {
                Ok(eight) => i64::from_le_bytes(eight),
                Err(_) => i64::from(i32::from_le_bytes(part.try_into().unwrap_or_default())),
            }
        };
        let pair = |at: usize| match layout {
            TimeLayout::Seconds => Ok(Time {
                seconds: field(at),
                nanoseconds: 0,
            }),
            TimeLayout::Micro => {
                let micro = field(2 * at + 1);
                if !(0..1_000_000).contains(&micro) {
                    return Err(Trouble::Fault(Errno::EINVAL));
                }
                Ok(Time {
                    seconds: field(2 * at),
                    nanoseconds: micro * 1000,
                })
            }
            TimeLayout::Nano => Ok(Time {
                seconds: field(2 * at),
                nanoseconds: field(2 * at + 1),
            }),
            TimeLayout::Nano64 => Ok(Time {
                seconds: field(2 * at),
                nanoseconds: field(2 * at + 1) & 0xFFFF_FFFF,
            }),
        };
        Ok(Some([pair(0)?, pair(1)?]))
    }

    fn attribute_name(&self, index: u8) -> Result<CString, Trouble> {
        self.attribute_name_at(self.arguments[index as usize])
    }

    fn attribute_name_at(&self, address: u64) -> Result<CString, Trouble> {
        match self.target.string(address) {
            Ok(name) if !name.is_empty() && name.count_bytes() <= XATTR_NAME_MAX => Ok(name),
            Ok(_) | Err(Trouble::Fault(Errno::ENAMETOOLONG)) => Err(Trouble::Fault(Errno::ERANGE)),
            Err(trouble) => Err(trouble),
        }
    }

    fn attribute_value(&self, address: u64, size: u64) -> Result<Vec<u8>, Trouble> {
        if size > XATTR_SIZE_MAX {
            return Err(Trouble::Fault(Errno::E2BIG));
        }
        self.target.bytes(address, size as usize)
    }

    fn set_attribute_at(&mut self) -> Result<Action, Trouble> {
        const ARGUMENTS: usize = 16; // struct xattr_args: value u64, size u32, flags u32
        let size = self.size(5) as usize;
        if !(ARGUMENTS..=4096).contains(&size) {
            return Err(Trouble::Fault(if size < ARGUMENTS {
                Errno::EINVAL
            } else {
                Errno::E2BIG
            }));
        }
        let bytes = self.target.bytes(self.arguments[4], size)?;
        if bytes[ARGUMENTS..].iter().any(|byte| *byte != 0) {
            return Err(Trouble::Fault(Errno::E2BIG));
        }
        let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let address = u64::from(half(0)) | u64::from(half(4)) << 32;
        let name = self.attribute_name(3)?;
        let value = self.attribute_value(address, u64::from(half(8)))?;
        let at = At::Path(Dir::Arg(0), 1, Follow::UnlessFlag(2));
        Ok(Action::Change(
            self.at(at, 0)?,
            Change::SetAttribute(name, value, half(12) as i32),
        ))
    }

    fn control(&mut self) -> Result<Action, Trouble> {
        let number = self.arguments[1] as u32;
        match request(self.arguments[1]) {
            None => Ok(Action::Pass),
            Some(Request::Forbidden) => Ok(Action::Forbidden),
            Some(Request::InodeFlags(size)) => {
                let object = self.descriptor(0)?;
                if !matches!(object.stat.kind(), libc::S_IFREG | libc::S_IFDIR) {
                    return Err(Trouble::Fault(Errno::ENOTTY));
                }
                let bytes = self.target.bytes(self.arguments[2], size)?;
                Ok(Action::Change(
                    Spot::Held(object),
                    Change::Control(self.int(0), number, bytes),
                ))
            }
        }
    }
}

/// What open(2) makes of its arguments: bits that it does not know are dropped, where openat2(2) would refuse them
/// (fs/open.c: build_open_how).
fn plain_how(flags: i32, mode: u64) -> OpenHow {
    const VALID: u64 = 0o37_777_703;
    let flags = flags as u32 as u64 & VALID;
    let makes = flags & (libc::O_CREAT as u64 | NAMELESS) != 0;
    OpenHow {
        flags,
        mode: if makes { mode & 0o7777 } else { 0 },
        resolve: 0,
    }
}

/// How the supervisor opens by itself: never through a link, never taking a terminal. The flags that fcntl(2) shows
/// afterwards are the caller's.
#[must_use]
pub fn careful(how: OpenHow) -> OpenHow {
    OpenHow {
        flags: how.flags | libc::O_NOCTTY as u64,
        mode: how.mode,
        resolve: RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    }
}
