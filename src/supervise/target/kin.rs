//! Other processes, as far as the target may look into them through procfs.

use std::os::unix::fs::MetadataExt;

use super::{Status, Target};
use crate::supervise::acting::CAP_SYS_PTRACE;
use crate::supervise::is_descendant;

impl Target {
    /// Whether the target may follow the links that procfs shows of process `pid`. Of a process outside of this run it may
    /// not: the wall is between them. Else as kernel/ptrace.c has it (`__ptrace_may_access`), and no where it says more
    /// than can be told from here: following such a link for the target lends it nothing.
    #[must_use]
    pub fn may_look_into(&self, pid: i32) -> bool {
        let Ok(own) = self.status() else {
            return false;
        };
        let Some(other) = std::fs::read_to_string(format!("/proc/{pid}/status"))
            .ok()
            .and_then(|text| Status::parse(&text))
        else {
            return false;
        };
        let namespace = |pid| std::fs::read_link(format!("/proc/{pid}/ns/user")).ok();
        // What may not be dumped belongs to somebody else there.
        let shown_as = std::fs::metadata(format!("/proc/{pid}")).map(|meta| meta.uid());
        let alike = other.is_one
            && (other.user, other.group) == (own.user, own.group)
            && other.permitted & !own.effective == 0
            && shown_as.is_ok_and(|user| user == own.user);
        is_descendant(pid)
            && namespace(self.tid).is_some_and(|own| Some(own) == namespace(pid))
            && (own.effective & CAP_SYS_PTRACE != 0 || alike)
    }
}
