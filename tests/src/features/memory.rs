//! Memory: access chains into nested types with layouts, indices that are computed, loads and
//! stores of whole objects and of parts, copies, lengths of arrays.

use super::feature::{Feature, Memory};
use super::launch::{INVOCATIONS, WORKGROUP};
use super::layout::{self, Layout};
use super::ty::{F16, F32, F64, Scalar, Ty, U8, U16, U32, U64};
use super::want::Want::Bits;
use super::want::float_or_bits;

/// Elements of the array that a buffer is.
const ELEMENTS: usize = 5;

fn array(element: Layout, count: u32, stride: u32) -> Layout {
    Layout::Array(Box::new(element), count, stride)
}

fn matrix(scalar: Scalar, columns: u32, rows: u32, stride: u32, row_major: bool) -> Layout {
    Layout::Matrix {
        scalar,
        columns,
        rows,
        stride,
        row_major,
    }
}

/// Structures of the tests: their name, stride in bytes, and layout.
fn structures() -> Vec<(&'static str, u32, Layout)> {
    use Layout::{Scalar as S, Struct, Vector as V};
    vec![
        (
            "scalars",
            40,
            Struct(vec![
                (0, S(U8)),
                (2, S(U16)),
                (4, S(F16)),
                (8, S(U64)),
                (16, S(F64)),
                (24, S(F32)),
                (28, S(U32)),
                // Not in the order of their numbers.
                (34, S(U16)),
                (33, S(U8)),
            ]),
        ),
        (
            "vectors",
            96,
            Struct(vec![
                (0, V(F32, 3)),
                (12, S(F32)),
                (16, V(U8, 4)),
                (24, V(U16, 3)),
                (32, V(F64, 2)),
                (48, V(F16, 4)),
                (56, V(U32, 2)),
                (64, V(U64, 3)),
            ]),
        ),
        (
            "matrices",
            288,
            Struct(vec![
                (0, matrix(F32, 3, 2, 16, false)),
                (48, matrix(F32, 3, 2, 16, true)),
                (80, matrix(F64, 2, 3, 32, false)),
                (144, matrix(F16, 4, 4, 8, true)),
                (176, array(matrix(F32, 2, 4, 8, true), 3, 32)),
            ]),
        ),
        (
            "nested",
            160,
            Struct(vec![
                (0, S(U32)),
                (
                    16,
                    array(
                        Struct(vec![
                            (0, array(S(F32), 3, 8)),
                            (24, Struct(vec![(0, S(U16)), (4, V(F32, 2))])),
                        ]),
                        3,
                        48,
                    ),
                ),
            ]),
        ),
    ]
}

/// The bytes of a buffer of such structures: no float is a NaN.
fn filled(leaves: &[layout::Leaf], stride: u32, count: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(111);
    let mut bytes = vec![0x5a; stride as usize * count];
    for element in 0..count {
        for leaf in leaves {
            let value = if leaf.scalar.is_float() {
                leaf.scalar.bits_of(f64::from(rng.i16(-1000..1000)) / 4.0)
            } else {
                rng.u64(..) & leaf.scalar.mask()
            };
            let at = element * stride as usize + leaf.offset as usize;
            layout::write(&mut bytes, at, leaf.scalar, value);
        }
    }
    bytes
}

/// A feature with a buffer `$m` whose only member is an array without length of the structure.
fn on_buffer(
    feature: Feature,
    (name, stride, layout): &(&str, u32, Layout),
    before: Vec<u8>,
    after: Option<Vec<u8>>,
) -> Feature {
    let (mut types, mut decorate) = (feature.globals.clone(), feature.decorate.clone());
    let element = layout.declare("st", &mut types, &mut decorate);
    types.push_str(&format!(
        "$ra = OpTypeRuntimeArray {element}\n$block = OpTypeStruct $ra\n$pb = OpTypePointer StorageBuffer $block\n"
    ));
    decorate.push_str(&format!(
        "OpDecorate $ra ArrayStride {stride}\nOpDecorate $block Block\nOpMemberDecorate $block 0 Offset 0\n"
    ));
    let variant = if feature.variant.is_empty() {
        (*name).to_owned()
    } else {
        format!("{name}.{}", feature.variant)
    };
    feature
        .called(&variant)
        .with_globals(types)
        .decorated(decorate)
        .with_memory(Memory {
            name: "m",
            pointer: "$pb".to_owned(),
            before,
            after,
            links: Vec::new(),
        })
}

/// An access chain from `base` to a leaf.
fn chain(op: &str, id: &str, base: &str, leaf: &layout::Leaf, class: &str) -> String {
    let path: Vec<String> = leaf.path.iter().map(|i| format!("%u32_{i}")).collect();
    format!(
        "{id} = {op} %p_{class}_{} {base} {}\n",
        leaf.scalar.name(),
        path.join(" ")
    )
}

/// Each scalar of each structure, loaded from an element whose number is an operand; four to a
/// feature.
fn loads(all: &mut Vec<Feature>) {
    for structure in structures() {
        let (_, stride, layout) = &structure;
        let leaves = layout.leaves();
        let bytes = filled(&leaves, *stride, ELEMENTS);
        for (number, some) in leaves.chunks(4).enumerate() {
            let mut body = String::new();
            for (leaf, result) in some.iter().zip(["r", "s", "t", "u"]) {
                let base = "$m %u32_0 $a";
                body += &chain(
                    "OpAccessChain",
                    &format!("$p{result}"),
                    base,
                    leaf,
                    "StorageBuffer",
                );
                body += &format!("${result} = OpLoad %{} $p{result}\n", leaf.scalar.name());
            }
            let results: Vec<Ty> = some.iter().map(|l| l.scalar.into()).collect();
            let (some, stride) = (some.to_vec(), *stride as usize);
            let memory = bytes.clone();
            let load = Feature::new(
                "OpAccessChain",
                &[U32.into()],
                &results,
                &body,
                move |row| {
                    let at = row[0] as usize * stride;
                    let bits =
                        |l: &layout::Leaf| layout::read(&memory, at + l.offset as usize, l.scalar);
                    some.iter().map(|leaf| Bits(bits(leaf))).collect()
                },
            );
            let load = load.called(&format!("{number}")).with_inputs(indices());
            all.push(on_buffer(load, &structure, bytes.clone(), None));
        }
    }
}

/// An index into the array for each invocation.
fn indices() -> Vec<Vec<u64>> {
    (0..INVOCATIONS)
        .map(|at| vec![(at * 7 / 3 % ELEMENTS) as u64])
        .collect()
}

/// Every other scalar of each type in each structure, stored by each invocation into its own
/// element; the memory around it does not change.
fn stores(all: &mut Vec<Feature>) {
    for structure in structures() {
        let (_, stride, layout) = &structure;
        let leaves = layout.leaves();
        let before = filled(&leaves, *stride, INVOCATIONS);
        let mut scalars: Vec<Scalar> = leaves.iter().map(|l| l.scalar).collect();
        scalars.sort_unstable();
        scalars.dedup();
        for scalar in scalars {
            let inputs = super::edges::between(112, &[(scalar, 0.0, 100.0)]);
            let inputs = if scalar.is_float() {
                inputs
            } else {
                super::edges::rows(112, &[scalar.into()])
            };
            let mut after = before.clone();
            let mut body = String::new();
            let of_scalar = leaves.iter().filter(|leaf| leaf.scalar == scalar);
            for (number, leaf) in of_scalar.step_by(2).enumerate() {
                let id = format!("$q{number}");
                body += &chain(
                    "OpInBoundsAccessChain",
                    &id,
                    "$m %u32_0 %gid",
                    leaf,
                    "StorageBuffer",
                );
                body += &format!("OpStore {id} $a\n");
                for (row, values) in inputs.iter().enumerate() {
                    let at = row * *stride as usize + leaf.offset as usize;
                    layout::write(&mut after, at, scalar, values[0]);
                }
            }
            let op = "OpInBoundsAccessChain";
            let store = Feature::new(op, &[scalar.into()], &[], &body, |_| Vec::new());
            let store = store.called(scalar.name()).with_inputs(inputs);
            all.push(on_buffer(store, &structure, before.clone(), Some(after)));
        }
    }
}

/// Whole structures, each read and written by one instruction.
fn whole(all: &mut Vec<Feature>) {
    for structure in structures() {
        let (_, stride, layout) = &structure;
        let (stride, leaves) = (*stride as usize, layout.leaves());
        let before = filled(&leaves, stride as u32, INVOCATIONS);
        // Every invocation takes the structure of its neighbour apart.
        let bytes = filled(&leaves, stride as u32, ELEMENTS);
        for some in [&leaves[..4], &leaves[leaves.len() - 4..]] {
            let mut body = "$p = OpAccessChain $ps $m %u32_0 $a\n$x = OpLoad $st $p\n".to_owned();
            for (leaf, result) in some.iter().zip(["r", "s", "t", "u"]) {
                let path: Vec<String> = leaf.path.iter().map(u32::to_string).collect();
                body += &format!(
                    "${result} = OpCompositeExtract %{} $x {}\n",
                    leaf.scalar.name(),
                    path.join(" ")
                );
            }
            let results: Vec<Ty> = some.iter().map(|l| l.scalar.into()).collect();
            let (some, memory) = (some.to_vec(), bytes.clone());
            let name = if some[0].path == leaves[0].path {
                "first"
            } else {
                "last"
            };
            let load = Feature::new("OpLoad", &[U32.into()], &results, &body, move |row| {
                let at = row[0] as usize * stride;
                let bits =
                    |l: &layout::Leaf| layout::read(&memory, at + l.offset as usize, l.scalar);
                some.iter().map(|leaf| Bits(bits(leaf))).collect()
            });
            let load = load.called(name).with_inputs(indices());
            let mut load = on_buffer(load, &structure, bytes.clone(), None);
            load.globals += "$ps = OpTypePointer StorageBuffer $st\n";
            all.push(load);
        }
        // Element 0 goes everywhere, with one scalar changed on the way.
        for (op, rest) in [
            (
                "OpStore",
                "$x = OpLoad $st $p\n$y = OpCompositeInsert $st $a $x PATH\nOpStore $q $y\n",
            ),
            (
                "OpCopyMemory",
                "OpCopyMemory $q $p\n$w = OpAccessChain %p_StorageBuffer_SCALAR $q CHAIN\nOpStore $w $a\n",
            ),
        ] {
            let leaf = &leaves[leaves.len() / 2];
            let path: Vec<String> = leaf.path.iter().map(u32::to_string).collect();
            let indices: Vec<String> = leaf.path.iter().map(|i| format!("%u32_{i}")).collect();
            let body =
                "$p = OpAccessChain $ps $m2 %u32_0 %u32_0\n$q = OpAccessChain $ps $m %u32_0 %gid\n"
                    .to_owned()
                    + &rest
                        .replace("PATH", &path.join(" "))
                        .replace("CHAIN", &indices.join(" "))
                        .replace("SCALAR", leaf.scalar.name());
            let inputs = super::edges::between(113, &[(leaf.scalar, 0.0, 99.0)]);
            let mut after = before.clone();
            let mut touched = vec![false; before.len()];
            for (row, values) in inputs.iter().enumerate() {
                for own in &leaves {
                    let at = row * stride + own.offset as usize;
                    let value = layout::read(&bytes, own.offset as usize, own.scalar);
                    layout::write(&mut after, at, own.scalar, value);
                    touched[at..at + own.scalar.bits() as usize / 8].fill(true);
                }
                let at = row * stride + leaf.offset as usize;
                layout::write(&mut after, at, leaf.scalar, values[0]);
            }
            // The bytes between members have no value after a copy, so they begin as those of the
            // source.
            let mut before = before.clone();
            for (at, _) in touched.iter().enumerate().filter(|(_, touched)| !**touched) {
                before[at] = bytes[at % stride];
                after[at] = bytes[at % stride];
            }
            let store = Feature::new(op, &[leaf.scalar.into()], &[], &body, |_| Vec::new());
            let store = store.called("").with_inputs(inputs);
            let mut store = on_buffer(store, &structure, before, Some(after));
            store.globals += "$ps = OpTypePointer StorageBuffer $st\n";
            all.push(store.with_memory(Memory {
                name: "m2",
                pointer: "$pb".to_owned(),
                before: bytes.clone(),
                after: Some(bytes.clone()),
                links: Vec::new(),
            }));
        }
    }
}

/// Vectors, matrices and arrays in the memory of an invocation or a workgroup, whose layout is the
/// compiler's: a whole is written, a part with a computed index read and written, and the whole
/// read again.
fn own(all: &mut Vec<Feature>) {
    for class in ["Function", "Private", "Workgroup"] {
        // No vector of three narrow components: it is loaded with its padding, of which the
        // simulator sees the half of a register used.
        for (s, part) in [
            (U8, "v4"),
            (U16, "v4"),
            (F16, "v4"),
            (U32, "v3"),
            (F32, "v4"),
            (F64, "v2"),
            (U64, "v4"),
        ] {
            let lanes = part[1..].parse().unwrap_or(1);
            let ty = Ty::vector(s, lanes);
            let body = format!(
                "$whole = OpCompositeConstruct %{v}a3 $a $b $a\nOpStore $w $whole\n$i = OpUMod %u32 $c %u32_3\n$j = OpUMod %u32 $c %u32_{lanes}\n\
                 $q = OpAccessChain %p_{class}_{name} $w $i $j\n$r = OpLoad %{name} $q\n$k = OpCompositeExtract %{name} $b 0\nOpStore $q $k\n\
                 $back = OpLoad %{v}a3 $w\n$s = OpCompositeExtract %{v} $back 2",
                v = ty.name(),
                name = s.name()
            );
            let chain = Feature::new(
                "OpAccessChain",
                &[ty, ty, U32.into()],
                &[s.into(), ty],
                &body,
                move |row| {
                    let (a, b) = (&row[..lanes], &row[lanes..2 * lanes]);
                    let index = row[2 * lanes] as usize;
                    let (i, j) = (index % 3, index % lanes);
                    let mut last = a.to_vec();
                    if i == 2 {
                        last[j] = b[0];
                    }
                    let old = if i == 1 { b[j] } else { a[j] };
                    let all = std::iter::once(old).chain(last);
                    all.map(|v| float_or_bits(s, v)).collect()
                },
            );
            all.push(
                variable(chain, class, &format!("{}a3", ty.name()))
                    .called(&format!("{class}.{}", ty.name())),
            );
        }
        let ty = Ty::matrix(F32, 3, 2);
        let body = format!(
            "OpStore $w $a\n$i = OpUMod %u32 $b %u32_3\n$column = OpAccessChain %p_{class}_f32v2 $w $i\n$r = OpLoad %f32v2 $column\n\
             $q = OpAccessChain %p_{class}_f32 $w $i %u32_1\nOpStore $q %f32_7\n$s = OpLoad %f32m3x2 $w"
        );
        let params = [ty, U32.into()];
        let chain = Feature::new(
            "OpAccessChain",
            &params,
            &[Ty::vector(F32, 2), ty],
            &body,
            |row| {
                let i = row[6] as usize % 3;
                let mut matrix = row[..6].to_vec();
                let column = matrix[2 * i..2 * i + 2].to_vec();
                matrix[2 * i + 1] = F32.bits_of(7.0);
                let all = column.into_iter().chain(matrix);
                all.map(|v| float_or_bits(F32, v)).collect()
            },
        );
        all.push(variable(chain, class, "f32m3x2").called(&format!("{class}.matrix")));
        let body = "OpStore $w $x\nOpCopyMemory $v $w\n$y = OpLoad %s_u32_f32v3 $v\n$r = OpCompositeExtract %u32 $y 0\n$s = OpCompositeExtract %f32v3 $y 1";
        let body = format!("$x = OpCompositeConstruct %s_u32_f32v3 $a $b\n{body}");
        let (u, v) = (Ty::from(U32), Ty::vector(F32, 3));
        let copy = Feature::new("OpCopyMemory", &[u, v], &[u, v], &body, |row| {
            let floats = row[1..].iter().map(|v| float_or_bits(F32, *v));
            std::iter::once(Bits(row[0])).chain(floats).collect()
        });
        let mut copy = variable(copy, class, "s_u32_f32v3").called(&format!("{class}.Function"));
        copy.variables += "$v = OpVariable %p_Function_s_u32_f32v3 Function\n";
        all.push(copy);
    }
    for s in [U8, U16, F16, U32, F32, U64, F64] {
        let name = s.name();
        let body = format!("OpStore $w $a\n$x = OpLoad %{name} $w\n$r = OpCopyObject %{name} $x");
        let plain = Feature::new("OpVariable", &[s.into()], &[s.into()], &body, move |row| {
            vec![float_or_bits(s, row[0])]
        });
        all.push(variable(plain, "Private", name));
        // A variable that begins with a value.
        let body = format!("$x = OpLoad %{name} $w\nOpStore $w $a\n$r = OpCopyObject %{name} $x");
        for class in ["Private", "Function"] {
            let params = [s.into()];
            let mut begun = Feature::new("OpVariable", &params, &params, &body, move |_| {
                vec![Bits(s.bits_of_number(3))]
            });
            let line = format!("$w = OpVariable %p_{class}_{name} {class} %{name}_3\n");
            if class == "Private" {
                begun.globals = line;
            } else {
                begun.variables = line;
            }
            all.push(begun.called(&format!("{name}.{class}.initialized")));
        }
    }
}

/// `$w`, a variable of a class; one of Workgroup is the invocation's element of an array.
fn variable(mut feature: Feature, class: &str, ty: &str) -> Feature {
    match class {
        "Workgroup" => {
            feature.globals += &format!(
                "$all = OpTypeArray %{ty} %u32_{WORKGROUP}\n$pall = OpTypePointer Workgroup $all\n$shared = OpVariable $pall Workgroup\n"
            );
            feature.body = format!(
                "$w = OpAccessChain %p_Workgroup_{ty} $shared %local\n{}",
                feature.body
            );
        }
        "Private" => feature.globals += &format!("$w = OpVariable %p_Private_{ty} Private\n"),
        _ => feature.variables += &format!("$w = OpVariable %p_{class}_{ty} Function\n"),
    }
    feature
}

/// The length of the array at the end of a buffer, which is not always a multiple of its stride.
fn lengths(all: &mut Vec<Feature>) {
    for (bytes, wanted) in [(8, 0u64), (8 + 24, 2), (8 + 12 * 100 + 7, 100)] {
        let mut feature = Feature::new(
            "OpArrayLength",
            &[],
            &[U32.into()],
            "$r = OpArrayLength %u32 $m 1",
            move |_| vec![Bits(wanted)],
        );
        feature.inputs = vec![Vec::new(); INVOCATIONS];
        all.push(
            feature
                .called(&wanted.to_string())
                .with_globals("$ra = OpTypeRuntimeArray %u32\n$block = OpTypeStruct %u32 $ra\n$pb = OpTypePointer StorageBuffer $block\n")
                .decorated("OpDecorate $ra ArrayStride 12\nOpDecorate $block Block\nOpMemberDecorate $block 0 Offset 0\nOpMemberDecorate $block 1 Offset 8\n")
                .with_memory(Memory {
                    name: "m",
                    pointer: "$pb".to_owned(),
                    before: vec![0; bytes],
                    after: None,
                    links: Vec::new(),
                }),
        );
    }
}

/// Of shaders.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    loads(&mut all);
    stores(&mut all);
    whole(&mut all);
    own(&mut all);
    lengths(&mut all);
    all
}

/// The same with the Vulkan memory model: stores make memory available, loads make it visible.
pub(super) fn vulkan_features() -> Vec<Feature> {
    let ty = Ty::from(U32);
    let mut all = Vec::new();
    // Through the buffer and back, and from the neighbour in the workgroup.
    let operands = "MakePointerAvailable|NonPrivatePointer %u32_2";
    let back = "MakePointerVisible|NonPrivatePointer %u32_2";
    let barrier = "OpControlBarrier %u32_2 %u32_2 %u32_24904\n";
    let body = format!(
        "$p = OpAccessChain %p_Workgroup_u32 $shared %local\nOpStore $p $a {operands}\n{barrier}$j = OpBitwiseXor %u32 %local %u32_21\n\
         $q = OpAccessChain %p_Workgroup_u32 $shared $j\n$r = OpLoad %u32 $q {back}\n{barrier}"
    );
    for op in ["OpLoad", "OpStore"] {
        let exchange = Feature::new(op, &[ty], &[ty], &body, |_| Vec::new());
        let exchange = exchange.collectively(|_, rows| {
            (0..rows.len())
                .map(|at| vec![Bits(rows[at ^ 21][0])])
                .collect()
        });
        all.push(
            exchange
                .called("Workgroup.NonPrivate")
                .with_globals(format!(
                    "$shared = OpVariable %p_Workgroup_u32a{WORKGROUP} Workgroup\n"
                )),
        );
    }
    for access in [
        "Volatile",
        "Nontemporal",
        "NonPrivatePointer",
        "Aligned|NonPrivatePointer 4",
    ] {
        let body = format!("OpStore $w $a {access}\n$r = OpLoad %u32 $w {access}");
        let load = Feature::new("OpLoad", &[ty], &[ty], &body, |row| vec![Bits(row[0])]);
        let name = access
            .split([' '])
            .next()
            .unwrap_or(access)
            .replace('|', ".");
        all.push(variable(load, "Workgroup", "u32").called(&name));
    }
    let copy = "OpStore $w $a\nOpCopyMemory $v $w MakePointerVisible|NonPrivatePointer %u32_2\n$r = OpLoad %u32 $v";
    let mut copy = variable(
        Feature::new("OpCopyMemory", &[ty], &[ty], copy, |row| vec![Bits(row[0])]),
        "Workgroup",
        "u32",
    )
    .called("visible");
    copy.variables += "$v = OpVariable %p_Function_u32 Function\n";
    all.push(copy);
    all
}
