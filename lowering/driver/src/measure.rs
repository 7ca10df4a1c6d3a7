//! What the final assembly of a kernel says of its windows and waits, beside its plan.

use crate::asm::ptx::{self, Pressure};
use crate::asm::{self, Function};
use crate::options::Options;
use crate::ptxas;
use crate::usage::{self, Resident, Usage};
use crate::window::{self, Places, Window};
use splitbar_audit::fences::{self, Finding, Lack, Shape};
use splitbar_audit::verdict::{self, Audit};
use splitbar_passes::analysis::pairing::Pairing;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_plan::target::Arch;
use splitbar_plan::{EntryPlan, Fence, PairPlan};

/// What was asked for of one kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) windows: Option<Vec<Window>>,
    pub(crate) machine_windows: Option<Vec<Window>>,
    pub(crate) usage: Option<Usage>,
    pub(crate) resident: Option<Resident>,
    pub(crate) resident_between: Option<[u32; 2]>,
    pub(crate) audit: Option<Audit>,
}

/// Machine code of a module's kernels, and what each takes, by name.
#[derive(Default)]
pub(crate) struct Machine {
    functions: Vec<Function>,
    usages: Vec<(String, Usage)>,
    /// What kernels take at most, where ptxas does not say what they take.
    pressures: Vec<Pressure>,
}

/// The machine code that ptxas makes of PTX with debug lines, and what it takes: bounds alone where
/// ptxas is not installed or refuses, no code where nvdisasm is not or does. AMDGPU assembly is
/// final, and says what its kernels take.
pub(crate) fn machine(assembly: &str, options: &Options, diagnostics: &mut Diagnostics) -> Machine {
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
    if ptxas::can_disassemble() {
        match ptxas::disassemble(&assembled, target) {
            Ok(text) => functions = asm::sass::parse(&text),
            Err(why) => refused("the windows are not measured in machine code", why),
        }
    }
    Machine {
        functions,
        usages: assembled.usages,
        pressures: Vec::new(),
    }
}

/// Measures `kernel`, whose assembly has debug lines, and `machine`, the same after ptxas, and
/// audits it where its `shape` is given. It has `shared_bytes` of static workgroup memory. What the
/// audit finds wrong goes to `diagnostics`.
pub(crate) fn kernel(
    kernel: &Function,
    machine: &Machine,
    pairing: &Pairing,
    (plan, shared_bytes): (&EntryPlan, u32),
    shape: Option<&Shape>,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Measured {
    let windows = |kernel: &Function| -> Vec<Window> {
        let pairs = plan.pairs.iter();
        pairs
            .map(|pair| window::measure(kernel, &places(pairing, pair)))
            .collect()
    };
    let usage = {
        let mut usages = machine.usages.iter();
        let usage = usages.find(|(name, _)| *name == kernel.name);
        usage.map(|(_, usage)| *usage)
    };
    let pressure = {
        let mut pressures = machine.pressures.iter();
        pressures.find(|pressure| pressure.name == kernel.name)
    };
    let audit = shape.and_then(|shape| audit(kernel, plan, shape, options, diagnostics));
    Measured {
        windows: options.measure.then(|| windows(kernel)),
        machine_windows: {
            let mut functions = machine.functions.iter();
            let function = functions.find(|function| function.name == kernel.name);
            function.map(windows)
        },
        usage,
        resident: usage.and_then(|usage| Resident::of(usage, plan, options.target)),
        resident_between: pressure
            .and_then(|most| usage::resident_between(most, shared_bytes, plan, options.target)),
        audit,
    }
}

/// Audits `kernel`, whose entry function has the control flow `shape`.
fn audit(
    kernel: &Function,
    plan: &EntryPlan,
    shape: &Shape,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Option<Audit> {
    let arch = &options.target.arch;
    let promises = fences::promises(plan, shape);
    let too_large = || {
        let message = format!("entry point `{}` is not audited as a whole", plan.entry);
        Diagnostic::warning(Code::ModuleTooLarge, message)
    };
    if promises.cut {
        diagnostics.push(too_large().because("it has too many fences apart from barriers"));
    }
    let demands = fences::demands(kernel, &promises, arch);
    match verdict::audit(kernel, arch, options.placement, &demands) {
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
            "{} of entry point `{}` can be reached with operations outstanding that it releases ({})",
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
    let code = match finding.lack {
        Lack::Invalidation => Code::MissingInvalidation,
        Lack::WriteBack => Code::MissingWriteBack,
        Lack::Fence => Code::MissingFence,
        Lack::Wait => Code::MissingWait,
    };
    let message = format!(
        "the code of entry point `{}` does not do what a {} promises",
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
    let word = |id| {
        pairing
            .sites
            .iter()
            .find(|site| site.id == id)
            .map(|site| site.offset)
    };
    Places {
        strategy: pair.strategy,
        arrives: pair.arrives.iter().filter_map(|id| word(*id)).collect(),
        window: pair.window.iter().copied().collect(),
        barriers: pairing.sites.iter().map(|site| site.offset).collect(),
    }
}
