//! The kernels of a module, and what they say of their launch.

use super::calls;
use super::located::at;
use crate::ffi::{self, Func, Opcode, Value};
use inkwell::context::Context;
use inkwell::module::Module;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics, WordOffset};
use splitbar_plan::Target;
use splitbar_plan::target::Arch;

/// LLVM's numbers of the calling conventions of kernels.
const KERNEL_CONVENTIONS: [u32; 3] = [71, 76, 91];

/// A kernel with barriers.
pub(super) struct Kernel<'c> {
    pub(super) function: Func<'c>,
    /// The size of its workgroups, where it is fixed.
    pub(super) workgroup_size: Option<[u32; 3]>,
}

/// A kernel with barrier calls.
#[derive(Clone, Debug)]
pub(crate) struct IrKernel {
    /// Its symbol.
    pub(crate) name: String,
    /// The word of the skeleton for each instruction, in order; none for the instructions of blocks
    /// that control never reaches, which the skeleton leaves out.
    pub(crate) words: Vec<Option<WordOffset>>,
    /// The barrier calls among those that have one, by number, in order.
    pub(crate) calls: Vec<usize>,
}

/// Returns true if `function` is a kernel: by calling convention, or by NVVM's annotations.
pub(super) fn is_kernel(module: &Module<'_>, function: Func<'_>) -> bool {
    let annotated = || {
        let annotations = ffi::annotations(ffi::module_ref(module), "nvvm.annotations");
        annotations.iter().any(|(of, entries)| {
            of.name() == function.name()
                && entries
                    .iter()
                    .any(|(key, value)| key == "kernel" && *value != 0)
        })
    };
    function.has_body() && (KERNEL_CONVENTIONS.contains(&function.call_convention()) || annotated())
}

/// That the module was made for the architecture of `target`, or says nothing of it.
pub(super) fn check_target(module: &Module<'_>, target: &Target) -> Result<(), Diagnostics> {
    let triple = module.get_triple();
    let triple = triple.as_str().to_string_lossy().into_owned();
    let architecture = triple.split('-').next().unwrap_or_default();
    let fits: &[&str] = match target.arch {
        Arch::Amdgpu(_) => &["amdgcn", "amdgpu"],
        Arch::Nvptx(_) => &["nvptx64"],
    };
    let wanted = target.triple();
    if !fits.iter().any(|name| architecture.starts_with(name)) {
        let is = match architecture {
            "" => "names no target".to_owned(),
            _ => format!("is for {triple}"),
        };
        let message = format!("the module {is}, but {} needs {wanted}", target.name);
        let foreign = Diagnostic::error(Code::ForeignIr, message)
            .help(format!("compile it with `-target {wanted}`"));
        return Err(foreign.into());
    }
    for function in ffi::functions(ffi::module_ref(module)) {
        let Some(cpu) = function.string_attribute_value("target-cpu") else {
            continue;
        };
        let is_kernel = is_kernel(module, function);
        if is_kernel && !fits_cpu(&cpu, target) {
            let message = format!(
                "the kernel `{}` is compiled for {cpu}, but the target is {}",
                function.name(),
                target.name
            );
            let foreign = Diagnostic::error(Code::ForeignIr, message);
            return Err(foreign
                .help(format!("compile it for {}", target.cpu()))
                .into());
        }
    }
    Ok(())
}

/// Returns true if code for `cpu` is code for the target: an earlier NVIDIA GPU's is.
fn fits_cpu(cpu: &str, target: &Target) -> bool {
    let number = |name: &str| -> Option<u32> {
        let digits = name.strip_prefix("sm_")?;
        digits.trim_end_matches(['a', 'f']).parse().ok()
    };
    match (number(cpu), number(target.cpu())) {
        (Some(cpu), Some(target)) => cpu <= target,
        _ => cpu == target.cpu() || cpu.is_empty() || cpu == "generic",
    }
}

/// The kernels that have barriers.
///
/// # Errors
/// `NoIrKernel` where barriers are in no kernel, and what is wrong with the kernels.
pub(super) fn kernels<'c>(
    context: &'c Context,
    module: &Module<'c>,
    target: &Target,
    workgroup_size: Option<[u32; 3]>,
) -> Result<Vec<Kernel<'c>>, Diagnostics> {
    let mut found = Diagnostics::new();
    let mut kernels = Vec::new();
    for function in ffi::functions(ffi::module_ref(module)) {
        let instructions = function.instructions();
        let has_barriers = instructions
            .iter()
            .any(|one| calls::of(*one).is_some_and(|known| !known.is_of_target()));
        if !has_barriers || !is_kernel(module, function) {
            continue;
        }
        check(function, &instructions, &mut found);
        kernels.push(Kernel {
            function,
            workgroup_size: size(context, module, function, workgroup_size, &mut found),
        });
    }
    if kernels.is_empty() {
        let none = Diagnostic::error(
            Code::NoIrKernel,
            "no kernel of the module reaches its barriers",
        );
        let convention = match target.arch {
            Arch::Amdgpu(_) => "amdgpu_kernel",
            Arch::Nvptx(_) => "ptx_kernel",
        };
        found.push(none.help(format!(
            "kernels are functions with a body and the calling convention {convention}"
        )));
    }
    if found.has_errors() {
        return Err(found.sorted());
    }
    Ok(kernels)
}

/// That the ways of control through `function` are known.
fn check<'c>(function: Func<'c>, instructions: &[Value<'c>], found: &mut Diagnostics) {
    for block in function
        .blocks()
        .into_iter()
        .filter(|block| block.is_address_taken())
    {
        let message = "a kernel with split barriers has a block whose address is taken";
        let mut refused = Diagnostic::error(Code::UnsupportedIrControlFlow, message);
        refused.location.function = Some(function.name());
        refused.location.block = Some(block.name()).filter(|name| !name.is_empty());
        found.push(refused);
    }
    let name = function.name();
    if name.is_empty() || name.contains(char::REPLACEMENT_CHARACTER) {
        let message = if name.is_empty() {
            "a kernel with split barriers has no name".to_owned()
        } else {
            format!("the name of the kernel `{name}` is not UTF-8")
        };
        found.push(Diagnostic::error(Code::NoIrKernel, message).help("give it a name"));
    }
    let foreign = instructions
        .iter()
        .filter(|one| calls::calls_foreign(**one));
    for instruction in foreign {
        let name = instruction.callee().map_or_else(String::new, Func::name);
        let message =
            format!("a kernel with split barriers calls `{name}`, which cannot be planned");
        let refused = Diagnostic::error(Code::ForeignBarrier, message).help(
            "such a kernel can use only those barriers of the target that synchronise the whole workgroup",
        );
        found.push(at(refused, function, *instruction));
    }
    for instruction in instructions {
        let is_token = |callee: Func<'_>| {
            let name = callee.name();
            name.starts_with("llvm.experimental.convergence.")
        };
        let what = match instruction.opcode() {
            Some(Opcode::LLVMIndirectBr) => "a branch to an address",
            Some(Opcode::LLVMInvoke | Opcode::LLVMResume) => "exceptions",
            Some(Opcode::LLVMCallBr) => "assembly that branches",
            _ if instruction.callee().is_some_and(is_token) => "tokens that control convergence",
            _ => continue,
        };
        let message = format!("a kernel with split barriers has {what}");
        let refused = Diagnostic::error(Code::UnsupportedIrControlFlow, message);
        found.push(at(refused, function, *instruction));
    }
}

/// The workgroup size of a kernel: what it says, else what the caller says.
fn size(
    context: &Context,
    module: &Module<'_>,
    function: Func<'_>,
    asked: Option<[u32; 3]>,
    found: &mut Diagnostics,
) -> Option<[u32; 3]> {
    let fixed = fixed_size(context, module, function);
    if let (Some(fixed), Some(asked)) = (fixed, asked)
        && fixed != asked
    {
        let by = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
        let mut refused = Diagnostic::error(
            Code::UnsupportedMode,
            format!(
                "the kernel `{}` requires the workgroup size {}; it cannot be {}",
                function.name(),
                by(fixed),
                by(asked)
            ),
        );
        refused.location.function = Some(function.name());
        found.push(refused.help("remove the workgroup size"));
    }
    fixed.or(asked)
}

/// The workgroup size that a kernel says: `reqd_work_group_size`, `nvvm.reqntid`, NVVM's
/// annotations. A range of sizes fixes none.
fn fixed_size(context: &Context, module: &Module<'_>, function: Func<'_>) -> Option<[u32; 3]> {
    let three = |numbers: Vec<u64>| -> Option<[u32; 3]> {
        let mut size = [1; 3];
        for (place, number) in size.iter_mut().zip(&numbers) {
            *place = u32::try_from(*number).ok()?;
        }
        (!numbers.is_empty() && numbers.len() <= 3).then_some(size)
    };
    let metadata = || three(function.metadata_numbers(context, "reqd_work_group_size")?);
    let attribute = || {
        let text = function.string_attribute_value("nvvm.reqntid")?;
        let numbers: Result<Vec<u64>, _> = text.split(',').map(|one| one.trim().parse()).collect();
        three(numbers.ok()?)
    };
    let annotations = || {
        let all = ffi::annotations(ffi::module_ref(module), "nvvm.annotations");
        let of = all
            .into_iter()
            .filter(|(of, _)| of.name() == function.name());
        let entries: Vec<(String, u64)> = of.flat_map(|(_, entries)| entries).collect();
        let of = |key: &str| {
            entries
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, n)| *n)
        };
        let x = of("reqntidx")?;
        three(vec![
            x,
            of("reqntidy").unwrap_or(1),
            of("reqntidz").unwrap_or(1),
        ])
    };
    metadata().or_else(attribute).or_else(annotations)
}
