//! The functions that stand for barriers, by name, and what their arguments mean.

use crate::ffi::{self, Func, ModuleRef, Value};
use spirv::MemorySemantics;

/// Execution and memory scopes, as SPIR-V numbers them.
pub(super) mod scope {
    pub(crate) const DEVICE: u32 = spirv::Scope::Device as u32;
    pub(crate) const WORKGROUP: u32 = spirv::Scope::Workgroup as u32;
    pub(crate) const SUBGROUP: u32 = spirv::Scope::Subgroup as u32;
}

/// What a function does.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Arrive,
    Wait,
    Control,
    Memory,
}

/// What the arguments of a function are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Form {
    /// SPIR-V's scopes and semantics.
    SpirV,
    /// OpenCL's flags, and a memory scope that may be left out.
    OpenCl { execution: u32 },
    /// Numbers that stand for the one barrier of the workgroup, or none.
    Target,
}

/// A function that is a barrier.
#[derive(Copy, Clone, Debug)]
pub(super) struct Known {
    name: &'static str,
    pub(super) kind: Kind,
    form: Form,
}

const fn row(name: &'static str, kind: Kind, form: Form) -> Known {
    Known { name, kind, form }
}

const WORKGROUP: Form = Form::OpenCl {
    execution: scope::WORKGROUP,
};
const SUBGROUP: Form = Form::OpenCl {
    execution: scope::SUBGROUP,
};

/// SPV_EXT_split_barrier and SPV_INTEL_split_barrier as LLVM IR names them; OpenCL C 3.0, 6.15.8,
/// with cl_intel_split_work_group_barrier; LLVM's intrinsics.
const KNOWN: &[Known] = &[
    row(
        "__spirv_ControlBarrierArriveINTEL",
        Kind::Arrive,
        Form::SpirV,
    ),
    row("__spirv_ControlBarrierWaitINTEL", Kind::Wait, Form::SpirV),
    row("__spirv_ControlBarrierArriveEXT", Kind::Arrive, Form::SpirV),
    row("__spirv_ControlBarrierWaitEXT", Kind::Wait, Form::SpirV),
    row("__spirv_ControlBarrier", Kind::Control, Form::SpirV),
    row("__spirv_MemoryBarrier", Kind::Memory, Form::SpirV),
    row("intel_work_group_barrier_arrive", Kind::Arrive, WORKGROUP),
    row("intel_work_group_barrier_wait", Kind::Wait, WORKGROUP),
    row("work_group_barrier", Kind::Control, WORKGROUP),
    row("barrier", Kind::Control, WORKGROUP),
    row("sub_group_barrier", Kind::Control, SUBGROUP),
    row("llvm.amdgcn.s.barrier", Kind::Control, Form::Target),
    row(
        "llvm.nvvm.barrier.cta.sync.all",
        Kind::Control,
        Form::Target,
    ),
    row(
        "llvm.nvvm.barrier.cta.sync.aligned.all",
        Kind::Control,
        Form::Target,
    ),
];

/// A barrier whose operands are known.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Barrier {
    pub(super) kind: Kind,
    /// Nothing for a memory barrier.
    pub(super) execution: u32,
    pub(super) memory: u32,
    pub(super) semantics: u32,
}

/// Why a call is not a barrier with known operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// It has more or fewer arguments, or no numbers.
    Arguments,
    /// The argument with this number, and what it is, is not a constant.
    NotConstant(usize, &'static str),
}

/// The name of a function without what the Itanium ABI puts around it.
fn plain(name: &str) -> &str {
    let Some(mangled) = name.strip_prefix("_Z") else {
        return name;
    };
    let digits = mangled.len()
        - mangled
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .len();
    let (length, rest) = mangled.split_at(digits);
    length
        .parse()
        .ok()
        .and_then(|length: usize| rest.get(..length))
        .unwrap_or(name)
}

/// What the function is, if it is a barrier: one with a body of its own is not.
pub(super) fn known(function: Func<'_>) -> Option<Known> {
    if function.has_body() {
        return None;
    }
    let name = function.name();
    let name = plain(&name);
    KNOWN.iter().find(|row| row.name == name).copied()
}

/// Every call of a function that is a barrier of SPIR-V or OpenCL: those of targets alone are not
/// worth touching a module.
pub(super) fn all<'c>(module: ModuleRef<'c>) -> Vec<Value<'c>> {
    let named =
        |function: &Func<'c>| known(*function).is_some_and(|known| known.form != Form::Target);
    let functions = ffi::functions(module).into_iter().filter(named);
    functions
        .flat_map(|function| {
            let users = function.value().users().into_iter();
            users.filter(move |user| user.callee() == Some(function))
        })
        .collect()
}

/// What `instruction` is, if it calls a barrier.
pub(super) fn of(instruction: Value<'_>) -> Option<Known> {
    known(instruction.callee()?)
}

/// Barriers of targets that no plan counts with, by the beginning of their names: those that meet
/// in a part of a workgroup or in a cluster, and halves.
const FOREIGN: &[&str] = &[
    "llvm.amdgcn.s.barrier.",
    "llvm.nvvm.barrier.",
    "llvm.nvvm.barrier0.",
];

/// Returns true if the function is a barrier of a target that no plan counts with.
pub(super) fn is_foreign(function: Func<'_>) -> bool {
    let name = function.name();
    known(function).is_none() && FOREIGN.iter().any(|start| name.starts_with(start))
}

/// Returns true if `instruction` calls a barrier of a target that no plan counts with.
pub(super) fn calls_foreign(instruction: Value<'_>) -> bool {
    let Some(callee) = instruction.callee() else {
        return false;
    };
    let is_of_other_number =
        |known: Known| known.is_of_target() && known.barrier(instruction) == Ok(None);
    is_foreign(callee) || known(callee).is_some_and(is_of_other_number)
}

impl Known {
    /// Returns true if it is the target's own.
    pub(super) fn is_of_target(self) -> bool {
        self.form == Form::Target
    }

    /// The barrier that `call` is.
    ///
    /// # Errors
    /// The first argument that it lacks, or that is not a constant.
    pub(super) fn barrier(self, call: Value<'_>) -> Result<Option<Barrier>, Problem> {
        let arguments = call.arguments();
        let number = |index: usize, what| {
            let value = *arguments.get(index).ok_or(Problem::Arguments)?;
            if !value.ty().is_int() {
                return Err(Problem::Arguments);
            }
            let constant = value.as_u64().and_then(|bits| u32::try_from(bits).ok());
            constant.ok_or(Problem::NotConstant(index, what))
        };
        let wants = match (self.form, self.kind) {
            (Form::SpirV, Kind::Memory) => 2..=2,
            (Form::SpirV, _) => 3..=3,
            (Form::OpenCl { .. }, _) => 1..=2,
            (Form::Target, _) => 0..=1,
        };
        if !wants.contains(&arguments.len()) || !call.ty().is_void() {
            return Err(Problem::Arguments);
        }
        let barrier = |execution, memory, semantics| Barrier {
            kind: self.kind,
            execution,
            memory,
            semantics,
        };
        Ok(Some(match (self.form, self.kind) {
            (Form::SpirV, Kind::Memory) => barrier(
                0,
                number(0, "memory scope")?,
                number(1, "memory semantics")?,
            ),
            (Form::SpirV, _) => barrier(
                number(0, "execution scope")?,
                number(1, "memory scope")?,
                number(2, "memory semantics")?,
            ),
            (Form::OpenCl { execution }, _) => {
                let flags = number(0, "fence flags")?;
                let memory = match arguments.len() {
                    1 => None,
                    _ => Some(number(1, "memory scope")?),
                };
                barrier(
                    execution,
                    opencl_scope(memory),
                    self.opencl_semantics(flags),
                )
            }
            (Form::Target, _) => {
                // A barrier of another number is not the workgroup's.
                if !arguments.is_empty() && number(0, "number") != Ok(0) {
                    return Ok(None);
                }
                barrier(scope::WORKGROUP, scope::WORKGROUP, 0)
            }
        }))
    }

    /// The semantics of OpenCL's fence flags: an arrive releases, a wait acquires, and a full
    /// barrier is sequentially consistent.
    fn opencl_semantics(self, flags: u32) -> u32 {
        const LOCAL: u32 = 1 << 0;
        const GLOBAL: u32 = 1 << 1;
        const IMAGE: u32 = 1 << 2;
        let classes = [
            (LOCAL, MemorySemantics::WORKGROUP_MEMORY),
            (GLOBAL, MemorySemantics::CROSS_WORKGROUP_MEMORY),
            (IMAGE, MemorySemantics::IMAGE_MEMORY),
        ]
        .iter()
        .filter(|(flag, _)| flags & flag != 0)
        .fold(MemorySemantics::empty(), |all, (_, class)| all | *class);
        let order = match self.kind {
            Kind::Arrive => MemorySemantics::RELEASE,
            Kind::Wait => MemorySemantics::ACQUIRE,
            Kind::Control | Kind::Memory => MemorySemantics::SEQUENTIALLY_CONSISTENT,
        };
        if classes.is_empty() {
            0
        } else {
            (classes | order).bits()
        }
    }
}

/// SPIR-V's number of OpenCL's memory_scope; what it is where nothing is said.
fn opencl_scope(scope: Option<u32>) -> u32 {
    match scope {
        None | Some(1) => scope::WORKGROUP,
        Some(0) => spirv::Scope::Invocation as u32,
        Some(2) => scope::DEVICE,
        Some(4) => scope::SUBGROUP,
        Some(_) => spirv::Scope::CrossDevice as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_are_taken_out_of_their_mangling() {
        for (name, is) in [
            (
                "__spirv_ControlBarrierArriveINTEL",
                "__spirv_ControlBarrierArriveINTEL",
            ),
            (
                "_Z33__spirv_ControlBarrierArriveINTELiii",
                "__spirv_ControlBarrierArriveINTEL",
            ),
            (
                "_Z31__spirv_ControlBarrierWaitINTELjjj",
                "__spirv_ControlBarrierWaitINTEL",
            ),
            (
                "_Z31intel_work_group_barrier_arrivej12memory_scope",
                "intel_work_group_barrier_arrive",
            ),
            ("_Z7barrierj", "barrier"),
            ("_Z", "_Z"),
            ("_Z99x", "_Z99x"),
            ("_ZN3foo7barrierEj", "_ZN3foo7barrierEj"),
        ] {
            assert_eq!(plain(name), is);
        }
    }
}
