//! Rewrites one function with its calls to barrier functions replaced by the callees' bodies.
//!
//! A block with such calls is cut after each of them (a callee of one block needs no cut). What
//! belongs to a block as a whole is kept right: phis elsewhere name its last piece, a loop header's
//! OpLoopMerge stays in its first piece, where the back edge goes.

use super::code::Code;
use super::splice::{Callee, Destination, Shared, splice};
use crate::diagnostic::{Code as Problem, Diagnostic};
use crate::module::{Function, Id, Inst, WordOffset, callee as called};
use spirv::Op;
use std::collections::{BTreeMap, HashMap};

/// Words that all functions with inlined calls may have together: 16 MiB.
const MAX_WORDS: usize = 1 << 22;

/// Functions whose calls are expanded, by id.
pub(super) type Callees = BTreeMap<Id, Callee>;

/// Expands the calls of `function` to functions of `callees`. `used` counts the words of all
/// expanded functions.
pub(super) fn expand(
    shared: &mut Shared<'_, '_>,
    callees: &Callees,
    function: &Function<'_>,
    used: &mut usize,
) -> Result<Code, Diagnostic> {
    let mut caller = Caller {
        code: Code::default(),
        variables: Code::default(),
        last_piece: HashMap::new(),
        used,
    };
    let mut block = Vec::new();
    let mut in_blocks = false;
    for inst in shared
        .declarations
        .module
        .instructions_from(function.offset)
    {
        if inst.op() == Some(Op::FunctionEnd) {
            caller.block(shared, callees, &block)?;
            caller.copy(shared, inst);
            break;
        }
        if inst.op() == Some(Op::Label) {
            caller.block(shared, callees, &block)?;
            block.clear();
            in_blocks = true;
        }
        if in_blocks {
            block.push(inst);
        } else {
            caller.copy(shared, inst);
        }
    }
    *caller.used += caller.code.len() + caller.variables.len();
    caller.check_size(0, function.offset)?;
    Ok(caller.finish())
}

struct Caller<'u> {
    code: Code,
    /// Variables of callees.
    variables: Code,
    /// From the label of a block to the label of its last piece.
    last_piece: HashMap<u32, u32>,
    used: &'u mut usize,
}

impl Caller<'_> {
    fn copy(&mut self, shared: &Shared<'_, '_>, inst: Inst<'_>) {
        self.code.push_inst(shared.declarations.module, inst);
    }

    /// Copies a block: its label, what follows, and what stands before the next label.
    fn block(
        &mut self,
        shared: &mut Shared<'_, '_>,
        callees: &Callees,
        insts: &[Inst<'_>],
    ) -> Result<(), Diagnostic> {
        let callee = |inst: &Inst<'_>| called(*inst).and_then(|id| callees.get(&id));
        let mut cuts = Vec::new();
        for _ in insts
            .iter()
            .filter_map(callee)
            .filter(|callee| !callee.is_straight)
        {
            cuts.push(shared.writer.fresh()?.0);
        }
        let Some(first) = insts.first() else {
            return Ok(()); // what stands before the first label is no block
        };
        let label = first.result().map(|label| label.0).ok_or_else(|| {
            Diagnostic::bug("a block does not begin with a label").at_word(first.offset)
        })?;
        let mut loop_merge = None;
        if let Some(last) = cuts.last() {
            self.last_piece.insert(label, *last);
            loop_merge = insts
                .iter()
                .find(|inst| inst.op() == Some(Op::LoopMerge))
                .copied();
        }
        let mut cuts = cuts.into_iter();
        let mut line = None;
        for inst in insts {
            match inst.op() {
                Some(Op::Line) => line = Some(*inst),
                Some(Op::NoLine) => line = None,
                Some(Op::LoopMerge)
                    if loop_merge.is_none() && self.last_piece.contains_key(&label) =>
                {
                    continue;
                } // has moved
                _ => {} // neither changes what line is in force
            }
            let Some(callee) = callee(inst) else {
                if inst.op() == Some(Op::LoopMerge) {
                    loop_merge = None; // a malformed block may call after it
                }
                self.copy(shared, *inst);
                continue;
            };
            let mut after = 0;
            if !callee.is_straight {
                after = cuts.next().ok_or_else(|| {
                    Diagnostic::bug("a call has no block that follows it").at_word(inst.offset)
                })?;
                if let Some(merge) = loop_merge.take() {
                    self.move_loop_merge(shared, label, merge);
                }
            }
            self.check_size(callee.code.len(), inst.offset)?;
            let mut place = Destination {
                code: &mut self.code,
                variables: &mut self.variables,
                after,
                line,
            };
            splice(shared, callee, *inst, &mut place)?;
        }
        Ok(())
    }

    /// Puts the OpLoopMerge of the block `label` at the end of its first piece. A block that is its
    /// own continue target has its back edge in its last piece, which becomes the continue target.
    fn move_loop_merge(&mut self, shared: &Shared<'_, '_>, label: u32, merge: Inst<'_>) {
        let mut words = merge.words.to_vec();
        if let (Some(target), Some(last)) = (words.get_mut(2), self.last_piece.get(&label))
            && *target == label
        {
            *target = *last;
        }
        let ids = shared
            .declarations
            .module
            .ids(merge)
            .map(|(position, _)| position);
        self.code.push(&words, merge.offset, ids);
    }

    fn check_size(&self, more: usize, at: WordOffset) -> Result<(), Diagnostic> {
        if *self.used + self.code.len() + more > MAX_WORDS {
            return Err(Diagnostic::error(
                Problem::ModuleTooLarge,
                "the functions that contain barriers become too large when they are inlined",
            )
            .at_word(at)
            .because(format!(
                "the limit for all of them together is {MAX_WORDS} words"
            ))
            .help("call them in fewer places, or move the barriers out of them"));
        }
        Ok(())
    }

    /// Puts the variables at the start of the first block and lets phis name the last pieces of
    /// blocks.
    fn finish(self) -> Code {
        let mut done = if self.variables.len() == 0 {
            self.code
        } else {
            with_variables(&self.code, &self.variables)
        };
        // Word 3 is the first operand of OpPhi. Values are no labels, so a rename cannot hit them.
        done.rename(Op::Phi, 3, |id| self.last_piece.get(&id).copied());
        done
    }
}

/// `code` with `variables` behind its first label.
fn with_variables(code: &Code, variables: &Code) -> Code {
    let mut done = Code::default();
    let mut variables = Some(variables);
    for item in code.items() {
        done.push(item.words, item.origin, item.ids());
        if item.inst().op() == Some(Op::Label)
            && let Some(variables) = variables.take()
        {
            variables
                .items()
                .for_each(|item| done.push(item.words, item.origin, item.ids()));
        }
    }
    done
}
