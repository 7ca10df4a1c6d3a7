//! Workgroup memory beyond the maximum that code for NVIDIA GPUs can declare: variables in dynamic
//! shared memory, whose size is in the reflection and is passed by the launch; and the limits of
//! each GPU.

use crate::support::{
    all_ptxas, assembled, assembles, compile_bytes, linkable, target, told, trial,
};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::{Optimization, Output, Strategy};

/// Invocations of the workgroup.
const INVOCATIONS: u32 = 128;

/// A kernel whose invocations store two words in workgroup memory, at the ends of two variables of
/// so many words, and read those of their mirror image after a split barrier.
struct Kernel {
    name: &'static str,
    /// Words of the two variables.
    words: [u32; 2],
    /// Decorations, and the declarations before the first function.
    decorations: &'static str,
    /// The code after the wait, with a value `%sum`; it defines `%result`.
    end: &'static str,
    /// Bytes of all that, without the memory of the barrier.
    bytes: u32,
}

impl Kernel {
    /// Returns true if its end adds the number of invocations.
    fn reduces(&self) -> bool {
        self.end != PLAIN
    }
}

const PLAIN: &str = "%result = OpIAdd %uint %sum %zero\n";
const REDUCED: &str =
    "%all = OpGroupIAdd %uint %two Reduce %one\n%result = OpIAdd %uint %sum %all\n";
const REDUCED_LONG: &str = "%wide = OpGroupIAdd %ulong %two Reduce %onelong\n%all = OpUConvert %uint %wide\n%result = OpIAdd %uint %sum %all\n";

#[rustfmt::skip] // a table
const KERNELS: &[Kernel] = &[
    Kernel { name: "small", words: [1000, 500], decorations: "", end: PLAIN, bytes: 6000 },
    Kernel { name: "all_that_is_static", words: [10_000, 2_288], decorations: "", end: PLAIN, bytes: 49_152 },
    Kernel { name: "one_word_more", words: [10_000, 2_289], decorations: "", end: PLAIN, bytes: 49_156 },
    Kernel { name: "60_kib", words: [10_001, 5_351], decorations: "", end: PLAIN, bytes: 61_420 },
    Kernel { name: "aligned", words: [10_001, 5_000], decorations: "OpDecorate %b Alignment 256\n", end: PLAIN, bytes: 60_192 },
    Kernel { name: "reduces", words: [10_000, 4_000], decorations: "", end: REDUCED, bytes: 56_256 },
    Kernel { name: "reduces_64_bits", words: [10_000, 4_000], decorations: "", end: REDUCED_LONG, bytes: 56_256 },
    Kernel { name: "95_kib", words: [24_000, 320], decorations: "", end: PLAIN, bytes: 97_280 },
    Kernel { name: "160_kib", words: [160, 40_800], decorations: "", end: PLAIN, bytes: 163_840 },
    Kernel { name: "226_kib", words: [50_000, 7_856], decorations: "", end: PLAIN, bytes: 231_424 },
    Kernel { name: "228_kib", words: [50_000, 8_368], decorations: "", end: PLAIN, bytes: 233_472 },
];

/// GPUs, with the bytes that a workgroup can have there.
const LIMITS: [(&str, u32); 8] = [
    ("sm_60", 48 << 10),
    ("sm_70", 96 << 10),
    ("sm_75", 64 << 10),
    ("sm_80", 163 << 10),
    ("sm_90", 227 << 10),
    ("sm_120", 99 << 10),
    ("gfx942", 64 << 10),
    ("gfx1250", 320 << 10),
];

pub(crate) fn trials() -> Vec<Trial> {
    let pairs = KERNELS
        .iter()
        .flat_map(|kernel| LIMITS.map(|(gpu, limit)| (kernel, gpu, limit)));
    let runs = pairs.map(|(kernel, gpu, limit)| {
        let name = format!("shared_memory/{}/{gpu}", kernel.name);
        trial(name, move || runs(kernel, gpu, limit))
    });
    let assembled = ["sm_75", "sm_80", "sm_90", "sm_120"]
        .map(|gpu| trial(format!("shared_memory/ptxas/{gpu}"), move || takes_it(gpu)));
    runs.chain(assembled).collect()
}

/// ptxas accepts the variables, and does not count them.
fn takes_it(gpu: &str) -> Result<()> {
    let tools = all_ptxas(gpu)?;
    let kernel = KERNELS.iter().find(|kernel| kernel.name == "60_kib");
    let module = module(kernel.context("no such kernel")?)?;
    let output = compile_bytes(&module, gpu, |_| {})?;
    for tool in tools {
        assembles(tool, &told(output.assembly())?, gpu)?;
    }
    Ok(())
}

fn module(kernel: &Kernel) -> Result<Vec<u8>> {
    let [a, b] = kernel.words;
    let (decorations, end) = (kernel.decorations, kernel.end);
    assembled(&format!(
        "OpCapability Kernel
OpCapability Addresses
OpCapability Int64
OpCapability Groups
OpCapability SplitBarrierINTEL
OpExtension \"SPV_INTEL_split_barrier\"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\" %index %a %b
OpExecutionMode %main LocalSize {INVOCATIONS} 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
{decorations}%void = OpTypeVoid
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%pglobal = OpTypePointer CrossWorkgroup %uint
%fn = OpTypeFunction %void %pglobal
%pin = OpTypePointer Input %uint
%index = OpVariable %pin Input
%na = OpConstant %uint {a}
%nb = OpConstant %uint {b}
%ta = OpTypeArray %uint %na
%tb = OpTypeArray %uint %nb
%pa = OpTypePointer Workgroup %ta
%pb = OpTypePointer Workgroup %tb
%pword = OpTypePointer Workgroup %uint
%a = OpVariable %pa Workgroup
%b = OpVariable %pb Workgroup
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%onelong = OpConstant %ulong 1
%two = OpConstant %uint 2
%seven = OpConstant %uint 7
%release = OpConstant %uint 260
%acquire = OpConstant %uint 258
%last = OpConstant %uint {last}
%lasta = OpConstant %uint {lasta}
%lastb = OpConstant %uint {lastb}
%main = OpFunction %void None %fn
%out = OpFunctionParameter %pglobal
%entry = OpLabel
%i = OpLoad %uint %index
%ia = OpISub %uint %lasta %i
%ib = OpISub %uint %lastb %i
%wa = OpInBoundsAccessChain %pword %a %ia
%wb = OpInBoundsAccessChain %pword %b %ib
%square = OpIMul %uint %i %i
OpStore %wa %square Aligned 4
OpStore %wb %i Aligned 4
OpControlBarrierArriveINTEL %two %two %release
%more = OpIMul %uint %i %seven
OpControlBarrierWaitINTEL %two %two %acquire
%j = OpISub %uint %last %i
%ja = OpISub %uint %lasta %j
%jb = OpISub %uint %lastb %j
%ra = OpInBoundsAccessChain %pword %a %ja
%rb = OpInBoundsAccessChain %pword %b %jb
%va = OpLoad %uint %ra Aligned 4
%vb = OpLoad %uint %rb Aligned 4
%both = OpIAdd %uint %va %vb
%sum = OpIAdd %uint %both %more
{end}%at = OpInBoundsPtrAccessChain %pglobal %out %i
OpStore %at %result Aligned 4
OpReturn
OpFunctionEnd
",
        last = INVOCATIONS - 1,
        lasta = a - 1,
        lastb = b - 1,
    ))
}

fn runs(kernel: &Kernel, gpu: &str, limit: u32) -> Result<()> {
    linkable(gpu)?;
    let module = module(kernel)?;
    for optimization in [Optimization::O0, Optimization::O2] {
        for strategy in [None, Some(Strategy::Fused), Some(Strategy::Counter)] {
            let compiled = compile_bytes(&module, gpu, |options| {
                options.optimization = optimization;
                options.strategy = strategy;
            });
            let name = format!("{optimization:?}, {strategy:?}");
            match compiled {
                Ok(output) => agrees(kernel, &output, gpu, limit).context(name)?,
                Err(refusal) => {
                    let said = format!("{refusal:#}");
                    let lacks = gpu == "sm_60" && said.contains("strategy `counter` cannot");
                    ensure!(lacks || kernel.bytes > limit, "{name}: {said}");
                    ensure!(
                        lacks || said.contains("bytes of workgroup memory"),
                        "{name}: {said}"
                    );
                }
            }
        }
    }
    Ok(())
}

fn agrees(kernel: &Kernel, output: &Output, gpu: &str, limit: u32) -> Result<()> {
    let entry = output.entries().first().context("no entry point")?;
    let reserved = entry.plan.reserved_shared_bytes;
    ensure!(
        entry.abi.shared_memory_bytes == kernel.bytes,
        "{} bytes",
        entry.abi.shared_memory_bytes
    );
    ensure!(kernel.bytes + reserved <= limit, "more than there is");
    let is_dynamic = target(gpu)?.static_shared_bytes() < kernel.bytes + reserved;
    let scratch = if kernel.reduces() { 256 } else { 0 };
    let wanted = if is_dynamic {
        kernel.bytes - scratch
    } else {
        0
    };
    ensure!(
        entry.abi.dynamic_shared_bytes == wanted,
        "{} bytes are dynamic, not {wanted}",
        entry.abi.dynamic_shared_bytes
    );
    let assembly = told(output.assembly())?;
    ensure!(
        assembly.contains(".extern .shared") == is_dynamic,
        "{assembly}"
    );
    let inputs = Inputs::new(
        [1, 1, 1],
        vec![(BufferName::Argument(0), vec![0; INVOCATIONS as usize * 4])],
    );
    let wanted = (0..INVOCATIONS).map(|i| {
        let mirror = INVOCATIONS - 1 - i;
        let all = if kernel.reduces() { INVOCATIONS } else { 0 };
        mirror * mirror + mirror + 7 * i + all
    });
    let wanted: Vec<u8> = wanted.flat_map(u32::to_le_bytes).collect();
    for index in 0..2 {
        let outcome = Job::compiled(output, 0)?.run(&inputs, Schedule::nth(index, 1))?;
        ensure!(
            outcome.report.findings.is_empty(),
            "{:?}",
            outcome.report.findings
        );
        ensure!(outcome.buffers[0] == wanted, "{:?}", outcome.buffers[0]);
    }
    Ok(())
}
