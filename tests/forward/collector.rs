//! A collector of OpenTelemetry that takes logs over HTTP and remembers them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Takes requests as long as the test runs.
pub struct Collector {
    pub address: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Collector {
    /// Answers with these statuses first, then with 200.
    pub fn answering(first: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let statuses = Arc::new(Mutex::new(first.to_vec()));
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (kept, statuses) = (Arc::clone(&kept), Arc::clone(&statuses));
                std::thread::spawn(move || serve(stream.unwrap(), &kept, &statuses));
            }
        });
        Self { address, requests }
    }

    /// Heads and bodies of the requests so far.
    pub fn requests(&self) -> Vec<(String, Value)> {
        self.requests.lock().unwrap().clone()
    }

    /// All log records that were taken, once the end of the run is among them.
    pub fn records(&self) -> Result<Vec<Value>, String> {
        let begun = Instant::now();
        loop {
            let records: Vec<Value> = self
                .requests()
                .iter()
                .flat_map(|(_, body)| {
                    let records = &body["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
                    records.as_array().unwrap().clone()
                })
                .collect();
            let over = records
                .iter()
                .any(|record| record["eventName"] == "guard.end");
            if over {
                return Ok(records);
            }
            if begun.elapsed() > Duration::from_secs(20) {
                return Err(format!("no end among {records:?}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn serve(stream: TcpStream, kept: &Mutex<Vec<(String, Value)>>, statuses: &Mutex<Vec<u16>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let length = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let mut body = vec![0; length.unwrap().1.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let status = {
            let mut statuses = statuses.lock().unwrap();
            if statuses.is_empty() {
                200
            } else {
                statuses.remove(0)
            }
        };
        if status == 200 {
            let body = serde_json::from_slice(&body).unwrap();
            kept.lock().unwrap().push((head, body));
        }
        let answer = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
        );
        stream.write_all(answer.as_bytes()).unwrap();
    }
}

/// An attribute of a log record: text and numbers as text, lists joined by commas.
pub fn attribute(record: &Value, key: &str) -> Option<String> {
    let attributes = record["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|it| it["key"] == key)?;
    Some(plain(&found["value"]))
}

fn plain(value: &Value) -> String {
    if let Some(values) = value["arrayValue"]["values"].as_array() {
        return values.iter().map(plain).collect::<Vec<_>>().join(",");
    }
    let text = value["stringValue"].as_str();
    text.or(value["intValue"].as_str()).unwrap().to_owned()
}
