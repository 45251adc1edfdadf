//! Where the calls are made: on either side of the wall, and at each level among what the run itself made.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;

use super::support::Home;
use super::support::snapshot::set_mtime;

/// Who made the folder that the calls are made in, and what is in it at first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// It was all there before.
    Before,
    /// The run made it.
    ByRun,
}

/// A folder in the home, and the policy that holds.
pub struct Place {
    pub name: &'static str,
    /// The lines of the policy's table; none: the one that these tests have anyway.
    pub policy: Option<&'static str>,
    /// In the home; made before if it is not there.
    pub dir: &'static str,
    pub made: Made,
    /// Whether the calls are made in the folder itself, not in one made below it. It may not be changed then.
    pub itself: bool,
}

pub const fn own(name: &'static str, policy: Option<&'static str>, dir: &'static str) -> Place {
    Place {
        name,
        policy,
        dir,
        made: Made::ByRun,
        itself: false,
    }
}

const LEVELS: &str = "\"~/ro\" = \"read-only\"\n\"~/add\" = \"add-only\"\n\"~/nd\" = \"no-delete\"\n\"~/add/wr\" = \"writable\"\n";
const HOME_KEPT: &str =
    "\"~\" = \"no-delete\"\n\"~/tmp\" = \"writable\"\n\"~/.pi/agent\" = \"read-only\"\n";

/// Where everything is as without guard.
pub const PLACES: &[Place] = &[
    Place {
        made: Made::Before,
        ..own("among what was there, granted", None, "tmp")
    },
    own("granted", None, "tmp"),
    own("made in home", None, ""),
    Place {
        itself: true,
        ..own("in home itself", None, "")
    },
    own("made in a home at no-delete", Some(HOME_KEPT), ""),
    Place {
        itself: true,
        ..own("in a home at no-delete itself", Some(HOME_KEPT), "")
    },
    own("at no-delete", Some(LEVELS), "nd"),
    own("at add-only", Some(LEVELS), "add"),
    own("granted inside add-only", Some(LEVELS), "add/wr"),
];

impl Place {
    /// Makes what has to be there in a fresh home; gives guard's options.
    pub fn prepare(&self, home: &Home) -> Vec<String> {
        for dir in [self.dir, "ro", "add", "nd"] {
            let path = home.path.join(dir);
            fs::create_dir_all(&path).unwrap();
            chown(&path, Some(home.who.uid()), Some(home.who.gid())).unwrap();
            set_mtime(&path, 1_000_000_000, 5);
        }
        let Some(lines) = self.policy else {
            return Vec::new();
        };
        let file = home.outside().join("policy.toml");
        fs::write(
            &file,
            format!("version = 1\ndefault = \"writable\"\n[paths]\n{lines}"),
        )
        .unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        vec!["--policy".to_owned(), file.to_str().unwrap().to_owned()]
    }

    /// Where the program starts.
    pub fn start(&self, home: &Home) -> PathBuf {
        home.path.join(self.dir)
    }
}
