//! Vectors of pointers, and gathers and scatters through them (SPV_INTEL_masked_gather_scatter).

use super::feature::{Feature, Memory};
use super::launch::INVOCATIONS;
use super::ty::{Bool, F32, Scalar, Ty, U8, U32, U64};
use super::want::float_or_bits;

/// Bytes from a place to one where nothing is.
const FAR: u64 = 1 << 38;

/// A feature on a vector of `lanes` elements and as many Booleans; `$v` are the addresses of the
/// elements, from the last to the first.
fn feature(
    op: &str,
    s: Scalar,
    lanes: usize,
    body: &str,
    host: impl Fn(&[u64], &[u64], usize) -> u64 + Send + Sync + 'static,
) -> Feature {
    let (ty, mask) = (Ty::vector(s, lanes), Ty::vector(Bool, lanes));
    let places: Vec<String> = (0..lanes).rev().map(|lane| format!("$a{lane}_p")).collect();
    let body = format!("$v = OpCompositeConstruct $vt {}\n{body}", places.join(" "));
    let name = s.name();
    let globals = format!("$vt = OpTypeVector %p_CrossWorkgroup_{name} {lanes}\n");
    let feature = Feature::new(op, &[ty, mask], &[ty], &body, move |row| {
        let (values, mask) = row.split_at(lanes);
        (0..lanes)
            .map(|lane| float_or_bits(s, host(values, mask, lane)))
            .collect()
    });
    feature
        .needing(&["MaskedGatherScatterINTEL"])
        .with_globals(globals)
}

/// The values loaded in reverse order of the elements where the mask is set, and the element itself
/// where it is not.
fn reversed(values: &[u64], mask: &[u64], lane: usize) -> u64 {
    match mask[lane] {
        0 => values[lane],
        _ => values[values.len() - 1 - lane],
    }
}

fn gathers(all: &mut Vec<Feature>) {
    for (s, lanes) in [(U8, 4), (U32, 2), (U32, 3), (U32, 4), (F32, 4), (U64, 2)] {
        let name = Ty::vector(s, lanes).name();
        let size = s.bits() / 8;
        let far = FAR / u64::from(size);
        // What the mask leaves out must not be read.
        let body = format!(
            "$far = OpPtrAccessChain $vt $v %u64_{far}\n$w = OpSelect $vt $b $v $far\n\
             $r = OpMaskedGatherINTEL %{name} $w {size} $b $a"
        );
        all.push(feature("OpMaskedGatherINTEL", s, lanes, &body, reversed));
        let body = format!("$r = OpMaskedGatherINTEL %{name} $v 0 $b $a");
        let plain = feature("OpMaskedGatherINTEL", s, lanes, &body, reversed);
        all.push(plain.called(&format!("{name}.unaligned")));
    }
}

/// Each invocation scatters to a place of its own in a buffer.
fn scatters(all: &mut Vec<Feature>) {
    for (s, lanes) in [(U8, 4), (U32, 2), (U32, 4), (U64, 2)] {
        let (name, size) = (s.name(), s.bits() as usize / 8);
        let mut body = format!(
            "$at = OpIMul %u64 %gid %u64_{lanes}\n\
             $m0 = OpInBoundsPtrAccessChain %p_CrossWorkgroup_{name} $m $at\n"
        );
        let mut places = vec!["$m0".to_owned()];
        for lane in 1..lanes {
            body += &format!(
                "$m{lane} = OpInBoundsPtrAccessChain %p_CrossWorkgroup_{name} $m0 %u64_{lane}\n"
            );
            places.push(format!("$m{lane}"));
        }
        let far = FAR / size as u64;
        body += &format!(
            "$near = OpCompositeConstruct $vt {}\n$far = OpPtrAccessChain $vt $near %u64_{far}\n\
             $w = OpSelect $vt $b $near $far\nOpMaskedScatterINTEL $a $w {size} $b\n\
             $r = OpCopyObject %{} $a",
            places.join(" "),
            Ty::vector(s, lanes).name()
        );
        let same = |values: &[u64], _: &[u64], lane: usize| values[lane];
        let scatter = feature("OpMaskedScatterINTEL", s, lanes, &body, same);
        let before = vec![0x5a; INVOCATIONS * lanes * size];
        let mut after = before.clone();
        for (row, values) in scatter.inputs.iter().enumerate() {
            let (values, mask) = values.split_at(lanes);
            for (lane, (value, mask)) in values.iter().zip(mask).enumerate() {
                if *mask != 0 {
                    let at = (row * lanes + lane) * size;
                    after[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
                }
            }
        }
        all.push(scatter.with_memory(Memory {
            name: "m",
            pointer: format!("p_CrossWorkgroup_{name}"),
            before,
            after: Some(after),
            links: Vec::new(),
        }));
    }
}

/// What works on vectors of pointers, before a gather of all of them: lines and what `$w` points to
/// of the elements, by component.
type Line = (&'static str, &'static str, &'static str, [usize; 4]);

#[rustfmt::skip] // a table
const LINES: [Line; 16] = [
    ("OpVectorShuffle", "pointers", "$w = OpVectorShuffle $vt $v $v 3 4 1 6", [0, 3, 2, 1]),
    ("OpCompositeInsert", "pointers", "$w = OpCompositeInsert $vt $a0_p $v 1", [3, 0, 1, 0]),
    ("OpCompositeExtract", "pointers", "$x = OpCompositeExtract %p_CrossWorkgroup_u32 $v 1\n$w = OpCompositeConstruct $vt $x $x $a3_p $x", [2, 2, 3, 2]),
    ("OpCompositeConstruct", "pointers", "$h = OpVectorShuffle $vh $v $v 1 0\n$w = OpCompositeConstruct $vt $a0_p $h $a1_p", [0, 2, 3, 1]),
    ("OpVectorExtractDynamic", "pointers", "$x = OpVectorExtractDynamic %p_CrossWorkgroup_u32 $v $i\n$w = OpCompositeConstruct $vt $x $x $a0_p $a1_p", [1, 1, 0, 1]),
    ("OpVectorInsertDynamic", "pointers", "$w = OpVectorInsertDynamic $vt $v $a3_p $i", [3, 2, 3, 0]),
    ("OpConvertPtrToU", "pointers", "$n = OpConvertPtrToU %u64v4 $v\n$w = OpConvertUToPtr $vt $n", [3, 2, 1, 0]),
    ("OpConvertUToPtr", "pointers", "$n = OpConvertPtrToU %u64v4 $v\n$n2 = OpVectorShuffle %u64v4 $n $n 1 1 2 2\n$w = OpConvertUToPtr $vt $n2", [2, 2, 1, 1]),
    ("OpPtrAccessChain", "pointers", "$w = OpPtrAccessChain $vt $v $steps", [3, 3, 3, 3]),
    ("OpInBoundsPtrAccessChain", "pointers", "$x = OpInBoundsPtrAccessChain $vt $v $steps\n$w = OpInBoundsPtrAccessChain $vt $x $back", [3, 2, 1, 0]),
    ("OpPtrCastToGeneric", "pointers", "$x = OpPtrCastToGeneric $vg $v\n$w = OpGenericCastToPtr $vt $x", [3, 2, 1, 0]),
    ("OpBitcast", "pointers", "$x = OpBitcast $vf $v\n$w = OpBitcast $vt $x", [3, 2, 1, 0]),
    ("OpLoad", "pointers", "OpStore $held $v\n$w = OpLoad $vt $held", [3, 2, 1, 0]),
    ("OpAccessChain", "pointers", "OpStore $held $v\n$x = OpAccessChain $pp $held %u32_2\nOpStore $x $a3_p\n$w = OpLoad $vt $held", [3, 2, 3, 0]),
    ("OpFunctionCall", "pointers", "$w = OpFunctionCall $vt $f $v", [3, 2, 1, 0]),
    ("OpVariable", "pointers", "$o = OpMaskedGatherINTEL %u32v4 $v 4 $all $a\nOpMaskedScatterINTEL $o $many 4 $all\n$k = OpMaskedGatherINTEL %u32v4 $many 4 $all $a\n$q = OpIEqual %boolv4 $k $o\n$x = OpVectorShuffle $vt $v $v 0 0 0 0\n$w = OpSelect $vt $q $v $x", [3, 2, 1, 0]),
];

fn lines(all: &mut Vec<Feature>) {
    let slice = INVOCATIONS as u64;
    let back = |steps: u64| 0u64.wrapping_sub(steps);
    let globals = format!(
        "$vh = OpTypeVector %p_CrossWorkgroup_u32 2\n\
         $vg = OpTypeVector %p_Generic_u32 4\n\
         $vf = OpTypeVector %p_CrossWorkgroup_f32 4\n\
         $vo = OpTypeVector %p_Function_u32 4\n\
         $pp = OpTypePointer Function %p_CrossWorkgroup_u32\n\
         $pv = OpTypePointer Function $vt\n\
         $all = OpConstantComposite %boolv4 %true %true %true %true\n\
         $steps = OpConstantComposite %u64v4 %u64_0 %u64_{slice} %u64_{} %u64_{}\n\
         $back = OpConstantComposite %u64v4 %u64_0 %u64_{} %u64_{} %u64_{}\n\
         $ft = OpTypeFunction $vt $vt\n",
        2 * slice,
        3 * slice,
        back(slice),
        back(2 * slice),
        back(3 * slice),
    );
    for (op, variant, line, from) in LINES {
        let body = format!(
            "$b0w = OpCompositeExtract %bool $b 0\n$i = OpSelect %u32 $b0w %u32_2 %u32_2\n{line}\n\
             $r = OpMaskedGatherINTEL %u32v4 $w 4 $b $a"
        );
        let host = move |values: &[u64], mask: &[u64], lane: usize| match mask[lane] {
            0 => values[lane],
            _ => values[from[lane]],
        };
        let mut one = feature(op, U32, 4, &body, host).called(variant);
        one.globals += &globals;
        all.push(
            one.with_variables(
                "$held = OpVariable $pv Function\n$many = OpVariable $vo Function\n",
            )
            .with_functions(
                "$f = OpFunction $vt None $ft\n$fv = OpFunctionParameter $vt\n$fe = OpLabel\n\
                     OpReturnValue $fv\nOpFunctionEnd\n",
            ),
        );
    }
    // Comparisons give vectors of Booleans.
    for (op, equal) in [("OpPtrEqual", true), ("OpPtrNotEqual", false)] {
        let body = format!(
            "$x = OpVectorShuffle $vt $v $v 0 2 1 3\n$q = {op} %boolv4 $v $x\n\
             $r = OpSelect %u32v4 $q $a $none"
        );
        let host = move |values: &[u64], _: &[u64], lane: usize| {
            if (lane == 0 || lane == 3) == equal {
                values[lane]
            } else {
                0
            }
        };
        let mut one = feature(op, U32, 4, &body, host).called("pointers");
        one.globals += "$none = OpConstantNull %u32v4\n";
        all.push(one);
    }
    let body = "$x = OpVectorShuffle $vt $v $v 0 0 0 0\n$q = OpPtrDiff %u64v4 $x $v\n\
                $r = OpUConvert %u32v4 $q";
    let host = |_: &[u64], _: &[u64], lane: usize| lane as u64 * INVOCATIONS as u64;
    all.push(feature("OpPtrDiff", U32, 4, body, host).called("pointers"));
}

/// All of them.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    gathers(&mut all);
    scatters(&mut all);
    lines(&mut all);
    all
}
