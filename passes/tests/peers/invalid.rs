//! The verdicts of `fixtures/invalid`, beside those of spirv-val.

use crate::fixtures::{expected, files, header};
use crate::spirv_val::SpirvVal;
use splitbar_harness::Missing;
use splitbar_passes::diagnostic::Severity;
use splitbar_passes::module::assemble;

/// The name of the environment for `--target-env`; versions of SPIRV-Tools know no OpenCL 3.0.
fn peer_environment(text: &str) -> String {
    match header(text, "env").unwrap() {
        "universal" => format!("spv{}", header(text, "Version").unwrap()),
        "opencl3.0" => "opencl2.2".to_owned(),
        other => other.to_owned(),
    }
}

/// Modules without split barriers, tensors and extensions that versions before 2026 do not check at
/// all.
pub(crate) fn spirv_val_agrees_where_it_knows_the_rule() -> Result<(), Missing> {
    let peer = SpirvVal::find()?;
    let mut wrong = Vec::new();
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let unknown = [
            "OpCapability SplitBarrier",
            "OpControlBarrierArrive",
            "OpCapability TensorsARM",
            "SPV_NV_cooperative_matrix2",
            "SPV_INTEL_joint_matrix",
            "SPV_INTEL_masked_gather_scatter",
            "SPV_INTEL_predicated_io",
        ];
        if unknown.iter().any(|name| text.contains(name)) {
            continue;
        }
        let assembled = assemble(&text).unwrap();
        let complaint = peer.complaint(&assembled.module().unwrap(), &peer_environment(&text));
        let ours = expected(&text)
            .iter()
            .any(|(_, severity, _)| *severity == Severity::Error);
        let says = |verdict: &str| {
            header(&text, "spirv-val").is_some_and(|note| note.starts_with(verdict))
        };
        if complaint.is_none() == (ours && !says("accepts") || says("refuses")) {
            wrong.push(format!(
                "{}: {}",
                path.display(),
                complaint.unwrap_or_default()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
