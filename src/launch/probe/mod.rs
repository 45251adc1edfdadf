//! What this machine can enforce, each capability proved by trying it in a child process that has a deadline.

mod child;
mod files;
mod processes;
mod session;
mod supervising;

use std::path::Path;
use std::time::Duration;

use super::advice;
use super::inner::Outer;
use crate::sys::process;
use child::{Child, Ending};

/// One thing that guard needs or can use.
#[derive(Clone, Debug)]
pub struct Capability {
    /// Its name.
    pub name: &'static str,
    /// A detail, or what is missing and what to do.
    pub works: Result<String, String>,
    /// Whether guard can do without.
    pub needed: Need,
}

/// Whether guard can do without something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It cannot.
    Required,
    /// It can.
    Wanted,
}

/// A detail, or what is missing and what to do.
type Verdict = Result<String, String>;

/// Time for one try, with all that it starts.
const LIMIT: Duration = Duration::from_secs(5);

/// Time for what a try starts itself, so that it can still tell.
const INNER_LIMIT: Duration = Duration::from_secs(4);

/// Something that a child of its own tries.
struct Try {
    /// What it proves, in the order of [`Report::row`].
    rows: &'static [(&'static str, Need)],
    /// Does it, in the folder given.
    job: fn(&Report<'_>, &Path),
    /// What it needs of the process that it runs in.
    where_to: Where,
}

/// Where something can be tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// Anywhere.
    Everywhere,
    /// Where no supervisor is in charge yet.
    OutsideOfGuard,
}

use Need::{Required, Wanted};

const TRIES: &[Try] = &[
    Try {
        rows: &[("openat2", Required)],
        job: files::try_openat2,
        where_to: Where::Everywhere,
    },
    Try {
        rows: &[("Landlock", Required)],
        job: files::try_landlock,
        where_to: Where::Everywhere,
    },
    Try {
        rows: &[("process descriptors", Required)],
        job: processes::try_process_descriptors,
        where_to: Where::Everywhere,
    },
    Try {
        rows: supervising::ROWS,
        job: supervising::try_supervising,
        where_to: Where::OutsideOfGuard,
    },
    #[cfg(target_arch = "x86_64")]
    Try {
        rows: &[("32-bit calls", Required)],
        job: processes::try_32_bit_calls,
        where_to: Where::OutsideOfGuard,
    },
    Try {
        rows: &[("mount ids, birth times", Wanted)],
        job: files::try_statx,
        where_to: Where::Everywhere,
    },
];

/// Tries everything.
#[must_use]
pub fn probe() -> Vec<Capability> {
    if !process::sees_itself() {
        return vec![Capability {
            name: "/proc",
            works: Err(advice::NO_PROCFS.into()),
            needed: Required,
        }];
    }
    let folder = match files::Scratch::new() {
        Ok(folder) => folder,
        Err(why) => {
            return vec![Capability {
                name: "a temporary folder",
                works: Err(why),
                needed: Required,
            }];
        }
    };
    let outer = Outer::find().map(|_| Capability {
        name: "another guard",
        works: Ok(
            "it is in charge of this process, takes this one's policy and answers for both".into(),
        ),
        needed: Required,
    });
    let tries = TRIES
        .iter()
        .filter(|one| outer.is_none() || one.where_to == Where::Everywhere);
    let tried: Vec<Capability> = tries.flat_map(|one| one.run(folder.path())).collect();
    tried.into_iter().chain(outer).collect()
}

impl Try {
    fn run(&self, folder: &Path) -> Vec<Capability> {
        let mut verdicts: Vec<Option<Verdict>> = vec![None; self.rows.len()];
        let ending = self.collect(folder, &mut verdicts);
        let failed = verdicts
            .iter()
            .position(|verdict| matches!(verdict, Some(Err(_))));
        let why_not = match ending {
            Ok(Ending::Itself) => {
                format!("not tried: it needs \"{}\"", self.rows[failed.unwrap_or(0)].0)
            }
            Ok(Ending::Killed(libc::SIGSYS)) => {
                "a system call filter ends processes that try it: start guard outside of that sandbox, or let its filter \
                 allow this"
                    .into()
            }
            Ok(Ending::Killed(signal)) => {
                format!("the try was ended by signal {signal}: see the kernel's log (dmesg) for who sent it")
            }
            Ok(Ending::TooLate) => format!(
                "the try did not end within {} s: something holds up its system calls, such as a tracer or another \
                 supervisor; start guard outside of it",
                LIMIT.as_secs()
            ),
            Err(why) => why,
        };
        let rows = self.rows.iter().zip(verdicts);
        rows.map(|((name, needed), verdict)| Capability {
            name,
            works: verdict.unwrap_or_else(|| Err(why_not.clone())),
            needed: *needed,
        })
        .collect()
    }

    fn collect(&self, folder: &Path, verdicts: &mut [Option<Verdict>]) -> Result<Ending, String> {
        let child = Child::start(LIMIT, |socket| (self.job)(&Report(socket), folder))
            .map_err(|errno| format!("cannot start a process to try it: {errno}"))?;
        while let Ok(Some(bytes)) = child.bytes() {
            if let Some((row, verdict)) = decode(&bytes)
                && let Some(place) = verdicts.get_mut(row)
            {
                *place = Some(verdict);
            }
        }
        Ok(child.end())
    }
}

/// Tells the parent what came of a try.
struct Report<'a>(child::Socket<'a>);

impl Report<'_> {
    /// For the row of that index.
    fn row(&self, row: usize, verdict: Verdict) {
        let (sign, text) = match &verdict {
            Ok(text) => (b'y', text),
            Err(text) => (b'n', text),
        };
        let text = text.as_bytes();
        child::send(
            self.0,
            &[&[row as u8, sign], &text[..text.len().min(4000)]].concat(),
        );
    }
}

fn decode(bytes: &[u8]) -> Option<(usize, Verdict)> {
    let [row, sign, text @ ..] = bytes else {
        return None;
    };
    let text = String::from_utf8_lossy(text).into_owned();
    let verdict = if *sign == b'y' { Ok(text) } else { Err(text) };
    Some((usize::from(*row), verdict))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_name_of_its_own() {
        let mut names: Vec<_> = TRIES
            .iter()
            .flat_map(|one| one.rows)
            .map(|(name, _)| *name)
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn verdicts_arrive_as_they_were_sent() {
        assert_eq!(decode(b"\x02yfine"), Some((2, Ok("fine".into()))));
        assert_eq!(decode(b"\x00n"), Some((0, Err(String::new()))));
        assert_eq!(decode(b"\x00"), None);
    }
}
