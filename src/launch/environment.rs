//! What a command finds in its environment: what guard's caller has there, and the signs by which it can tell that it is
//! guarded.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

/// Names the door of the guard around a process, or is `1` where it has none.
pub const ACTIVE: &str = "GUARD_ACTIVE";
/// The id of the run, as `guard log` takes it.
pub const RUN: &str = "GUARD_RUN";

/// Words `NAME=value`.
pub struct Environment {
    words: Vec<CString>,
    run: String,
}

impl Environment {
    /// What the caller has. Made before there are other processes, each of which would pay for the memory.
    pub fn of_the_caller(run: &str) -> Self {
        let inherited = std::env::vars_os();
        let mut words = Vec::with_capacity(inherited.size_hint().0 + 2);
        words.extend(inherited.filter_map(|(key, value)| {
            CString::new([key.as_bytes(), b"=", value.as_bytes()].concat()).ok()
        }));
        Self {
            words,
            run: run.to_owned(),
        }
    }

    /// Says that this guard answers; `door` is where guards inside find it. Inside another guard that one's signs stay.
    pub fn mark(&mut self, door: Option<&str>) {
        for (name, value) in [(ACTIVE, door.unwrap_or("1")), (RUN, &self.run)] {
            self.words.retain(|word| {
                let value = word.to_bytes().strip_prefix(name.as_bytes());
                value.is_none_or(|value| value.first() != Some(&b'='))
            });
            self.words.extend(CString::new(format!("{name}={value}")));
        }
    }

    /// As execve(2) takes them.
    pub fn words(&self) -> &[CString] {
        &self.words
    }
}
