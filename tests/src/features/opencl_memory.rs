//! OpenCL.std: loads and stores of vectors, 16-bit floats with every rounding mode, prefetch,
//! printf; and the asynchronous copies of a group.

use super::convert::ROUNDING;
use super::edges;
use super::feature::{Feature, Memory};
use super::launch::{INVOCATIONS, WORKGROUP};
use super::ty::{F16, F32, F64, FLOATS, INTEGERS, Scalar, Ty, U8, U32, U64};
use super::want::Want::Bits;
use super::want::{Want, float, float_or_bits};

const LANES: [usize; 5] = [2, 3, 4, 8, 16];

fn name(op: &str) -> String {
    format!("OpenCL.std {op}")
}

/// A row of the launch by its number in the two slices that follow each other.
fn element(rows: &[Vec<u64>], at: usize) -> u64 {
    rows[at % INVOCATIONS][at / INVOCATIONS]
}

/// Loads at offset 1: `lanes` elements after the invocation's own, which belong to its neighbours
/// and, at the end, to the second operand.
fn loads(all: &mut Vec<Feature>) {
    let load = |op: &str, s: Scalar, to: Scalar, lanes: usize, count: &str| {
        let result = Ty::vector(to, lanes);
        let body = format!(
            "$r = OpExtInst %{} %cl {op} %u64_1 $a_p{count}",
            result.name()
        );
        let feature = Feature::new(&name(op), &[s.into(), s.into()], &[result], &body, |_| {
            Vec::new()
        });
        feature
            .called(&format!("{}.{}", s.name(), result.name()))
            .needing(&["Vector16"])
            .collectively(move |_, rows| {
                let value = |at: usize| float(to, s.float(element(rows, at)));
                let bits = |at: usize| float_or_bits(s, element(rows, at));
                let lane = |at: usize| if s == to { bits(at) } else { value(at) };
                (0..rows.len())
                    .map(|row| (row + lanes..row + 2 * lanes).map(lane).collect())
                    .collect()
            })
    };
    for lanes in LANES {
        for s in INTEGERS.into_iter().chain(FLOATS) {
            all.push(load("vloadn", s, s, lanes, &format!(" {lanes}")));
        }
        all.push(load("vload_halfn", F16, F32, lanes, &format!(" {lanes}")));
    }
    all.push(load("vload_half", F16, F32, 1, ""));
}

/// The first element of the vector with number `offset`: the aligned forms place three components
/// in the space of four.
fn stride(op: &str, lanes: usize) -> usize {
    if op.contains("a_half") && lanes == 3 {
        4
    } else {
        lanes
    }
}

/// Numbers that a 16-bit float rounds, overflows and underflows. They have no NaN, whose bits are
/// not specified.
fn halves(from: Scalar, lanes: usize) -> Vec<Vec<u64>> {
    let numbers = edges::edges(from)
        .into_iter()
        .filter(|bits| !from.float(*bits).is_nan());
    let mut interesting: Vec<u64> = numbers.collect();
    for value in [
        65519.0,
        65520.0,
        -65504.5,
        1.0 + 1.0 / 2048.0,
        3.1e-5,
        6.0e-8,
        2.9e-8,
        -1.0e-9,
        0.1,
        -2.0003,
    ] {
        interesting.push(from.bits_of(value));
    }
    (0..INVOCATIONS)
        .map(|row| {
            (0..lanes)
                .map(|lane| interesting[(row * lanes + lane) % interesting.len()])
                .collect()
        })
        .collect()
}

/// Stores at offset 1 of the invocation's own element, which is twice as wide; the memory around it
/// does not change.
fn stores(all: &mut Vec<Feature>) {
    let store = |op: &str,
                 from: Scalar,
                 to: Scalar,
                 lanes: usize,
                 last: &str,
                 inputs: Vec<Vec<u64>>,
                 host: &dyn Fn(u64) -> u64| {
        let ty = Ty::vector(from, lanes);
        let room = 2 * stride(op, lanes);
        let size = to.bits() as usize / 8;
        let pointer = format!("p_CrossWorkgroup_{}", to.name());
        let body = format!(
            "$at = OpIMul %u64 %gid %u64_{room}\n$p = OpInBoundsPtrAccessChain %{pointer} $m $at\n$none = OpExtInst %void %cl {op} $a %u64_1 $p{last}"
        );
        let before = vec![0x77; room * size * INVOCATIONS];
        let mut after = before.clone();
        for (row, values) in inputs.iter().enumerate() {
            for (lane, value) in values.iter().enumerate() {
                let at = (row * room + room / 2 + lane) * size;
                super::layout::write(&mut after, at, to, host(*value));
            }
        }
        let variant = format!("{}{}", ty.name(), last.replace(' ', "."));
        Feature::new(&name(op), &[ty], &[], &body, |_| Vec::new())
            .called(&variant)
            .needing(&["Vector16"])
            .with_inputs(inputs)
            .with_memory(Memory {
                name: "m",
                pointer,
                before,
                after: Some(after),
                links: Vec::new(),
            })
    };
    for lanes in LANES {
        for s in INTEGERS.into_iter().chain(FLOATS) {
            let inputs = edges::rows(121, &[Ty::vector(s, lanes)]);
            // A store of a NaN may change it.
            let inputs = if s.is_float() {
                halves(s, lanes)
            } else {
                inputs
            };
            all.push(store("vstoren", s, s, lanes, "", inputs, &|v| v));
        }
    }
    for from in [F32, F64] {
        for lanes in [1].into_iter().chain(LANES) {
            let forms: &[&str] = if lanes == 1 {
                &["vstore_half"]
            } else {
                &["vstore_halfn", "vstorea_halfn"]
            };
            for op in forms {
                let inputs = halves(from, lanes);
                let near = move |v: u64| F16.bits_of(from.float(v));
                all.push(store(op, from, F16, lanes, "", inputs.clone(), &near));
                // The widest vectors only once: the modes are the same in every lane.
                let modes = if lanes <= 4 {
                    ROUNDING.as_slice()
                } else {
                    &ROUNDING[1..2]
                };
                for (mode, round) in modes {
                    let host = move |v: u64| F16.bits_of(round(F16, from.float(v)));
                    let op = format!("{op}_r");
                    all.push(store(
                        &op,
                        from,
                        F16,
                        lanes,
                        &format!(" {mode}"),
                        inputs.clone(),
                        &host,
                    ));
                }
            }
        }
    }
}

/// Aligned loads of 16-bit floats: element 1 of the invocation's own memory.
fn aligned(all: &mut Vec<Feature>) {
    for lanes in LANES {
        let room = 2 * stride("vloada_halfn", lanes);
        let result = Ty::vector(F32, lanes);
        let body = format!(
            "$at = OpIMul %u64 %gid %u64_{room}\n$p = OpInBoundsPtrAccessChain %p_CrossWorkgroup_f16 $m $at\n$r = OpExtInst %{} %cl vloada_halfn %u64_1 $p {lanes}",
            result.name()
        );
        let halves = |row: usize, lane: usize| (row * 131 + lane * 977) as u64 & 0x7bff;
        let before: Vec<u8> = (0..INVOCATIONS * room)
            .flat_map(|at| (halves(at / room, at % room) as u16).to_le_bytes())
            .collect();
        let load = Feature::new(&name("vloada_halfn"), &[], &[result], &body, |_| Vec::new());
        let mut load = load
            .called(&result.name())
            .needing(&["Vector16"])
            .collectively(move |_, rows| {
                let value =
                    |row: usize, lane: usize| float(F32, F16.float(halves(row, room / 2 + lane)));
                (0..rows.len())
                    .map(|row| (0..lanes).map(|lane| value(row, lane)).collect())
                    .collect()
            });
        load.inputs = vec![Vec::new(); INVOCATIONS];
        all.push(load.with_memory(Memory {
            name: "m",
            pointer: "p_CrossWorkgroup_f16".to_owned(),
            before,
            after: None,
            links: Vec::new(),
        }));
    }
    let prefetch = "$none = OpExtInst %void %cl prefetch $a_p %u64_1\n$r = OpNot %u32 $a";
    let ty = Ty::from(U32);
    all.push(Feature::new(
        &name("prefetch"),
        &[ty],
        &[ty],
        prefetch,
        |row| vec![Bits(!row[0] & 0xffff_ffff)],
    ));
}

/// Copies between the launch's buffers and workgroup memory that a workgroup makes together.
fn group_copies(all: &mut Vec<Feature>) {
    let wait = "OpStore $ev $e\nOpGroupWaitEvents %u32_2 %u32_1 $ev\n";
    // All invocations give the address of the first one's element.
    let first = "$l = OpUConvert %u64 %local\n$back = OpSNegate %u64 $l\n";
    let feature = |op: &str, ty: Ty, body: &str| {
        let t = ty.name();
        Feature::new(op, &[ty], &[ty], body, |_| Vec::new())
            .with_globals(format!(
                "$event = OpTypeEvent\n$null = OpConstantNull $event\n$pev = OpTypePointer Function $event\n$shared = OpVariable %p_Workgroup_{t}a{WORKGROUP} Workgroup\n"
            ))
            .with_variables("$ev = OpVariable $pev Function\n")
    };
    let barrier = "OpControlBarrier %u32_2 %u32_2 %u32_264\n";
    for s in [U8, U32, F32, U64, F64] {
        let t = s.name();
        for (step, count) in [(1, WORKGROUP), (2, WORKGROUP / 2), (3, 19)] {
            let body = format!(
                "{first}$from = OpPtrAccessChain %p_CrossWorkgroup_{t} $a_p $back\n$to = OpInBoundsAccessChain %p_Workgroup_{t} $shared %u32_0\n\
                 $own = OpInBoundsAccessChain %p_Workgroup_{t} $shared %local\nOpStore $own $a\n{barrier}\
                 $e = OpGroupAsyncCopy $event %u32_2 $to $from %u64_{count} %u64_{step} $null\n{wait}\
                 $j = OpBitwiseXor %u32 %local %u32_13\n$q = OpInBoundsAccessChain %p_Workgroup_{t} $shared $j\n$r = OpLoad %{t} $q\n{barrier}"
            );
            for op in ["OpGroupAsyncCopy", "OpGroupWaitEvents"] {
                let copy = feature(op, s.into(), &body).collectively(move |_, rows| {
                    let row = |at: usize| {
                        let (group, local) = (at / WORKGROUP * WORKGROUP, (at % WORKGROUP) ^ 13);
                        let from = if local < count { local * step } else { local };
                        vec![float_or_bits(s, rows[group + from][0])]
                    };
                    (0..rows.len()).map(row).collect()
                });
                all.push(copy.called(&format!("{t}.in.{step}")));
            }
        }
        for (step, count) in [(1, WORKGROUP), (2, 21)] {
            let size = s.bits() as usize / 8;
            let room = WORKGROUP * step;
            let body = format!(
                "{first}$n = OpIAdd %u64 %gid $back\n$n2 = OpIMul %u64 $n %u64_{step}\n$to = OpInBoundsPtrAccessChain %p_CrossWorkgroup_{t} $m $n2\n\
                 $from = OpInBoundsAccessChain %p_Workgroup_{t} $shared %u32_0\n$own = OpInBoundsAccessChain %p_Workgroup_{t} $shared %local\nOpStore $own $a\n{barrier}\
                 $e = OpGroupAsyncCopy $event %u32_2 $to $from %u64_{count} %u64_{step} $null\n{wait}$r = OpCopyObject %{t} $a"
            );
            let inputs = if s.is_float() {
                edges::between(122, &[(s, -9.0, 9.0)])
            } else {
                edges::rows(122, &[s.into()])
            };
            let before = vec![0x33; INVOCATIONS * step * size];
            let mut after = before.clone();
            for (row, values) in inputs.iter().enumerate() {
                let (group, local) = (row / WORKGROUP, row % WORKGROUP);
                if local < count {
                    let at = (group * room + local * step) * size;
                    super::layout::write(&mut after, at, s, values[0]);
                }
            }
            let copy = feature("OpGroupAsyncCopy", s.into(), &body).collectively(move |_, rows| {
                let own = |row: &Vec<u64>| -> Vec<Want> { vec![float_or_bits(s, row[0])] };
                rows.iter().map(own).collect()
            });
            all.push(
                copy.called(&format!("{t}.out.{step}"))
                    .with_inputs(inputs)
                    .with_memory(Memory {
                        name: "m",
                        pointer: format!("p_CrossWorkgroup_{t}"),
                        before,
                        after: Some(after),
                        links: Vec::new(),
                    }),
            );
        }
    }
}

/// If the printf buffer has room, the result is 0. The output is compared for whole kernels
/// (`opencl/printing`).
fn prints(all: &mut Vec<Feature>) {
    for (format, ty) in [
        ("%d", Ty::from(U32)),
        ("%lx", U64.into()),
        ("%a", F64.into()),
        ("%v4hlf", Ty::vector(F32, 4)),
        ("%v2hhu", Ty::vector(U8, 2)),
    ] {
        let bytes: String = format.bytes().map(|byte| format!(" %u8_{byte}")).collect();
        let array = format!("u8a{}", format.len() + 1);
        let globals = format!(
            "$text = OpConstantComposite %{array}{bytes} %u8_0\n$format = OpVariable %p_UniformConstant_{array} UniformConstant $text\n"
        );
        let body = "$r = OpExtInst %u32 %cl printf $format $a";
        let feature = Feature::new(&name("printf"), &[ty], &[U32.into()], body, |_| {
            vec![Bits(0)]
        });
        all.push(feature.with_globals(globals));
    }
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    loads(&mut all);
    stores(&mut all);
    aligned(&mut all);
    group_copies(&mut all);
    prints(&mut all);
    all
}
