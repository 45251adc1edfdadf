//! Which collector, and how it is spoken to: the variables that exporters of OpenTelemetry have in common
//! (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>). No value of one is ever shown.

use std::net::IpAddr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use ureq::http::uri::Scheme;
use ureq::http::{HeaderName, HeaderValue, Uri};

use crate::forward::{Environment, ForwardError};

/// Where a collector listens when nothing else is said.
const DEFAULT_ENDPOINT: &str = "http://localhost:4318";
/// What is added to an endpoint that is for all signals.
const PATH: &str = "v1/logs";
/// How long a request may take when nothing else is said.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// A collector, as the environment names it. It holds secrets, and so cannot be printed.
pub struct Config {
    /// The address to which logs are posted.
    pub endpoint: String,
    /// Headers of every request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// How long a request may take.
    pub timeout: Duration,
    /// Attributes of the resource, those for `service.name` included.
    pub resource: Vec<(String, String)>,
}

impl Config {
    /// What the environment says.
    ///
    /// # Errors
    /// The first variable that is wrong.
    pub fn from_environment(environment: Environment<'_>) -> Result<Self, ForwardError> {
        let variables = Variables(environment);
        variables.protocol()?;
        Ok(Self {
            endpoint: variables.endpoint()?,
            headers: variables.headers()?,
            timeout: variables.timeout()?,
            resource: variables.resource()?,
        })
    }
}

struct Variables<'a>(Environment<'a>);

/// A variable that is set, with its value.
type Set = (String, String);

impl Variables<'_> {
    /// A variable; an empty one counts as not set (the specification says so).
    fn get(&self, name: &str) -> Result<Option<Set>, ForwardError> {
        let Some(value) = (self.0)(name).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let value = value.into_string();
        let value = value.map_err(|_| wrong(name, "is not UTF-8"))?;
        Ok(Some((name.into(), value)))
    }

    /// The one for logs, else the one for all signals.
    fn of_logs(&self, what: &str) -> Result<Option<Set>, ForwardError> {
        let own = self.get(&format!("OTEL_EXPORTER_OTLP_LOGS_{what}"))?;
        match own {
            Some(own) => Ok(Some(own)),
            None => self.get(&format!("OTEL_EXPORTER_OTLP_{what}")),
        }
    }

    /// JSON and protobuf are taken at the same address, so who asks for protobuf is content with JSON.
    fn protocol(&self) -> Result<(), ForwardError> {
        match self.of_logs("PROTOCOL")? {
            None => Ok(()),
            Some((name, value)) => match value.as_str() {
                "http/json" | "http/protobuf" => Ok(()),
                "grpc" => Err(wrong(
                    &name,
                    "asks for grpc, which guard does not speak: set it to http/json, and the endpoint to the collector's \
                     port for HTTP (4318)",
                )),
                _ => Err(wrong(
                    &name,
                    "names no protocol that guard knows: it speaks http/json",
                )),
            },
        }
    }

    fn endpoint(&self) -> Result<String, ForwardError> {
        let endpoint = self.address()?;
        let uri: Option<Uri> = endpoint.parse().ok();
        let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
        let number = host.trim_matches(['[', ']']).parse::<IpAddr>();
        if number.is_err() && self.get("HOSTALIASES")?.is_some() {
            return Err(wrong(
                "HOSTALIASES",
                "names a file by which the command could lead guard to another host than the collector's: unset it, or write \
                 the host as a number",
            ));
        }
        Ok(endpoint)
    }

    fn address(&self) -> Result<String, ForwardError> {
        if let Some((name, value)) = self.get("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT")? {
            check(&name, &value)?;
            return Ok(value);
        }
        let base = match self.get("OTEL_EXPORTER_OTLP_ENDPOINT")? {
            Some((name, value)) => {
                check(&name, &value)?;
                if value.contains('?') {
                    return Err(wrong(
                        &name,
                        "has a query, and /v1/logs is to be added to it",
                    ));
                }
                value
            }
            None => DEFAULT_ENDPOINT.into(),
        };
        Ok(format!("{}/{PATH}", base.trim_end_matches('/')))
    }

    /// `name=value,name=value`, values percent-encoded.
    fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, ForwardError> {
        let Some((variable, text)) = self.of_logs("HEADERS")? else {
            return Ok(Vec::new());
        };
        let header = |(name, value): (String, String)| {
            let name = HeaderName::try_from(name).ok()?;
            let mut value = HeaderValue::try_from(value).ok()?;
            value.set_sensitive(true);
            Some((name, value))
        };
        pairs(&text)
            .and_then(|pairs| pairs.into_iter().map(header).collect())
            .ok_or_else(|| wrong(&variable, "is not of the form name=value,name=value"))
    }

    fn timeout(&self) -> Result<Duration, ForwardError> {
        match self.of_logs("TIMEOUT")? {
            None => Ok(DEFAULT_TIMEOUT),
            Some((name, value)) => match value.parse() {
                Ok(milliseconds @ 1..) => Ok(Duration::from_millis(milliseconds)),
                _ => Err(wrong(&name, "is not a number of milliseconds")),
            },
        }
    }

    /// `OTEL_SERVICE_NAME` wins over a `service.name` among the attributes.
    fn resource(&self) -> Result<Vec<(String, String)>, ForwardError> {
        let mut resource = match self.get("OTEL_RESOURCE_ATTRIBUTES")? {
            None => Vec::new(),
            Some((name, text)) => pairs(&text)
                .ok_or_else(|| wrong(&name, "is not of the form name=value,name=value"))?,
        };
        if let Some((_, name)) = self.get("OTEL_SERVICE_NAME")? {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".into(), name));
        }
        Ok(resource)
    }
}

fn wrong(name: &str, wrong: &'static str) -> ForwardError {
    ForwardError::Variable {
        name: name.into(),
        wrong,
    }
}

/// Whether guard can post to an address.
fn check(name: &str, address: &str) -> Result<(), ForwardError> {
    let uri: Uri = address
        .parse()
        .map_err(|_| wrong(name, "is no address like http://localhost:4318"))?;
    match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTP => {}
        Some(scheme) if *scheme == Scheme::HTTPS => {
            return Err(wrong(
                name,
                "asks for https, which guard does not speak: let it send to a collector on this machine, which passes it on",
            ));
        }
        _ => return Err(wrong(name, "is no address like http://localhost:4318")),
    }
    match uri.authority() {
        Some(authority) if authority.as_str().contains('@') => Err(wrong(
            name,
            "has a password in it: that belongs into OTEL_EXPORTER_OTLP_HEADERS",
        )),
        Some(authority) if !authority.host().is_empty() => Ok(()),
        _ => Err(wrong(name, "is no address like http://localhost:4318")),
    }
}

/// `name=value,name=value`, percent-decoded; none where it is something else.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (name, value) = part.split_once('=')?;
            let decoded = |text: &str| {
                let text = percent_decode_str(text.trim()).decode_utf8().ok()?;
                Some(text.into_owned())
            };
            let name = decoded(name).filter(|name| !name.is_empty())?;
            Some((name, decoded(value)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(set: &[(&str, &str)]) -> Result<Config, ForwardError> {
        Config::from_environment(&|name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn endpoints_are_those_of_the_specification() {
        const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        const LOGS: &str = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT";
        for (set, expected) in [
            (&[][..], "http://localhost:4318/v1/logs"),
            (&[(ALL, "")], "http://localhost:4318/v1/logs"),
            (&[(ALL, "http://c:4318")], "http://c:4318/v1/logs"),
            (&[(ALL, "http://c/mine/")], "http://c/mine/v1/logs"),
            (
                &[(LOGS, "http://[::1]:1/x?y=z"), (ALL, "ftp://")],
                "http://[::1]:1/x?y=z",
            ),
        ] {
            assert_eq!(config(set).unwrap().endpoint, expected, "{set:?}");
        }
    }

    #[test]
    fn aliases_of_hosts_mean_nothing_to_a_number() {
        for address in ["http://127.0.0.1:1", "http://[::1]:1"] {
            let set = [
                ("OTEL_EXPORTER_OTLP_ENDPOINT", address),
                ("HOSTALIASES", "/x"),
            ];
            assert!(config(&set).is_ok(), "{address}");
        }
    }

    #[test]
    fn the_variables_for_logs_win_and_defaults_hold() {
        let empty = config(&[]).unwrap();
        assert_eq!((empty.timeout, empty.headers.len()), (DEFAULT_TIMEOUT, 0));
        assert!(empty.resource.is_empty());
        let full = config(&[
            ("OTEL_EXPORTER_OTLP_HEADERS", "other=1"),
            (
                "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
                " Api-Key = a%2Cb , x=y=z,",
            ),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1"),
            ("OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", "2500"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "http/protobuf"),
            ("OTEL_SERVICE_NAME", "builds"),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "service.name=x,deployment.environment.name=ci%3D1",
            ),
        ])
        .unwrap();
        assert_eq!(full.timeout, Duration::from_millis(2500));
        let headers: Vec<_> = full
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        assert_eq!(headers, [("api-key", "a,b"), ("x", "y=z")]);
        assert_eq!(
            full.resource,
            [
                ("deployment.environment.name".into(), "ci=1".into()),
                ("service.name".into(), "builds".into())
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_named_and_never_shown() {
        for (name, value, said) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "asks for grpc"),
            (
                "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL",
                "s3cret",
                "names no protocol",
            ),
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "https://s3cret",
                "asks for https",
            ),
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "s3cret:4318",
                "is no address",
            ),
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "unix:///s3cret",
                "is no address",
            ),
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "http://c/?key=s3cret",
                "has a query",
            ),
            (
                "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
                "http://u:s3cret@c/",
                "has a password",
            ),
            ("OTEL_EXPORTER_OTLP_HEADERS", "s3cret", "is not of the form"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "a b=s3cret",
                "is not of the form",
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "a=s3cret%0d%0ab:c",
                "is not of the form",
            ),
            (
                "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT",
                "s3cret",
                "is not a number",
            ),
            ("OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", "0", "is not a number"),
            ("OTEL_RESOURCE_ATTRIBUTES", "s3cret", "is not of the form"),
            ("HOSTALIASES", "s3cret", "names a file"),
        ] {
            let Err(error) = config(&[(name, value)]) else {
                panic!("{name}={value} is taken")
            };
            let text = error.to_string();
            assert!(text.starts_with(&format!("{name} {said}")), "{text}");
            assert!(!text.contains("s3cret"), "{text}");
        }
    }
}
