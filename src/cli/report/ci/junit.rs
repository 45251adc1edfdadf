//! JUnit's XML.

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::Outcome;
use crate::cli::report::wording;
use crate::cli::words::visible;

/// One suite with a failed case for each group, or a case that holds where nothing was tried.
pub fn report(outcome: &Outcome<'_>) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new("guard");
    for group in outcome.groups() {
        let sentence = outcome.sentence(group);
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status
            .set_type("refused")
            .set_message(&sentence)
            .set_description(outcome.details(group));
        let mut case = TestCase::new(sentence, status);
        let rule = group.rule.as_ref().map(|rule| visible(&rule.path));
        case.set_classname(format!(
            "guard.{}",
            rule.unwrap_or_else(|| wording::operation(group.operation).into())
        ));
        suite.add_test_case(case);
    }
    if suite.test_cases.is_empty() {
        let mut case = TestCase::new(
            "nothing that is protected was to be changed",
            TestCaseStatus::success(),
        );
        case.set_classname("guard");
        suite.add_test_case(case);
    }
    let mut report = Report::new(format!("guard -- {}", outcome.command));
    report.add_test_suite(suite);
    report.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::report::ci::tests::{attempts, printed};

    #[test]
    fn a_group_is_a_failed_case() {
        let text = printed(&attempts(), |outcome| report(outcome).unwrap());
        assert!(
            text.contains(r#"<testsuite name="guard" tests="2""#)
                && text.contains(r#"failures="2""#),
            "{text}"
        );
        assert!(
            text.contains(r#"<testcase name="node tried to remove 3 entries (3 files) under ~/.pi/agent: a recursive delete" classname="guard.~/.pi/agent">"#),
            "{text}"
        );
        assert!(
            text.contains("details: guard log 7f3a") && !text.contains('\u{1b}'),
            "{text}"
        );
        assert!(
            text.contains(r"0%&lt;&amp;&gt;") && text.contains(r"é\e"),
            "{text}"
        );
    }

    #[test]
    fn a_clean_run_is_a_case_that_holds() {
        let text = printed(&[], |outcome| report(outcome).unwrap());
        assert!(
            text.contains(r#"tests="1""#) && text.contains(r#"failures="0""#),
            "{text}"
        );
    }
}
