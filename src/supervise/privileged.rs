//! Programs that gain rights by being executed (setuid, setgid, file capabilities), which under guard none does as an
//! ordinary user. They fail in their own ways, often without a hint; so guard says once why.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::calls::{Architecture, Dir};
use super::resolve::Object;
use super::target::{Status, Target, UserNamespace};
use crate::sys::file::{self, OpenHow, RESOLVE_NO_MAGICLINKS, Stat};
use crate::sys::metadata;
use crate::sys::seccomp::Notification;

/// The rights that a program would gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gain {
    User(u32),
    Group(u32),
    Capabilities,
}

impl Gain {
    /// What executing a file gives; most give nothing.
    fn of(stat: &Stat, has_capabilities: impl FnOnce() -> bool) -> Option<Self> {
        // Without the execution bit of the group, the bit means something else (inode(7)).
        const SETGID: u32 = libc::S_ISGID | libc::S_IXGRP;
        if stat.kind() != libc::S_IFREG || stat.mode & 0o111 == 0 {
            None
        } else if stat.mode & libc::S_ISUID != 0 {
            Some(Self::User(stat.uid))
        } else if stat.mode & SETGID == SETGID {
            Some(Self::Group(stat.gid))
        } else {
            has_capabilities().then_some(Self::Capabilities)
        }
    }

    /// Whether `status`'s process does not have it already.
    fn is_news_to(self, status: &Status) -> bool {
        match self {
            Self::User(user) => user != status.user,
            Self::Group(group) => group != status.group,
            Self::Capabilities => true,
        }
    }

    fn words(self) -> String {
        match self {
            Self::User(0) => "the rights of root".into(),
            Self::User(user) => format!("the rights of user {user}"),
            Self::Group(group) => format!("the rights of group {group}"),
            Self::Capabilities => "its capabilities".into(),
        }
    }
}

/// Says once that a program gains nothing here.
pub struct Privileged {
    tell: Box<dyn Fn(String) + Send + Sync>,
    told: AtomicBool,
}

impl Privileged {
    /// `tell` is told in words.
    #[must_use]
    pub fn new(tell: Box<dyn Fn(String) + Send + Sync>) -> Self {
        Self {
            tell,
            told: AtomicBool::new(false),
        }
    }

    /// Looks at the program that a call executes. Carelessly: nothing depends on it but what is said.
    pub(super) fn look(&self, notification: &Notification, dir: Dir, path: u8) {
        if self.told.load(Ordering::Relaxed) {
            return;
        }
        let Some(target) = Architecture::from_audit(notification.architecture)
            .and_then(|it| Target::new(notification.tid as i32, it).ok())
        else {
            return;
        };
        let Some(program) = program(&target, &notification.arguments, dir, path) else {
            return;
        };
        let Some(gain) = gain(&target, &program) else {
            return;
        };
        if self.told.swap(true, Ordering::Relaxed) {
            return;
        }
        let path = file::path_of(program.fd.as_fd()).unwrap_or_default();
        let path = PathBuf::from(OsStr::from_bytes(&path));
        (self.tell)(format!(
            "{} cannot gain {} here: to guard an ordinary user's command guard has to set no_new_privs, with which no program \
             gains rights by being executed; if it needs them, run it outside guard",
            path.display(),
            gain.words()
        ));
    }
}

/// The program's file, as it lies from here: where the target has another root, that may be another file.
fn program(target: &Target, arguments: &[u64; 6], dir: Dir, path: u8) -> Option<Object> {
    let path = target.string(arguments[path as usize]).ok()?;
    let how = OpenHow {
        flags: libc::O_PATH as u64,
        mode: 0,
        resolve: RESOLVE_NO_MAGICLINKS,
    };
    let number = match dir {
        Dir::Cwd => libc::AT_FDCWD,
        Dir::Arg(index) => arguments[index as usize] as i32,
    };
    let opened = if path.as_bytes().first() == Some(&b'/') {
        file::open_here(&path, how)
    } else {
        let base = target.base(number).ok()?;
        if path.is_empty() {
            return Some(base);
        }
        file::open(base.fd.as_fd(), &path, how)
    };
    Object::new(opened.ok()?).ok()
}

/// What the target would gain by executing it, if guard were not there. Almost always nothing, so what costs most comes
/// last.
fn gain(target: &Target, program: &Object) -> Option<Gain> {
    let file = program.fd.as_fd();
    let gain = Gain::of(&program.stat, || {
        metadata::has_attribute(file, c"security.capability")
    })?;
    let would = gain.is_news_to(target.status().ok()?)
        && !metadata::is_nosuid(file)
        && target.has_our_root()
        && target.user_namespace() == UserNamespace::Ours;
    would.then_some(gain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_gives() {
        use Gain::{Capabilities, Group, User};
        let executable = libc::S_IFREG | 0o755;
        for (mode, capable, gives) in [
            (executable, false, None),
            (executable, true, Some(Capabilities)),
            (executable | 0o4000, true, Some(User(7))),
            (executable | 0o6000, false, Some(User(7))),
            (executable | 0o2000, false, Some(Group(8))),
            (libc::S_IFREG | 0o2745, false, None),
            (libc::S_IFREG | 0o4644, true, None),
            (libc::S_IFDIR | 0o6755, true, None),
        ] {
            let stat = Stat {
                mode,
                uid: 7,
                gid: 8,
                ..Stat::default()
            };
            assert_eq!(Gain::of(&stat, || capable), gives, "{mode:o}");
        }
    }
}
