//! The terminal belongs to the command: job control, keys that send signals, window size, full-screen programs. Each
//! scene is played without guard first.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use support::pty::Terminal;
use support::{Home, With, each, programs, skip};

const SHELL: &[&str] = &["bash", "--norc", "--noprofile", "-i"];

/// Plays a scene as everyone, without guard and with it.
fn scene(name: &str, needs: &[&str], play: impl Fn(&Home, With<'_>) -> Result<(), String> + Sync) {
    each(
        "terminal",
        &[name],
        |n| (*n).to_owned(),
        |_, who| {
            if let Some(need) = programs::missing(who, needs) {
                return skip(name, &need);
            }
            let home = Home::new(who);
            play(&home, With::Nothing).map_err(|e| format!("CONTROL: {e}"))?;
            home.reset();
            play(&home, With::Guard(&[]))
        },
    );
}

/// A shell in a terminal, ready for typing. `with` says whether the shell itself runs under guard.
fn shell(home: &Home, with: With<'_>) -> Result<Terminal, String> {
    let mut command = home.command(with, SHELL);
    command.env("PS1", "> ").env("HISTFILE", "/dev/null");
    let mut terminal = Terminal::start(command);
    // The answer differs from what is typed, so that the echo is not mistaken for it.
    terminal.send("set +o emacs; PS1='> '; echo ready-$((40+2))\n");
    terminal.expect("ready-42")?;
    Ok(terminal)
}

/// How the shell inside `scene` calls a command under guard, or plainly.
fn prefix(with: With<'_>) -> String {
    match with {
        With::Nothing => String::new(),
        With::Guard(_) => format!("{} -- ", programs::guard().display()),
    }
}

#[test]
fn job_control_inside() {
    scene("guard -- bash -i", &[], |home, with| {
        let mut t = shell(home, with)?;
        t.send("sleep 100; echo never\n");
        std::thread::sleep(std::time::Duration::from_millis(300));
        t.send("\x03");
        t.send("echo after-c=$?\n");
        t.expect("after-c=130")?;
        t.send("sleep 99\n");
        std::thread::sleep(std::time::Duration::from_millis(300));
        t.send("\x1a");
        t.expect("Stopped")?;
        t.send("jobs; echo z=$?\n");
        t.expect("sleep 99")?;
        t.expect("z=0")?;
        t.send("fg\n");
        t.expect("sleep 99")?;
        std::thread::sleep(std::time::Duration::from_millis(300));
        t.send("\x03");
        t.send("echo after-fg=$?\n");
        t.expect("after-fg=130")?;
        t.send("sleep 0.2 & wait; echo waited=$?\n");
        t.expect("waited=0")?;
        t.send("cat | tr a-z A-Z\nloud\n");
        t.expect("LOUD")?;
        t.send("\x04");
        t.send("echo piped=$?\n");
        t.expect("piped=0")?;
        t.send("exit 17\n");
        let status = t.end()?;
        if status == 17 {
            Ok(())
        } else {
            Err(format!("exit {status}, not 17"))
        }
    });
}

#[test]
fn stopped_and_continued_from_outside() {
    scene("Ctrl-Z of guard -- cat", &[], |home, with| {
        let mut t = shell(home, With::Nothing)?;
        t.send(&format!("{}cat\n", prefix(with)));
        t.send("hello\n");
        t.expect("hello")?;
        t.expect("hello")?;
        t.send("\x1a");
        t.expect("Stopped")?;
        t.send("echo outer-$((1+1))\n");
        t.expect("outer-2")?;
        t.send("fg\n");
        t.expect("cat")?;
        t.send("again\n");
        t.expect("again")?;
        t.expect("again")?;
        t.send("\x04");
        t.send("echo ended=$?\n");
        t.expect("ended=0")?;
        t.send("exit\n");
        t.end().map(|_| ())
    });
}

#[test]
fn keys_that_end() {
    scene("Ctrl-C and Ctrl-\\ of guard -- sleep", &[], |home, with| {
        let mut t = shell(home, With::Nothing)?;
        t.send("ulimit -c 0\n");
        for (key, want) in [("\x03", 130), ("\x1c", 131)] {
            t.send(&format!("{}sleep 100\n", prefix(with)));
            std::thread::sleep(std::time::Duration::from_millis(500));
            t.send(key);
            t.send(&format!("echo status{want}=$?\n"));
            t.expect(&format!("status{want}={want}"))?;
        }
        // A command that handles the key itself goes on.
        t.send(&format!(
            "{}bash -c 'trap \"echo caught-$((2+2))\" INT; sleep 0.6; echo goes on; exit 3'\n",
            prefix(with)
        ));
        std::thread::sleep(std::time::Duration::from_millis(400));
        t.send("\x03");
        t.expect("caught-4")?;
        t.expect("goes on")?;
        t.send("echo own=$?\n");
        t.expect("own=3")?;
        t.send("exit\n");
        t.end().map(|_| ())
    });
}

#[test]
fn window_size() {
    scene("window size", &["stty"], |home, with| {
        let mut t = shell(home, with)?;
        t.send("stty size\n");
        t.expect("24 80")?;
        t.send("bash -c 'trap \"stty size; exit\" WINCH; echo up-$((2+3)); while :; do sleep 0.05; done'\n");
        t.expect("up-5")?;
        t.resize(41, 101);
        t.expect("41 101")?;
        t.send("exit\n");
        t.end().map(|_| ())
    });
}

#[test]
fn full_screen_programs() {
    scene("less", &["less", "seq"], |home, with| {
        let mut t = shell(home, with)?;
        t.send("seq -f line-%03g 300 > ~/long; less ~/long\n");
        t.expect("line-020")?;
        t.send(" ");
        t.expect("line-040")?;
        t.send("G");
        t.expect("line-300")?;
        t.send("q");
        t.send("echo left=$?; stty -a | grep -c ' icanon'\n");
        t.expect("left=0")?;
        t.expect("1")?;
        t.send("exit\n");
        t.end().map(|_| ())
    });
}

/// A background job may not take the terminal away, and `read -s` leaves it as it was.
#[test]
fn reading_from_the_terminal() {
    scene("reading", &[], |home, with| {
        let mut t = shell(home, With::Nothing)?;
        t.send(&format!(
            "{}bash -c 'read -s -p \"word? \" w </dev/tty; echo; echo got-${{#w}}'\n",
            prefix(with)
        ));
        t.expect("word? ")?;
        std::thread::sleep(std::time::Duration::from_millis(200));
        t.send("secret\n");
        t.expect("got-6")?;
        t.send(&format!("{}cat &\n", prefix(with)));
        t.send("sleep 0.5; jobs; echo listed\n");
        t.expect("Stopped")?;
        t.expect("listed")?;
        t.send("kill -9 %1; kill -CONT %1; wait; exit\n");
        t.end().map(|_| ())
    });
}
