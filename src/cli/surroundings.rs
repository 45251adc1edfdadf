//! What a run's record says about who runs it and where, and where guard keeps its own state.

use std::env;
use std::fs;
use std::path::PathBuf;

use super::words::Homes;

/// The home directory: `$HOME` if that is a directory, else what the user database says; the same choice as a plan's.
pub fn home() -> Option<PathBuf> {
    let (asked, database) = (absolute("HOME"), database_home());
    let there = [&asked, &database]
        .into_iter()
        .flatten()
        .find(|path| path.is_dir())
        .cloned();
    there.or(asked).or(database)
}

/// How to show paths: that home, and what it really is, as `~`.
pub fn homes() -> Homes {
    home().map(|home| Homes::new(&home)).unwrap_or_default()
}

/// The home directory in the user database.
pub fn database_home() -> Option<PathBuf> {
    Some(PathBuf::from(account()?.split(':').nth(5)?))
}

/// Where records are: `$XDG_STATE_HOME/guard/runs`, else below `~/.local/state`.
pub fn runs() -> Option<PathBuf> {
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(home()?.join(".local/state")));
    Some(state?.join("guard/runs"))
}

/// An environment variable that holds an absolute path; others are not to be used (XDG base directories).
fn absolute(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// The real user id.
pub fn uid() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// The user's name, where the user has one.
pub fn user() -> Option<String> {
    Some(account()?.split(':').next()?.to_owned())
}

/// The user's line in the user database.
fn account() -> Option<String> {
    let uid = uid()?.to_string();
    let all = String::from_utf8_lossy(&fs::read("/etc/passwd").ok()?).into_owned();
    all.lines()
        .find(|line| line.split(':').nth(2) == Some(&uid))
        .map(str::to_owned)
}

/// The kernel's release.
pub fn kernel() -> String {
    of_kernel("osrelease")
}

/// The machine's name.
pub fn host() -> String {
    of_kernel("hostname")
}

fn of_kernel(name: &str) -> String {
    fs::read_to_string(format!("/proc/sys/kernel/{name}"))
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}
