//! One small module for each thing that can be wrong.

use crate::asm::Asm;
use spirv::Op;
use splitbar_passes::diagnostic::{Code, Diagnostics, Severity, WordOffset};
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};

/// Codes and word offsets that reading `bytes` gives, up to the constants.
fn problems(bytes: &[u8]) -> Vec<(Code, Option<u32>)> {
    let found = match Module::parse(bytes) {
        Err(problems) => problems,
        Ok(module) => {
            let mut problems = Diagnostics::new();
            let declarations = Declarations::new(&module, &mut problems);
            Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
            problems
        }
    };
    assert!(found.is_empty() || found.has_errors());
    found
        .iter()
        .map(|problem| (problem.code, problem.location.word.map(WordOffset::get)))
        .collect()
}

fn of(build: impl Fn(&mut Asm)) -> Vec<(Code, Option<u32>)> {
    let mut asm = Asm::new(20);
    build(&mut asm);
    problems(&asm.bytes())
}

#[test]
fn the_binary_form() {
    let good = Asm::new(20);
    assert_eq!(problems(&good.bytes()), []);
    assert_eq!(problems(&[]), [(Code::BadMagic, Some(0))]);
    assert_eq!(problems(b"\x7fELF"), [(Code::BadMagic, Some(0))]);
    assert_eq!(
        problems(&good.bytes()[..16]),
        [(Code::TruncatedModule, Some(0))]
    );
    assert_eq!(
        problems(&good.bytes()[..18]),
        [(Code::BadLength, None), (Code::TruncatedModule, Some(0))]
    );
    let mut version = good.words();
    version[1] = 0x0002_0000;
    assert_eq!(
        Module::from_words(version)
            .unwrap_err()
            .iter()
            .next()
            .unwrap()
            .code,
        Code::UnsupportedVersion
    );
    assert_eq!(
        of(|asm| {
            asm.raw(0, &[]).op(Op::TypeVoid, &[20]);
        }),
        [(Code::IdOutOfBound, Some(6))]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypeVoid, &[0]);
        }),
        [(Code::ZeroId, Some(5))]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypeVoid, &[1]).op(Op::TypeBool, &[1]);
        }),
        [(Code::DuplicateId, Some(7))]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypeInt, &[1, 32]);
        }),
        [(Code::MissingOperand, Some(5))]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypeVoid, &[1]).op(Op::Name, &[1, 0x6161_6161]);
        }),
        [(Code::UnterminatedString, Some(7))]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::ExecutionModeId, &[0, 38, 21, 22, 23]);
        })
        .len(),
        4,
        "an enumerant's ids are checked, and all problems come in one run"
    );
}

#[test]
fn a_word_count_of_zero_and_a_short_tail_stop_the_reader() {
    let mut words = Asm::new(20).words();
    words.extend([2 << 16 | 19, 30, 19]);
    let found: Vec<(Code, Option<u32>)> = Module::from_words(words)
        .unwrap_err()
        .iter()
        .map(|p| (p.code, p.location.word.map(WordOffset::get)))
        .collect();
    assert_eq!(
        found,
        [
            (Code::IdOutOfBound, Some(5)),
            (Code::ZeroWordCount, Some(7))
        ]
    );
    let mut words = Asm::new(20).words();
    words.extend([5 << 16 | 19, 1]);
    let found: Vec<(Code, Option<u32>)> = Module::from_words(words)
        .unwrap_err()
        .iter()
        .map(|p| (p.code, p.location.word.map(WordOffset::get)))
        .collect();
    assert_eq!(found, [(Code::TruncatedModule, Some(5))]);
}

#[test]
fn types() {
    let float = |asm: &mut Asm| {
        asm.op(Op::TypeFloat, &[1, 32]);
    };
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypeInt, &[1, 65, 0]);
        }),
        [(Code::UnsupportedType, Some(5))]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypeFloat, &[1, 31]);
        }),
        [(Code::UnsupportedType, Some(5))]
    );
    assert_eq!(
        of(|asm| {
            float(asm);
            asm.op(Op::TypeVector, &[2, 1, 1]);
        }),
        [(Code::UnsupportedType, Some(8))]
    );
    assert_eq!(
        of(|asm| {
            float(asm);
            asm.op(Op::TypeMatrix, &[2, 1, 2]);
        }),
        [(Code::WrongDefinition, Some(8))]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypeStruct, &[1, 2]).op(Op::TypeStruct, &[2, 1]);
        }),
        [(Code::UndefinedId, Some(5))],
        "a circle of structures"
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypeStruct, &[1, 1]);
        }),
        [(Code::UndefinedId, Some(5))],
        "a structure in itself"
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypeForwardPointer, &[2, 12])
                .op(Op::TypeStruct, &[1, 2])
                .op(Op::TypePointer, &[2, 12, 1]);
        }),
        [],
        "a list through a pointer"
    );
    assert_eq!(
        of(|asm| {
            float(asm);
            asm.op(Op::Undef, &[1, 2]).op(Op::TypeStruct, &[3, 2]);
        }),
        [(Code::WrongDefinition, Some(11))]
    );
    assert_eq!(
        of(|asm| {
            float(asm);
            asm.op(Op::Undef, &[1, 2]).op(Op::Undef, &[2, 3]);
        }),
        [(Code::WrongDefinition, Some(11))]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypePointer, &[1, 99, 2]).op(Op::TypeVoid, &[2]);
        }),
        [(Code::UnsupportedStorageClass, Some(5))]
    );
}

#[test]
fn functions() {
    let begin = |asm: &mut Asm| {
        asm.op(Op::TypeVoid, &[1])
            .op(Op::TypeFunction, &[2, 1])
            .op(Op::Function, &[1, 3, 0, 2]);
    }; // the body starts at word 15
    assert_eq!(
        of(|asm| {
            begin(asm);
            asm.op(Op::Label, &[4])
                .op(Op::Return, &[])
                .op(Op::FunctionEnd, &[]);
        }),
        []
    );
    assert_eq!(
        of(|asm| {
            begin(asm);
            asm.op(Op::Label, &[4]).op(Op::Return, &[]);
        }),
        [(Code::MalformedFunction, Some(10))]
    );
    assert_eq!(
        of(|asm| {
            begin(asm);
            asm.op(Op::Label, &[4]).op(Op::FunctionEnd, &[]);
        }),
        [(Code::MissingTerminator, Some(15))]
    );
    assert_eq!(
        of(|asm| {
            begin(asm);
            asm.op(Op::Label, &[4])
                .op(Op::Label, &[5])
                .op(Op::Return, &[])
                .op(Op::FunctionEnd, &[]);
        }),
        [(Code::MissingTerminator, Some(15))]
    );
    // A block without a terminator is no target.
    assert_eq!(
        of(|asm| {
            begin(asm);
            asm.op(Op::Label, &[4])
                .op(Op::Label, &[5])
                .op(Op::Branch, &[4])
                .op(Op::FunctionEnd, &[]);
        }),
        [
            (Code::MissingTerminator, Some(15)),
            (Code::MissingTerminator, Some(19))
        ]
    );
    assert_eq!(
        of(|asm| {
            begin(asm);
            asm.op(Op::Return, &[]).op(Op::FunctionEnd, &[]);
        }),
        [(Code::MalformedFunction, Some(15))]
    );
    assert_eq!(
        of(|asm| {
            begin(asm);
            asm.op(Op::Label, &[4])
                .op(Op::Branch, &[2])
                .op(Op::FunctionEnd, &[]);
        }),
        [(Code::MissingTerminator, Some(17))]
    );
    assert_eq!(
        of(|asm| {
            begin(asm);
            asm.op(Op::Label, &[4])
                .op(Op::Branch, &[4])
                .op(Op::FunctionEnd, &[]);
        }),
        [(Code::MalformedFunction, Some(17))]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::FunctionEnd, &[]);
        }),
        [(Code::MalformedFunction, Some(5))]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::Label, &[1]);
        }),
        [(Code::MalformedFunction, Some(5))]
    );
    // Functions are as their types say, and calls as functions.
    let calls = |asm: &mut Asm, of: u32, arguments: &[u32]| {
        asm.op(Op::TypeVoid, &[1])
            .op(Op::TypeInt, &[6, 32, 0])
            .op(Op::TypeFunction, &[2, 1])
            .op(Op::TypeFunction, &[7, 1, 6])
            .op(Op::Constant, &[6, 8, 1])
            .op(Op::Function, &[1, 3, 0, of]) // word 22
            .op(Op::Label, &[4])
            .op(Op::FunctionCall, &[&[1, 9, 3], arguments].concat()) // word 29
            .op(Op::Return, &[])
            .op(Op::FunctionEnd, &[]);
    };
    assert_eq!(of(|asm| calls(asm, 2, &[])), []);
    assert_eq!(
        of(|asm| calls(asm, 2, &[8])),
        [(Code::TypeMismatch, Some(29))]
    );
    assert_eq!(
        of(|asm| calls(asm, 7, &[])),
        [(Code::TypeMismatch, Some(22))]
    );
    assert_eq!(
        of(|asm| calls(asm, 8, &[])),
        [(Code::WrongDefinition, Some(22))]
    );
    // What computes, or waits, stands in functions; declarations stand outside of them.
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypeInt, &[1, 32, 0])
                .op(Op::Constant, &[1, 2, 7])
                .op(Op::Undef, &[1, 3])
                .op(Op::ControlBarrierWaitINTEL, &[2, 2, 2])
                .op(Op::IAdd, &[1, 4, 2, 3]);
        }),
        [
            (Code::MalformedFunction, Some(16)),
            (Code::MalformedFunction, Some(20)),
        ]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypeVoid, &[1]).op(Op::EntryPoint, &[5, 1, 0]);
        }),
        [(Code::WrongDefinition, Some(7))]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::EntryPoint, &[5, 1, 0]);
        }),
        [(Code::UndefinedId, Some(5))]
    );
}

#[test]
fn constants() {
    let types = |asm: &mut Asm| {
        asm.op(Op::TypeInt, &[1, 32, 0])
            .op(Op::TypeVector, &[2, 1, 2])
            .op(Op::Constant, &[1, 3, 7]);
    }; // the next starts at word 17
    assert_eq!(
        of(|asm| {
            types(asm);
            asm.op(Op::ConstantComposite, &[2, 4, 3, 3]);
        }),
        []
    );
    assert_eq!(
        of(|asm| {
            types(asm);
            asm.op(Op::ConstantComposite, &[2, 4, 3]);
        }),
        [(Code::TypeMismatch, Some(17))]
    );
    assert_eq!(
        of(|asm| {
            types(asm);
            asm.op(Op::ConstantComposite, &[1, 4, 3]);
        }),
        [(Code::TypeMismatch, Some(17))]
    );
    assert_eq!(
        of(|asm| {
            types(asm);
            asm.op(Op::ConstantNull, &[2, 5])
                .op(Op::ConstantComposite, &[2, 4, 3, 5]);
        }),
        [(Code::TypeMismatch, Some(20))]
    );
    assert_eq!(
        of(|asm| {
            types(asm);
            asm.op(Op::Constant, &[2, 4, 3]);
        }),
        [(Code::TypeMismatch, Some(17))]
    );
    assert_eq!(
        of(|asm| {
            asm.op(Op::TypeInt, &[1, 64, 0])
                .op(Op::Constant, &[1, 2, 3]);
        }),
        [(Code::MissingOperand, Some(9))]
    );
    assert_eq!(
        of(|asm| {
            types(asm);
            asm.op(Op::SpecConstantOp, &[1, 4, 81, 3, 0]);
        }),
        [(Code::BadConstant, Some(17))]
    );
}

#[test]
fn a_file_of_noise_has_at_most_a_hundred_problems_and_says_so() {
    let mut asm = Asm::new(2);
    for _ in 0..10_000 {
        asm.op(Op::TypeVoid, &[9]);
    }
    let problems = Module::parse(&asm.bytes()).unwrap_err();
    assert_eq!(
        problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .count(),
        100
    );
    assert_eq!(problems.iter().last().unwrap().severity, Severity::Note);
}
