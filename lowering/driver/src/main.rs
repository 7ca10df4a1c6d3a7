//! The command line `splitbar`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
