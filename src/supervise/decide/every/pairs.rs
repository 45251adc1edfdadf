//! The same for calls with two spots.

use super::*;

fn both() -> Vec<Facts> {
    let all = each(
        places(),
        &[None, Some(FILE), Some(DIR), Some(LINK)],
        |facts, kind| facts.kind = kind,
    );
    all.into_iter().filter(possible).collect()
}

fn refused(
    operation: Operation,
    spot: Which,
    reason: Reason,
    rule: Option<RuleId>,
) -> Option<Refusal> {
    Some(Refusal {
        operation,
        spot,
        rule,
        reason,
    })
}

/// Whether `from` may leave for `to`: taken away, or moved where it is protected as well.
fn may_leave(from: &Facts, to: &Facts) -> bool {
    may_take_away(from) || from.level == Level::NoDelete && to.level <= Level::NoDelete
}

/// The refusal of a rename of what is there, if one is due.
fn due_to_rename(exchange: Exchange, from: &Facts, to: &Facts) -> Option<Refusal> {
    let operation = if to.kind.is_some() {
        Operation::Replace
    } else {
        Operation::Create
    };
    if !may_leave(from, to) {
        return refused(Operation::Rename, Which::First, Reason::Level, from.rule);
    }
    if from.kept.is_some() {
        return refused(Operation::Rename, Which::First, Reason::OnTheWay, from.kept);
    }
    if !may_make(to) {
        return refused(operation, Which::Second, Reason::Level, to.rule);
    }
    let gives_way = match (to.kind, exchange) {
        (None, _) => return None,
        (_, Exchange::Yes) => may_leave(to, from) && may_make(from),
        // What is replaced is gone, but for an atomic save: a name that the run only linked is its own to take away, what it
        // stands for is not its own to replace.
        _ => match (to.level, to.made) {
            (Level::Writable, _) => true,
            (Level::ReadOnly, _) => false,
            (_, Made::ByRun) => true,
            (level, _) => level == Level::NoDelete && from.made == Made::ByRun,
        },
    };
    if !gives_way {
        return refused(operation, Which::Second, Reason::Level, to.rule);
    }
    to.kept
        .and_then(|rule| refused(operation, Which::Second, Reason::OnTheWay, Some(rule)))
}

/// Whether what is moved here would take the wall's grant, or the way that a link leads, into a place that is missing.
fn fills(exchange: Exchange, from: &Facts, to: &Facts) -> Option<RuleId> {
    let away = |facts: &Facts| facts.carries_grant || facts.kind == Some(LINK);
    let there = to.missing_below.filter(|_| away(from));
    there.or(from
        .missing_below
        .filter(|_| exchange == Exchange::Yes && away(to)))
}

#[test]
fn a_rename_is_refused_exactly_where_a_column_says_no() {
    let all = both();
    for exchange in [Exchange::No, Exchange::NoReplace, Exchange::Yes] {
        for (from, to) in all
            .iter()
            .flat_map(|from| all.iter().map(move |to| (from, to)))
        {
            let open = from.wall == Wall::Grants && to.wall == Wall::Grants;
            let fails = match exchange {
                _ if from.kind.is_none() => Some(Errno::ENOENT),
                Exchange::Yes if to.kind.is_none() => Some(Errno::ENOENT),
                Exchange::NoReplace if to.kind.is_some() => Some(Errno::EEXIST),
                _ => None,
            };
            let granted_away = from.carries_grant && to.level != Level::Writable
                || exchange == Exchange::Yes && to.carries_grant && from.level != Level::Writable;
            let operation = if to.kind.is_some() {
                Operation::Replace
            } else {
                Operation::Create
            };
            let rule = fills(exchange, from, to);
            let expected = match (fails, due_to_rename(exchange, from, to)) {
                (Some(_), _) if open => Decision::Continue,
                (Some(errno), _) => Decision::Fail(errno),
                (None, Some(refusal)) => Decision::Refuse(refusal),
                (None, None) if granted_away => Decision::Fail(Errno::EXDEV),
                (None, None) if rule.is_some() => Decision::Refuse(Refusal {
                    operation,
                    spot: Which::Second,
                    rule,
                    reason: Reason::WouldFill,
                }),
                (None, None) if open => Decision::Continue,
                (None, None) => Decision::Perform,
            };
            let decision = decide_rename(exchange, from, to, None);
            assert_eq!(decision, expected, "{exchange:?} {from:?} {to:?}");
        }
    }
}

#[test]
fn a_link_is_refused_exactly_where_its_source_may_not_change_or_its_name_not_be_made() {
    let objects = [
        None,
        Some(Level::ReadOnly),
        Some(Level::AddOnly),
        Some(Level::AppendOnly),
        Some(Level::NoDelete),
    ];
    let sources = each(both(), &objects, |facts, level| {
        facts.object = level.map(|level| (level, Some(RuleId(4))));
    });
    let targets = both();
    for from in sources.iter().filter(|facts| possible(facts)) {
        for to in &targets {
            let open = from.wall == Wall::Grants && to.wall == Wall::Grants;
            let away = from.carries_grant || from.kind == Some(LINK);
            let rule = match from.object {
                Some((level, rule)) if level < from.level => rule,
                _ => from.rule,
            };
            let refuse =
                |refusal: Option<Refusal>| refusal.map_or(Decision::Perform, Decision::Refuse);
            let expected = match (from.kind, to.kind) {
                (None, _) if open => Decision::Continue,
                (None, _) => Decision::Fail(Errno::ENOENT),
                (_, Some(_)) if open => Decision::Continue,
                (_, Some(_)) => Decision::Fail(Errno::EEXIST),
                _ if !may_change_object(from) => {
                    refuse(refused(Operation::Link, Which::First, Reason::Level, rule))
                }
                _ if !may_make(to) => refuse(refused(
                    Operation::Create,
                    Which::Second,
                    Reason::Level,
                    to.rule,
                )),
                _ if away && to.missing_below.is_some() => refuse(refused(
                    Operation::Create,
                    Which::Second,
                    Reason::WouldFill,
                    to.missing_below,
                )),
                (Some(DIR), _) => Decision::Perform,
                _ if open => Decision::Continue,
                _ => Decision::Perform,
            };
            assert_eq!(decide_link(from, to), expected, "{from:?} {to:?}");
        }
    }
}
