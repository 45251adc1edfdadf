//! Acting as the target: a call that the supervisor does is done with the caller's user, groups and capabilities, or not
//! at all. The supervisor never lends its own.

use super::target::{Status, Target, Trouble, UserNamespace};
use crate::sys::credentials::{self, Capabilities};
use crate::sys::{Errno, process};

/// The supervisor's own credentials for file access.
#[derive(Clone, Debug)]
pub struct Own {
    user: u32,
    group: u32,
    groups: Vec<u32>,
    capabilities: Capabilities,
}

const CAP_SETGID: u64 = 1 << 6;
const CAP_SETUID: u64 = 1 << 7;
/// Looking into any process.
pub const CAP_SYS_PTRACE: u64 = 1 << 19;

impl Own {
    /// Reads them.
    ///
    /// # Errors
    /// When procfs cannot be read.
    pub fn read() -> Result<Self, Trouble> {
        let me = std::process::id() as i32;
        let status = Target::new(me, super::calls::Architecture::NATIVE[0])?
            .status()?
            .clone();
        let capabilities = credentials::capabilities().map_err(Trouble::Own)?;
        Ok(Self {
            user: status.user,
            group: status.group,
            groups: sorted(status.groups),
            capabilities,
        })
    }

    /// Whether what runs below could have become another user: only where the supervisor could too.
    #[must_use]
    pub fn can_change(&self) -> bool {
        self.capabilities.effective & (CAP_SETGID | CAP_SETUID) != 0
    }

    /// Takes on what `target` acts as, until the value is dropped. Of the supervisor's own capabilities, `kept` stay.
    ///
    /// # Errors
    /// `EPERM` when that is not possible.
    pub fn act_as(
        &self,
        target: &Target,
        status: &Status,
        kept: u64,
    ) -> Result<Acting<'_>, Trouble> {
        let theirs = sorted(status.groups.clone());
        let same_ids =
            status.user == self.user && status.group == self.group && theirs == self.groups;
        if same_ids && status.effective == self.capabilities.effective {
            return Ok(Acting { own: None });
        }
        // Capabilities of a process in another user namespace mean nothing for our files.
        let effective = match target.user_namespace() {
            UserNamespace::Ours => status.effective,
            UserNamespace::Another => 0,
        };
        if same_ids && effective == self.capabilities.effective {
            return Ok(Acting { own: None });
        }
        if !self.can_change() {
            return Err(Trouble::Own(Errno::EPERM));
        }
        let acting = Acting { own: Some(self) };
        if theirs != self.groups {
            credentials::set_groups(&theirs).map_err(Trouble::Own)?;
        }
        let group = credentials::set_file_group(status.group);
        let user = credentials::set_file_user(status.user);
        if (user, group) != (status.user, status.group) {
            return Err(Trouble::Own(Errno::EPERM));
        }
        let wanted = Capabilities {
            effective: effective & self.capabilities.permitted | kept & self.capabilities.effective,
            ..self.capabilities
        };
        credentials::set_capabilities(wanted).map_err(Trouble::Own)?;
        Ok(acting)
    }
}

fn sorted(mut groups: Vec<u32>) -> Vec<u32> {
    groups.sort_unstable();
    groups
}

/// While it lives, the thread acts as somebody else.
#[derive(Debug)]
pub struct Acting<'a> {
    own: Option<&'a Own>,
}

impl Drop for Acting<'_> {
    fn drop(&mut self) {
        let Some(own) = self.own else { return };
        let back = || -> Result<bool, Errno> {
            credentials::set_capabilities(own.capabilities)?;
            let user = credentials::set_file_user(own.user);
            let group = credentials::set_file_group(own.group);
            credentials::set_groups(&own.groups)?;
            credentials::set_capabilities(own.capabilities)?;
            Ok((user, group) == (own.user, own.group))
        };
        if back() != Ok(true) {
            // A thread that stays somebody else would act wrongly from now on; without a supervisor the wall holds.
            std::process::abort();
        }
    }
}

/// Gives the thread a umask and working directory of its own, as every thread that performs calls needs.
///
/// # Errors
/// As unshare(2).
pub fn prepare_thread() -> Result<(), Errno> {
    process::unshare_file_state()
}
