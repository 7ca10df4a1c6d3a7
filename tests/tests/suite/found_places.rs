//! Findings of modules with debug lines name the line of the source: those of `check`, of the
//! simulator and of the audit, counted. A list has the findings without a line.

use crate::places::{FORMS, compiled};
use crate::sim::inputs;
use crate::support::{always_split, confirm, linkable, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::diagnostic::{Diagnostic, Diagnostics};
use splitbar::simulate::Job;
use splitbar::simulate::machine::Schedule;
use splitbar::{CheckOptions, Compiler, EntryPlan, Environment, check};
use splitbar_passes::module::{Declarations, Module, WordOffset, assemble};
use splitbar_plan::{AmdgpuStep, Step};
use splitbar_tests::fixture::{Fixture, root};
use splitbar_tests::reference;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Findings of `fixtures/invalid` about the module or a declaration: lines are in force only in
/// functions.
const OF_DECLARATIONS: &str = "fixtures/places/check.txt";

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = vec![trial("found_places/check".to_owned(), of_check)];
    let [op_line, debug_line] = FORMS;
    for (target, form) in [
        ("gfx942", op_line),
        ("gfx1201", debug_line),
        ("sm_90", op_line),
    ] {
        let chosen = fixtures.to_vec();
        let name = format!("found_places/code/{target}");
        trials.push(trial(name, move || of_code(&chosen, target, form)));
    }
    trials
}

/// The modules of `fixtures/invalid`, sorted.
fn invalid() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in std::fs::read_dir(root().join("fixtures/invalid"))? {
        for file in std::fs::read_dir(folder?.path())? {
            files.push(file?.path());
        }
    }
    files.retain(|file| file.extension().is_some_and(|kind| kind == "spvasm"));
    files.sort();
    Ok(files)
}

/// The text with a separate OpLine before each instruction of a function.
fn with_lines(text: &str) -> String {
    const HEAD: [&str; 7] = [
        ";",
        "OpCapability",
        "OpExtension",
        "OpMemoryModel",
        "OpEntryPoint",
        "OpExecutionMode",
        "OpSource",
    ];
    let operation = |line: &str| -> String {
        let line = line.split_once(" = ").map_or(line, |(_, rest)| rest);
        line.split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let mut all = String::new();
    let (mut is_named, mut is_inside, mut is_merge) = (false, false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim();
        let op = operation(trimmed);
        let is_head = HEAD.iter().any(|start| op.starts_with(start)) || trimmed.is_empty();
        if !is_named && !is_head && op != "OpExtInstImport" {
            all += "%source_file = OpString \"case.spvasm\"\n";
            is_named = true;
        }
        let is_code = is_inside && !trimmed.is_empty() && !trimmed.starts_with(';');
        let has_line = !["OpFunctionParameter", "OpLabel", "OpFunctionEnd"].contains(&&*op);
        if is_code && has_line && !is_merge {
            all += &format!("OpLine %source_file {number} 0\n");
        }
        if is_code {
            is_merge = op.ends_with("Merge");
        }
        is_inside = (is_inside || op == "OpFunction") && op != "OpFunctionEnd";
        all.extend([line, "\n"]);
    }
    all
}

/// The environment that the first line of a case names.
fn environment(text: &str) -> Option<Environment> {
    let named = text.lines().find_map(|line| line.strip_prefix("; env: "));
    named?.trim().parse().ok()
}

/// Every finding in a function of `fixtures/invalid` has its line.
fn of_check() -> Result<()> {
    let (mut modules, mut named, mut without) = (0, 0, BTreeSet::new());
    let mut passed = 0;
    for file in invalid()? {
        let name = file.strip_prefix(root())?.display().to_string();
        let text = std::fs::read_to_string(&file)?;
        let Ok(assembled) = assemble(&with_lines(&text)) else {
            continue; // text that is no module at all
        };
        let bytes: Vec<u8> = assembled
            .words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let mut options = CheckOptions::default();
        options.environment = environment(&text);
        let found = check(&bytes, &options);
        let lines = with_lines(&text);
        let lines: Vec<&str> = lines.lines().collect();
        for finding in found.iter() {
            let line = finding
                .location
                .word
                .and_then(|word| assembled.lines.get(&word));
            let before =
                line.and_then(|line| lines.get(usize::try_from(*line).ok()?.checked_sub(2)?));
            let given = before.and_then(|before| before.strip_prefix("OpLine %source_file "));
            let given = given.and_then(|given| given.split(' ').next()?.parse::<u32>().ok());
            match (&finding.location.source, given) {
                (Some(source), Some(given)) => {
                    ensure!(source.line == given, "{name}: {finding}");
                    named += 1;
                }
                (Some(_), None) => named += 1, // that of an instruction before
                (None, Some(_)) => {
                    anyhow::bail!("{name}: no line in {finding}")
                }
                (None, None) => drop(without.insert(described(&name, finding))),
            }
            for step in &finding.witness {
                let line = step.word.and_then(|word| assembled.lines.get(&word));
                let has_line = line.is_some() && step.instruction.is_some();
                ensure!(has_line == step.source.is_some(), "{name}: {step:?}");
                passed += usize::from(has_line);
            }
        }
        modules += 1;
    }
    println!(
        "{modules} modules: {named} findings have a line, {} are about declarations; {passed} steps \
         of paths have a line",
        without.len()
    );
    ensure!(
        modules > 150 && named > 100 && passed > 0,
        "{modules} modules, {named} findings, {passed} steps"
    );
    let list: Vec<String> = without.into_iter().collect();
    confirm(&root().join(OF_DECLARATIONS), &(list.join("\n") + "\n"))
}

fn described(name: &str, finding: &Diagnostic) -> String {
    let instruction = finding
        .location
        .instruction
        .as_deref()
        .unwrap_or("the module");
    format!("{name}: {} {}", finding.code, instruction.trim())
}

/// Returns true for steps that order memory, without which barriers order nothing.
fn orders(step: &Step) -> bool {
    matches!(
        step,
        Step::Fence(_) | Step::Amdgpu(AmdgpuStep::WaitZero { .. })
    )
}

/// Kernels whose barriers do nothing: what the audit and the simulator find has its line, but for
/// machine instructions that LLVM made of several.
fn of_code(fixtures: &[Fixture], target: &str, form: &str) -> Result<()> {
    linkable(target)?;
    let (mut audited, mut seen) = (0, 0);
    let mut without = BTreeSet::new();
    for fixture in fixtures {
        let found = of_kernel(&fixture.name, form, target, &mut without)?;
        audited += found[0];
        seen += found[1];
    }
    println!(
        "{target}: {audited} findings of the audit and {seen} places of findings of the simulator \
         have a line; {} kinds of instructions have none",
        without.len()
    );
    ensure!(
        seen > 300 && (audited > 10 || target.starts_with("sm_")),
        "{audited}, {seen}"
    );
    let list: Vec<String> = without.into_iter().collect();
    let file = format!("fixtures/places/{target}.txt");
    confirm(&root().join(file), &(list.join("\n") + "\n"))
}

/// The findings of the audit, and the places of findings of the simulator, that have a line.
fn of_kernel(
    name: &str,
    form: &str,
    target: &str,
    without: &mut BTreeSet<String>,
) -> Result<[usize; 2]> {
    let source = root().join(format!("fixtures/kernels/{name}/{name}.comp"));
    let (true, Some(case)) = (source.is_file(), reference::case(name)) else {
        return Ok([0, 0]);
    };
    let folder = tempfile::tempdir()?;
    let bytes = std::fs::read(compiled(&source, form, folder.path())?)?;
    let mut unordered = |plans: &mut [EntryPlan]| {
        let steps = plans
            .iter_mut()
            .flat_map(|plan| plan.at_instruction.values_mut());
        steps.for_each(|steps| steps.retain(|step| !orders(step)));
    };
    let mut options = always_split(target)?;
    options.audit = true;
    let failed = Compiler::new(&options)
        .with_changed_plans(&mut unordered)
        .compile(&bytes);
    let mut audited = 0;
    for finding in failed
        .err()
        .iter()
        .flat_map(|failure| failure.diagnostics.iter())
    {
        match &finding.location.source {
            Some(source) => {
                ensure!(source.file.ends_with(".comp"), "{finding}");
                audited += 1;
            }
            None => drop(without.insert(described(name, finding))),
        }
    }

    let module = Module::parse(&bytes).map_err(|problem| anyhow::anyhow!("{problem:?}"))?;
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    let mut nothing = |plans: &mut [EntryPlan]| {
        for plan in plans {
            plan.at_instruction.values_mut().for_each(Vec::clear);
        }
    };
    let mut options = always_split(target)?;
    options.lines = true;
    let output = Compiler::new(&options)
        .with_changed_plans(&mut nothing)
        .compile(&bytes);
    let Ok(output) = output else {
        return Ok([audited, 0]); // the fixture's own tests say what it needs
    };
    let job = Job::compiled(&output, 0)?;
    let mut inputs = inputs(&case);
    inputs.limits.steps = 1 << 18;
    let mut seen = 0;
    let report = job.run(&inputs, Schedule::nth(1, 1))?.report;
    for finding in &report.findings {
        let other = finding.other.as_ref().map(|(_, place)| place);
        for place in std::iter::once(&finding.place).chain(other) {
            let Some(word) = place.word else {
                let mnemonic = place.text.split_whitespace().next().unwrap_or_default();
                without.insert(format!("{name}: {mnemonic}"));
                continue;
            };
            let word = WordOffset::new(word);
            if declarations.source_position(word).is_some() {
                seen += 1;
            } else {
                let inst = module.at(word).context("the word is no instruction")?;
                without.insert(format!("{name}: {} without a line", inst.name()));
            }
        }
    }
    Ok([audited, seen])
}
