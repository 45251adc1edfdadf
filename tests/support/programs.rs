//! Programs: which are installed for whom, and helpers built once a test binary from `tests/programs`.

use std::collections::HashMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use super::Who;

const SYSTEM: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A folder that everyone can reach, for guard and the helpers; goes with the test process.
pub fn shared() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    extern "C" fn remove() {
        if let Some(dir) = DIR.get() {
            let _ = std::fs::remove_dir_all(dir);
        }
    }
    DIR.get_or_init(|| {
        let dir = tempfile::Builder::new()
            .prefix("guard-test-bin-")
            .tempdir()
            .unwrap()
            .keep();
        std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o755)).unwrap();
        // SAFETY: the function has the C ABI, takes nothing and does not unwind.
        unsafe { libc::atexit(remove) };
        dir.canonicalize().unwrap()
    })
}

/// The guard to test, where every user can execute it.
pub fn guard() -> &'static Path {
    static GUARD: OnceLock<PathBuf> = OnceLock::new();
    GUARD.get_or_init(|| {
        let built = std::env::var_os("GUARD_UNDER_TEST")
            .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_guard")), PathBuf::from);
        let copy = shared().join("guard");
        // By another process: a descriptor open for writing here could be inherited by a child that another test is just
        // starting, and the program could not be executed until that child has let go of it.
        let copied = std::process::Command::new("cp")
            .arg(&built)
            .arg(&copy)
            .status();
        assert!(
            copied.is_ok_and(|status| status.success()),
            "cannot copy {}",
            built.display()
        );
        std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o755)).unwrap();
        copy
    })
}

/// The PATH of a case: the system's folders, then those of the caller that `who` can enter.
pub fn path_for(who: Who) -> String {
    let mut dirs: Vec<String> = SYSTEM.split(':').map(str::to_owned).collect();
    if !who.is_root() {
        let own = std::env::var("PATH").unwrap_or_default();
        dirs.extend(
            own.split(':')
                .filter(|d| d.starts_with('/') && can_enter(who, Path::new(d)))
                .map(str::to_owned),
        );
    }
    dirs.join(":")
}

/// Where `name` is for `who`.
pub fn find(who: Who, name: &str) -> Option<PathBuf> {
    path_for(who)
        .split(':')
        .map(|d| Path::new(d).join(name))
        .find(|p| {
            p.metadata()
                .is_ok_and(|m| m.is_file() && m.mode() & 0o111 != 0)
        })
}

fn can_enter(who: Who, dir: &Path) -> bool {
    who == Who::Me
        || dir.ancestors().all(|d| {
            d.metadata()
                .is_ok_and(|m| m.mode() & 0o001 != 0 || m.uid() == who.uid())
        })
}

/// The first of `needs` that is not there. A need is a program's name, or one of
/// `root`, `user` (the case makes sense for root only, for others only), `mounts` (the tests run as root and may unshare mounts), `cc32`, `cargo`.
pub fn missing(who: Who, needs: &[&str]) -> Option<String> {
    needs
        .iter()
        .find(|need| !present(who, need))
        .map(|need| (*need).to_owned())
}

fn present(who: Who, need: &str) -> bool {
    match need {
        "root" => who.is_root(),
        "user" => !who.is_root(),
        "mounts" => {
            super::am_root()
                && find(Who::Me, "unshare").is_some()
                && find(Who::Me, "setpriv").is_some()
        }
        "cc32" => helper("hurt32").is_some(),
        "hurt" | "odd" | "ops" | "raw" | "raw32" | "reach" | "context" | "context32" => {
            helper(need).is_some()
        }
        "hurt-go" | "hurt-go-arm64" => go_helper(need).is_some(),
        "core" => core_dumps(),
        "x32" => x32(),
        "cargo" => std::env::var_os("CARGO").is_some(),
        program => find(who, program).is_some(),
    }
}

/// Whether a case is simply not for `who`, as opposed to something missing.
pub fn not_for(who: Who, needs: &[&str]) -> bool {
    needs.contains(&"root") && !who.is_root()
        || needs.contains(&"user") && who.is_root()
        || needs.contains(&"mounts") && !super::am_root()
        || needs.contains(&"core") && !core_dumps()
        || needs.contains(&"x32") && !x32()
}

/// Whether the kernel has the calls of x32.
fn x32() -> bool {
    // SAFETY: getpid(2) takes nothing and changes nothing.
    cfg!(target_arch = "x86_64") && unsafe { libc::syscall(0x4000_0000 | libc::SYS_getpid) } > 0
}

/// Whether the kernel writes core dumps into the working directory.
fn core_dumps() -> bool {
    let pattern = super::read_text(Path::new("/proc/sys/kernel/core_pattern"));
    !pattern.starts_with(['|', '/', '@'])
}

/// Builds `tests/programs/NAME.c` once; `NAME32` is the same for i386. None where the compiler cannot.
pub fn helper(name: &str) -> Option<PathBuf> {
    static BUILT: Mutex<Option<HashMap<String, Option<PathBuf>>>> = Mutex::new(None);
    let mut built = BUILT.lock().unwrap();
    built
        .get_or_insert_default()
        .entry(name.to_owned())
        .or_insert_with(|| build_c(name))
        .clone()
}

fn build_c(name: &str) -> Option<PathBuf> {
    let (source, flags): (&str, &[&str]) = match name.strip_suffix("32") {
        Some(source) => (source, &["-m32"]),
        None => (name, &[]),
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(format!("{source}.c"));
    let out = shared().join(name);
    let run = Command::new("cc")
        .args(flags)
        .args(["-O1", "-Wall", "-pthread", "-o"])
        .arg(&out)
        .arg(&source)
        .output();
    match run {
        Ok(o) if o.status.success() => Some(out),
        Ok(o) if flags.is_empty() => panic!(
            "{}: {}",
            source.display(),
            String::from_utf8_lossy(&o.stderr)
        ),
        _ => None,
    }
}

/// Builds `tests/programs/hurt.go` once, without the C library: for this machine, or for aarch64 as `hurt-go-arm64`.
pub fn go_helper(name: &str) -> Option<PathBuf> {
    static BUILT: Mutex<Option<HashMap<String, Option<PathBuf>>>> = Mutex::new(None);
    let mut built = BUILT.lock().unwrap();
    built
        .get_or_insert_default()
        .entry(name.to_owned())
        .or_insert_with(|| build_go(name))
        .clone()
}

fn build_go(name: &str) -> Option<PathBuf> {
    let go = find(Who::Me, "go")?;
    let out = shared().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/hurt.go");
    let mut command = Command::new(go);
    command
        .args(["build", "-o"])
        .arg(&out)
        .arg(&source)
        .envs([
            ("CGO_ENABLED", "0"),
            ("GO111MODULE", "off"),
            ("GOFLAGS", ""),
        ])
        .env("GOCACHE", shared().join("go-cache"))
        .env("GOPATH", shared().join("go-path"));
    if let Some((_, architecture)) = name.split_once("go-") {
        command.env("GOARCH", architecture);
    }
    let run = command.output().ok()?;
    assert!(
        run.status.success(),
        "{}: {}",
        source.display(),
        String::from_utf8_lossy(&run.stderr)
    );
    Some(out)
}
