//! Keeps values that LLVM calls free in the blocks that choose them. StructurizeCFG moves such a
//! value (a bitcast, an element of a vector) from the block in front of a phi to where the paths
//! divide, and drops the phi's own entry for it. Where several paths lead to that block, one of
//! them then brings nothing: the phi has what a register happened to hold (docs/llvm.md). Behind
//! an empty assembly statement the value is not free any more.

use crate::codegen::{self, llvm_failed};
use inkwell::basic_block::BasicBlock;
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::{
    BasicValue, BasicValueEnum, CallSiteValue, FunctionValue, InstructionOpcode, InstructionValue,
    Operand, PhiValue,
};
use splitbar_passes::analysis::cfg::Cfg;
use splitbar_passes::analysis::dominance::Dominators;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::BlockIndex;
use std::collections::HashMap;
use std::num::NonZeroU32;

/// Puts the statement behind every free value that a block with several predecessors gives to a
/// phi. To be called on AMDGPU when the optimiser has run.
///
/// # Errors
/// `LlvmFailed` when LLVM cannot build it.
pub(crate) fn keep<'c>(context: &'c Context, module: &Module<'c>) -> Result<(), Diagnostics> {
    let builder = context.create_builder();
    for function in module.get_functions() {
        // A branch that leads to a phi several times has as many entries, which must be one value.
        let mut made = HashMap::new();
        for (phi, index, value, block) in movable(function) {
            if let Some(kept) = made.get(&(value, block)) {
                phi.as_instruction().set_operand(index, *kept);
                continue;
            }
            let Some(end) = block.get_terminator() else {
                debug_assert!(false, "LLVM verified a block without a terminator");
                continue;
            };
            builder.position_before(&end);
            let kept = keep_value(context, &builder, value).map_err(|problem| {
                llvm_failed("a phi's value cannot be hidden", &problem.to_string())
            })?;
            made.insert((value, block), kept);
            phi.as_instruction().set_operand(index, kept);
        }
    }
    Ok(())
}

/// A phi, the number of one of its entries, and the value and block of that entry.
type Entry<'c> = (PhiValue<'c>, u32, BasicValueEnum<'c>, BasicBlock<'c>);

/// The entries whose value LLVM may move.
fn movable<'c>(function: FunctionValue<'c>) -> Vec<Entry<'c>> {
    let phis = function
        .get_basic_block_iter()
        .flat_map(|block| block.get_instructions())
        .filter_map(|instruction| PhiValue::try_from(instruction).ok());
    let mut entries: Vec<Entry<'c>> = phis
        .flat_map(|phi| {
            (0..)
                .zip(phi.get_incomings())
                .map(move |(index, (value, block))| (phi, index, value, block))
        })
        .filter(|(_, _, value, _)| value.as_instruction_value().is_some_and(is_free))
        .collect();
    if !entries.is_empty() {
        let shape = Shape::new(function);
        entries.retain(|(phi, _, _, block)| {
            let to = phi.as_instruction().get_parent();
            to.is_some_and(|to| shape.is_shared(*block, to))
        });
    }
    entries
}

/// Returns true if the code generator may take the instruction for one that costs nothing.
fn is_free(instruction: InstructionValue<'_>) -> bool {
    match instruction.get_opcode() {
        InstructionOpcode::BitCast
        | InstructionOpcode::AddrSpaceCast
        | InstructionOpcode::IntToPtr
        | InstructionOpcode::PtrToInt
        | InstructionOpcode::Trunc
        | InstructionOpcode::ZExt
        | InstructionOpcode::SExt
        | InstructionOpcode::FPExt
        | InstructionOpcode::FPTrunc
        | InstructionOpcode::FNeg
        | InstructionOpcode::Freeze
        | InstructionOpcode::GetElementPtr
        | InstructionOpcode::ExtractElement
        | InstructionOpcode::InsertElement
        | InstructionOpcode::ShuffleVector
        | InstructionOpcode::ExtractValue
        | InstructionOpcode::InsertValue => true,
        InstructionOpcode::Call => CallSiteValue::try_from(instruction)
            .ok()
            .and_then(|call| call.get_called_fn_value())
            .is_some_and(|called| called.get_name().to_bytes().starts_with(b"llvm.fabs")),
        _ => false,
    }
}

/// The control flow of a function.
struct Shape<'c> {
    blocks: HashMap<BasicBlock<'c>, BlockIndex>,
    cfg: Cfg,
    dominators: Dominators,
}

impl<'c> Shape<'c> {
    fn new(function: FunctionValue<'c>) -> Self {
        let numbers = (0..).map(BlockIndex::new);
        let blocks: HashMap<_, _> = function.get_basic_block_iter().zip(numbers).collect();
        let number = |block: &BasicBlock<'c>| blocks.get(block).map(|number| number.index());
        let edges: Vec<_> = function
            .get_basic_block_iter()
            .flat_map(|block| next(block).map(move |next| (block, next)))
            .filter_map(|(block, next)| number(&block).zip(number(&next)))
            .collect();
        let cfg = Cfg::from_edges(blocks.len(), &edges);
        let dominators = Dominators::analyze(&cfg);
        Shape {
            blocks,
            cfg,
            dominators,
        }
    }

    /// Returns true if several edges lead to `block`, or to the beginning of the straight line that
    /// it ends, of which LLVM makes one block, and `to` is not the head of a loop. (One edge into
    /// such a block comes from inside of the loop: no branch leads to both of its predecessors.)
    fn is_shared(&self, block: BasicBlock<'c>, to: BasicBlock<'c>) -> bool {
        let (Some(block), Some(to)) = (self.blocks.get(&block), self.blocks.get(&to)) else {
            return false;
        };
        let mut first = *block;
        while let [before] = self.cfg.preds(first)
            && self.cfg.succs(*before).len() == 1
            && before != block
        {
            first = *before;
        }
        let is_head = || {
            let mut before = self.cfg.preds(*to).iter();
            before.any(|before| self.dominators.dominates(*to, *before))
        };
        self.cfg.preds(first).len() > 1 && !is_head()
    }
}

/// The blocks that follow a block.
fn next<'c>(block: BasicBlock<'c>) -> impl Iterator<Item = BasicBlock<'c>> {
    let operands = block
        .get_terminator()
        .into_iter()
        .flat_map(|end| end.get_operands());
    operands.flatten().filter_map(Operand::block)
}

/// The value, its first word behind an empty assembly statement.
fn keep_value<'c>(
    context: &'c Context,
    builder: &Builder<'c>,
    value: BasicValueEnum<'c>,
) -> Result<BasicValueEnum<'c>, BuilderError> {
    let again = |part| keep_value(context, builder, part);
    match value {
        BasicValueEnum::IntValue(number) => {
            let (ty, word) = (number.get_type(), context.i32_type());
            let words = ty.get_bit_width().div_ceil(32);
            let width = NonZeroU32::new(words * 32)
                .and_then(|bits| context.custom_width_int_type(bits).ok());
            let width = width.ok_or(BuilderError::BitwidthError)?;
            let wide = builder.build_int_z_extend_or_bit_cast(number, width, "")?;
            let parts = builder
                .build_bit_cast(wide, word.vec_type(words), "")?
                .into_vector_value();
            let first = builder.build_extract_element(parts, word.const_zero(), "")?;
            let first = codegen::hide(context, builder, first)?;
            let parts = builder.build_insert_element(parts, first, word.const_zero(), "")?;
            let wide = builder.build_bit_cast(parts, width, "")?.into_int_value();
            Ok(builder.build_int_truncate_or_bit_cast(wide, ty, "")?.into())
        }
        BasicValueEnum::FloatValue(number) => {
            let ty = number.get_type();
            let bits = NonZeroU32::new(ty.get_bit_width())
                .and_then(|bits| context.custom_width_int_type(bits).ok());
            let bits = bits.ok_or(BuilderError::BitwidthError)?;
            let kept = again(builder.build_bit_cast(number, bits, "")?)?;
            builder.build_bit_cast(kept, ty, "")
        }
        BasicValueEnum::PointerValue(pointer) => {
            let number = builder.build_ptr_to_int(pointer, context.i64_type(), "")?;
            let kept = again(number.into())?.into_int_value();
            Ok(builder
                .build_int_to_ptr(kept, pointer.get_type(), "")?
                .into())
        }
        BasicValueEnum::VectorValue(vector) => {
            let zero = context.i32_type().const_zero();
            let first = again(builder.build_extract_element(vector, zero, "")?)?;
            Ok(builder
                .build_insert_element(vector, first, zero, "")?
                .into())
        }
        BasicValueEnum::StructValue(whole) => {
            let first = again(builder.build_extract_value(whole, 0, "")?)?;
            Ok(builder
                .build_insert_value(whole, first, 0, "")?
                .as_basic_value_enum())
        }
        BasicValueEnum::ArrayValue(whole) => {
            let first = again(builder.build_extract_value(whole, 0, "")?)?;
            Ok(builder
                .build_insert_value(whole, first, 0, "")?
                .as_basic_value_enum())
        }
        BasicValueEnum::ScalableVectorValue(_) => Err(BuilderError::NotSameType),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::keep;
    use crate::Optimization;
    use crate::codegen;
    use crate::machines::Machine;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use inkwell::module::Module;
    use inkwell::targets::FileType;
    use pretty_assertions::assert_eq;
    use splitbar_plan::Target;

    /// A kernel whose block `shared` has two predecessors and gives `value`, of type `ty`, to a
    /// phi; `join` decides whether the phi stands behind a branch or at the head of a loop.
    fn kernel(ty: &str, value: &str, join: &str) -> String {
        format!(
            "target triple = \"amdgcn-amd-amdhsa\"
define amdgpu_kernel void @k(ptr addrspace(1) %p, i1 %a, i1 %b, <2 x i32> %w, {ty} %other) {{
entry:
  br i1 %a, label %shared, label %second
second:
  store i32 1, ptr addrspace(1) %p
  br i1 %b, label %shared, label %alone
shared:
  store i32 2, ptr addrspace(1) %p
  %v = {value}
  br label %join
alone:
  br label %join
join:
  %phi = phi {ty} [ %v, %shared ], [ %other, %alone ]
  store {ty} %phi, ptr addrspace(1) %p
  {join}
}}
"
        )
    }

    /// A module for gfx1201, and what compiles it.
    fn adopted<'c>(context: &'c Context, ir: &str) -> (Machine, Module<'c>) {
        let target = Target::by_name("gfx1201").unwrap();
        let machine = codegen::machine(target, Optimization::O2).unwrap();
        let buffer = MemoryBuffer::create_from_memory_range_copy(ir.as_bytes(), "k");
        let module = context.create_module_from_ir(buffer).unwrap();
        codegen::adopt(&module, &machine);
        (machine, module)
    }

    /// How many statements `keep` puts into the code.
    fn statements(ir: &str) -> usize {
        let context = Context::create();
        let (machine, module) = adopted(&context, ir);
        keep(&context, &module).unwrap();
        codegen::verify(&module, "kept").unwrap();
        let assembly = machine
            .write_to_memory_buffer(&module, FileType::Assembly)
            .unwrap();
        let text = String::from_utf8_lossy(assembly.as_slice()).into_owned();
        text.matches("ASMSTART").count()
    }

    #[test]
    fn every_type_goes_through_one_statement() {
        for (ty, value) in [
            ("i32", "extractelement <2 x i32> %w, i32 1"),
            ("i1", "extractelement <2 x i1> <i1 true, i1 false>, i1 %b"),
            ("i8", "trunc i32 7 to i8"),
            ("i48", "trunc i64 7 to i48"),
            ("i64", "bitcast <2 x i32> %w to i64"),
            ("half", "bitcast i16 3 to half"),
            ("float", "bitcast i32 1 to float"),
            ("double", "bitcast <2 x i32> %w to double"),
            ("<4 x i8>", "bitcast i32 9 to <4 x i8>"),
            ("<2 x i32>", "insertelement <2 x i32> %w, i32 1, i32 0"),
            (
                "ptr addrspace(1)",
                "getelementptr i8, ptr addrspace(1) %p, i64 4",
            ),
            ("ptr addrspace(3)", "inttoptr i32 16 to ptr addrspace(3)"),
            (
                "{ i32, float }",
                "insertvalue { i32, float } zeroinitializer, i32 1, 0",
            ),
            (
                "[2 x i16]",
                "insertvalue [2 x i16] zeroinitializer, i16 1, 0",
            ),
        ] {
            assert_eq!(statements(&kernel(ty, value, "ret void")), 1, "{ty}");
        }
    }

    #[test]
    fn several_edges_of_a_branch_bring_one_value() {
        let element = "extractelement <2 x i32> %w, i32 1";
        let switch = "switch i32 %other, label %alone [ i32 1, label %join i32 5, label %join ]";
        let cases = kernel("i32", element, "ret void")
            .replace(
                "%v = extractelement <2 x i32> %w, i32 1\n  br label %join",
                &format!("%v = {element}\n  {switch}"),
            )
            .replace("[ %v, %shared ],", "[ %v, %shared ], [ %v, %shared ],");
        assert_eq!(statements(&cases), 1);
    }

    #[test]
    fn other_values_stay_as_they_are() {
        let element = "extractelement <2 x i32> %w, i32 1";
        let popcount = kernel("i32", "call i32 @llvm.ctpop.i32(i32 5)", "ret void");
        assert_eq!(statements(&popcount), 0, "it costs something");
        let alone = kernel("i32", element, "ret void")
            .replace("br i1 %b, label %shared, label %alone", "br label %alone");
        assert_eq!(statements(&alone), 0, "one edge leads to the block");
        let end =
            "br i1 %b, label %again, label %done\nagain:\n  br label %join\ndone:\n  ret void";
        let head = kernel("i32", element, end)
            .replace("[ %other, %alone ]", "[ %other, %alone ], [ 0, %again ]");
        assert_eq!(statements(&head), 0, "the phi is at the head of a loop");
    }

    /// `shared` is reached from `empty` and from `second`, `join` from it and from `alone`.
    const LOSES: &str = "target triple = \"amdgcn-amd-amdhsa\"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %p, <2 x i32> %w, i32 %other) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %is.first = icmp ult i32 %id, 1
  br i1 %is.first, label %empty, label %second
empty:
  br label %shared
second:
  store i32 2, ptr addrspace(1) %p
  %is.second = icmp ult i32 %id, 2
  br i1 %is.second, label %shared, label %alone
shared:
  store i32 3, ptr addrspace(1) %p
  %v = extractelement <2 x i32> %w, i32 1
  br label %join
alone:
  br label %join
join:
  %phi = phi i32 [ %v, %shared ], [ %other, %alone ]
  store i32 %phi, ptr addrspace(1) %p
  ret void
}
";

    /// True if the structurizer keeps the phi's entry for `shared`. LLVM 23.1 drops the entry, and
    /// the lanes that come from `second` get `%other`.
    fn keeps_the_entry(is_guarded: bool) -> bool {
        let context = Context::create();
        let (machine, module) = adopted(&context, LOSES);
        if is_guarded {
            keep(&context, &module).unwrap();
        }
        codegen::run(&module, &machine, "structurizecfg").unwrap();
        let text = module.print_to_string().to_string();
        text.contains(", %shared ]")
    }

    /// The guard can go when this fails.
    #[test]
    fn structurizer_still_loses_values() {
        assert!(keeps_the_entry(true));
        assert!(!keeps_the_entry(false));
    }
}
