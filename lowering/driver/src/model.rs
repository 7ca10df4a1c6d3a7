//! The barriers of a module, lowered to the steps of a target and explored in every interleaving.

use crate::compile::{Candidate, Request, lowered_plans};
use crate::failure::Failure;
use crate::internal_error::internal;
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::pairing::{Site, SiteKind};
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use splitbar_passes::model::skeleton::{BarrierRole, Skeleton};
use splitbar_passes::model::{self, Report, Verdict};
use splitbar_passes::module::{Function, Scope, WordOffset};
use splitbar_passes::validate::{Environment, Settings, flow};
use splitbar_plan::{EntryPlan, MeetsAt, PairPlan, Strategy};
use std::fmt;

/// The bounds of an exploration.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// Waves of a workgroup; fewer when it has fewer.
    pub waves: u8,
    /// The limit on the iterations of a loop.
    pub unroll: u8,
    /// States that are told apart.
    pub most_states: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            waves: 3,
            unroll: 3,
            most_states: model::Options::default().most_states,
        }
    }
}

/// Something that an exploration does not look at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftOut {
    /// Loads, stores, fences, and what loops read to decide whether they end.
    Memory,
    /// Waves beyond those that were explored.
    Waves,
    /// Executions in which a loop with barriers goes back more often.
    Loops {
        /// How often it goes back at the most.
        most: u8,
    },
    /// Paths on which arrives and waits do not alternate. Validation has proved that no execution
    /// takes them, unless a [`LeftOut::Finding`] says otherwise.
    Paths,
    /// The promise of OpControlBarriers, where several workgroups are explored.
    ControlBarriers,
    /// An execution that breaks a rule on control flow, or may: waves that part at a branch around
    /// a barrier, or arrives and waits that do not alternate.
    Finding {
        /// The rule.
        code: Code,
        /// True if every execution breaks the rule: the module is invalid.
        is_refuted: bool,
        /// Where, in the module that was given.
        word: Option<WordOffset>,
        /// What is wrong.
        message: String,
    },
}

impl LeftOut {
    /// One word for programs.
    pub fn name(&self) -> &'static str {
        match self {
            LeftOut::Memory => "memory",
            LeftOut::Waves => "waves",
            LeftOut::Loops { .. } => "loops",
            LeftOut::Paths => "paths",
            LeftOut::ControlBarriers => "control-barriers",
            LeftOut::Finding { .. } => "finding",
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::Memory => f.write_str("loads, stores, fences, and loops that wait for memory"),
            LeftOut::Waves => f.write_str("more waves"),
            LeftOut::Loops { most } => {
                write!(f, "loops around barriers with more than {most} iterations")
            }
            LeftOut::Paths => f.write_str("paths on which arrives and waits do not alternate"),
            LeftOut::ControlBarriers => {
                f.write_str("the waves that return from an OpControlBarrier of another workgroup")
            }
            LeftOut::Finding {
                code,
                word,
                message,
                ..
            } => {
                write!(f, "{code}: {message}")?;
                match word {
                    Some(word) => write!(f, " (word {word})"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The result of the exploration of one entry point.
#[derive(Clone, Debug)]
pub struct Explored {
    /// The entry point.
    pub entry: String,
    /// The strategies of its pairs, each once.
    pub strategies: Vec<Strategy>,
    /// Waves of each workgroup that were explored.
    pub waves: u8,
    /// Workgroups that were explored: those of a cluster whose barrier they share, else one.
    pub workgroups: u8,
    /// True if paths were left out on which arrives and waits do not alternate.
    /// [`splitbar_passes::validate`] finds such paths.
    pub is_partial: bool,
    /// OpControlBarriers of scope Workgroup that were explored.
    pub control_barriers: usize,
    /// The parts that were not explored.
    pub left_out: Vec<LeftOut>,
    /// Verdict and trace of the executions that were explored.
    pub report: Report,
}

impl Explored {
    /// Returns true if the verdict holds of every execution but for the bounds that
    /// [`Explored::left_out`] names: no rule on control flow is broken, or may be.
    pub fn is_proved(&self) -> bool {
        let is_finding = |left_out: &LeftOut| matches!(left_out, LeftOut::Finding { .. });
        self.report.verdict == Verdict::Proved && !self.left_out.iter().any(is_finding)
    }
}

/// The result of the exploration of a module.
#[derive(Clone, Debug, Default)]
pub struct Explorations {
    /// One per entry point, in the module's order.
    pub entries: Vec<Explored>,
    /// The planner's warnings.
    pub warnings: Diagnostics,
}

/// Explores the barriers of `candidate`.
///
/// # Errors
/// `ModuleTooLarge`.
pub(crate) fn explore(
    mut candidate: Candidate<'_, '_>,
    request: Request<'_>,
    bounds: Bounds,
) -> Result<Explorations, Failure> {
    let plans = lowered_plans(&candidate, request);
    let mut entries = Vec::new();
    for plan in &plans {
        match explore_entry(&candidate, request, plan, bounds) {
            Ok(one) => entries.push(one),
            Err(refused) => return Err(candidate.problems.and(refused.into())),
        }
    }
    Ok(Explorations {
        entries,
        warnings: candidate.problems.take_all(),
    })
}

fn explore_entry(
    candidate: &Candidate<'_, '_>,
    request: Request<'_>,
    plan: &EntryPlan,
    bounds: Bounds,
) -> Result<Explored, Diagnostic> {
    let declarations = candidate.prepared.module.declarations();
    let module = declarations.module;
    let function = declarations
        .function(plan.function)
        .ok_or_else(|| internal(format!("entry point `{}` has no function", plan.entry)))?;
    let skeleton = Skeleton::build(
        function,
        &Cfg::analyze(module, function),
        bounds.unroll,
        |offset| place(plan, offset),
    )
    .map_err(|why| {
        let message = format!(
            "the control flow of entry point `{}` cannot be explored",
            plan.entry
        );
        Diagnostic::error(Code::ModuleTooLarge, message)
            .at_word(function.offset)
            .because(why)
            .help("change `Bounds::unroll`")
    })?;
    let waves = waves(plan, bounds.waves);
    let workgroups = workgroups(plan, waves)?;
    let describe = |offset| match module.at(offset) {
        Some(inst) => {
            let text = declarations.disassemble(inst);
            match candidate.problems.source_word(offset) {
                Some(word) => format!("{text} (word {word})"),
                None => text,
            }
        }
        None => String::new(),
    };
    let arch = &request.options.target.arch;
    let system = splitbar_plan::model::cluster(plan, arch, &skeleton, workgroups, waves, describe);
    let report = model::explore_with(
        &system,
        model::Options::default().with_most_states(bounds.most_states),
    );
    let mut strategies: Vec<Strategy> = plan.pairs.iter().map(|pair| pair.strategy).collect();
    strategies.sort_unstable();
    strategies.dedup();
    Ok(Explored {
        entry: plan.entry.clone(),
        strategies,
        waves,
        workgroups,
        is_partial: skeleton.is_partial,
        control_barriers: control_barriers(plan),
        left_out: left_out(candidate, plan, function, &skeleton, bounds, workgroups),
        report,
    })
}

fn control_barriers(plan: &EntryPlan) -> usize {
    let is_full = |site: &&Site| {
        site.kind == SiteKind::ControlBarrier && site.execution == Some(Scope::Workgroup)
    };
    plan.sites.iter().filter(is_full).count()
}

fn left_out(
    candidate: &Candidate<'_, '_>,
    plan: &EntryPlan,
    function: &Function<'_>,
    skeleton: &Skeleton,
    bounds: Bounds,
    workgroups: u8,
) -> Vec<LeftOut> {
    let mut left_out = findings(candidate, function);
    if skeleton.is_partial {
        left_out.push(LeftOut::Paths);
    }
    if skeleton.is_cut {
        left_out.push(LeftOut::Loops {
            most: bounds.unroll,
        });
    }
    if workgroups > 1 && control_barriers(plan) > 0 {
        left_out.push(LeftOut::ControlBarriers);
    }
    if all_waves(plan).is_none_or(|all| all > u64::from(bounds.waves)) {
        left_out.push(LeftOut::Waves);
    }
    left_out.push(LeftOut::Memory);
    left_out
}

/// What the rules on control flow say of `function`, whatever validation was asked for.
fn findings(candidate: &Candidate<'_, '_>, function: &Function<'_>) -> Vec<LeftOut> {
    const CONTROL_FLOW: [Code; 6] = [
        Code::NonUniformSplitBarrier,
        Code::NonUniformBarrier,
        Code::UnarrivedWait,
        Code::RepeatedWait,
        Code::RepeatedArrive,
        Code::UndecidedScope,
    ];
    let checked = candidate.prepared.module;
    let declarations = checked.declarations();
    let mut settings = Settings::new(Environment::for_lowering(declarations));
    settings.assume_default_spec = true; // the module is specialized
    let mut found = Diagnostics::new();
    flow::check(declarations, checked.constants(), &settings, &mut found);
    let of_function = |word: Option<WordOffset>| {
        word.is_none_or(|word| (function.offset..function.end).contains(&word))
    };
    let found = found.sorted();
    found
        .iter()
        .filter(|problem| problem.severity != Severity::Note)
        .filter(|problem| CONTROL_FLOW.contains(&problem.code))
        .filter(|problem| of_function(problem.location.word))
        .map(|problem| LeftOut::Finding {
            code: problem.code,
            is_refuted: problem.severity == Severity::Error,
            word: problem
                .location
                .word
                .and_then(|word| candidate.problems.source_word(word)),
            message: problem.message.clone(),
        })
        .collect()
}

/// What the instruction at `offset` is to the workgroup's sequence; nothing if no step stands
/// there.
fn place(plan: &EntryPlan, offset: WordOffset) -> Option<BarrierRole> {
    let stands = plan.at_instruction.contains_key(&offset) || plan.at_return.contains_key(&offset);
    if !stands {
        return None;
    }
    let site = plan.sites.iter().find(|site| site.offset == offset);
    let of_workgroup = site.filter(|site| site.execution == Some(Scope::Workgroup));
    Some(match of_workgroup.map(|site| site.kind) {
        Some(SiteKind::Arrive) => BarrierRole::Arrive,
        Some(SiteKind::Wait) => BarrierRole::Wait,
        Some(SiteKind::ControlBarrier | SiteKind::MemoryBarrier) | None => BarrierRole::Other,
    })
}

/// As many waves as asked for, but no more than the workgroup has.
fn waves(plan: &EntryPlan, asked: u8) -> u8 {
    let all = all_waves(plan).and_then(|all| u8::try_from(all).ok());
    all.map_or(asked, |all| asked.min(all))
}

/// The waves of a workgroup; `None` if the host chooses how many there are.
fn all_waves(plan: &EntryPlan) -> Option<u64> {
    let size = plan.workgroup_size?;
    let invocations = size
        .iter()
        .map(|n| u64::from(*n))
        .fold(1, u64::saturating_mul);
    let waves = invocations
        .div_ceil(u64::from(plan.wave_size.max(1)))
        .max(1);
    Some(waves)
}

/// The workgroups that meet at the barriers of `plan`, each with `waves` waves.
fn workgroups(plan: &EntryPlan, waves: u8) -> Result<u8, Diagnostic> {
    let meets = |pair: &PairPlan| pair.strategy.meets_at() == MeetsAt::ClusterBarrier;
    let Some([x, y, z]) = plan.cluster.filter(|_| plan.pairs.iter().any(meets)) else {
        return Ok(1); // each workgroup by itself
    };
    let all: u64 = [x, y, z].map(u64::from).iter().product();
    match u8::try_from(all) {
        Ok(count) if all * u64::from(waves) <= model::MOST_THREADS as u64 => Ok(count),
        _ => Err(Diagnostic::error(
            Code::ModuleTooLarge,
            format!(
                "a cluster of {x}x{y}x{z} workgroups with {waves} waves each is too large to explore"
            ),
        )
        .because(format!("the limit of the model is {} waves", model::MOST_THREADS))
        .help("choose a smaller `Bounds::waves` or `Options::cluster`")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Compiler, Options};
    use splitbar_passes::validate::Validation;
    use splitbar_plan::Target;

    /// What is explored of a kernel with `body`, in which %lane differs between invocations and
    /// %group does not.
    fn explored(body: &str, unroll: u8) -> Explored {
        let text = format!(
            "; Version: 1.6
            OpCapability Shader
            OpMemoryModel Logical GLSL450
            OpEntryPoint GLCompute %main \"main\" %index %groups
            OpExecutionMode %main LocalSize 128 1 1
            OpDecorate %index BuiltIn LocalInvocationIndex
            OpDecorate %groups BuiltIn NumWorkgroups
            %void = OpTypeVoid
            %fn = OpTypeFunction %void
            %bool = OpTypeBool
            %uint = OpTypeInt 32 0
            %v3 = OpTypeVector %uint 3
            %workgroup = OpConstant %uint 2
            %semantics = OpConstant %uint 0x108
            %c0 = OpConstant %uint 0
            %c1 = OpConstant %uint 1
            %c16 = OpConstant %uint 16
            %ptr = OpTypePointer Input %uint
            %index = OpVariable %ptr Input
            %ptr_v3 = OpTypePointer Input %v3
            %groups = OpVariable %ptr_v3 Input
            %main = OpFunction %void None %fn
            %entry = OpLabel
            %lane = OpLoad %uint %index
            %all = OpLoad %v3 %groups
            %group = OpCompositeExtract %uint %all 0
            {body}
            OpReturn
            OpFunctionEnd
            "
        );
        let module = splitbar_passes::module::assemble(&text)
            .unwrap()
            .module()
            .unwrap();
        let words = module.words().iter();
        let bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        let mut options = Options::new(Target::by_name("gfx1201").unwrap());
        options.validation = Validation::Waived;
        let bounds = Bounds {
            unroll,
            ..Bounds::default()
        };
        let mut explored = Compiler::new(&options).model(&bytes, bounds).unwrap();
        explored.entries.pop().unwrap()
    }

    fn names(explored: &Explored) -> Vec<&'static str> {
        explored.left_out.iter().map(LeftOut::name).collect()
    }

    fn barrier_under(condition: &str) -> String {
        format!(
            "%some = OpULessThan %bool %{condition} %c16
            OpSelectionMerge %end None
            OpBranchConditional %some %then %end
            %then = OpLabel
            OpControlBarrier %workgroup %workgroup %semantics
            OpBranch %end
            %end = OpLabel"
        )
    }

    /// Validation was waived, and what it would have said keeps its meaning.
    #[test]
    fn nothing_is_proved_of_waves_that_may_part() {
        let uniform = explored(&barrier_under("group"), 3);
        assert!(uniform.is_proved(), "{:?}", uniform.left_out);
        assert_eq!(uniform.control_barriers, 1);
        assert_eq!(names(&uniform), ["waves", "memory"]);
        let parted = explored(&barrier_under("lane"), 3);
        assert!(!parted.is_proved());
        assert_eq!(
            parted.report.verdict,
            Verdict::Proved,
            "of what was explored"
        );
        assert_eq!(names(&parted), ["finding", "waves", "memory"]);
        let plain = explored("OpControlBarrier %workgroup %workgroup %semantics", 3);
        assert!(plain.is_proved() && plain.control_barriers == 1);
    }

    #[test]
    fn loops_that_are_cut_off_are_named() {
        let text = |inside: &str, after: &str| {
            format!(
                "OpBranch %header
                %header = OpLabel
                %i = OpPhi %uint %c0 %entry %next %continue
                %less = OpULessThan %bool %i %group
                OpLoopMerge %exit %continue None
                OpBranchConditional %less %continue %exit
                %continue = OpLabel
                {inside}
                %next = OpIAdd %uint %i %c1
                OpBranch %header
                %exit = OpLabel
                {after}"
            )
        };
        let barrier = "OpControlBarrier %workgroup %workgroup %semantics";
        let around = explored(&text(barrier, ""), 2);
        assert!(around.left_out.contains(&LeftOut::Loops { most: 2 }));
        let beside = explored(&text("", barrier), 2);
        assert_eq!(names(&beside), ["waves", "memory"]);
    }
}
