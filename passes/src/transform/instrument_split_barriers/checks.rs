//! The variables and functions of the checks.

use crate::diagnostic::Diagnostic;
use crate::transform::built_ins::Input;
use crate::transform::edit::{Edit, string};
use spirv::{BuiltIn, Capability, Decoration, Op, StorageClass};

/// What an invocation's last arrive or wait of a scope was: none (0), an arrive, a wait.
const ARRIVED: u32 = 1;
const WAITED: u32 = 2;

/// Words of the record.
const WORDS: u32 = 7;

/// The record and the function that fills it in.
pub(super) struct Record {
    /// The buffer.
    pub(super) variable: u32,
    /// Built-in variables that the function reads.
    pub(super) inputs: [u32; 2],
    /// void (uint site, uint rule).
    function: u32,
}

impl Record {
    pub(super) fn declare(
        edit: &mut Edit<'_, '_>,
        set: u32,
        binding: u32,
    ) -> Result<Record, Diagnostic> {
        let uint = edit.uint()?;
        let mut members = vec![0];
        members.extend((0..WORDS).map(|_| uint));
        let block = edit.global(Op::TypeStruct, &members, 0)?;
        for word in 0..WORDS {
            edit.annotation(
                Op::MemberDecorate,
                &[block, word, Decoration::Offset as u32, 4 * word],
            )?;
        }
        // Before 1.3 a storage buffer is a Uniform variable of a type decorated BufferBlock.
        let is_old = edit.module().header().version < 0x0001_0300;
        let (kind, class) = if is_old {
            (Decoration::BufferBlock, StorageClass::Uniform)
        } else {
            (Decoration::Block, StorageClass::StorageBuffer)
        };
        edit.annotation(Op::Decorate, &[block, kind as u32])?;
        let pointer = edit.type_of(Op::TypePointer, &[class as u32, block])?;
        let word = edit.type_of(Op::TypePointer, &[class as u32, uint])?;
        let variable = edit.global(Op::Variable, &[pointer, 0, class as u32], 1)?;
        edit.annotation(
            Op::Decorate,
            &[variable, Decoration::DescriptorSet as u32, set],
        )?;
        edit.annotation(
            Op::Decorate,
            &[variable, Decoration::Binding as u32, binding],
        )?;
        let mut name = vec![variable];
        name.extend(string("splitbar_violation"));
        edit.annotation_name(&name)?;
        let index = Input::new(edit, BuiltIn::LocalInvocationIndex, 1)?;
        let group = Input::new(edit, BuiltIn::WorkgroupId, 3)?;
        let function = write(edit, variable, word, index, group)?;
        Ok(Record {
            variable,
            inputs: [index.variable, group.variable],
            function,
        })
    }
}

/// void write(uint site, uint rule) { if (atomicCompSwap(record.flag, 0, 1) == 0) { fill in } }
fn write(
    edit: &mut Edit<'_, '_>,
    variable: u32,
    word: u32,
    index: Input,
    group: Input,
) -> Result<u32, Diagnostic> {
    let uint = edit.uint()?;
    let void = edit.type_of(Op::TypeVoid, &[])?;
    let boolean = edit.type_of(Op::TypeBool, &[])?;
    let ty = edit.type_of(Op::TypeFunction, &[void, uint, uint])?;
    // The Vulkan memory model has the scope Device only with a capability of its own; QueueFamily
    // comes with the model.
    let has_model = edit
        .declarations
        .has_capability(Capability::VulkanMemoryModel);
    let scope = edit.number(if has_model { 5 } else { 1 })?;
    let (zero, one) = (edit.number(0)?, edit.number(1)?);
    let [function, site, rule, entry, flag, was, is_first, first, end] = ids(edit)?;
    edit.function(Op::Function, &[void, function, 0, ty])?;
    edit.function(Op::FunctionParameter, &[uint, site])?;
    edit.function(Op::FunctionParameter, &[uint, rule])?;
    edit.function(Op::Label, &[entry])?;
    edit.function(Op::AccessChain, &[word, flag, variable, zero])?;
    edit.function(
        Op::AtomicCompareExchange,
        &[uint, was, flag, scope, zero, zero, one, zero],
    )?;
    edit.function(Op::IEqual, &[boolean, is_first, was, zero])?;
    edit.function(Op::SelectionMerge, &[end, 0])?;
    edit.function(Op::BranchConditional, &[is_first, first, end])?;
    edit.function(Op::Label, &[first])?;
    let mut values = vec![site, rule, index.load(edit)?];
    values.extend(group.load_three(edit)?);
    for (value, at) in values.into_iter().zip(1..) {
        let at = edit.number(at)?;
        let [address] = ids(edit)?;
        edit.function(Op::AccessChain, &[word, address, variable, at])?;
        edit.function(Op::Store, &[address, value])?;
    }
    edit.function(Op::Branch, &[end])?;
    edit.function(Op::Label, &[end])?;
    edit.function(Op::Return, &[])?;
    edit.function(Op::FunctionEnd, &[])?;
    Ok(function)
}

/// A variable that holds what the last arrive or wait of a scope was.
pub(super) fn state(edit: &mut Edit<'_, '_>) -> Result<u32, Diagnostic> {
    let uint = edit.uint()?;
    let zero = edit.number(0)?;
    let pointer = edit.type_of(Op::TypePointer, &[StorageClass::Private as u32, uint])?;
    edit.global(
        Op::Variable,
        &[pointer, 0, StorageClass::Private as u32, zero],
        1,
    )
}

/// A function void (uint site) that checks the rule of an arrive, or the two of a wait, and notes
/// that it was executed.
pub(super) fn check(
    edit: &mut Edit<'_, '_>,
    record: &Record,
    state: u32,
    is_arrive: bool,
) -> Result<u32, Diagnostic> {
    let uint = edit.uint()?;
    let void = edit.type_of(Op::TypeVoid, &[])?;
    let boolean = edit.type_of(Op::TypeBool, &[])?;
    let ty = edit.type_of(Op::TypeFunction, &[void, uint])?;
    let arrived = edit.number(ARRIVED)?;
    let next = edit.number(if is_arrive { ARRIVED } else { WAITED })?;
    let zero = edit.number(0)?;
    let [r13559, r13560, r13561] = [
        edit.number(13_559)?,
        edit.number(13_560)?,
        edit.number(13_561)?,
    ];
    let [function, site, entry, was, is_wrong, wrong, end, call] = ids(edit)?;
    edit.function(Op::Function, &[void, function, 0, ty])?;
    edit.function(Op::FunctionParameter, &[uint, site])?;
    edit.function(Op::Label, &[entry])?;
    edit.function(Op::Load, &[uint, was, state])?;
    edit.function(Op::Store, &[state, next])?;
    edit.function(
        if is_arrive { Op::IEqual } else { Op::INotEqual },
        &[boolean, is_wrong, was, arrived],
    )?;
    edit.function(Op::SelectionMerge, &[end, 0])?;
    edit.function(Op::BranchConditional, &[is_wrong, wrong, end])?;
    edit.function(Op::Label, &[wrong])?;
    let rule = if is_arrive {
        r13561
    } else {
        let [is_first, rule] = ids(edit)?;
        edit.function(Op::IEqual, &[boolean, is_first, was, zero])?;
        edit.function(Op::Select, &[uint, rule, is_first, r13559, r13560])?;
        rule
    };
    edit.function(Op::FunctionCall, &[void, call, record.function, site, rule])?;
    edit.function(Op::Branch, &[end])?;
    edit.function(Op::Label, &[end])?;
    edit.function(Op::Return, &[])?;
    edit.function(Op::FunctionEnd, &[])?;
    Ok(function)
}

fn ids<const N: usize>(edit: &mut Edit<'_, '_>) -> Result<[u32; N], Diagnostic> {
    let mut ids = [0; N];
    for id in &mut ids {
        *id = edit.fresh()?;
    }
    Ok(ids)
}
