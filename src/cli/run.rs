//! `guard -- COMMAND`: brings the policy, the plan and the report together and hands them to the launcher.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::policies::Purpose;
use super::report::ci::Github;
use super::report::forwarding::Forwarding;
use super::report::{Continuous, Report, Setup, notice};
use super::words::chain;
use super::{EXIT_GUARD, RunArgs, policies, say, surroundings, usage};
use crate::launch::{self, Effort, Request};
use crate::plan::Plan;
use crate::policy::{Level, OnAttempt};
use crate::record::{self, ARGUMENT_BYTES, Header, Journal, Text, VERSION, shorten};

/// Runs a command. Returns guard's exit status.
pub fn main(arguments: &RunArgs) -> i32 {
    if arguments.command.is_empty() {
        return usage::no_command();
    }
    let loaded = match policies::load(arguments.policy.as_deref(), Purpose::Run) {
        Ok(loaded) => loaded,
        Err(error) => return refuse(&chain(&error), EXIT_GUARD),
    };
    let effort = if arguments.best_effort {
        Effort::BestEffort
    } else {
        Effort::Strict
    };
    let on_attempt = if arguments.fail_on_attempt {
        OnAttempt::Fail
    } else {
        loaded.on_attempt
    };
    let Some(runs) = surroundings::runs() else {
        return refuse(
            "there is no home directory to keep the record in: set HOME",
            EXIT_GUARD,
        );
    };
    for text in &loaded.plan.notices {
        say(&notice(text));
    }
    let homes = surroundings::homes();
    // guard may write what its programs may not: only where they might as well.
    let may_change = |path: &Path| loaded.plan.lookup(path).level >= Level::NoDelete;
    let mut reports = Vec::new();
    for report in &arguments.report {
        match report.clone().prepare(&may_change) {
            Ok(prepared) => reports.push(prepared),
            Err(error) => {
                let path = report.path.to_string_lossy();
                return refuse(
                    &format!("cannot write the report {path}: {error}"),
                    EXIT_GUARD,
                );
            }
        }
    }
    let destinations = [&loaded.also[..], &arguments.record[..]].concat();
    let forwarding = match Forwarding::prepare(&destinations, &homes) {
        Ok(forwarding) => forwarding,
        Err(error) => return refuse(&chain(&error), EXIT_GUARD),
    };
    let github = Github::detect(&may_change);
    let header = header(&loaded.plan, &arguments.command, effort);
    let run = header.id().to_owned();
    let mut journal = Journal::new(runs, header, loaded.record);
    if let Some(forwarding) = &forwarding {
        journal.tell(forwarding.told());
    }
    let argv: Vec<Text> = arguments
        .command
        .iter()
        .map(|it| it.as_os_str().into())
        .collect();
    let command = homes.command(&argv);
    let report = Report::new(Setup {
        journal,
        homes,
        on_attempt,
        effort,
        forwarding,
        ci: Continuous {
            reports,
            github,
            command,
            cwd: std::env::current_dir().unwrap_or_default(),
        },
    });
    let request = Request {
        plan: loaded.plan,
        command: arguments.command.clone(),
        run,
        effort,
        workspace: loaded.workspace,
    };
    match launch::run(request, Box::new(report)) {
        Ok(status) => status,
        Err(error) => {
            let mut text = chain(&error);
            if error.is_about_the_machine() {
                text.push_str("\nthe command was not started; `guard doctor` tells what this machine can enforce");
                if effort == Effort::Strict {
                    text.push_str(
                        ", and `guard --best-effort -- COMMAND` starts it with what there is",
                    );
                }
            }
            refuse(&text, error.exit_status())
        }
    }
}

/// Says why there was no run.
fn refuse(why: &str, status: i32) -> i32 {
    say(&notice(why));
    status
}

fn header(plan: &Plan, command: &[OsString], effort: Effort) -> Header {
    let mut argv: Vec<Text> = command.iter().map(|it| it.as_os_str().into()).collect();
    let _told_by_the_process = shorten(&mut argv, ARGUMENT_BYTES);
    Header {
        version: VERSION,
        run: String::new(),
        token: record::token(),
        time: Timestamp::now(),
        argv,
        cwd: std::env::current_dir()
            .unwrap_or_else(|_| PathBuf::new())
            .as_path()
            .into(),
        uid: surroundings::uid().unwrap_or(u32::MAX),
        user: surroundings::user(),
        policy: plan.policy.clone(),
        kernel: surroundings::kernel(),
        guard: env!("CARGO_PKG_VERSION").into(),
        effort: match effort {
            Effort::Strict => "strict".into(),
            Effort::BestEffort => "best-effort".into(),
        },
        notes: plan.notices.clone(),
        not_enforced: Vec::new(),
    }
}
