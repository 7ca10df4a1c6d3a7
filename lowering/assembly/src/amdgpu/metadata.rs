//! Reads the metadata of kernels, which follow the code in AMDGPU assembly (LLVM AMDGPUUsage, "Code
//! Object V5 Metadata").

/// The resource usage of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelMetadata {
    /// Its symbol, without `.kd`.
    pub symbol: String,
    /// VGPRs of a lane, with AGPRs where they are of the same file.
    pub vector_registers: u32,
    /// VGPRs that are kept in memory because there are too few.
    pub spilled_vector_registers: u32,
    /// SGPRs that are kept elsewhere because there are too few.
    pub spilled_scalar_registers: u32,
    /// Workgroup memory in bytes, as far as its size is fixed.
    pub workgroup_bytes: u32,
}

/// The kernels of which `assembly` holds metadata, in order.
pub fn kernels(assembly: &str) -> Vec<KernelMetadata> {
    let metadata = assembly
        .split_once("\namdhsa.kernels:")
        .map_or("", |(_, metadata)| metadata);
    let mut kernels: Vec<KernelMetadata> = Vec::new();
    // Keys of a kernel are indented by 4, the first of them behind a dash; those of its arguments
    // by more.
    for line in metadata.lines().skip(1) {
        let Some(key) = line.strip_prefix("  - ").or(line.strip_prefix("    ")) else {
            break; // the end of the list
        };
        if line.starts_with("  - ") {
            kernels.push(KernelMetadata::default());
        }
        let (Some(kernel), Some((key, value))) = (kernels.last_mut(), key.split_once(':')) else {
            continue; // an element of a list: a dimension of the workgroup
        };
        let value = value.trim();
        let field = match key {
            ".symbol" => {
                value.trim_end_matches(".kd").clone_into(&mut kernel.symbol);
                continue;
            }
            ".vgpr_count" => &mut kernel.vector_registers,
            ".vgpr_spill_count" => &mut kernel.spilled_vector_registers,
            ".sgpr_spill_count" => &mut kernel.spilled_scalar_registers,
            ".group_segment_fixed_size" => &mut kernel.workgroup_bytes,
            _ => continue,
        };
        if let Ok(number) = value.parse() {
            *field = number;
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn each_kernel_has_its_own() {
        let text = "\ts_endpgm\n\t.amdgpu_metadata\n---\namdhsa.kernels:\n  \
            - .agpr_count:     4\n    .args:\n      - .name:          a\n        .size:           8\n    \
            .group_segment_fixed_size: 4096\n    .name:           first\n    .reqd_workgroup_size:\n      - 16\n    \
            .sgpr_spill_count: 2\n    .symbol:         first.kd\n    .vgpr_count:     91\n    .vgpr_spill_count: 3\n  \
            - .args:\n    .symbol:         second.kd\n    .vgpr_count:     7\namdhsa.target:   amdgcn\n    .vgpr_count:     1\n";
        let first = KernelMetadata {
            symbol: "first".to_owned(),
            vector_registers: 91,
            spilled_vector_registers: 3,
            spilled_scalar_registers: 2,
            workgroup_bytes: 4096,
        };
        let second = KernelMetadata {
            symbol: "second".to_owned(),
            vector_registers: 7,
            ..KernelMetadata::default()
        };
        assert_eq!(kernels(text), [first, second]);
        assert_eq!(kernels(""), []);
    }
}
