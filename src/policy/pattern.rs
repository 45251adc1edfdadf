//! The text of a path in a policy: variables and wildcards, checked and taken apart, not yet given values.
#![forbid(unsafe_code)]

use std::iter::Peekable;
use std::str::Chars;

use globset::{Glob, GlobBuilder};

use super::{Hint, PatternProblem, Text, suggest};

/// What a rule names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One path.
    Path(Template),
    /// All paths below `base` that match.
    Glob {
        /// The directory before the first component with a wildcard.
        base: Template,
        /// The wildcards, relative to `base`, in globset's syntax. It has been compiled once without an error.
        tail: Text,
    },
}

/// A path with variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(pub Vec<Part>);

/// A piece of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text as it is.
    Text(Text),
    /// `~`; only first.
    Home,
    /// `${workspace}`; only first.
    Workspace,
    /// `${tmp}`; only first.
    Tmp,
    /// `${vcs}`: the workspace's version-control folders; only first.
    Vcs,
    /// `${NAME}` or `${NAME:-default}`.
    Env {
        /// The variable's name.
        name: Text,
        /// What holds where it is not set.
        default: Option<Template>,
    },
}

/// A problem and the number of characters before it.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// Characters of the pattern before the problem.
    pub offset: usize,
    /// The problem.
    pub problem: PatternProblem,
}

/// Compiles the wildcards of a rule: `*` stays within one path component, `**` does not.
///
/// # Errors
/// globset's, for bad syntax.
pub fn compile(tail: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(tail)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
}

impl Pattern {
    /// Takes the text of a rule apart.
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        let pattern = Self::read(text)?;
        if let Self::Glob { tail, .. } = &pattern {
            compile(tail).map_err(|error| Fault {
                offset: 0,
                problem: PatternProblem::Glob(error.kind().to_string()),
            })?;
        }
        Ok(pattern)
    }

    /// The same, of a shipped rule, whose wildcards are known to compile.
    pub(super) fn shipped(text: &'static str) -> Result<Self, Fault> {
        match plain(text) {
            Some(parts) => Ok(Self::Path(Template(parts))),
            None => Self::read(text),
        }
    }

    /// Takes any text apart; its wildcards are not compiled.
    fn read(text: &str) -> Result<Self, Fault> {
        let start = |problem| Fault { offset: 0, problem };
        if text.is_empty() {
            return Err(start(PatternProblem::Empty));
        }
        if let Some(offset) = text.chars().position(|c| c == '\0') {
            return Err(Fault {
                offset,
                problem: PatternProblem::Nul,
            });
        }
        if !(text.starts_with(['/', '~', '$']) || text.starts_with("**")) {
            return Err(start(PatternProblem::Relative(text.to_owned())));
        }
        let mut reader = Reader {
            chars: text.chars().peekable(),
            at: 0,
        };
        let parts = reader.template(Within::Rule)?;
        split(parts).map_err(start)
    }
}

/// Where a [`Reader`] is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// In the rule's own text.
    Rule,
    /// In the default of a variable: up to a closing brace.
    Default,
}

/// Reads a pattern from left to right.
struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        self.at += 1;
        self.chars.next()
    }

    fn fault<T>(&self, problem: PatternProblem) -> Result<T, Fault> {
        Err(Fault {
            offset: self.at,
            problem,
        })
    }

    /// Text and variables up to the end; backslashes stay in the text.
    fn template(&mut self, within: Within) -> Result<Vec<Part>, Fault> {
        let mut parts = Vec::new();
        // Most of what is left is one piece of text, which then need not grow.
        let mut text = String::with_capacity(self.chars.size_hint().1.unwrap_or_default());
        if self.chars.peek() == Some(&'~') {
            self.next();
            match (self.chars.peek(), within) {
                (None | Some('/'), _) | (Some('}'), Within::Default) => parts.push(Part::Home),
                _ => return self.fault(PatternProblem::TildeUser),
            }
        }
        while let Some(&c) = self.chars.peek() {
            match c {
                '}' if within == Within::Default => break,
                '\\' => {
                    self.next();
                    text.push('\\');
                    text.extend(self.next());
                }
                '$' => {
                    if !text.is_empty() {
                        parts.push(Part::Text(Text::Owned(std::mem::take(&mut text))));
                    }
                    let variable = self.variable(parts.len())?;
                    parts.push(variable);
                }
                _ => {
                    text.push(c);
                    self.next();
                }
            }
        }
        if !text.is_empty() {
            parts.push(Part::Text(Text::Owned(text)));
        }
        Ok(parts)
    }

    /// `${...}`, with `before` parts in front of it.
    fn variable(&mut self, before: usize) -> Result<Part, Fault> {
        let start = self.at;
        self.next();
        if self.chars.peek() != Some(&'{') {
            return Err(Fault {
                offset: start,
                problem: PatternProblem::BareDollar,
            });
        }
        self.next();
        let name_at = self.at;
        let mut name = String::new();
        while let Some(&c) = self.chars.peek()
            && c != '}'
            && c != ':'
        {
            name.push(c);
            self.next();
        }
        let default = match self.next() {
            Some('}') => None,
            Some(':') if self.next() == Some('-') => {
                let parts = self.template(Within::Default)?;
                if self.next() != Some('}') {
                    return Err(Fault {
                        offset: start,
                        problem: PatternProblem::Unclosed,
                    });
                }
                Some(parts)
            }
            Some(_) => {
                return Err(Fault {
                    offset: name_at,
                    problem: PatternProblem::VariableName(name),
                });
            }
            None => {
                return Err(Fault {
                    offset: start,
                    problem: PatternProblem::Unclosed,
                });
            }
        };
        variable(name, default, before).map_err(|problem| Fault {
            offset: start,
            problem,
        })
    }
}

/// guard's own variables.
const OWN: [&str; 3] = ["workspace", "tmp", "vcs"];

/// The variable of this name.
fn variable(
    name: String,
    default: Option<Vec<Part>>,
    before: usize,
) -> Result<Part, PatternProblem> {
    let own = [Part::Workspace, Part::Tmp, Part::Vcs];
    for (known, part) in OWN.into_iter().zip(own) {
        if name == known {
            return match (default, before) {
                (Some(_), _) => Err(PatternProblem::NeedlessDefault(known)),
                (None, 0) => Ok(part),
                (None, _) => Err(PatternProblem::NotAtStart(known)),
            };
        }
    }
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !name.starts_with(letter) || !name.chars().all(|c| letter(c) || c.is_ascii_digit()) {
        return Err(PatternProblem::VariableName(name));
    }
    if !name.chars().any(|c| c.is_ascii_uppercase()) && suggest::nearest(&name, &OWN).is_some() {
        let hint = Hint::new(&name, &OWN);
        return Err(PatternProblem::UnknownVariable { word: name, hint });
    }
    let default = match default {
        None => None,
        Some(parts) if parts.is_empty() => return Err(PatternProblem::EmptyDefault(name)),
        Some(parts) => Some(literal(parts)?),
    };
    let name = Text::Owned(name);
    Ok(Part::Env { name, default })
}

/// Takes apart a path that is a variable or `~` or nothing and then plain text, as most are, without copying any of it.
/// None for any other, and for what is wrong.
fn plain(text: &'static str) -> Option<Vec<Part>> {
    let special = |byte: u8| {
        matches!(
            byte,
            b'\\' | b'$' | b'~' | b'*' | b'?' | b'[' | b'{' | b'}' | 0
        )
    };
    let (lead, rest) = if let Some(rest) = text.strip_prefix('~') {
        (Some(Part::Home), rest)
    } else if let Some(rest) = text.strip_prefix("${") {
        let (inside, rest) = rest.split_once('}')?;
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let letter = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
        let mut bytes = name.bytes();
        if !(bytes.next().is_some_and(letter) && bytes.all(|b| letter(b) || b.is_ascii_digit())) {
            return None;
        }
        let default = match default {
            None => None,
            Some(default) => Some(Template(plain(default)?)),
        };
        let name = Text::Borrowed(name);
        (Some(Part::Env { name, default }), rest)
    } else {
        (None, text)
    };
    if !(rest.starts_with('/') || lead.is_some() && rest.is_empty()) || rest.bytes().any(special) {
        return None;
    }
    let rest = (!rest.is_empty()).then_some(Part::Text(Text::Borrowed(rest)));
    Some(match (lead, rest) {
        (Some(lead), Some(rest)) => vec![lead, rest],
        (lead, rest) => lead.into_iter().chain(rest).collect(),
    })
}

/// A template without wildcards, its backslashes resolved.
fn literal(parts: Vec<Part>) -> Result<Template, PatternProblem> {
    let plain = |part| match part {
        Part::Text(text) if wildcard(&text).is_some() => Err(PatternProblem::GlobInDefault),
        Part::Text(text) if !text.contains('\\') => Ok(Part::Text(text)),
        Part::Text(text) => Ok(Part::Text(Text::Owned(unescape(&text)))),
        other => Ok(other),
    };
    Ok(Template(
        parts.into_iter().map(plain).collect::<Result<_, _>>()?,
    ))
}

/// Divides a pattern into the directory before its first wildcard and the rest.
fn split(mut parts: Vec<Part>) -> Result<Pattern, PatternProblem> {
    let found = parts.iter().enumerate().find_map(|(i, part)| match part {
        Part::Text(text) => wildcard(text).map(|at| (i, text.clone(), at)),
        _ => None,
    });
    let Some((index, text, at)) = found else {
        return Ok(Pattern::Path(literal(parts)?));
    };
    if parts.len() > index + 1 {
        return Err(PatternProblem::VariableInGlob);
    }
    parts.truncate(index);
    let tail = match text[..at].rfind('/') {
        Some(slash) => {
            parts.push(Part::Text(Text::Owned(text[..=slash].to_owned())));
            &text[slash + 1..]
        }
        None if index == 0 => {
            parts.push(Part::Text(Text::Borrowed("/")));
            &text[..]
        }
        None => return Err(PatternProblem::VariableInGlob),
    };
    let components: Vec<&str> = tail.split('/').filter(|c| !c.is_empty()).collect();
    if components.iter().any(|c| *c == "." || *c == "..") {
        return Err(PatternProblem::DotsInGlob);
    }
    Ok(Pattern::Glob {
        base: literal(parts)?,
        tail: Text::Owned(components.join("/")),
    })
}

/// Where the first wildcard stands, in bytes.
fn wildcard(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let here = !escaped && matches!(c, '*' | '?' | '[' | '{');
        escaped = c == '\\' && !escaped;
        here.then_some(at)
    })
}

/// Drops the backslashes before characters that would have a meaning without.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.extend(chars.next().or(Some('\\'))),
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
