//! Pointers: variable ones of shaders, physical ones of kernels, generic ones, addresses as
//! numbers, copies of so many bytes.

use super::feature::{Feature, Memory};
use super::launch::INVOCATIONS;
use super::ty::{Bool, F32, Ty, U8, U16, U32, U64};
use super::want::Want::Bits;
use super::want::float_or_bits;

fn truth(value: bool) -> super::want::Want {
    Bits(u64::from(value))
}

/// A feature on two words, whose slices follow each other in one buffer: `$b_p` is `INVOCATIONS`
/// elements after `$a_p`.
fn two(op: &str, variant: &str, body: &str, host: fn(u64, u64) -> u64) -> Feature {
    let ty = Ty::from(U32);
    Feature::new(op, &[ty, ty], &[ty], body, move |row| {
        vec![Bits(host(row[0], row[1]))]
    })
    .called(variant)
}

/// Of shaders, with VariablePointers.
pub(super) fn features() -> Vec<Feature> {
    let mut all = Vec::new();
    let even = "$l = OpBitwiseAnd %u32 $a %u32_1\n$q = OpIEqual %bool $l %u32_0\n";
    let pick: fn(u64, u64) -> u64 = |a, b| if a & 1 == 0 { a } else { b };
    let select = "$p = OpSelect %p_StorageBuffer_u32 $q $a_p $b_p\n$r = OpLoad %u32 $p";
    all.push(two("OpSelect", "pointer", &format!("{even}{select}"), pick));
    let phi = "OpBranch $start\n$start = OpLabel\nOpSelectionMerge $m None\nOpBranchConditional $q $t $f\n$t = OpLabel\nOpBranch $m\n$f = OpLabel\nOpBranch $m\n\
               $m = OpLabel\n$p = OpPhi %p_StorageBuffer_u32 $a_p $t $b_p $f\n$r = OpLoad %u32 $p";
    all.push(two("OpPhi", "pointer", &format!("{even}{phi}"), pick));
    let variable = "OpStore $v $a_p\nOpSelectionMerge $m None\nOpBranchConditional $q $m $f\n$f = OpLabel\nOpStore $v $b_p\nOpBranch $m\n\
                    $m = OpLabel\n$p = OpLoad %p_StorageBuffer_u32 $v\n$r = OpLoad %u32 $p";
    for class in ["Function", "Private"] {
        let line = format!("$v = OpVariable $pp {class}\n");
        let types = format!("$pp = OpTypePointer {class} %p_StorageBuffer_u32\n");
        let feature = two(
            "OpVariable",
            &format!("pointer.{class}"),
            &format!("{even}{variable}"),
            pick,
        );
        all.push(if class == "Function" {
            feature.with_globals(types).with_variables(line)
        } else {
            feature.with_globals(types + &line)
        });
    }
    let call = format!(
        "{even}$p = OpFunctionCall %p_StorageBuffer_u32 $f $q $a_p $b_p\n$r = OpLoad %u32 $p"
    );
    all.push(
        two("OpFunctionCall", "pointer", &call, pick)
            .with_globals("$ft = OpTypeFunction %p_StorageBuffer_u32 %bool %p_StorageBuffer_u32 %p_StorageBuffer_u32\n")
            .with_functions(
                "$f = OpFunction %p_StorageBuffer_u32 None $ft\n$fq = OpFunctionParameter %bool\n$fa = OpFunctionParameter %p_StorageBuffer_u32\n$fb = OpFunctionParameter %p_StorageBuffer_u32\n\
                 $fe = OpLabel\n$fs = OpSelect %p_StorageBuffer_u32 $fq $fa $fb\nOpReturnValue $fs\nOpFunctionEnd\n",
            ),
    );
    let workgroup = "$x = OpAccessChain %p_Workgroup_u32 $shared %local %u32_0\n$y = OpAccessChain %p_Workgroup_u32 $shared %local %u32_1\nOpStore $x $a\nOpStore $y $b\n\
                     $p = OpSelect %p_Workgroup_u32 $q $x $y\n$r = OpLoad %u32 $p";
    all.push(
        two(
            "OpSelect",
            "pointer.Workgroup",
            &format!("{even}{workgroup}"),
            pick,
        )
        .with_globals("$shared = OpVariable %p_Workgroup_u32a2a64 Workgroup\n"),
    );
    // The stride is that of the pointer's type.
    let stride = "OpDecorate $pt ArrayStride 4\n";
    let types = "$pt = OpTypePointer StorageBuffer %u32\n";
    let chain = format!(
        "$x = OpAccessChain $pt %in_u32 %u32_0 $a_i\n$p = OpPtrAccessChain $pt $x %u32_{INVOCATIONS}\n$r = OpLoad %u32 $p"
    );
    all.push(
        two("OpPtrAccessChain", "stride", &chain, |_, b| b)
            .with_globals(types)
            .decorated(stride),
    );
    for (op, wanted) in [("OpPtrEqual", [1, 0]), ("OpPtrNotEqual", [0, 1])] {
        let body = format!(
            "$x = OpAccessChain %p_StorageBuffer_u32 %in_u32 %u32_0 $a_i\n$r = {op} %bool $x $a_p\n$s = {op} %bool $b_p $a_p"
        );
        let ty = Ty::from(U32);
        let equal = Feature::new(
            op,
            &[ty, ty],
            &[Bool.into(), Bool.into()],
            &body,
            move |_| wanted.map(Bits).to_vec(),
        );
        all.push(equal.called("StorageBuffer"));
    }
    let body = "$x = OpAccessChain $pt %in_u32 %u32_0 $a_i\n$y = OpAccessChain $pt %in_u32 %u32_0 $b_i\n$r = OpPtrDiff %u32 $y $x\n$z = OpPtrDiff %u32 $x $y\n$s = OpSNegate %u32 $z";
    let ty = Ty::from(U32);
    let difference = Feature::new("OpPtrDiff", &[ty, ty], &[ty, ty], body, |_| {
        vec![Bits(INVOCATIONS as u64); 2]
    });
    all.push(
        difference
            .called("stride")
            .with_globals(types)
            .decorated(stride),
    );
    for op in ["OpUntypedAccessChainKHR", "OpUntypedInBoundsAccessChainKHR"] {
        let body =
            format!("$p = {op} $up %block_u32 %in_u32 %u32_0 $b_i\n$r = OpLoad %u32 $p Aligned 4");
        all.push(
            two(op, "u32", &body, |_, b| b)
                .with_globals("$up = OpTypeUntypedPointerKHR StorageBuffer\n")
                .needing(&["UntypedPointersKHR"]),
        );
    }
    for feature in &mut all {
        feature
            .needs
            .extend(["VariablePointers", "VariablePointersStorageBuffer"]);
    }
    all
}

fn generic(all: &mut Vec<Feature>) {
    let places = [
        ("Function", "$v", "OpStore $v $a\n"),
        (
            "Workgroup",
            "$w",
            "$w = OpInBoundsAccessChain %p_Workgroup_u32 $shared %local\nOpStore $w $a\n",
        ),
        ("CrossWorkgroup", "$a_p", ""),
    ];
    for (class, pointer, begin) in places {
        let begin = format!("{begin}$g = OpPtrCastToGeneric %p_Generic_u32 {pointer}\n");
        let with_places = |feature: Feature| {
            feature
                .needing(&["GenericPointer"])
                .with_variables("$v = OpVariable %p_Function_u32 Function\n")
                .with_globals("$shared = OpVariable %p_Workgroup_u32a64 Workgroup\n")
        };
        let load = format!("{begin}$x = OpLoad %u32 $g Aligned 4\n$r = OpNot %u32 $x");
        let not: fn(u64, u64) -> u64 = |a, _| !a & 0xffff_ffff;
        all.push(with_places(two("OpPtrCastToGeneric", class, &load, not)));
        let back = format!(
            "{begin}$p = OpGenericCastToPtr %p_{class}_u32 $g\n$x = OpLoad %u32 $p Aligned 4\n$r = OpNot %u32 $x"
        );
        all.push(with_places(two("OpGenericCastToPtr", class, &back, not)));
        // Which memory it is, as a bit of a memory semantics: 0x100 and 0x200 (SPIR-V 3.27).
        let semantics = format!("{begin}$r = OpGenericPtrMemSemantics %u32 $g");
        let bits: fn(u64, u64) -> u64 = match class {
            "Workgroup" => |_, _| 0x100,
            "CrossWorkgroup" => |_, _| 0x200,
            _ => |_, _| 0,
        };
        all.push(with_places(two(
            "OpGenericPtrMemSemantics",
            class,
            &semantics,
            bits,
        )));
        // To the class that it is, and to the others, which gives null.
        let mut body = begin.clone();
        for (to, result) in [
            ("Function", "$r"),
            ("Workgroup", "$s"),
            ("CrossWorkgroup", "$t"),
        ] {
            body += &format!("{result}p = OpGenericCastToPtrExplicit %p_{to}_u32 $g {to}\n");
            body += &format!("{result} = OpPtrEqual %bool {result}p $null{to}\n");
        }
        let flag = Ty::from(Bool);
        let is = move |to: &str| truth(class != to);
        let explicit = Feature::new(
            "OpGenericCastToPtrExplicit",
            &[U32.into(), U32.into()],
            &[flag; 3],
            &body,
            move |_| vec![is("Function"), is("Workgroup"), is("CrossWorkgroup")],
        );
        let mut explicit = with_places(explicit.called(class));
        for to in ["Function", "Workgroup", "CrossWorkgroup"] {
            explicit.globals += &format!("$null{to} = OpConstantNull %p_{to}_u32\n");
        }
        all.push(explicit);
    }
}

/// Of kernels.
pub(super) fn kernel_features() -> Vec<Feature> {
    let mut all = Vec::new();
    generic(&mut all);
    let bytes = INVOCATIONS * 4;
    let number = format!(
        "$n = OpConvertPtrToU %u64 $a_p\n$n2 = OpIAdd %u64 $n %u64_{bytes}\n$p = OpConvertUToPtr %p_CrossWorkgroup_u32 $n2\n$r = OpLoad %u32 $p Aligned 4"
    );
    for op in ["OpConvertPtrToU", "OpConvertUToPtr"] {
        all.push(two(op, "u64", &number, |_, b| b));
    }
    let bitcast = format!(
        "$n = OpBitcast %u64 $a_p\n$n2 = OpIAdd %u64 $n %u64_{bytes}\n$p = OpBitcast %p_CrossWorkgroup_u32 $n2\n$r = OpLoad %u32 $p Aligned 4"
    );
    all.push(two("OpBitcast", "address", &bitcast, |_, b| b));
    let back = 0u64.wrapping_sub(INVOCATIONS as u64);
    for op in ["OpPtrAccessChain", "OpInBoundsPtrAccessChain"] {
        let forward = format!(
            "$p = {op} %p_CrossWorkgroup_u32 $a_p %u64_{INVOCATIONS}\n$r = OpLoad %u32 $p Aligned 4"
        );
        all.push(two(op, "forward", &forward, |_, b| b));
        let backward = format!(
            "$p = {op} %p_CrossWorkgroup_u32 $b_p %u64_{back}\n$r = OpLoad %u32 $p Aligned 4"
        );
        all.push(two(op, "backward", &backward, |a, _| a));
        // A narrow index is signed.
        let narrow = format!(
            "$p = {op} %p_CrossWorkgroup_u32 $b_p %u32_{}\n$r = OpLoad %u32 $p Aligned 4",
            back as u32
        );
        all.push(two(op, "narrow", &narrow, |a, _| a));
        // The first index steps over whole structures, and the others go into them.
        let inside = format!(
            "$s4 = OpBitcast $ps $a_p\n$p = {op} %p_CrossWorkgroup_u32 $s4 %u64_{} %u32_0 %u32_0\n$r = OpLoad %u32 $p Aligned 4",
            INVOCATIONS / 4
        );
        all.push(two(op, "structure", &inside, |_, b| b).with_globals(
            "$st = OpTypeStruct %u32a3 %u32\n$ps = OpTypePointer CrossWorkgroup $st\n",
        ));
    }
    let ty = Ty::from(U32);
    let flag = Ty::from(Bool);
    for (op, wanted) in [("OpPtrEqual", [1, 0]), ("OpPtrNotEqual", [0, 1])] {
        let body = format!(
            "$x = OpInBoundsPtrAccessChain %p_CrossWorkgroup_u32 $b_p %u64_{back}\n$r = {op} %bool $x $a_p\n$s = {op} %bool $b_p $a_p"
        );
        let equal = Feature::new(op, &[ty, ty], &[flag, flag], &body, move |_| {
            wanted.map(Bits).to_vec()
        });
        all.push(equal.called("CrossWorkgroup"));
    }
    let long = Ty::from(U64);
    let body =
        "$r = OpPtrDiff %u64 $b_p $a_p\n$z = OpPtrDiff %u64 $a_p $b_p\n$s = OpSNegate %u64 $z";
    let difference = Feature::new("OpPtrDiff", &[ty, ty], &[long, long], body, |_| {
        vec![Bits(INVOCATIONS as u64); 2]
    });
    all.push(difference.called("CrossWorkgroup"));
    // The bytes of a word through pointers to narrower types.
    for (s, at) in [(U8, 2), (U16, 1), (F32, 0)] {
        let name = s.name();
        let body = format!(
            "$p = OpBitcast %p_CrossWorkgroup_{name} $a_p\n$q = OpInBoundsPtrAccessChain %p_CrossWorkgroup_{name} $p %u64_{at}\n$r = OpLoad %{name} $q Aligned {}",
            s.bits() / 8
        );
        let narrow = Feature::new("OpBitcast", &[ty], &[s.into()], &body, move |row| {
            vec![float_or_bits(s, row[0] >> (at * s.bits()) & s.mask())]
        });
        all.push(narrow.called(&format!("pointer.{name}")));
    }
    for (pointee, bytes) in [("u8", 1), ("u32v3", 16), ("f64a5", 40)] {
        let size = Feature::new(
            "OpSizeOf",
            &[ty],
            &[ty],
            "$r = OpSizeOf %u32 $v",
            move |_| vec![Bits(bytes)],
        );
        all.push(
            size.called(pointee)
                .with_variables(format!("$v = OpVariable %p_Function_{pointee} Function\n")),
        );
    }
    copies(&mut all);
    all
}

/// OpCopyMemorySized: so many bytes out of two vectors in an invocation's memory.
fn copies(all: &mut Vec<Feature>) {
    let v = Ty::vector(U32, 4);
    for (count, name) in [(1u64, "1"), (7, "7"), (16, "16"), (29, "29"), (32, "32")] {
        let body = format!(
            "$from = OpCompositeConstruct %u32v4a2 $a $b\nOpStore $v $from\n$none = OpCompositeConstruct %u32v4a2 $b $b\nOpStore $w $none\n\
             $p = OpBitcast %p_Function_u8 $v\n$q = OpBitcast %p_Function_u8 $w\nOpCopyMemorySized $q $p %u64_{count} Aligned 1\n\
             $x = OpLoad %u32v4a2 $w\n$r = OpCompositeExtract %u32v4 $x 0\n$s = OpCompositeExtract %u32v4 $x 1"
        );
        let copy = Feature::new("OpCopyMemorySized", &[v, v], &[v, v], &body, move |row| {
            let bytes = |words: &[u64]| -> Vec<u8> {
                words
                    .iter()
                    .flat_map(|w| (*w as u32).to_le_bytes())
                    .collect()
            };
            let mut to = bytes(&[&row[4..], &row[4..]].concat());
            let count = count as usize;
            to[..count].copy_from_slice(&bytes(row)[..count]);
            let words = to.as_chunks::<4>().0.iter();
            words
                .map(|w| Bits(u64::from(u32::from_le_bytes(*w))))
                .collect()
        });
        all.push(copy.called(name).with_variables(
            "$v = OpVariable %p_Function_u32v4a2 Function\n$w = OpVariable %p_Function_u32v4a2 Function\n",
        ));
    }
    let ty = Ty::from(U32);
    let body = "$w = OpInBoundsAccessChain %p_Workgroup_u32 $shared %local\nOpCopyMemorySized $w $a_p %u64_4 Aligned 4\nOpCopyMemorySized $v $w %u64_4 Aligned 4\n$r = OpLoad %u32 $v";
    let copy = Feature::new("OpCopyMemorySized", &[ty], &[ty], body, |row| {
        vec![Bits(row[0])]
    });
    all.push(
        copy.called("CrossWorkgroup.Workgroup.Function")
            .with_variables("$v = OpVariable %p_Function_u32 Function\n")
            .with_globals("$shared = OpVariable %p_Workgroup_u32a64 Workgroup\n"),
    );
}

/// Of shaders with the addresses of buffers as numbers (SPV_KHR_physical_storage_buffer): `$m`
/// begins with the address of `$m2`.
pub(super) fn address_features() -> Vec<Feature> {
    let mut all = Vec::new();
    let ty = Ty::from(U32);
    let words: Vec<u8> = (0..INVOCATIONS as u32)
        .flat_map(|at| (at * 77 + 5).to_le_bytes())
        .collect();
    let word = |at: usize| (at * 77 + 5) as u64;
    let types = "$block = OpTypeStruct %u64\n$pb = OpTypePointer StorageBuffer $block\n";
    let decorate = "OpDecorate $block Block\nOpMemberDecorate $block 0 Offset 0\n";
    let address =
        "$mp = OpAccessChain %p_StorageBuffer_u64 $m %u32_0\n$address = OpLoad %u64 $mp\n";
    let with_memory = |feature: Feature, bytes: Vec<u8>| {
        feature
            .with_memory(Memory {
                name: "m",
                pointer: "$pb".to_owned(),
                before: vec![0; 8],
                after: None,
                links: vec![(0, 1, 0)],
            })
            .with_memory(Memory {
                name: "m2",
                pointer: "$pb".to_owned(),
                before: bytes,
                after: None,
                links: Vec::new(),
            })
    };
    let indices: Vec<Vec<u64>> = (0..INVOCATIONS)
        .map(|at| vec![(at * 9 % INVOCATIONS) as u64])
        .collect();
    let load = format!(
        "{address}$wide = OpUConvert %u64 $a\n$by = OpIMul %u64 $wide %u64_4\n$n = OpIAdd %u64 $address $by\n$p = OpConvertUToPtr %p_PhysicalStorageBuffer_u32 $n\n$r = OpLoad %u32 $p Aligned 4"
    );
    let one = |op: &str, variant: &str, body: &str| {
        Feature::new(op, &[ty], &[ty], body, move |row| {
            vec![Bits(word(row[0] as usize))]
        })
        .called(variant)
        .with_globals(types)
        .decorated(decorate)
        .with_inputs(indices.clone())
    };
    all.push(with_memory(
        one("OpConvertUToPtr", "PhysicalStorageBuffer", &load),
        words.clone(),
    ));
    let chain = format!(
        "{address}$p = OpConvertUToPtr $ps $address\n$q = OpAccessChain %p_PhysicalStorageBuffer_u32 $p %u32_0 $a\n$r = OpLoad %u32 $q Aligned 4"
    );
    let mut chained = one("OpAccessChain", "PhysicalStorageBuffer", &chain);
    chained.globals += "$ra = OpTypeRuntimeArray %u32\n$st = OpTypeStruct $ra\n$ps = OpTypePointer PhysicalStorageBuffer $st\n";
    chained.decorate +=
        "OpDecorate $ra ArrayStride 4\nOpDecorate $st Block\nOpMemberDecorate $st 0 Offset 0\n";
    all.push(with_memory(chained, words.clone()));
    let back = format!(
        "{address}$p = OpConvertUToPtr %p_PhysicalStorageBuffer_u32 $address\n$n = OpConvertPtrToU %u64 $p\n$q = OpConvertUToPtr $pt $n\n$t = OpPtrAccessChain $pt $q $a\n$r = OpLoad %u32 $t Aligned 4"
    );
    let mut through = one("OpConvertPtrToU", "PhysicalStorageBuffer", &back);
    through.globals += "$pt = OpTypePointer PhysicalStorageBuffer %u32\n";
    through.decorate += "OpDecorate $pt ArrayStride 4\n";
    all.push(with_memory(through, words.clone()));
    // A list: each node has a number and the address of the next; as many steps as the operand
    // says.
    let nodes = 6u64;
    let mut bytes = Vec::new();
    for node in 0..nodes {
        bytes.extend((node * 31 + 4).to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
    }
    let links = (0..nodes as usize)
        .map(|node| (node * 16 + 8, 1, (node as u64 + 1) % nodes * 16))
        .collect();
    let walk = format!(
        "{address}$first = OpConvertUToPtr $pn $address\nOpBranch $start\n$start = OpLabel\nOpBranch $h\n$h = OpLabel\n$node = OpPhi $pn $first $start $next $c\n$i = OpPhi %u32 %u32_0 $start $i2 $c\n\
        OpLoopMerge $out $c None\nOpBranch $test\n$test = OpLabel\n$more = OpULessThan %bool $i $a\nOpBranchConditional $more $c $out\n\
        $c = OpLabel\n$np = OpAccessChain $ppn $node %u32_1\n$next = OpLoad $pn $np Aligned 8\n$i2 = OpIAdd %u32 $i %u32_1\nOpBranch $h\n\
        $out = OpLabel\n$vp = OpAccessChain %p_PhysicalStorageBuffer_u32 $node %u32_0\n$r = OpLoad %u32 $vp Aligned 8"
    );
    let mut list = Feature::new("OpLoad", &[ty], &[ty], &walk, move |row| vec![Bits(row[0] % nodes * 31 + 4)])
        .called("PhysicalStorageBuffer.list")
        .with_globals(format!("{types}OpTypeForwardPointer $pn PhysicalStorageBuffer\n$st = OpTypeStruct %u32 $pn\n$pn = OpTypePointer PhysicalStorageBuffer $st\n$ppn = OpTypePointer PhysicalStorageBuffer $pn\n"))
        .decorated(format!("{decorate}OpMemberDecorate $st 0 Offset 0\nOpMemberDecorate $st 1 Offset 8\n"));
    list.inputs = (0..INVOCATIONS).map(|at| vec![(at % 9) as u64]).collect();
    let mut list = with_memory(list, bytes);
    list.memory[1].links = links;
    all.push(list);
    all
}
