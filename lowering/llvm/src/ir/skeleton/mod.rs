//! A SPIR-V module with the control flow of kernels in LLVM IR: every block a block, every branch a
//! branch, every barrier call a barrier, and of the values those that decide which way invocations
//! go.
//!
//! Arithmetic of integers is what it is. Everything else that depends on its operands alone is a
//! calculation with floating-point numbers, through which the analyses do not see: alike where its
//! operands are alike, and equal to nothing else. Loads, stores and atomic operations are such of
//! memory of the same kind. An instruction that decides nothing is one that does nothing.

mod values;
mod words;

use super::calls::{self, Kind};
use super::inline::refuse;
use super::kernels::{IrKernel, Kernel};
use crate::ffi::{self, Block, Func, IntPredicate, Opcode, Value};
use inkwell::context::Context;
use inkwell::module::Module;
use spirv::{BuiltIn, Capability, Op, StorageClass};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_plan::Target;
use splitbar_plan::target::Arch;
use std::collections::{HashMap, HashSet};
use values::{Memory, Shape, Values, convert, int, memory, number, ty};
use words::Words;

/// Skeleton and kernels.
type Written = (Vec<u8>, Vec<IrKernel>);

/// Writes the skeleton of `kernels`.
///
/// # Errors
/// Barrier calls whose operands are not known.
pub(super) fn write<'c>(
    context: &'c Context,
    module: &Module<'c>,
    kernels: &[Kernel<'c>],
    target: &Target,
) -> Result<Written, Diagnostics> {
    let mut words = Words::default();
    for capability in [
        Capability::Kernel,
        Capability::Addresses,
        Capability::GenericPointer,
        Capability::Int8,
        Capability::Int16,
        Capability::Int64,
        Capability::GroupNonUniform,
        Capability::GroupNonUniformBallot,
        Capability::SplitBarrierINTEL,
    ] {
        words.head(Op::Capability, &[capability as u32]);
    }
    words.extension("SPV_INTEL_split_barrier");
    let addressing = spirv::AddressingModel::Physical64 as u32;
    words.head(
        Op::MemoryModel,
        &[addressing, spirv::MemoryModel::OpenCL as u32],
    );
    let mut found = Diagnostics::new();
    let mut values = Values::default();
    let mut written = Vec::new();
    for kernel in kernels {
        let mut body = Body {
            context,
            module,
            arch: &target.arch,
            size: kernel.workgroup_size,
            words: &mut words,
            values: &mut values,
            ids: HashMap::new(),
            needed: needed(kernel.function),
            labels: HashMap::new(),
            places: HashMap::new(),
            calls: Vec::new(),
            inputs: HashMap::new(),
            launch: 0,
            variables: Vec::new(),
            line: None,
            found: &mut found,
        };
        written.push(body.write(kernel));
    }
    if found.has_errors() {
        return Err(found.sorted());
    }
    let (bytes, place) = words.finish();
    let kernels = written.into_iter().map(|kernel| IrKernel {
        name: kernel.name,
        words: (kernel.places.into_iter())
            .map(|at| at.map(&place))
            .collect(),
        calls: kernel.calls,
    });
    Ok((bytes, kernels.collect()))
}

/// What decides which way invocations of `function` go, and what it is computed from.
fn needed<'c>(function: Func<'c>) -> HashSet<Value<'c>> {
    let blocks = function.blocks();
    let mut todo: Vec<Value<'c>> = blocks
        .iter()
        .filter_map(|block| block.terminator()?.condition())
        .collect();
    let mut needed = HashSet::new();
    while let Some(value) = todo.pop() {
        if value.opcode().is_some() && needed.insert(value) {
            let phi = value.incoming().into_iter().map(|(value, _)| value);
            todo.extend(phi.chain(value.operands()));
        }
    }
    needed
}

/// A kernel whose places are among the words of functions.
struct WrittenKernel {
    name: String,
    /// For each instruction; nothing for those of blocks that control never reaches.
    places: Vec<Option<usize>>,
    calls: Vec<usize>,
}

/// The function that is being written.
struct Body<'b, 'c> {
    context: &'c Context,
    module: &'b Module<'c>,
    arch: &'b Arch,
    size: Option<[u32; 3]>,
    words: &'b mut Words,
    values: &'b mut Values<'c>,
    ids: HashMap<Value<'c>, u32>,
    needed: HashSet<Value<'c>>,
    labels: HashMap<Block<'c>, u32>,
    places: HashMap<Value<'c>, usize>,
    calls: Vec<Value<'c>>,
    inputs: HashMap<u32, u32>,
    /// A parameter that stands for what only the launch knows.
    launch: u32,
    variables: Vec<u32>,
    line: Option<ffi::SourcePlace>,
    found: &'b mut Diagnostics,
}

impl<'c> Body<'_, 'c> {
    fn write(&mut self, kernel: &Kernel<'c>) -> WrittenKernel {
        let function = kernel.function;
        let name = function.name();
        let parameters = function.params();
        let shapes: Vec<Shape> = parameters.iter().map(|one| parameter_shape(*one)).collect();
        let void = self.words.ty(Op::TypeVoid, &[]);
        let other = ty(self.words, Shape::Other);
        let mut signature = vec![void, other];
        for shape in &shapes {
            signature.push(ty(self.words, *shape));
        }
        let signature = self.words.ty(Op::TypeFunction, &signature);
        let id = self.words.fresh();
        self.words.name(id, &name);
        self.words.define(Op::Function, void, id, &[0, signature]);
        self.launch = self.words.result(Op::FunctionParameter, other, &[]);
        let mut converted = Vec::new();
        for (parameter, shape) in parameters.iter().zip(shapes) {
            let ty = ty(self.words, shape);
            let own = self.words.result(Op::FunctionParameter, ty, &[]);
            self.words.name(own, &parameter.name());
            converted.push((*parameter, own, shape));
        }
        let order = reverse_postorder(function);
        for block in &order {
            let label = self.words.fresh();
            self.words.name(label, &block.name());
            self.labels.insert(*block, label);
        }
        for (number, block) in order.iter().enumerate() {
            let label = self.label(*block);
            self.words.put(Op::Label, &[label]);
            self.line = None;
            if number == 0 {
                for (parameter, own, shape) in converted.drain(..) {
                    let wanted = Shape::summarize(parameter.ty());
                    let id = convert(self.words, own, shape, wanted);
                    self.ids.insert(parameter, id);
                }
            }
            for instruction in block.instructions() {
                self.instruction(function, instruction);
            }
        }
        self.words.put(Op::FunctionEnd, &[]);
        let variables = std::mem::take(&mut self.variables);
        self.words.entry(id, &name, &variables);
        if let Some(size) = kernel.workgroup_size {
            self.words.local_size(id, size);
        }
        let instructions = function.instructions();
        let place = |instruction: &Value<'c>| self.places.get(instruction).copied();
        let calls: HashSet<Value<'c>> = self.calls.iter().copied().collect();
        WrittenKernel {
            name,
            places: instructions.iter().map(place).collect(),
            calls: (0..instructions.len())
                .filter(|number| calls.contains(&instructions[*number]))
                .collect(),
        }
    }

    /// The label of a block; 0, which is no id, for those that control never reaches. Phis leave
    /// out what comes from there, and nothing that is reached leads there.
    fn label(&self, block: Block<'c>) -> u32 {
        self.labels.get(&block).copied().unwrap_or(0)
    }

    /// The id of `value`, in the shape of its type.
    fn id(&mut self, value: Value<'c>) -> u32 {
        if value.opcode().is_none() && !value.is_parameter() {
            return self.values.constant(self.words, value);
        }
        if let Some(id) = self.ids.get(&value) {
            return *id;
        }
        let id = self.words.fresh();
        self.words.name(id, &value.name());
        self.ids.insert(value, id);
        id
    }

    /// `value` as a value of `shape`.
    fn as_shape(&mut self, value: Value<'c>, shape: Shape) -> u32 {
        let id = self.id(value);
        convert(self.words, id, Shape::summarize(value.ty()), shape)
    }

    /// Says where the source of `instruction` stands.
    fn locate(&mut self, instruction: Value<'c>) {
        let place = instruction.source_place();
        if place == self.line {
            return;
        }
        match &place {
            Some(place) => {
                let file = self.words.string(&place.file);
                self.words.put(Op::Line, &[file, place.line, place.column]);
            }
            None => {
                self.words.put(Op::NoLine, &[]);
            }
        }
        self.line = place;
    }

    fn instruction(&mut self, function: Func<'c>, instruction: Value<'c>) {
        if instruction.is_phi() {
            self.phi(instruction);
            return;
        }
        if self.needed.contains(&instruction)
            || calls::of(instruction).is_some()
            || is_end(instruction)
        {
            self.locate(instruction);
        }
        // What an instruction is computed from comes first, its own word behind.
        let before = self.words.here();
        let place = self.translate(function, instruction).unwrap_or(before);
        self.places.insert(instruction, place);
    }

    fn phi(&mut self, phi: Value<'c>) {
        let shape = Shape::summarize(phi.ty());
        let result = ty(self.words, shape);
        let place = self.words.here();
        if !self.needed.contains(&phi) {
            let undefined = self.words.constant(Op::Undef, result, &[]);
            let from = self.parents(phi);
            let operands: Vec<u32> = from
                .into_iter()
                .flat_map(|from| [undefined, from])
                .collect();
            self.words.result(Op::Phi, result, &operands);
        } else {
            let mut operands: Vec<u32> = Vec::new();
            for (value, from) in phi.incoming() {
                let label = self.label(from);
                if label != 0 && !operands.chunks_exact(2).any(|pair| pair[1] == label) {
                    let id = self.id(value);
                    operands.extend([id, label]);
                }
            }
            let id = self.id(phi);
            self.words.define(Op::Phi, result, id, &operands);
        }
        self.places.insert(phi, place);
    }

    /// The labels of the blocks that lead to a phi.
    fn parents(&self, phi: Value<'c>) -> Vec<u32> {
        let mut labels: Vec<u32> = Vec::new();
        for (_, from) in phi.incoming() {
            let label = self.label(from);
            if label != 0 && !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }

    /// Writes what `instruction` is; gives the place of its own word, if that is not the first.
    fn translate(&mut self, function: Func<'c>, instruction: Value<'c>) -> Option<usize> {
        use Opcode::*;
        let operands = instruction.operands();
        let needed = self.needed.contains(&instruction);
        match instruction.opcode()? {
            LLVMUncondBr | LLVMCondBr | LLVMSwitch | LLVMRet | LLVMUnreachable => {
                self.end(instruction)
            }
            LLVMCall => self.call(function, instruction),
            LLVMLoad => {
                let pointer = self.pointer(*operands.first()?, instruction, needed);
                self.load(instruction, pointer, needed)
            }
            LLVMStore => {
                let pointer = self.pointer(*operands.get(1)?, instruction, false);
                self.store(pointer)
            }
            LLVMAtomicRMW | LLVMAtomicCmpXchg => {
                let pointer = self.pointer(*operands.first()?, instruction, false);
                self.atomic(instruction, pointer, needed)
            }
            _ if !needed => Some(self.nothing()),
            opcode => {
                if !self.exact(instruction, opcode, &operands) {
                    self.opaque(instruction, &operands);
                }
                None
            }
        }
    }

    /// An instruction that does nothing.
    fn nothing(&mut self) -> usize {
        let other = ty(self.words, Shape::Other);
        let zero = number(self.words, 0);
        let place = self.words.here();
        self.words.result(Op::FNegate, other, &[zero]);
        place
    }

    fn end(&mut self, end: Value<'c>) -> Option<usize> {
        let to: Vec<u32> = end
            .block()
            .successors()
            .into_iter()
            .map(|b| self.label(b))
            .collect();
        match (end.opcode()?, to.as_slice()) {
            (Opcode::LLVMRet, _) => Some(self.words.put(Op::Return, &[])),
            (Opcode::LLVMUncondBr, [to]) => Some(self.words.put(Op::Branch, &[*to])),
            (Opcode::LLVMCondBr, [yes, no]) => {
                let condition = self.id(end.condition()?);
                Some(
                    self.words
                        .put(Op::BranchConditional, &[condition, *yes, *no]),
                )
            }
            (Opcode::LLVMSwitch, [default, ..]) => {
                let selector = end.condition()?;
                let given = Shape::summarize(selector.ty());
                let shape = match given {
                    Shape::Int(64) => Shape::Int(64),
                    _ => Shape::Int(32),
                };
                let selector = self.as_shape(selector, shape);
                let mut operands = vec![selector, *default];
                for (index, to) in (0u32..).zip(&to).skip(1) {
                    // Nobody sees what integers of other widths are: each case has its number.
                    let bits = match given {
                        Shape::Other => u64::from(index),
                        _ => end.case_value(index).and_then(Value::as_u64)?,
                    };
                    operands.push(bits as u32);
                    if shape == Shape::Int(64) {
                        operands.push((bits >> 32) as u32);
                    }
                    operands.push(*to);
                }
                Some(self.words.put(Op::Switch, &operands))
            }
            _ => Some(self.words.put(Op::Unreachable, &[])),
        }
    }

    /// Integer arithmetic. Whether it was.
    fn exact(&mut self, instruction: Value<'c>, opcode: Opcode, operands: &[Value<'c>]) -> bool {
        use Opcode::*;
        let shape = Shape::summarize(instruction.ty());
        let of = |index: usize| operands.get(index).copied();
        let shapes: Vec<Shape> = operands
            .iter()
            .map(|one| Shape::summarize(one.ty()))
            .collect();
        let integers = |op| matches!(shape, Shape::Int(_)).then_some(op);
        let either = |int, bool| match shape {
            Shape::Int(_) => Some(int),
            Shape::Bool => Some(bool),
            Shape::Other => None,
        };
        let op = match opcode {
            LLVMAdd => integers(Op::IAdd),
            LLVMSub => integers(Op::ISub),
            LLVMMul => integers(Op::IMul),
            LLVMUDiv => integers(Op::UDiv),
            LLVMSDiv => integers(Op::SDiv),
            LLVMURem => integers(Op::UMod),
            LLVMSRem => integers(Op::SRem),
            LLVMShl => integers(Op::ShiftLeftLogical),
            LLVMLShr => integers(Op::ShiftRightLogical),
            LLVMAShr => integers(Op::ShiftRightArithmetic),
            LLVMAnd => either(Op::BitwiseAnd, Op::LogicalAnd),
            LLVMOr => either(Op::BitwiseOr, Op::LogicalOr),
            LLVMXor => either(Op::BitwiseXor, Op::LogicalNotEqual),
            LLVMFreeze => Some(Op::CopyObject),
            LLVMICmp => match (shapes.first(), instruction.predicate()) {
                (Some(Shape::Int(_)), Some(predicate)) => Some(comparison(predicate)),
                (Some(Shape::Bool), Some(IntPredicate::LLVMIntEQ)) => Some(Op::LogicalEqual),
                (Some(Shape::Bool), Some(IntPredicate::LLVMIntNE)) => Some(Op::LogicalNotEqual),
                _ => None,
            },
            LLVMSelect => (shapes.first() == Some(&Shape::Bool)).then_some(Op::Select),
            LLVMZExt | LLVMTrunc if shape != Shape::Other && shapes[..] != [Shape::Other] => {
                let (Some(value), Some(from)) = (of(0), shapes.first()) else {
                    return false;
                };
                let value = self.id(value);
                let value = convert(self.words, value, *from, shape);
                return self.copy(instruction, value);
            }
            LLVMSExt => match shapes.first() {
                Some(Shape::Int(_)) => integers(Op::SConvert),
                _ => None,
            },
            _ => None,
        };
        let Some(op) = op else {
            return false;
        };
        let operands: Vec<u32> = operands.iter().map(|one| self.id(*one)).collect();
        let result = ty(self.words, shape);
        let id = self.id(instruction);
        self.words.define(op, result, id, &operands);
        true
    }

    /// Lets `instruction` be what `id` is.
    fn copy(&mut self, instruction: Value<'c>, id: u32) -> bool {
        let result = ty(self.words, Shape::summarize(instruction.ty()));
        let own = self.id(instruction);
        self.words.define(Op::CopyObject, result, own, &[id]);
        true
    }

    /// A function of `operands`: equal to itself alone.
    fn function_of(&mut self, operands: &[Value<'c>]) -> u32 {
        let other = ty(self.words, Shape::Other);
        let tag = self.values.unique(self.words);
        let mut sum = tag;
        for operand in operands {
            let operand = self.as_shape(*operand, Shape::Other);
            sum = self.words.result(Op::FAdd, other, &[sum, operand]);
        }
        self.words.result(Op::FMul, other, &[sum, tag])
    }

    /// Lets `instruction` be a function of `operands` of its own.
    fn opaque(&mut self, instruction: Value<'c>, operands: &[Value<'c>]) {
        // Of a call the callee is no value.
        let values: Vec<Value<'c>> = operands
            .iter()
            .copied()
            .filter(|one| Some(*one) != instruction.callee().map(Func::value))
            .collect();
        let value = self.function_of(&values);
        self.bind(instruction, value, Shape::Other);
    }

    /// Binds `id` of `shape` to `instruction`.
    fn bind(&mut self, instruction: Value<'c>, id: u32, shape: Shape) {
        let value = convert(self.words, id, shape, Shape::summarize(instruction.ty()));
        self.copy(instruction, value);
    }

    /// A pointer to a word of the memory that `address` leads to; where the instruction decides
    /// something, at a place that depends on the address.
    fn pointer(&mut self, address: Value<'c>, access: Value<'c>, needed: bool) -> u32 {
        let word = ty(self.words, Shape::Int(32));
        let place = if needed {
            self.as_shape(address, Shape::Other)
        } else {
            number(self.words, 0)
        };
        let is_load = access.opcode() == Some(Opcode::LLVMLoad);
        let constant = is_load && self.is_constant(address, access);
        let class = match memory(address, self.arch) {
            _ if constant => StorageClass::UniformConstant,
            Memory::Shared(variable) => {
                let variable = self.shared(variable);
                let pointer = self
                    .words
                    .ty(Op::TypePointer, &[StorageClass::Workgroup as u32, word]);
                let index = if needed {
                    convert(self.words, place, Shape::Other, Shape::Int(32))
                } else {
                    int(self.words, 32, 0)
                };
                return self
                    .words
                    .result(Op::AccessChain, pointer, &[variable, index]);
            }
            Memory::Class(class) => class,
            Memory::Private => StorageClass::Generic,
        };
        let pointer = self.words.ty(Op::TypePointer, &[class as u32, word]);
        let long = ty(self.words, Shape::Int(64));
        let place = self.words.result(Op::ConvertFToU, long, &[place]);
        self.words.result(Op::ConvertUToPtr, pointer, &[place])
    }

    /// Returns true if nobody writes what `load` reads at `address` while the kernel runs.
    fn is_constant(&self, address: Value<'c>, load: Value<'c>) -> bool {
        if load.is_volatile() {
            return false;
        }
        if load.has_metadata(self.context, "invariant.load") {
            return true;
        }
        let Some(root) = root(address) else {
            return false;
        };
        let function = load.block().function();
        let number = function.params().iter().position(|one| *one == root);
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.is_some_and(|number| {
            let has = |name| function.has_param_attribute(number, name);
            has("byref") || (has("byval") || has("noalias")) && has("readonly")
        })
    }

    /// The skeleton's variable for a workgroup variable.
    fn shared(&mut self, variable: Value<'c>) -> u32 {
        let known = self.values.shared.get(&variable).copied();
        let id = known.unwrap_or_else(|| {
            let word = ty(self.words, Shape::Int(32));
            let bytes = ffi::size_of_global(ffi::module_ref(self.module), variable);
            let length = u32::try_from(bytes.div_ceil(4).max(1)).unwrap_or(u32::MAX);
            let length = int(self.words, 32, u64::from(length));
            let array = self.words.ty(Op::TypeArray, &[word, length]);
            let class = StorageClass::Workgroup;
            let pointer = self.words.ty(Op::TypePointer, &[class as u32, array]);
            let id = self.words.variable(pointer, class);
            self.words.name(id, &variable.name());
            self.values.shared.insert(variable, id);
            id
        });
        self.names(id);
        id
    }

    /// The kernel names variable `id`.
    fn names(&mut self, id: u32) {
        if !self.variables.contains(&id) {
            self.variables.push(id);
        }
    }

    fn load(&mut self, load: Value<'c>, pointer: u32, needed: bool) -> Option<usize> {
        let word = ty(self.words, Shape::Int(32));
        let place = self.words.here();
        let access: &[u32] = if load.is_volatile() { &[1] } else { &[] };
        let operands = [&[pointer], access].concat();
        let id = self.words.result(Op::Load, word, &operands);
        if needed {
            self.bind(load, id, Shape::Int(32));
        }
        Some(place)
    }

    fn store(&mut self, pointer: u32) -> Option<usize> {
        let zero = int(self.words, 32, 0);
        Some(self.words.put(Op::Store, &[pointer, zero]))
    }

    fn atomic(&mut self, update: Value<'c>, pointer: u32, needed: bool) -> Option<usize> {
        let word = ty(self.words, Shape::Int(32));
        let zero = int(self.words, 32, 0);
        let device = int(self.words, 32, u64::from(calls::scope::DEVICE));
        let place = self.words.here();
        // What it orders the code that LLVM makes of it says.
        let id = self
            .words
            .result(Op::AtomicIAdd, word, &[pointer, device, zero, zero]);
        if needed {
            self.bind(update, id, Shape::Int(32));
        }
        Some(place)
    }

    /// A pointer to memory of which nothing is known.
    fn anywhere(&mut self) -> u32 {
        let word = ty(self.words, Shape::Int(32));
        let pointer = self
            .words
            .ty(Op::TypePointer, &[StorageClass::Generic as u32, word]);
        let nowhere = int(self.words, 64, 0);
        self.words.result(Op::ConvertUToPtr, pointer, &[nowhere])
    }

    fn call(&mut self, function: Func<'c>, call: Value<'c>) -> Option<usize> {
        let needed = self.needed.contains(&call);
        if let Some(known) = calls::of(call) {
            match known.barrier(call) {
                Ok(Some(barrier)) => {
                    self.calls.push(call);
                    return Some(self.barrier(barrier));
                }
                Ok(None) => {}
                Err(problem) => self.found.push(refuse(&problem, function, call)),
            }
        }
        let callee = call.callee();
        let name = callee.map_or_else(String::new, Func::name);
        if let Some(source) = source_of(&name) {
            if needed {
                self.source(call, source, &name);
                return None;
            }
            return Some(self.nothing());
        }
        let is_generic = name.starts_with("llvm.") && !is_of_target(&name);
        if is_generic && (callee.is_some_and(Func::is_pure) || says_nothing(&name)) {
            if needed {
                self.opaque(call, &call.arguments());
                return None;
            }
            return Some(self.nothing());
        }
        let pointer = self.anywhere();
        let place = if callee.is_some_and(Func::is_pure) {
            None
        } else {
            self.store(pointer)
        };
        if needed {
            self.load(call, pointer, true);
        }
        place.or_else(|| Some(self.nothing()))
    }

    fn barrier(&mut self, barrier: calls::Barrier) -> usize {
        let constant = |words: &mut Words, value: u32| int(words, 32, u64::from(value));
        let execution = constant(self.words, barrier.execution);
        let memory = constant(self.words, barrier.memory);
        let semantics = constant(self.words, barrier.semantics);
        let all = [execution, memory, semantics];
        match barrier.kind {
            Kind::Arrive => self.words.put(Op::ControlBarrierArriveINTEL, &all),
            Kind::Wait => self.words.put(Op::ControlBarrierWaitINTEL, &all),
            Kind::Control => self.words.put(Op::ControlBarrier, &all),
            Kind::Memory => self.words.put(Op::MemoryBarrier, &[memory, semantics]),
        }
    }

    /// Lets `call` be what its name says of the launch or of the invocation.
    fn source(&mut self, call: Value<'c>, source: Source, name: &str) {
        let component = match name.as_bytes().last() {
            Some(b'y') => 1,
            Some(b'z') => 2,
            _ => 0,
        };
        match source {
            Source::Launch => {
                let other = ty(self.words, Shape::Other);
                let tag = self.values.tag(self.words, name.to_owned());
                let value = self.words.result(Op::FMul, other, &[self.launch, tag]);
                self.bind(call, value, Shape::Other);
            }
            Source::Size => match self.size.and_then(|size| size.get(component).copied()) {
                Some(size) => {
                    let size = int(self.words, 32, u64::from(size));
                    self.bind(call, size, Shape::Int(32));
                }
                None => self.source(call, Source::Launch, name),
            },
            Source::LocalId => {
                let vector = {
                    let long = ty(self.words, Shape::Int(64));
                    self.words.ty(Op::TypeVector, &[long, 3])
                };
                let variable = self.input(BuiltIn::LocalInvocationId, vector);
                let all = self.words.result(Op::Load, vector, &[variable]);
                let long = ty(self.words, Shape::Int(64));
                let one = [all, component as u32];
                let id = self.words.result(Op::CompositeExtract, long, &one);
                self.bind(call, id, Shape::Int(64));
            }
            Source::Lane => {
                let word = ty(self.words, Shape::Int(32));
                let variable = self.input(BuiltIn::SubgroupLocalInvocationId, word);
                let lane = self.words.result(Op::Load, word, &[variable]);
                let other = ty(self.words, Shape::Other);
                let lane = self.words.result(Op::ConvertUToF, other, &[lane]);
                let tag = self.values.unique(self.words);
                let value = self.words.result(Op::FMul, other, &[lane, tag]);
                self.bind(call, value, Shape::Other);
            }
            Source::OfWave => {
                let value = self.function_of(&call.arguments());
                let other = ty(self.words, Shape::Other);
                let subgroup = int(self.words, 32, u64::from(calls::scope::SUBGROUP));
                let first = [subgroup, value];
                let op = Op::GroupNonUniformBroadcastFirst;
                let value = self.words.result(op, other, &first);
                self.bind(call, value, Shape::Other);
            }
            Source::Decided => {
                let other = ty(self.words, Shape::Other);
                let tag = self.values.unique(self.words);
                let value = self.words.result(Op::FMul, other, &[self.launch, tag]);
                self.bind(call, value, Shape::Other);
            }
        }
    }

    /// The variable of a built-in of type `ty`.
    fn input(&mut self, built_in: BuiltIn, ty: u32) -> u32 {
        if let Some(id) = self.inputs.get(&(built_in as u32)) {
            return *id;
        }
        let class = StorageClass::Input;
        let pointer = self.words.ty(Op::TypePointer, &[class as u32, ty]);
        let id = self.words.variable(pointer, class);
        self.words.built_in(id, built_in);
        self.inputs.insert(built_in as u32, id);
        self.names(id);
        id
    }
}

/// Where a value comes from that no operand decides.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Source {
    /// The launch: one value in a workgroup.
    Launch,
    /// The size of the workgroup.
    Size,
    /// The id of the invocation in its workgroup.
    LocalId,
    /// The place of the invocation in its wave.
    Lane,
    /// One value for the wave.
    OfWave,
    /// What LLVM decides later: alike for all invocations, and nobody knows which way.
    Decided,
}

/// LLVM's intrinsics for what a launch and an invocation are, by the beginning of their names.
const SOURCES: &[(&str, Source)] = &[
    ("llvm.amdgcn.workitem.id.", Source::LocalId),
    ("llvm.amdgcn.workgroup.id.", Source::Launch),
    ("llvm.amdgcn.cluster.id.", Source::Launch),
    ("llvm.amdgcn.dispatch.", Source::Launch),
    ("llvm.amdgcn.implicitarg.ptr", Source::Launch),
    ("llvm.amdgcn.kernarg.segment.ptr", Source::Launch),
    ("llvm.amdgcn.queue.ptr", Source::Launch),
    ("llvm.amdgcn.groupstaticsize", Source::Launch),
    ("llvm.amdgcn.mbcnt.", Source::Lane),
    ("llvm.amdgcn.readfirstlane", Source::OfWave),
    ("llvm.amdgcn.ballot", Source::OfWave),
    ("llvm.amdgcn.wavefrontsize", Source::Launch),
    ("llvm.nvvm.read.ptx.sreg.tid.", Source::LocalId),
    ("llvm.nvvm.read.ptx.sreg.ntid.", Source::Size),
    ("llvm.nvvm.read.ptx.sreg.ctaid.", Source::Launch),
    ("llvm.nvvm.read.ptx.sreg.nctaid.", Source::Launch),
    ("llvm.nvvm.read.ptx.sreg.cluster.", Source::Launch),
    ("llvm.nvvm.read.ptx.sreg.warpsize", Source::Launch),
    ("llvm.nvvm.read.ptx.sreg.laneid", Source::Lane),
    ("llvm.nvvm.vote.", Source::OfWave),
    ("llvm.is.constant", Source::Decided),
];

fn source_of(name: &str) -> Option<Source> {
    let row = SOURCES.iter().find(|(start, _)| name.starts_with(start));
    row.map(|(_, source)| *source)
}

fn is_of_target(name: &str) -> bool {
    ["llvm.amdgcn.", "llvm.nvvm.", "llvm.r600."]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Intrinsics that do nothing, though LLVM says that they touch memory.
fn says_nothing(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "llvm.assume",
        "llvm.lifetime.",
        "llvm.dbg.",
        "llvm.sideeffect",
        "llvm.experimental.noalias.scope.decl",
        "llvm.invariant.",
        "llvm.donothing",
        "llvm.pseudoprobe",
    ];
    NAMES.iter().any(|start| name.starts_with(start))
}

fn is_end(instruction: Value<'_>) -> bool {
    instruction.block().terminator() == Some(instruction)
}

fn comparison(predicate: IntPredicate) -> Op {
    match predicate {
        IntPredicate::LLVMIntEQ => Op::IEqual,
        IntPredicate::LLVMIntNE => Op::INotEqual,
        IntPredicate::LLVMIntUGT => Op::UGreaterThan,
        IntPredicate::LLVMIntUGE => Op::UGreaterThanEqual,
        IntPredicate::LLVMIntULT => Op::ULessThan,
        IntPredicate::LLVMIntULE => Op::ULessThanEqual,
        IntPredicate::LLVMIntSGT => Op::SGreaterThan,
        IntPredicate::LLVMIntSGE => Op::SGreaterThanEqual,
        IntPredicate::LLVMIntSLT => Op::SLessThan,
        IntPredicate::LLVMIntSLE => Op::SLessThanEqual,
    }
}

/// Kernels take no Booleans in SPIR-V.
fn parameter_shape(parameter: Value<'_>) -> Shape {
    match Shape::summarize(parameter.ty()) {
        Shape::Bool => Shape::Other,
        shape => shape,
    }
}

/// What a chain of addresses begins with.
fn root<'c>(address: Value<'c>) -> Option<Value<'c>> {
    const MOST_STEPS: usize = 64;
    let mut at = address;
    for _ in 0..MOST_STEPS {
        match at.opcode() {
            None => return Some(at),
            Some(Opcode::LLVMGetElementPtr | Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast) => {
                at = *at.operands().first()?;
            }
            Some(_) => return None,
        }
    }
    None
}

/// The blocks that control reaches, each behind those that dominate it.
fn reverse_postorder<'c>(function: Func<'c>) -> Vec<Block<'c>> {
    let Some(first) = function.blocks().first().copied() else {
        return Vec::new();
    };
    let mut seen = HashSet::from([first]);
    let mut done = Vec::new();
    let mut stack = vec![(first, first.successors())];
    while let Some((block, left)) = stack.last_mut() {
        match left.pop() {
            Some(next) if seen.insert(next) => stack.push((next, next.successors())),
            Some(_) => {}
            None => {
                done.push(*block);
                stack.pop();
            }
        }
    }
    done.reverse();
    done
}
