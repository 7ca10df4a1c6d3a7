//! What becomes of the copies from global to workgroup memory in the corpus.

use super::corpus;
use super::support::declared;
use expect_test::expect;
use splitbar_passes::analysis::async_copy::{AsyncCopies, Input, Reason, find};
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::uniformity::memory::Memory;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
use splitbar_passes::transform::inline::inline_barrier_functions;
use std::collections::BTreeMap;
use std::fmt::Write;

fn copies(declarations: &Declarations<'_>) -> Vec<AsyncCopies> {
    let constants = Constants::evaluate(
        declarations,
        &SpecValues::default(),
        &mut Diagnostics::new(),
    );
    let memory = Memory::analyze(declarations);
    let entries = declarations.entry_points.iter();
    let of_entry = |entry: &splitbar_passes::module::EntryPoint<'_>| {
        let function = declarations.function(entry.function)?;
        let size = declarations.workgroup_size(entry, &constants);
        let cfg = Cfg::analyze(declarations.module, function);
        Some(find(Input {
            declarations,
            constants: &constants,
            memory: &memory,
            function,
            cfg: &cfg,
            size,
        }))
    };
    entries.filter_map(of_entry).collect()
}

/// The numbers of `docs/async.md`.
#[test]
fn copies_of_the_corpus() {
    let (mut modules, mut found, mut linear, mut in_flight) = (0, 0, 0, 0);
    let mut refused: BTreeMap<String, u32> = BTreeMap::new();
    for input in corpus::modules().unwrap() {
        let module = Module::parse(&input.bytes).unwrap();
        let declarations = declared(&module, &input.path);
        let Ok(inlined) = inline_barrier_functions(&module, &declarations) else {
            continue;
        };
        let copies = match &inlined {
            None => copies(&declarations),
            Some(edited) => copies(&declared(&edited.module, &input.path)),
        };
        modules += u32::from(copies.iter().any(|copies| !copies.copies.is_empty()));
        for copies in copies {
            found += copies.copies.len();
            linear += copies.copies.iter().filter(|copy| copy.lane_linear).count();
            in_flight += copies
                .waits
                .iter()
                .filter(|wait| wait.outstanding > 0)
                .count();
            for one in copies.refused {
                let reason = match one.reason {
                    Reason::Size(_) => "so many bytes are not copied at once".to_owned(),
                    reason => reason.to_string(),
                };
                *refused.entry(reason).or_default() += 1;
            }
        }
    }
    let mut table = format!(
        "modules with copies: {modules}\ncopies: {found}\n  of lanes that follow each other: {linear}\nwaits that leave copies in flight: {in_flight}\n"
    );
    for (reason, count) in refused {
        writeln!(table, "refused: {count}: {reason}").unwrap();
    }
    expect![[r#"
        modules with copies: 38
        copies: 88
          of lanes that follow each other: 10
        waits that leave copies in flight: 0
        refused: 78: so many bytes are not copied at once
        refused: 12: the invocation itself accesses the destination before it is published
        refused: 8: the load is in another block
        refused: 4: the load or the store is volatile, nontemporal, or makes memory available or visible
        refused: 4: the loaded value has another use
        refused: 18: the variable of the destination is unknown, or overlaps others
    "#]].assert_eq(&table);
}
