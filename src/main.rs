//! `guard`: runs a command so that nothing it starts can delete, overwrite or hide what a policy protects.

mod cli;
mod launch;
mod plan;
mod policy;
mod record;
mod supervise;
mod sys;
mod wall;

fn main() -> std::process::ExitCode {
    cli::main()
}
