//! What the four levels let happen, written down a second time from the words of the policy table and from nothing else:
//! no line of this comes from guard's own decisions.

/// From strict to loose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    ReadOnly,
    AddOnly,
    NoDelete,
    Writable,
}

use Level::{AddOnly, NoDelete, Writable};

pub const LEVELS: [Level; 4] = [Level::ReadOnly, AddOnly, NoDelete, Writable];

impl Level {
    pub fn name(self) -> &'static str {
        ["read-only", "add-only", "no-delete", "writable"][self as usize]
    }
}

/// Whose an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// It was there before the run, or counts so.
    Existed,
    /// This run made it.
    Own,
}

use Whose::{Existed, Own};

/// An object at a place, as a move sees it.
#[derive(Clone, Copy, Debug)]
pub struct Thing {
    pub whose: Whose,
    pub at: Level,
    /// Whether something that existed lies below it.
    pub holds_existing: bool,
}

/// A new entry.
pub fn make(at: Level) -> bool {
    at >= AddOnly
}

/// Content or metadata.
pub fn change(whose: Whose, at: Level) -> bool {
    match whose {
        Existed => at >= NoDelete,
        Own => at >= AddOnly,
    }
}

pub fn remove(whose: Whose, at: Level) -> bool {
    match whose {
        Existed => at == Writable,
        Own => at >= AddOnly,
    }
}

/// A move to where nothing is, or where what is there gets out of the way.
pub fn moves(thing: Thing, to: Level) -> bool {
    let from = thing.at;
    let itself = match thing.whose {
        Own => from >= AddOnly,
        Existed => from == Writable || from == NoDelete && to <= NoDelete,
    };
    // What lies below comes along to where more may be done to it.
    let below = to <= from || !thing.holds_existing;
    itself && below && make(to)
}

/// A move onto something.
pub fn replaces(source: Thing, replaced: Thing) -> bool {
    let to = replaced.at;
    let gives_way = match replaced.whose {
        _ if to == Writable => true,
        Own => to >= AddOnly,
        Existed => to == NoDelete && source.whose == Own,
    };
    gives_way && moves(source, to)
}

pub fn exchanges(one: Thing, other: Thing) -> bool {
    moves(one, other.at) && moves(other, one.at)
}

/// A second name: a way to write it, so it has to be changeable where it is.
pub fn links(whose: Whose, at: Level, to: Level) -> bool {
    change(whose, at) && make(to)
}
