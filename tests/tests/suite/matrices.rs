//! Products of cooperative matrices: which are instructions of the target, and that all of them
//! give the right sums on the simulator, also those that are shuffles.

use crate::support::{
    all_ptxas, assembled, assembles, compile_bytes, is_simulated, linkable, target, told, trial,
};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::Schedule;
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::{Optimization, Output, Target};
use splitbar_plan::target::Mma;
use splitbar_tests::matrices::Element::{BF16, E4M3, E5M2, F16, F32, F64, I8, I32, U8};
use splitbar_tests::matrices::{Element, Product};

/// A product that a target has an instruction for.
type Native = (
    &'static str,
    u32,
    [Element; 3],
    [u32; 3],
    &'static str,
    usize,
);

/// Target, lanes of a wave, elements of A, B and the sum, rows x columns x depth, the expected line
/// of the assembly, and its number.
#[rustfmt::skip] // a table
const NATIVE: &[Native] = &[
    ("gfx908", 64, [F16, F16, F32], [16, 16, 16], "v_mfma_f32_16x16x16f16", 1),
    ("gfx908", 64, [BF16, BF16, F32], [16, 16, 16], "v_mfma_f32_16x16x8bf16", 2),
    ("gfx908", 64, [F32, F32, F32], [16, 16, 8], "v_mfma_f32_16x16x4f32", 2),
    ("gfx908", 64, [I8, I8, I32], [16, 16, 32], "v_mfma_i32_16x16x16i8", 2),
    ("gfx908", 64, [U8, U8, I32], [16, 16, 16], "v_mfma_i32_16x16x16i8", 3),
    ("gfx908", 64, [U8, I8, I32], [32, 16, 16], "v_mfma_i32_16x16x16i8", 3),
    ("gfx90a", 64, [F16, F16, F16], [16, 16, 16], "v_mfma_f32_16x16x16f16", 1),
    ("gfx90a", 64, [BF16, BF16, F32], [16, 16, 16], "v_mfma_f32_16x16x16bf16_1k", 1),
    ("gfx90a", 64, [F64, F64, F64], [16, 16, 8], "v_mfma_f64_16x16x4f64", 2),
    ("gfx90a", 64, [I8, I8, I32], [16, 16, 16], "v_mfma_i32_16x16x16i8", 1),
    ("gfx942", 64, [F16, F16, F32], [32, 32, 16], "v_mfma_f32_16x16x16_f16", 4),
    ("gfx942", 64, [BF16, BF16, BF16], [16, 16, 16], "v_mfma_f32_16x16x16_bf16", 1),
    ("gfx942", 64, [F32, F32, F32], [16, 16, 16], "v_mfma_f32_16x16x4_f32", 4),
    ("gfx942", 64, [F64, F64, F64], [16, 32, 4], "v_mfma_f64_16x16x4_f64", 2),
    ("gfx942", 64, [I8, I8, I32], [16, 16, 32], "v_mfma_i32_16x16x32_i8", 1),
    ("gfx942", 64, [I8, U8, I32], [16, 16, 64], "v_mfma_i32_16x16x32_i8", 4),
    ("gfx950", 64, [F16, F16, F32], [16, 16, 32], "v_mfma_f32_16x16x32_f16", 1),
    ("gfx950", 64, [BF16, BF16, F32], [16, 16, 32], "v_mfma_f32_16x16x32_bf16", 1),
    ("gfx950", 64, [BF16, BF16, F32], [16, 16, 16], "v_mfma_f32_16x16x16_bf16", 1),
    ("gfx950", 64, [I8, I8, I32], [16, 16, 32], "v_mfma_i32_16x16x32_i8", 1),
    ("gfx950", 64, [I8, I8, I32], [16, 16, 64], "v_mfma_i32_16x16x64_i8", 1),
    ("gfx950", 64, [E4M3, E4M3, F32], [16, 16, 32], "v_mfma_f32_16x16x32_fp8_fp8", 1),
    ("gfx950", 64, [E5M2, E4M3, F32], [16, 16, 32], "v_mfma_f32_16x16x32_bf8_fp8", 1),
    ("gfx1100", 32, [F16, F16, F32], [16, 16, 16], "v_wmma_f32_16x16x16_f16", 1),
    ("gfx1100", 32, [BF16, BF16, F32], [16, 16, 16], "v_wmma_f32_16x16x16_bf16", 1),
    ("gfx1100", 32, [I8, I8, I32], [16, 16, 16], "v_wmma_i32_16x16x16_iu8", 1),
    ("gfx1100", 64, [F16, F16, F32], [16, 16, 16], "v_wmma_f32_16x16x16_f16", 1),
    ("gfx1100", 64, [F16, F16, F16], [16, 16, 32], "v_wmma_f32_16x16x16_f16", 2),
    ("gfx1100", 64, [BF16, BF16, F32], [32, 16, 16], "v_wmma_f32_16x16x16_bf16", 2),
    ("gfx1100", 64, [I8, U8, I32], [16, 16, 16], "v_wmma_i32_16x16x16_iu8", 1),
    ("gfx1170", 32, [F16, F16, F32], [16, 16, 16], "v_wmma_f32_16x16x16_f16", 1),
    ("gfx1170", 64, [F16, F16, F32], [16, 16, 16], "v_wmma_f32_16x16x16_f16", 1),
    ("gfx1170", 64, [BF16, BF16, F32], [16, 16, 16], "v_wmma_f32_16x16x16_bf16", 1),
    ("gfx1170", 64, [I8, I8, I32], [16, 16, 16], "v_wmma_i32_16x16x16_iu8", 1),
    ("gfx1201", 32, [F16, F16, F32], [32, 32, 32], "v_wmma_f32_16x16x16_f16", 8),
    ("gfx1201", 32, [BF16, BF16, F32], [16, 16, 16], "v_wmma_f32_16x16x16_bf16", 1),
    ("gfx1201", 32, [I8, I8, I32], [16, 16, 32], "v_wmma_i32_16x16x16_iu8", 2),
    ("gfx1201", 32, [U8, U8, I32], [16, 16, 16], "v_wmma_i32_16x16x16_iu8", 1),
    ("gfx1201", 32, [E4M3, E5M2, F32], [16, 16, 16], "v_wmma_f32_16x16x16_fp8_bf8", 1),
    ("gfx1201", 64, [E5M2, E5M2, F32], [16, 16, 16], "v_wmma_f32_16x16x16_bf8_bf8", 1),
    ("gfx1170", 32, [E4M3, E4M3, F16], [16, 16, 16], "v_wmma_f32_16x16x16_fp8_fp8", 1),
    ("gfx1201", 64, [F16, F16, F32], [16, 16, 16], "v_wmma_f32_16x16x16_f16", 1),
    ("gfx1201", 64, [F16, F16, F16], [32, 16, 16], "v_wmma_f32_16x16x16_f16", 2),
    ("gfx1201", 64, [BF16, BF16, F32], [16, 16, 16], "v_wmma_f32_16x16x16_bf16", 1),
    ("gfx1201", 64, [U8, I8, I32], [16, 16, 32], "v_wmma_i32_16x16x16_iu8", 2),
    ("gfx1250", 32, [F16, F16, F32], [16, 16, 16], "v_wmma_f32_16x16x32_f16", 1),
    ("gfx1250", 32, [BF16, BF16, F32], [16, 16, 32], "v_wmma_f32_16x16x32_bf16", 1),
    ("gfx1250", 32, [F32, F32, F32], [16, 16, 8], "v_wmma_f32_16x16x4_f32", 2),
    ("gfx1250", 32, [I8, I8, I32], [16, 16, 64], "v_wmma_i32_16x16x64_iu8", 1),
    ("gfx1250", 32, [E4M3, E4M3, F32], [16, 16, 64], "v_wmma_f32_16x16x64_fp8_fp8", 1),
    ("gfx1250", 32, [E5M2, E4M3, F32], [16, 16, 16], "v_wmma_f32_16x16x64_bf8_fp8", 1),
    ("sm_70", 32, [F16, F16, F32], [16, 16, 16], "mma.sync.aligned.m8n8k4", 4),
    ("sm_70", 32, [F16, F16, F16], [32, 16, 4], "mma.sync.aligned.m8n8k4", 2),
    ("sm_75", 32, [F16, F16, F32], [16, 16, 16], "mma.sync.aligned.m16n8k8", 4),
    ("sm_75", 32, [I8, I8, I32], [16, 16, 16], "mma.sync.aligned.m8n8k16", 4),
    ("sm_75", 32, [U8, I8, I32], [8, 8, 32], "mma.sync.aligned.m8n8k16", 2),
    ("sm_80", 32, [F16, F16, F16], [16, 16, 16], "mma.sync.aligned.m16n8k16", 2),
    ("sm_80", 32, [BF16, BF16, F32], [16, 8, 16], "mma.sync.aligned.m16n8k16", 1),
    ("sm_80", 32, [F64, F64, F64], [16, 8, 8], "mma.sync.aligned.m8n8k4", 4),
    ("sm_89", 32, [E4M3, E4M3, F32], [16, 16, 32], "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 2),
    ("sm_90", 32, [E4M3, E5M2, F32], [16, 8, 32], "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", 1),
    ("sm_90", 32, [I8, I8, I32], [16, 16, 32], "mma.sync.aligned.m16n8k32", 2),
    ("sm_90", 32, [U8, I8, I32], [16, 8, 16], "mma.sync.aligned.m16n8k16", 1),
];

/// GPUs with and without instructions.
const TARGETS: [&str; 9] = [
    "gfx600", "gfx906", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_60", "sm_80", "sm_90",
];

/// Sizes that tiles do not divide, and types that no instruction supports.
const ODD: [([Element; 3], [u32; 3]); 7] = [
    ([F16, F16, F32], [16, 16, 16]),
    ([F32, F32, F32], [3, 5, 7]),
    ([F64, F64, F64], [8, 8, 4]),
    ([I8, U8, I32], [8, 32, 16]),
    ([BF16, BF16, F32], [4, 8, 4]),
    ([E4M3, E5M2, F32], [8, 8, 16]),
    ([F16, F16, F16], [4, 2, 1]),
];

/// Elements of A, B and the sum, and the shape of every form of `mma.sync` that splitbar uses.
#[rustfmt::skip] // a table
const FORMS: [([Element; 3], [u32; 3]); 19] = [
    ([F16, F16, F32], [16, 16, 4]),
    ([F16, F16, F32], [16, 8, 8]),
    ([F16, F16, F16], [16, 8, 16]),
    ([BF16, BF16, F32], [16, 8, 8]),
    ([BF16, BF16, BF16], [16, 8, 16]),
    ([F64, F64, F64], [8, 8, 4]),
    ([I8, I8, I32], [8, 8, 16]),
    ([I8, U8, I32], [8, 8, 16]),
    ([U8, I8, I32], [8, 8, 16]),
    ([U8, U8, I32], [8, 8, 16]),
    ([I8, I8, I32], [16, 8, 16]),
    ([I8, U8, I32], [16, 8, 16]),
    ([U8, I8, I32], [16, 8, 16]),
    ([U8, U8, I32], [16, 8, 16]),
    ([I8, U8, I32], [16, 8, 32]),
    ([E4M3, E4M3, F32], [16, 8, 32]),
    ([E4M3, E5M2, F32], [16, 8, 32]),
    ([E5M2, E4M3, F32], [16, 8, 32]),
    ([E5M2, E5M2, F16], [16, 8, 32]),
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for native in NATIVE {
        let (gpu, wave, ..) = native;
        let product = product(native);
        let kind = named("native", gpu);
        let name = format!("matrices/{kind}/{gpu}.wave{wave}/{}", product.name());
        trials.push(trial(name, || is_native(native)));
    }
    for gpu in TARGETS {
        for (elements, shape) in ODD {
            let product = of(elements, shape);
            let name = format!("matrices/{}/{gpu}/{}", named("any", gpu), product.name());
            trials.push(trial(name, move || any(gpu, product)));
        }
        for shape in [[16, 16, 16], [64, 32, 32], [8, 8, 8]] {
            let product = Product {
                workgroup: true,
                ..Product::new(F16, F32, shape)
            };
            let name = format!("matrices/{}/{gpu}/{}", named("any", gpu), product.name());
            trials.push(trial(name, move || any(gpu, product)));
        }
    }
    let multiplies = |target: &&Target| target.nvptx().is_some_and(|gpu| gpu.mma != Mma::None);
    for target in Target::all().iter().filter(multiplies) {
        let name = format!("matrices/ptxas/{}", target.name);
        trials.push(trial(name, || all_forms(target)));
    }
    trials.push(trial("matrices/workgroups_share_rows".into(), share_rows));
    trials
}

/// The name of a test. If the simulator does not run the GPU, the test checks only the code, and
/// its name has that.
fn named(kind: &str, gpu: &str) -> String {
    let code = if is_simulated(gpu) { "" } else { "_code" };
    format!("{kind}{code}")
}

fn of([a, b, sum]: [Element; 3], shape: [u32; 3]) -> Product {
    Product {
        factors: [a, b],
        ..Product::new(a, sum, shape)
    }
}

fn product((_, _, elements, shape, ..): &Native) -> Product {
    of(*elements, *shape)
}

fn compiled(product: &Product, gpu: &str, wave: u32, invocations: u32) -> Result<Output> {
    let module = assembled(&product.module(invocations))?;
    compile_bytes(&module, gpu, |options| {
        options.wave_size = Some(wave);
        options.optimization = Optimization::O2;
    })
}

/// The number of lines of the assembly with `mnemonic`.
fn count(assembly: &str, mnemonic: &str) -> usize {
    assembly
        .lines()
        .filter(|line| line.contains(mnemonic))
        .count()
}

fn is_native(native: &Native) -> Result<()> {
    let (gpu, wave, _, _, mnemonic, times) = *native;
    let product = product(native);
    let output = compiled(&product, gpu, wave, wave)?;
    let assembly = told(output.assembly())?;
    ensure!(count(&assembly, mnemonic) == times, "{assembly}");
    let shuffles = count(&assembly, "bpermute") + count(&assembly, "shfl");
    ensure!(shuffles == 0, "elements are shuffled:\n{assembly}");
    if is_simulated(gpu) {
        gives_the_sums(gpu, &product, &output)?;
    }
    Ok(())
}

fn any(gpu: &str, product: Product) -> Result<()> {
    let wave = target(gpu)?.default_wave_size();
    let invocations = if product.workgroup { 64 } else { wave };
    let output = compiled(&product, gpu, wave, invocations)?;
    told(output.assembly())?;
    if is_simulated(gpu) {
        gives_the_sums(gpu, &product, &output)?;
    }
    Ok(())
}

/// Every ptxas that supports the GPU accepts all forms that are instructions there.
fn all_forms(target: &'static Target) -> Result<()> {
    let tools = all_ptxas(target.name)?;
    let mut instructions = 0;
    for (elements, shape) in FORMS {
        let product = of(elements, shape);
        let assembly = told(compiled(&product, target.name, 32, 32)?.assembly())?;
        if assembly.contains("mma.sync.aligned") {
            instructions += 1;
            for tool in &tools {
                assembles(tool, &assembly, target.name).with_context(|| product.name())?;
            }
        }
    }
    ensure!(instructions > 0, "none is an instruction");
    Ok(())
}

/// Runs the code and compares.
fn gives_the_sums(gpu: &str, product: &Product, output: &Output) -> Result<()> {
    linkable(gpu)?;
    let buffers = (0..).zip(product.inputs());
    let inputs = Inputs::new(
        [1, 1, 1],
        buffers
            .map(|(binding, bytes)| (BufferName::Binding(0, binding), bytes))
            .collect(),
    );
    let outcome = Job::compiled(output, 0)?.run(&inputs, Schedule::nth(0, 1))?;
    if let Some(finding) = outcome.report.findings.first() {
        anyhow::bail!("{finding}");
    }
    let found = outcome.buffers.get(3).context("no fourth buffer")?;
    let expected = product.expected();
    let size = product.sum.bytes();
    for (at, (found, expected)) in found.chunks(size).zip(expected.chunks(size)).enumerate() {
        ensure!(
            found == expected,
            "element {at}: {found:02x?} instead of {expected:02x?}"
        );
    }
    ensure!(found.len() == expected.len());
    Ok(())
}

/// Two waves of a workgroup share the rows of A and of the result; B is whole in both. Four waves
/// have one row block each, and of 16 rows one wave stores.
fn share_rows() -> Result<()> {
    let tiles = |workgroup, shape| -> Result<(usize, usize)> {
        let product = Product {
            workgroup,
            ..Product::new(F16, F32, shape)
        };
        let assembly = told(compiled(&product, "gfx1201", 32, 64)?.assembly())?;
        Ok((
            count(&assembly, "v_wmma_f32_16x16x16_f16"),
            count(&assembly, "global_store"),
        ))
    };
    let (subgroup, workgroup) = (tiles(false, [32, 32, 32])?, tiles(true, [32, 32, 32])?);
    ensure!((subgroup.0, workgroup.0) == (8, 4));
    ensure!(subgroup.1 == 2 * workgroup.1);
    ensure!(tiles(true, [16, 16, 16])?.0 == 1);
    Ok(())
}
