//! SPV_INTEL_subgroups, of kernels: shuffles out of two registers, and blocks of memory that a
//! subgroup reads and writes together.

use super::by_subgroup::feature;
use super::feature::{Feature, Memory};
use super::launch::{INVOCATIONS, Launch};
use super::layout;
use super::ty::{F16, F32, F64, Ty, U8, U16, U32};
use super::want::Want::{self, Bits};
use super::want::float_or_bits;

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    let needs = ["SubgroupShuffleINTEL", "SubgroupBufferBlockIOINTEL"];
    for s in [U32, F32, F16, F64] {
        let ty = Ty::from(s);
        let name = s.name();
        let pick = |op: &str, line: &str, from: fn(usize, usize) -> (usize, usize)| {
            let body = format!("$r = {op} %{name} {line}");
            feature(op, &[ty, ty], ty, &body, move |rows| {
                let lanes = 0..rows.len();
                lanes
                    .map(|lane| {
                        let (row, which) = from(lane, rows.len());
                        float_or_bits(s, rows[row][which])
                    })
                    .collect()
            })
            .needing(&needs)
        };
        all.push(pick("OpSubgroupShuffleINTEL", "$a %u32_7", |_, _| (7, 0)));
        all.push(pick("OpSubgroupShuffleXorINTEL", "$a %u32_6", |lane, _| {
            (lane ^ 6, 0)
        }));
        // Two registers side by side.
        all.push(pick(
            "OpSubgroupShuffleDownINTEL",
            "$a $b %u32_5",
            |lane, size| ((lane + 5) % size, usize::from(lane + 5 >= size)),
        ));
        all.push(pick(
            "OpSubgroupShuffleUpINTEL",
            "$a $b %u32_5",
            |lane, size| ((lane + size - 5) % size, usize::from(lane >= 5)),
        ));
    }
    for (s, lanes) in [(U32, 1), (U32, 2), (U32, 4), (U16, 1), (U8, 2)] {
        let (ty, scalar) = (Ty::vector(s, lanes), s.name());
        let size = s.bits() as usize / 8;
        // Every subgroup has a place of its own: that of its first invocation, times the
        // components.
        let base = format!(
            "$n = OpUConvert %u64 %lane\n$first = OpISub %u64 %gid $n\n$at = OpIMul %u64 $first %u64_{lanes}\n$p = OpInBoundsPtrAccessChain %p_CrossWorkgroup_{scalar} $m $at\n"
        );
        let bytes: Vec<u8> = (0..INVOCATIONS * lanes * size)
            .map(|at| (at * 37 + at / 256) as u8)
            .collect();
        let memory = |after| Memory {
            name: "m",
            pointer: format!("p_CrossWorkgroup_{scalar}"),
            before: bytes.clone(),
            after,
            links: Vec::new(),
        };
        let read = format!("{base}$r = OpSubgroupBlockReadINTEL %{} $p", ty.name());
        let source = bytes.clone();
        let read = Feature::new("OpSubgroupBlockReadINTEL", &[], &[ty], &read, |_| {
            Vec::new()
        });
        let mut read = read
            .called(&ty.name())
            .collectively(move |launch: Launch, rows| {
                let value = |row: usize, part: usize| {
                    let (first, lane) = (
                        row / launch.subgroup * launch.subgroup,
                        row % launch.subgroup,
                    );
                    let at = first * lanes + part * launch.subgroup + lane;
                    Bits(layout::read(&source, at * size, s))
                };
                (0..rows.len())
                    .map(|row| (0..lanes).map(|part| value(row, part)).collect())
                    .collect()
            });
        read.inputs = vec![Vec::new(); INVOCATIONS];
        all.push(read.needing(&needs).with_memory(memory(None)));
        // Written, and read again by the same lanes.
        let write = format!(
            "{base}OpSubgroupBlockWriteINTEL $p $a\n$r = OpSubgroupBlockReadINTEL %{0} $p\n$lane64 = OpIAdd %u64 $at $n\n\
             $q = OpInBoundsPtrAccessChain %p_CrossWorkgroup_{scalar} $m $lane64\n$s = OpLoad %{scalar} $q Aligned {size}",
            ty.name()
        );
        let write = Feature::new(
            "OpSubgroupBlockWriteINTEL",
            &[ty],
            &[ty, s.into()],
            &write,
            |row| {
                let own: Vec<Want> = row.iter().map(|v| Bits(*v)).collect();
                [own, vec![Bits(row[0])]].concat()
            },
        );
        all.push(
            write
                .called(&ty.name())
                .needing(&needs)
                .with_memory(memory(None)),
        );
    }
    all
}
