//! The arguments of fixture kernels, in each form.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::testing::{fixture, read};
use crate::types::Waves;
use splitbar_passes::analysis::layout::Alignment;
use splitbar_passes::module::{Constants, Module, assemble};

/// The parameters of a module's first kernel, and what was found wrong.
fn planned(
    form: &AbiForm,
    declarations: &Declarations<'_>,
    constants: &Constants,
    target: &str,
) -> (Abi, Diagnostics) {
    let target = Target::by_name(target).unwrap();
    let waves = Waves {
        size: target.default_wave_size(),
        subgroups: None,
    };
    let types = Types::build(
        declarations,
        constants,
        target,
        waves,
        form.descriptor_bytes(),
    );
    let entry = declarations.entry_points.first().unwrap();
    let reached = uses::Reached::analyze(declarations, constants, entry).unwrap();
    let mut found = Diagnostics::new();
    let abi = Abi::plan(
        AbiInput {
            declarations,
            types: &types,
            qualifiers: &MemoryQualifiers::analyze(declarations),
            target,
            form,
        },
        declarations.function(entry.function).unwrap(),
        &reached,
        &mut found,
    );
    (abi, found)
}

/// How the parameters of a fixture's kernel reach it.
fn passed(declarations: &Declarations<'_>, constants: &Constants, target: &str) -> Vec<Passing> {
    let (abi, found) = planned(&AbiForm::Arguments, declarations, constants, target);
    assert!(found.is_empty(), "{found}");
    abi.parameters.iter().map(|one| one.passing).collect()
}

#[test]
fn buffers_are_addresses_and_push_constants_lie_where_the_target_has_them() {
    fixture("tiled_matmul", |declarations, constants| {
        for (target, space) in [("gfx1201", 4), ("sm_90", 0)] {
            let buffer = Passing::Pointer { space: 1 };
            let block = Passing::Block {
                space,
                bytes: 12,
                align: Alignment::WORD,
            };
            assert_eq!(
                passed(declarations, constants, target),
                [buffer, buffer, buffer, block]
            );
        }
    });
}

#[test]
fn symbols_are_names_for_every_assembler() {
    let cases = [
        ("main", "main"),
        ("", "k_"),
        ("1st", "k_1st"),
        ("llvm.trap", "k_llvm_trap"),
        ("a b\n\"c", "a_b__c"),
        ("_", "k__"),
        ("_Z4kernPf", "_Z4kernPf"),
        ("größe", "gr__e"),
    ];
    for (name, expected) in cases {
        assert_eq!(symbol(name, &[]), expected, "{name:?}");
    }
    assert_eq!(
        symbol("main", &["main".to_owned(), "main_2".to_owned()]),
        "main_3"
    );
}

fn sets(size: DescriptorSize) -> AbiForm {
    AbiForm::DescriptorSets(DescriptorSets {
        size,
        offsets: Vec::new(),
    })
}

fn kinds(abi: &Abi) -> Vec<(ArgumentKind, Option<u32>, u32)> {
    let arguments = abi.parameters.iter().map(|one| &one.argument);
    arguments
        .map(|one| (one.kind, one.set, one.offset))
        .collect()
}

/// What is read of the first table: offset and what it is.
fn read_table(abi: &Abi) -> Vec<(u32, Fetched)> {
    let Some(Role::Table(accesses)) = abi.parameters.first().map(|one| &one.role) else {
        return Vec::new();
    };
    accesses.iter().map(|one| (one.offset, one.value)).collect()
}

#[test]
fn a_set_is_an_array_of_descriptors() {
    use ArgumentKind::{PushConstant, Table};
    fixture("tiled_matmul", |declarations, constants| {
        for (target, space) in [("gfx1201", 4), ("sm_90", 1)] {
            for (size, step) in [(DescriptorSize::Bytes16, 16), (DescriptorSize::Bytes32, 32)] {
                let (abi, found) = planned(&sets(size), declarations, constants, target);
                assert!(found.is_empty(), "{found}");
                assert_eq!(kinds(&abi), [(Table, Some(0), 0), (PushConstant, None, 8)]);
                assert_eq!(
                    abi.parameters[0].passing,
                    Passing::Pointer { space },
                    "{target}"
                );
                let offsets = [0, step, 2 * step].map(|offset| (offset, Fetched::Buffer));
                assert_eq!(read_table(&abi), offsets);
            }
        }
    });
}

#[test]
fn lengths_lie_in_the_descriptors() {
    fixture("stencil_halo", |declarations, constants| {
        let form = sets(DescriptorSize::Bytes16);
        let (abi, found) = planned(&form, declarations, constants, "gfx942");
        assert!(found.is_empty(), "{found}");
        assert_eq!(kinds(&abi), [(ArgumentKind::Table, Some(0), 0)]);
        let expected = [
            (0, Fetched::Buffer),
            (8, Fetched::Length),
            (16, Fetched::Buffer),
        ];
        assert_eq!(read_table(&abi), expected);
    });
}

#[test]
fn kernels_of_opencl_keep_their_parameters() {
    fixture("opencl_exchange", |declarations, constants| {
        let own = |form: &AbiForm| kinds(&planned(form, declarations, constants, "sm_80").0);
        let default = own(&AbiForm::Arguments);
        assert!(!default.is_empty());
        assert_eq!(own(&sets(DescriptorSize::Bytes32)), default);
        assert_eq!(own(&AbiForm::Table(AbiTable::default())), default);
    });
}

/// A table that reaches both buffers of `stencil_halo`, of which the first is asked for its length.
fn whole() -> AbiTable {
    let reach = |binding, offset| Reach {
        set: 0,
        binding,
        argument: 0,
        descriptor: Some(DescriptorPlace {
            loads: Vec::new(),
            offset,
            length: Some(8),
        }),
    };
    AbiTable {
        arguments: vec![TableArgument::default()],
        bindings: vec![reach(0, 0), reach(1, 16)],
        stride: 16,
    }
}

#[test]
fn tables_that_do_not_reach_a_resource_are_refused() {
    type Change = fn(&mut AbiTable);
    let cases: [(Change, &str); 12] = [
        (|_| (), ""),
        (|t| drop(t.bindings.pop()), "no place for 0:1"),
        (
            |t| t.bindings.push(t.bindings[1].clone()),
            "two places for 0:1",
        ),
        (|t| t.arguments.clear(), "the interface has 0"),
        (|t| place(t, 0).length = None, "no length of 0:0"),
        (|t| place(t, 0).length = Some(4), "cannot lie at byte 4"),
        (|t| place(t, 0).length = Some(16), "has 20 bytes"),
        (|t| place(t, 1).offset = 20, "the offset 20 of 0:1"),
        (|t| place(t, 1).offset = u32::MAX - 15, "no 32-bit offset"),
        (|t| place(t, 1).loads = vec![4], "not aligned to 8"),
        (|t| t.stride = 12, "must be aligned to 8"),
        (|t| t.bindings[1].descriptor = None, "has another use: 0:1"),
    ];
    fixture("stencil_halo", |declarations, constants| {
        for (change, expected) in cases {
            let mut table = whole();
            change(&mut table);
            let form = AbiForm::Table(table);
            let (_, found) = planned(&form, declarations, constants, "sm_90");
            assert_eq!(found.is_empty(), expected.is_empty(), "{found}");
            assert!(found.iter().all(|one| one.code == Code::UnsupportedAbi));
            assert!(found.to_string().contains(expected), "{expected}: {found}");
        }
    });
}

fn place(table: &mut AbiTable, number: usize) -> &mut DescriptorPlace {
    table.bindings[number].descriptor.as_mut().unwrap()
}

#[test]
fn a_binding_whose_offset_is_too_large_is_refused() {
    let text = "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\"
        OpExecutionMode %main LocalSize 1 1 1
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %buffer DescriptorSet 0
        OpDecorate %buffer Binding 134217728
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %zero = OpConstant %uint 0
        %block = OpTypeStruct %uint
        %pblock = OpTypePointer StorageBuffer %block
        %puint = OpTypePointer StorageBuffer %uint
        %buffer = OpVariable %pblock StorageBuffer
        %main = OpFunction %void None %function
        %entry = OpLabel
        %place = OpAccessChain %puint %buffer %zero
        OpStore %place %zero
        OpReturn
        OpFunctionEnd";
    text_module(text, |declarations, constants| {
        for (size, refused) in [
            (DescriptorSize::Bytes16, false),
            (DescriptorSize::Bytes32, true),
        ] {
            let (_, found) = planned(&sets(size), declarations, constants, "gfx942");
            assert_eq!(found.has_errors(), refused, "{found}");
        }
    });
}

#[test]
fn forms_are_read_as_they_are_written() {
    for text in ["arguments", "descriptor-sets:16", "descriptor-sets:32"] {
        assert_eq!(text.parse::<AbiForm>().unwrap().to_string(), text);
    }
    let plain: AbiForm = "descriptor-sets".parse().unwrap();
    assert_eq!(plain, sets(DescriptorSize::Bytes32));
    assert!("descriptor-sets:8".parse::<AbiForm>().is_err());
}

/// What `ask` says of a module in text form.
fn text_module(text: &str, ask: impl FnOnce(&Declarations<'_>, &Constants)) {
    let words = assemble(text).unwrap().words;
    read(&Module::from_words(words).unwrap(), ask);
}

/// A kernel that uses an array of images of type TYPE, and a buffer at binding BUFFER.
const IMAGE: &str = "OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main \"main\"
    OpExecutionMode %main LocalSize 1 1 1
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset 0
    OpDecorate %image DescriptorSet 3
    OpDecorate %image Binding 2
    OpDecorate %buffer DescriptorSet 3
    OpDecorate %buffer Binding BUFFER
    %void = OpTypeVoid
    %function = OpTypeFunction %void
    %uint = OpTypeInt 32 0
    %zero = OpConstant %uint 0
    %four = OpConstant %uint 4
    %pair = OpTypeVector %uint 2
    %block = OpTypeStruct %pair
    %pblock = OpTypePointer StorageBuffer %block
    %ppair = OpTypePointer StorageBuffer %pair
    %plain = OpTypeImage %uint Dim2D 0 0 0 SAMPLED R32ui
    %combined = OpTypeSampledImage %plain
    %tensor = OpTypeTensorARM %uint %four
    %array = OpTypeArray %TYPE %four
    %parray = OpTypePointer UniformConstant %array
    %pimage = OpTypePointer UniformConstant %TYPE
    %image = OpVariable %parray UniformConstant
    %buffer = OpVariable %pblock StorageBuffer
    %main = OpFunction %void None %function
    %entry = OpLabel
    %chosen = OpAccessChain %pimage %image %zero
    %loaded = OpLoad %TYPE %chosen
    %place = OpAccessChain %ppair %buffer %zero
    %same = OpLoad %pair %place
    OpReturn
    OpFunctionEnd";

#[test]
fn images_lie_in_descriptors_that_hold_them() {
    let (small, large) = (DescriptorSize::Bytes16, DescriptorSize::Bytes32);
    let both = "is more than one of a buffer, an image, a tensor and a sampler";
    let (plain, combined) = (("plain", "2"), ("combined", "1"));
    let tensor = ("tensor", "1");
    for ((ty, sampled), buffer, target, size, refused) in [
        (plain, "7", "gfx1201", small, "has 32 bytes"),
        (plain, "7", "gfx1201", large, ""),
        (plain, "2", "gfx1201", large, both),
        (plain, "7", "sm_90", small, ""),
        (combined, "7", "gfx1201", large, "has 48 bytes"),
        (combined, "7", "sm_90", small, ""),
        (tensor, "7", "gfx1201", small, ""),
        (tensor, "7", "sm_90", large, ""),
        (tensor, "2", "sm_90", large, both),
    ] {
        let text = IMAGE
            .replace("TYPE", ty)
            .replace("SAMPLED", sampled)
            .replace("BUFFER", buffer);
        text_module(&text, |declarations, constants| {
            let (abi, found) = planned(&sets(size), declarations, constants, target);
            assert_eq!(found.is_empty(), refused.is_empty(), "{found}");
            assert!(found.to_string().contains(refused), "{refused}: {found}");
            if !refused.is_empty() {
                return;
            }
            let step = size.bytes();
            assert_eq!(
                read_table(&abi),
                [(2 * step, Fetched::Descriptor), (7 * step, Fetched::Buffer)]
            );
            assert_eq!(abi.resources[0].count, Some(4));
        });
    }
}
