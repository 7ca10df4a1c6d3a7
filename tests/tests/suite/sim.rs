//! Every kernel on the simulator: the results are those of the host references under all schedules,
//! without findings.

use crate::support::{assembled, compile, compile_bytes, linkable, trial};
use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use splitbar::simulate::machine::{FindingKind, Schedule};
use splitbar::simulate::{BufferName, Inputs, Job, Outcome};
use splitbar::{Optimization, Output};
use splitbar_tests::fixture::Fixture;
use splitbar_tests::reference::{self, Case};

/// One AMD GPU of each generation that is simulated; NVIDIA's before and after independent progress
/// of lanes, with and without mbarriers. Each with the number of schedules: 8 are one of each kind,
/// 16 are each once more with other chances.
const TARGETS: [(&str, u32); 13] = [
    ("gfx906", 16),
    ("gfx90a", 16),
    ("gfx942", 16),
    ("gfx950", 8),
    ("gfx1030", 16),
    ("gfx1100", 16),
    ("gfx1200", 8),
    ("gfx1201", 16),
    ("gfx1250", 16),
    ("sm_60", 8),
    ("sm_75", 8),
    ("sm_80", 8),
    ("sm_90", 8),
];

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for fixture in fixtures {
        for (target, schedules) in TARGETS {
            for (level, optimization) in [(0, Optimization::O0), (2, Optimization::O2)] {
                let fixture = fixture.clone();
                let name = format!("sim/{}/{target}/O{level}", fixture.name);
                trials.push(trial(name, move || {
                    linkable(target)?;
                    let output = compile(&fixture, target, optimization)?;
                    agrees(&fixture, &output, schedules)
                }));
            }
        }
    }
    for target in ["gfx942", "gfx1100", "gfx1250", "sm_60", "sm_90"] {
        let name = format!("sim_places/{target}");
        trials.push(trial(name, move || names_the_instruction(target)));
    }
    trials
}

/// A race is found, and both places name the SPIR-V instruction: here two waves store to the same
/// word.
fn names_the_instruction(target: &str) -> Result<()> {
    linkable(target)?;
    let module = assembled(RACE)?;
    let output = compile_bytes(&module, target, |options| options.lines = true)?;
    let inputs = Inputs::new([1, 1, 1], vec![(BufferName::Binding(0, 0), vec![0; 64])]);
    let outcome = Job::compiled(&output, 0)?.run(&inputs, Schedule::nth(0, 1))?;
    let [finding] = outcome.report.findings.as_slice() else {
        bail!("one finding expected: {:?}", outcome.report.findings);
    };
    ensure!(finding.kind == FindingKind::GlobalRace, "{finding}");
    ensure!(finding.message.contains("wave 0 wrote before"), "{finding}");
    let other = finding.other.as_ref().map(|(_, place)| place);
    for place in [Some(&finding.place), other] {
        let word = place.and_then(|p| p.word).context("no SPIR-V word")?;
        let at = word as usize * 4;
        let opcode = module.get(at..at + 2).context("outside of the module")?;
        ensure!(opcode == [62, 0], "{finding}\nis no OpStore");
    }
    Ok(())
}

const RACE: &str = "\
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %wave
OpExecutionMode %main LocalSize 128 1 1
OpDecorate %wave BuiltIn LocalInvocationIndex
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%sixty_three = OpConstant %uint 63
%bool = OpTypeBool
%pin = OpTypePointer Input %uint
%wave = OpVariable %pin Input
%block = OpTypeStruct %uint
%pblock = OpTypePointer StorageBuffer %block
%puint = OpTypePointer StorageBuffer %uint
%buffer = OpVariable %pblock StorageBuffer
%main = OpFunction %void None %function
%entry = OpLabel
%i = OpLoad %uint %wave
%lane = OpBitwiseAnd %uint %i %sixty_three
%first = OpIEqual %bool %lane %zero
OpSelectionMerge %done None
OpBranchConditional %first %store %done
%store = OpLabel
%at = OpAccessChain %puint %buffer %zero
OpStore %at %i
OpBranch %done
%done = OpLabel
OpReturn
OpFunctionEnd
";

/// The launch of a kernel's reference.
pub(crate) fn inputs(case: &Case) -> Inputs {
    let place = |place| match place {
        reference::BufferName::Binding(set, binding) => BufferName::Binding(set, binding),
        reference::BufferName::Argument(index) => BufferName::Argument(index),
    };
    let buffers = case.buffers.iter();
    let buffers = buffers.map(|b| (place(b.place), bytes(&b.before)));
    let mut inputs = Inputs::new(case.groups, buffers.collect());
    inputs.workgroup_size = Some(case.workgroup_size);
    inputs.push = bytes(&case.push_constants);
    inputs
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Checks that the buffers have the contents of the reference.
pub(crate) fn compare(case: &Case, outcome: &Outcome) -> Result<(), String> {
    let words: Vec<Vec<u32>> = outcome
        .buffers
        .iter()
        .map(|b| {
            b.chunks_exact(4)
                .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
                .collect()
        })
        .collect();
    case.compare(&words.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// Runs a compiled fixture under so many schedules: nothing may be found, and the results are the
/// reference's.
pub(crate) fn agrees(fixture: &Fixture, output: &Output, schedules: u32) -> Result<()> {
    let case = reference::case(&fixture.name).context("no host reference")?;
    let job = Job::compiled(output, 0)?;
    let inputs = inputs(&case);
    for index in 0..schedules {
        let schedule = Schedule::nth(index, 1);
        let outcome = job.run(&inputs, schedule)?;
        if let Some(finding) = outcome.report.findings.first() {
            bail!("{schedule}:\n{finding}");
        }
        if let Err(difference) = compare(&case, &outcome) {
            bail!("{schedule}: {difference}");
        }
        ensure!(outcome.report.steps > 0);
    }
    Ok(())
}
