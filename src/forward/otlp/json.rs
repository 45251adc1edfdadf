//! Events in OTLP's JSON (opentelemetry-proto, `logs/v1/logs.proto`): names in lowerCamelCase, 64-bit numbers as strings, enums as numbers.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::forward::Origin;
use crate::forward::event::{Event, Value as Held};

/// Who sends: what the environment says, and what it does not.
pub fn resource(given: &[(String, String)], origin: &Origin) -> Value {
    let own = [
        ("service.name", "guard"),
        ("service.version", origin.version),
        ("host.name", &origin.host),
        ("os.type", "linux"),
    ];
    let missing = own
        .into_iter()
        .filter(|(name, _)| given.iter().all(|(known, _)| known != name));
    let given = given.iter().map(|(name, value)| (&**name, &**value));
    let attributes: Vec<Value> = given
        .chain(missing)
        .map(|(key, value)| attribute(key, text(value)))
        .collect();
    json!({ "attributes": attributes })
}

/// The body of one request.
pub fn request(resource: &Value, version: &str, events: &[Arc<Event>]) -> Value {
    let now = nanoseconds(Timestamp::now());
    let records: Vec<Value> = events.iter().map(|event| record(event, &now)).collect();
    json!({ "resourceLogs": [{
        "resource": resource,
        "scopeLogs": [{
            "scope": { "name": "guard", "version": version },
            "logRecords": records,
        }],
    }] })
}

fn record(event: &Event, now: &str) -> Value {
    let (number, word) = event.severity.otlp();
    let attributes: Vec<Value> = event
        .fields()
        .map(|(field, value)| attribute(field.otlp(), any(value)))
        .collect();
    json!({
        "timeUnixNano": nanoseconds(event.time),
        "observedTimeUnixNano": now,
        "severityNumber": number,
        "severityText": word,
        "eventName": format!("guard.{}", event.name),
        "body": text(&event.message),
        "attributes": attributes,
    })
}

fn attribute(key: &str, value: Value) -> Value {
    json!({ "key": key, "value": value })
}

fn any(value: &Held) -> Value {
    match value {
        Held::Text(words) => text(words),
        Held::Number(number) => json!({ "intValue": number.to_string() }),
        Held::List(texts) => {
            let values: Vec<Value> = texts.iter().map(|words| text(words)).collect();
            json!({ "arrayValue": { "values": values } })
        }
    }
}

fn text(words: &str) -> Value {
    json!({ "stringValue": words })
}

/// `fixed64`, and so a string. Before 1970 there was no guard.
fn nanoseconds(time: Timestamp) -> String {
    time.as_nanosecond().max(0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::event::tests::event;

    #[test]
    fn a_request_has_the_names_and_types_of_the_protocol() {
        let origin = Origin {
            host: "h".into(),
            version: "0.1.0",
        };
        let given = [("host.name".to_owned(), "other".to_owned())];
        let resource = resource(&given, &origin);
        let mut request = request(&resource, "0.1.0", &[Arc::new(event())]);
        let record = &mut request["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
        let observed = record["observedTimeUnixNano"].take();
        assert!(observed.as_str().unwrap().parse::<u64>().unwrap() > 1_700_000_000_000_000_000);
        let expected = json!({ "resourceLogs": [{
            "resource": { "attributes": [
                { "key": "host.name", "value": { "stringValue": "other" } },
                { "key": "service.name", "value": { "stringValue": "guard" } },
                { "key": "service.version", "value": { "stringValue": "0.1.0" } },
                { "key": "os.type", "value": { "stringValue": "linux" } },
            ] },
            "scopeLogs": [{
                "scope": { "name": "guard", "version": "0.1.0" },
                "logRecords": [{
                    "timeUnixNano": "1796036673023456789",
                    "observedTimeUnixNano": null,
                    "severityNumber": 13,
                    "severityText": "WARN",
                    "eventName": "guard.attempt",
                    "body": { "stringValue": "refused: node (pid 4312) may not delete ~/.pi/agent" },
                    "attributes": [
                        { "key": "guard.run", "value": { "stringValue": "7f3a" } },
                        { "key": "process.pid", "value": { "intValue": "4312" } },
                        { "key": "file.path", "value": { "stringValue": "/home/u/.pi/a\n\"b\" \\ \u{1b}]é" } },
                        { "key": "process.command_args", "value": { "arrayValue": { "values": [
                            { "stringValue": "node" }, { "stringValue": "--test" }, { "stringValue": "" },
                        ] } } },
                    ],
                }],
            }],
        }] });
        assert_eq!(request, expected);
    }
}
