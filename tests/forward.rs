//! Where the record's events go besides its file: what arrives, that nobody waits for it, and that loss is told.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

#[path = "forward/collector.rs"]
mod collector;

use std::any::Any;
use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use collector::{Collector, attribute};
use support::home::check;
use support::{Home, Run, Who, With, both, each, programs, read_text, skip};

/// Refused: more than have lines of their own, and a name that is no UTF-8 and holds what a terminal would obey.
const SCRIPT: &str = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do unlink ~/.pi/agent/auth.json; done; \
    : > ~/.pi/agent/$'a\\nb\\e[2J\\xe9'; exit 7";
const SECRET: &str = "s3cret-token";

fn run(home: &Home, options: &[&str], script: &str, set: &[(&str, &str)]) -> Result<Run, String> {
    let mut command = home.command(With::Guard(options), &["bash", "-c", script]);
    command.envs(set.iter().copied());
    home.finish(command)
}

/// The lines of the only record, once it has an end.
fn record(home: &Home) -> Result<Vec<Value>, String> {
    let begun = Instant::now();
    loop {
        let text = home.records().first().map(|path| read_text(path));
        let text = text.ok_or("there is no record")?;
        if text.contains(r#""type":"footer""#) && text.ends_with('\n') {
            let lines = text.lines().map(serde_json::from_str);
            return lines.collect::<Result<_, _>>().map_err(|e| e.to_string());
        }
        if begun.elapsed() > Duration::from_secs(20) {
            return Err(format!("no end in {text}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn of_type<'a>(lines: &'a [Value], name: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == name).collect()
}

#[test]
fn a_collector_gets_what_the_record_holds() {
    both("forward", "otlp", |who| {
        let home = Home::new(who);
        let collector = Collector::answering(&[503, 429]);
        let set = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address.as_str()),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Bearer%20s3cret-token",
            ),
            ("OTEL_SERVICE_NAME", "builds"),
            ("OTEL_RESOURCE_ATTRIBUTES", "team=a%2Cb"),
            ("GUARD_LOG", "trace"),
        ];
        let run = run(&home, &["--record", "otlp"], SCRIPT, &set)?;
        check("its own status", run.status == 7, &run)?;
        let sent = collector.records()?;
        let lines = record(&home)?;
        check("no loss is noted", of_type(&lines, "note").is_empty(), &run)?;

        let schema = serde_json::from_str(include_str!("forward/logs.schema.json")).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for (head, body) in collector.requests() {
            validator
                .validate(&body)
                .map_err(|e| format!("{e}: {body}"))?;
            let head = head.to_lowercase();
            assert!(head.starts_with("post /v1/logs "), "{head}");
            assert!(
                head.contains("\r\ncontent-type: application/json\r\n"),
                "{head}"
            );
            assert!(
                head.contains("\r\nauthorization: bearer s3cret-token\r\n"),
                "{head}"
            );
            let resource = &body["resourceLogs"][0]["resource"];
            assert_eq!(attribute(resource, "service.name").unwrap(), "builds");
            assert_eq!(attribute(resource, "team").unwrap(), "a,b");
            assert!(attribute(resource, "host.name").is_some());
        }
        check("the secret is nobody's", !run.stderr.contains(SECRET), &run)?;
        // The library of HTTP would show all that it sends.
        check("guard's own", !run.stderr.contains("ureq"), &run)?;
        assert!(!read_text(&home.records()[0]).contains(SECRET));
        compare(&sent, &lines);
        Ok(())
    });
}

/// Each line of the record was sent, in its order, with what it holds.
fn compare(sent: &[Value], lines: &[Value]) {
    let run = lines[0]["run"].as_str().unwrap();
    let events: Vec<&str> = sent
        .iter()
        .map(|it| it["eventName"].as_str().unwrap())
        .collect();
    let expected: Vec<&str> = lines
        .iter()
        .map(|line| match line["type"].as_str().unwrap() {
            "header" => "guard.begin",
            "attempt" => "guard.attempt",
            "group" => "guard.group",
            "footer" => "guard.end",
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(events, expected);
    for (sent, line) in sent.iter().zip(lines) {
        assert_eq!(attribute(sent, "guard.run").as_deref(), Some(run));
        let body = sent["body"]["stringValue"].as_str().unwrap();
        assert!(!body.contains(char::is_control), "{body}");
        for (ours, theirs) in [
            ("seq", "guard.seq"),
            ("pid", "process.pid"),
            ("executable", "process.executable.path"),
            ("syscall", "guard.syscall"),
            ("operation", "guard.operation"),
            ("errno", "error.type"),
            ("attempts", "guard.attempts"),
        ] {
            let Some(value) = line.get(ours).filter(|value| !value.is_null()) else {
                continue;
            };
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            assert_eq!(attribute(sent, theirs), Some(value), "{ours} of {line}");
        }
        if let Some(escaped) = line["found"]["escaped"].as_str() {
            assert_eq!(attribute(sent, "file.path").as_deref(), Some(escaped));
            assert_eq!(
                attribute(sent, "guard.escaped").unwrap(),
                "file.path,guard.asked"
            );
            assert!(body.contains(r"~/.pi/agent/a\nb\e[2J\xe9"), "{body}");
        }
        if line["type"] == "attempt" && line["found"].is_string() {
            assert_eq!(
                attribute(sent, "file.path").as_deref(),
                line["found"].as_str()
            );
        }
    }
    let odd = lines
        .iter()
        .filter(|line| line["found"]["escaped"].is_string());
    assert_eq!(odd.count(), 1);
}

/// In a mount namespace where these sockets lie in the places of syslog and of the journal.
fn mounts(home: &Home) -> String {
    let outside = home.outside();
    let outside = outside.to_str().unwrap();
    format!(
        "mkdir {outside}/dev; mount --rbind /dev {outside}/dev; mount -t tmpfs -o mode=755 tmpfs /dev; \
         for n in null zero full random urandom tty log; do touch /dev/$n; done; \
         for n in null zero full random urandom tty; do mount --bind {outside}/dev/$n /dev/$n; done; \
         ln -s /proc/self/fd /dev/fd; umount -l {outside}/dev; rmdir {outside}/dev; \
         mount --bind {outside}/log /dev/log; \
         mount -t tmpfs -o mode=755 tmpfs /run; mkdir -p /run/systemd/journal; touch /run/systemd/journal/socket; \
         mount --bind {outside}/journal /run/systemd/journal/socket"
    )
}

fn socket(home: &Home, name: &str) -> UnixDatagram {
    let path = home.outside().join(name);
    let socket = UnixDatagram::bind(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    socket
}

/// What comes, read at once: a socket holds few datagrams.
fn reading(socket: UnixDatagram) -> Receiver<String> {
    let (to, from) = channel();
    std::thread::spawn(move || {
        let mut bytes = vec![0; 1 << 18];
        while let Ok(length) = socket.recv(&mut bytes) {
            // The journal's lengths are bytes.
            let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
            if to.send(text).is_err() {
                return;
            }
        }
    });
    from
}

fn next(from: &Receiver<String>) -> Result<String, String> {
    let next = from.recv_timeout(Duration::from_secs(10));
    next.map_err(|error| error.to_string())
}

#[test]
fn syslog_and_the_journal_get_the_same() {
    both("forward", "sockets", |who| {
        if !support::am_root() {
            return skip("forward: sockets", "root, to put sockets into their places");
        }
        let home = Home::new(who);
        let (log, journal) = (
            reading(socket(&home, "log")),
            reading(socket(&home, "journal")),
        );
        let options = ["--record", "syslog", "--record", "journald"];
        let argv = ["bash", "-c", SCRIPT];
        let run =
            home.finish(home.command_with_mounts(&mounts(&home), With::Guard(&options), &argv))?;
        check("its own status", run.status == 7, &run)?;
        let lines = record(&home)?;
        check("no loss is noted", of_type(&lines, "note").is_empty(), &run)?;
        let id = lines[0]["run"].as_str().unwrap();
        for line in &lines {
            let name = match line["type"].as_str().unwrap() {
                "header" => "begin",
                "footer" => "end",
                other => other,
            };
            let (syslog, entry) = (next(&log)?, next(&journal)?);
            let priority = if matches!(name, "begin" | "end") {
                6
            } else {
                4
            };
            assert!(
                syslog.starts_with(&format!("<{}>", 8 + priority)),
                "{syslog}"
            );
            assert!(
                syslog.contains(&format!(" event=\"{name}\" run=\"{id}\"")),
                "{syslog}"
            );
            assert!(!syslog.contains(char::is_control), "{syslog:?}");
            let fields: HashSet<&str> = entry.lines().collect();
            for field in [
                format!("PRIORITY={priority}"),
                "SYSLOG_IDENTIFIER=guard".into(),
                format!("GUARD_EVENT={name}"),
                format!("GUARD_RUN={id}"),
            ] {
                assert!(fields.contains(&*field), "{field} in {entry}");
            }
            if line["found"]["escaped"].is_string() {
                assert!(entry.contains("\nGUARD_PATH\n"), "{entry}");
                assert!(
                    syslog.contains(r"a\\u{a}") || syslog.contains(r"a\u{a}"),
                    "{syslog}"
                );
            }
        }
        Ok(())
    });
}

/// Somebody who takes nothing.
struct Deaf {
    name: &'static str,
    destination: &'static str,
    /// What is done to the sockets' places.
    mount: &'static str,
    /// What the record says of it.
    why: &'static str,
}

const DEAF: &[Deaf] = &[
    Deaf {
        name: "a collector that never answers",
        destination: "otlp",
        mount: "",
        why: "no answer in time",
    },
    Deaf {
        name: "a closed port",
        destination: "otlp",
        mount: "",
        why: "Connection refused (os error 111)",
    },
    Deaf {
        name: "a syslog that never reads",
        destination: "syslog",
        mount: "true",
        why: "nobody reads from its socket",
    },
    Deaf {
        name: "no journal",
        destination: "journald",
        mount: "umount /run/systemd/journal/socket; rm /run/systemd/journal/socket",
        why: "nothing is at its socket's place",
    },
];

impl Deaf {
    /// The command, and what must stay open while it runs.
    fn start(&self, home: &Home, script: &str) -> (Command, Box<dyn Any>) {
        let options = ["--record", self.destination];
        let with = With::Guard(&options);
        let argv = ["bash", "-c", script];
        if self.destination != "otlp" {
            let sockets = (socket(home, "log"), socket(home, "journal"));
            fill(&home.outside().join("log"));
            let mounts = format!("{}; {}", mounts(home), self.mount);
            return (
                home.command_with_mounts(&mounts, with, &argv),
                Box::new(sockets),
            );
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let mut command = home.command(with, &argv);
        command.env("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", address);
        match self.name {
            "a closed port" => (command, Box::new(())),
            _ => (command, Box::new(listener)),
        }
    }
}

/// Writes to a socket until it takes no more.
fn fill(path: &Path) {
    let own = UnixDatagram::unbound().unwrap();
    own.set_nonblocking(true).unwrap();
    own.connect(path).unwrap();
    while own.send(b"full").is_ok() {}
}

#[test]
fn nobody_waits_for_those_who_take_nothing_and_loss_is_told() {
    each(
        "forward",
        DEAF,
        |row| row.name.to_owned(),
        |row, who| {
            if row.destination != "otlp" && !support::am_root() {
                return skip(row.name, "root, to put sockets into their places");
            }
            let home = Home::new(who);
            let (command, held) = row.start(&home, SCRIPT);
            let run = home.finish(command)?;
            check("its own status", run.status == 7, &run)?;
            check("it is not held up", run.took < Duration::from_secs(3), &run)?;
            let said = format!("guard: {}: of the record's ", row.destination);
            check("loss is said", run.stderr.contains(&said), &run)?;
            let lines = record(&home)?;
            let notes = of_type(&lines, "note");
            let all = lines.len() - notes.len();
            let [note] = notes[..] else {
                return check("one note", false, &run);
            };
            let text = note["text"].as_str().unwrap();
            let expected = format!(
                "{}: of the record's {all} events {all} lost ({})",
                row.destination, row.why
            );
            assert_eq!(text, expected);
            let shown = home.finish(home.command(
                With::Nothing,
                &[programs::guard().to_str().unwrap(), "log", "last"],
            ))?;
            check(
                "guard log shows it",
                shown.stdout.contains(&format!("note: {text}")),
                &shown,
            )?;
            drop(held);
            Ok(())
        },
    );
}

/// A loop of refused calls, which tells at its end how much its supervisor has in memory and open.
fn flood(many: u32) -> String {
    format!(
        "perl -e 'unlink \"$ENV{{HOME}}/.pi/agent/auth.json\" for 1..{many}'; \
         S=$PPID; awk '/VmHWM/ {{ print $2 }}' /proc/$S/status; ls /proc/$S/fd | wc -l"
    )
}

#[test]
fn a_flood_is_as_quick_with_a_collector_that_never_answers() {
    if let Some(need) = programs::missing(Who::Me, &["perl", "awk"]) {
        skip("forward: flood", &need).unwrap();
        return;
    }
    let script = flood(20_000);
    let mut best = [Duration::MAX; 2];
    let mut sizes = [[0_u64; 2]; 2];
    // The quickest of three each, in turns: other work on the machine is not what is measured.
    for _ in 0..3 {
        for (at, with) in [false, true].into_iter().enumerate() {
            let home = Home::new(Who::Me);
            let run = if with {
                let (command, _held) = DEAF[0].start(&home, &script);
                home.finish(command).unwrap()
            } else {
                run(&home, &[], &script, &[]).unwrap()
            };
            assert_eq!(run.status, 0, "{}", run.stderr);
            best[at] = best[at].min(run.took);
            let numbers: Vec<u64> = run
                .stdout
                .lines()
                .map(|line| line.trim().parse().unwrap())
                .collect();
            sizes[at] = [numbers[0], numbers[1]];
        }
    }
    let ratio = best[1].as_secs_f64() / best[0].as_secs_f64();
    support::say(&format!(
        "forward: 20,000 attempts in {:.2?}, with a collector that never answers {:.2?}: {ratio:.2} times; KiB and descriptors {sizes:?}",
        best[0], best[1]
    ));
    let [[memory, open], [memory_with, open_with]] = sizes;
    assert!(memory_with < memory + 16 * 1024, "{sizes:?}");
    assert!(open_with <= open + 3, "{sizes:?}");
    // What is not optimized is judged with more room: so much else goes on beside it.
    let most = if cfg!(debug_assertions) { 2.0 } else { 1.3 };
    assert!(ratio < most, "{ratio:.2} times");
}

#[test]
fn a_clean_run_connects_nowhere_and_one_inside_another_leaves_it_to_that() {
    both("forward", "nothing", |who| {
        let home = Home::new(who);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let set = [("OTEL_EXPORTER_OTLP_ENDPOINT", address.as_str())];
        let untouched = |run: &Run| {
            let came = listener.accept().err().map(|error| error.kind());
            check(
                "nobody connects",
                came == Some(std::io::ErrorKind::WouldBlock),
                run,
            )
        };
        let all = [
            "--record", "otlp", "--record", "syslog", "--record", "journald",
        ];
        let clean = run(&home, &all, "echo fine > ~/tmp/x", &set)?;
        check(
            "it is clean",
            clean.status == 0 && clean.stderr.is_empty(),
            &clean,
        )?;
        untouched(&clean)?;
        let inner = format!(
            "{} --record otlp -- bash -c 'unlink ~/.pi/agent/auth.json'",
            programs::guard().display()
        );
        let nested = run(&home, &[], &inner, &set)?;
        check(
            "it is refused",
            nested.stderr.contains("may not delete"),
            &nested,
        )?;
        let lines = record(&home)?;
        assert_eq!(of_type(&lines, "attempt").len(), 1, "{lines:?}");
        untouched(&nested)?;
        // The environment alone turns nothing on.
        let plain = run(&home, &[], "unlink ~/.pi/agent/auth.json", &set)?;
        untouched(&plain)
    });
}

#[test]
fn a_policy_may_ask_for_it_and_the_one_of_a_workspace_may_not() {
    both("forward", "policy", |who| {
        let home = Home::new(who);
        let collector = Collector::answering(&[]);
        let set = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address.as_str())];
        let also = "version = 1\ninclude = [\"pi\"]\n[record]\nalso = [\"otlp\"]\n";
        let policy = home.outside().join("also.toml");
        fs::write(&policy, also).unwrap();
        let workspace = home.outside().join("work");
        fs::create_dir_all(workspace.join(".git")).unwrap();
        fs::write(workspace.join("guard.toml"), also).unwrap();
        for (options, expected) in [
            (&["--policy", "pi"][..], false),
            (&["--policy", policy.to_str().unwrap()][..], true),
        ] {
            let argv = ["bash", "-c", "unlink ~/.pi/agent/auth.json"];
            let mut command = home.command(With::Guard(options), &argv);
            command.envs(set).current_dir(&workspace);
            let run = home.finish(command)?;
            check("it is refused", run.stderr.contains("may not delete"), &run)?;
            if expected {
                collector.records()?;
            } else {
                record(&home)?;
                check("nothing comes", collector.requests().is_empty(), &run)?;
            }
        }
        Ok(())
    });
}

/// What is wrong with it.
struct Wrong {
    destination: &'static str,
    variable: (&'static str, &'static str),
    said: &'static str,
}

const WRONG: &[Wrong] = &[
    Wrong {
        destination: "otlp",
        variable: ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        said: "guard: OTEL_EXPORTER_OTLP_PROTOCOL asks for grpc",
    },
    Wrong {
        destination: "otlp",
        variable: ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://s3cret-token"),
        said: "guard: OTEL_EXPORTER_OTLP_ENDPOINT asks for https",
    },
    Wrong {
        destination: "otlp",
        variable: ("OTEL_EXPORTER_OTLP_HEADERS", SECRET),
        said: "guard: OTEL_EXPORTER_OTLP_HEADERS is not of the form",
    },
    Wrong {
        destination: "jornald",
        variable: ("UNUSED", ""),
        said: "did you mean \"journald\"?",
    },
];

#[test]
fn what_cannot_be_is_told_before_the_command_starts() {
    each(
        "forward",
        WRONG,
        |row| row.said.to_owned(),
        |row, who| {
            let home = Home::new(who);
            let options = ["--record", row.destination];
            let run = run(&home, &options, "touch ~/tmp/ran", &[row.variable])?;
            check("125", run.status == 125, &run)?;
            check("why", run.stderr.contains(row.said), &run)?;
            check("no secret", !run.stderr.contains(SECRET), &run)?;
            check("not started", !home.path.join("tmp/ran").exists(), &run)
        },
    );
}
