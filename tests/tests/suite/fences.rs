//! The lowering of every fence on every generation. `fixtures/fences/TARGET.txt` has a line for
//! each order, scope and kind of memory, with the instructions between the last access before the
//! fence and the first access after it. All operations that can be outstanding are.
//!
//! The tables are read by people, beside the memory model of LLVM's AMDGPUUsage and the PTX ISA;
//! `cargo xtask bless` writes them. What a table may never say is checked apart: that a wait which
//! the plan of `--waits explicit` knows to be needed is not there, and that caches are looked after
//! in another way than the target's row says, by which the audit goes.

use crate::support::{assembled, compile_bytes, confirm, instruction, is_nvptx, told, trial};
use anyhow::{Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::waits::counter::{self, Counter};
use splitbar::{Optimization, Placement, Waits};
use splitbar_plan::FenceScope;
use splitbar_plan::target::{Amdgpu, Arch};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

/// One target for each kind of memory hardware; after the slash another placement of the workgroup.
const TARGETS: &[&str] = &[
    "gfx600",
    "gfx700",
    "gfx803",
    "gfx906",
    "gfx90a",
    "gfx90a/tgsplit",
    "gfx942",
    "gfx942/tgsplit",
    "gfx950",
    "gfx1010",
    "gfx1030",
    "gfx1030/cu-mode",
    "gfx1100",
    "gfx1100/cu-mode",
    "gfx1170",
    "gfx1201",
    "gfx1201/cu-mode",
    "gfx1250",
    "gfx1310",
    "sm_50",
    "sm_60",
    "sm_70",
    "sm_80",
    "sm_90",
    "sm_100",
];

/// Memory Semantics: the orders.
const ORDERS: &[(&str, u32)] = &[
    ("acquire", 0x2),
    ("release", 0x4),
    ("acquire-release", 0x8),
    ("sequentially-consistent", 0x10),
];

/// Scope: of memory.
const SCOPES: &[(&str, u32)] = &[
    ("subgroup", 3),
    ("workgroup", 2),
    ("device", 1),
    ("cross-device", 0),
];

/// Memory Semantics: WorkgroupMemory, CrossWorkgroupMemory, both.
const MEMORIES: &[(&str, u32)] = &[("local", 0x100), ("global", 0x200), ("all", 0x300)];

pub(crate) fn trials() -> Vec<Trial> {
    TARGETS
        .iter()
        .map(|target| trial(format!("fences/{target}"), move || table(target)))
        .collect()
}

fn table(name: &str) -> Result<()> {
    let (target, placement) = match name.split_once('/') {
        Some((target, "cu-mode")) => (target, Placement::CuMode),
        Some((target, "tgsplit")) => (target, Placement::ThreadgroupSplit),
        Some((_, other)) => bail!("no placement is called {other}"),
        None => (name, Placement::Default),
    };
    let mut text = String::new();
    for (order, order_bits) in ORDERS {
        for (scope, scope_value) in SCOPES {
            for (memory, memory_bits) in MEMORIES {
                let module = kernel(*scope_value, order_bits | memory_bits, placement)?;
                let built = |waits| {
                    let output = compile_bytes(&module, target, |options| {
                        options.optimization = Optimization::O1;
                        options.waits = waits;
                        options.placement = placement;
                    })?;
                    told(output.assembly())
                };
                let lines = between_accesses(&built(Waits::Auto)?, target, placement)?;
                let explicit = between_accesses(&built(Waits::Explicit)?, target, placement)?;
                let (here, asked) = (waited(&lines), waited(&explicit));
                ensure!(
                    asked.is_subset(&here),
                    "{order} {scope} {memory}: waits for {here:?}, not for all of {asked:?}"
                );
                if let Arch::Amdgpu(gpu) = &crate::support::target(target)?.arch {
                    let known = of_caches(gpu, placement, order, scope, memory)?;
                    let there: BTreeSet<&str> = lines
                        .iter()
                        .map(|line| line.trim())
                        .filter(|line| line.starts_with("buffer_") || line.starts_with("global_"))
                        .collect();
                    ensure!(
                        there == known,
                        "{order} {scope} {memory}: {there:?}, but the target's row says {known:?}"
                    );
                }
                let shown = if lines.is_empty() {
                    "nothing".to_owned()
                } else {
                    lines.join("; ")
                };
                writeln!(text, "{:<44}{shown}", format!("{order} {scope} {memory}"))?;
            }
        }
    }
    confirm(&table_of("fences", &name.replace('/', ".")), &text)
}

/// The cache operations of a fence by the target's row, for which the audit looks.
fn of_caches(
    gpu: &Amdgpu,
    placement: Placement,
    order: &str,
    scope: &str,
    memory: &str,
) -> Result<BTreeSet<&'static str>> {
    let scope = match scope {
        "subgroup" => FenceScope::Subgroup,
        "workgroup" => FenceScope::Workgroup,
        "device" => FenceScope::Device,
        "cross-device" => FenceScope::System,
        other => bail!("no scope is called {other}"),
    };
    let acquired = (order != "release").then(|| gpu.invalidates(scope, placement));
    let released = (order != "acquire").then(|| gpu.release.at(scope));
    let both = acquired.into_iter().chain(released).flatten().copied();
    Ok(both.filter(|_| memory != "local").collect())
}

/// The path of the table NAME of `fixtures/FOLDER`.
pub(crate) fn table_of(folder: &str, name: &str) -> PathBuf {
    let folder = splitbar_tests::fixture::root()
        .join("fixtures")
        .join(folder);
    folder.join(format!("{name}.txt"))
}

/// Accesses of [`kernel`] before its fence, and all of them: a workgroup that is spread over
/// compute units has no LDS to access.
fn accesses(placement: Placement) -> (usize, usize) {
    match placement {
        Placement::Default | Placement::CuMode => (3, 6),
        Placement::ThreadgroupSplit => (2, 4),
    }
}

/// The instructions that order memory between the last access of the source before the fence and
/// the first access after it.
fn between_accesses(assembly: &str, target: &str, placement: Placement) -> Result<Vec<String>> {
    let (before, all) = self::accesses(placement);
    let accesses: &[&str] = if is_nvptx(target) {
        &["ld.global", "ld.shared", "st.global", "st.shared"]
    } else {
        &[
            "global_load",
            "global_store",
            "flat_load",
            "flat_store",
            "buffer_load",
            "buffer_store",
            "ds_",
        ]
    };
    let mut seen = 0;
    let mut lines = Vec::new();
    for line in assembly.lines() {
        let code = instruction(line);
        if accesses.iter().any(|name| code.starts_with(name)) {
            seen += 1;
        } else if seen == before && orders(&code) {
            lines.push(code);
        }
    }
    ensure!(seen == all, "{seen} accesses instead of {all}");
    Ok(lines)
}

/// Returns true if an instruction waits, or writes back or invalidates a cache.
pub(crate) fn orders(line: &str) -> bool {
    [
        "s_wait",
        "buffer_wb",
        "buffer_inv",
        "buffer_gl",
        "global_wb",
        "global_inv",
        "fence",
        "membar",
    ]
    .iter()
    .any(|name| line.starts_with(name))
}

/// The counters that are brought to zero.
pub(crate) fn waited(lines: &[String]) -> BTreeSet<Counter> {
    lines
        .iter()
        .filter_map(|line| line.split_once(' '))
        .flat_map(|(mnemonic, operands)| counter::waits(mnemonic, operands))
        .filter(|wait| wait.at_most == 0)
        .map(|wait| wait.counter)
        .collect()
}

/// A load and a store of global memory and a store to workgroup memory, the fence, and a load of
/// each. Every address depends on an argument, so the wait for the arguments precedes all of them.
/// If a workgroup is spread over compute units, it has no workgroup memory, and the kernel does not
/// access it.
fn kernel(scope: u32, semantics: u32, placement: Placement) -> Result<Vec<u8>> {
    let text = source(scope, semantics);
    match placement {
        Placement::Default | Placement::CuMode => assembled(&text),
        Placement::ThreadgroupSplit => {
            let kept = text.lines().filter(|line| !line.ends_with("; LDS"));
            let text: Vec<&str> = kept.collect();
            assembled(&text.join("\n").replace("%sum2", "%sum"))
        }
    }
}

fn source(scope: u32, semantics: u32) -> String {
    format!(
        "OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\" %index
OpExecutionMode %main LocalSize 256 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%length = OpConstant %uint 256
%one = OpConstant %uint 1
%scope = OpConstant %uint {scope}
%semantics = OpConstant %uint {semantics}
%array = OpTypeArray %uint %length
%ptile = OpTypePointer Workgroup %array ; LDS
%plocal = OpTypePointer Workgroup %uint ; LDS
%pglobal = OpTypePointer CrossWorkgroup %uint
%pinput = OpTypePointer Input %ulong
%fn = OpTypeFunction %void %pglobal %pglobal %pglobal %uint
%index = OpVariable %pinput Input
%tile = OpVariable %ptile Workgroup ; LDS
%main = OpFunction %void None %fn
%in = OpFunctionParameter %pglobal
%mid = OpFunctionParameter %pglobal
%out = OpFunctionParameter %pglobal
%mask = OpFunctionParameter %uint
%entry = OpLabel
%wide = OpLoad %ulong %index
%narrow = OpUConvert %uint %wide
%i = OpBitwiseXor %uint %narrow %mask
%j = OpBitwiseXor %uint %i %one
%from = OpInBoundsPtrAccessChain %pglobal %in %i
%to = OpInBoundsPtrAccessChain %pglobal %mid %i
%cell = OpAccessChain %plocal %tile %i ; LDS
%v = OpLoad %uint %from
OpStore %to %i
OpStore %cell %i ; LDS
OpMemoryBarrier %scope %semantics
%other = OpAccessChain %plocal %tile %j ; LDS
%from2 = OpInBoundsPtrAccessChain %pglobal %mid %j
%w = OpLoad %uint %from2
%x = OpLoad %uint %other ; LDS
%sum = OpIAdd %uint %v %w
%sum2 = OpIAdd %uint %sum %x ; LDS
%end = OpInBoundsPtrAccessChain %pglobal %out %i
OpStore %end %sum2
OpReturn
OpFunctionEnd
"
    )
}
