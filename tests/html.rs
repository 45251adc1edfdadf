//! `guard log --html` in a browser: what the page of a real run shows, what a click changes, and that nothing leaves it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

#[path = "html/browser.rs"]
mod browser;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use browser::{Browser, ENTER, TAB};
use serde_json::json;
use support::home::check;
use support::{Home, Run, Who, With, both, eventually, programs, read_text, skip};

/// Names that would be markup, commands to a terminal, or no text at all; and what the page shows for them.
const ODD: &[(&[u8], &str)] = &[
    (
        b"</script><script>document.title='owned'</script>",
        "</script><script>document.title='owned'</script>",
    ),
    (
        b"<img src=x onerror=document.title='owned'>",
        "<img src=x onerror=document.title='owned'>",
    ),
    (b"{{data}}&lt;b&gt;", "{{data}}&lt;b&gt;"),
    (b"new\nline", r"new\nline"),
    (b"q\"'uote", "q\"'uote"),
    (b"esc\x1b[2J\x07", r"esc\e[2J\x07"),
    (b"caf\xe9\xff", r"caf\xe9\xff"),
    ("\u{202e}\u{2028}é".as_bytes(), "\\u{202e}\\u{2028}é"),
];

/// A flood, a program that starts others, and each odd name once, as a path and as an argument.
const SCRIPT: &str = r#"rm -rf "$P"/many
sh -c 'chmod 600 "$P"/auth.json; : > "$P"/settings.json; :'
sh -c ': > "$P"/settings.json; :'
find "$P"/odd -mindepth 1 -depth -exec rm -d {} \;
true"#;

const FLOOD: usize = 40;

/// A home in which the script ran under guard.
fn guarded(who: Who) -> Result<Home, String> {
    let home = Home::new(who);
    let agent = home.agent();
    fs::create_dir_all(agent.join("many")).unwrap();
    for n in 0..FLOOD {
        fs::write(agent.join(format!("many/{n}")), "").unwrap();
    }
    for (name, _) in ODD {
        fs::create_dir_all(agent.join("odd").join(OsStr::from_bytes(name))).unwrap();
    }
    let run = home.script(With::Guard(&[]), SCRIPT)?;
    check(
        "the run",
        run.status == 0 && home.records().len() == 1,
        &run,
    )?;
    let ended = || read_text(&home.records()[0]).contains(r#""type":"footer""#);
    assert!(
        eventually(Duration::from_secs(20), ended),
        "the record has no end"
    );
    Ok(home)
}

/// `guard log --html` with these arguments.
fn html(home: &Home, arguments: &[&str]) -> Result<Run, String> {
    let guard = programs::guard().to_str().unwrap();
    let argv: Vec<&str> = [guard, "log", "--html"]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    home.finish(home.command(With::Nothing, &argv))
}

/// The page of the only run.
fn page(home: &Home) -> Result<PathBuf, String> {
    let page = home.tmp().join("page.html");
    let run = html(home, &[page.to_str().unwrap()])?;
    check(
        "log --html",
        run.status == 0 && run.stdout.is_empty() && run.stderr.is_empty(),
        &run,
    )?;
    Ok(page)
}

fn is(what: &str, good: bool, told: impl std::fmt::Debug) -> Result<(), String> {
    if good {
        Ok(())
    } else {
        Err(format!("{what}: {told:?}"))
    }
}

/// The attempts in the table.
fn rows(browser: &Browser) -> Result<Vec<String>, String> {
    let rows = browser.get(
        "return [...document.querySelectorAll('#rows tr')].map(row => [...row.cells].map(cell => cell.innerText).join(' | '))",
    )?;
    Ok(serde_json::from_value(rows).unwrap())
}

/// Clicks the first element of these that has this text.
fn click_text(browser: &Browser, selector: &str, text: &str) -> Result<(), String> {
    mark(browser, selector, text)?;
    browser.click("[data-wanted]")
}

fn mark(browser: &Browser, selector: &str, text: &str) -> Result<(), String> {
    let found = browser.get(&format!(
        "document.querySelectorAll('[data-wanted]').forEach(one => one.removeAttribute('data-wanted'));
         const one = [...document.querySelectorAll({})].find(one => one.textContent.includes({}));
         one?.setAttribute('data-wanted', '');
         return one !== undefined;",
        json!(selector),
        json!(text)
    ))?;
    is("no such element", found == true, (selector, text))
}

const STATUS: &str = "return document.getElementById('status').textContent";

/// A click on the shell that started chmod shows what the two tried, also where that is counted with what another shell did,
/// and nothing else; another click everything.
fn click_on_a_process(browser: &Browser) -> Result<(), String> {
    let all = rows(browser)?;
    is(
        "both are there before",
        all.iter().any(|row| row.contains("| rm ("))
            && all.iter().any(|row| row.contains("| chmod (")),
        &all,
    )?;
    click_text(browser, "#processes button", "sh -c 'chmod")?;
    let some = rows(browser)?;
    is(
        "what the shell and chmod tried",
        some.len() == 2 && some[0].contains("| chmod (") && some[1].contains("| openat "),
        &some,
    )?;
    let status = browser.text(STATUS)?;
    is("the status", status.starts_with("2 of "), status)?;
    let chosen = browser
        .get("return [...document.querySelectorAll('#processes [aria-pressed=true]')].length")?;
    is("one is chosen", chosen == 1, chosen)?;
    click_text(browser, "#processes button", "sh -c 'chmod")?;
    is("all are back", rows(browser)? == all, all)
}

/// What the head, the tree and the table say.
fn shows_the_run(browser: &Browser) -> Result<(), String> {
    let text = browser.text("return document.body.innerText")?;
    let total = FLOOD + ODD.len() + 3;
    let sentence = format!("tried to remove {} entries", FLOOD);
    for words in [
        "attempts refused. The command ended with 0.",
        "agents-closed",
        &sentence,
        "a recursive delete",
        "rule ~/.pi/agent = \"read-only\"",
    ] {
        is("not in the page", text.contains(words), (words, &text))?;
    }
    let rows = rows(browser)?;
    for (_, shown) in ODD {
        is(
            "an odd name is missing",
            rows.iter()
                .any(|row| row.contains(&format!("~/.pi/agent/odd/{shown}"))),
            (shown, &rows),
        )?;
    }
    is(
        "what is only counted",
        rows.iter().any(|row| row.contains("| 32 more |")),
        &rows,
    )?;
    let status = browser.text(STATUS)?;
    is(
        "the status",
        status == format!("{total} of {total} attempts"),
        status,
    )?;
    let built = browser.text("return [document.images.length, document.scripts.length, document.querySelectorAll('b b, main img').length].join()")?;
    is("markup from a name", built == "0,2,0", built)?;
    let title = browser.text("return document.title")?;
    is("the title", title.starts_with("guard: run "), title)
}

fn filters(browser: &Browser) -> Result<(), String> {
    browser.type_into("#text", "agent/AUTH.json")?;
    let some = rows(browser)?;
    is(
        "filtered by text",
        some.len() == 1 && some[0].contains("~/.pi/agent/auth.json"),
        &some,
    )?;
    click_text(browser, "#chosen button", "Show all")?;
    click_text(browser, "#operations button", "metadata")?;
    let some = rows(browser)?;
    is(
        "filtered by operation",
        some.len() == 1 && some[0].contains("| metadata |"),
        &some,
    )?;
    click_text(browser, "#chosen button", "Show all")?;
    browser.type_into("#program", "find")?;
    let some = rows(browser)?;
    is(
        "filtered by program",
        some.len() >= ODD.len() && some.iter().all(|row| row.contains("/odd/")),
        &some,
    )?;
    click_text(browser, "#chosen button", "Show all")
}

/// A click on a folder in the treemap shows what lies in it, and the way back everything.
fn click_on_a_folder(browser: &Browser) -> Result<(), String> {
    let all = rows(browser)?;
    browser.click("#map [data-path='~/.pi/agent/many'] > span")?;
    let some = rows(browser)?;
    is(
        "only that folder",
        some.len() == 9 && some.iter().all(|row| row.contains("~/.pi/agent/many")),
        &some,
    )?;
    let status = browser.text(STATUS)?;
    is(
        "the status",
        status.starts_with(&format!("{} of ", FLOOD)),
        status,
    )?;
    click_text(browser, "#crumbs button", "all folders")?;
    is("all are back", rows(browser)? == all, all)?;
    let areas = browser.get(
        "const area = path => { const box = document.querySelector(`#map [data-path='${path}']`).getBoundingClientRect(); return box.width * box.height; };
         return area('~/.pi/agent/many') / area('~/.pi/agent/auth.json');",
    )?;
    let areas = areas.as_f64().unwrap();
    is(
        "40 attempts take about 40 times the room of one",
        (30.0..55.0).contains(&areas),
        areas,
    )
}

/// The same click by the keyboard alone.
fn keyboard(browser: &Browser) -> Result<(), String> {
    mark(browser, "#processes button", "sh -c 'chmod")?;
    browser.get("document.activeElement.blur(); window.scrollTo(0, 0)")?;
    let there = (0..60).any(|_| {
        browser.press(TAB).unwrap();
        browser
            .get("return document.activeElement.hasAttribute('data-wanted')")
            .unwrap()
            == true
    });
    is("the tab key reaches the process", there, "")?;
    browser.press(ENTER)?;
    is(
        "enter chooses it",
        rows(browser)?.len() == 2,
        rows(browser)?,
    )?;
    browser.press(ENTER)?;
    is("and again not", rows(browser)?.len() > 2, rows(browser)?)
}

/// Whether the tools for this are here.
fn lacks(name: &str) -> Option<Result<(), String>> {
    let need = programs::missing(Who::Me, &["chromium", "chromedriver"])?;
    Some(skip(name, &need))
}

#[test]
fn a_real_run_in_a_browser() {
    both("html", "a real run", |who| {
        if let Some(skipped) = lacks("a real run") {
            return skipped;
        }
        let home = guarded(who)?;
        let page = page(&home)?;
        let browser = Browser::start()?;
        browser.open(&page)?;
        shows_the_run(&browser)?;
        click_on_a_process(&browser)?;
        filters(&browser)?;
        click_on_a_folder(&browser)?;
        keyboard(&browser)?;
        let console = browser.console()?;
        is("the console is empty", console.is_empty(), console)?;
        let requests = browser.requests()?;
        is(
            "one request, for the page",
            requests.len() == 1 && requests[0].ends_with("/page.html"),
            requests,
        )
    });
}

/// A page whose processes do nothing when clicked must not pass for one that works.
#[test]
fn a_dead_click_is_seen() {
    if let Some(skipped) = lacks("a dead click") {
        return skipped.unwrap();
    }
    let home = guarded(Who::Me).unwrap();
    let page = page(&home).unwrap();
    let text = read_text(&page);
    let handler = "click: () => choose(\"process\", index)";
    assert_eq!(text.matches(handler).count(), 1);
    let browser = Browser::start().unwrap();
    browser.open(&page).unwrap();
    click_on_a_process(&browser).unwrap();
    fs::write(&page, text.replace(handler, "click: () => {}")).unwrap();
    browser.open(&page).unwrap();
    let problem = click_on_a_process(&browser).unwrap_err();
    assert!(
        problem.starts_with("what the shell and chmod tried: "),
        "{problem}"
    );
}

/// Markup that got into the page nevertheless neither runs nor loads anything, and the test would hear of it.
#[test]
fn what_is_not_the_pages_own_does_not_run() {
    if let Some(skipped) = lacks("markup") {
        return skipped.unwrap();
    }
    let home = guarded(Who::Me).unwrap();
    let page = page(&home).unwrap();
    let foreign = "<script>document.title = 'owned'</script><img src='http://127.0.0.1:9/x' onerror=\"document.title = 'owned'\"></body>";
    let text = read_text(&page).replace("</body>", foreign);
    fs::write(&page, &text).unwrap();
    let browser = Browser::start().unwrap();
    browser.open(&page).unwrap();
    assert!(
        browser
            .text("return document.title")
            .unwrap()
            .starts_with("guard: run ")
    );
    assert!(!rows(&browser).unwrap().is_empty());
    let console = browser.console().unwrap().join("\n");
    assert!(
        console.contains("script-src") && console.contains("img-src")
            || console.contains("default-src"),
        "{console}"
    );
    assert!(console.contains("Security Policy"), "{console}");
    // Without the policy both happen, so that the checks above and those of the requests see something.
    let (before, after) = text.split_once("<meta http-equiv").unwrap();
    let (_, after) = after.split_once('>').unwrap();
    fs::write(&page, format!("{before}{after}")).unwrap();
    browser.open(&page).unwrap();
    assert!(eventually(Duration::from_secs(10), || browser
        .text("return document.title")
        .unwrap()
        == "owned"));
    let requests = browser.requests().unwrap();
    assert!(
        requests
            .iter()
            .any(|address| address.contains("127.0.0.1:9")),
        "{requests:?}"
    );
}

/// The least contrast between a text that is seen and what is behind it, with that text.
const CONTRAST: &str = r#"
const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const parsed = (color) => { pixel.clearRect(0, 0, 1, 1); pixel.fillStyle = color; pixel.fillRect(0, 0, 1, 1); return [...pixel.getImageData(0, 0, 1, 1).data]; };
const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (node) => { for (; node; node = node.parentElement) { const color = parsed(getComputedStyle(node).backgroundColor); if (color[3] === 255) return color; } return [255, 255, 255]; };
let worst = [99, ""];
for (const node of document.querySelectorAll("body *")) {
  if (![...node.childNodes].some(child => child.nodeType === 3 && child.data.trim()) || !node.checkVisibility() || node.closest("script")) continue;
  const one = light(parsed(getComputedStyle(node).color)), other = light(behind(node));
  const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  if (ratio < worst[0]) worst = [ratio, node.outerHTML.slice(0, 80)];
}
return worst;"#;

#[test]
fn light_dark_narrow_and_without_scripts() {
    if let Some(skipped) = lacks("looks") {
        return skipped.unwrap();
    }
    let home = guarded(Who::Me).unwrap();
    let page = page(&home).unwrap();
    let browser = Browser::start().unwrap();
    browser.open(&page).unwrap();
    let grounds = ["light", "dark"].map(|scheme| {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser
            .chromium(
                "Emulation.setEmulatedMedia",
                json!({ "features": features }),
            )
            .unwrap();
        for chosen in ["all", "some"] {
            let worst = browser.get(CONTRAST).unwrap();
            assert!(
                worst[0].as_f64().unwrap() >= 4.5,
                "{scheme}, {chosen}: {worst}"
            );
            click_text(&browser, "#processes button", "sh -c 'chmod").unwrap();
        }
        browser
            .text("return getComputedStyle(document.body).backgroundColor")
            .unwrap()
    });
    assert_ne!(grounds[0], grounds[1]);

    let narrow = json!({ "width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": true });
    browser
        .chromium("Emulation.setDeviceMetricsOverride", narrow)
        .unwrap();
    let wide = browser
        .get("return [document.documentElement.scrollWidth, innerWidth]")
        .unwrap();
    assert_eq!(wide, json!([380, 380]));
    browser
        .chromium("Emulation.clearDeviceMetricsOverride", json!({}))
        .unwrap();

    browser
        .chromium(
            "Emulation.setScriptExecutionDisabled",
            json!({ "value": true }),
        )
        .unwrap();
    browser.open(&page).unwrap();
    let text = browser.text("return document.body.innerText").unwrap();
    for words in [
        "attempts refused. The command ended with 0.",
        "rm -rf ~/.pi/agent/many (pid ",
        "fchmodat EACCES  ~/.pi/agent/auth.json",
        "… and 32 more",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    assert!(
        !text.contains("Operation"),
        "filters that do nothing are shown: {text}"
    );
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn where_the_page_goes() {
    both("html", "the file", |who| {
        let home = guarded(who)?;
        let page = page(&home)?;
        is("for the user alone", mode(&page) == 0o600, mode(&page))?;
        let text = read_text(&page);
        let stdout = html(&home, &["-", "last"])?;
        check("to stdout", stdout.stdout == text, &stdout)?;
        let file = page.to_str().unwrap();
        let filtered = html(&home, &[file, "--path", "**/auth.json"])?;
        check("with a filter", filtered.status == 0, &filtered)?;
        let less = read_text(&page);
        let there = less.contains("~/.pi/agent/auth.json") && !less.contains("~/.pi/agent/many");
        is(
            "only what passes",
            there && less.contains("Only what the filters of the command line"),
            less,
        )?;
        let folder = html(&home, &[home.tmp().to_str().unwrap()])?;
        check(
            "a folder",
            folder.status == 1 && folder.stderr.starts_with("guard: cannot write ~/tmp: "),
            &folder,
        )?;
        let both = html(&home, &[file, "--json"])?;
        check("with --json", both.status == 2, &both)?;
        for record in home.records() {
            fs::remove_file(record).unwrap();
        }
        let none = html(&home, &[file])?;
        check(
            "no run",
            none.status == 1
                && none
                    .stderr
                    .contains("there is no record in ~/.local/state/guard/runs"),
            &none,
        )
    });
}
