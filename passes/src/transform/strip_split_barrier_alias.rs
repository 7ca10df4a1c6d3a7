//! Leaves one alias of the split-barrier extension: SPV_EXT_split_barrier or
//! SPV_INTEL_split_barrier.
//!
//! Numbers of capability and instructions are the same under both names, so only the OpExtension
//! string tells them apart, and consumers that look at the string see two extensions. After the
//! pass a module that has the capability, the instructions or either string has the wanted string
//! once, and the capability once if it has the instructions or had the capability.

use super::edit::{Edit, string};
use super::operands::{CAPABILITY, EXTENSION_EXT, EXTENSION_INTEL, is_split};
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{Declarations, Module, SplitBarrierExtension};
use spirv::Op;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let PassOptions::Extension(extension) = *options else {
        return Err(Diagnostic::bug("the pass has no alias to keep").into());
    };
    let wanted = match extension {
        SplitBarrierExtension::Ext => EXTENSION_EXT,
        SplitBarrierExtension::Intel => EXTENSION_INTEL,
    };
    let mut edit = Edit::new(declarations);
    let (mut strings, mut capabilities) = (0, 0);
    for inst in module.instructions() {
        match inst.op() {
            Some(Op::Capability) if inst.operand(0) == Ok(CAPABILITY) => {
                capabilities += 1;
                if capabilities > 1 {
                    edit.remove(inst.offset);
                }
            }
            Some(Op::Extension)
                if [EXTENSION_EXT, EXTENSION_INTEL].contains(&inst.string(0).as_str()) =>
            {
                strings += 1;
                if strings > 1 {
                    edit.remove(inst.offset);
                } else {
                    edit.replace(inst.offset, Op::Extension, &string(wanted))?;
                }
            }
            Some(Op::Function) => break,
            _ => {} // neither
        }
    }
    let is_used = module.instructions().any(is_split);
    if is_used && capabilities == 0 {
        edit.capability(CAPABILITY)?;
    }
    if (is_used || capabilities > 0) && strings == 0 {
        edit.extension(wanted)?;
    }
    edit.finish()
}
