//! Functions that contain barriers go into the kernels that call them, so that every barrier of a
//! kernel has one place in one control-flow graph.

use super::calls::{self, Problem};
use super::located::at;
use crate::codegen;
use crate::ffi::{self, Func};
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use std::collections::{HashMap, HashSet};

/// What makes constants of operands that are none yet.
const CONSTANTS: &str = "function(sroa,sccp,instsimplify)";

/// Most instructions of a module whose functions with barriers have been inlined.
const MOST_INSTRUCTIONS: u64 = 1 << 21;

/// Inlines what has barriers, and lets their operands become constants.
pub(super) fn inline<'c>(
    context: &'c Context,
    module: &Module<'c>,
    machine: &TargetMachine,
) -> Result<(), Diagnostics> {
    let functions = ffi::functions(ffi::module_ref(module));
    let with_barriers = with_barriers(module, &functions);
    let called: Vec<Func<'_>> = functions
        .iter()
        .copied()
        .filter(|function| {
            with_barriers.contains(function) && !super::kernels::is_kernel(module, *function)
        })
        .collect();
    let mut found = Diagnostics::new();
    for function in &called {
        check(*function, &with_barriers, &mut found);
    }
    for function in &functions {
        let is_barrier = calls::known(*function).is_some_and(|known| !known.is_of_target());
        if is_barrier && function.is_address_taken() {
            let name = function.name();
            let message = format!("the address of `{name}` is taken, but it is not defined");
            let refused = Diagnostic::error(Code::UninlinableBarriers, message);
            found.push(refused.help("call it by name"));
        }
    }
    if found.has_errors() {
        return Err(found.sorted());
    }
    check_size(&functions, &called)?;
    for function in &called {
        for attribute in ["noinline", "optnone"] {
            function.remove_attribute(attribute);
        }
        function.remove_attribute_of_calls("noinline");
        function.attribute(context, "alwaysinline");
        function.set_internal();
    }
    if !called.is_empty() {
        codegen::run(module, machine, "always-inline")?;
    }
    check_left(module)?;
    if has_open_operands(module) {
        codegen::run(module, machine, CONSTANTS)?;
    }
    Ok(())
}

/// The functions that call barriers, or others that do; those with barriers of the target alone
/// where a kernel with other barriers calls them, since they may not stand in its windows.
fn with_barriers<'c>(module: &Module<'c>, functions: &[Func<'c>]) -> HashSet<Func<'c>> {
    let mut callers: HashMap<Func<'c>, Vec<Func<'c>>> = HashMap::new();
    let mut callees: HashMap<Func<'c>, Vec<Func<'c>>> = HashMap::new();
    let (mut named, mut of_target) = (Vec::new(), Vec::new());
    for function in functions {
        for instruction in function.instructions() {
            let Some(callee) = instruction.callee() else {
                continue;
            };
            callers.entry(callee).or_default().push(*function);
            callees.entry(*function).or_default().push(callee);
            match calls::known(callee) {
                Some(known) if known.is_of_target() => of_target.push(*function),
                Some(_) => named.push(*function),
                None if calls::is_foreign(callee) => of_target.push(*function),
                None => {}
            }
        }
    }
    let mut found = reached(named, &callers);
    let kernels = found.iter().copied();
    let kernels = kernels.filter(|function| super::kernels::is_kernel(module, *function));
    let called = reached(kernels.collect(), &callees);
    let hidden = reached(of_target, &callers);
    found.extend(called.intersection(&hidden));
    found
}

/// What `edges` lead to from `todo`, that included.
fn reached<'c>(
    mut todo: Vec<Func<'c>>,
    edges: &HashMap<Func<'c>, Vec<Func<'c>>>,
) -> HashSet<Func<'c>> {
    let mut found = HashSet::new();
    while let Some(function) = todo.pop() {
        if found.insert(function) {
            todo.extend(edges.get(&function).into_iter().flatten());
        }
    }
    found
}

/// What keeps `function` from going into its callers.
fn check<'c>(function: Func<'c>, with_barriers: &HashSet<Func<'c>>, found: &mut Diagnostics) {
    let refused = |why: &str| {
        let name = function.name();
        let mut refused = Diagnostic::error(
            Code::UninlinableBarriers,
            format!("`{name}` has barriers and cannot be inlined: {why}"),
        );
        refused.location.function = Some(name);
        refused
    };
    if function.is_address_taken() {
        let refused = refused("its address is taken");
        found.push(refused.help("call it only directly, from kernels"));
    }
    if function.is_variadic() {
        found.push(refused("it has variable arguments"));
    }
    if reaches_itself(function, with_barriers) {
        found.push(refused("it calls itself"));
    }
}

/// That `functions` do not get too large when those of `called`, none of which calls itself, go
/// into their callers.
fn check_size<'c>(functions: &[Func<'c>], called: &[Func<'c>]) -> Result<(), Diagnostics> {
    let is_called: HashSet<Func<'c>> = called.iter().copied().collect();
    let mut left: HashMap<Func<'c>, Vec<Func<'c>>> = HashMap::new();
    let mut own: HashMap<Func<'c>, u64> = HashMap::new();
    for function in functions {
        let instructions = function.instructions();
        own.insert(*function, instructions.len() as u64);
        let callees = instructions.iter().filter_map(|one| one.callee());
        let callees = callees.filter(|callee| is_called.contains(callee));
        left.insert(*function, callees.collect());
    }
    // The whole of a function is known when that of everything it calls is.
    let mut whole: HashMap<Func<'c>, u64> = HashMap::new();
    for function in called {
        let mut path = vec![*function];
        while let Some(at) = path.last().copied() {
            let callees = left.get(&at).map_or(&[][..], Vec::as_slice);
            let open = callees.iter().find(|callee| !whole.contains_key(callee));
            match open {
                Some(callee) => path.push(*callee),
                None => {
                    whole.insert(at, sum(&own, &whole, at, callees));
                    path.pop();
                }
            }
        }
    }
    let all = functions.iter().fold(0u64, |all, function| {
        let callees = left.get(function).map_or(&[][..], Vec::as_slice);
        all.saturating_add(sum(&own, &whole, *function, callees))
    });
    if all > MOST_INSTRUCTIONS {
        let large = Diagnostic::error(
            Code::ModuleTooLarge,
            "the functions that contain barriers become too large when they are inlined",
        );
        return Err(large.help("call them from fewer places").into());
    }
    Ok(())
}

/// Instructions of `function` and of all that it calls.
fn sum<'c>(
    own: &HashMap<Func<'c>, u64>,
    whole: &HashMap<Func<'c>, u64>,
    function: Func<'c>,
    callees: &[Func<'c>],
) -> u64 {
    let size = |of: &HashMap<Func<'c>, u64>, function| of.get(&function).copied().unwrap_or(0);
    let parts = callees.iter().map(|callee| size(whole, *callee));
    parts.fold(size(own, function), u64::saturating_add)
}

/// That every call of a function with barriers is gone: LLVM does not inline all of them.
fn check_left(module: &Module<'_>) -> Result<(), Diagnostics> {
    let functions = ffi::functions(ffi::module_ref(module));
    let with_barriers = with_barriers(module, &functions);
    let mut found = Diagnostics::new();
    for function in &functions {
        let instructions = function.instructions().into_iter();
        let left = instructions.filter(|one| {
            let callee = one.callee();
            callee.is_some_and(|callee| with_barriers.contains(&callee))
        });
        for call in left {
            let name = call.callee().map_or_else(String::new, Func::name);
            let message = format!("`{name}` has barriers, but LLVM does not inline this call");
            let refused = Diagnostic::error(Code::UninlinableBarriers, message).help(
                "the call must use its type, the caller must have its target, and branches to addresses cannot be inlined",
            );
            found.push(at(refused, *function, call));
        }
    }
    if found.has_errors() {
        Err(found.sorted())
    } else {
        Ok(())
    }
}

fn reaches_itself<'c>(function: Func<'c>, with_barriers: &HashSet<Func<'c>>) -> bool {
    let mut seen = HashSet::new();
    let mut todo = vec![function];
    while let Some(at) = todo.pop() {
        for callee in at.instructions().into_iter().filter_map(|one| one.callee()) {
            if callee == function {
                return true;
            }
            if with_barriers.contains(&callee) && seen.insert(callee) {
                todo.push(callee);
            }
        }
    }
    false
}

fn has_open_operands(module: &Module<'_>) -> bool {
    calls::all(ffi::module_ref(module)).into_iter().any(|call| {
        let barrier = calls::of(call).map(|known| known.barrier(call));
        matches!(barrier, Some(Err(Problem::NotConstant(..))))
    })
}

/// The diagnostic for a call whose operands are not known.
pub(super) fn refuse<'c>(
    problem: &Problem,
    function: Func<'c>,
    call: ffi::Value<'c>,
) -> Diagnostic {
    let name = call.callee().map_or_else(String::new, Func::name);
    let refused = match problem {
        Problem::Arguments => Diagnostic::error(
            Code::BarrierArguments,
            format!("`{name}` is called with the wrong arguments"),
        ),
        Problem::NotConstant(_, what) => Diagnostic::error(
            Code::BarrierOperandNotConstant,
            format!("the {what} of `{name}` is not a constant"),
        )
        .help("use a constant, or a parameter of a function that is called with constants"),
    };
    at(refused, function, call)
}
