//! Functions and their blocks: where each begins and ends, and that control stays inside.

use super::callee::called;
use super::report::Report;
use super::table::{Key, Table};
use super::types::is_terminator;
use super::{Id, Inst, Module, grammar};
use crate::diagnostic::{Code, Diagnostic, WordOffset};
use spirv::Op;
use std::collections::BTreeSet;

/// The number of a block in its function, in module order; that of the entry block is 0.
#[derive(Copy, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockIndex(u32);

impl BlockIndex {
    /// The entry block.
    pub const ENTRY: BlockIndex = BlockIndex(0);

    /// The block with the number `index`: a function of 2^32 words has fewer than 2^32 blocks.
    #[inline]
    pub fn new(index: usize) -> BlockIndex {
        debug_assert!(u32::try_from(index).is_ok(), "no module has block {index}");
        BlockIndex(index as u32)
    }

    /// Its number.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// All blocks of a function that has `len`.
    pub fn all(len: usize) -> impl DoubleEndedIterator<Item = BlockIndex> + ExactSizeIterator {
        (0..len).map(BlockIndex::new)
    }
}

impl Key for BlockIndex {
    #[inline]
    fn new(index: usize) -> BlockIndex {
        BlockIndex::new(index)
    }

    #[inline]
    fn index(self) -> usize {
        self.index()
    }
}

/// A table with an entry for each block of a function.
pub type BlockMap<T> = Table<BlockIndex, T>;

impl std::fmt::Display for BlockIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct Block<'m> {
    /// Its label.
    pub label: Id,
    /// Offset of the OpLabel.
    pub offset: WordOffset,
    /// Everything after the OpLabel, terminator last; OpLine, OpNoLine and debug-only instructions
    /// are left out.
    pub insts: Vec<Inst<'m>>,
}

impl<'m> Block<'m> {
    /// The terminator; a block that [`super::Declarations`] made has one.
    pub fn terminator(&self) -> Option<Inst<'m>> {
        self.insts.last().copied()
    }

    /// The first instruction after the OpPhis.
    pub fn after_phis(&self) -> Option<Inst<'m>> {
        let mut insts = self.insts.iter().copied();
        insts.find(|inst| inst.op() != Some(Op::Phi))
    }

    /// The last instruction before which others can be inserted: the merge instruction, which stays
    /// with the terminator, or the terminator.
    pub fn end(&self) -> Option<Inst<'m>> {
        let merge = self
            .insts
            .iter()
            .rev()
            .nth(1)
            .filter(|inst| matches!(inst.op(), Some(Op::SelectionMerge | Op::LoopMerge)));
        merge.copied().or(self.terminator())
    }
}

/// A function. One without blocks is an import.
#[derive(Clone, Debug)]
pub struct Function<'m> {
    /// Its id.
    pub id: Id,
    /// Its return type.
    pub result_type: Id,
    /// OpTypeFunction.
    pub type_id: Id,
    /// Parameters: id and type.
    pub params: Vec<(Id, Id)>,
    /// Blocks in module order; the first is the entry block.
    pub blocks: Vec<Block<'m>>,
    /// The instructions in its blocks that call functions ([`super::called`]), in module order.
    pub calls: Vec<Inst<'m>>,
    /// The OpPhis in its blocks, in module order.
    pub phis: Vec<Inst<'m>>,
    /// The instructions in its blocks that [`synchronize`](synchronizes), in module order.
    pub syncs: Vec<Inst<'m>>,
    /// Offset of the OpFunction.
    pub offset: WordOffset,
    /// Offset of the OpFunctionEnd.
    pub end: WordOffset,
}

impl<'m> Function<'m> {
    /// All instructions of all blocks in module order, labels left out.
    pub fn insts(&self) -> impl Iterator<Item = Inst<'m>> {
        self.blocks
            .iter()
            .flat_map(|block| block.insts.iter().copied())
    }

    /// Behind its OpFunctionEnd, an instruction of one word.
    pub(crate) fn behind(&self) -> WordOffset {
        self.end.next()
    }

    /// Block `block`; `None` for one of another function.
    pub fn block(&self, block: BlockIndex) -> Option<&Block<'m>> {
        self.blocks.get(block.index())
    }

    /// The blocks with their numbers.
    pub fn numbered(
        &self,
    ) -> impl DoubleEndedIterator<Item = (BlockIndex, &Block<'m>)> + ExactSizeIterator {
        BlockIndex::all(self.blocks.len()).zip(&self.blocks)
    }

    /// The blocks that have some of `insts`, which are instructions of the function in module
    /// order: the number of the block, and those that it has.
    pub fn by_block<'i>(
        &self,
        insts: &'i [Inst<'m>],
    ) -> impl Iterator<Item = (BlockIndex, &'i [Inst<'m>])> {
        let mut rest = insts;
        std::iter::from_fn(move || {
            let first = rest.first()?.offset;
            let behind = self.blocks.partition_point(|block| block.offset <= first);
            let end = self
                .blocks
                .get(behind)
                .map_or(WordOffset::END, |next| next.offset);
            let (here, after) = rest.split_at(rest.partition_point(|inst| inst.offset < end));
            rest = after;
            Some((BlockIndex::new(behind.checked_sub(1)?), here))
        })
    }
}

/// Returns true if `inst` is a barrier, an atomic, or works on a group.
pub fn synchronizes(inst: Inst<'_>) -> bool {
    grammar::shape(inst.opcode()).is_sync
}

/// Reads functions out of the stream of a module's instructions.
pub(super) struct FunctionReader<'m> {
    module: &'m Module<'m>,
    done: Vec<Function<'m>>,
    open: Option<Function<'m>>,
    block: Option<Block<'m>>,
    /// The instructions of the open block: a block takes as many as it has, in one allocation.
    insts: Vec<Inst<'m>>,
    /// Those among them that a list has.
    noted: Vec<Inst<'m>>,
    /// Branch and merge instructions of the open function's blocks.
    jumps: Vec<Inst<'m>>,
    /// Labels of the open function whose blocks have no terminator.
    unfinished: BTreeSet<Id>,
    /// An instruction outside of any block was reported for the open function: one report is
    /// enough.
    strayed: bool,
}

impl<'m> FunctionReader<'m> {
    pub(super) fn new(module: &'m Module<'m>) -> Self {
        FunctionReader {
            module,
            done: Vec::new(),
            open: None,
            block: None,
            insts: Vec::new(),
            noted: Vec::new(),
            jumps: Vec::new(),
            unfinished: BTreeSet::new(),
            strayed: false,
        }
    }

    /// Returns true if `inst` belongs to a function: it opens one or one is open.
    pub(super) fn takes(&self, inst: Inst<'_>) -> bool {
        self.open.is_some()
            || matches!(
                inst.op(),
                Some(
                    spirv::Op::Function
                        | spirv::Op::FunctionEnd
                        | spirv::Op::FunctionParameter
                        | spirv::Op::Label
                )
            )
    }

    /// Takes instructions out of `insts` that only have their place in the open block, as most
    /// have. The next one behind them, if there is one.
    pub(super) fn skip_plain(
        &mut self,
        insts: &mut impl Iterator<Item = Inst<'m>>,
    ) -> Option<Inst<'m>> {
        if self.block.is_none() {
            return insts.next();
        }
        let shapes = grammar::shapes();
        loop {
            let inst = insts.next()?;
            if !shapes.of(inst.opcode()).is_plain {
                return Some(inst);
            }
            self.insts.push(inst);
        }
    }

    /// Takes the next instruction.
    pub(super) fn read(&mut self, inst: Inst<'m>, report: &mut Report<'_>) {
        if let Err(diagnostic) = self.step(inst, report) {
            report.push(diagnostic.at_word(inst.offset));
        }
    }

    fn step(&mut self, inst: Inst<'m>, report: &mut Report<'_>) -> Result<(), Diagnostic> {
        use spirv::Op;
        match inst.op() {
            Some(Op::Function) => {
                self.close_block(report);
                self.close_function(inst.offset, report);
                self.open = Some(open_function(inst)?);
                self.strayed = false;
            }
            Some(Op::FunctionEnd) if self.open.is_none() => {
                return Err(malformed("OpFunctionEnd has no OpFunction"));
            }
            Some(Op::FunctionEnd) => {
                self.close_block(report);
                let function = self.open.take();
                self.finish(function, inst.offset, report);
            }
            Some(Op::FunctionParameter) => match &mut self.open {
                Some(function) if function.blocks.is_empty() && self.block.is_none() => function
                    .params
                    .extend(inst.result().zip(inst.result_type())),
                _ => {
                    return Err(malformed(
                        "OpFunctionParameter is not between OpFunction and the first block",
                    ));
                }
            },
            Some(Op::Label) if self.open.is_none() => {
                return Err(malformed("OpLabel is outside of a function"));
            }
            Some(Op::Label) => {
                self.close_block(report);
                self.insts.clear();
                self.noted.clear();
                self.block = inst.result().map(|label| Block {
                    label,
                    offset: inst.offset,
                    insts: Vec::new(),
                });
            }
            Some(Op::Line | Op::NoLine) => {}
            _ if self.module.is_debug_ext_inst(inst) => {}
            _ => return self.body(inst), // every other instruction stands in a block
        }
        Ok(())
    }

    fn body(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        match &self.block {
            Some(_) => {
                self.insts.push(inst);
                if !grammar::shape(inst.opcode()).is_plain {
                    self.noted.push(inst);
                }
            }
            None if self.strayed => {}
            None => {
                self.strayed = true;
                return Err(malformed(format!("{} is outside of a block", inst.name()))
                    .because("a block starts with OpLabel and ends with its terminator"));
            }
        }
        if is_terminator(inst)
            && let Some((mut block, function)) = self.block.take().zip(self.open.as_mut())
        {
            block.insts.clone_from(&self.insts);
            function.blocks.push(block);
            for inst in self.noted.drain(..) {
                let shape = grammar::shape(inst.opcode());
                if shape.is_jump {
                    self.jumps.push(inst);
                } else if shape.is_sync {
                    function.syncs.push(inst);
                } else if inst.op() == Some(Op::Phi) {
                    function.phis.push(inst);
                } else if called(inst).is_some() {
                    function.calls.push(inst);
                }
            }
        }
        Ok(())
    }

    /// Reports the open block, which has no terminator.
    fn close_block(&mut self, report: &mut Report<'_>) {
        if let Some(block) = self.block.take() {
            self.unfinished.insert(block.label);
            report.push(
                Diagnostic::error(
                    Code::MissingTerminator,
                    format!("block {} has no terminator", block.label),
                )
                .at_word(block.offset)
                .help("end it with a branch, OpReturn or OpUnreachable"),
            );
        }
    }

    /// Reports the open function, which has no OpFunctionEnd.
    fn close_function(&mut self, end: WordOffset, report: &mut Report<'_>) {
        if let Some(function) = self.open.take() {
            report.push(
                malformed(format!("the function {} has no OpFunctionEnd", function.id))
                    .at_word(function.offset),
            );
            self.finish(Some(function), end, report);
        }
    }

    fn finish(&mut self, function: Option<Function<'m>>, end: WordOffset, report: &mut Report<'_>) {
        let Some(mut function) = function else { return };
        function.end = end;
        self.check_targets(&function, report);
        self.jumps.clear();
        self.unfinished.clear();
        self.done.push(function);
    }

    /// Every branch and merge instruction names labels of its own function.
    fn check_targets(&self, function: &Function<'m>, report: &mut Report<'_>) {
        let own = function.offset..function.end;
        let is_block = |label: Id| {
            let def = self.module.definition(label);
            def.is_some_and(|def| {
                own.contains(&def) && self.module.opcode_at(def) == Op::Label as u16
            }) && !self.unfinished.contains(&label)
        };
        let entry = function.blocks.first().map(|block| block.label);
        for inst in &self.jumps {
            let merges = !is_terminator(*inst);
            for label in named_labels(self.module, *inst) {
                if !is_block(label) {
                    let message = format!(
                        "{} names {label}, which is not a block of its function",
                        inst.name()
                    );
                    report.push(
                        Diagnostic::error(Code::MissingTerminator, message).at_word(inst.offset),
                    );
                } else if !merges && Some(label) == entry {
                    let message = format!("{} branches to the entry block {label}", inst.name());
                    report.push(malformed(message).at_word(inst.offset).because(
                        "the first block of a function cannot be the target of a branch (SPIR-V 2.16.1)",
                    ));
                }
            }
            if report.is_full() {
                return;
            }
        }
    }

    /// All functions, once the module is at its end.
    pub(super) fn into_functions(mut self, report: &mut Report<'_>) -> Vec<Function<'m>> {
        self.close_block(report);
        let end = self.module.end();
        self.close_function(end, report);
        self.done
    }
}

/// Rejects `inst`, which is outside of functions, unless the layout of a module allows it there
/// (SPIR-V 2.4 and the extensions). The bodies of graphs (SPV_ARM_graph) are also outside.
pub(super) fn stands_outside(module: &Module<'_>, inst: Inst<'_>) -> Result<(), Diagnostic> {
    use spirv::Op;
    let Some(op) = inst.op() else { return Ok(()) };
    let fits = op.is_type()
        || op.is_constant()
        || op.is_annotation()
        || op.is_debug()
        || (Op::GraphConstantARM..=Op::GraphEndARM).contains(&op)
        || matches!(
            op,
            Op::Nop | Op::Undef | Op::Variable | Op::UntypedVariableKHR | Op::MemoryModel
                | Op::Capability | Op::ConditionalCapabilityINTEL
                | Op::Extension | Op::ConditionalExtensionINTEL | Op::ExtInstImport
                | Op::EntryPoint | Op::ConditionalEntryPointINTEL
                | Op::ExecutionMode | Op::ExecutionModeId
                | Op::ConstantPipeStorage | Op::ConstantFunctionPointerINTEL
                | Op::ConstantStringAMDX | Op::SpecConstantStringAMDX
                | Op::AliasDomainDeclINTEL | Op::AliasScopeDeclINTEL | Op::AliasScopeListDeclINTEL
                | Op::SamplerImageAddressingModeNV | Op::AsmTargetINTEL | Op::AsmINTEL
                // in bodies of graphs
                | Op::CompositeConstruct | Op::CompositeExtract
        )
        || matches!(op, Op::ExtInst | Op::ExtInstWithForwardRefsKHR)
            && !module.ext_set(inst).computes();
    if fits {
        return Ok(());
    }
    Err(
        malformed(format!("{} is outside of a function", inst.name()))
            .at_word(inst.offset)
            .because("only declarations, names and decorations can precede the functions"),
    )
}

fn malformed(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::MalformedFunction, message)
}

fn open_function(inst: Inst<'_>) -> Result<Function<'_>, Diagnostic> {
    let (Some(id), Some(result_type)) = (inst.result(), inst.result_type()) else {
        return Err(malformed("OpFunction has no result"));
    };
    Ok(Function {
        id,
        result_type,
        type_id: inst.id(1)?,
        params: Vec::new(),
        blocks: Vec::new(),
        calls: Vec::new(),
        phis: Vec::new(),
        syncs: Vec::new(),
        offset: inst.offset,
        end: inst.offset,
    })
}

/// The labels that `terminator` can branch to, in the order of its operands; repeated labels are
/// repeated.
pub fn targets<'m>(module: &Module<'m>, terminator: Inst<'m>) -> impl Iterator<Item = Id> {
    let is_jump = is_terminator(terminator) && grammar::shape(terminator.opcode()).is_jump;
    let named = is_jump.then(|| named_labels(module, terminator));
    named.into_iter().flatten()
}

/// The labels that the branch or merge instruction `jump` names.
fn named_labels<'m>(module: &Module<'m>, jump: Inst<'m>) -> impl Iterator<Item = Id> + use<'m> {
    let is_decided = matches!(jump.op(), Some(Op::BranchConditional | Op::Switch));
    module
        .ids(jump)
        .skip(usize::from(is_decided)) // the condition
        .map(|(_, id)| id)
}
