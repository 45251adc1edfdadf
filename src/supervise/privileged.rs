//! Setuid programs, which under guard run with no more rights than an ordinary user has. They fail in their own ways, often
//! without a hint; so guard says once why.
//!
//! Nothing is said of setgid programs and of file capabilities: those that people meet (ssh-agent, ping) do without.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::calls::{Architecture, Dir};
use super::resolve::Object;
use super::target::{Target, UserNamespace};
use crate::sys::file::{self, OpenHow, RESOLVE_NO_MAGICLINKS, Stat};
use crate::sys::metadata;
use crate::sys::seccomp::Notification;

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
        if !gains_rights(&target, &program) || self.told.swap(true, Ordering::Relaxed) {
            return;
        }
        let path = file::path_of(program.fd.as_fd()).unwrap_or_default();
        let path = PathBuf::from(OsStr::from_bytes(&path));
        let owner = match program.stat.uid {
            0 => "root".into(),
            user => format!("user {user}"),
        };
        (self.tell)(format!(
            "{} cannot gain the rights of {owner} here: to guard an ordinary user's command guard has to set no_new_privs, with which no program \
             gains rights by being executed; if it needs them, run it outside guard",
            path.display()
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

/// Whether the target would gain rights by executing it, if guard were not there. Almost never, so what costs most comes
/// last.
fn gains_rights(target: &Target, program: &Object) -> bool {
    let stat = &program.stat;
    is_setuid(stat)
        && target.status().is_ok_and(|status| status.user != stat.uid)
        && !metadata::is_nosuid(program.fd.as_fd())
        && target.has_our_root()
        && target.user_namespace() == UserNamespace::Ours
}

fn is_setuid(stat: &Stat) -> bool {
    stat.kind() == libc::S_IFREG && stat.mode & libc::S_ISUID != 0 && stat.mode & 0o111 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setuid_programs() {
        for (mode, setuid) in [
            (libc::S_IFREG | 0o755, false),
            (libc::S_IFREG | 0o2755, false),
            (libc::S_IFREG | 0o4755, true),
            (libc::S_IFREG | 0o4010, true),
            (libc::S_IFREG | 0o4644, false),
            (libc::S_IFDIR | 0o4755, false),
        ] {
            let stat = Stat {
                mode,
                ..Stat::default()
            };
            assert_eq!(is_setuid(&stat), setuid, "{mode:o}");
        }
    }
}
