//! The inputs of the choice of a strategy.

use crate::target::Target;

/// What the choice depends on.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Situation {
    /// The target.
    pub target: &'static Target,
    /// Waves of the workgroup; `None` when only the launch knows.
    pub waves: Option<u32>,
    /// Workgroup memory that is still free, in bytes.
    pub free_shared_bytes: u32,
    /// A full barrier can be executed between an arrive and its wait.
    pub barrier_in_window: bool,
    /// True if every path from a wait to the next arrive has a full barrier.
    pub barrier_between_phases: bool,
    /// Workgroups of a cluster in x, y and z, if the kernel is launched in clusters.
    pub cluster: Option<[u32; 3]>,
    /// True if the caller requests the strategy by name.
    pub is_asked_for: bool,
}

impl Situation {
    /// Four waves on `target`, all workgroup memory, and nothing special.
    pub(crate) fn usual(target: &'static Target) -> Situation {
        Situation {
            target,
            waves: Some(4),
            free_shared_bytes: target.lds_bytes,
            barrier_in_window: false,
            barrier_between_phases: false,
            cluster: None,
            is_asked_for: false,
        }
    }

    /// Whether `what` can have `bytes` of workgroup memory.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn has_room(self, what: &str, bytes: u32) -> Result<(), String> {
        if self.free_shared_bytes < bytes {
            return Err(format!(
                "{what} needs {bytes} bytes of workgroup memory, and {} are free",
                self.free_shared_bytes
            ));
        }
        Ok(())
    }
}
