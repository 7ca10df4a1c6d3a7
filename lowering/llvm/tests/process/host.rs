//! Lowering changes nothing outside itself: a host that uses LLVM for code of its own gets the same
//! code after a lowering as before. LLVM's options hold for a process, so this test is the only one
//! of its process.

use crate::support::{lowered, machine};
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::{FileType, InitializationConfig, Target as LlvmTarget};
use splitbar_harness::alone;
use splitbar_plan::Target;

const TILED_MATMUL: &[u8] =
    include_bytes!("../../../../fixtures/kernels/tiled_matmul/tiled_matmul.spv");

/// A kernel of the host's: an array that registers cannot hold, which LLVM moves to LDS on AMD
/// GPUs.
const HOSTS: &str = "
define KIND void @host(ptr addrspace(1) %to, i32 %at, i32 %from) #0 {
  %array = alloca [64 x i32], align 4, addrspace(PRIVATE)
  %written = getelementptr inbounds [64 x i32], ptr addrspace(PRIVATE) %array, i32 0, i32 %at
  store i32 7, ptr addrspace(PRIVATE) %written
  %read = getelementptr inbounds [64 x i32], ptr addrspace(PRIVATE) %array, i32 0, i32 %from
  %value = load i32, ptr addrspace(PRIVATE) %read
  store i32 %value, ptr addrspace(1) %to
  ret void
}
attributes #0 = { \"amdgpu-flat-work-group-size\"=\"2,2\" }
";

/// The host's assembly for a GPU.
fn host(target: &Target) -> String {
    let amd = target.amdgpu().is_some();
    let (kind, private) = if amd {
        ("amdgpu_kernel", "5")
    } else {
        ("ptx_kernel", "0")
    };
    let text = HOSTS
        .replace("KIND", kind)
        .replace("addrspace(PRIVATE)", &format!("addrspace({private})"));
    let context = Context::create();
    let machine = machine(target);
    let layout = machine.get_target_data().get_data_layout();
    let layout = layout.as_str().to_string_lossy();
    let text = format!("target datalayout = \"{layout}\"\n{text}\0");
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "host");
    let module = context.create_module_from_ir(buffer).unwrap();
    module.set_triple(&machine.get_triple());
    let code = machine
        .write_to_memory_buffer(&module, FileType::Assembly)
        .unwrap();
    String::from_utf8_lossy(code.as_slice()).into_owned()
}

#[test]
fn the_host_s_code_is_the_same_before_and_after() {
    alone(
        "host::the_host_s_code_is_the_same_before_and_after",
        lowering_changes_nothing_else,
    );
}

fn lowering_changes_nothing_else() {
    let config = InitializationConfig::default();
    LlvmTarget::initialize_amd_gpu(&config);
    LlvmTarget::initialize_nvptx(&config);
    let targets = ["gfx906", "gfx1100", "gfx1201", "gfx1250", "sm_80"];
    let targets = targets.map(|name| Target::by_name(name).unwrap());
    let before = targets.map(host);
    for (target, code) in targets.iter().zip(&before) {
        let in_lds = !code.contains(".amdhsa_group_segment_fixed_size 0");
        assert!(
            target.amdgpu().is_none() || in_lds,
            "{}:\n{code}",
            target.name
        );
    }
    for target in targets {
        assert!(
            lowered(TILED_MATMUL, target).contains("main"),
            "{}",
            target.name
        );
    }
    for ((target, before), after) in targets.iter().zip(before).zip(targets.map(host)) {
        assert_eq!(before, after, "{}", target.name);
    }
}
