//! Support for unit tests: modules from text.

use crate::diagnostic::Diagnostics;
use crate::module::{Constants, Declarations, Id, Module, SpecValues, WordOffset};
use rspirv::grammar::INSTRUCTION_TABLE;
use std::collections::BTreeMap;

/// What most tests need: types, scopes, semantics, numbers, and an entry point %main with
/// workgroups of 64.
const PRELUDE: &str = "
    OpCapability 1
    OpCapability 6141
    OpExtension 'SPV_EXT_split_barrier'
    OpMemoryModel 0 1
    OpEntryPoint 5 %main 'main'
    OpExecutionMode %main 17 64 1 1
";
const TYPES: &str = "
    %void = OpTypeVoid
    %fn = OpTypeFunction %void
    %bool = OpTypeBool
    %true = OpConstantTrue %bool
    %uint = OpTypeInt 32 0
    %u0 = OpConstant %uint 0
    %u1 = OpConstant %uint 1
    %u2 = OpConstant %uint 2
    %u3 = OpConstant %uint 3
    %u7 = OpConstant %uint 7
    %group = OpConstant %uint 2
    %subgroup = OpConstant %uint 3
    %none = OpConstant %uint 0
    %release = OpConstant %uint 260
    %acquire = OpConstant %uint 258
    %both = OpConstant %uint 264
    %ptr = OpTypePointer 7 %uint
    %private = OpTypePointer 6 %uint
    %cond = OpVariable %private 6 %u0
    %out = OpVariable %private 6 %u0
    %fn_uint = OpTypeFunction %uint %uint
";

/// A module and the ids of its names.
pub(crate) struct Assembled {
    /// The module.
    pub(crate) module: Module<'static>,
    names: BTreeMap<String, u32>,
}

impl Assembled {
    /// The id of `%name`.
    pub(crate) fn id(&self, name: &str) -> Id {
        Id(self.names[name])
    }

    /// Word offset of the instruction that is number `nth` among those of `opcode`.
    pub(crate) fn offset(&self, opcode: spirv::Op, nth: usize) -> WordOffset {
        self.module
            .instructions()
            .filter(|inst| inst.op() == Some(opcode))
            .nth(nth)
            .unwrap()
            .offset
    }
}

/// Declarations and constants without errors.
pub(crate) fn declared<'m>(module: &'m Module<'m>) -> (Declarations<'m>, Constants) {
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::new(module, &mut diagnostics);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    (declarations, constants)
}

/// The prelude, `annotations` (names, decorations), the prelude's types, and `functions`.
///
/// One instruction a line, as `%result = OpName %type operands`; operands are `%name`, numbers or
/// 'strings'. In functions `arrive`, `wait`, `barrier` stand for Workgroup barriers, and
/// `arrive.sub`, `wait.sub` for Subgroup ones.
pub(crate) fn assemble(annotations: &str, functions: &str) -> Assembled {
    let mut names = BTreeMap::new();
    let mut words = vec![0x0723_0203, 0x0001_0300, 0, 0, 0];
    let text = [PRELUDE, annotations, TYPES, functions].concat();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let line = match line {
            "arrive" => "OpControlBarrierArriveINTEL %group %group %release",
            "wait" => "OpControlBarrierWaitINTEL %group %group %acquire",
            "arrive.sub" => "OpControlBarrierArriveINTEL %subgroup %subgroup %none",
            "wait.sub" => "OpControlBarrierWaitINTEL %subgroup %subgroup %none",
            "barrier" => "OpControlBarrier %group %group %both",
            other => other,
        };
        instruction(line, &mut names, &mut words);
    }
    words[3] = names.len() as u32 + 1;
    Assembled {
        module: Module::from_words(words).unwrap(),
        names,
    }
}

fn instruction(line: &str, names: &mut BTreeMap<String, u32>, words: &mut Vec<u32>) {
    let (result, rest) = match line.split_once(" = ") {
        Some((result, rest)) => (Some(result), rest),
        None => (None, line),
    };
    let mut tokens = rest.split_whitespace();
    let name = tokens.next().unwrap();
    let bare = name.trim_start_matches("Op");
    let grammar = INSTRUCTION_TABLE
        .iter()
        .find(|known| known.opname.trim_start_matches("Op") == bare);
    let grammar = grammar.unwrap_or_else(|| panic!("no instruction {name}"));
    let mut operands: Vec<u32> = Vec::new();
    for token in tokens {
        match token.strip_prefix('%') {
            Some(name) => operands.push(id(names, name)),
            None if token.starts_with('\'') => operands.extend(string(token.trim_matches('\''))),
            None => operands.push(token.parse().unwrap()),
        }
    }
    if let Some(result) = result {
        let has_type = grammar
            .operands
            .first()
            .is_some_and(|o| o.kind == rspirv::grammar::OperandKind::IdResultType);
        operands.insert(
            usize::from(has_type),
            id(names, result.trim_start_matches('%')),
        );
    }
    words.push((operands.len() as u32 + 1) << 16 | grammar.opcode as u32);
    words.extend(operands);
}

fn id(names: &mut BTreeMap<String, u32>, name: &str) -> u32 {
    let next = names.len() as u32 + 1;
    *names.entry(name.to_owned()).or_insert(next)
}

fn string(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
        .chunks(4)
        .map(|chunk| u32::from_le_bytes(chunk.try_into().unwrap()))
        .collect()
}
