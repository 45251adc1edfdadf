//! Headless Chromium, spoken to by WebDriver (W3C), and by the few commands that Chromium's driver adds.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::programs::find;
use crate::support::{Who, eventually};

/// By this name an answer holds an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser of its own, with a profile of its own; both are gone when this is dropped.
pub struct Browser {
    driver: Child,
    agent: ureq::Agent,
    session: String,
    _profile: tempfile::TempDir,
    /// Held, so that the driver may go on writing.
    _said: BufReader<ChildStdout>,
}

/// Keys that are no character, as WebDriver names them.
pub const TAB: &str = "\u{e004}";
pub const ENTER: &str = "\u{e007}";

impl Browser {
    pub fn start() -> Result<Self, String> {
        let profile = tempfile::tempdir().unwrap();
        let driver = find(Who::Me, "chromedriver").ok_or("no chromedriver")?;
        let mut driver = Command::new(driver)
            .arg("--port=0")
            .env("HOME", profile.path())
            .env("TMPDIR", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut said = BufReader::new(driver.stdout.take().unwrap());
        let port = said
            .by_ref()
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                Some(
                    line.split_once("successfully on port ")?
                        .1
                        .trim_end_matches('.')
                        .to_owned(),
                )
            })
            .filter(|port| port.parse::<u16>().is_ok());
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_global(Some(Duration::from_secs(60)));
        let mut browser = Self {
            driver,
            agent: config.build().into(),
            session: String::new(),
            _profile: profile,
            _said: said,
        };
        let port = port.ok_or("chromedriver names no port")?;
        let base = format!("http://127.0.0.1:{port}/session");
        let options = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "unhandledPromptBehavior": "ignore",
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "goog:chromeOptions": {
                "binary": find(Who::Me, "chromium"),
                "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1600"],
            },
        }}});
        let answer = browser.post_to(&base, options)?;
        let id = answer["sessionId"].as_str().ok_or("no session")?;
        browser.session = format!("{base}/{id}");
        Ok(browser)
    }

    fn post_to(&self, address: &str, body: Value) -> Result<Value, String> {
        let said = |error: ureq::Error| format!("{address}: {error}");
        let mut answer = self.agent.post(address).send_json(body).map_err(said)?;
        let answer: Value = answer.body_mut().read_json().map_err(said)?;
        let value = &answer["value"];
        match value["error"].as_str() {
            Some(error) => Err(format!("{address}: {error}: {}", value["message"])),
            None => Ok(value.clone()),
        }
    }

    fn post(&self, command: &str, body: Value) -> Result<Value, String> {
        self.post_to(&format!("{}/{command}", self.session), body)
    }

    /// Opens a file, and forgets what was logged so far.
    pub fn open(&self, page: &Path) -> Result<(), String> {
        self.log("browser")?;
        self.log("performance")?;
        self.post(
            "url",
            json!({ "url": format!("file://{}", page.display()) }),
        )?;
        Ok(())
    }

    /// What the body of a function gives in the page.
    pub fn get(&self, script: &str) -> Result<Value, String> {
        self.post("execute/sync", json!({ "script": script, "args": [] }))
    }

    /// A number, a text or several, as text.
    pub fn text(&self, script: &str) -> Result<String, String> {
        Ok(match self.get(script)? {
            Value::String(text) => text,
            other => other.to_string(),
        })
    }

    fn element(&self, selector: &str) -> Result<String, String> {
        let found = self.post(
            "element",
            json!({ "using": "css selector", "value": selector }),
        )?;
        found[ELEMENT]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("no {selector}"))
    }

    /// Clicks as a hand would: where the element is seen, on whatever lies there.
    pub fn click(&self, selector: &str) -> Result<(), String> {
        let element = self.element(selector)?;
        self.post(&format!("element/{element}/click"), json!({}))?;
        Ok(())
    }

    /// Types into an element.
    pub fn type_into(&self, selector: &str, text: &str) -> Result<(), String> {
        let element = self.element(selector)?;
        self.post(&format!("element/{element}/value"), json!({ "text": text }))?;
        Ok(())
    }

    /// Presses a key wherever the focus is.
    pub fn press(&self, key: &str) -> Result<(), String> {
        let keys = json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        self.post(
            "actions",
            json!({ "actions": [{ "type": "key", "id": "keys", "actions": keys }] }),
        )?;
        Ok(())
    }

    /// A command of Chromium's own protocol.
    pub fn chromium(&self, command: &str, parameters: Value) -> Result<Value, String> {
        self.post(
            "goog/cdp/execute",
            json!({ "cmd": command, "params": parameters }),
        )
    }

    /// What was logged since this was asked last.
    fn log(&self, kind: &str) -> Result<Vec<Value>, String> {
        let lines = self.post("se/log", json!({ "type": kind }))?;
        Ok(lines.as_array().cloned().unwrap_or_default())
    }

    /// What the page said in the console, or the browser about it.
    pub fn console(&self) -> Result<Vec<String>, String> {
        let lines = self.log("browser")?;
        Ok(lines
            .iter()
            .map(|line| line["message"].to_string())
            .collect())
    }

    /// The addresses that were asked for.
    pub fn requests(&self) -> Result<Vec<String>, String> {
        let lines = self.log("performance")?;
        let asked = lines.iter().filter_map(|line| {
            let event: Value = serde_json::from_str(line["message"].as_str()?).ok()?;
            let message = &event["message"];
            (message["method"] == "Network.requestWillBeSent")
                .then(|| {
                    message["params"]["request"]["url"]
                        .as_str()
                        .map(str::to_owned)
                })
                .flatten()
        });
        Ok(asked.collect())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.agent.delete(&self.session).call();
        }
        let group = Pid::from_raw(i32::try_from(self.driver.id()).unwrap());
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.driver.wait();
        // The browser's own processes, which no longer have a parent, let go of the profile.
        eventually(Duration::from_secs(5), || killpg(group, None).is_err());
    }
}
