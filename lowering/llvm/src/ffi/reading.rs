//! What instructions, blocks and functions of a module that somebody else wrote are, and the few
//! changes that are made to them.

use super::*;
use inkwell::llvm_sys::debuginfo::{
    LLVMDIBuilderCreateDebugLocation, LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc,
};

/// Where the source of an instruction stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourcePlace {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

/// Text of which LLVM gives a pointer and a length.
///
/// # Safety
/// `bytes` leads to `length` bytes, or is null.
unsafe fn slice(bytes: *const c_char, length: usize) -> String {
    if bytes.is_null() {
        return String::new();
    }
    // SAFETY: as the function asks.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

impl<'c> Value<'c> {
    /// Its opcode, if it is an instruction.
    pub(crate) fn opcode(self) -> Option<Opcode> {
        // SAFETY: the opcode is asked of instructions only.
        unsafe { (!LLVMIsAInstruction(self.0).is_null()).then(|| LLVMGetInstructionOpcode(self.0)) }
    }

    /// Its operands, in LLVM's order: of a call the callee comes last.
    pub(crate) fn operands(self) -> Vec<Value<'c>> {
        // SAFETY: self is a live value; operands are asked of users only.
        unsafe {
            if LLVMIsAUser(self.0).is_null() {
                return Vec::new();
            }
            let count = LLVMGetNumOperands(self.0).max(0) as u32;
            let operands = (0..count).map(|index| LLVMGetOperand(self.0, index));
            operands
                .filter(|raw| !raw.is_null())
                .map(Value::wrap)
                .collect()
        }
    }

    /// The arguments of a call; none of anything else.
    pub(crate) fn arguments(self) -> Vec<Value<'c>> {
        // SAFETY: arguments are asked of calls only.
        let count = unsafe {
            if LLVMIsACallInst(self.0).is_null() {
                0
            } else {
                LLVMGetNumArgOperands(self.0)
            }
        };
        let mut operands = self.operands();
        operands.truncate(count as usize);
        operands
    }

    /// The function that a call names; `None` for anything else.
    pub(crate) fn callee(self) -> Option<Func<'c>> {
        // SAFETY: the callee is asked of calls only.
        unsafe {
            if LLVMIsACallInst(self.0).is_null() && LLVMIsAInvokeInst(self.0).is_null() {
                return None;
            }
            let callee = LLVMGetCalledValue(self.0);
            let function = LLVMIsAFunction(callee);
            (!function.is_null()).then(|| Func::wrap(function))
        }
    }

    /// Its name, without the sign in front; empty where it has none.
    pub(crate) fn name(self) -> String {
        let mut length = 0;
        // SAFETY: a live value; LLVM says how long the text is.
        unsafe {
            let bytes = LLVMGetValueName2(self.0, &mut length);
            slice(bytes, length)
        }
    }

    /// As LLVM prints it.
    pub(crate) fn print(self) -> String {
        // SAFETY: a live value; the message is copied and given back.
        unsafe {
            let raw = LLVMPrintValueToString(self.0);
            let text = CStr::from_ptr(raw).to_string_lossy().trim().to_owned();
            LLVMDisposeMessage(raw);
            text
        }
    }

    /// Returns true if it is a constant.
    pub(crate) fn is_constant(self) -> bool {
        // SAFETY: a live value.
        unsafe { LLVMIsConstant(self.0) != 0 }
    }

    /// Returns true if it is `undef` or `poison`.
    pub(crate) fn is_undef(self) -> bool {
        // SAFETY: a live value.
        unsafe { LLVMIsUndef(self.0) != 0 }
    }

    /// Returns true if it is a parameter of a function.
    pub(crate) fn is_parameter(self) -> bool {
        // SAFETY: a live value.
        unsafe { !LLVMIsAArgument(self.0).is_null() }
    }

    /// Returns true if it is a variable of the module.
    pub(crate) fn is_global(self) -> bool {
        // SAFETY: a live value.
        unsafe { !LLVMIsAGlobalVariable(self.0).is_null() }
    }

    /// The opcode of a constant expression.
    pub(crate) fn constant_opcode(self) -> Option<Opcode> {
        // SAFETY: the opcode is asked of constant expressions only.
        unsafe { (!LLVMIsAConstantExpr(self.0).is_null()).then(|| LLVMGetConstOpcode(self.0)) }
    }

    /// The values of a phi, each with the block it comes from.
    pub(crate) fn incoming(self) -> Vec<(Value<'c>, Block<'c>)> {
        if !self.is_phi() {
            return Vec::new();
        }
        // SAFETY: self is a phi; the indices are below its count.
        unsafe {
            (0..LLVMCountIncoming(self.0))
                .map(|index| {
                    let value = LLVMGetIncomingValue(self.0, index);
                    (
                        Value::wrap(value),
                        Block::wrap(LLVMGetIncomingBlock(self.0, index)),
                    )
                })
                .collect()
        }
    }

    /// The predicate of a comparison of integers.
    pub(crate) fn predicate(self) -> Option<IntPredicate> {
        // SAFETY: the predicate is asked of such comparisons only.
        unsafe { (!LLVMIsAICmpInst(self.0).is_null()).then(|| LLVMGetICmpPredicate(self.0)) }
    }

    /// The predicate of a comparison of floating-point numbers.
    pub(crate) fn real_predicate(self) -> Option<RealPredicate> {
        // SAFETY: the predicate is asked of such comparisons only.
        unsafe { (!LLVMIsAFCmpInst(self.0).is_null()).then(|| LLVMGetFCmpPredicate(self.0)) }
    }

    /// Returns true unless an instruction that may overflow says that it does not, unsigned.
    pub(crate) fn wraps_unsigned(self) -> bool {
        // SAFETY: asked of the instructions that have the flag only.
        unsafe { !self.may_overflow() || LLVMGetNUW(self.0) == 0 }
    }

    /// Returns true unless an instruction that may overflow says that it does not, signed.
    pub(crate) fn wraps_signed(self) -> bool {
        // SAFETY: asked of the instructions that have the flag only.
        unsafe { !self.may_overflow() || LLVMGetNSW(self.0) == 0 }
    }

    /// Returns true for the instructions that have flags for overflow.
    fn may_overflow(self) -> bool {
        matches!(
            self.opcode(),
            Some(Opcode::LLVMAdd | Opcode::LLVMSub | Opcode::LLVMMul | Opcode::LLVMShl)
        )
    }

    /// Returns true if the signs of zeros do not matter to the instruction.
    pub(crate) fn has_unsigned_zeros(self) -> bool {
        // SAFETY: asked of the instructions that have such flags only.
        unsafe {
            !LLVMIsAInstruction(self.0).is_null()
                && LLVMCanValueUseFastMathFlags(self.0) != 0
                && LLVMGetFastMathFlags(self.0) & inkwell::llvm_sys::LLVMFastMathNoSignedZeros != 0
        }
    }

    /// Returns true if a load or a store is volatile.
    pub(crate) fn is_volatile(self) -> bool {
        // SAFETY: asked of loads and stores only.
        unsafe {
            let accesses =
                !LLVMIsALoadInst(self.0).is_null() || !LLVMIsAStoreInst(self.0).is_null();
            accesses && LLVMGetVolatile(self.0) != 0
        }
    }

    /// Returns true if it is an address with one offset in bytes.
    pub(crate) fn is_byte_offset(self) -> bool {
        // SAFETY: asked of the instruction that it is for.
        unsafe {
            if LLVMIsAGetElementPtrInst(self.0).is_null() || LLVMGetNumOperands(self.0) != 2 {
                return false;
            }
            let element = LLVMGetGEPSourceElementType(self.0);
            LLVMGetTypeKind(element) == TypeKind::LLVMIntegerTypeKind
                && LLVMGetIntTypeWidth(element) == 8
        }
    }

    /// Puts `new` in place of every operand of this instruction that is `old`, of the same type.
    pub(crate) fn replace_operand(self, old: Value<'c>, new: Value<'c>) {
        for (index, operand) in (0u32..).zip(self.operands()) {
            if operand == old {
                // SAFETY: a live instruction has so many operands; the caller says that `new`
                // dominates it.
                unsafe { LLVMSetOperand(self.0, index, new.0) }
            }
        }
    }

    /// The type of what an alloca makes, or of a global variable's contents.
    pub(crate) fn contents(self) -> Option<Ty<'c>> {
        // SAFETY: each question is asked of the kind of value that it is for.
        unsafe {
            if !LLVMIsAAllocaInst(self.0).is_null() {
                return Some(Ty::wrap(LLVMGetAllocatedType(self.0)));
            }
            self.is_global()
                .then(|| Ty::wrap(LLVMGlobalGetValueType(self.0)))
        }
    }

    /// Returns true if the instruction has metadata of this kind.
    pub(crate) fn has_metadata(self, context: &'c Context, kind: &str) -> bool {
        let (name, length) = text(kind);
        // SAFETY: asked of an instruction of `context`.
        unsafe {
            let kind = LLVMGetMDKindIDInContext(context.as_ctx_ref(), name, length as c_uint);
            !LLVMIsAInstruction(self.0).is_null() && !LLVMGetMetadata(self.0, kind).is_null()
        }
    }

    /// Takes metadata of this kind from the instruction.
    pub(crate) fn remove_metadata(self, context: &'c Context, kind: &str) {
        let (name, length) = text(kind);
        // SAFETY: done to an instruction of `context`; no node is what takes one away.
        unsafe {
            let kind = LLVMGetMDKindIDInContext(context.as_ctx_ref(), name, length as c_uint);
            if !LLVMIsAInstruction(self.0).is_null() {
                LLVMSetMetadata(self.0, kind, std::ptr::null_mut());
            }
        }
    }

    /// Where the source of the instruction stands, if it says so.
    pub(crate) fn source_place(self) -> Option<SourcePlace> {
        let mut length: c_uint = 0;
        // SAFETY: a live instruction; LLVM says how long the text is.
        unsafe {
            if LLVMIsAInstruction(self.0).is_null() {
                return None;
            }
            let line = LLVMGetDebugLocLine(self.0);
            let file = LLVMGetDebugLocFilename(self.0, &mut length);
            (line > 0 && !file.is_null()).then(|| SourcePlace {
                file: slice(file, length as usize),
                line,
                column: LLVMGetDebugLocColumn(self.0),
            })
        }
    }

    /// Gives the instruction the debug location of `line` in `scope`.
    pub(crate) fn set_line(self, context: &'c Context, line: u32, scope: Meta<'c>) {
        // SAFETY: a live instruction of `context`, and a subprogram of it.
        unsafe {
            let location = LLVMDIBuilderCreateDebugLocation(
                context.as_ctx_ref(),
                line,
                0,
                scope.0,
                std::ptr::null_mut(),
            );
            LLVMInstructionSetDebugLoc(self.0, location);
        }
    }

    /// The condition of a branch with two ways, or the selector of a switch.
    pub(crate) fn condition(self) -> Option<Value<'c>> {
        // SAFETY: the condition is asked of branches that have one, operand 0 of switches.
        unsafe {
            if !LLVMIsASwitchInst(self.0).is_null() {
                return self.operands().first().copied();
            }
            let branches = self.opcode() == Some(Opcode::LLVMCondBr);
            branches.then(|| Value::wrap(LLVMGetCondition(self.0)))
        }
    }

    /// The constant for which a switch goes to its successor `index`, which is not the first: that
    /// is where it goes by default.
    pub(crate) fn case_value(self, index: u32) -> Option<Value<'c>> {
        // SAFETY: asked of switches only, with the index of a case.
        unsafe {
            let is_case = !LLVMIsASwitchInst(self.0).is_null()
                && index > 0
                && index < LLVMGetNumSuccessors(self.0);
            is_case.then(|| Value::wrap(LLVMGetSwitchCaseValue(self.0, index)))
        }
    }

    /// Moves the instruction to where `builder` stands.
    pub(crate) fn move_to(self, builder: &RawBuilder<'c>) {
        // SAFETY: a live instruction in a block, and a builder at a live block of its function.
        unsafe {
            let mut length = 0;
            let name = LLVMGetValueName2(self.0, &mut length);
            let name = CString::new(slice(name, length)).unwrap_or_default();
            // A builder gives its own location to what goes in.
            let location = LLVMInstructionGetDebugLoc(self.0);
            LLVMInstructionRemoveFromParent(self.0);
            LLVMInsertIntoBuilderWithName(builder.raw, self.0, name.as_ptr());
            LLVMInstructionSetDebugLoc(self.0, location);
        }
    }
}

impl<'c> Block<'c> {
    /// Its name; empty where it has none.
    pub(crate) fn name(self) -> String {
        // SAFETY: a live block; its name ends with a zero byte.
        unsafe {
            CStr::from_ptr(LLVMGetBasicBlockName(self.0))
                .to_string_lossy()
                .into_owned()
        }
    }

    /// How it ends.
    pub(crate) fn terminator(self) -> Option<Value<'c>> {
        // SAFETY: a live block.
        let raw = unsafe { LLVMGetBasicBlockTerminator(self.0) };
        (!raw.is_null()).then(|| Value::wrap(raw))
    }

    /// Where control may go from here, once per edge.
    pub(crate) fn successors(self) -> Vec<Block<'c>> {
        let Some(end) = self.terminator() else {
            return Vec::new();
        };
        // SAFETY: a terminator; the indices are below its count.
        unsafe {
            (0..LLVMGetNumSuccessors(end.0))
                .map(|index| Block::wrap(LLVMGetSuccessor(end.0, index)))
                .collect()
        }
    }

    /// The function that it is in.
    pub(crate) fn function(self) -> Func<'c> {
        // SAFETY: a live block of a function.
        Func::wrap(unsafe { LLVMGetBasicBlockParent(self.0) })
    }

    /// The blocks that control may come from, once per edge.
    pub(crate) fn predecessors(self) -> Vec<Block<'c>> {
        let mut all = Vec::new();
        // SAFETY: a live block, whose uses are not changed while they are walked; a terminator is
        // in a block.
        unsafe {
            let mut at = LLVMGetFirstUse(LLVMBasicBlockAsValue(self.0));
            while !at.is_null() {
                let user = LLVMGetUser(at);
                if !LLVMIsATerminatorInst(user).is_null() {
                    all.push(Block::wrap(LLVMGetInstructionParent(user)));
                }
                at = LLVMGetNextUse(at);
            }
        }
        all
    }

    /// Its first instruction.
    pub(crate) fn first_instruction(self) -> Option<Value<'c>> {
        // SAFETY: a live block.
        let raw = unsafe { LLVMGetFirstInstruction(self.0) };
        (!raw.is_null()).then(|| Value::wrap(raw))
    }

    /// Lets every edge of this block that leads to `from` lead to `to`.
    pub(crate) fn redirect(self, from: Block<'c>, to: Block<'c>) {
        let Some(end) = self.terminator() else {
            return;
        };
        for (index, successor) in (0u32..).zip(self.successors()) {
            if successor == from {
                // SAFETY: a terminator and one of its successors.
                unsafe { LLVMSetSuccessor(end.0, index, to.0) }
            }
        }
    }

    /// Moves the block in front of `other`.
    pub(crate) fn move_before(self, other: Block<'c>) {
        // SAFETY: two live blocks of one function.
        unsafe { LLVMMoveBasicBlockBefore(self.0, other.0) }
    }

    /// Returns true if its address is taken: control may come from anywhere.
    pub(crate) fn is_address_taken(self) -> bool {
        // SAFETY: a live block; beside terminators and phis only its address uses it.
        unsafe {
            let mut at = LLVMGetFirstUse(LLVMBasicBlockAsValue(self.0));
            while !at.is_null() {
                if LLVMIsAInstruction(LLVMGetUser(at)).is_null() {
                    return true;
                }
                at = LLVMGetNextUse(at);
            }
        }
        false
    }
}

impl<'c> Func<'c> {
    /// Returns true if it takes any number of arguments.
    pub(crate) fn is_variadic(self) -> bool {
        // SAFETY: a live function's type.
        unsafe { LLVMIsFunctionVarArg(self.ty().0) != 0 }
    }

    /// Its name.
    pub(crate) fn name(self) -> String {
        self.value().name()
    }

    /// Its blocks, in order.
    pub(crate) fn blocks(self) -> Vec<Block<'c>> {
        let mut all = Vec::new();
        // SAFETY: a live function, which is not changed while it is walked.
        unsafe {
            let mut at = LLVMGetFirstBasicBlock(self.0);
            while !at.is_null() {
                all.push(Block::wrap(at));
                at = LLVMGetNextBasicBlock(at);
            }
        }
        all
    }

    /// Its instructions, in order.
    pub(crate) fn instructions(self) -> Vec<Value<'c>> {
        self.blocks()
            .into_iter()
            .flat_map(Block::instructions)
            .collect()
    }

    /// Its parameters, in order.
    pub(crate) fn params(self) -> Vec<Value<'c>> {
        (0..).map_while(|index| self.param(index)).collect()
    }

    /// Calling convention, by LLVM's number.
    pub(crate) fn call_convention(self) -> u32 {
        // SAFETY: a live function.
        unsafe { LLVMGetFunctionCallConv(self.0) }
    }

    /// The value of a string attribute.
    pub(crate) fn string_attribute_value(self, key: &str) -> Option<String> {
        let (name, length) = text(key);
        let mut size: c_uint = 0;
        // SAFETY: a live function; LLVM says how long the text is.
        unsafe {
            let attribute = LLVMGetStringAttributeAtIndex(
                self.0,
                inkwell::llvm_sys::LLVMAttributeFunctionIndex,
                name,
                length as c_uint,
            );
            if attribute.is_null() {
                return None;
            }
            let bytes = LLVMGetStringAttributeValue(attribute, &mut size);
            Some(slice(bytes, size as usize))
        }
    }

    /// Takes a string attribute away.
    pub(crate) fn remove_string_attribute(self, key: &str) {
        let (name, length) = text(key);
        // SAFETY: a live function; nothing happens where it lacks the attribute.
        unsafe {
            LLVMRemoveStringAttributeAtIndex(
                self.0,
                inkwell::llvm_sys::LLVMAttributeFunctionIndex,
                name,
                length as c_uint,
            );
        }
    }

    /// Takes an enum attribute (`noinline`) away.
    pub(crate) fn remove_attribute(self, name: &str) {
        let (name, length) = text(name);
        // SAFETY: a live function and the number of a kind that LLVM knows.
        unsafe {
            LLVMRemoveEnumAttributeAtIndex(
                self.0,
                inkwell::llvm_sys::LLVMAttributeFunctionIndex,
                LLVMGetEnumAttributeKindForName(name, length),
            );
        }
    }

    /// Returns true if it says that it neither reads nor writes memory and that threads need not
    /// come to it together.
    pub(crate) fn is_pure(self) -> bool {
        let has = |name: &str| {
            let (name, length) = text(name);
            // SAFETY: a live function and the number of a kind that LLVM knows.
            let attribute = unsafe {
                let kind = LLVMGetEnumAttributeKindForName(name, length);
                let place = inkwell::llvm_sys::LLVMAttributeFunctionIndex;
                LLVMGetEnumAttributeAtIndex(self.0, place, kind)
            };
            (!attribute.is_null()).then_some(attribute)
        };
        // SAFETY: an attribute with a number.
        let memory = has("memory").map(|memory| unsafe { LLVMGetEnumAttributeValue(memory) });
        memory == Some(0) && has("convergent").is_none()
    }

    /// Returns true if parameter `index` has an enum attribute (`noalias`).
    pub(crate) fn has_param_attribute(self, index: u32, name: &str) -> bool {
        let (name, length) = text(name);
        // SAFETY: a live function and the number of a kind that LLVM knows.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name, length);
            !LLVMGetEnumAttributeAtIndex(self.0, index + 1, kind).is_null()
        }
    }

    /// The type in an attribute of parameter `index` (`byref`).
    pub(crate) fn param_type(self, index: u32, name: &str) -> Option<Ty<'c>> {
        let (name, length) = text(name);
        // SAFETY: a live function and the number of a kind whose attributes have types.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name, length);
            let attribute = LLVMGetEnumAttributeAtIndex(self.0, index + 1, kind);
            let has_type = !attribute.is_null() && LLVMIsTypeAttribute(attribute) != 0;
            has_type.then(|| Ty::wrap(LLVMGetTypeAttributeValue(attribute)))
        }
    }

    /// What parameter `index` says of its alignment, in bytes.
    pub(crate) fn param_align(self, index: u32) -> Option<u32> {
        let (name, length) = text("align");
        // SAFETY: a live function and the number of a kind whose attributes have numbers.
        let align = unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name, length);
            let attribute = LLVMGetEnumAttributeAtIndex(self.0, index + 1, kind);
            (!attribute.is_null()).then(|| LLVMGetEnumAttributeValue(attribute))
        };
        align.and_then(|align| u32::try_from(align).ok())
    }

    /// The numbers in metadata of kind `kind` on the function; `None` where there is none, or where
    /// one is not a number.
    pub(crate) fn metadata_numbers(self, context: &'c Context, kind: &str) -> Option<Vec<u64>> {
        let (name, length) = text(kind);
        // SAFETY: a live function of `context`; the node is read as a value that lists its
        // operands, each of which may be missing.
        unsafe {
            let id = LLVMGetMDKindIDInContext(context.as_ctx_ref(), name, length as c_uint);
            let mut count = 0;
            let entries = LLVMGlobalCopyAllMetadata(self.0, &mut count);
            let found = (0..count as c_uint)
                .find(|index| LLVMValueMetadataEntriesGetKind(entries, *index) == id)
                .map(|index| LLVMValueMetadataEntriesGetMetadata(entries, index));
            LLVMDisposeValueMetadataEntries(entries);
            let node = LLVMMetadataAsValue(context.as_ctx_ref(), found?);
            let count = LLVMGetMDNodeNumOperands(node) as usize;
            let mut operands = vec![std::ptr::null_mut(); count];
            LLVMGetMDNodeOperands(node, operands.as_mut_ptr());
            let number = |raw: &LLVMValueRef| {
                (!raw.is_null() && !LLVMIsAConstantInt(*raw).is_null())
                    .then(|| LLVMConstIntGetZExtValue(*raw))
            };
            operands.iter().map(number).collect()
        }
    }

    /// Takes an enum attribute (`noinline`) away from every call of it.
    pub(crate) fn remove_attribute_of_calls(self, name: &str) {
        let (name, length) = text(name);
        let calls = self.value().users().into_iter();
        for call in calls.filter(|user| user.callee() == Some(self)) {
            // SAFETY: a live call and the number of a kind that LLVM knows.
            unsafe {
                LLVMRemoveCallSiteEnumAttribute(
                    call.0,
                    inkwell::llvm_sys::LLVMAttributeFunctionIndex,
                    LLVMGetEnumAttributeKindForName(name, length),
                );
            }
        }
    }

    /// Returns true if something else than a call of it uses it.
    pub(crate) fn is_address_taken(self) -> bool {
        self.value().users().into_iter().any(|user| {
            let names_it = user.arguments().contains(&self.value());
            user.callee() != Some(self) || names_it
        })
    }
}

/// Functions of a module, in order.
pub(crate) fn functions<'c>(module: ModuleRef<'c>) -> Vec<Func<'c>> {
    let mut all = Vec::new();
    // SAFETY: a live module, which is not changed while it is walked.
    unsafe {
        let mut at = LLVMGetFirstFunction(module.0);
        while !at.is_null() {
            all.push(Func::wrap(at));
            at = LLVMGetNextFunction(at);
        }
    }
    all
}

/// The operands of the lines of named metadata `name`: each a list of functions and texts or
/// numbers.
pub(crate) fn annotations<'c>(module: ModuleRef<'c>, name: &str) -> Vec<Annotation<'c>> {
    let name = c_name(name);
    let mut all = Vec::new();
    // SAFETY: a live module; operands that are not there are null, and are left out.
    unsafe {
        let count = LLVMGetNamedMetadataNumOperands(module.0, name.as_ptr());
        let mut lines = vec![std::ptr::null_mut(); count as usize];
        LLVMGetNamedMetadataOperands(module.0, name.as_ptr(), lines.as_mut_ptr());
        for line in lines {
            let count = LLVMGetMDNodeNumOperands(line) as usize;
            let mut operands = vec![std::ptr::null_mut(); count];
            LLVMGetMDNodeOperands(line, operands.as_mut_ptr());
            let Some((first, rest)) = operands.split_first() else {
                continue;
            };
            if first.is_null() || LLVMIsAFunction(*first).is_null() {
                continue;
            }
            let mut entries = Vec::new();
            for pair in rest.chunks_exact(2) {
                let [key, value] = *pair else { continue };
                if key.is_null() || value.is_null() || LLVMIsAConstantInt(value).is_null() {
                    continue;
                }
                let mut length: c_uint = 0;
                let text = LLVMGetMDString(key, &mut length);
                let key = slice(text, length as usize);
                entries.push((key, LLVMConstIntGetZExtValue(value)));
            }
            all.push((Func::wrap(*first), entries));
        }
    }
    all
}

/// A function, and what is said of it.
pub(crate) type Annotation<'c> = (Func<'c>, Vec<(String, u64)>);

/// Reads a module from bitcode or text.
///
/// # Errors
/// LLVM's reason.
pub(crate) fn parse_ir<'c>(context: &'c Context, bytes: &[u8]) -> Result<Module<'c>, String> {
    let buffer =
        inkwell::memory_buffer::MemoryBuffer::create_from_memory_range_copy(bytes, "module");
    context
        .create_module_from_ir(buffer)
        .map_err(|error| error.to_string())
}

/// The function called `name`.
pub(crate) fn named_function<'c>(module: ModuleRef<'c>, name: &str) -> Option<Func<'c>> {
    let name = c_name(name);
    // SAFETY: a live module; null means that there is none.
    let function = unsafe { LLVMGetNamedFunction(module.0, name.as_ptr()) };
    (!function.is_null()).then(|| Func::wrap(function))
}

/// Deletes a function that nothing uses. The handle is dead afterwards.
pub(crate) fn delete_unused(function: Func<'_>) {
    // SAFETY: a live function; it goes only if nothing uses it, and the caller drops the handle.
    unsafe {
        if LLVMGetFirstUse(function.0).is_null() {
            LLVMDeleteFunction(function.0);
        }
    }
}

/// Bytes of the contents of a global variable of `module`.
pub(crate) fn size_of_global(module: ModuleRef<'_>, global: Value<'_>) -> u64 {
    let Some(contents) = global.contents() else {
        return 0;
    };
    size_of_type(module, contents)
}

/// Bytes of a type that has a size; 0 for others.
pub(crate) fn size_of_type(module: ModuleRef<'_>, ty: Ty<'_>) -> u64 {
    // SAFETY: a live module and a type of its context, whose size is asked if it has one.
    unsafe {
        if LLVMTypeIsSized(ty.0) == 0 {
            return 0;
        }
        let layout = inkwell::llvm_sys::target::LLVMGetModuleDataLayout(module.0);
        inkwell::llvm_sys::target::LLVMABISizeOfType(layout, ty.0)
    }
}

/// The alignment of a type that has a size; 1 for others.
pub(crate) fn align_of_type(module: ModuleRef<'_>, ty: Ty<'_>) -> u32 {
    // SAFETY: a live module and a type of its context, whose alignment is asked if it has a size.
    unsafe {
        if LLVMTypeIsSized(ty.0) == 0 {
            return 1;
        }
        let layout = inkwell::llvm_sys::target::LLVMGetModuleDataLayout(module.0);
        inkwell::llvm_sys::target::LLVMABIAlignmentOfType(layout, ty.0)
    }
}
