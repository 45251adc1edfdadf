//! The fake model: a server on the loopback interface that has an agent run one command, and remembers what came of it.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};
use tiny_http::{Header, Method, Request, Response, Server};

use super::answer::{Sent, Turn, answer};
use super::asked::{Dialect, shell};

/// The name of the model.
pub const NAME: &str = "guard-verify";
/// Bytes of a request that are read. Agents send their whole instructions each time.
const MOST: u64 = 32 << 20;

/// What the model has heard.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// Requests for an answer.
    pub asked: u32,
    /// Those that were answered with a call of the shell tool.
    pub called: u32,
    /// What that tool answered, the last time.
    pub result: Option<String>,
}

/// A running server; it ends when this is dropped.
pub struct Model {
    server: Arc<Server>,
    heard: Arc<Mutex<Heard>>,
    worker: Option<JoinHandle<()>>,
    port: u16,
}

impl Model {
    /// Serves a model that has `command` run.
    ///
    /// # Errors
    /// No port or no thread is to be had.
    pub fn serve(command: String) -> io::Result<Self> {
        let server = Server::http(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let server = Arc::new(server.map_err(io::Error::other)?);
        let address = server.server_addr().to_ip();
        let port = address
            .ok_or_else(|| io::Error::other("it has no port"))?
            .port();
        let heard = Arc::new(Mutex::new(Heard::default()));
        let (serving, telling) = (Arc::clone(&server), Arc::clone(&heard));
        let work = move || {
            for request in serving.incoming_requests() {
                if let Err(error) = attend(request, &command, &telling) {
                    tracing::debug!(%error, "a request to the fake model");
                }
            }
        };
        let worker = thread::Builder::new().name("model".into()).spawn(work)?;
        Ok(Self {
            server,
            heard,
            worker: Some(worker),
            port,
        })
    }

    /// Where it is, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it has heard so far.
    pub fn heard(&self) -> Heard {
        self.heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

fn attend(mut request: Request, command: &str, heard: &Mutex<Heard>) -> io::Result<()> {
    let mut bytes = Vec::new();
    request.as_reader().take(MOST).read_to_end(&mut bytes)?;
    let url = request.url().to_owned();
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let (status, kind, body) = match request.method() {
        Method::Post => posted(path, &bytes, command, heard),
        _ => looked_up(path),
    };
    let kind = Header::from_bytes("Content-Type", kind);
    let kind = kind.map_err(|()| io::Error::other("a header that is none"))?;
    request.respond(
        Response::from_string(body)
            .with_status_code(status)
            .with_header(kind),
    )
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// The list of models, for those who look before they ask.
fn looked_up(path: &str) -> (u16, &'static str, String) {
    if !path.ends_with("/models") {
        return nothing(path);
    }
    let model = json!({"id": NAME, "object": "model", "created": 0, "owned_by": "guard"});
    let all = json!({"object": "list", "data": [model], "models": []});
    (200, JSON, all.to_string())
}

fn nothing(path: &str) -> (u16, &'static str, String) {
    let error = json!({"error": {"type": "not_found_error", "message": format!("guard's model has no {path}")}});
    (404, JSON, error.to_string())
}

fn posted(
    path: &str,
    bytes: &[u8],
    command: &str,
    heard: &Mutex<Heard>,
) -> (u16, &'static str, String) {
    if path.ends_with("/count_tokens") {
        return (200, JSON, json!({"input_tokens": 10}).to_string());
    }
    if path.ends_with(":countTokens") {
        return (200, JSON, json!({"totalTokens": 10}).to_string());
    }
    let Some(dialect) = Dialect::of(path) else {
        return nothing(path);
    };
    let Ok(body) = serde_json::from_slice::<Value>(bytes) else {
        let error =
            json!({"error": {"type": "invalid_request_error", "message": "this is no JSON"}});
        return (400, JSON, error.to_string());
    };
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    heard.asked += 1;
    let turn = match (dialect.results(&body).pop(), shell(&body)) {
        (Some(result), _) => {
            heard.result = Some(result);
            Turn::Say("The command has run.")
        }
        (None, Some(tool)) => {
            heard.called += 1;
            let arguments = tool.arguments(command);
            Turn::Call(tool, arguments)
        }
        (None, None) => Turn::Say("There is no tool to run a command."),
    };
    let streamed = body["stream"] == true || path.ends_with(":streamGenerateContent");
    let (sent, kind) = if streamed {
        (Sent::Stream, EVENTS)
    } else {
        (Sent::Whole, JSON)
    };
    (
        200,
        kind,
        answer(dialect, sent, &body["model"], &turn, heard.asked),
    )
}
