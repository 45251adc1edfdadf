//! The level table: what a level lets happen, and whose word that is. Pure.
#![forbid(unsafe_code)]

use crate::policy::Level;

/// A column of the level table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Make new entries.
    Make,
    /// Change what exists.
    Change,
    /// Remove what exists, or move it away.
    Remove,
    /// Change or remove what this run made.
    Own,
}

impl Column {
    /// All columns, in the order of the table.
    pub const ALL: [Self; 4] = [Self::Make, Self::Change, Self::Remove, Self::Own];

    /// The strictest level that allows it.
    #[must_use]
    pub fn least(self) -> Level {
        match self {
            Self::Make | Self::Own => Level::AddOnly,
            Self::Change => Level::NoDelete,
            Self::Remove => Level::Writable,
        }
    }
}

/// What a column says of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It happens.
    Yes(Doer),
    /// It is refused.
    No(Keeper),
    /// There is nothing that it could be asked of.
    Moot,
}

/// Who does what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doer {
    /// The kernel goes on with the call: the wall grants the place.
    Kernel,
    /// The supervisor does it for the command: the wall grants nothing there.
    Supervisor,
}

/// Who stands behind a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// The wall grants nothing there or around it, even when the supervisor is dead; the supervisor says why.
    KernelAndSupervisor,
    /// The supervisor alone: the kernel cannot tell this path, or this call, from others that are allowed.
    SupervisorAlone,
}

/// Where a path stands: all that its answers follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The level that holds.
    pub level: Level,
    /// Who does what is writable there.
    pub doer: Doer,
    /// Who refuses what the level forbids.
    pub keeper: Keeper,
}

impl Standing {
    /// What a column says.
    #[must_use]
    pub fn answer(self, column: Column) -> Answer {
        match column {
            _ if self.level >= column.least() => Answer::Yes(self.performer()),
            Column::Own => Answer::Moot,
            Column::Make | Column::Change | Column::Remove => Answer::No(self.keeper),
        }
    }

    /// What holds for mode, owner, times, attributes and flags, which Landlock does not check: no such call is left to the
    /// kernel.
    #[must_use]
    pub fn metadata(self) -> Answer {
        if self.level >= Column::Change.least() {
            Answer::Yes(Doer::Supervisor)
        } else {
            Answer::No(Keeper::SupervisorAlone)
        }
    }

    /// Below `writable` the wall grants nothing, since it cannot tell what exists from what the run made.
    fn performer(self) -> Doer {
        match self.level {
            Level::Writable => self.doer,
            Level::ReadOnly | Level::AddOnly | Level::AppendOnly | Level::NoDelete => {
                Doer::Supervisor
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_has_its_row_of_the_table() {
        for (level, row) in [
            (Level::ReadOnly, "nnn-"),
            (Level::AddOnly, "ynny"),
            (Level::AppendOnly, "ynny"),
            (Level::NoDelete, "yyny"),
            (Level::Writable, "yyyy"),
        ] {
            let standing = Standing {
                level,
                doer: Doer::Kernel,
                keeper: Keeper::KernelAndSupervisor,
            };
            let said = Column::ALL.map(|column| match standing.answer(column) {
                Answer::Yes(_) => 'y',
                Answer::No(_) => 'n',
                Answer::Moot => '-',
            });
            assert_eq!(String::from_iter(said), row, "{level}");
        }
    }

    #[test]
    fn the_kernel_goes_on_only_where_all_is_writable_and_never_with_metadata() {
        for level in Level::ALL {
            let standing = Standing {
                level,
                doer: Doer::Kernel,
                keeper: Keeper::KernelAndSupervisor,
            };
            let kernel = standing.answer(Column::Own) == Answer::Yes(Doer::Kernel);
            assert_eq!(kernel, level == Level::Writable, "{level}");
            assert!(matches!(
                standing.metadata(),
                Answer::Yes(Doer::Supervisor) | Answer::No(Keeper::SupervisorAlone)
            ));
        }
    }
}
