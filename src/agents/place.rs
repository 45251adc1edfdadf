//! Where things are: the folders of agents and guard's own, as the environment moves them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the places depend on, given from outside.
pub struct Surroundings<'a> {
    /// The home directory.
    pub home: PathBuf,
    /// The environment.
    pub env: &'a dyn Fn(&str) -> Option<OsString>,
    /// The running guard, absolute.
    pub guard: PathBuf,
}

/// Why a place is not known.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// A variable moves it to nowhere in particular.
    #[error("{0} leads to {1}, which is no absolute path")]
    Relative(String, PathBuf),
    /// Configurations are text.
    #[error("{0} is not UTF-8 and cannot be written into a configuration")]
    NotText(PathBuf),
}

impl Surroundings<'_> {
    /// Where guard keeps what agents execute.
    #[must_use]
    pub fn shells(&self) -> PathBuf {
        self.base("XDG_CONFIG_HOME", ".config").join("guard/shell")
    }

    /// Where guard keeps what it did to agents.
    #[must_use]
    pub fn notes(&self) -> PathBuf {
        self.base("XDG_STATE_HOME", ".local/state")
            .join("guard/agents")
    }

    /// A base directory of XDG; one that is not absolute does not count.
    fn base(&self, variable: &str, otherwise: &str) -> PathBuf {
        let moved = (self.env)(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        moved.unwrap_or_else(|| self.home.join(otherwise))
    }

    /// The first of `templates` whose variables are all set; with a `?` at its end only if it is there.
    ///
    /// # Errors
    /// A variable holds a relative path.
    pub fn first(&self, templates: &[&str]) -> Result<Option<PathBuf>, PlaceError> {
        for template in templates {
            let (template, only_if_there) = match template.strip_suffix('?') {
                Some(template) => (template, true),
                None => (*template, false),
            };
            let Some(path) = self.expand(template) else {
                continue;
            };
            if !path.is_absolute() {
                return Err(PlaceError::Relative(template.to_owned(), path));
            }
            if !only_if_there || path.symlink_metadata().is_ok() {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// `~/x/${VARIABLE}/y` with the variables' values; none if one of them is not set.
    fn expand(&self, template: &str) -> Option<PathBuf> {
        let mut text = OsString::new();
        let mut rest = template;
        while let Some((plain, more)) = rest.split_once("${") {
            let (name, after) = more.split_once('}')?;
            text.push(plain);
            text.push((self.env)(name).filter(|value| !value.is_empty())?);
            rest = after;
        }
        text.push(rest);
        Some(match Path::new(&text).strip_prefix("~") {
            Ok(below) => self.home.join(below),
            Err(_) => PathBuf::from(text),
        })
    }

    /// A path as text.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn text(path: &Path) -> Result<&str, PlaceError> {
        path.to_str()
            .ok_or_else(|| PlaceError::NotText(path.to_owned()))
    }
}

/// The variables in templates.
pub fn variables(templates: &[&'static str]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for template in templates {
        let found = template
            .split("${")
            .skip(1)
            .filter_map(|part| part.split_once('}'));
        for (name, _) in found {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_that_the_environment_knows() {
        let folder = tempfile::tempdir().unwrap();
        let env = |name: &str| match name {
            "DIR" => Some("/moved".into()),
            "TILDE" => Some("~/t".into()),
            "EMPTY" => Some("".into()),
            "RELATIVE" => Some("x".into()),
            _ => None,
        };
        let here = Surroundings {
            home: folder.path().into(),
            env: &env,
            guard: "/g".into(),
        };
        let first = |templates: &[&str]| here.first(templates).unwrap();
        assert_eq!(
            first(&["${NONE}/a", "${EMPTY}/a", "${DIR}/a", "~/b"]),
            Some("/moved/a".into())
        );
        assert_eq!(
            first(&["~/x/${NONE}", "~/b"]),
            Some(folder.path().join("b"))
        );
        assert_eq!(first(&["${TILDE}/a"]), Some(folder.path().join("t/a")));
        assert_eq!(first(&["~/there?", "${NONE}"]), None);
        std::fs::write(folder.path().join("there"), "").unwrap();
        assert_eq!(first(&["~/there?"]), Some(folder.path().join("there")));
        assert!(here.first(&["${RELATIVE}/a", "~/b"]).is_err());
        assert_eq!(variables(&["${A}/x/${B}", "~/${A}"]), ["A", "B"]);
        assert_eq!(here.shells(), folder.path().join(".config/guard/shell"));
    }
}
