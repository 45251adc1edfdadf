//! guard's own diagnostics: off unless `GUARD_LOG` is set, so that they cost nothing.

use std::fs::OpenOptions;
use std::io;
use std::sync::Mutex;

use tracing::subscriber::set_global_default;
use tracing_subscriber::EnvFilter;

/// Starts what `GUARD_LOG` (a level, or a filter as tracing has them) and `GUARD_LOG_FILE` ask for.
pub fn start() -> Result<(), String> {
    let Some(filter) = std::env::var_os("GUARD_LOG").filter(|filter| !filter.is_empty()) else {
        return Ok(());
    };
    let filter = filter.to_str().ok_or("not a filter")?;
    let filter = EnvFilter::builder()
        .parse(filter)
        .map_err(|error| error.to_string())?;
    // A failed write must not panic, which is what reporting it on stderr may do.
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .log_internal_errors(false);
    // Not by `try_init`, which shows what libraries log as well: that of HTTP would tell what it sends.
    let started = match std::env::var_os("GUARD_LOG_FILE").filter(|file| !file.is_empty()) {
        Some(path) => {
            let file = OpenOptions::new().append(true).create(true).open(&path);
            let file = file.map_err(|error| format!("{}: {error}", path.to_string_lossy()))?;
            set_global_default(lines.with_writer(Mutex::new(file)).finish())
        }
        None => set_global_default(lines.with_writer(io::stderr).finish()),
    };
    started.map_err(|error| error.to_string())
}
