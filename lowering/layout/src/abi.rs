//! The kernel's arguments: which there are, in which order, how each target passes them.
//!
//! How resources are handed over is a choice ([`AbiForm`]). The default, GLCompute: each storage or
//! uniform buffer by (set, binding) as a pointer to global memory (an array of descriptors: a
//! pointer to a table of pointers), aliased variables of one binding sharing it; the push-constant
//! block by value; then the length in bytes (`i32`) of each buffer whose runtime array's length is
//! asked for (of an array of descriptors: a pointer to a table of lengths). Kernel: the entry
//! point's own parameters, and the number of dimensions where WorkDim is asked for on NVPTX. Both:
//! last the printf buffer, where a printf can be reached. Blocks that are passed by value are read
//! in place.
//!
//! Data flows one way: what the kernel touches (`resources`), the chosen form (`form`), which makes
//! a table of it, what the kernel reads by that table (`table`), and the parameters here.

mod alignment;
mod combined_image_samplers;
mod form;
mod parameter;
mod resources;
mod table;
#[cfg(test)]
mod tests;

pub use alignment::table_align;
pub use combined_image_samplers::{Combination, Place, SamplerState};
pub use form::{
    AbiForm, AbiTable, BindingOffset, DescriptorArrays, DescriptorPlace, DescriptorSets,
    DescriptorSize, Reach, TableArgument,
};
pub use parameter::{Argument, ArgumentKind, Parameter, Passing, Role};
pub use resources::{Resource, ResourceKind};
pub use table::{Access, Fetched, Reached};

use crate::Result;
use crate::pointers::{self, GLOBAL, block_space, is_descriptor_array, read_only_space};
use crate::tensor;
use crate::types::{self, Kind, Types};
use spirv::StorageClass;
use splitbar_passes::analysis::layout;
use splitbar_passes::analysis::qualifiers::MemoryQualifiers;
use splitbar_passes::analysis::uses::{self, Uses};
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::{Declarations, Function, Id, WordOffset};
use splitbar_passes::printf::Table;
use splitbar_target::{Arch, Target};
use table::Use;

use splitbar_passes::analysis::layout::{Alignment, BUFFER_ALIGN};

/// Alignment of a table of lengths, which are words.
const LENGTH_ALIGN: Alignment = Alignment::WORD;

/// Alignment of the printf buffer, which begins with counters.
const PRINT_BUFFER_ALIGN: Alignment = Alignment::POINTER;

/// Most bytes that are passed by value, of one block and of all together. The drivers allow less;
/// LLVM takes no more than it can address.
pub const MAX_BLOCK_BYTES: u64 = 1 << 16;

/// The binary interface of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelAbi {
    /// The entry point's name.
    pub entry: String,
    /// The kernel's symbol: the name, with what an assembler or LLVM would not take as a name
    /// replaced.
    pub symbol: String,
    /// Its workgroup size; `None` when the launch decides.
    pub workgroup_size: Option<[u32; 3]>,
    /// Bytes of its workgroup variables, without what barriers reserve.
    pub shared_memory_bytes: u32,
    /// Of these, the bytes that the launch adds as dynamic memory; the code declares the others.
    pub dynamic_shared_bytes: u32,
    /// Its arguments, in order.
    pub arguments: Vec<Argument>,
    /// The form of its binary interface.
    pub form: AbiForm,
    /// The way to reach each resource; empty if each is an argument.
    pub resources: Vec<Reached>,
    /// The images and samplers that it combines; empty where the target keeps them apart.
    pub combined_image_samplers: Vec<Combination>,
    /// The meaning of the numbers in its printf buffer.
    pub prints: Table,
}

impl KernelAbi {
    /// Bytes of its kernarg segment, without the arguments that a runtime appends.
    pub fn kernarg_segment_size(&self) -> u32 {
        let ends = self
            .arguments
            .iter()
            .map(|one| one.offset.saturating_add(one.size));
        ends.max().unwrap_or(0) // no arguments
    }

    /// Alignment of that block.
    pub fn kernarg_segment_align(&self) -> u32 {
        let aligns = self.arguments.iter().map(|one| one.align);
        aligns.max().unwrap_or(1) // no arguments
    }

    /// Bytes of its workgroup variables that the code declares.
    pub fn static_shared_bytes(&self) -> u32 {
        self.shared_memory_bytes
            .saturating_sub(self.dynamic_shared_bytes)
    }

    /// Returns true if the launch must add workgroup memory: for variables, or to hand its address
    /// over.
    pub fn wants_dynamic_shared_memory(&self) -> bool {
        let mut arguments = self.arguments.iter();
        self.dynamic_shared_bytes > 0
            || arguments.any(|one| one.kind == ArgumentKind::DynamicSharedPointer)
    }
}

/// The symbol for an entry point called `name` beside kernels that have the symbols `taken`:
/// letters, digits, `_` and `$`, no digit first, not LLVM's own.
pub fn symbol(name: &str, taken: &[String]) -> String {
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '$' {
                c
            } else {
                '_'
            }
        })
        .collect();
    let good_start = plain
        .starts_with(|c: char| c.is_ascii_alphabetic() || (c == '_' && plain.len() > 1))
        && !plain.starts_with("llvm");
    let base = if good_start {
        plain
    } else {
        format!("k_{plain}")
    };
    let mut symbol = base.clone();
    let mut number = 2;
    while taken.contains(&symbol) {
        symbol = format!("{base}_{number}");
        number += 1;
    }
    symbol
}

/// The parameters of a kernel, in order.
#[derive(Clone, Debug)]
pub struct Abi {
    /// All of them.
    pub parameters: Vec<Parameter>,
    /// The way to reach each resource; empty if each is an argument.
    pub resources: Vec<Reached>,
    /// The images and samplers that it combines; empty where the target keeps them apart.
    pub combined_image_samplers: Vec<Combination>,
}

/// Size and alignment of a push-constant block of this many bytes. The alignment divides the size:
/// LLVM reads aligned data in pieces of that size, and must not read beyond the block.
pub fn push_constants_place(bytes: u64) -> (u64, Alignment) {
    let size = Alignment::WORD.round_up(bytes);
    (size, BUFFER_ALIGN.at_offset(size))
}

/// Whether a block of `bytes`, which is `what` and declared at word `at`, can be passed by value.
fn fits_arguments(what: &str, bytes: u64, at: Option<WordOffset>) -> Result<()> {
    if bytes <= MAX_BLOCK_BYTES {
        return Ok(());
    }
    let message =
        format!("{what} has {bytes} bytes; the limit for arguments by value is {MAX_BLOCK_BYTES}");
    Err(Box::new(
        Diagnostic::error(Code::BlockTooLarge, message)
            .at_word(at)
            .help(
                "move large data to a buffer; check the Offset and stride decorations of the block",
            ),
    ))
}

/// The way to pass the length of the buffers of `variable` to a kernel or function: the number of
/// bytes, or a pointer to a table of them.
pub fn length_passing(types: &Types, declarations: &Declarations<'_>, variable: Id) -> Passing {
    let table = declarations.variable(variable).is_some_and(|v| {
        is_descriptor_array(types, declarations, v.class, uses::pointee(declarations, v))
    });
    if table {
        Passing::Pointer { space: 1 }
    } else {
        Passing::Word
    }
}

/// Facts from which the arguments of all kernels of a module are planned.
#[derive(Copy, Clone, Debug)]
pub struct AbiInput<'a, 'm> {
    /// The declarations of the module.
    pub declarations: &'m Declarations<'m>,
    /// Its types on the target.
    pub types: &'a Types,
    /// The memory that is coherent, and that which is volatile.
    pub qualifiers: &'a MemoryQualifiers,
    /// The target.
    pub target: &'static Target,
    /// The form that is wanted.
    pub form: &'a AbiForm,
}

struct Planner<'a, 'm> {
    types: &'a Types,
    form: &'a AbiForm,
    declarations: &'m Declarations<'m>,
    qualifiers: &'a MemoryQualifiers,
    target: &'static Target,
    parameters: Vec<Parameter>,
    resources: Vec<Reached>,
    next: u64,
}

impl Abi {
    /// Plans the arguments of the kernel of `entry`, which reaches `reached`.
    pub fn plan<'m>(
        input: AbiInput<'_, 'm>,
        entry: &Function<'m>,
        reached: &uses::Reached,
        diagnostics: &mut Diagnostics,
    ) -> Abi {
        let AbiInput {
            declarations,
            types,
            qualifiers,
            target,
            form,
        } = input;
        let uses = &reached.own;
        let form = form.of_module(declarations);
        let mut planner = Planner {
            types,
            form,
            declarations,
            qualifiers,
            target,
            parameters: Vec::new(),
            resources: Vec::new(),
            next: 0,
        };
        planner.resources(uses, diagnostics);
        planner.push_constants(uses, diagnostics);
        if *form == AbiForm::Arguments {
            planner.lengths(uses);
        }
        for (index, (id, ty)) in entry.params.iter().enumerate() {
            if let Err(problem) = planner.own(index, *id, *ty) {
                diagnostics.push(*problem);
            }
        }
        if let Err(problem) = planner.fit_together(entry) {
            diagnostics.push(*problem);
        }
        planner.work_dim(uses);
        planner.printf_buffer(uses);
        let combined_image_samplers = match target.arch {
            Arch::Amdgpu(_) => Vec::new(),
            Arch::Nvptx(_) => combined_image_samplers::of(
                declarations,
                target,
                entry,
                &planner.parameters,
                reached,
                diagnostics,
            ),
        };
        Abi {
            parameters: planner.parameters,
            resources: planner.resources,
            combined_image_samplers,
        }
    }
}

impl Planner<'_, '_> {
    fn argument(
        &mut self,
        role: Role,
        kind: ArgumentKind,
        passing: Passing,
        size: u64,
        align: Alignment,
        binding: (Option<u32>, Option<u32>),
    ) -> Parameter {
        let offset = align.round_up(self.next);
        self.next = offset.saturating_add(size);
        // What is larger is refused by the check of what is passed by value.
        let clamp = |v: u64| u32::try_from(v).unwrap_or(u32::MAX);
        let argument = Argument {
            index: self.parameters.len() as u32,
            kind,
            set: binding.0,
            binding: binding.1,
            size: clamp(size),
            offset: clamp(offset),
            align: align.bytes(),
            pointee_align: None,
        };
        Parameter {
            role,
            passing,
            argument,
            read_only: false,
        }
    }

    /// Buffers, images, tensors and samplers, in the form that was chosen.
    fn resources(&mut self, uses: &Uses, diagnostics: &mut Diagnostics) {
        let found = resources::resources(self.types, self.declarations, self.target, uses);
        match self.form.table(&found) {
            Ok(None) => {
                for resource in &found {
                    self.resource(resource);
                }
            }
            Ok(Some(table)) => self.tables(&table, &found, diagnostics),
            Err(problem) => diagnostics.push(*problem),
        }
    }

    /// A resource that is an argument.
    fn resource(&mut self, resource: &Resource) {
        let ids = &resource.variables;
        let read_only = ids.len() == 1 && ids.iter().all(|id| self.is_read_only(*id));
        let (kind, space) = match resource.kind {
            ResourceKind::Image => (ArgumentKind::Image, read_only_space(self.target)),
            ResourceKind::Tensor => (ArgumentKind::Tensor, read_only_space(self.target)),
            ResourceKind::Sampler => (ArgumentKind::Sampler, read_only_space(self.target)),
            ResourceKind::Buffer => (ArgumentKind::GlobalBuffer, GLOBAL),
        };
        let parameter = self.argument(
            Role::Buffer(ids.clone()),
            kind,
            Passing::Pointer { space },
            layout::POINTER_BYTES,
            Alignment::POINTER,
            (Some(resource.set), Some(resource.binding)),
        );
        let align = match (resource.kind, resource.arrays.is_empty()) {
            (ResourceKind::Image | ResourceKind::Sampler, _) => table_align(self.target),
            (ResourceKind::Tensor, _) => tensor::DESCRIPTOR_ALIGN,
            (ResourceKind::Buffer, true) => self.buffer_align(ids),
            (ResourceKind::Buffer, false) => Alignment::POINTER, // of an array of addresses
        };
        self.parameters.push(Parameter {
            read_only,
            ..parameter.to(align)
        });
    }

    /// What the address of the buffer of `variables` must be a multiple of.
    fn buffer_align(&self, variables: &[Id]) -> Alignment {
        let variables = variables.iter().map(|id| self.declarations.variable(*id));
        let aligns = variables.map(|variable| {
            let pointee = variable.and_then(|one| uses::pointee(self.declarations, one));
            pointers::buffer_align(self.types, self.target, pointee)
        });
        aligns.max().unwrap_or(BUFFER_ALIGN) // no resource is without variables
    }

    /// The pointer arguments of a table.
    fn tables(&mut self, table: &AbiTable, found: &[Resource], diagnostics: &mut Diagnostics) {
        let (uses, reached) = table::uses(table, found, diagnostics);
        self.resources = reached;
        // Descriptors are read where constants are.
        let space = read_only_space(self.target);
        for (used, argument) in uses.into_iter().zip(&table.arguments) {
            let accesses = match used {
                Use::Resource(resource) => {
                    self.resource(resource);
                    continue;
                }
                Use::Table(accesses) => accesses,
            };
            let parameter = self.argument(
                Role::Table(accesses),
                ArgumentKind::Table,
                Passing::Pointer { space },
                layout::POINTER_BYTES,
                Alignment::POINTER,
                (argument.set, None),
            );
            self.parameters.push(parameter.to(table_align(self.target)));
        }
    }

    /// The blocks of push constants. Variables of a class that has neither arguments nor memory are
    /// refused here.
    fn push_constants(&mut self, uses: &Uses, diagnostics: &mut Diagnostics) {
        let mut push_constants = Vec::new();
        for id in uses.variables.iter().chain(&uses.lengths) {
            let Some(variable) = self.declarations.variable(*id) else {
                diagnostics.push(Diagnostic::bug(format!("{id} is used as a variable")));
                continue;
            };
            match variable.class {
                StorageClass::StorageBuffer | StorageClass::Uniform => {}
                StorageClass::UniformConstant
                    if uses::pointee(self.declarations, variable)
                        .is_some_and(|ty| resources::described(self.types, ty).is_some()) => {}
                StorageClass::PushConstant => push_constants.push(*id),
                _ if uses::is_global(variable) => {}
                StorageClass::Input | StorageClass::Private => {}
                class => diagnostics.push(
                    Diagnostic::error(Code::UnsupportedStorageClass, format!("the variable {id} of storage class {class:?} is not lowered"))
                        .at_word(variable.inst.offset)
                        .help("supported are StorageBuffer, Uniform, PushConstant, Workgroup, Private, Function, Input built-ins, CrossWorkgroup, and UniformConstant for constants, images, samplers, and tensors with a rank"),
                ),
            }
        }
        push_constants.sort_unstable();
        push_constants.dedup();
        for id in push_constants {
            let variable = self.declarations.variable(id);
            let Some((variable, info)) = variable.and_then(|variable| {
                let ty = uses::pointee(self.declarations, variable)?;
                Some((variable, self.types.get(ty)?))
            }) else {
                diagnostics.push(Diagnostic::bug(format!("the block {id} has no type")));
                continue;
            };
            let what = format!("the block of push constants {id}");
            if let Err(problem) = fits_arguments(&what, info.size, Some(variable.inst.offset)) {
                diagnostics.push(*problem);
            }
            let (size, align) = push_constants_place(info.size.min(MAX_BLOCK_BYTES));
            let passing = Passing::Block {
                space: block_space(self.target),
                bytes: size,
                align,
            };
            let parameter = self.argument(
                Role::PushConstant(id),
                ArgumentKind::PushConstant,
                passing,
                size,
                align,
                (None, None),
            );
            self.parameters.push(parameter);
        }
    }

    /// Returns true if nobody writes the buffer while the kernel runs: no access by this variable
    /// can, no other variable may name the same memory, and the module does not say that others may
    /// write it.
    fn is_read_only(&self, id: Id) -> bool {
        let has = |decoration| self.declarations.decoration(id, decoration).is_some();
        if has(spirv::Decoration::Aliased)
            || self.qualifiers.get(self.declarations, id).any()
            || self
                .declarations
                .has_capability(spirv::Capability::PhysicalStorageBufferAddresses)
        {
            return false;
        }
        let Some(variable) = self.declarations.variable(id) else {
            return false;
        };
        let Some(pointee) = uses::pointee(self.declarations, variable) else {
            return false;
        };
        let Some(Kind::Struct { members }) = self.types.get(pointee).map(|info| &info.kind) else {
            return false;
        };
        let uniform = variable.class == StorageClass::Uniform
            && self
                .declarations
                .decoration(pointee, spirv::Decoration::Block)
                .is_some();
        let members = (0..members.len() as u32).all(|member| {
            self.declarations
                .member_decoration(pointee, member, spirv::Decoration::NonWritable)
                .is_some()
        });
        uniform || members || has(spirv::Decoration::NonWritable)
    }

    fn lengths(&mut self, uses: &Uses) {
        let mut lengths: Vec<(u32, u32, Id)> = uses
            .lengths
            .iter()
            .map(|id| {
                let (set, binding) = resources::binding(self.declarations, *id);
                (set, binding, *id)
            })
            .collect();
        lengths.sort_unstable();
        for group in lengths.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let ids = group.iter().map(|b| b.2).collect();
            let Some((set, binding, id)) = group.first().copied() else {
                continue;
            };
            let passing = length_passing(self.types, self.declarations, id);
            let (kind, size, align) = if passing == Passing::Word {
                (ArgumentKind::ArrayLength, 4, Alignment::WORD)
            } else {
                let bytes = layout::POINTER_BYTES;
                (ArgumentKind::ArrayLengths, bytes, Alignment::POINTER)
            };
            let binding = (Some(set), Some(binding));
            let role = Role::Length(ids);
            let parameter = self.argument(role, kind, passing, size, align, binding);
            self.parameters.push(match kind {
                ArgumentKind::ArrayLengths => parameter.to(LENGTH_ALIGN),
                _ => parameter,
            });
        }
    }

    /// That all that is passed by value fits together: push constants, and the parameters of
    /// `entry` that are no buffers.
    fn fit_together(&self, entry: &Function<'_>) -> Result<()> {
        let mut sum = 0u64;
        for parameter in &self.parameters {
            let id = match (&parameter.role, parameter.argument.kind) {
                (Role::PushConstant(id), _) => *id,
                (Role::Own(index) | Role::OwnBlock(index, _), ArgumentKind::ByValue) => {
                    match entry.params.get(*index) {
                        Some((id, _)) => *id,
                        None => continue,
                    }
                }
                _ => continue,
            };
            sum += u64::from(parameter.argument.size);
            if sum > MAX_BLOCK_BYTES {
                let at = self.declarations.module.def(id);
                return Err(Box::new(
                    Diagnostic::error(
                        Code::BlockTooLarge,
                        format!("with {id} the kernel has {sum} bytes of arguments by value; the limit is {MAX_BLOCK_BYTES}"),
                    )
                    .at_word(at.map_or(entry.offset, |inst| inst.offset))
                    .help("move large data to a buffer"),
                ));
            }
        }
        Ok(())
    }

    /// NVIDIA's hardware does not say how many dimensions a launch has: the host passes the number.
    fn work_dim(&mut self, uses: &Uses) {
        let asked = uses.variables.iter().any(|id| {
            self.declarations
                .decoration(*id, spirv::Decoration::BuiltIn)
                == Some(spirv::BuiltIn::WorkDim as u32)
        });
        if asked && matches!(self.target.arch, Arch::Nvptx(_)) {
            let parameter = self.argument(
                Role::WorkDimensions,
                ArgumentKind::WorkDim,
                Passing::Word,
                4,
                Alignment::WORD,
                (None, None),
            );
            self.parameters.push(parameter);
        }
    }

    /// Where printf writes.
    fn printf_buffer(&mut self, uses: &Uses) {
        if uses.prints {
            let parameter = self.argument(
                Role::PrintBuffer,
                ArgumentKind::PrintfBuffer,
                Passing::Pointer { space: 1 },
                layout::POINTER_BYTES,
                Alignment::POINTER,
                (None, None),
            );
            self.parameters.push(parameter.to(PRINT_BUFFER_ALIGN));
        }
    }

    /// What the pointer parameter `id` to `pointee` must be a multiple of: what the module says,
    /// and the alignment of the type (OpenCL C, "Alignment of Types").
    fn pointee_align(&self, id: Id, pointee: Option<Id>) -> Alignment {
        let natural = pointee
            .and_then(|ty| self.types.get(ty))
            .map_or(Alignment::BYTE, |info| info.align); // an untyped pointer
        layout::variable_align(self.declarations, id, natural)
    }

    /// A block that one of an OpenCL kernel's own parameters points to and that the host passes by
    /// value.
    fn own_block(
        &mut self,
        index: usize,
        id: Id,
        pointee: Id,
        at: Option<WordOffset>,
    ) -> Result<()> {
        let block = types::require(self.types, self.declarations, pointee)?;
        fits_arguments(&format!("the kernel parameter {id}"), block.size, at)?;
        let (size, align) = (block.size, block.align);
        let passing = Passing::Block {
            space: block_space(self.target),
            bytes: size,
            align,
        };
        let parameter = self.argument(
            Role::OwnBlock(index, pointee),
            ArgumentKind::ByValue,
            passing,
            size,
            align,
            (None, None),
        );
        self.parameters.push(parameter);
        Ok(())
    }

    /// One of an OpenCL kernel's own parameters.
    fn own(&mut self, index: usize, id: Id, ty: Id) -> Result<()> {
        let info = types::require(self.types, self.declarations, ty)?;
        let at = self.declarations.module.def(id).map(|inst| inst.offset);
        let refused = |what: &str| {
            Box::new(
                Diagnostic::error(
                    Code::UnsupportedType,
                    format!("the kernel parameter {id} is {what}"),
                )
                .at_word(at),
            )
        };
        if !info.is_value {
            return Err(refused("no value"));
        }
        let value = Passing::Value(ty);
        let amdgpu = matches!(self.target.arch, Arch::Amdgpu(_));
        let is_boolean = matches!(&info.kind, Kind::ScalarOrVector(shape) if shape.scalar == types::Scalar::Bool);
        match &info.kind {
            Kind::Pointer {
                class: StorageClass::Function,
                pointee: Some(pointee),
            } => {
                self.own_block(index, id, *pointee, at)?;
            }
            Kind::Pointer {
                class: StorageClass::Workgroup,
                pointee,
            } => {
                let align = self.pointee_align(id, *pointee);
                let (size, own) = if amdgpu {
                    (4, Alignment::WORD)
                } else {
                    (8, Alignment::POINTER)
                };
                let parameter = self.argument(
                    Role::Own(index),
                    ArgumentKind::DynamicSharedPointer,
                    value,
                    size,
                    own,
                    (None, None),
                );
                self.parameters.push(parameter.to(align));
            }
            Kind::Pointer {
                class: StorageClass::CrossWorkgroup | StorageClass::UniformConstant,
                pointee,
            } => {
                let align = self.pointee_align(id, *pointee);
                let parameter = self.argument(
                    Role::Own(index),
                    ArgumentKind::GlobalBuffer,
                    value,
                    layout::POINTER_BYTES,
                    Alignment::POINTER,
                    (None, None),
                );
                self.parameters.push(parameter.to(align));
            }
            // The address of its descriptor.
            Kind::Image(_) | Kind::Sampler => {
                let kind = match info.kind {
                    Kind::Sampler => ArgumentKind::Sampler,
                    _ => ArgumentKind::Image,
                };
                let parameter = self.argument(
                    Role::Own(index),
                    kind,
                    value,
                    layout::POINTER_BYTES,
                    Alignment::POINTER,
                    (None, None),
                );
                self.parameters.push(parameter.to(table_align(self.target)));
            }
            Kind::ScalarOrVector(_) | Kind::Struct { .. } | Kind::Array { .. } if !is_boolean => {
                let parameter = self.argument(
                    Role::Own(index),
                    ArgumentKind::ByValue,
                    value,
                    info.size,
                    info.align,
                    (None, None),
                );
                self.parameters.push(parameter);
            }
            _ => return Err(refused("of a type that a host cannot pass")),
        }
        Ok(())
    }
}
