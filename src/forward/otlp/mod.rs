//! To a collector of OpenTelemetry: logs by OTLP over HTTP, as JSON (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>).

mod config;
mod json;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::http::Response;

pub use config::Config;

use super::queue::{Outcome, Sink};
use super::{Event, Origin};

/// Events of one request.
const BATCH: usize = 128;
/// How long the first of them waits for others.
const LINGER: Duration = Duration::from_millis(500);
/// Bytes of an answer that are looked at.
const MOST_ANSWER: u64 = 64 << 10;

/// A collector.
pub struct Otlp {
    agent: Agent,
    config: Config,
    resource: Value,
    version: &'static str,
}

impl Otlp {
    /// The one that `config` names. It is not looked for yet.
    pub fn new(config: Config, origin: &Origin) -> Self {
        let agent = Agent::config_builder()
            .timeout_global(Some(config.timeout))
            .http_status_as_error(false)
            // Headers may hold secrets, which are for nobody else.
            .max_redirects(0)
            .proxy(None)
            .user_agent(format!("guard/{}", origin.version))
            .build()
            .new_agent();
        Self {
            agent,
            resource: json::resource(&config.resource, origin),
            config,
            version: origin.version,
        }
    }
}

impl Sink for Otlp {
    fn batch(&self) -> (usize, Duration) {
        (BATCH, LINGER)
    }

    fn deliver(&mut self, events: &[Arc<Event>]) -> Outcome {
        let body = json::request(&self.resource, self.version, events).to_string();
        let mut request = self.agent.post(&self.config.endpoint);
        for (name, value) in &self.config.headers {
            request = request.header(name, value);
        }
        let answer = request
            .header("content-type", "application/json")
            .send(body.as_bytes());
        match answer {
            Ok(answer) => judge(answer, events.len()),
            Err(error) => Outcome::Later(in_words(&error), None),
        }
    }
}

/// What an answer means (OTLP, "Failures" and "Partial Success").
fn judge(mut answer: Response<ureq::Body>, count: usize) -> Outcome {
    let status = answer.status();
    let why = format!("HTTP {}", status.as_u16());
    match status.as_u16() {
        200..=299 => {}
        429 | 502 | 503 | 504 => {
            let header = answer.headers().get("retry-after");
            let seconds = header.and_then(|value| value.to_str().ok()?.trim().parse().ok());
            return Outcome::Later(why, seconds.map(Duration::from_secs));
        }
        _ => return Outcome::Rejected(count, why),
    }
    let body = answer.body_mut().with_config().limit(MOST_ANSWER);
    let told: Option<Value> = body
        .read_to_vec()
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match told.as_ref().map_or(0, rejected) {
        0 => Outcome::Delivered,
        lost => Outcome::Rejected(lost, "the collector rejected some".into()),
    }
}

/// How many records a collector did not take. In JSON a 64-bit number is a string, or a number all the same.
fn rejected(answer: &Value) -> usize {
    let count = &answer["partialSuccess"]["rejectedLogRecords"];
    let number = count
        .as_u64()
        .or_else(|| count.as_str().and_then(|text| text.parse().ok()));
    number.map_or(0, |number| usize::try_from(number).unwrap_or(usize::MAX))
}

/// Why nothing arrived. The library's own texts may name the address, in which there may be a secret.
fn in_words(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => match error.raw_os_error() {
            Some(number) => std::io::Error::from_raw_os_error(number).to_string(),
            None => error.kind().to_string(),
        },
        ureq::Error::Timeout(_) => "no answer in time".into(),
        ureq::Error::HostNotFound => "its host is not found".into(),
        ureq::Error::ConnectionFailed => "no connection".into(),
        _ => "its answer is not understood".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::forward::event::tests::event;

    /// Sends one event to a listener that answers so; what became of it, and what the listener was sent.
    fn sent(answer: &str) -> (Outcome, String, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let answer = answer.to_owned();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
            }
            let length = head
                .lines()
                .filter_map(|line| line.split_once(": "))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, length)| length.parse().unwrap());
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            (head, String::from_utf8(body).unwrap())
        });
        let config = Config::from_environment(&|name| match name {
            "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.clone().into()),
            "OTEL_EXPORTER_OTLP_HEADERS" => Some("api-key=s%20x".into()),
            "OTEL_EXPORTER_OTLP_TIMEOUT" => Some("2000".into()),
            _ => None,
        });
        let origin = Origin {
            host: "h".into(),
            version: "1",
        };
        let mut otlp = Otlp::new(config.unwrap(), &origin);
        let outcome = otlp.deliver(&[Arc::new(event())]);
        let (head, body) = server.join().unwrap();
        (outcome, head, body)
    }

    fn answer(status: &str, body: &str) -> String {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nRetry-After: 2\r\nLocation: http://127.0.0.1:1/\r\n\r\n{body}"
        )
    }

    #[test]
    fn a_request_is_what_the_specification_asks() {
        let (outcome, head, body) = sent(&answer("200 OK", "{}"));
        assert_eq!(outcome, Outcome::Delivered);
        let head = head.to_lowercase();
        assert!(head.starts_with("post /v1/logs http/1.1\r\n"), "{head}");
        for line in [
            "content-type: application/json",
            "api-key: s x",
            "user-agent: guard/1",
        ] {
            assert_eq!(
                head.matches(&format!("\r\n{line}\r\n")).count(),
                1,
                "{head}"
            );
        }
        let body: Value = serde_json::from_str(&body).unwrap();
        assert!(body["resourceLogs"].is_array());
    }

    #[test]
    fn every_answer_means_something() {
        let later = |why: &str| Outcome::Later(why.into(), Some(Duration::from_secs(2)));
        let lost = |why: &str| Outcome::Rejected(1, why.into());
        for (answer, outcome) in [
            (answer("202 Accepted", "no JSON"), Outcome::Delivered),
            (answer("503 Busy", ""), later("HTTP 503")),
            (answer("429 Slow down", ""), later("HTTP 429")),
            (answer("400 Bad", ""), lost("HTTP 400")),
            (answer("401 Who", ""), lost("HTTP 401")),
            (answer("307 There", ""), lost("HTTP 307")),
            (
                answer("200 OK", r#"{"partialSuccess":{"rejectedLogRecords":"1"}}"#),
                lost("the collector rejected some"),
            ),
            (
                "SMTP\r\n\r\n".into(),
                Outcome::Later("its answer is not understood".into(), None),
            ),
        ] {
            assert_eq!(sent(&answer).0, outcome, "{answer}");
        }
    }
}
