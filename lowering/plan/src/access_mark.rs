//! Marks of loads and stores in the columns of debug lines: the emitter writes them, and the
//! simulator reads them from assembly.

/// The atomicity of a load or store in final code. Debug columns pass it to the readers of
/// assembly, because machine code has the same instruction for both.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum AccessMark {
    /// Not atomic.
    Plain,
    /// Atomic for the workgroup, or the cluster of workgroups, at most.
    Workgroup,
    /// Atomic for the device, or more; or volatile, which PTX defines as relaxed for the whole
    /// system.
    Device,
}

impl AccessMark {
    const ALL: [AccessMark; 3] = [AccessMark::Plain, AccessMark::Workgroup, AccessMark::Device];

    /// The column that means it; other columns mean nothing, 0 among them.
    pub fn column(self) -> u32 {
        match self {
            AccessMark::Plain => 1,
            AccessMark::Workgroup => 2,
            AccessMark::Device => 3,
        }
    }

    /// Decodes the column of a `.loc`; `None` if it is unknown.
    pub fn of_column(column: u32) -> Option<AccessMark> {
        AccessMark::ALL
            .into_iter()
            .find(|mark| mark.column() == column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_lead_back() {
        for mark in AccessMark::ALL {
            assert_eq!(AccessMark::of_column(mark.column()), Some(mark));
        }
        assert_eq!(AccessMark::of_column(0), None);
    }
}
