//! From `--policy` and what the machine says to a plan.

use std::env;
use std::path::PathBuf;

use super::{Failure, surroundings};
use crate::launch::{Found, Resolve};
use crate::plan::{Host, Plan};
use crate::policy::{
    Destination, Level, OnAttempt, Policy, Recording, Rule, Search, discover, of_workspace,
};

/// A policy met with this machine.
pub struct Loaded {
    /// What is protected.
    pub plan: Plan,
    /// What a refusal does to the exit status.
    pub on_attempt: OnAttempt,
    /// What records hold, and which stay. Not the workspace's own policy says it: what a program may write could else remove
    /// records.
    pub record: Recording,
    /// Where else its events go; the same holds.
    pub also: Vec<Destination>,
    /// Finds the workspace of a command that goes to one in the home directory, where guard was not started in one.
    pub workspace: Option<Resolve>,
}

/// What is asked of a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To run a command.
    Run,
    /// To say what the policy means here, rules included that mean nothing.
    Explain,
}

/// Finds, reads and resolves the policy; the workspace's own with it.
pub fn load(asked: Option<&str>, purpose: Purpose) -> Result<Loaded, Failure> {
    let binary = env::current_exe().ok();
    let host = Host::gather(
        env::vars_os(),
        working_directory()?,
        binary,
        surroundings::database_home(),
    )?;
    let home = host.home()?;
    let workspace = host.workspace();
    let found = discover(&Search {
        asked,
        env: &|name| env::var_os(name),
        home: Some(&home.path),
        workspace: Some(&workspace),
    })?;
    let resolve = match purpose {
        Purpose::Run => Plan::resolve_what_holds,
        Purpose::Explain => Plan::resolve,
    };
    let plan = resolve(&found.base, found.workspace.as_ref(), &host)?;
    let outside = !workspace
        .canonicalize()
        .unwrap_or(workspace)
        .starts_with(&plan.home);
    let home = plan.home.clone();
    let closed = plan.closed_in_workspace().filter(|_| outside);
    Ok(Loaded {
        on_attempt: plan.on_attempt,
        record: found.base.record.unwrap_or_default(),
        also: found.base.also.clone(),
        plan,
        workspace: closed.map(|closed| resolve_elsewhere(found.base, closed, host, home)),
    })
}

/// Resolves the same policy for a program that starts in a repository below `home`. What the workspace in which guard was
/// started closes stays closed.
fn resolve_elsewhere(mut policy: Policy, closed: Vec<Rule>, host: Host, home: PathBuf) -> Resolve {
    policy.rules.extend(closed);
    Box::new(move |dir| {
        let cwd = dir.canonicalize().ok()?;
        let host = Host {
            cwd,
            ..host.clone()
        };
        let top = host.workspace();
        let is_repository = top.starts_with(&home) && top != home && top.join(".git").exists();
        let own = is_repository.then(|| of_workspace(&policy, &top))?;
        let plan = Plan::resolve_what_holds(&policy, own.ok()?.as_ref(), &host).ok()?;
        let opened = plan.lookup(&top).level == Level::Writable;
        opened.then_some(Found { top, plan })
    })
}

/// The working directory.
pub fn working_directory() -> Result<PathBuf, Failure> {
    env::current_dir()
        .map_err(|error| Failure::Words(format!("the working directory cannot be found: {error}")))
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::plan::Mounts;
    use crate::policy::parse;

    /// A home directory of its own for plans to be made for.
    pub(crate) struct Machine(tempfile::TempDir);

    impl Machine {
        pub(crate) fn new(folders: &[&str]) -> Self {
            let home = tempfile::tempdir().unwrap();
            for folder in folders {
                fs::create_dir_all(home.path().join(folder)).unwrap();
            }
            Self(home)
        }

        pub(crate) fn home(&self) -> &Path {
            self.0.path()
        }

        pub(crate) fn plan(&self, text: &str) -> Plan {
            let host = Host {
                env: [("HOME".into(), self.home().into())].into(),
                cwd: self.home().join("project"),
                guard_binary: None,
                passwd_home: None,
                mounts: Mounts::default(),
            };
            Plan::resolve(&parse(text, "p.toml").unwrap(), None, &host).unwrap()
        }
    }
}
