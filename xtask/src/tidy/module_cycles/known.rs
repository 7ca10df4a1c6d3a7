//! Circles of files that are still to be parted.

/// The first file of each circle by name, and how many files it has. No row may be added; a circle
/// that shrinks or goes changes or strikes its row.
pub(super) const KNOWN: &[(&str, usize)] = &[
    ("lowering/assembly/src/amdgpu/late_windows.rs", 2),
    ("lowering/sim/src/amdgpu/abi.rs", 20),
    ("lowering/sim/src/amdgpu/operand.rs", 2),
    ("lowering/sim/src/bulk.rs", 2),
    ("lowering/sim/src/clock.rs", 2),
    ("lowering/sim/src/machine.rs", 2),
    ("lowering/sim/src/ptx/arith/float.rs", 3),
    ("lowering/sim/src/ptx/exec/copies.rs", 5),
    ("lowering/sim/src/ptx/program.rs", 2),
    ("lowering/target/src/placement.rs", 2),
    ("lowering/typed/src/abi.rs", 5),
    ("lowering/typed/src/image.rs", 10),
];
