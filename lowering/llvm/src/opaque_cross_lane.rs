//! Hides what reads other lanes from the mid-level optimiser. LLVM 23.1's
//! AMDGPUUniformIntrinsicCombine simplifies such intrinsics and says that the uniformity analysis
//! still holds, but not the cycles that this refers to: when it comes to the same function again,
//! or Reassociate does, both read memory that was freed (docs/llvm.md). So these intrinsics are
//! calls of opaque functions until the optimiser has run, and are simplified once, in a run of
//! their own.

use inkwell::attributes::AttributeLoc;
use inkwell::module::Module;
use inkwell::values::FunctionValue;

/// What the pass simplifies, without the types.
const INTRINSICS: [&str; 5] = [
    "llvm.amdgcn.readfirstlane",
    "llvm.amdgcn.readlane",
    "llvm.amdgcn.permlane64",
    "llvm.amdgcn.ballot",
    "llvm.amdgcn.wave.shuffle",
];

/// What the opaque functions' names begin with; the intrinsic's name follows.
const PREFIX: &str = "splitbar.hidden.";

/// The passes that are to run when [`show`] has brought the intrinsics back. Calls of opaque
/// functions might have asked the launch for something, which is found out once more.
pub(crate) const PASSES: &str = "globaldce,amdgpu-attributor,function(amdgpu-uniform-intrinsic-combine,\
    early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

/// Puts opaque functions in the place of the intrinsics. To be called on AMDGPU before the
/// optimiser runs.
pub(crate) fn wrap(module: &Module<'_>) {
    for (intrinsic, name) in named(module, "") {
        let is_hidden = INTRINSICS.iter().any(|hidden| {
            let rest = name.strip_prefix(hidden);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        if is_hidden {
            let opaque =
                module.add_function(&format!("{PREFIX}{name}"), intrinsic.get_type(), None);
            for attribute in intrinsic.attributes(AttributeLoc::Function) {
                opaque.add_attribute(AttributeLoc::Function, attribute);
            }
            intrinsic.replace_all_uses_with(opaque);
        }
    }
}

/// Puts the intrinsics back. Whether there were any.
pub(crate) fn unwrap(module: &Module<'_>) -> bool {
    let hidden = named(module, PREFIX);
    for (opaque, name) in &hidden {
        // The declaration of an intrinsic has the attributes that LLVM gives it.
        let intrinsic = module
            .get_function(name)
            .unwrap_or_else(|| module.add_function(name, opaque.get_type(), None));
        opaque.replace_all_uses_with(intrinsic);
    }
    !hidden.is_empty()
}

/// The functions whose names begin with `prefix`, and what follows it.
fn named<'c>(module: &Module<'c>, prefix: &str) -> Vec<(FunctionValue<'c>, String)> {
    let functions = module.get_functions().filter_map(|function| {
        let name = function.get_name().to_str().ok()?.strip_prefix(prefix)?;
        Some((function, name.to_owned()))
    });
    functions.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{unwrap, wrap};
    use crate::codegen;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use pretty_assertions::assert_eq;

    const KERNEL: &str = "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.readfirstlane.i32(i32)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
declare i64 @llvm.amdgcn.ballot.i64(i1)
declare i32 @llvm.amdgcn.wave.shuffle.i32(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %a, i1 %b) {
  %first = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %a)
  %lane = call i32 @llvm.amdgcn.readlane.i32(i32 %first, i32 3)
  %shuffled = call i32 @llvm.amdgcn.wave.shuffle.i32(i32 %lane, i32 %a)
  %mask = call i64 @llvm.amdgcn.ballot.i64(i1 %b)
  %low = trunc i64 %mask to i32
  %count = call i32 @llvm.amdgcn.mbcnt.lo(i32 %low, i32 %shuffled)
  store i32 %count, ptr addrspace(1) %p
  ret void
}
";

    #[test]
    fn what_was_hidden_comes_back() {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(KERNEL.as_bytes(), "k");
        let module = context.create_module_from_ir(buffer).unwrap();
        let body = || {
            let text = module.print_to_string().to_string();
            let (_, body) = text.split_once("define").unwrap();
            body.split_once("\n}").unwrap().0.to_owned()
        };
        let attributes = |name: &str| {
            let function = module.get_function(name).unwrap();
            let place = inkwell::attributes::AttributeLoc::Function;
            let attributes = function.attributes(place);
            attributes
                .iter()
                .map(|a| a.get_enum_kind_id())
                .collect::<Vec<_>>()
        };
        let before = body();
        wrap(&module);
        codegen::verify(&module, "hidden").unwrap();
        let hidden = body();
        for name in [
            "readfirstlane.i32",
            "readlane.i32",
            "ballot.i64",
            "wave.shuffle.i32",
        ] {
            assert!(
                !hidden.contains(&format!("@llvm.amdgcn.{name}")),
                "{hidden}"
            );
            assert_eq!(
                attributes(&format!("splitbar.hidden.llvm.amdgcn.{name}")),
                attributes(&format!("llvm.amdgcn.{name}"))
            );
        }
        assert!(
            hidden.contains("@llvm.amdgcn.mbcnt.lo"),
            "it reads no other lane"
        );
        assert!(unwrap(&module));
        assert_eq!(body(), before);
    }

    #[test]
    fn nothing_is_shown_where_nothing_was_hidden() {
        let context = Context::create();
        let module = context.create_module("empty");
        wrap(&module);
        assert!(!unwrap(&module));
    }
}
