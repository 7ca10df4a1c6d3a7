//! The buffer, the variables that an invocation keeps, and the function that makes a record.

use crate::diagnostic::Diagnostic;
use crate::module::WordOffset;
use crate::profile::layout::{self, HEADER_WORDS, RECORD_WORDS, header, record};
use crate::profile::{Gpu, module_hash};
use crate::transform::built_ins::Input;
use crate::transform::edit::{Edit, string};
use crate::transform::operands::SUBGROUP;
use spirv::{BuiltIn, Capability, Decoration, FunctionControl, Op, StorageClass};

/// The extension that has the clock.
const EXTENSION: &str = "SPV_KHR_shader_clock";

/// What the barriers of a module are measured with.
pub(super) struct Recorder {
    uint: u32,
    void: u32,
    /// Two words of a clock.
    clock: u32,
    /// The scope of the clock, a constant.
    subgroup: u32,
    buffer: u32,
    /// Private variables: measured barriers that were passed, and word offset and clock of the last
    /// arrive.
    phase: u32,
    arrive: u32,
    arrived: u32,
    inputs: Inputs,
    /// void (uint arrive, uint wait, uvec2 arrived, uvec2 waited, uvec2 passed, uint phase). It
    /// takes values, returns nothing and is not to be inlined, so that its branches come into the
    /// kernel when nothing can sink behind them any more: they would empty the window.
    function: u32,
}

#[derive(Copy, Clone)]
struct Inputs {
    workgroup: Input,
    subgroup: Input,
    subgroups: Input,
}

impl Recorder {
    pub(super) fn declare(
        edit: &mut Edit<'_, '_>,
        place: (u32, u32),
        gpu: Option<Gpu>,
    ) -> Result<Recorder, Diagnostic> {
        for needed in [Capability::GroupNonUniform, Capability::ShaderClockKHR] {
            if !edit.declarations.has_capability(needed) {
                edit.capability(needed as u32)?;
            }
        }
        if !edit.declarations.extensions.iter().any(|e| e == EXTENSION) {
            edit.extension(EXTENSION)?;
        }
        let uint = edit.uint()?;
        let zero = edit.number(0)?;
        let clock = edit.type_of(Op::TypeVector, &[uint, 2])?;
        let inputs = Inputs {
            workgroup: Input::new(edit, BuiltIn::WorkgroupId, 3)?,
            subgroup: Input::new(edit, BuiltIn::SubgroupId, 1)?,
            subgroups: Input::new(edit, BuiltIn::NumSubgroups, 1)?,
        };
        let mut recorder = Recorder {
            uint,
            void: edit.type_of(Op::TypeVoid, &[])?,
            clock,
            subgroup: edit.number(SUBGROUP)?,
            buffer: buffer(edit, place)?,
            phase: private(edit, uint, &[zero])?,
            arrive: private(edit, uint, &[zero])?,
            arrived: private(edit, clock, &[])?,
            inputs,
            function: edit.fresh()?,
        };
        recorder.write(edit, gpu)?;
        Ok(recorder)
    }

    /// The built-in variables.
    pub(super) fn inputs(&self) -> [u32; 3] {
        let Inputs {
            workgroup,
            subgroup,
            subgroups,
        } = self.inputs;
        [workgroup, subgroup, subgroups].map(|input| input.variable)
    }

    /// All other variables.
    pub(super) fn others(&self) -> [u32; 4] {
        [self.buffer, self.phase, self.arrive, self.arrived]
    }

    /// Notes place and clock of the arrive at `offset`.
    pub(super) fn arrive(
        &self,
        edit: &mut Edit<'_, '_>,
        offset: WordOffset,
    ) -> Result<(), Diagnostic> {
        let (place, clock) = (edit.number(offset.get())?, edit.fresh()?);
        edit.before(offset, Op::Store, &[self.arrive, place])?;
        self.read(edit, offset, clock)?;
        edit.before(offset, Op::Store, &[self.arrived, clock])
    }

    /// Makes a record behind the wait at `offset`.
    pub(super) fn wait(
        &self,
        edit: &mut Edit<'_, '_>,
        offset: WordOffset,
    ) -> Result<(), Diagnostic> {
        let [waited, passed, arrive, arrived] = ids(edit)?;
        let place = edit.number(offset.get())?;
        self.read(edit, offset, waited)?;
        self.read_behind(edit, offset, passed)?;
        edit.after(offset, Op::Load, &[self.uint, arrive, self.arrive])?;
        edit.after(offset, Op::Load, &[self.clock, arrived, self.arrived])?;
        self.record(edit, offset, [arrive, place, arrived, waited, passed])
    }

    /// Makes a record behind the OpControlBarrier at `offset`, which may stand between an arrive
    /// and its wait.
    pub(super) fn barrier(
        &self,
        edit: &mut Edit<'_, '_>,
        offset: WordOffset,
    ) -> Result<(), Diagnostic> {
        let [arrived, passed] = ids(edit)?;
        let place = edit.number(offset.get())?;
        self.read(edit, offset, arrived)?;
        self.read_behind(edit, offset, passed)?;
        self.record(edit, offset, [place, place, arrived, arrived, passed])
    }

    /// Calls the function with these `values` and counts the phase, behind the instruction at
    /// `offset`.
    fn record(
        &self,
        edit: &mut Edit<'_, '_>,
        offset: WordOffset,
        values: [u32; 5],
    ) -> Result<(), Diagnostic> {
        let [phase, call, next] = ids(edit)?;
        let one = edit.number(1)?;
        edit.after(offset, Op::Load, &[self.uint, phase, self.phase])?;
        let call = [self.void, call, self.function];
        let call: Vec<u32> = call.into_iter().chain(values).chain([phase]).collect();
        edit.after(offset, Op::FunctionCall, &call)?;
        edit.after(offset, Op::IAdd, &[self.uint, next, phase, one])?;
        edit.after(offset, Op::Store, &[self.phase, next])
    }

    /// Reads the clock before the instruction at `offset`.
    fn read(
        &self,
        edit: &mut Edit<'_, '_>,
        offset: WordOffset,
        clock: u32,
    ) -> Result<(), Diagnostic> {
        let operands = [self.clock, clock, self.subgroup];
        edit.before(offset, Op::ReadClockKHR, &operands)
    }

    fn read_behind(
        &self,
        edit: &mut Edit<'_, '_>,
        offset: WordOffset,
        clock: u32,
    ) -> Result<(), Diagnostic> {
        let operands = [self.clock, clock, self.subgroup];
        edit.after(offset, Op::ReadClockKHR, &operands)
    }

    /// Writes the function: the first invocation of the subgroup takes a number, writes the header
    /// if it is the first one, and then its record.
    fn write(&mut self, edit: &mut Edit<'_, '_>, gpu: Option<Gpu>) -> Result<(), Diagnostic> {
        let (uint, function) = (self.uint, self.function);
        let boolean = edit.type_of(Op::TypeBool, &[])?;
        let parameters = [uint, uint, self.clock, self.clock, self.clock, uint];
        let ty: Vec<u32> = [self.void].into_iter().chain(parameters).collect();
        let ty = edit.type_of(Op::TypeFunction, &ty)?;
        let (zero, one) = (edit.number(0)?, edit.number(1)?);
        let words = edit.number(RECORD_WORDS)?;
        let [arrive, wait, arrived, waited, passed, phase] = ids(edit)?;
        let [entry, writes, takes, begins, fills, end] = ids(edit)?;
        let control = FunctionControl::DONT_INLINE.bits();
        edit.function(Op::Function, &[self.void, function, control, ty])?;
        for (ty, id) in parameters
            .iter()
            .zip([arrive, wait, arrived, waited, passed, phase])
        {
            edit.function(Op::FunctionParameter, &[*ty, id])?;
        }
        edit.function(Op::Label, &[entry])?;
        let [is_elected, length, capacity, has_room] = ids(edit)?;
        let elect = [boolean, is_elected, self.subgroup];
        edit.function(Op::GroupNonUniformElect, &elect)?;
        // The words behind the header.
        edit.function(Op::ArrayLength, &[uint, length, self.buffer, HEADER_WORDS])?;
        edit.function(Op::UDiv, &[uint, capacity, length, words])?;
        edit.function(Op::INotEqual, &[boolean, has_room, capacity, zero])?;
        edit.function(Op::LogicalAnd, &[boolean, writes, is_elected, has_room])?;
        edit.function(Op::SelectionMerge, &[end, 0])?;
        edit.function(Op::BranchConditional, &[writes, takes, end])?;
        edit.function(Op::Label, &[takes])?;
        let [before, is_first, number, slot, at] = ids(edit)?;
        let head = self.header_word(edit, header::COUNT)?;
        let scope = edit.number(device(edit))?;
        edit.function(Op::AtomicIAdd, &[uint, before, head, scope, zero, one])?;
        edit.function(Op::IEqual, &[boolean, is_first, before, zero])?;
        edit.function(Op::SelectionMerge, &[fills, 0])?;
        edit.function(Op::BranchConditional, &[is_first, begins, fills])?;
        edit.function(Op::Label, &[begins])?;
        self.begin(edit, capacity, gpu)?;
        edit.function(Op::Branch, &[fills])?;
        edit.function(Op::Label, &[fills])?;
        edit.function(Op::IAdd, &[uint, number, before, one])?;
        edit.function(Op::UMod, &[uint, slot, before, capacity])?;
        edit.function(Op::IMul, &[uint, at, slot, words])?;
        let mut values = vec![
            (record::NUMBER, number),
            (record::ARRIVE, arrive),
            (record::WAIT, wait),
            (record::PHASE, phase),
            (record::SUBGROUP, self.inputs.subgroup.load(edit)?),
            (record::SUBGROUPS, self.inputs.subgroups.load(edit)?),
        ];
        let workgroup = self.inputs.workgroup.load_three(edit)?;
        values.extend((record::WORKGROUP..).zip(workgroup));
        for (index, clock) in [
            (record::ARRIVED, arrived),
            (record::WAITED, waited),
            (record::PASSED, passed),
        ] {
            for half in 0..2 {
                let [word] = ids(edit)?;
                edit.function(Op::CompositeExtract, &[uint, word, clock, half])?;
                values.push((index + half, word));
            }
        }
        let mut check = zero;
        for (_, value) in &values {
            let [sum] = ids(edit)?;
            edit.function(Op::BitwiseXor, &[uint, sum, check, *value])?;
            check = sum;
        }
        values.push((record::CHECK, check));
        let member = edit.number(HEADER_WORDS)?;
        let pointer = word_pointer(edit)?;
        for (index, value) in values {
            let index = edit.number(index)?;
            let [place, address] = ids(edit)?;
            edit.function(Op::IAdd, &[uint, place, at, index])?;
            let chain = [pointer, address, self.buffer, member, place];
            edit.function(Op::AccessChain, &chain)?;
            edit.function(Op::Store, &[address, value])?;
        }
        edit.function(Op::Branch, &[end])?;
        edit.function(Op::Label, &[end])?;
        edit.function(Op::Return, &[])?;
        edit.function(Op::FunctionEnd, &[])
    }

    /// Writes the header. The words of a GPU that is not known are the host's.
    fn begin(
        &self,
        edit: &mut Edit<'_, '_>,
        capacity: u32,
        gpu: Option<Gpu>,
    ) -> Result<(), Diagnostic> {
        let hash = module_hash(edit.module());
        let mut words = vec![
            (header::MAGIC, edit.number(layout::MAGIC)?),
            (header::VERSION, edit.number(layout::VERSION)?),
            (header::HASH, edit.number(hash as u32)?),
            (header::HASH + 1, edit.number((hash >> 32) as u32)?),
            (header::CAPACITY, capacity),
        ];
        for (index, word) in (header::GPU..).zip(gpu.into_iter().flat_map(Gpu::words)) {
            words.push((index, edit.number(word)?));
        }
        for (index, value) in words {
            let address = self.header_word(edit, index)?;
            edit.function(Op::Store, &[address, value])?;
        }
        Ok(())
    }

    /// The address of a word of the header.
    fn header_word(&self, edit: &mut Edit<'_, '_>, index: u32) -> Result<u32, Diagnostic> {
        let (pointer, index, address) = (word_pointer(edit)?, edit.number(index)?, edit.fresh()?);
        let chain = [pointer, address, self.buffer, index];
        edit.function(Op::AccessChain, &chain)?;
        Ok(address)
    }
}

/// The buffer: a member for each word of the header, and the words of the records.
fn buffer(edit: &mut Edit<'_, '_>, (set, binding): (u32, u32)) -> Result<u32, Diagnostic> {
    let uint = edit.uint()?;
    let ring = edit.global(Op::TypeRuntimeArray, &[0, uint], 0)?;
    edit.annotation(Op::Decorate, &[ring, Decoration::ArrayStride as u32, 4])?;
    let mut members = vec![0];
    members.extend((0..HEADER_WORDS).map(|_| uint));
    members.push(ring);
    let block = edit.global(Op::TypeStruct, &members, 0)?;
    for member in 0..=HEADER_WORDS {
        let offset = [block, member, Decoration::Offset as u32, 4 * member];
        edit.annotation(Op::MemberDecorate, &offset)?;
    }
    edit.annotation(Op::Decorate, &[block, Decoration::Block as u32])?;
    let class = StorageClass::StorageBuffer as u32;
    let pointer = edit.type_of(Op::TypePointer, &[class, block])?;
    let variable = edit.global(Op::Variable, &[pointer, 0, class], 1)?;
    for (decoration, value) in [
        (Decoration::DescriptorSet, set),
        (Decoration::Binding, binding),
    ] {
        edit.annotation(Op::Decorate, &[variable, decoration as u32, value])?;
    }
    let mut name = vec![variable];
    name.extend(string("splitbar_skew"));
    edit.annotation_name(&name)?;
    Ok(variable)
}

fn word_pointer(edit: &mut Edit<'_, '_>) -> Result<u32, Diagnostic> {
    let uint = edit.uint()?;
    edit.type_of(Op::TypePointer, &[StorageClass::StorageBuffer as u32, uint])
}

/// A Private variable of type `ty`, with an initial value or without.
fn private(edit: &mut Edit<'_, '_>, ty: u32, initial: &[u32]) -> Result<u32, Diagnostic> {
    let class = StorageClass::Private as u32;
    let pointer = edit.type_of(Op::TypePointer, &[class, ty])?;
    let mut operands = vec![pointer, 0, class];
    operands.extend(initial);
    edit.global(Op::Variable, &operands, 1)
}

/// The widest scope of the device: the Vulkan memory model has Device only with a capability of its
/// own; QueueFamily comes with the model.
fn device(edit: &Edit<'_, '_>) -> u32 {
    let declarations = edit.declarations;
    if declarations.has_capability(Capability::VulkanMemoryModel) {
        5
    } else {
        1
    }
}

fn ids<const N: usize>(edit: &mut Edit<'_, '_>) -> Result<[u32; N], Diagnostic> {
    let mut ids = [0; N];
    for id in &mut ids {
        *id = edit.fresh()?;
    }
    Ok(ids)
}
