//! Where a diagnostic points, and how an instruction reads.

use crate::asm::Asm;
use spirv::Op;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics, WordOffset};
use splitbar_passes::module::{Constants, Declarations, Id, Module, SpecValues};

fn text(words: &str) -> Vec<u32> {
    let mut bytes = words.as_bytes().to_vec();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    bytes
        .chunks_exact(4)
        .map(|chunk| u32::from_le_bytes(chunk.try_into().unwrap()))
        .collect()
}

/// A kernel with an extension string, names, a line, and a pair of split barriers in its only
/// block.
fn kernel(extension: &str) -> (Asm, WordOffset) {
    let mut asm = Asm::new(30);
    asm.op(Op::Extension, &text(extension));
    asm.op(Op::EntryPoint, &[&[5, 10][..], &text("main")].concat());
    asm.op(Op::ExecutionMode, &[10, 17, 8, 4, 1]);
    asm.op(Op::String, &[&[20][..], &text("tile.comp")].concat());
    asm.op(Op::Name, &[&[10][..], &text("main(")].concat());
    asm.op(Op::Name, &[&[5][..], &text("scope")].concat());
    asm.op(Op::Name, &[&[1][..], &text("twice")].concat())
        .op(Op::Name, &[&[11][..], &text("twice")].concat());
    asm.op(Op::TypeVoid, &[1])
        .op(Op::TypeFunction, &[2, 1])
        .op(Op::TypeInt, &[3, 32, 0]);
    asm.op(Op::Constant, &[3, 5, 2])
        .op(Op::Constant, &[3, 6, 0x104]);
    asm.op(Op::Function, &[1, 10, 0, 2])
        .op(Op::Label, &[11])
        .op(Op::Line, &[20, 12, 3]);
    let arrive = asm.offset();
    asm.raw(6142, &[5, 5, 6])
        .op(Op::NoLine, &[])
        .raw(6143, &[5, 5, 6])
        .op(Op::Return, &[])
        .op(Op::FunctionEnd, &[]);
    (asm, arrive)
}

#[test]
fn a_place_has_function_block_instruction_and_source() {
    let (asm, arrive) = kernel("SPV_EXT_split_barrier");
    let module = Module::from_words(asm.words()).unwrap();
    let mut problems = Diagnostics::new();
    let declarations = Declarations::new(&module, &mut problems);
    assert!(problems.is_empty(), "{problems}");
    let mut diagnostic = Diagnostic::error(Code::Internal, "here").at_word(arrive);
    declarations.locate(&mut diagnostic);
    let location = &diagnostic.location;
    assert_eq!(location.function.as_deref(), Some("main("));
    assert_eq!(location.block.as_deref(), Some("%11"));
    assert_eq!(
        location.instruction.as_deref(),
        Some("OpControlBarrierArriveEXT %scope %scope %6")
    );
    let source = location.source.as_ref().unwrap();
    assert_eq!(
        (source.file.as_str(), source.line, source.column),
        ("tile.comp", 12, 3)
    );
    let mut after =
        Diagnostic::error(Code::Internal, "here").at_word(WordOffset::new(arrive.get() + 5));
    declarations.locate(&mut after);
    assert_eq!(after.location.source, None, "OpNoLine ends the position");
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
    assert_eq!(
        declarations.workgroup_size(&declarations.entry_points[0], &constants),
        Some([8, 4, 1])
    );
    assert_eq!(declarations.display_id(Id(10)), "%main__10");
    assert_eq!(declarations.display_id(Id(3)), "%uint");
    assert_eq!(
        [1, 11].map(|id| declarations.display_id(Id(id))),
        ["%twice_1", "%twice_11"]
    );
    assert_eq!(
        declarations.function_at(arrive).map(|function| function.id),
        Some(Id(10))
    );
    assert!(declarations.function_at(WordOffset::FIRST).is_none());
}

#[test]
fn barriers_are_spelled_as_the_module_spells_them() {
    let (asm, arrive) = kernel("SPV_INTEL_split_barrier");
    let module = Module::from_words(asm.words()).unwrap();
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    assert_eq!(
        declarations.disassemble(module.at(arrive).unwrap()),
        "OpControlBarrierArriveINTEL %scope %scope %6"
    );
    assert!(
        module.at(arrive.next()).is_none(),
        "no instruction starts there"
    );
}

#[test]
fn calls_are_walked_callees_first_and_circles_are_found() {
    let build = |callee_of_leaf: Option<u32>| {
        let mut asm = Asm::new(30);
        asm.op(Op::TypeVoid, &[1]).op(Op::TypeFunction, &[2, 1]);
        for (function, callees) in [
            (10u32, vec![12u32, 11]),
            (11, vec![12]),
            (12, callee_of_leaf.into_iter().collect()),
        ] {
            asm.op(Op::Function, &[1, function, 0, 2])
                .op(Op::Label, &[function + 5]);
            for (callee, number) in callees.iter().zip(0..) {
                asm.op(
                    Op::FunctionCall,
                    &[1, 20 + (function - 10) * 2 + number, *callee],
                );
            }
            asm.op(Op::Return, &[]).op(Op::FunctionEnd, &[]);
        }
        Module::from_words(asm.words()).unwrap()
    };
    let module = build(None);
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    assert_eq!(
        declarations.reachable_functions(Id(10)).unwrap(),
        [Id(12), Id(11), Id(10)]
    );
    let module = build(Some(11));
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    assert_eq!(
        declarations.reachable_functions(Id(10)).unwrap_err().code,
        Code::RecursiveCall
    );
}

#[test]
fn decoration_groups_reach_their_targets() {
    let mut asm = Asm::new(9);
    asm.op(Op::Decorate, &[1, spirv::Decoration::Alignment as u32, 16])
        .op(Op::DecorationGroup, &[1])
        .op(Op::Decorate, &[4, spirv::Decoration::Restrict as u32]);
    asm.op(Op::GroupDecorate, &[1, 3, 4])
        .op(Op::GroupMemberDecorate, &[1, 5, 7]);
    asm.op(
        Op::MemberDecorate,
        &[5, 0, spirv::Decoration::Offset as u32, 24],
    );
    asm.op(Op::TypeInt, &[2, 32, 0])
        .op(Op::Undef, &[2, 3])
        .op(Op::Undef, &[2, 4])
        .op(Op::TypeStruct, &[5, 2]);
    let module = Module::from_words(asm.words()).unwrap();
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    assert_eq!(
        declarations.decoration(Id(3), spirv::Decoration::Alignment),
        Some(16)
    );
    assert_eq!(declarations.decorations(Id(4)).len(), 2);
    assert_eq!(
        declarations.member_decoration(Id(5), 7, spirv::Decoration::Alignment),
        Some(16)
    );
    assert_eq!(
        declarations.member_decoration(Id(5), 0, spirv::Decoration::Offset),
        Some(24)
    );
    assert_eq!(
        declarations.decoration(Id(3), spirv::Decoration::Restrict),
        None
    );
}

#[test]
fn lines_of_the_shader_debug_information_count_too() {
    let mut asm = Asm::new(40);
    asm.op(
        Op::ExtInstImport,
        &[&[30][..], &text("NonSemantic.Shader.DebugInfo.100")].concat(),
    );
    asm.op(Op::String, &[&[20][..], &text("tile.slang")].concat());
    asm.op(Op::TypeVoid, &[1])
        .op(Op::TypeFunction, &[2, 1])
        .op(Op::TypeInt, &[3, 32, 0]);
    asm.op(Op::Constant, &[3, 5, 77])
        .op(Op::Constant, &[3, 6, 9]);
    asm.op(Op::ExtInst, &[1, 31, 30, 35, 20]);
    asm.op(Op::Function, &[1, 10, 0, 2]).op(Op::Label, &[11]);
    asm.op(Op::ExtInst, &[1, 32, 30, 103, 31, 5, 5, 6, 6]);
    let marked = asm.offset();
    asm.op(Op::Undef, &[3, 12])
        .op(Op::ExtInst, &[1, 33, 30, 104]);
    let unmarked = asm.offset();
    asm.op(Op::Return, &[]).op(Op::FunctionEnd, &[]);
    let module = Module::from_words(asm.words()).unwrap();
    let mut problems = Diagnostics::new();
    let declarations = Declarations::new(&module, &mut problems);
    assert!(problems.is_empty(), "{problems}");
    let position = declarations.source_position(marked).unwrap();
    assert_eq!(
        (position.file.as_str(), position.line, position.column),
        ("tile.slang", 77, 9)
    );
    assert_eq!(declarations.source_position(unmarked), None);
    assert_eq!(
        declarations.functions[0].blocks[0].insts.len(),
        2,
        "debug instructions are left out of blocks"
    );
}

/// A line of function `lib` of another file, inlined into a line of `main`, and one whose chain of
/// calls leads back to itself.
#[test]
fn a_place_has_the_calls_that_it_was_inlined_through() {
    let mut asm = Asm::new(60);
    asm.op(
        Op::ExtInstImport,
        &[&[30][..], &text("NonSemantic.Shader.DebugInfo.100")].concat(),
    );
    asm.op(Op::String, &[&[20][..], &text("lib.slang")].concat())
        .op(Op::String, &[&[21][..], &text("main.slang")].concat())
        .op(Op::String, &[&[22][..], &text("first\n  call();")].concat());
    asm.op(Op::TypeVoid, &[1])
        .op(Op::TypeFunction, &[2, 1])
        .op(Op::TypeInt, &[3, 32, 0]);
    asm.op(Op::Constant, &[3, 5, 7])
        .op(Op::Constant, &[3, 6, 2])
        .op(Op::Constant, &[3, 7, 0]);
    asm.op(Op::ExtInst, &[1, 31, 30, 35, 20])
        .op(Op::ExtInst, &[1, 32, 30, 35, 21, 22])
        // DebugFunction (its first operands are not looked at) and a DebugLexicalBlock.
        .op(Op::ExtInst, &[1, 33, 30, 20, 20, 20, 32, 5, 5])
        .op(Op::ExtInst, &[1, 34, 30, 21, 31, 5, 5, 33])
        // Line 2 of main; line 7 of lib, which is inlined there.
        .op(Op::ExtInst, &[1, 35, 30, 25, 6, 33])
        .op(Op::ExtInst, &[1, 36, 30, 25, 5, 34, 35]);
    asm.op(Op::Function, &[1, 10, 0, 2]).op(Op::Label, &[11]);
    asm.op(Op::ExtInst, &[1, 40, 30, 23, 34, 36])
        .op(Op::ExtInst, &[1, 41, 30, 103, 31, 5, 5, 7, 7]);
    let inlined = asm.offset();
    asm.op(Op::Undef, &[3, 12]);
    asm.op(Op::ExtInst, &[1, 42, 30, 24]);
    let plain = asm.offset();
    asm.op(Op::Undef, &[3, 13]);
    asm.op(Op::Return, &[]).op(Op::FunctionEnd, &[]);
    let shown = |word| shown(&asm, word);
    assert_eq!(
        shown(inlined),
        format!("lib.slang:7, inlined at lib.slang:7, inlined at main.slang:2:3 (word {inlined})")
    );
    assert_eq!(shown(plain), format!("lib.slang:7 (word {plain})"));
}

/// The place of a word of a module, as text.
fn shown(asm: &Asm, word: WordOffset) -> String {
    let module = Module::from_words(asm.words()).unwrap();
    let mut problems = Diagnostics::new();
    let declarations = Declarations::new(&module, &mut problems);
    assert!(problems.is_empty(), "{problems}");
    declarations.locations(&[word])[&word].to_string()
}

/// OpenCL.DebugInfo.100 has OpLine for lines, and literals for numbers.
#[test]
fn scopes_of_opencl_have_the_calls_too() {
    let mut asm = Asm::new(60);
    asm.op(
        Op::ExtInstImport,
        &[&[30][..], &text("OpenCL.DebugInfo.100")].concat(),
    );
    asm.op(Op::String, &[&[20][..], &text("lib.cl")].concat())
        .op(Op::String, &[&[21][..], &text("main.cl")].concat())
        .op(Op::String, &[&[22][..], &text("first\n  call();")].concat());
    asm.op(Op::TypeVoid, &[1])
        .op(Op::TypeFunction, &[2, 1])
        .op(Op::TypeInt, &[3, 32, 0]);
    asm.op(Op::ExtInst, &[1, 31, 30, 35, 20])
        .op(Op::ExtInst, &[1, 32, 30, 35, 21, 22])
        .op(Op::ExtInst, &[1, 33, 30, 20, 20, 20, 32, 2, 1])
        .op(Op::ExtInst, &[1, 34, 30, 21, 31, 7, 1, 33])
        .op(Op::ExtInst, &[1, 35, 30, 25, 2, 33]);
    asm.op(Op::Function, &[1, 10, 0, 2]).op(Op::Label, &[11]);
    asm.op(Op::ExtInst, &[1, 40, 30, 23, 34, 35])
        // Number 103 is a line of shaders alone.
        .op(Op::ExtInst, &[1, 41, 30, 103, 31, 5, 5, 7, 7])
        .op(Op::Line, &[20, 8, 4]);
    let inlined = asm.offset();
    asm.op(Op::Undef, &[3, 12]);
    asm.op(Op::ExtInst, &[1, 42, 30, 24]);
    let plain = asm.offset();
    asm.op(Op::Undef, &[3, 13]);
    asm.op(Op::Return, &[]).op(Op::FunctionEnd, &[]);
    let shown = |word| shown(&asm, word);
    assert_eq!(
        shown(inlined),
        format!("lib.cl:8:4, inlined at main.cl:2:3 (word {inlined})")
    );
    assert_eq!(shown(plain), format!("lib.cl:8:4 (word {plain})"));
}

#[test]
fn a_place_without_a_source_is_an_instruction() {
    let (asm, arrive) = kernel("SPV_EXT_split_barrier");
    let module = Module::from_words(asm.words()).unwrap();
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    let wait = WordOffset::new(arrive.get() + 5);
    let places = declarations.locations(&[arrive, wait]);
    assert_eq!(
        places[&arrive].to_string(),
        format!("tile.comp:12:3 (word {arrive})")
    );
    assert_eq!(
        places[&wait].to_string(),
        format!(
            "`OpControlBarrierWaitEXT %scope %scope %6` in function main(, block %11 (word {wait})"
        )
    );
}

#[test]
fn instructions_after_the_last_function_may_use_each_other() {
    let of = |user_in_function: bool| {
        let mut asm = Asm::new(40);
        asm.op(
            Op::ExtInstImport,
            &[&[30][..], &text("NonSemantic.ClspvReflection.5")].concat(),
        );
        asm.op(Op::String, &[&[20][..], &text("kernel")].concat());
        asm.op(Op::TypeVoid, &[1]).op(Op::TypeFunction, &[2, 1]);
        asm.op(Op::Function, &[1, 10, 0, 2]).op(Op::Label, &[11]);
        if user_in_function {
            asm.op(Op::ExtInst, &[1, 33, 30, 1, 31]);
        }
        asm.op(Op::Return, &[]).op(Op::FunctionEnd, &[]);
        asm.op(Op::ExtInst, &[1, 31, 30, 1, 10, 20]);
        asm.op(Op::ExtInst, &[1, 32, 30, 2, 31]);
        let module = Module::from_words(asm.words()).unwrap();
        let mut problems = Diagnostics::new();
        Declarations::new(&module, &mut problems);
        problems.iter().map(|one| one.code).collect::<Vec<_>>()
    };
    assert_eq!(of(false), []);
    assert_eq!(of(true), [Code::UndefinedId]);
}
