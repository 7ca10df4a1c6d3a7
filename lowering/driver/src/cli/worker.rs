//! `splitbar worker`: the process that `compile_isolated` starts. People do not call it.

use splitbar::exit;

/// Serves requests until the standard input ends.
pub fn run(memory: Option<u64>) -> u8 {
    match splitbar::serve_isolated(std::io::stdin(), std::io::stdout().lock(), memory) {
        Ok(()) => exit::DONE,
        Err(error) => {
            eprintln!("error: {error}");
            exit::USAGE
        }
    }
}
