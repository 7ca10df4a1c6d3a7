//! Issues and pull requests of llvm-project.

use super::Verdict::{Fixed, Guarded, NotTried, Right};
use super::{Origin, Report, Verdict};

const ALL: &str = "all";

const fn row(number: u32, what: &'static str, gpus: &'static str, verdict: Verdict) -> Report {
    Report {
        origin: Origin::Llvm(number),
        what,
        gpus,
        verdict,
    }
}

/// The reports, by number.
#[rustfmt::skip] // One report is one line of the page.
pub(super) const REPORTS: &[Report] = &[
    row(126337, "Programs give wrong results since two floats are computed at once; the PTX looks right.", "sm_100 and later", Right("kernel with sums, products, fused ones and a loop of vectors of two, in the PTX of sm_90, sm_100 and sm_120 at -O0, -O2 and -O3. What ptxas makes of it was not tried")),
    row(128853, "An argument of two bytes arrives wrong.", "NVIDIA", Right("OpenCL kernel with arguments of one, two and four bytes and of two 16-bit values, sm_60 to sm_120 and eight AMD GPUs at -O0 and -O2")),
    row(194829, "A HIP program prints other values when it is optimised.", "AMD", NotTried("a large program in HIP; divisions by 1, 2 and -1, which it has, are right")),
    row(196420, "A chain of conditions and 8-bit values in a loop has ones in its upper bits.", ALL, Right("kernel of the same shape, eight AMD GPUs, sm_70, sm_90 and sm_100 at -O0 to -O2")),
    row(198412, "Sums of products of bytes are dot products where something else than a sum lies between.", "gfx906 and later", Guarded("byte_products")),
    row(198491, "A byte of a shifted 16-bit value has the wrong sign.", "gfx9", Right("as FuzzX amdgpu 1")),
    row(198508, "Sums of shifted terms are those of the first lane.", "gfx9 and later", Right("as FuzzX amdgpu 3, 5, 12 and 14")),
    row(198606, "A HIP program prints other values when it is optimised.", "AMD", NotTried("a large program in HIP")),
    row(198708, "Bytes of the sign are zero when bytes are put together.", "AMD", Right("as FuzzX amdgpu 39 and 41")),
    row(203256, "Lanes that leave a loop early get the value of the last iteration.", "AMD", Guarded("loop_exits")),
    row(204362, "The carry of a sum of three operands is that of another sum.", "AMD", Fixed { pull: 204362, tried: Some("kernels with chains of carries and borrows are right") }),
    row(207990, "A product by the smallest integer, next to a shift in memory, becomes a shift that must not overflow.", ALL, Right("kernel with NoSignedWrap, eight AMD GPUs, sm_70, sm_90 and sm_100 at -O0, -O2 and -O3")),
    row(210093, "A shift by 31 next to a product in memory becomes a product that must not overflow.", ALL, Right("kernels with NoSignedWrap, whose results also decide, eight AMD GPUs, sm_70, sm_90 and sm_100 at -O0, -O2 and -O3")),
    row(210605, "A rotation of a vector by constants is wrong where one of them is 0.", ALL, Right("OpenCL kernel with `rotate` of 32-bit and 16-bit vectors, eight AMD GPUs, sm_70, sm_90 and sm_100 at -O0 and -O2")),
    row(212027, "A sum in a loop that a condition resets has a wrong value.", ALL, Right("kernel of the same shape, eight AMD GPUs, sm_70, sm_90 and sm_100 at -O1 to -O3")),
    row(214388, "A regression of the combiner of instructions.", ALL, NotTried("its program was not at hand")),
    row(214486, "A loop in a loop with a 64-bit counter gives a wrong value.", ALL, Right("kernel of the same shape, eight AMD GPUs, sm_70, sm_90 and sm_100 at -O1 to -O3")),
    row(214544, "A product of floats that becomes a half is 0 instead of -0.", "gfx906 and later", Guarded("rounded_product")),
    row(214942, "A regression of instruction selection.", ALL, NotTried("its program was not at hand")),
    row(215530, "A component that is put into a vector in memory counts as aligned like the vector.", ALL, Right("kernel with OpVectorInsertDynamic and reads of the neighbours, eight AMD GPUs, sm_70, sm_90 and sm_100 at all levels")),
    row(215745, "A comparison that decides a select and a branch is lost, and a loop does not end.", "gfx908, gfx90a, gfx942", Right("five kernels with loops of 64-bit ranges, two of the report's shape; gfx908, gfx90a, gfx942 and gfx950 at -O1 to -O3")),
    row(216015, "64-bit sums of products of bytes lose their upper half.", "gfx906 and later", Guarded("byte_products")),
    row(217902, "A move between lanes that is used twice is taken away.", "AMD", Guarded("lane_moves")),
    row(220348, "A pair of dual issue reads a register before it is written.", "gfx11", Guarded("dual_issue")),
    row(220357, "A wait of a release in a loop is missing.", "gfx90a to gfx13", Guarded("dropped_wait")),
    row(220843, "A constant or scalar next to a 16-bit value has the same half twice.", "gfx11 and later", Guarded("packed_high")),
    row(220858, "The upper half of a scalar is read as the lower one.", "gfx11 and later", Guarded("packed_high")),
    row(222714, "A program gives another value at -O1.", ALL, NotTried("its program was not at hand")),
    row(222839, "A borrow that is not 0 or 1 is made of two comparisons.", ALL, Right("five kernels with chains of borrows and comparisons, AMD and sm_90")),
    row(222857, "Components without a value make masked ones undefined.", ALL, Right("kernel with OpUndef in vectors under a mask, eight AMD GPUs, sm_70, sm_90 and sm_100 at all levels")),
    row(223844, "The analysis of what is equal in all lanes reads freed memory.", "AMD", Guarded("freed_cycles")),
    row(224741, "The second instruction of a pair with a 64-bit one reads a wrong value from the last register of a wave.", "gfx1250", NotTried("a hazard of the hardware, which no simulator here models; such pairs are not separated")),
];
