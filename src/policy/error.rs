//! What can be wrong with a policy, each in one line with its place.
#![forbid(unsafe_code)]

use std::io;

use super::Hint;

/// A policy that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// Something in the text is wrong.
    #[error("{file}:{line}:{column}: {problem}")]
    Text {
        /// The file as the person named it.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong.
        problem: Problem,
    },
    /// The file cannot be read.
    #[error("cannot read the policy {file}")]
    Read {
        /// The file as the person named it.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The file is no regular file, or too large to be a policy.
    #[error("the policy {file} is not a regular file of at most 1 MiB")]
    NotAFile {
        /// The file as the person named it.
        file: String,
    },
    /// No policy of this name is shipped, and it does not look like a file.
    #[error(
        "unknown policy \"{name}\"{hint} (a file needs a \"/\" in its path or the ending .toml)"
    )]
    UnknownName {
        /// The name.
        name: String,
        /// A nearer one.
        hint: Hint,
    },
}

/// What is wrong at one place of the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is not TOML.
    #[error("{0}")]
    Toml(String),
    /// It is not UTF-8.
    #[error("the text is not UTF-8")]
    NotUtf8,
    /// A key that means nothing here.
    #[error("unknown key \"{word}\"{hint}")]
    UnknownKey {
        /// The key.
        word: String,
        /// A nearer one.
        hint: Hint,
    },
    /// No version.
    #[error("\"version = 1\" is missing")]
    MissingVersion,
    /// Another version.
    #[error("version {0} is not known; this guard reads version 1")]
    Version(String),
    /// A value of the wrong type.
    #[error("\"{key}\" must be {wanted}, not {found}")]
    WrongType {
        /// The key.
        key: String,
        /// What it should be, with its article.
        wanted: &'static str,
        /// The TOML type that it is.
        found: &'static str,
    },
    /// A level that does not exist.
    #[error("unknown level \"{word}\"{hint}")]
    UnknownLevel {
        /// The word.
        word: String,
        /// A nearer one.
        hint: Hint,
    },
    /// A table without `level`.
    #[error("\"level\" is missing for the path \"{0}\"")]
    MissingLevel(String),
    /// An `include` of something that is not shipped.
    #[error("unknown policy \"{word}\"{hint}")]
    UnknownPolicy {
        /// The word.
        word: String,
        /// A nearer one.
        hint: Hint,
    },
    /// A destination of records that does not exist.
    #[error("guard cannot send records to \"{word}\"{hint}")]
    UnknownDestination {
        /// The word.
        word: String,
        /// A nearer one.
        hint: Hint,
    },
    /// A path that is none.
    #[error(transparent)]
    Pattern(#[from] PatternProblem),
}

/// What is wrong with a path, a variable or a glob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternProblem {
    /// Nothing there.
    #[error("a path must not be empty")]
    Empty,
    /// A path that hangs on the working directory.
    #[error("the path \"{0}\" is relative; start it with \"/\", \"~\", \"${{NAME}}\" or \"**\"")]
    Relative(String),
    /// A key of the policy that slipped into the table of paths.
    #[error("\"{0}\" is not a path; as a key of the policy it belongs above [paths]")]
    KeyAmongPaths(String),
    /// `~name`.
    #[error("\"~\" must be followed by \"/\" or by nothing; write other users' homes out")]
    TildeUser,
    /// A `$` without braces.
    #[error("write a variable as ${{NAME}}, and a dollar sign as \\$")]
    BareDollar,
    /// No closing brace.
    #[error("\"${{\" without its \"}}\"")]
    Unclosed,
    /// A name that no variable can have.
    #[error("\"{0}\" is no name of a variable")]
    VariableName(String),
    /// A near miss of guard's own variables.
    #[error("unknown variable \"{word}\"{hint}")]
    UnknownVariable {
        /// The name.
        word: String,
        /// A nearer one.
        hint: Hint,
    },
    /// guard's own variables have no default.
    #[error("${{{0}}} always has a value and takes no default")]
    NeedlessDefault(&'static str),
    /// `${X:-}`.
    #[error("the default of ${{{0}}} is empty; leave \":-\" out")]
    EmptyDefault(String),
    /// `/a/${workspace}`.
    #[error("${{{0}}} is a whole path and can only stand at the start")]
    NotAtStart(&'static str),
    /// A variable in or after a wildcard.
    #[error("a variable cannot stand after a wildcard or in the same path component")]
    VariableInGlob,
    /// A wildcard inside `${X:-...}`.
    #[error("a default cannot hold a wildcard")]
    GlobInDefault,
    /// `..` after a wildcard.
    #[error("\".\" and \"..\" cannot stand after a wildcard")]
    DotsInGlob,
    /// What globset says.
    #[error("bad glob: {0}")]
    Glob(String),
    /// A NUL character.
    #[error("a path cannot hold a NUL character")]
    Nul,
}
