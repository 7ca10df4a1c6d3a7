//! The lowering of every atomic operation on every generation. `fixtures/atomics/TARGET.txt` has a
//! line for each operation, order, scope and kind of memory, with the instructions between the
//! accesses around it: its own, and those that order memory.
//!
//! As with the fences, people read the tables beside the memory model of LLVM's AMDGPUUsage and the
//! PTX ISA; `cargo xtask bless` writes them. Checked apart is that an operation orders as much as
//! the fence of its order and scope does (`fixtures/fences`), and a relaxed one nothing.

use crate::fences::{orders, table_of, waited};
use crate::support::{assembled, compile_bytes, confirm, instruction, is_nvptx, told, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use regex::Regex;
use splitbar::Optimization;
use std::collections::BTreeSet;
use std::fmt::Write;

/// One of each kind of memory hardware.
const TARGETS: &[&str] = &[
    "gfx700", "gfx803", "gfx906", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100",
    "gfx1170", "gfx1201", "gfx1250", "gfx1310", "sm_50", "sm_60", "sm_70", "sm_80", "sm_90",
    "sm_100",
];

/// An order's name, and its bit of the Memory Semantics.
type Order = (&'static str, u32);

const RELAXED: Order = ("relaxed", 0);
const ACQUIRE: Order = ("acquire", 0x2);
const RELEASE: Order = ("release", 0x4);
const BOTH: Order = ("acquire-release", 0x8);
const SEQUENTIAL: Order = ("sequentially-consistent", 0x10);

/// The operations, and the orders that each may have. 64 bits wide, by which they are told from the
/// other accesses.
const OPERATIONS: &[(&str, &str, &[Order])] = &[
    (
        "load",
        "%old = OpAtomicLoad %ulong %PLACE %SCOPE %ORDER",
        &[RELAXED, ACQUIRE, SEQUENTIAL],
    ),
    (
        "store",
        "OpAtomicStore %PLACE %SCOPE %ORDER %value",
        &[RELAXED, RELEASE, SEQUENTIAL],
    ),
    (
        "add",
        "%old = OpAtomicIAdd %ulong %PLACE %SCOPE %ORDER %value",
        &[RELAXED, ACQUIRE, RELEASE, BOTH, SEQUENTIAL],
    ),
    (
        "compare",
        "%old = OpAtomicCompareExchange %ulong %PLACE %SCOPE %ORDER %relaxed %value %value",
        &[RELAXED, ACQUIRE, RELEASE, BOTH, SEQUENTIAL],
    ),
];

/// Scope: of memory.
const SCOPES: &[(&str, u32)] = &[("workgroup", 2), ("device", 1), ("cross-device", 0)];

/// The memory of the operation.
const PLACES: &[&str] = &["local", "global"];

/// One operation.
struct Case {
    name: String,
    operation: &'static str,
    order: &'static str,
    scope: &'static str,
    place: &'static str,
}

pub(crate) fn trials() -> Vec<Trial> {
    TARGETS
        .iter()
        .map(|target| trial(format!("atomics/{target}"), move || table(target)))
        .collect()
}

fn table(target: &str) -> Result<()> {
    let (module, cases) = module()?;
    let output = compile_bytes(&module, target, |options| {
        options.optimization = Optimization::O1;
    })?;
    let assembly = told(output.assembly())?;
    let mut text = String::new();
    for (index, case) in cases.iter().enumerate() {
        let [before, own, after] = around(&assembly, index, target).context(case.name.clone())?;
        check(case, target, &before, &after)
            .with_context(|| format!("{}: {before:?} {own:?} {after:?}", case.name))?;
        let shown = [before, own, after].concat().join("; ");
        writeln!(text, "{:<54}{shown}", case.name)?;
    }
    confirm(&table_of("atomics", target), &text)
}

/// A relaxed operation orders nothing. A releasing operation follows the instructions of a release
/// fence of all memory with the same scope. An acquiring operation is followed by the cache
/// operations of an acquire fence; the waits there are only for the operation.
fn check(case: &Case, target: &str, before: &[String], after: &[String]) -> Result<()> {
    let waits = |line: &&String| line.starts_with("s_wait");
    let effects = |lines: &[String]| -> BTreeSet<String> {
        lines.iter().filter(|l| !waits(l)).cloned().collect()
    };
    if case.order == "relaxed" {
        ensure!(
            effects(before).is_empty() && effects(after).is_empty(),
            "a relaxed operation orders"
        );
        return Ok(());
    }
    // Who sees workgroup memory is in the workgroup: LLVM takes no wider scope there.
    let scope = match case.place {
        "local" if !is_nvptx(target) => "workgroup",
        _ => case.scope,
    };
    let releases = case.order != "acquire" && case.operation != "load";
    let acquires = case.order != "release" && case.operation != "store";
    if releases {
        let fence = fence(target, "release", scope)?;
        ensure!(
            waited(&fence).is_subset(&waited(before)),
            "waits for less than {fence:?}"
        );
        ensure!(
            is_nvptx(target) || effects(&fence).is_subset(&effects(before)),
            "does less than {fence:?}"
        );
        ensure!(
            !is_nvptx(target) || before.iter().any(|line| wide(line, &fence)),
            "no {fence:?}"
        );
    }
    if acquires {
        let fence = fence(target, "acquire", scope)?;
        // Workgroup memory has no cache.
        ensure!(
            is_nvptx(target) || case.place == "local" || effects(&fence).is_subset(&effects(after)),
            "does less than {fence:?}"
        );
        ensure!(
            !is_nvptx(target) || after.iter().any(|line| wide(line, &fence)),
            "no {fence:?}"
        );
    }
    Ok(())
}

/// Returns true if a fence of PTX is that of the table, or sequentially consistent with the same
/// scope.
fn wide(line: &str, fence: &[String]) -> bool {
    let stronger = |line: &str| line.replace("fence.sc.", "fence.acq_rel.");
    fence.iter().any(|fence| {
        line == fence || stronger(line) == stronger(fence) || {
            // One-sided ones exist apart (sm_90).
            stronger(line) == fence.replace("fence.release.", "fence.acq_rel.")
                || stronger(line) == fence.replace("fence.acquire.", "fence.acq_rel.")
        }
    })
}

/// The instructions of a fence of all memory, from the blessed table.
fn fence(target: &str, order: &str, scope: &str) -> Result<Vec<String>> {
    let path = splitbar_tests::fixture::root().join(format!("fixtures/fences/{target}.txt"));
    let table = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let name = format!("{order} {scope} all ");
    let line = table
        .lines()
        .find_map(|line| line.strip_prefix(&name))
        .with_context(|| format!("no line {name}"))?;
    Ok(line
        .trim()
        .split("; ")
        .filter(|line| *line != "nothing")
        .map(str::to_owned)
        .collect())
}

/// The ordering instructions before the operation in kernel number `index`, the operation itself,
/// and the ordering instructions after it, up to the accesses next to it.
fn around(assembly: &str, index: usize, target: &str) -> Result<[Vec<String>; 3]> {
    let (access, own) = if is_nvptx(target) {
        (r"^(ld|st|atom|red)\.", r"^(ld|st|atom|red)\..*[usb]64\b")
    } else {
        (
            r"^(global|flat|buffer)_(load|store|atomic)|^ds_",
            r"^(global|flat|buffer|ds)_\w*(x2|b64|u64)\b",
        )
    };
    let (access, own) = (Regex::new(access)?, Regex::new(own)?);
    let label = format!("k{index}");
    let lines: Vec<String> = assembly
        .lines()
        .skip_while(|line| {
            let line = line.trim();
            *line != format!("{label}:") && !line.starts_with(&format!(".visible .entry {label}("))
        })
        .skip(1)
        .map(instruction)
        .take_while(|line| line != "s_endpgm" && line != "ret")
        .filter(|line| !line.starts_with("ld.param"))
        .collect();
    let at = lines
        .iter()
        .position(|line| own.is_match(line))
        .context("the operation is not there")?;
    ensure!(
        lines.iter().filter(|line| own.is_match(line)).count() == 1,
        "there are several"
    );
    // Waits for operands, not for memory.
    let hazard = |line: &str| {
        ["s_wait_alu", "s_waitcnt_depctr", "s_wait_xcnt"]
            .iter()
            .any(|name| line.starts_with(name))
    };
    let ordering = |line: &&String| orders(line) && !hazard(line);
    let stop = |line: &&String| !access.is_match(line);
    let mut before: Vec<String> = lines[..at]
        .iter()
        .rev()
        .take_while(stop)
        .filter(ordering)
        .cloned()
        .collect();
    before.reverse();
    let after = lines[at + 1..]
        .iter()
        .take_while(stop)
        .filter(ordering)
        .cloned()
        .collect();
    // Which registers it has is of no interest.
    let register = Regex::new(r"^([vs]\d+|[vs]\[\d+:\d+\]|%rd\d+|\[%rd\d+\]),?$")?;
    let own = lines[at]
        .split(' ')
        .filter(|word| !register.is_match(word))
        .collect::<Vec<_>>()
        .join(" ");
    Ok([before, vec![own], after])
}

/// A kernel for each operation: a load and a store of global memory and a store to workgroup
/// memory, the operation, and a load of each memory.
fn module() -> Result<(Vec<u8>, Vec<Case>)> {
    let (mut entries, mut bodies, mut cases) = (String::new(), String::new(), Vec::new());
    for (operation, text, allowed) in OPERATIONS {
        for (order, bits) in *allowed {
            for (scope, number) in SCOPES {
                for place in PLACES {
                    let index = cases.len();
                    writeln!(
                        entries,
                        "OpEntryPoint Kernel %k{index} \"k{index}\" %index %tile"
                    )?;
                    let operation_text = text
                        .replace("PLACE", if *place == "local" { "word" } else { "at" })
                        .replace("SCOPE", &format!("scope{number}"))
                        .replace("ORDER", &format!("order{bits}"));
                    let old = if *operation == "store" {
                        "value"
                    } else {
                        "old"
                    };
                    writeln!(bodies, "{}", body(index, &operation_text, old))?;
                    cases.push(Case {
                        name: format!("{operation} {order} {scope} {place}"),
                        operation,
                        order,
                        scope,
                        place,
                    });
                }
            }
        }
    }
    // Names are of the whole module.
    let text = format!(
        "OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpCapability Int64Atomics
OpMemoryModel Physical64 OpenCL
{entries}{modes}OpDecorate %index BuiltIn LocalInvocationIndex
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%length = OpConstant %uint 256
%one = OpConstant %uint 1
%relaxed = OpConstant %uint 0
%scope0 = OpConstant %uint 0
%scope1 = OpConstant %uint 1
%scope2 = OpConstant %uint 2
%order0 = OpConstant %uint 0
%order2 = OpConstant %uint 0x302
%order4 = OpConstant %uint 0x304
%order8 = OpConstant %uint 0x308
%order16 = OpConstant %uint 0x310
%array = OpTypeArray %uint %length
%ptile = OpTypePointer Workgroup %array
%plocal = OpTypePointer Workgroup %uint
%pword = OpTypePointer Workgroup %ulong
%pglobal = OpTypePointer CrossWorkgroup %uint
%pwide = OpTypePointer CrossWorkgroup %ulong
%pinput = OpTypePointer Input %ulong
%fn = OpTypeFunction %void %pglobal %pglobal %pglobal %pwide %pword %uint
%index = OpVariable %pinput Input
%tile = OpVariable %ptile Workgroup
{bodies}",
        modes = (0..cases.len())
            .map(|index| format!("OpExecutionMode %k{index} LocalSize 256 1 1\n"))
            .collect::<String>(),
    );
    Ok((assembled(&text)?, cases))
}

/// The body of kernel number `index`, with unique names.
fn body(index: usize, operation: &str, old: &str) -> String {
    let text = format!(
        "%k = OpFunction %void None %fn
%in = OpFunctionParameter %pglobal
%mid = OpFunctionParameter %pglobal
%out = OpFunctionParameter %pglobal
%at = OpFunctionParameter %pwide
%word = OpFunctionParameter %pword
%mask = OpFunctionParameter %uint
%entry = OpLabel
%value = OpLoad %ulong %index
%narrow = OpUConvert %uint %value
%i = OpBitwiseXor %uint %narrow %mask
%j = OpBitwiseXor %uint %i %one
%from = OpInBoundsPtrAccessChain %pglobal %in %i
%to = OpInBoundsPtrAccessChain %pglobal %mid %i
%cell = OpAccessChain %plocal %tile %i
%v = OpLoad %uint %from
OpStore %to %i
OpStore %cell %i
{operation}
%other = OpAccessChain %plocal %tile %j
%from2 = OpInBoundsPtrAccessChain %pglobal %mid %j
%w = OpLoad %uint %from2
%x = OpLoad %uint %other
%sum = OpIAdd %uint %v %w
%sum2 = OpIAdd %uint %sum %x
%low = OpUConvert %uint %{old}
%sum3 = OpIAdd %uint %sum2 %low
%end = OpInBoundsPtrAccessChain %pglobal %out %i
OpStore %end %sum3
OpReturn
OpFunctionEnd"
    );
    let shared = [
        "void", "fn", "uint", "ulong", "pglobal", "plocal", "pwide", "one", "index", "tile",
        "pword", "relaxed",
    ];
    text.split_inclusive([' ', '\n'])
        .map(|token| {
            let (word, rest) = token.split_at(token.trim_end().len());
            match word.strip_prefix('%') {
                Some("k") => format!("%k{index}{rest}"),
                Some(name)
                    if !shared.contains(&name)
                        && !name.starts_with("scope")
                        && !name.starts_with("order") =>
                {
                    format!("{word}_{index}{rest}")
                }
                _ => token.to_owned(),
            }
        })
        .collect()
}
