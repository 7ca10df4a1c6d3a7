//! Definitions dominate uses, and OpPhi has one entry for each predecessor.

use super::super::{Check, Context, Rule};
use crate::analysis::cfg::Cfg;
use crate::analysis::dominance::Dominators;
use crate::diagnostic::{Code, Diagnostic};
use crate::module::report::Report;
use crate::module::{BlockIndex, BlockMap, Constant, Function, Id, Inst, WordOffset};
use spirv::Op;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Definitions dominate their uses.
pub(super) const DOMINANCE: Rule = Rule {
    code: Code::UndominatedUse,
    vuid: None,
    text: include_str!("explain/SB0190.md"),
    check: Check::Module(|context, to| {
        let mut report = Report::new(to);
        for (function, cfg) in context.functions().zip(context.cfgs()) {
            Uses::analyze(context, function, cfg).check(&mut report);
        }
    }),
};

/// An OpPhi has one parent for each edge into its block.
pub(super) const PHI_PARENTS: Rule = Rule {
    code: Code::PhiParents,
    vuid: None,
    text: include_str!("explain/SB0191.md"),
    check: Check::Module(|context, to| {
        let mut report = Report::new(to);
        for (function, cfg) in context.functions().zip(context.cfgs()) {
            for (index, phis) in function.by_block(&function.phis) {
                if !cfg.is_reachable(index) {
                    continue;
                }
                let label = cfg.label(index);
                let from = cfg.preds(index).iter().map(|from| cfg.label(*from));
                let from = from.collect();
                for phi in phis {
                    check_parents(context, *phi, label, &from, &mut report);
                    if report.is_full() {
                        return;
                    }
                }
            }
        }
    }),
};

/// OpPhi instructions come first in their block.
pub(super) const PHI_PLACE: Rule = Rule {
    code: Code::MisplacedPhi,
    vuid: None,
    text: include_str!("explain/SB0192.md"),
    check: Check::Module(|context, to| {
        let mut report = Report::new(to);
        for function in &context.declarations.functions {
            for (index, phis) in function.by_block(&function.phis) {
                let insts = function.block(index).map(|block| &block.insts);
                let leading = insts
                    .into_iter()
                    .flatten()
                    .take_while(|inst| is_phi(**inst));
                let fit = if index == BlockIndex::ENTRY {
                    0
                } else {
                    leading.count()
                };
                for phi in phis.iter().skip(fit) {
                    let (message, help) = if index == BlockIndex::ENTRY {
                        (
                            "OpPhi is in the first block of its function",
                            "remove it: the first block has no predecessors",
                        )
                    } else {
                        (
                            "OpPhi follows an instruction that is not an OpPhi",
                            "move it to the start of its block",
                        )
                    };
                    report.push(PHI_PLACE.error(context, *phi, message).help(help));
                }
            }
        }
    }),
};

fn is_phi(inst: Inst<'_>) -> bool {
    inst.op() == Some(Op::Phi)
}

/// The parents of `phi`, in block `label`, are the predecessors `from`, each with one value. Naming
/// one again with an equal value is a warning, since the value is clear.
fn check_parents(
    context: &Context<'_, '_>,
    phi: Inst<'_>,
    label: Id,
    from: &BTreeSet<Id>,
    report: &mut Report<'_>,
) {
    let (pairs, rest) = phi.operands().as_chunks::<2>();
    let wrong = |message: String| {
        PHI_PARENTS
            .error(context, phi, message)
            .help("give OpPhi one value and one parent for each predecessor of its block")
    };
    if !rest.is_empty() {
        report.push(wrong("the last value of OpPhi has no parent".to_owned()));
    }
    let mut parents: BTreeMap<Id, Id> = BTreeMap::new();
    for (operand, [value, parent]) in (1..).step_by(2).zip(pairs) {
        let parent = Id(*parent);
        if !from.contains(&parent) {
            let [parent, label] = [parent, label].map(|id| context.show(id));
            let message =
                format!("OpPhi has the parent {parent}, which does not branch to {label}");
            report.push(wrong(message).at_operand(operand));
        } else if let Some(first) = parents.get(&parent).copied() {
            let (value, shown) = (Id(*value), context.show(parent));
            let problem = if is_equal(context, first, value) {
                let message =
                    format!("OpPhi lists the parent {shown} more than once, with the same value");
                PHI_PARENTS
                    .warning(context, phi, message)
                    .because("SPIR-V requires one entry for each predecessor; the repeated entries are equal and count as one")
                    .help("remove the repeated entry")
            } else {
                let [first, value] = [first, value].map(|id| context.show(id));
                wrong(format!(
                    "OpPhi has the parent {shown} with two values, {first} and {value}"
                ))
            };
            report.push(problem.at_operand(operand));
        } else {
            parents.insert(parent, Id(*value));
        }
        if report.is_full() {
            return;
        }
    }
    if let Some(missing) = from.iter().find(|from| !parents.contains_key(from)) {
        let shown = context.show(*missing);
        report.push(wrong(format!("OpPhi has no value for the parent {shown}")));
    }
}

/// Returns true if `a` and `b` are one id, or scalar constants of one type with one value in every
/// run.
fn is_equal(context: &Context<'_, '_>, a: Id, b: Id) -> bool {
    let (declarations, constants) = (context.declarations, context.constants);
    let scalar = |id: Id| {
        let value = constants.get(id).filter(|_| !constants.is_default(id))?;
        match value {
            Constant::Bool(_) | Constant::Int { .. } | Constant::Float { .. } => {
                Some((declarations.type_of(id)?, value))
            }
            Constant::Composite(_) | Constant::Null | Constant::Undef => None,
        }
    };
    a == b || scalar(a).is_some_and(|a| scalar(b) == Some(a))
}

/// The uses of a function's ids. Blocks that control cannot reach are left out: nothing is executed
/// there.
struct Uses<'u, 'm> {
    context: &'u Context<'u, 'm>,
    function: &'u Function<'m>,
    cfg: &'u Cfg,
    dominators: Dominators,
    /// The word offset of each block, ascending.
    starts: BlockMap<WordOffset>,
    /// The words of all blocks.
    own: Range<WordOffset>,
}

/// Where an id is used: the block, where it begins, and the word of the instruction.
#[derive(Copy, Clone)]
struct UseSite {
    block: BlockIndex,
    start: WordOffset,
    word: WordOffset,
}

impl<'u, 'm> Uses<'u, 'm> {
    fn analyze(context: &'u Context<'u, 'm>, function: &'u Function<'m>, cfg: &'u Cfg) -> Self {
        let dominators = Dominators::analyze(cfg);
        Uses {
            context,
            function,
            cfg,
            dominators,
            starts: function.blocks.iter().map(|block| block.offset).collect(),
            own: function
                .blocks
                .first()
                .map_or(Range::default(), |first| first.offset..function.end),
        }
    }

    fn check(&self, report: &mut Report<'_>) {
        for (block, code) in self.function.numbered() {
            if !self.cfg.is_reachable(block) {
                continue;
            }
            for inst in &code.insts {
                if is_phi(*inst) {
                    self.check_phi(*inst, report);
                } else {
                    let (start, word) = (code.offset, inst.offset);
                    self.check_inst(*inst, UseSite { block, start, word }, report);
                }
                if report.is_full() {
                    return;
                }
            }
        }
    }

    fn check_inst(&self, inst: Inst<'_>, here: UseSite, report: &mut Report<'_>) {
        let module = self.context.declarations.module;
        let head = head(inst);
        if module.all_ids(inst, |word, id| word <= head || self.is_behind(id, here)) {
            return;
        }
        for (word, id) in module.ids(inst).filter(|(word, _)| *word > head) {
            if !self.is_behind(id, here) {
                let operand = module
                    .operands(inst)
                    .filter(|operand| operand.index > head)
                    .position(|operand| operand.index == word);
                let message = format!(
                    "{} uses {}, which is not defined on every path to this use",
                    inst.name(),
                    self.context.show(id)
                );
                let why = self.why_missed(id, here);
                report.push(self.error(inst, operand, message, why));
            }
        }
    }

    /// A value of an OpPhi is used at the end of its parent; parents that control cannot reach
    /// bring none.
    fn check_phi(&self, phi: Inst<'_>, report: &mut Report<'_>) {
        let (pairs, _) = phi.operands().as_chunks::<2>();
        for (operand, [value, parent]) in (0..).step_by(2).zip(pairs) {
            let end = self
                .cfg
                .index_of(Id(*parent))
                .filter(|block| self.cfg.is_reachable(*block))
                .and_then(|block| {
                    Some(UseSite {
                        block,
                        start: *self.starts.get(block)?,
                        word: WordOffset::END,
                    })
                });
            if let Some(end) = end.filter(|end| !self.is_behind(Id(*value), *end)) {
                let message = format!(
                    "OpPhi uses {}, which is not defined on every path to the end of its parent {}",
                    self.context.show(Id(*value)),
                    self.context.show(Id(*parent))
                );
                let why = self.why_missed(Id(*value), end);
                report.push(self.error(phi, Some(operand), message, why));
            }
        }
    }

    /// Returns true if control cannot be at `place` without having passed the definition of `id`,
    /// or no block defines it. Most definitions are declarations, or stand further up in the block.
    fn is_behind(&self, id: Id, place: UseSite) -> bool {
        let Some(def) = self.context.declarations.module.definition(id) else {
            return true;
        };
        !self.own.contains(&def)
            || (place.start..place.word).contains(&def) && place.word != WordOffset::END
            || self.is_passed(def, place)
    }

    /// Returns true if the word `def` of the function is a label, or is on every path to `place`.
    fn is_passed(&self, def: WordOffset, place: UseSite) -> bool {
        let at = self.block_at(def);
        self.starts.get(at) == Some(&def)
            || self.dominators.dominates(at, place.block) && def < place.word
    }

    /// The block that the word `def` of the function's blocks belongs to.
    fn block_at(&self, def: WordOffset) -> BlockIndex {
        if self
            .starts
            .get(BlockIndex::new(1))
            .is_none_or(|second| def < *second)
        {
            return BlockIndex::ENTRY; // with the function's variables
        }
        let behind = self
            .starts
            .values()
            .as_slice()
            .partition_point(|start| *start <= def);
        BlockIndex::new(behind.saturating_sub(1))
    }

    /// Why control can be at `place` without having passed the definition of `id`.
    #[cold]
    fn why_missed(&self, id: Id, place: UseSite) -> String {
        let def = self.context.declarations.module.definition(id);
        let at = self.block_at(def.unwrap_or_default());
        let [defined, used] =
            [at, place.block].map(|block| self.context.show(self.cfg.label(block)));
        if !self.dominators.dominates(at, place.block) {
            format!("block {defined}, which defines it, does not dominate block {used}")
        } else if at == place.block {
            format!("block {defined} defines it later")
        } else {
            format!(
                "block {defined}, which defines it, dominates block {used} but follows it in the module"
            )
        }
    }

    fn error(
        &self,
        inst: Inst<'_>,
        operand: Option<usize>,
        message: String,
        why: String,
    ) -> Diagnostic {
        let error = DOMINANCE
            .error(self.context, inst, message)
            .because(why)
            .help("define it in a block that dominates the use, or merge its values with OpPhi");
        match operand {
            Some(operand) => error.at_operand(operand),
            None => error,
        }
    }
}

/// The last word of `inst` that is not an operand: its result, its result type, or its first word.
fn head(inst: Inst<'_>) -> usize {
    usize::from(inst.result_type().is_some()) + usize::from(inst.result().is_some())
}
