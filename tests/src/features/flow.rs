//! Control flow: switches of every width, phi webs, loops with all kinds of exits, functions,
//! unstructured and irreducible control flow of kernels, and instructions that must have no effect
//! (lifetimes, assumptions, hints).

use super::edges;
use super::feature::Feature;
use super::ty::{Bool, F32, INTEGERS, Scalar, Ty, U32};
use super::want::Want::Bits;
use super::want::float_or_bits;

fn word(value: u32) -> super::want::Want {
    Bits(u64::from(value))
}

/// A feature on words.
fn words(
    op: &str,
    variant: &str,
    params: usize,
    body: &str,
    host: impl Fn(&[u32]) -> u32 + Send + Sync + 'static,
) -> Feature {
    let ty = Ty::from(U32);
    let params = vec![ty; params];
    Feature::new(op, &params, &[ty], body, move |row| {
        let row: Vec<u32> = row.iter().map(|v| *v as u32).collect();
        vec![word(host(&row))]
    })
    .called(variant)
}

/// The cases of a switch: the smallest, the largest, and values between, as the selector's bits.
fn cases(s: Scalar) -> [u64; 5] {
    let sign = 1u64 << (s.bits() - 1);
    [0, 5, s.mask(), sign, sign - 1]
}

fn switches(all: &mut Vec<Feature>) {
    for s in INTEGERS {
        let [zero, five, minus, least, most] = cases(s);
        // The case of -1 falls through into that of the smallest number; that of 5 goes to the
        // merge block at once.
        let body = format!(
            "OpStore $v %u32_1\nOpSelectionMerge $m None\n\
             OpSwitch $a $d {zero} $c0 {five} $m {minus} $c2 {least} $c3 {most} $c0\n\
             $c0 = OpLabel\nOpStore $v %u32_10\nOpBranch $m\n\
             $c2 = OpLabel\nOpStore $v %u32_20\nOpBranch $c3\n\
             $c3 = OpLabel\n$x = OpLoad %u32 $v\n$y = OpIAdd %u32 $x %u32_30\nOpStore $v $y\nOpBranch $m\n\
             $d = OpLabel\nOpStore $v %u32_40\nOpBranch $m\n\
             $m = OpLabel\n$r = OpLoad %u32 $v"
        );
        let feature = Feature::new("OpSwitch", &[s.into()], &[U32.into()], &body, move |row| {
            vec![word(
                match cases(s).iter().position(|case| *case == row[0]) {
                    Some(0 | 4) => 10,
                    Some(1) => 1,
                    Some(2) => 50,
                    Some(_) => 31,
                    None => 40,
                },
            )]
        });
        let mut inputs = edges::rows(101, &[s.into()]);
        for (at, row) in inputs.iter_mut().enumerate().filter(|(at, _)| at % 3 == 0) {
            row[0] = cases(s)[at / 3 % 5];
        }
        all.push(
            feature
                .with_variables("$v = OpVariable %p_Function_u32 Function\n")
                .with_inputs(inputs),
        );
    }
    for op in ["OpSelectionMerge", "OpBranch", "OpBranchConditional"] {
        for control in ["None", "Flatten", "DontFlatten"] {
            let body = format!(
                "$q = OpULessThan %bool $a $b\nOpSelectionMerge $m {control}\nOpBranchConditional $q $t $f\n$t = OpLabel\n$x = OpISub %u32 $b $a\nOpBranch $m\n\
                 $f = OpLabel\n$y = OpBitwiseXor %u32 $a $b\nOpBranch $m\n$m = OpLabel\n$r = OpPhi %u32 $x $t $y $f"
            );
            let host = |row: &[u32]| {
                if row[0] < row[1] {
                    row[1] - row[0]
                } else {
                    row[0] ^ row[1]
                }
            };
            all.push(words(op, control, 2, &body, host));
        }
    }
    all.push(words(
        "OpSwitch",
        "without_cases",
        1,
        "OpSelectionMerge $m None\nOpSwitch $a $d\n$d = OpLabel\n$x = OpNot %u32 $a\nOpBranch $m\n$m = OpLabel\n$r = OpCopyObject %u32 $x",
        |row| !row[0],
    ));
}

fn phis(all: &mut Vec<Feature>) {
    // Two values that change places in every iteration: phis read the values of the one before.
    let swap = "OpBranch $start\n$start = OpLabel\n$n = OpBitwiseAnd %u32 $c %u32_7\nOpBranch $head\n$head = OpLabel\n\
                $x = OpPhi %u32 $a $start $y $again\n$y = OpPhi %u32 $b $start $x $again\n$i = OpPhi %u32 %u32_0 $start $j $again\n\
                OpLoopMerge $out $again None\nOpBranch $test\n$test = OpLabel\n$more = OpULessThan %bool $i $n\nOpBranchConditional $more $again $out\n\
                $again = OpLabel\n$j = OpIAdd %u32 $i %u32_1\nOpBranch $head\n$out = OpLabel\n$z = OpShiftLeftLogical %u32 $y %u32_1\n$r = OpISub %u32 $x $z";
    all.push(words("OpPhi", "swap", 3, swap, |row| {
        let (mut x, mut y) = (row[0], row[1]);
        if row[2] & 1 == 1 {
            (x, y) = (y, x);
        }
        x.wrapping_sub(y << 1)
    }));
    // A phi of four predecessors, one of which comes from a nested selection.
    let web = "OpBranch $start\n$start = OpLabel\n$bit = OpBitwiseAnd %u32 $a %u32_3\nOpSelectionMerge $m None\nOpSwitch $bit $l3 0 $l0 1 $l1 2 $l2\n\
               $l0 = OpLabel\n$x0 = OpIAdd %u32 $a $b\nOpBranch $m\n\
               $l1 = OpLabel\n$q = OpULessThan %bool $a $b\nOpSelectionMerge $n None\nOpBranchConditional $q $t $n\n\
               $t = OpLabel\n$x1 = OpIMul %u32 $a %u32_3\nOpBranch $n\n\
               $n = OpLabel\n$x2 = OpPhi %u32 $x1 $t $b $l1\nOpBranch $m\n\
               $l2 = OpLabel\nOpBranch $m\n\
               $l3 = OpLabel\n$x3 = OpBitwiseXor %u32 $a $b\nOpBranch $m\n\
               $m = OpLabel\n$r = OpPhi %u32 $x0 $l0 $x2 $n $b $l2 $x3 $l3";
    all.push(words("OpPhi", "web", 2, web, |row| {
        let (a, b) = (row[0], row[1]);
        match a & 3 {
            0 => a.wrapping_add(b),
            1 if a < b => a.wrapping_mul(3),
            1 | 2 => b,
            _ => a ^ b,
        }
    }));
    // Composites and Booleans through phis.
    let (f, u) = (Ty::vector(F32, 3), Ty::from(U32));
    let body = "OpBranch $start\n$start = OpLabel\n$q = OpIEqual %bool $c %u32_0\nOpSelectionMerge $m None\nOpBranchConditional $q $t $m\n$t = OpLabel\n\
                $u1 = OpCompositeConstruct %s_f32v3_u32 $b %u32_7\nOpBranch $m\n$m = OpLabel\n$u0 = OpPhi %s_f32v3_u32 $u1 $t $un $start\n$w = OpPhi %bool %true $t %false $start\n\
                $r = OpCompositeExtract %f32v3 $u0 0\n$s = OpCompositeExtract %u32 $u0 1\n$t2 = OpSelect %u32 $w %u32_1 %u32_2\n$t = OpCopyObject %u32 $t2"
        .replace("$start = OpLabel\n", "$start = OpLabel\n$un = OpCompositeConstruct %s_f32v3_u32 $a $c\n")
        .replace("$q $t $m\n$t = OpLabel", "$q $yes $m\n$yes = OpLabel")
        .replace("$u1 $t ", "$u1 $yes ")
        .replace("%true $t ", "%true $yes ");
    let phi = Feature::new("OpPhi", &[f, f, u], &[f, u, u], &body, |row| {
        let zero = row[6] == 0;
        let from = if zero { &row[3..6] } else { &row[..3] };
        let mut wanted: Vec<_> = from.iter().map(|v| float_or_bits(F32, *v)).collect();
        wanted.push(Bits(if zero { 7 } else { row[6] }));
        wanted.push(Bits(if zero { 1 } else { 2 }));
        wanted
    });
    all.push(phi.called("composite"));
}

fn loops(all: &mut Vec<Feature>) {
    // Two nested loops with break and continue of both; the inner one leaves the outer one by a
    // flag.
    let body = "OpBranch $start\n$start = OpLabel\n$n = OpBitwiseAnd %u32 $a %u32_7\nOpBranch $h\n\
        $h = OpLabel\n$i = OpPhi %u32 %u32_0 $start $i2 $c\n$sum = OpPhi %u32 $b $start $sum2 $c\nOpLoopMerge $m $c None\nOpBranch $b1\n\
        $b1 = OpLabel\n$q1 = OpULessThan %bool $i $n\nOpBranchConditional $q1 $b2 $m\n\
        $b2 = OpLabel\n$odd = OpBitwiseAnd %u32 $i %u32_1\n$q2 = OpIEqual %bool $odd %u32_1\nOpSelectionMerge $b3 None\nOpBranchConditional $q2 $cont $b3\n\
        $cont = OpLabel\nOpBranch $c\n\
        $b3 = OpLabel\nOpBranch $hh\n\
        $hh = OpLabel\n$j = OpPhi %u32 %u32_0 $b3 $j2 $cc\n$t1 = OpPhi %u32 $sum $b3 $t2 $cc\nOpLoopMerge $mm $cc None\nOpBranch $bb1\n\
        $bb1 = OpLabel\n$q3 = OpULessThanEqual %bool $j $i\nOpBranchConditional $q3 $bb2 $mm\n\
        $bb2 = OpLabel\n$t3 = OpIMul %u32 $t1 %u32_3\n$low = OpBitwiseAnd %u32 $t3 %u32_31\n$q4 = OpIEqual %bool $low %u32_17\nOpSelectionMerge $bb3 None\nOpBranchConditional $q4 $mm $bb3\n\
        $bb3 = OpLabel\nOpBranch $cc\n\
        $cc = OpLabel\n$t2 = OpIAdd %u32 $t3 $j\n$j2 = OpIAdd %u32 $j %u32_1\nOpBranch $hh\n\
        $mm = OpLabel\n$t4 = OpPhi %u32 $t1 $bb1 $t3 $bb2\n$stop = OpPhi %bool %false $bb1 %true $bb2\nOpSelectionMerge $b4 None\nOpBranchConditional $stop $out $b4\n\
        $out = OpLabel\nOpBranch $m\n\
        $b4 = OpLabel\nOpBranch $c\n\
        $c = OpLabel\n$sum2 = OpPhi %u32 $sum $cont $t4 $b4\n$i2 = OpIAdd %u32 $i %u32_1\nOpBranch $h\n\
        $m = OpLabel\n$r = OpPhi %u32 $sum $b1 $t4 $out";
    let host = |row: &[u32]| {
        let mut sum = row[1];
        'outer: for i in 0..row[0] & 7 {
            if i & 1 == 1 {
                continue;
            }
            for j in 0..=i {
                let next = sum.wrapping_mul(3);
                if next & 31 == 17 {
                    sum = next;
                    break 'outer;
                }
                sum = next.wrapping_add(j);
            }
        }
        sum
    };
    all.push(words("OpLoopMerge", "nested", 2, body, host));
    for control in ["Unroll", "DontUnroll", "DependencyInfinite"] {
        let body = format!(
            "OpBranch $start\n$start = OpLabel\nOpBranch $h\n$h = OpLabel\n$i = OpPhi %u32 %u32_0 $start $i2 $c\n$x = OpPhi %u32 $a $start $x2 $c\n\
             OpLoopMerge $m $c {control}\nOpBranch $c\n$c = OpLabel\n$x1 = OpIMul %u32 $x %u32_5\n$x2 = OpIAdd %u32 $x1 $i\n$i2 = OpIAdd %u32 $i %u32_1\n\
             $q = OpULessThan %bool $i2 %u32_6\nOpBranchConditional $q $h $m\n$m = OpLabel\n$r = OpCopyObject %u32 $x2"
        );
        let feature = words("OpLoopMerge", control, 1, &body, |row| {
            (0..6).fold(row[0], |x, i| x.wrapping_mul(5).wrapping_add(i))
        });
        all.push(feature);
    }
}

fn functions(all: &mut Vec<Feature>) {
    // Early returns from a loop, a pointer that is written through, a structure by value and back.
    let early = "$f = OpFunction %u32 None $ft\n$p = OpFunctionParameter %u32\n$q = OpFunctionParameter %p_Function_u32\n$e = OpLabel\nOpBranch $h\n\
        $h = OpLabel\n$i = OpPhi %u32 %u32_0 $e $i2 $c\nOpLoopMerge $m $c None\nOpBranch $t\n$t = OpLabel\n$d = OpLoad %u32 $q\n$x = OpIMul %u32 $d %u32_3\nOpStore $q $x\n\
        $k = OpBitwiseAnd %u32 $x %u32_7\n$z = OpIEqual %bool $k $p\nOpSelectionMerge $n None\nOpBranchConditional $z $ret $n\n$ret = OpLabel\nOpReturnValue $i\n\
        $n = OpLabel\nOpBranch $c\n$c = OpLabel\n$i2 = OpIAdd %u32 $i %u32_1\n$more = OpULessThan %bool $i2 %u32_9\nOpBranchConditional $more $h $m\n\
        $m = OpLabel\nOpReturnValue %u32_100\nOpFunctionEnd\n";
    let body = "$k7 = OpBitwiseAnd %u32 $a %u32_7\nOpStore $v $b\n$called = OpFunctionCall %u32 $f $k7 $v\n$left = OpLoad %u32 $v\n$r = OpBitwiseXor %u32 $called $left";
    let host = |row: &[u32]| {
        let mut x = row[1];
        for i in 0..9 {
            x = x.wrapping_mul(3);
            if x & 7 == row[0] & 7 {
                return i ^ x;
            }
        }
        100 ^ x
    };
    for op in ["OpFunctionCall", "OpReturnValue"] {
        all.push(
            words(op, "early", 2, body, host)
                .with_globals("$ft = OpTypeFunction %u32 %u32 %p_Function_u32\n")
                .with_variables("$v = OpVariable %p_Function_u32 Function\n")
                .with_functions(early),
        );
    }
    let swap = "$f = OpFunction %s_u32_f32a2 DontInline $ft\n$p = OpFunctionParameter %s_u32_f32a2\n$e = OpLabel\n\
        $x = OpCompositeExtract %f32 $p 1 0\n$y = OpCompositeExtract %f32 $p 1 1\n$n = OpCompositeExtract %u32 $p 0\n$m = OpNot %u32 $n\n\
        $q1 = OpCompositeInsert %s_u32_f32a2 $x $p 1 1\n$q2 = OpCompositeInsert %s_u32_f32a2 $y $q1 1 0\n$q3 = OpCompositeInsert %s_u32_f32a2 $m $q2 0\nOpReturnValue $q3\nOpFunctionEnd\n\
        $g = OpFunction %s_u32_f32a2 None $ft\n$pp = OpFunctionParameter %s_u32_f32a2\n$ee = OpLabel\n$once = OpFunctionCall %s_u32_f32a2 $f $pp\n$three = OpCompositeInsert %s_u32_f32a2 %u32_3 $once 0\n\
        $twice = OpFunctionCall %s_u32_f32a2 $f $three\n$thrice = OpFunctionCall %s_u32_f32a2 $f $twice\nOpReturnValue $thrice\nOpFunctionEnd\n";
    let (f, u) = (Ty::from(F32), Ty::from(U32));
    let body = "$two = OpCompositeConstruct %f32a2 $a $b\n$in = OpCompositeConstruct %s_u32_f32a2 $c $two\n$back = OpFunctionCall %s_u32_f32a2 $g $in\n\
        $r = OpCompositeExtract %f32 $back 1 0\n$s = OpCompositeExtract %f32 $back 1 1\n$t = OpCompositeExtract %u32 $back 0";
    let call = Feature::new("OpFunctionCall", &[f, f, u], &[f, f, u], body, |row| {
        vec![
            float_or_bits(F32, row[1]),
            float_or_bits(F32, row[0]),
            word(3),
        ]
    });
    all.push(
        call.called("structure")
            .with_globals("$ft = OpTypeFunction %s_u32_f32a2 %s_u32_f32a2\n")
            .with_functions(swap),
    );
    // Nothing comes back; it is called in one branch only.
    let nothing = "$f = OpFunction %void None $ft\n$p = OpFunctionParameter %p_Function_u32\n$e = OpLabel\n$x = OpLoad %u32 $p\n$z = OpIEqual %bool $x %u32_2\n\
        OpSelectionMerge $m None\nOpBranchConditional $z $t $m\n$t = OpLabel\nOpReturn\n$m = OpLabel\n$y = OpIAdd %u32 $x %u32_7\nOpStore $p $y\nOpReturn\nOpFunctionEnd\n";
    let body = "OpStore $v $a\n$q = OpULessThan %bool $a %u32_16\nOpSelectionMerge $m2 None\nOpBranchConditional $q $t2 $m2\n$t2 = OpLabel\n$none = OpFunctionCall %void $f $v\nOpBranch $m2\n$m2 = OpLabel\n$r = OpLoad %u32 $v";
    all.push(
        words("OpReturn", "early", 1, body, |row| {
            if row[0] < 16 && row[0] != 2 {
                row[0] + 7
            } else {
                row[0]
            }
        })
        .with_globals("$ft = OpTypeFunction %void %p_Function_u32\n")
        .with_variables("$v = OpVariable %p_Function_u32 Function\n")
        .with_functions(nothing),
    );
}

fn selections(all: &mut Vec<Feature>) {
    let (f, u) = (Ty::vector(F32, 2), Ty::from(U32));
    let body = "$x = OpCompositeConstruct %s_f32v2_u32 $a $c\n$y = OpCompositeConstruct %s_f32v2_u32 $b %u32_9\n$z = OpSelect %s_f32v2_u32 $d $x $y\n\
                $r = OpCompositeExtract %f32v2 $z 0\n$s = OpCompositeExtract %u32 $z 1";
    let select = Feature::new("OpSelect", &[f, f, u, Bool.into()], &[f, u], body, |row| {
        let (from, number) = if row[5] != 0 {
            (&row[..2], row[4])
        } else {
            (&row[2..4], 9)
        };
        let mut wanted: Vec<_> = from.iter().map(|v| float_or_bits(F32, *v)).collect();
        wanted.push(Bits(number));
        wanted
    });
    all.push(select.called("structure"));
    let ty = Ty::matrix(F32, 2, 3);
    let body = "$x = OpCompositeConstruct %f32m2x3a2 $a $b\n$y = OpCompositeConstruct %f32m2x3a2 $b $a\n$z = OpSelect %f32m2x3a2 $c $x $y\n$r = OpCompositeExtract %f32m2x3 $z 1";
    let select = Feature::new("OpSelect", &[ty, ty, Bool.into()], &[ty], body, |row| {
        let from = if row[12] != 0 { &row[6..12] } else { &row[..6] };
        from.iter().map(|v| float_or_bits(F32, *v)).collect()
    });
    all.push(select.called("matrices"));
}

/// Code that does nothing, or is never reached.
fn quiet(all: &mut Vec<Feature>) {
    all.push(words(
        "OpNop",
        "u32",
        1,
        "OpNop\n$r = OpNot %u32 $a",
        |row| !row[0],
    ));
    all.push(words(
        "OpUndef",
        "u32",
        1,
        // An undefined value is some value, so 0 times it is 0.
        "$u = OpUndef %u32\n$z = OpIMul %u32 $u %u32_0\n$r = OpIAdd %u32 $a $z",
        |row| row[0],
    ));
    let unreachable = "$low = OpBitwiseAnd %u32 $a %u32_1\nOpSelectionMerge $m None\nOpSwitch $low $d 0 $c0 1 $c1\n$c0 = OpLabel\nOpStore $v %u32_3\nOpBranch $m\n\
                       $c1 = OpLabel\nOpStore $v %u32_4\nOpBranch $m\n$d = OpLabel\nOpUnreachable\n$m = OpLabel\n$r = OpLoad %u32 $v";
    all.push(
        words("OpUnreachable", "u32", 1, unreachable, |row| {
            3 + (row[0] & 1)
        })
        .with_variables("$v = OpVariable %p_Function_u32 Function\n"),
    );
    all.push(
        words(
            "OpAssumeTrueKHR",
            "u32",
            1,
            "$x = OpBitwiseOr %u32 $a %u32_1\n$q = OpINotEqual %bool $x %u32_0\nOpAssumeTrueKHR $q\n$r = OpUDiv %u32 %u32_100 $x",
            |row| 100 / (row[0] | 1),
        )
        .needing(&["ExpectAssumeKHR"]),
    );
    for s in INTEGERS.into_iter().chain([Bool]) {
        let expected = if s == Bool {
            "%true".to_owned()
        } else {
            format!("%{}_1", s.name())
        };
        let body = format!("$r = OpExpectKHR %{} $a {expected}", s.name());
        let expect = Feature::new("OpExpectKHR", &[s.into()], &[s.into()], &body, |row| {
            vec![Bits(row[0])]
        });
        all.push(expect.needing(&["ExpectAssumeKHR"]));
    }
}

/// Of shaders, where flow has a structure.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    switches(&mut all);
    phis(&mut all);
    loops(&mut all);
    functions(&mut all);
    selections(&mut all);
    quiet(&mut all);
    all
}

/// Of kernels, where it has none.
pub(super) fn kernel_features() -> Vec<Feature> {
    let mut all = Vec::new();
    // Two ways into a loop: neither block is the head.
    let irreducible = "OpStore $v $b\nOpStore $n %u32_0\n$low = OpBitwiseAnd %u32 $a %u32_1\n$q = OpIEqual %bool $low %u32_0\nOpBranchConditional $q $left $right\n\
        $left = OpLabel\n$x1 = OpLoad %u32 $v\n$x2 = OpIMul %u32 $x1 %u32_3\nOpStore $v $x2\nOpBranch $right\n\
        $right = OpLabel\n$y1 = OpLoad %u32 $v\n$y2 = OpIAdd %u32 $y1 %u32_5\nOpStore $v $y2\n$n1 = OpLoad %u32 $n\n$n2 = OpIAdd %u32 $n1 %u32_1\nOpStore $n $n2\n\
        $k = OpBitwiseAnd %u32 $y2 %u32_7\n$z = OpIEqual %bool $k %u32_0\n$full = OpUGreaterThan %bool $n2 %u32_6\n$stop = OpLogicalOr %bool $z $full\nOpBranchConditional $stop $out $left\n\
        $out = OpLabel\n$r = OpLoad %u32 $v";
    let host = |row: &[u32]| {
        let mut x = row[1];
        let mut skip = row[0] & 1 == 1;
        for _ in 0..7 {
            if !skip {
                x = x.wrapping_mul(3);
            }
            skip = false;
            x = x.wrapping_add(5);
            if x & 7 == 0 {
                break;
            }
        }
        x
    };
    let variables =
        "$v = OpVariable %p_Function_u32 Function\n$n = OpVariable %p_Function_u32 Function\n";
    all.push(
        words("OpBranchConditional", "irreducible", 2, irreducible, host).with_variables(variables),
    );
    // A switch whose cases jump into each other, and out of two loops at once.
    let jumps = "OpStore $v $b\nOpStore $n %u32_0\nOpBranch $top\n\
        $top = OpLabel\n$n1 = OpLoad %u32 $n\n$n2 = OpIAdd %u32 $n1 %u32_1\nOpStore $n $n2\n$x1 = OpLoad %u32 $v\n$k = OpBitwiseAnd %u32 $x1 %u32_3\n$full = OpUGreaterThan %bool $n1 %u32_7\nOpBranchConditional $full $out $go\n\
        $go = OpLabel\nOpSwitch $k $three 0 $zero 1 $one 2 $two\n\
        $zero = OpLabel\n$z1 = OpIAdd %u32 $x1 $a\n$z2 = OpIAdd %u32 $z1 %u32_1\nOpStore $v $z2\nOpBranch $two\n\
        $one = OpLabel\n$o1 = OpIMul %u32 $x1 %u32_5\nOpStore $v $o1\nOpBranch $top\n\
        $two = OpLabel\n$t1 = OpLoad %u32 $v\n$t2 = OpIAdd %u32 $t1 %u32_3\nOpStore $v $t2\n$tq = OpULessThan %bool $t2 $a\nOpBranchConditional $tq $one2 $top\n\
        $one2 = OpLabel\n$p1 = OpNot %u32 $t2\nOpStore $v $p1\nOpBranch $three\n\
        $three = OpLabel\n$h1 = OpLoad %u32 $v\n$h2 = OpShiftRightLogical %u32 $h1 %u32_1\nOpStore $v $h2\nOpBranch $top\n\
        $out = OpLabel\n$r = OpLoad %u32 $v";
    let host = |row: &[u32]| {
        let (a, mut x) = (row[0], row[1]);
        for _ in 0..8 {
            let k = x & 3;
            if k == 1 {
                x = x.wrapping_mul(5);
                continue;
            }
            if k == 0 {
                x = x.wrapping_add(a).wrapping_add(1);
            }
            if k == 0 || k == 2 {
                x = x.wrapping_add(3);
                if x >= a {
                    continue;
                }
                x = !x;
            }
            x >>= 1;
        }
        x
    };
    all.push(words("OpBranch", "unstructured", 2, jumps, host).with_variables(variables));
    for op in ["OpLifetimeStart", "OpLifetimeStop"] {
        let body = "OpLifetimeStart $v 0\nOpStore $v $a\n$x = OpLoad %u32 $v\nOpLifetimeStop $v 0\n$r = OpNot %u32 $x";
        all.push(
            words(op, "u32", 1, body, |row| !row[0])
                .with_variables("$v = OpVariable %p_Function_u32 Function\n"),
        );
    }
    all
}
