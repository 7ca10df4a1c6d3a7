//! The run-time rules on the modules of the corpus.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../corpus/mod.rs"]
mod corpus;

use splitbar_passes::diagnostic::{Code, Diagnostics, Severity};
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
use splitbar_passes::validate::{Environment, Settings, flow};
use std::collections::BTreeMap;

#[test]
fn no_error_is_said_of_what_works() {
    let mut counts: BTreeMap<(Severity, Code), usize> = BTreeMap::new();
    let mut errors = Vec::new();
    let mut bytes = 0;
    let mut spent = std::time::Duration::ZERO;
    for file in corpus::modules().unwrap() {
        let module = Module::parse(&file.bytes).unwrap();
        let mut diagnostics = Diagnostics::new();
        let declarations = Declarations::new(&module, &mut diagnostics);
        let constants =
            Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{}: {diagnostics}", file.path);
        let mut diagnostics = Diagnostics::new();
        let start = std::time::Instant::now();
        let settings = Settings::new(Environment::from_declarations(&declarations));
        flow::check(&declarations, &constants, &settings, &mut diagnostics);
        let took = start.elapsed();
        if took.as_millis() > 200 {
            println!("SLOW {} {took:?} {}", file.path, file.bytes.len());
        }
        spent += took;
        bytes += file.bytes.len();
        for problem in diagnostics.sorted().iter() {
            *counts.entry((problem.severity, problem.code)).or_default() += 1;
            if problem.severity != Severity::Note && std::env::var("SHOW").is_ok() {
                println!(
                    "{}: {:?} {} {} {:?} {:?}",
                    file.path,
                    problem.severity,
                    problem.code,
                    problem.message,
                    problem.reasons,
                    problem.witness
                );
            }
            if problem.severity == Severity::Error {
                errors.push(format!("{}: {}", file.path, problem.message));
            }
        }
    }
    println!("{counts:#?} {bytes} bytes in {spent:?}");
    assert!(errors.is_empty(), "{errors:#?}");
}
