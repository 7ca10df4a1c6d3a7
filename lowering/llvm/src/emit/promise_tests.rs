//! What LLVM is promised: the flags and attributes of the IR before LLVM's passes are those that
//! the table in `docs/code_generation.md` grants.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::core_tests::lowered_at;
use crate::Optimization;
use splitbar_passes::module::{Module, assemble};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../../../docs/code_generation.md");

/// Words of LLVM's language that promise something: where the promise does not hold, a value is
/// poison or the behaviour is undefined (LLVM Language Reference).
const PROMISES: &[&str] = &[
    "afn",
    "arcp",
    "contract",
    "dereferenceable",
    "dereferenceable_or_null",
    "disjoint",
    "exact",
    "fast",
    "inbounds",
    "inrange",
    "invariant.load",
    "llvm.assume",
    "ninf",
    "nneg",
    "nnan",
    "noalias",
    "nofpclass",
    "nonnull",
    "noundef",
    "nsw",
    "nsz",
    "nusw",
    "nuw",
    "range",
    "readnone",
    "readonly",
    "reassoc",
    "samesign",
    "writeonly",
];

/// Flags whose rows need something that the modules below do not have: images in tables.
const NOT_SEEN: &[&str] = &["noundef"];

/// Asks for every mode of floating-point numbers.
const FAST: &str = "
    OpCapability Kernel
    OpCapability Addresses
    OpCapability FPFastMathModeINTEL
    OpExtension \"SPV_INTEL_fp_fast_math_mode\"
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %main \"main\"
    OpDecorate %product FPFastMathMode NotNaN|NotInf|NSZ|AllowRecip|Fast|AllowContract|AllowReassoc
    %void = OpTypeVoid
    %float = OpTypeFloat 32
    %pointer = OpTypePointer CrossWorkgroup %float
    %function = OpTypeFunction %void %pointer
    %main = OpFunction %void None %function
    %to = OpFunctionParameter %pointer
    %entry = OpLabel
    %value = OpLoad %float %to Aligned 4
    %product = OpFMul %float %value %value
    OpStore %to %product Aligned 4
    OpReturn
    OpFunctionEnd";

/// The flags of the table, and whether they are granted somewhere.
fn rows() -> BTreeMap<String, bool> {
    let rows = PAGE
        .lines()
        .skip_while(|line| !line.starts_with("| flag |"));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    cells
        .flat_map(|cells| {
            let granted = cells[2] != "nowhere";
            let flags = cells[1].split(", ").map(|flag| flag.trim_matches('`'));
            flags
                .map(|flag| (flag.to_owned(), granted))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "spv") {
            found.push(path);
        }
    }
}

/// Returns true if the module calls functions.
fn calls(module: &Module<'_>) -> bool {
    let mut insts = module.instructions();
    insts.any(|inst| inst.op() == Some(spirv::Op::FunctionCall))
}

/// The promises of the IR, each with a line that makes it.
fn promises(ir: &str) -> BTreeMap<&'static str, String> {
    let mut found = BTreeMap::new();
    for line in ir.lines().map(str::trim) {
        // Of intrinsics LLVM writes what it knows itself.
        if ["declare", "attributes", ";"]
            .iter()
            .any(|begin| line.starts_with(begin))
        {
            continue;
        }
        let words = line.split(|c: char| " ,()!@".contains(c));
        for word in words {
            if let Some(promise) = PROMISES.iter().find(|promise| **promise == word) {
                found.entry(*promise).or_insert_with(|| line.to_owned());
            }
        }
    }
    found
}

#[test]
fn llvm_is_promised_what_the_page_grants() {
    let rows = rows();
    assert!(rows.len() > 10, "{rows:?}");
    let mut paths = Vec::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kernels");
    files(&fixtures, &mut paths);
    let bytes = paths.iter().map(|path| std::fs::read(path).unwrap());
    let bytes: Vec<Vec<u8>> = bytes.collect();
    let parsed = bytes.iter().map(|bytes| Module::parse(bytes).unwrap());
    // The passes that inline barriers have not run.
    let mut modules: Vec<Module<'_>> = parsed.filter(|module| !calls(module)).collect();
    assert!(modules.len() > 20, "{} of {paths:?}", modules.len());
    let fast = assemble(FAST).unwrap();
    modules.push(Module::from_words(fast.words).unwrap());
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for module in &modules {
        for target in ["gfx1201", "sm_90"] {
            let lowered = lowered_at(module, target, false, Optimization::O0).unwrap();
            for (promise, line) in promises(&lowered.unoptimized()) {
                assert_eq!(
                    rows.get(promise),
                    Some(&true),
                    "{target}: {promise}: {line}"
                );
                seen.insert(promise);
            }
        }
    }
    for (flag, granted) in &rows {
        let is_seen = seen.contains(flag.as_str()) || NOT_SEEN.contains(&flag.as_str());
        assert_eq!(*granted, is_seen, "{flag}: the table is not true any more");
    }
}
