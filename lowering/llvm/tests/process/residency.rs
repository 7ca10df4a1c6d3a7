//! The registers of AMD GPUs are those that LLVM counts on: asked for so many waves of a SIMD, it
//! gives a kernel that wants all registers as many as so many waves can have.

use crate::support::machine;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::{FileType, InitializationConfig, Target as LlvmTarget};
use splitbar_harness::alone;
use splitbar_plan::Target;
use splitbar_plan::target::residency::{Footprint, Residency};
use std::fmt::Write;

/// A kernel that holds 200 values at once, compiled for `waves` waves of a SIMD: its VGPRs.
fn registers(target: &Target, wave_size: u32, waves: u32) -> u32 {
    let mut text = String::from("define amdgpu_kernel void @k(ptr addrspace(1) %p) #0 {\n");
    for i in 0..200 {
        writeln!(
            text,
            "%a{i} = getelementptr i32, ptr addrspace(1) %p, i32 {i}\n\
             %v{i} = load volatile i32, ptr addrspace(1) %a{i}"
        )
        .unwrap();
    }
    for i in 0..200 {
        writeln!(text, "store volatile i32 %v{i}, ptr addrspace(1) %a{i}").unwrap();
    }
    write!(
        text,
        "ret void\n}}\nattributes #0 = {{ \"amdgpu-waves-per-eu\"=\"{waves},{waves}\" \
         \"amdgpu-flat-work-group-size\"=\"{wave_size},{wave_size}\" \
         \"target-features\"=\"+wavefrontsize{wave_size}\" }}\n"
    )
    .unwrap();
    let context = Context::create();
    let machine = machine(target);
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "registers");
    let module = context.create_module_from_ir(buffer).unwrap();
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    let assembly = machine
        .write_to_memory_buffer(&module, FileType::Assembly)
        .unwrap();
    let assembly = String::from_utf8(assembly.as_slice().to_vec()).unwrap();
    let (_, count) = assembly.split_once(".vgpr_count:").unwrap();
    count.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn waves_have_the_registers_that_llvm_gives_them() {
    alone(
        "residency::waves_have_the_registers_that_llvm_gives_them",
        registers_are_those_of_llvm,
    );
}

fn registers_are_those_of_llvm() {
    LlvmTarget::initialize_amd_gpu(&InitializationConfig::default());
    for name in [
        "gfx700", "gfx803", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030",
        "gfx1036", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152",
        "gfx1153", "gfx1200", "gfx1201", "gfx1250", "gfx1251",
    ] {
        let target = Target::by_name(name).unwrap();
        let residency = Residency::for_estimates(target).unwrap();
        for wave_size in target.wave_sizes {
            for waves in [residency.waves / 2, residency.waves] {
                let registers = registers(target, *wave_size, waves);
                // So many, and no more, fit: one wave in a workgroup, on all SIMDs.
                let footprint = |registers| Footprint {
                    wave_size: *wave_size,
                    waves: 1,
                    registers,
                    shared_bytes: 0,
                    barriers: 0,
                };
                let at_once = |registers| {
                    let places = Residency {
                        workgroups: u32::MAX,
                        ..residency
                    };
                    places.resident(footprint(registers)).unwrap().workgroups / residency.pools
                };
                assert_eq!(
                    at_once(registers),
                    waves,
                    "{name}, waves of {wave_size}: {registers} registers"
                );
                assert!(
                    at_once(registers + 1) < waves || registers == 256,
                    "{name}, waves of {wave_size}: {waves} waves could have more than {registers} registers"
                );
            }
        }
    }
}
