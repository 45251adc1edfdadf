//! The shells that agents are pointed at: small scripts that run the real one under guard.
//!
//! Each names the guard that wrote it, and runs nothing where that is gone. None of them asks whether it is under guard
//! already, for anybody can set a variable. But each takes its own way out of what it starts, which is under guard as a
//! whole: a script that starts scripts is not wrapped again and again.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::file;
use super::hook::quote;
use super::{PlaceError, Surroundings, WrapError};

/// The names of the scripts. An agent may ignore a shell whose name has no `bash` in it.
pub const SHELL: &str = "bash";
/// A command that is given the whole command line as one argument.
pub const PREFIX: &str = "prefix";
/// What bash reads before anything else, by `BASH_ENV`.
pub const BASH_ENV: &str = "bash-env.sh";

const ALL: [(&str, u32); 3] = [(SHELL, 0o755), (PREFIX, 0o755), (BASH_ENV, 0o644)];

/// The text of one of them.
fn script(name: &str, guard: &str) -> String {
    let (first, run) = match name {
        SHELL => ("#!/bin/sh\n", ONCE_BY_PATH),
        PREFIX => ("#!/bin/sh\n", "exec \"$guard\" -- /bin/bash -c \"$*\"\n"),
        _ => ("", BEGIN_AGAIN),
    };
    format!(
        "{first}# Written by `guard agent wrap`.\n\
         guard={}\n\
         if ! [ -f \"$guard\" ] || ! [ -x \"$guard\" ] || ! [ -s \"$guard\" ]; then\n\
         \u{20} printf 'guard: %s is not there any more; the command was not run. `guard agent wrap` mends that\\n' \"$guard\" >&2\n\
         \u{20} exit 127\n\
         fi\n{run}",
        quote(guard)
    )
}

/// Without the folder of this script in PATH, where it may have been found.
const ONCE_BY_PATH: &str = "\
here=${0%/*}
case :$PATH: in *:\"$here\":*)
  rest=$PATH: PATH=
  while [ -n \"$rest\" ]; do
    [ \"${rest%%:*}\" = \"$here\" ] || PATH=$PATH:${rest%%:*}
    rest=${rest#*:}
  done
  PATH=${PATH#:}
esac
exec \"$guard\" -- /bin/bash \"$@\"
";

/// The same bash once more, under guard, with what it was started for: a command, a script, or its standard input.
const BEGIN_AGAIN: &str = "\
unset BASH_ENV
if [ -n \"${BASH_EXECUTION_STRING+x}\" ]; then
  exec \"$guard\" -- \"$BASH\" -c \"$BASH_EXECUTION_STRING\" \"$0\" \"$@\"
elif [ -f \"$0\" ]; then
  exec \"$guard\" -- \"$BASH\" \"$0\" \"$@\"
fi
exec \"$guard\" -- \"$BASH\" -s -- \"$@\"
";

/// Writes those that are missing or differ.
pub fn install(here: &Surroundings<'_>) -> Result<(), WrapError> {
    let folder = here.shells();
    let guard = Surroundings::text(&here.guard)?;
    for (name, mode) in ALL {
        let path = folder.join(name);
        let text = script(name, guard);
        let same = std::fs::read(&path).is_ok_and(|old| old == text.as_bytes());
        let has_mode = path
            .metadata()
            .is_ok_and(|data| data.permissions().mode() & 0o777 == mode);
        if !same || !has_mode {
            file::write(&path, text.as_bytes(), mode)?;
        }
    }
    Ok(())
}

/// The guard that a script runs, if it is one of these.
pub fn guard_of(path: &Path) -> io::Result<Option<String>> {
    let text = std::fs::read_to_string(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix("guard='"));
    let guard = line
        .and_then(|line| line.strip_suffix('\''))
        .map(|guard| guard.replace(r"'\''", "'"));
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    Ok(guard.filter(|guard| text == script(name, guard)))
}

/// The path of a script as text.
pub fn path(here: &Surroundings<'_>, name: &str) -> Result<String, PlaceError> {
    Ok(Surroundings::text(&here.shells().join(name))?.to_owned())
}
