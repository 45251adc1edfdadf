//! SARIF 2.1.0 (Static Analysis Results Interchange Format, OASIS).

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::{Value, json};

use super::Outcome;
use crate::cli::report::wording;
use crate::record::{Group, Operation, Text};

/// What stays as it is in the path of a URI (RFC 3986: unreserved characters and the slash).
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// One run with a result for each group.
pub fn report(outcome: &Outcome<'_>) -> String {
    let results: Vec<Value> = outcome
        .groups()
        .map(|group| {
            json!({
                "ruleId": id(group.operation),
                "level": "error",
                "message": { "text": format!("{}.\n{}", outcome.sentence(group), outcome.details(group)) },
                "locations": location(group, outcome.cwd),
                "occurrenceCount": group.attempts,
            })
        })
        .collect();
    let mut operations: Vec<Operation> = outcome.groups().map(|group| group.operation).collect();
    operations.sort_unstable();
    operations.dedup();
    let rules: Vec<Value> = operations
        .into_iter()
        .map(|operation| {
            let text = format!("A protected place: {}", wording::operation(operation));
            json!({ "id": id(operation), "shortDescription": { "text": text } })
        })
        .collect();
    let report = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "guard", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "invocations": [{
                "commandLine": outcome.command,
                "exitCode": outcome.status,
                "executionSuccessful": outcome.status == 0,
            }],
            "originalUriBaseIds": { "SRCROOT": { "uri": format!("file://{}/", uri(outcome.cwd)) } },
            "results": results,
        }],
    });
    format!("{report:#}\n")
}

fn id(operation: Operation) -> String {
    format!(
        "refused-{}",
        wording::operation(operation).replace(' ', "-")
    )
}

/// Where the first attempt was aimed: in the working directory relative to it, as code hosts want it.
fn location(group: &Group, cwd: &Path) -> Value {
    let Some(path) = group
        .first
        .as_ref()
        .or(group.within.as_ref())
        .map(Text::as_path)
    else {
        return json!([]);
    };
    let artifact = match path.strip_prefix(cwd) {
        Ok(inside) => json!({ "uri": uri(inside), "uriBaseId": "SRCROOT" }),
        Err(_) => json!({ "uri": format!("file://{}", uri(path)) }),
    };
    json!([{ "physicalLocation": { "artifactLocation": artifact } }])
}

fn uri(path: &Path) -> String {
    percent_encode(path.as_os_str().as_encoded_bytes(), KEPT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::report::ci::tests::{attempts, printed};

    #[test]
    fn a_group_is_a_result_with_its_place() {
        let text = printed(&attempts(), report);
        let value: Value = serde_json::from_str(&text).unwrap();
        let results = &value["runs"][0]["results"];
        assert_eq!(results[0]["occurrenceCount"], 3);
        assert_eq!(results[0]["ruleId"], "refused-delete");
        let place = |n: usize| &results[n]["locations"][0]["physicalLocation"]["artifactLocation"];
        assert_eq!(
            place(0)["uri"],
            "file:///home/u/.pi/agent/0%25%3C%26%3E%22%C3%A9%1B"
        );
        assert_eq!(
            (&place(1)["uri"], &place(1)["uriBaseId"]),
            (&"kept%20file".into(), &"SRCROOT".into())
        );
        assert!(printed(&[], report).contains("\"results\": []"));
    }
}
