//! What may be refused: the one list of what this project leaves out until it is asked for. The
//! share of the modules that are compiled is given without these modules too.

use super::attempt::{Attempt, Reason};

/// Something that is left out.
pub(super) struct Exception {
    /// What it is called.
    pub name: &'static str,
    /// Why it is left out.
    pub why: &'static str,
    /// A diagnostic that has one of these speaks of it.
    marks: &'static [&'static str],
}

/// All of them.
pub(super) const EXCEPTIONS: &[Exception] = &[
    Exception {
        name: "images with several samplers on NVIDIA GPUs, sparse images",
        why: "a texture object contains one sampler; only a driver knows which pages of an image are resident",
        marks: &["OpImageSparse", "does not have separate samplers"],
    },
    Exception {
        name: "images and samples on GPUs without their instructions",
        why: "gfx942, gfx950 and gfx12.5 have no image instructions; gfx90a has none that samples at an explicit level of detail",
        marks: &["does not have an instruction for OpImage"],
    },
    Exception {
        name: "ray queries",
        why: "each driver has its own acceleration structures",
        marks: &["RayQuery", "AccelerationStructure"],
    },
    Exception {
        name: "cooperative vectors, matrices of optimal layouts (NVIDIA)",
        why: "each driver has its own memory layout for their matrices",
        marks: &["CooperativeVector"],
    },
    Exception {
        name: "inline assembly and VectorCompute (Intel)",
        why: "it is written for the instructions and registers of one vendor's GPUs",
        marks: &["OpAsm", "VectorCompute"],
    },
];

impl Exception {
    /// Whether the diagnostic speaks of it.
    fn is_in(&self, reason: &Reason) -> bool {
        self.marks.iter().any(|mark| reason.message.contains(mark))
    }
}

/// The exception that a refused module falls under.
pub(super) fn of(attempt: &Attempt) -> Option<&'static Exception> {
    EXCEPTIONS
        .iter()
        .find(|exception| attempt.reasons.iter().any(|reason| exception.is_in(reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_names_its_exception() {
        let exception = |message: &str| {
            let reason = Reason {
                code: "SB0300".to_owned(),
                message: message.to_owned(),
            };
            EXCEPTIONS
                .iter()
                .find(|exception| exception.is_in(&reason))
                .map(|exception| exception.name)
        };
        assert_eq!(
            exception("sm_90 does not have separate samplers"),
            Some("images with several samplers on NVIDIA GPUs, sparse images")
        );
        assert_eq!(exception("OpTypeTensorARM is not lowered"), None);
        assert_eq!(exception("OpTypeTensorLayoutNV is not lowered"), None);
        assert_eq!(exception("OpTypeCooperativeMatrixKHR is not lowered"), None);
        assert_eq!(
            exception("gfx942 does not have an instruction for OpImageFetch"),
            Some("images and samples on GPUs without their instructions")
        );
    }
}
