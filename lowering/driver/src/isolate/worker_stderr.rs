//! Reads the standard error of a worker: the last words before a crash, and LLVM's reports of its
//! passes.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The line by which a worker says that LLVM's passes which it reported have all ended.
pub(super) const NO_PASS: &str = "splitbar: no pass is running";

/// How much of what a worker says is kept.
const MOST_WORDS: usize = 1 << 16;

/// What begins LLVM's other reports about passes.
const REPORTS: [&str; 6] = [
    "Running analysis: ",
    "Skipping pass: ",
    "Skipping pass ",
    "Invalidating analysis: ",
    "Clearing all analysis results for: ",
    "Pass Arguments: ",
];

/// Reads along with a worker.
#[derive(Debug)]
pub(super) struct Listener {
    heard: Arc<Mutex<Heard>>,
    thread: JoinHandle<()>,
}

/// What was said so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Heard {
    /// The pass that began last.
    pass: Option<String>,
    /// What was said since then, but for reports.
    words: String,
}

impl Listener {
    /// Reads all of `from`, so that the worker never waits for us.
    pub(super) fn new(from: impl Read + Send + 'static) -> Listener {
        let heard = Arc::<Mutex<Heard>>::default();
        let shared = Arc::clone(&heard);
        let thread = std::thread::spawn(move || {
            for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                shared
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .hear(&line);
            }
        });
        Listener { heard, thread }
    }

    /// LLVM's pass that is running, or was the last to run.
    pub(super) fn pass(&self) -> Option<String> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.pass.clone()
    }

    /// The last words. It has to be the end of the stream.
    pub(super) fn words(self) -> String {
        let _ = self.thread.join();
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut heard.words)
    }

    /// A stage begins: no pass runs yet.
    pub(super) fn forget(&self) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.pass = None;
    }
}

impl Heard {
    fn hear(&mut self, line: &str) {
        if line == NO_PASS {
            self.words.clear();
            self.pass = None;
        } else if let Some(pass) = pass(line) {
            // What was said before, the list of all passes among it, is not about this one.
            self.words.clear();
            self.pass = Some(pass.to_owned());
        } else if !is_report(line) && self.words.len() < MOST_WORDS {
            self.words.push_str(line);
            self.words.push('\n');
        }
    }
}

/// The name of the pass that the line says is beginning.
fn pass(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("Running pass: ") {
        return rest.split(" on ").next();
    }
    let (_, rest) = line.split_once(" Executing Pass '")?;
    rest.split("' on ").next()
}

fn is_report(line: &str) -> bool {
    let ended = |word| line.starts_with("[") && line.contains(word);
    REPORTS.iter().any(|report| line.starts_with(report))
        || ended(" Freeing Pass '")
        || ended(" Made Modification '")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_last_pass_and_what_was_said_since() {
        let listener = Listener::new(
            "ModulePass Manager
Running pass: InstCombinePass on main (12 instructions)
Running analysis: DominatorTreeAnalysis on main
[2026-01-01 00:00:00.000000000] 0x55aa   Executing Pass 'AMDGPU DAG->DAG Pattern Instruction Selection' on Function 'main'...
[2026-01-01 00:00:00.000000000] 0x55aa    Made Modification 'X' on Function 'main'...
LLVM ERROR: Cannot select
"
            .as_bytes(),
        );
        while listener.pass().is_none() || !listener.thread.is_finished() {
            std::thread::yield_now();
        }
        let pass = "AMDGPU DAG->DAG Pattern Instruction Selection";
        assert_eq!(listener.pass().as_deref(), Some(pass));
        assert_eq!(listener.words(), "LLVM ERROR: Cannot select\n");
        let mut heard = Heard::default();
        heard.hear("Running pass: LICMPass on loop");
        assert_eq!(heard.pass.as_deref(), Some("LICMPass"));
        heard.hear(NO_PASS);
        assert_eq!(heard, Heard::default());
    }
}
