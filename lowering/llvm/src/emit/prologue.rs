//! What a kernel does before its first instruction: it binds its arguments, its private variables
//! and the built-ins, clears what starts as zero, and sets the barriers up.

use super::Result;
use super::function::FunctionEmitter;
use super::layout;
use super::slots::{Pointer, Slot};
use super::state::{Bulk, StateSlots};
use super::types::Kind;
use super::uses::{self, Hidden, Uses};
use crate::ffi::{IntPredicate, Value};
use spirv::StorageClass;
use splitbar_layout::abi::{self, Abi, Passing, Role};
use splitbar_passes::analysis::layout::Alignment;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Function, Id};

impl<'c, 'm> FunctionEmitter<'_, 'c, 'm> {
    /// The slot of module-scope variable `id` at `address`.
    pub(super) fn variable_slot(&self, id: Id, address: Value<'c>) -> Slot<'c> {
        let Some(variable) = self.module.declarations.variable(id) else {
            return Slot::Bad;
        };
        let pointee = uses::pointee(self.module.declarations, variable);
        let (size, natural) = pointee
            .and_then(|ty| self.module.types.get(ty))
            .map_or((0, Alignment::BYTE), |info| (info.size, info.align));
        let align = match variable.class {
            StorageClass::StorageBuffer | StorageClass::Uniform => self.buffer_align(pointee),
            StorageClass::PushConstant => abi::push_constants_place(size).1,
            _ => natural,
        };
        Slot::Pointer(Pointer {
            address,
            pointee,
            class: variable.class,
            align: align.bytes(),
            matrix: None,
            qualifiers: Default::default(),
        })
    }

    /// The slot of a parameter of type `ty`.
    pub(super) fn parameter_slot(&self, ty: Id, value: Value<'c>) -> Slot<'c> {
        match self.module.types.get(ty).map(|info| &info.kind) {
            Some(Kind::Pointer { class, pointee }) => {
                Slot::Pointer(self.unknown_place(value, *class, *pointee))
            }
            Some(_) => Slot::Value(value),
            None => Slot::Bad,
        }
    }

    /// What a call passes for a hidden parameter.
    pub(super) fn hidden(&self, hidden: Hidden) -> Result<Value<'c>> {
        match hidden {
            Hidden::Variable(id) => self.value(id),
            Hidden::Length(id) => self
                .arguments
                .lengths
                .iter()
                .find(|(v, _)| *v == id)
                .map(|(_, length)| *length)
                .ok_or_else(|| self.b.internal(format!("the length of {id} is not there"))),
            Hidden::PrintBuffer => self
                .arguments
                .printf_buffer
                .ok_or_else(|| self.b.internal("the printf buffer is not there")),
        }
    }

    /// Binds arguments, private variables and built-ins, clears what starts as zero, and sets the
    /// barriers up.
    pub(super) fn kernel_prologue(
        &mut self,
        function: &Function<'m>,
        uses: &Uses,
        abi: &Abi,
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        for (index, parameter) in abi.parameters.iter().enumerate() {
            let value = self.function.param(index as u32);
            let value = value.ok_or_else(|| self.b.internal("the kernel lacks a parameter"))?;
            match &parameter.role {
                Role::Buffer(ids) => {
                    for id in ids {
                        let slot = self.variable_slot(*id, value);
                        self.set(*id, slot);
                    }
                }
                Role::PushConstant(id) => {
                    let slot = self.variable_slot(*id, value);
                    self.set(*id, slot);
                }
                Role::Length(ids) => {
                    let lengths: Vec<_> = ids.iter().map(|id| (*id, value)).collect();
                    self.arguments.lengths.extend(lengths);
                }
                Role::Table(accesses) => {
                    for access in accesses {
                        self.fetch(value, access)?;
                    }
                }
                Role::WorkDimensions => self.arguments.work_dim = Some(value),
                Role::PrintBuffer => self.arguments.printf_buffer = Some(value),
                Role::Own(own) => {
                    let parameter = function.params.get(*own);
                    let (id, ty) = parameter
                        .ok_or_else(|| self.b.internal("an argument without its parameter"))?;
                    let slot = self.parameter_slot(*ty, value);
                    self.set(*id, slot);
                }
                Role::OwnBlock(own, pointee) => {
                    let (Some((id, _)), Passing::Block { bytes, align, .. }) =
                        (function.params.get(*own), parameter.passing)
                    else {
                        return Err(self.b.internal("a block without its parameter"));
                    };
                    if let Some(inst) = self.module.declarations.module.def(*id) {
                        self.b.at.set(inst.offset);
                    }
                    let align = align.bytes();
                    let copy = self.declared_slot(*pointee, bytes, align)?;
                    self.b
                        .raw()
                        .memcpy(copy, align, value, align, self.b.i64(bytes));
                    self.set(
                        *id,
                        Slot::Pointer(Pointer {
                            address: copy,
                            pointee: Some(*pointee),
                            class: StorageClass::Function,
                            align,
                            matrix: None,
                            qualifiers: Default::default(),
                        }),
                    );
                }
            }
        }
        for (id, _) in &function.params {
            if matches!(self.slot(*id), Slot::Empty) {
                // Of a type that no host can pass: reported when the arguments were planned.
                self.set(*id, Slot::Bad);
            }
        }
        for id in &uses.variables {
            if matches!(self.slot(*id), Slot::Empty) {
                // A class that has no arguments and no memory: reported when the arguments were
                // planned, unless the next line knows it.
                self.set(*id, Slot::Bad);
            }
            if let Err(problem) = self.local_variable(*id) {
                self.set(*id, Slot::Bad);
                if !self.cascade.replace(false) {
                    diagnostics.push(*problem);
                }
            }
        }
        self.clear_workgroup_variables(uses)?;
        self.set_barriers_up()
    }

    /// The run-time state of the barriers, and what the plan does before the first instruction.
    pub(crate) fn set_barriers_up(&mut self) -> Result<()> {
        if self.module.calls {
            return Ok(());
        }
        let word = self.b.int_type(32);
        let plan = self.kernel.plan;
        let wanted = plan.state;
        let mut slot = |wanted: bool| -> Result<Option<Value<'c>>> {
            if !wanted {
                return Ok(None);
            }
            let slot = self.stack_slot(word, 4)?;
            self.b.store(word.zero(), slot, 4)?;
            Ok(Some(slot))
        };
        self.barrier_state = StateSlots {
            word: slot(wanted.word)?,
            outstanding: slot(wanted.outstanding)?,
            bulk: match (
                slot(wanted.bulk_slots.is_some())?,
                slot(wanted.bulk_slots.is_some())?,
                wanted.bulk_slots,
            ) {
                (Some(begun), Some(complete), Some(slots)) => Some(Bulk {
                    begun,
                    complete,
                    slots,
                }),
                _ => None,
            },
            ..StateSlots::default()
        };
        self.empty_sets()?;
        self.empty_notes()?;
        self.end = (!plan.at_end.is_empty()).then(|| self.new_block());
        self.steps(&plan.at_entry)
    }

    /// A Private variable or a built-in: a stack slot of the kernel.
    fn local_variable(&mut self, id: Id) -> Result<()> {
        let variable = self.module.declarations.variable(id);
        let variable =
            variable.ok_or_else(|| self.b.internal(format!("{id} is used as a variable")))?;
        if !matches!(variable.class, StorageClass::Private | StorageClass::Input) {
            return Ok(());
        }
        self.b.at.set(variable.inst.offset);
        let pointee = uses::pointee(self.module.declarations, variable)
            .ok_or_else(|| self.b.mismatch(format!("the variable {id} has no type")))?;
        let info = self.type_info(pointee)?;
        let least = info.align.max(Alignment::WORD);
        let align = layout::variable_align(self.module.declarations, id, least).bytes();
        let size = info.size;
        let address = self.declared_slot(pointee, size, align)?;
        let pointer = Pointer {
            address,
            pointee: Some(pointee),
            class: variable.class,
            align,
            matrix: None,
            qualifiers: Default::default(),
        };
        if variable.class == StorageClass::Input {
            let value = self.built_in(id, pointee)?;
            self.store(&pointer, pointee, value)?;
        } else if let Some(initializer) = variable.initializer {
            self.store_constant(&pointer, pointee, initializer)?;
        } else {
            self.give_contents(id, address, info.size, align);
        }
        self.set(id, Slot::Pointer(pointer));
        Ok(())
    }

    /// Workgroup variables with a null initializer: the invocations write zeros together, and a
    /// barrier makes that known.
    fn clear_workgroup_variables(&mut self, uses: &Uses) -> Result<()> {
        let mut any = false;
        for id in &uses.variables {
            let Some(variable) = self
                .module
                .declarations
                .variable(*id)
                .filter(|v| v.class == StorageClass::Workgroup && v.initializer.is_some())
            else {
                continue;
            };
            let pointee = uses::pointee(self.module.declarations, variable)
                .ok_or_else(|| self.b.mismatch(format!("the variable {id} has no type")))?;
            let size = self.type_info(pointee)?.size;
            let pointer = self.pointer(*id)?;
            self.clear(pointer.address, size)?;
            any = true;
        }
        if !any {
            return Ok(());
        }
        self.publish()
    }

    /// `for (i = index; i < bytes; i += invocations) base[i] = 0`, in words where the size allows.
    fn clear(&mut self, base: Value<'c>, bytes: u64) -> Result<()> {
        let b = self.b;
        let unit: u32 = if bytes.is_multiple_of(4) { 4 } else { 1 };
        let count = u32::try_from(bytes / u64::from(unit))
            .map_err(|_| b.mismatch("a workgroup variable of more than 4 GiB"))?;
        let first = super::builtin::local_invocation_index(self)?;
        let step = super::builtin::invocations(self)?;
        let before = b.block()?;
        let (test, body, done) = (self.new_block(), self.new_block(), self.new_block());
        b.br(test);
        b.position(test);
        let index = b.phi(&[(first, before)])?;
        b.cond_br(
            b.icmp(IntPredicate::LLVMIntULT, index, b.i32(count))?,
            body,
            done,
        )?;
        b.position(body);
        let place = b.offset(base, b.mul(index, b.i32(unit))?, true)?;
        b.store(b.int_type(unit * 8).zero(), place, unit)?;
        index.add_incoming(b.add(index, step)?, body);
        b.br(test);
        b.position(done);
        Ok(())
    }
}
