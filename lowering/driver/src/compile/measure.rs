//! The measuring stage: what the final assembly of each kernel says of its windows and waits,
//! beside its plan. Debug lines tell where each machine instruction came from.

use super::control_flow::control_flow;
use super::lower::{Code as Lowered, Words, lower_with_lines};
use super::plan::PlannedKernel;
use super::request::{Extent, Request};
use crate::asm::ptx::{self, Pressure, RegisterEstimate};
use crate::asm::{self, Function};
use crate::internal_error::internal;
use crate::options::Options;
use crate::ptxas;
use crate::stage::{Artefact, Observer, Stage, show};
use crate::usage::{self, Resident, ResidentEstimate, ResourceUsage};
use crate::window::{self, Places, Window};
use splitbar_audit::fences::{self, ControlFlowSummary, Finding, FindingKind};
use splitbar_audit::verdict::{self, Audit};
use splitbar_layout::abi::KernelAbi;
use splitbar_passes::analysis::pairing::Pairing;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_plan::backend::{DebugLines, LoweredModule};
use splitbar_plan::target::Arch;
use splitbar_plan::{EntryPlan, Fence, PairPlan};
use tracing::info_span;

/// The measurements of one kernel, those that the options ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) windows: Option<Vec<Window>>,
    pub(crate) machine_windows: Option<Vec<Window>>,
    pub(crate) usage: Option<ResourceUsage>,
    pub(crate) resident: Option<Resident>,
    pub(crate) resident_between: Option<[u32; 2]>,
    pub(crate) resident_estimate: Option<ResidentEstimate>,
    pub(crate) audit: Option<Audit>,
}

/// The measurements of the kernels of a module.
#[derive(Default)]
pub(crate) struct Measured {
    /// The facts about each, in their order.
    pub(crate) facts: Vec<Facts>,
    /// The findings of the audit.
    pub(crate) found: Diagnostics,
    /// The final assembly that was read; `None` if nothing was measured.
    pub(crate) assembly: Option<String>,
}

/// Measures the kernels of `code`, as far as that was asked for. If widened windows break what the
/// audit asks and others do not, `code` loses them.
///
/// # Errors
/// LLVM's own errors, and assembly that is not as expected.
pub(crate) fn measure(
    code: &mut Lowered<'_, '_>,
    request: Request<'_>,
    observer: &mut dyn Observer,
) -> Result<Measured, Diagnostics> {
    let options = request.options;
    if !options.measure && !options.audit {
        return Ok(Measured {
            facts: code.plans.iter().map(|_| Facts::default()).collect(),
            ..Measured::default()
        });
    }
    let _span = info_span!("measure").entered();
    observer.begin(Stage::Measure);
    let measured = look(code, code.lowered.as_ref(), request, observer)?;
    if measured.found.has_errors() && code.lowered.has_late_windows() {
        let unmoved = code.lowered.without_late_windows();
        let left = look(code, unmoved.as_ref(), request, observer)?;
        if !left.found.has_errors() {
            debug_assert!(
                false,
                "late windows break an ordering that the audit requires: {}",
                measured.found
            );
            code.lowered = unmoved;
            return Ok(left);
        }
    }
    Ok(measured)
}

/// What the final assembly of every entry point says of windows and waits. The code is that of the
/// plans that were lowered, and is judged by those of the candidate.
fn look(
    code: &Lowered<'_, '_>,
    lowered: &dyn LoweredModule,
    request: Request<'_>,
    observer: &mut dyn Observer,
) -> Result<Measured, Diagnostics> {
    let (candidate, options) = (&code.candidate, request.options);
    let again;
    let lowered = if options.lines && candidate.prepared.source_map.is_some() {
        // Its lines count the words of the user's module, which several copies of an
        // inlined instruction share.
        let (lines, words) = (DebugLines::All, Words::Planned);
        let planned = lower_with_lines(candidate, &code.plans, lines, words, request)?;
        again = if lowered.has_late_windows() {
            planned
        } else {
            planned.without_late_windows()
        };
        again.as_ref()
    } else {
        lowered
    };
    let assembly = match request.extent {
        Extent::Whole => lowered.lined_assembly()?,
        Extent::Usage => lowered.assembly()?,
    };
    show(observer, Artefact::MeasuredAssembly, || {
        assembly.clone().into_bytes()
    });
    let functions = asm::parse(&assembly, &options.target.arch).map_err(|error| {
        unreadable(request, "the assembly cannot be read back".to_owned())
            .because(error.to_string())
    })?;
    let mut found = Diagnostics::new();
    let has_windows = request.extent == Extent::Whole
        && candidate
            .kernels
            .iter()
            .any(|kernel| !kernel.plan.pairs.is_empty());
    let machine = machine(&assembly, has_windows, options, &mut found);
    let kernels = candidate.kernels.iter().zip(lowered.kernels());
    let facts = kernels.map(|(kernel, abi)| {
        let function = functions
            .iter()
            .find(|function| function.name == abi.symbol)
            .ok_or_else(|| {
                let entry = &kernel.plan.entry;
                let message = format!("the assembly has no function for entry point `{entry}`");
                unreadable(request, message)
            })?;
        let module = candidate.prepared.module;
        let shape = options.audit.then(|| {
            let (declarations, constants) = (module.declarations(), module.constants());
            control_flow(declarations, constants, kernel.plan.function, options).ok_or_else(|| {
                let message = format!("entry point `{}` has no function", kernel.plan.entry);
                internal(message)
            })
        });
        let shape = shape.transpose()?;
        let facts = measure_kernel(
            function,
            &machine,
            kernel,
            abi,
            shape.as_ref(),
            options,
            &mut found,
        );
        Ok(match request.extent {
            Extent::Whole => facts,
            // Windows cannot be found without lines.
            Extent::Usage => Facts {
                windows: None,
                machine_windows: None,
                ..facts
            },
        })
    });
    let facts = facts.collect::<Result<Vec<Facts>, Diagnostic>>()?;
    Ok(Measured {
        facts,
        found,
        assembly: Some(assembly),
    })
}

/// The diagnostic for assembly that is not as expected: a bug, unless others wrote the module
/// for LLVM, which takes what they write for right.
fn unreadable(request: Request<'_>, message: String) -> Diagnostic {
    if request.is_ir {
        Diagnostic::error(Code::UnreadableIrAssembly, message).help(
            "leave out what makes LLVM write such assembly, or lower barriers as full ones, \
             which are not measured",
        )
    } else {
        internal(message)
    }
}

/// Machine code of a module's kernels, and what each takes, by name.
#[derive(Default)]
struct Machine {
    functions: Vec<Function>,
    /// No kernel has a window to look for, so the code was not read.
    is_without_windows: bool,
    usages: Vec<(String, ResourceUsage)>,
    /// What kernels take at most, where ptxas does not say what they take.
    pressures: Vec<Pressure>,
    /// What they may take, where ptxas does not say it.
    estimates: Vec<RegisterEstimate>,
}

/// The machine code that ptxas makes of PTX with debug lines, and what it takes: bounds alone where
/// ptxas is not installed or refuses, no code where nvdisasm is not or does,
/// or where nothing `has_windows`: nvdisasm takes a third of a second. AMDGPU assembly is
/// final, and says what its kernels take.
fn machine(
    assembly: &str,
    has_windows: bool,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Machine {
    let (target, named) = (options.target, options.ptxas.as_deref());
    if let (true, Arch::Amdgpu(_)) = (options.measure, &target.arch) {
        return Machine {
            usages: usage::of_amdgpu(assembly),
            ..Machine::default()
        };
    }
    if !options.measure || target.nvptx().is_none() {
        return Machine::default();
    }
    let bounds = || Machine {
        // The windows say what is wrong with text that cannot be read.
        pressures: ptx::pressure(assembly).unwrap_or_default(),
        estimates: ptx::estimate_registers(assembly).unwrap_or_default(),
        ..Machine::default()
    };
    if !ptxas::can_assemble(named) {
        return bounds();
    }
    let mut refused = |what: &str, why: Diagnostics| {
        for problem in why.iter() {
            let warning = Diagnostic::warning(problem.code, what).because(problem.message.clone());
            let reasons = problem.reasons.iter();
            diagnostics.push(reasons.fold(warning, |warning, why| warning.because(why.clone())));
        }
    };
    let assembled = match ptxas::assemble_lined(assembly, target, named) {
        Ok(assembled) => assembled,
        Err(why) => {
            refused("the machine code is not measured", why);
            return bounds();
        }
    };
    let mut functions = Vec::new();
    let can_disassemble = ptxas::can_disassemble();
    if has_windows && can_disassemble {
        match ptxas::disassemble(&assembled, target) {
            Ok(text) => functions = asm::sass::parse(&text),
            Err(why) => refused("the windows are not measured in machine code", why),
        }
    }
    Machine {
        functions,
        is_without_windows: !has_windows && can_disassemble,
        usages: assembled.usages,
        ..Machine::default()
    }
}

/// Measures `kernel`, whose `assembly` has debug lines, and `machine`, the same after ptxas, and
/// audits it where its `shape` is given. What the audit finds wrong goes to `diagnostics`.
fn measure_kernel(
    assembly: &Function,
    machine: &Machine,
    kernel: &PlannedKernel<'_, '_>,
    abi: &KernelAbi,
    shape: Option<&ControlFlowSummary>,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Facts {
    let (plan, pairing) = (&kernel.plan, kernel.prepared.kernel.pairing);
    let name = &assembly.name;
    let windows = |assembly: &Function| -> Vec<Window> {
        let pairs = plan.pairs.iter();
        pairs
            .map(|pair| window::measure(assembly, &places(pairing, pair)))
            .collect()
    };
    let mut usages = machine.usages.iter();
    let usage = usages.find(|(of, _)| of == name).map(|(_, usage)| *usage);
    let mut pressures = machine.pressures.iter();
    let pressure = pressures.find(|pressure| pressure.name == *name);
    let mut functions = machine.functions.iter();
    let function = functions.find(|function| function.name == *name);
    let shared_bytes = abi.static_shared_bytes();
    let resident = usage.and_then(|usage| Resident::estimate(usage, plan, options.target));
    let mut estimates = machine.estimates.iter();
    let estimate = estimates.find(|estimate| estimate.name == *name);
    let about = usage.or_else(|| Some(ResourceUsage::from_ptx(estimate?, shared_bytes)));
    let resident_estimate = match resident {
        Some(_) => None,
        None => about.and_then(|usage| ResidentEstimate::new(usage, plan, options.target)),
    };
    Facts {
        windows: options.measure.then(|| windows(assembly)),
        machine_windows: function
            .map(windows)
            .or_else(|| machine.is_without_windows.then(Vec::new)),
        usage,
        resident,
        resident_estimate,
        resident_between: pressure
            .and_then(|most| usage::resident_between(most, shared_bytes, plan, options.target)),
        audit: shape.and_then(|shape| audit(assembly, plan, shape, options, diagnostics)),
    }
}

/// Audits `kernel`, whose entry function has the control flow `shape`.
fn audit(
    kernel: &Function,
    plan: &EntryPlan,
    shape: &ControlFlowSummary,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Option<Audit> {
    let arch = &options.target.arch;
    let contracts = fences::contracts(plan, shape);
    let too_large = || {
        let message = format!("entry point `{}` is not audited as a whole", plan.entry);
        Diagnostic::warning(Code::ModuleTooLarge, message)
    };
    if contracts.cut {
        diagnostics
            .push(too_large().because("it has too many fences that are not part of a barrier"));
    }
    let required = fences::required_orderings(kernel, &contracts, arch);
    match verdict::audit(kernel, arch, options.placement, &required) {
        Ok(audit) => {
            let barriers = audit.barriers.iter();
            for diagnostic in barriers.filter_map(|barrier| outstanding(barrier, plan)) {
                diagnostics.push(diagnostic);
            }
            for finding in &audit.findings {
                diagnostics.push(missing(finding, plan));
            }
            Some(audit)
        }
        Err(why) => {
            diagnostics.push(too_large().because(why));
            None
        }
    }
}

/// What to do about code that lacks something.
const HELP: &str = "this is a bug of splitbar or of LLVM: please report it with the module and the command line; `fused` barriers or another optimisation level may avoid it";

/// What is outstanding at a barrier and must not be.
fn outstanding(barrier: &verdict::Barrier, plan: &EntryPlan) -> Option<Diagnostic> {
    let guilty: Vec<String> = barrier
        .outstanding
        .iter()
        .filter(|flying| barrier.violations.contains(&flying.at.position))
        .map(|flying| flying.at.to_string())
        .collect();
    if guilty.is_empty() {
        return None;
    }
    let fences: Vec<String> = barrier.violated.iter().map(Fence::to_string).collect();
    let mut diagnostic = Diagnostic::error(
        Code::MissingWait,
        format!(
            "{} of entry point `{}` can be reached while operations that it releases are outstanding ({})",
            barrier.at.mnemonic,
            plan.entry,
            fences.join(", ")
        ),
    );
    if let Some(word) = barrier.at.word {
        diagnostic = diagnostic.at_word(word);
    }
    for operation in guilty {
        diagnostic = diagnostic.because(format!("{operation} may not have finished"));
    }
    Some(diagnostic.help(HELP))
}

/// A fence that left no trace where it is needed.
fn missing(finding: &Finding, plan: &EntryPlan) -> Diagnostic {
    let code = match finding.kind {
        FindingKind::Invalidation => Code::MissingInvalidation,
        FindingKind::WriteBack => Code::MissingWriteBack,
        FindingKind::Fence => Code::MissingFence,
        FindingKind::Wait => Code::MissingWait,
    };
    let message = format!(
        "the code of entry point `{}` does not meet the requirements of a {}",
        plan.entry, finding.fence
    );
    let diagnostic = Diagnostic::error(code, message)
        .because(finding.to_string())
        .help(HELP);
    match finding.word.or(finding.sync.word) {
        Some(word) => diagnostic.at_word(word),
        None => diagnostic,
    }
}

/// Where `pair` stands, in words instead of sites.
fn places(pairing: &Pairing, pair: &PairPlan) -> Places {
    let word = |id| pairing.site(id).map(|site| site.offset);
    Places {
        strategy: pair.strategy,
        arrives: pair.arrives.iter().filter_map(|id| word(*id)).collect(),
        window: pair.window.iter().copied().collect(),
        barriers: pairing.sites.iter().map(|site| site.offset).collect(),
    }
}
