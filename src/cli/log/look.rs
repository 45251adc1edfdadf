//! Colours, where the reader has them, and the width of the terminal.

use std::fmt::Display;
use std::io;

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// Where the output is a terminal that has them, and NO_COLOR is not set.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// Not at all.
    Never,
}

/// How lines look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    colors: bool,
    /// Columns of the terminal; none where there is no need to cut lines.
    pub width: Option<usize>,
}

/// What a part of a line is.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// A run, a process, a heading.
    Name,
    /// What was refused.
    Refused,
    /// What is less important.
    Aside,
}

impl Look {
    /// For standard output.
    pub fn new(when: When) -> Self {
        let colors = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
            }
        };
        let width = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into());
        Self { colors, width }
    }

    /// Without colours, as wide as lines are.
    pub fn plain() -> Self {
        Self {
            colors: false,
            width: None,
        }
    }

    /// `text` as such a part.
    pub fn part(self, part: Part, text: impl Display) -> String {
        if !self.colors {
            return text.to_string();
        }
        let style = match part {
            Part::Name => Style::new().bold(),
            Part::Refused => AnsiColor::Red.on_default(),
            Part::Aside => Style::new().dimmed(),
        };
        format!("{style}{text}{style:#}")
    }

    /// `text`, which has no colours yet, cut to what is left of a line of which `used` columns are taken.
    pub fn fit(self, text: String, used: usize) -> String {
        let Some(room) = self.width.map(|width| width.saturating_sub(used).max(20)) else {
            return text;
        };
        if text.chars().count() <= room {
            return text;
        }
        let mut cut: String = text.chars().take(room - 1).collect();
        cut.push('…');
        cut
    }
}
