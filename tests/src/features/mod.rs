//! One instruction, one test: every feature is a snippet of SPIR-V with operands, and a function on
//! the host that computes the results.
//!
//! A family of features is a table in a file of its own. [`module`] makes modules of many features,
//! so that the cost of a compilation is shared.

mod amd;
mod atomic;
mod bits;
mod by_subgroup;
mod collectives;
mod compare;
mod convert;
mod cooperative_vector;
pub mod coverage;
mod device_library;
mod dot;
pub mod edges;
mod extensions;
mod feature;
mod float;
mod float8;
mod float_rules;
mod flow;
mod gather;
mod glsl;
mod glsl_math;
mod group;
mod integer;
mod launch;
mod layout;
mod memory;
pub mod module;
mod opencl_integer;
mod opencl_math;
mod opencl_memory;
pub mod page;
mod pointer;
mod spec;
mod subgroup;
mod subgroup_apart;
mod subgroup_intel;
mod subgroup_partial;
mod subgroup_product;
pub mod ty;
mod vector;
pub mod want;

pub use feature::{Feature, Flavour, Host, Memory};
pub use launch::{INVOCATIONS, Launch, WORKGROUP};

/// Features that are compiled together.
pub struct Family {
    /// Its name among the tests.
    pub name: &'static str,
    /// The environment that it belongs to.
    pub flavour: Flavour,
    /// Its features.
    pub features: Vec<Feature>,
}

/// All families.
pub fn families() -> Vec<Family> {
    use Flavour::{Addresses, Kernel, Shader, VulkanModel};
    let family = |name, flavour, features| Family {
        name,
        flavour,
        features,
    };
    vec![
        family("integer", Shader, integer::features()),
        family("bits", Shader, bits::features()),
        family("float8", Shader, float8::features()),
        family("compare", Shader, compare::features()),
        family("compare_kernel", Kernel, compare::kernel_features()),
        family("float", Shader, float::features()),
        family("float_kernel", Kernel, float::kernel_features()),
        family("convert", Shader, convert::features()),
        family("convert_kernel", Kernel, convert::kernel_features()),
        family("glsl", Shader, glsl::features()),
        family("glsl_math", Shader, glsl_math::features()),
        family("vector", Shader, vector::features()),
        family("subgroup", Shader, subgroup::features()),
        family("group", Kernel, group::features()),
        family("dot", Shader, dot::features()),
        family("atomic", Shader, atomic::features(Shader)),
        family("atomic_kernel", Kernel, atomic::features(Kernel)),
        family("memory", Shader, memory::features()),
        family("vulkan_model", VulkanModel, memory::vulkan_features()),
        family("flow", Shader, flow::features()),
        family("flow_kernel", Kernel, flow::kernel_features()),
        family("extensions", Shader, extensions::features()),
        family("spec", Shader, spec::features()),
        family("spec_kernel", Kernel, spec::kernel_features()),
        family("pointer", Shader, pointer::features()),
        family("pointer_kernel", Kernel, pointer::kernel_features()),
        family("address", Addresses, pointer::address_features()),
        family("gather", Kernel, gather::features()),
        family("subgroup_kernel", Kernel, subgroup_intel::features()),
        family("subgroup_apart", Shader, subgroup_apart::features()),
        family("subgroup_apart_kernel", Kernel, subgroup_apart::features()),
        family("subgroup_product", Shader, subgroup_product::features()),
        family("opencl_memory", Kernel, opencl_memory::features()),
        family("amd", Shader, amd::features()),
        family("opencl_integer", Kernel, opencl_integer::features()),
        family("opencl_math", Kernel, opencl_math::features()),
        family("cooperative_vector", Shader, cooperative_vector::features()),
        family("device_library", Kernel, device_library::features()),
    ]
}
