//! Calls that change mode, owner, times, attributes or flags of what exists.

use std::ffi::CString;
use std::os::fd::AsFd;

use super::Observer;
use crate::supervise::attempt::{Action, Change};
use crate::supervise::calls::{At, Dir, Follow, Kind, Request, TimeLayout, request};
use crate::supervise::resolve::Spot;
use crate::supervise::target::Trouble;
use crate::sys::Errno;
use crate::sys::metadata::{Time, control_nothing};

const XATTR_NAME_MAX: usize = 255;
const XATTR_SIZE_MAX: u64 = 65_536;

impl Observer<'_> {
    /// What such a call would do.
    pub(super) fn metadata(&mut self, kind: Kind) -> Result<Action, Trouble> {
        match kind {
            Kind::Mode(at, mode) => {
                let mode = self.int(mode) as u32 & 0o7777;
                Ok(Action::Change(self.at(at)?, Change::Mode(mode)))
            }
            Kind::Owner(at, user, group) => {
                let (user, group) = (self.int(user) as u32, self.int(group) as u32);
                self.owner(at, user, group)
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
                self.owner(at, user, group)
            }
            Kind::Times(at, times, layout) => {
                let times = self.times(times, layout)?;
                let at = match at {
                    At::Path(Dir::Arg(dir), path, _)
                        if self.arguments[path as usize] == 0
                            && self.int(dir) != libc::AT_FDCWD =>
                    {
                        At::Descriptor(dir)
                    }
                    other => other,
                };
                Ok(Action::Change(self.at(at)?, Change::Times(times)))
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
                        self.at(At::Descriptor(0))?,
                        Change::Times(times),
                    ));
                }
                let at = At::Path(Dir::Arg(0), 1, Follow::UnlessFlag(3));
                Ok(Action::Change(self.at(at)?, Change::Times(times)))
            }
            Kind::SetAttribute(at, name) => {
                let flags = attribute_flags(self.int(name + 3))?;
                let name_text = self.attribute_name(name)?;
                let at_value = self.arguments[name as usize + 1];
                let value = self.attribute_value(at_value, self.size(name + 2))?;
                Ok(Action::Change(
                    self.at(at)?,
                    Change::SetAttribute(name_text, value, flags),
                ))
            }
            Kind::SetAttributeAt => self.set_attribute_at(),
            Kind::RemoveAttribute(at, name) => {
                if let At::Path(_, _, Follow::UnlessFlag(index)) = at {
                    self.place_flags(index)?;
                }
                let name = self.attribute_name(name)?;
                let spot = self.at_or_itself(at)?;
                Ok(Action::Change(spot, Change::RemoveAttribute(name)))
            }
            Kind::FileAttributes => {
                let size = self.size(3);
                if !(24..=4096).contains(&size) {
                    return Err(Trouble::Fault(Errno::EINVAL));
                }
                let attributes = self.target.bytes(self.arguments[2], size as usize)?;
                let at = At::Path(Dir::Arg(0), 1, Follow::UnlessFlag(4));
                Ok(Action::Change(
                    self.at_or_itself(at)?,
                    Change::FileAttributes(attributes),
                ))
            }
            Kind::Control => self.control(),
            _ => Err(Trouble::Own(Errno::ENOSYS)),
        }
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
        self.place_flags(2)?;
        let flags = attribute_flags(half(12) as i32)?;
        let name = self.attribute_name(3)?;
        let value = self.attribute_value(address, u64::from(half(8)))?;
        let at = At::Path(Dir::Arg(0), 1, Follow::UnlessFlag(2));
        Ok(Action::Change(
            self.at_or_itself(at)?,
            Change::SetAttribute(name, value, flags),
        ))
    }

    fn control(&mut self) -> Result<Action, Trouble> {
        let number = self.arguments[1] as u32;
        match request(self.arguments[1]) {
            None => Ok(Action::Pass),
            Some(Request::Forbidden) => Ok(Action::Forbidden),
            Some(Request::Special) => self.special(number),
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

    /// Where the file system does not know the request, the program hears that from it and goes another way, as it would
    /// without guard.
    fn special(&mut self, number: u32) -> Result<Action, Trouble> {
        let object = self.descriptor(0)?;
        if !matches!(object.stat.kind(), libc::S_IFREG | libc::S_IFDIR) {
            return Ok(Action::Forbidden);
        }
        let Ok(own) = self.target.take(self.int(0), &object) else {
            return Ok(Action::Forbidden);
        };
        match control_nothing(own.as_fd(), number) {
            Err(errno @ (Errno::ENOTTY | Errno::EOPNOTSUPP)) => Err(Trouble::Fault(errno)),
            _ => Ok(Action::Forbidden),
        }
    }

    fn owner(&mut self, at: At, user: u32, group: u32) -> Result<Action, Trouble> {
        let spot = self.at(at)?;
        let (user, group) = (self.target.user(user)?, self.target.group(group)?);
        Ok(Action::Change(spot, Change::Owner(user, group)))
    }
}

/// The kernel looks at the flags of setxattr(2) before anything else (fs/xattr.c: setxattr_copy).
fn attribute_flags(flags: i32) -> Result<i32, Trouble> {
    if flags & !(libc::XATTR_CREATE | libc::XATTR_REPLACE) == 0 {
        Ok(flags)
    } else {
        Err(Trouble::Fault(Errno::EINVAL))
    }
}
