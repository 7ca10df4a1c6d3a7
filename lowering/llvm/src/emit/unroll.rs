//! How far LLVM may unroll each loop: metadata on the jumps back.
//!
//! What the module says of a loop (`OpLoopMerge`) is passed on, but a loop of loops that is to be
//! unrolled gets a limit on AMD GPUs ([`ASKED`]). Where it says nothing, the loop's form decides:
//!
//! - A loop that synchronises the workgroup waits in every iteration. Copies of its body save
//!   scalar instructions, and each copy is fetched anew. LLVM would allow such loops on AMD GPUs
//!   1,000 instructions, because they access LDS; here they get [`SYNCHRONISED`], or [`NESTED`]. On
//!   NVIDIA GPUs the optimiser's limit stays in force for them, while other loops get a higher one
//!   ([`constant_loops`]).
//! - A loop with branches inside is not unrolled by its run-time trip count on AMD GPUs: every copy
//!   has its own changes of the execution mask, and the remainder loop is one more.
//!
//! `Optimization::O3` leaves all of that to LLVM.

use super::build::Build;
use crate::constant_loops;
use crate::ffi::{self, Meta};
use spirv::{LoopControl, Op};
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::loops::{Loop, Loops};
use splitbar_passes::module::{Block, BlockIndex, Function, Id, Module};
use splitbar_plan::Optimization;
use splitbar_plan::target::{Arch, Target};
use std::collections::{BTreeMap, BTreeSet};

/// LLVM's limit for the instructions of a loop with barriers that it unrolls, on AMD GPUs. It is
/// LLVM's own limit for partial unrolling; for all copies at once LLVM would allow 300, or 1,000
/// with accesses to LDS, and raises any limit up to four times where constants save much.
///
/// Measured with [`NESTED`] on 31 kernels full of barriers (sorts, scans, reductions, stencils) for
/// gfx1030, against LLVM's own limits, as geometric means of instructions in the code and of those
/// that waves execute: 100: 0.55 and 1.18; 125: 0.60 and 1.14; 150: 0.64 and 1.11; 200: 0.71 and
/// 1.08; 300: 0.80 and 1.07. From 175 on, loops that fill tiles are doubled and gain nothing.
const SYNCHRONISED: u32 = 150;

/// The same of loops with barriers that contain one another. Their code grows by the product: a
/// bitonic sort of 256 keys to 549 instructions, which save 30 % of those that are executed.
const NESTED: u32 = 50;

/// The same of loops that the module wants to have unrolled, although they contain loops of which
/// it does not say so. Without a limit LLVM unrolls them up to 16,384 instructions: each copy has
/// loops of its own, and what the copies compute in front of them is live at once.
const ASKED: u32 = 400;

/// Most loops of a function that are looked at: looking at each takes time linear in the function.
const MOST_LOOPS: usize = 256;

/// What is said of one loop.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// To be unrolled.
    Unroll,
    /// Not to be unrolled.
    Never,
    /// To be unrolled so many times.
    Count(u32),
    /// To be unrolled if it has no more instructions than that afterwards (AMDGPU).
    Limit(u32),
    /// Not to be unrolled if only the run knows how often it is executed.
    KnownCount,
    /// Not to be unrolled before the optimiser looks at it.
    Late,
}

impl Hint {
    fn metadata<'c>(self, b: &Build<'c>) -> Vec<Meta<'c>> {
        let node = |name: &str, value: Option<u32>| {
            let mut operands = vec![ffi::meta_string(b.context(), name)];
            operands.extend(value.map(|n| ffi::meta_value(b.i32(n))));
            ffi::meta_node(b.context(), &operands)
        };
        match self {
            Hint::Unroll => vec![node("llvm.loop.unroll.enable", None)],
            Hint::Never => vec![node("llvm.loop.unroll.disable", None)],
            Hint::Count(n) => vec![node("llvm.loop.unroll.count", Some(n))],
            Hint::Limit(n) => vec![node("amdgpu.loop.unroll.threshold", Some(n))],
            Hint::KnownCount => vec![node("llvm.loop.unroll.runtime.disable", None)],
            Hint::Late => vec![
                node("llvm.loop.unroll.disable", None),
                node(constant_loops::LATE, None),
            ],
        }
    }
}

/// The hints of a function, by the label of the loop's header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hints(BTreeMap<Id, Hint>);

impl Hints {
    /// Those of `function`.
    pub(super) fn collect(
        module: &Module<'_>,
        function: &Function<'_>,
        target: &Target,
        optimization: Optimization,
    ) -> Hints {
        let mut hints = BTreeMap::new();
        let mut outer = BTreeSet::new();
        let decides = matches!(optimization, Optimization::O1 | Optimization::O2);
        if decides && goes_back(function) {
            let cfg = Cfg::analyze(module, function);
            let loops = Loops::analyze(&cfg, MOST_LOOPS).natural.unwrap_or_default();
            let forms: Vec<Form> = loops
                .into_iter()
                .map(|natural| Form::analyze(function, &cfg, natural))
                .collect();
            for form in &forms {
                let header = function.block(form.natural.header);
                let header = header.map(|block| block.label);
                let hint = form.hint(&forms, target);
                hints.extend(header.zip(hint));
                outer.extend(header.filter(|_| form.keeps_loops(&forms, function)));
            }
        }
        for block in &function.blocks {
            let hint = said(block).map(|hint| match (hint, &target.arch) {
                (Hint::Unroll, Arch::Amdgpu(_)) if outer.contains(&block.label) => {
                    Hint::Limit(ASKED)
                }
                _ => hint,
            });
            hints.extend(hint.map(|hint| (block.label, hint)));
        }
        Hints(hints)
    }

    /// The metadata of each loop, by its header: all jumps back to it name the same node.
    pub(super) fn nodes<'c>(&self, b: &Build<'c>) -> BTreeMap<Id, Meta<'c>> {
        let node = |(header, hint): (&Id, &Hint)| {
            (*header, ffi::meta_loop(b.context(), &hint.metadata(b)))
        };
        self.0.iter().map(node).collect()
    }
}

/// Returns true if a block jumps to one in front of it: a loop's header stands in front of all of
/// the loop (SPIR-V 2.4, dominance order).
fn goes_back(function: &Function<'_>) -> bool {
    let mut seen = BTreeSet::new();
    function.blocks.iter().any(|block| {
        seen.insert(block.label);
        let targets = block.terminator().map(|inst| inst.operands());
        targets
            .into_iter()
            .flatten()
            .any(|id| seen.contains(&Id(*id)))
    })
}

/// What the module says of the loop that `header` begins.
fn said(header: &Block<'_>) -> Option<Hint> {
    let merge = header
        .insts
        .iter()
        .find(|inst| inst.op() == Some(Op::LoopMerge))?;
    let control = LoopControl::from_bits_retain(merge.operand(2).ok()?);
    if control.contains(LoopControl::DONT_UNROLL) {
        return Some(Hint::Never);
    }
    if control.contains(LoopControl::PARTIAL_COUNT) {
        // One operand for each bit in front that has one: from DependencyLength on.
        let in_front = control.bits() & (LoopControl::PARTIAL_COUNT.bits() - 1);
        let with_operand = in_front & !(LoopControl::DEPENDENCY_LENGTH.bits() - 1);
        let count = merge.operand(3 + with_operand.count_ones() as usize).ok()?;
        return Some(Hint::Count(count)).filter(|_| count > 0);
    }
    control
        .contains(LoopControl::UNROLL)
        .then_some(Hint::Unroll)
}

/// What matters of a loop.
struct Form {
    natural: Loop,
    /// True if it has a barrier.
    synchronises: bool,
    /// True if a block inside of it can go on to several others inside of it.
    branches: bool,
}

impl Form {
    fn analyze(function: &Function<'_>, cfg: &Cfg, natural: Loop) -> Form {
        let body = || natural.body.iter();
        let inside = |block: &&BlockIndex| natural.body.contains(block);
        let insts = body()
            .filter_map(|block| function.block(*block))
            .flat_map(|block| &block.insts);
        Form {
            synchronises: insts.into_iter().any(|inst| is_barrier(inst.op())),
            branches: body().any(|block| cfg.succs(*block).iter().filter(inside).count() > 1),
            natural,
        }
    }

    /// Returns true if one of the two contains the other.
    fn is_nested_with(&self, other: &Form) -> bool {
        let (a, b) = (&self.natural, &other.natural);
        a.header != b.header && (a.body.contains(&b.header) || b.body.contains(&a.header))
    }

    /// Returns true if it contains a loop that the module does not want to have unrolled; `all` are
    /// the function's.
    fn keeps_loops(&self, all: &[Form], function: &Function<'_>) -> bool {
        all.iter().any(|other| {
            let header = other.natural.header;
            let inside = header != self.natural.header && self.natural.body.contains(&header);
            inside && function.block(header).and_then(said) != Some(Hint::Unroll)
        })
    }

    /// What is said of the loop where the module says nothing; `all` are the function's.
    fn hint(&self, all: &[Form], target: &Target) -> Option<Hint> {
        let mut others = all.iter().filter(|other| other.synchronises);
        match target.arch {
            Arch::Amdgpu(_) if self.synchronises => {
                let nested = others.any(|other| self.is_nested_with(other));
                Some(Hint::Limit(if nested { NESTED } else { SYNCHRONISED }))
            }
            Arch::Amdgpu(_) => self.branches.then_some(Hint::KnownCount),
            Arch::Nvptx(_) => self.synchronises.then_some(Hint::Late),
        }
    }
}

fn is_barrier(op: Option<Op>) -> bool {
    matches!(
        op,
        Some(Op::ControlBarrier | Op::ControlBarrierArriveINTEL | Op::ControlBarrierWaitINTEL)
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use splitbar_passes::diagnostic::Diagnostics;
    use splitbar_passes::module::{Declarations, assemble};

    /// A kernel of loops, one in the other; what stands in the outer one's body, in the inner one's
    /// body, and their LoopControls.
    fn kernel(outer: &str, inner: &str, controls: [&str; 2]) -> String {
        let [first, second] = controls;
        format!(
            "OpCapability Shader
            OpMemoryModel Logical GLSL450
            OpEntryPoint GLCompute %main \"main\"
            OpExecutionMode %main LocalSize 64 1 1
            %void = OpTypeVoid
            %u32 = OpTypeInt 32 0
            %bool = OpTypeBool
            %true = OpConstantTrue %bool
            %u2 = OpConstant %u32 2
            %u264 = OpConstant %u32 264
            %fn = OpTypeFunction %void
            %main = OpFunction %void None %fn
            %entry = OpLabel
            OpBranch %h1
            %h1 = OpLabel
            OpLoopMerge %m1 %c1 {first}
            OpBranchConditional %true %b1 %m1
            %b1 = OpLabel
            {outer}
            OpBranch %h2
            %h2 = OpLabel
            OpLoopMerge %m2 %c2 {second}
            OpBranchConditional %true %b2 %m2
            %b2 = OpLabel
            {inner}
            OpBranch %c2
            %c2 = OpLabel
            OpBranch %h2
            %m2 = OpLabel
            OpBranch %c1
            %c1 = OpLabel
            OpBranch %h1
            %m1 = OpLabel
            OpReturn
            OpFunctionEnd"
        )
    }

    /// The hints of the outer and the inner loop of a [`kernel`].
    fn hints(text: &str, target: &str, optimization: Optimization) -> [Option<Hint>; 2] {
        let words = assemble(text).unwrap().words;
        let module = Module::from_words(words).unwrap();
        let declarations = Declarations::new(&module, &mut Diagnostics::new());
        let function = declarations.functions.first().unwrap();
        let target = Target::by_name(target).unwrap();
        let Hints(hints) = Hints::collect(&module, function, target, optimization);
        let headers = function.blocks.iter().filter(|block| {
            let mut insts = block.insts.iter();
            insts.any(|inst| inst.op() == Some(Op::LoopMerge))
        });
        let found: Vec<_> = headers
            .map(|block| hints.get(&block.label).copied())
            .collect();
        found.try_into().unwrap()
    }

    const BARRIER: &str = "OpControlBarrier %u2 %u2 %u264";
    const BRANCH: &str = "OpSelectionMerge %s None\nOpBranchConditional %true %t %s\n\
        %t = OpLabel\nOpBranch %s\n%s = OpLabel";
    const NONE: [&str; 2] = ["None", "None"];

    #[test]
    fn loops_with_barriers_are_limited() {
        let o2 = |text: &str, target| hints(text, target, Optimization::O2);
        let (single, nested) = (Hint::Limit(SYNCHRONISED), Hint::Limit(NESTED));
        let outer = kernel(BARRIER, "", NONE);
        assert_eq!(o2(&outer, "gfx1201"), [Some(single), None]);
        assert_eq!(o2(&outer, "sm_80"), [Some(Hint::Late), None]);
        // A barrier of the inner loop is one of the outer loop too.
        let inner = kernel("", BARRIER, NONE);
        assert_eq!(o2(&inner, "gfx942"), [Some(nested), Some(nested)]);
        let arrive = kernel("OpControlBarrierArriveEXT %u2 %u2 %u264", "", NONE);
        assert_eq!(o2(&arrive, "gfx1201"), [Some(single), None]);
    }

    #[test]
    fn loops_with_branches_are_unrolled_by_known_counts_only() {
        let o2 = |text: &str, target| hints(text, target, Optimization::O2);
        let plain = kernel("", "", NONE);
        // The outer loop goes on from the inner one's header to two places.
        assert_eq!(o2(&plain, "gfx1030"), [Some(Hint::KnownCount), None]);
        let branch = kernel("", BRANCH, NONE);
        assert_eq!(o2(&branch, "gfx1030"), [Some(Hint::KnownCount); 2]);
        assert_eq!(o2(&branch, "sm_90"), [None; 2]);
    }

    #[test]
    fn what_the_module_says_goes_first() {
        let controls = ["DontUnroll", "DependencyLength|PartialCount 9 4"];
        let text = kernel(BARRIER, BARRIER, controls);
        let said = [Some(Hint::Never), Some(Hint::Count(4))];
        for optimization in [Optimization::O1, Optimization::O2, Optimization::O3] {
            assert_eq!(hints(&text, "gfx1201", optimization), said);
            assert_eq!(hints(&text, "sm_80", optimization), said);
        }
        let text = kernel("", BRANCH, ["Unroll", "Unroll"]);
        let said = [Some(Hint::Unroll); 2];
        assert_eq!(hints(&text, "gfx1201", Optimization::O2), said);
        let text = kernel("", BRANCH, ["Unroll", "DontUnroll"]);
        let limited = [Some(Hint::Limit(ASKED)), Some(Hint::Never)];
        assert_eq!(hints(&text, "gfx1201", Optimization::O2), limited);
        let said = [Some(Hint::Unroll), Some(Hint::Never)];
        assert_eq!(hints(&text, "gfx1201", Optimization::O3), said);
        assert_eq!(hints(&text, "sm_80", Optimization::O2), said);
        let text = kernel(BARRIER, "", ["Unroll", "PartialCount 0"]);
        let said = [Some(Hint::Unroll), None];
        assert_eq!(hints(&text, "sm_80", Optimization::O2), said);
    }

    #[test]
    fn level_3_is_left_to_llvm() {
        let text = kernel(BARRIER, BRANCH, NONE);
        assert_eq!(hints(&text, "gfx1201", Optimization::O3), [None; 2]);
        assert_eq!(hints(&text, "sm_80", Optimization::O3), [None; 2]);
    }
}
