//! Moves instructions from before arrives and from after waits into the windows. Arrives and waits
//! stay in place; `move-split-barriers` runs first.
//!
//! An instruction goes down over an arrive where the arrive could go up over it, and up over a wait
//! where the wait could come down over it ([`crate::analysis::phases`]). On its way it passes
//! instructions that stay: none of them may use its result, or make what it uses, and their
//! accesses may not conflict with its own, in memory of the workgroup and above or in variables of
//! the invocation. It goes within a block, and between blocks that control comes to equally often,
//! past all that stands between them. Loads, stores and copies move, addresses, arithmetic, and
//! extended instructions of GLSL and OpenCL; nothing that is volatile, and nothing that works on a
//! group. No half of the workgroup's barriers is passed but the one.
//!
//! What moves makes values live at the half that were not. It stays when more than
//! [`Fill::most_live`] words of results would be live there, in 32-bit words for each invocation,
//! and more than before. Variables of the class Function are not counted.
//!
//! Pairs are taken in the order of the module, each with its wait's side before its arrive's, until
//! nothing moves. Two checks follow that share nothing with the walk: `still_ordered` asks for the
//! order that barriers give, `check.rs` for that of the program.

mod check;
mod facts;
mod walk;

use super::edit::Edit;
use super::inlined::{entries, inlined};
use super::move_split_barriers::{look, prove};
use super::operands::is_split;
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::dominance::PostDominators;
use crate::analysis::phases::{Aliasing, Effects};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Constants, Declarations, Module, SpecValues};
use facts::Facts;
use walk::{Filled, Filling};

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let PassOptions::Fill(fill) = *options else {
        return Err(Diagnostic::bug("the pass has no options for filling windows").into());
    };
    if !module.instructions().any(is_split) {
        return Ok(None);
    }
    inlined(module, declarations, |declarations| {
        let mut diagnostics = Diagnostics::new();
        let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
        let mut edit = Edit::new(declarations);
        for (entry, function) in entries(declarations) {
            let (body, cfg) = look(
                declarations,
                &constants,
                entry,
                function,
                fill.all_memory,
                &mut diagnostics,
            )?;
            let effects = Effects::analyze(declarations, &constants, function, Aliasing::Possible);
            let post = PostDominators::analyze(&cfg);
            let facts = Facts::lookup(declarations, &constants, function, &effects, &post);
            let filled = Filling::analyze(&body, &cfg, &facts, fill.most_live).run();
            prove(&body, &filled.body, &cfg)?;
            check::program_order(&body, &filled.body, &filled.moved, &cfg, &facts)?;
            write(&mut edit, &filled)?;
        }
        edit.finish()
    })
}

/// Notes the changes that lead to where instructions were moved.
fn write(edit: &mut Edit<'_, '_>, filled: &Filled) -> Result<(), Diagnostic> {
    for block in filled.body.blocks.values() {
        let mut waiting = Vec::new();
        for item in block {
            if filled.moved.contains(&item.offset) {
                waiting.push(item.offset);
                continue;
            }
            for offset in waiting.drain(..) {
                let inst = edit.module().at(offset);
                let Some((op, words)) = inst.and_then(|inst| Some((inst.op()?, inst.words))) else {
                    return Err(
                        Diagnostic::bug("the moved word is not an instruction").at_word(offset)
                    );
                };
                edit.remove(offset);
                edit.before_from(item.offset, offset, op, words.get(1..).unwrap_or(&[]))?;
            }
        }
        if let Some(offset) = waiting.first() {
            return Err(Diagnostic::bug("a block ends with the moved instruction").at_word(*offset));
        }
    }
    Ok(())
}
