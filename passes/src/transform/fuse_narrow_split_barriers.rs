//! Makes one OpControlBarrier of each pair of the workgroup whose window has little work in it: a
//! narrow window hides nothing, and a pair costs registers and instructions.
//!
//! A pair is one arrive and one wait; those with more of either stay, whatever is in their windows.
//! The barrier stands at the wait. All else is as in `fuse-split-barriers`.

use super::fuse_split_barriers::fuse;
use super::inlined::inlined;
use super::operands::is_split;
use super::options::FuseAt;
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Declarations, Module, Scope};

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let PassOptions::Narrow(least) = *options else {
        return Err(Diagnostic::bug("the pass has no minimum for the work of a window").into());
    };
    if !module.instructions().any(is_split) {
        return Ok(None);
    }
    inlined(module, declarations, |declarations| {
        fuse(declarations, FuseAt::Wait, |pair| {
            let is_simple = pair.arrives.len() == 1 && pair.waits.len() == 1;
            pair.scope == Scope::Workgroup
                && is_simple
                && pair.operations(declarations.module) < least as usize
        })
    })
}
