//! A launch for a module without one, derived from the declarations of the module.
//!
//! Nobody wrote down what published modules expect, so a launch is a guess: numbers that are small
//! enough to index with. Whether it was a good one the simulator says, which sees accesses outside
//! of buffers and races.

pub mod layout;
#[path = "../../../passes/tests/corpus/workgroup.rs"]
mod workgroup;

use fastrand::Rng;
use half::f16;
use layout::{Field, Scalar};
use serde::Deserialize;
use spirv::{Capability, Decoration, Op, StorageClass};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{
    Constants, Declarations, EntryPoint, Id, Module, SpecValues, Type, Variable,
};
use std::collections::BTreeMap;
use std::fmt;
use workgroup::usual_workgroup;

/// Bytes of every buffer: also the most that a uniform buffer surely may have
/// (maxUniformBufferRange is 64 KiB where it is generous).
const BYTES: usize = 1 << 16;

/// The most bytes of push constants.
const MOST_PUSH: usize = 256;

/// Workgroups of every launch.
const GROUPS: [u32; 3] = [2, 1, 1];

/// The width of a workgroup if the module does not determine it.
const WIDTH: u32 = 32;

/// The way to guess a launch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The greatest integer in push constants and 32-bit buffers: they become sizes, strides and
    /// indices.
    pub most: u32,
    /// A factor for the module's default number of invocations, if the workgroup size is a
    /// specialization constant.
    pub width: u32,
}

/// The guesses, the boldest first. The first launch that stays inside of its buffers is taken.
pub const GUESSES: [Guess; 6] = [
    Guess { most: 8, width: 1 },
    Guess { most: 4, width: 1 },
    Guess { most: 2, width: 1 },
    Guess { most: 1, width: 1 },
    Guess { most: 4, width: 2 },
    Guess { most: 4, width: 4 },
];

/// Capabilities of Vulkan 1.3 that drivers for CPUs have, without physical addresses: a launch
/// would need the addresses of each machine.
const CAPABILITIES: &[Capability] = &[
    Capability::Shader,
    Capability::Int8,
    Capability::Int16,
    Capability::Int64,
    Capability::Float16,
    Capability::Float64,
    Capability::StorageBuffer16BitAccess,
    Capability::StorageBuffer8BitAccess,
    Capability::StoragePushConstant16,
    Capability::StoragePushConstant8,
    Capability::VulkanMemoryModel,
    Capability::VulkanMemoryModelDeviceScope,
    Capability::GroupNonUniform,
    Capability::GroupNonUniformVote,
    Capability::GroupNonUniformArithmetic,
    Capability::GroupNonUniformBallot,
    Capability::GroupNonUniformShuffle,
    Capability::GroupNonUniformShuffleRelative,
    Capability::GroupNonUniformQuad,
    Capability::GroupNonUniformClustered,
    Capability::DotProduct,
    Capability::DotProductInputAll,
    Capability::DotProductInput4x8Bit,
    Capability::DotProductInput4x8BitPacked,
];

/// A launch, for both machines.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The entry point.
    pub entry: String,
    /// Workgroups.
    pub groups: [u32; 3],
    /// The buffers, in the order of set and binding.
    pub buffers: Vec<Buffer>,
    /// The push-constant block.
    pub push: Vec<u8>,
    /// Specialization constants that get a value, and the values.
    pub spec: Vec<(u32, u32)>,
    /// True if the module uses subgroups, so that its results can depend on their size.
    pub has_subgroups: bool,
    /// The workgroup size of a kernel that leaves it open.
    pub size: Option<[u32; 3]>,
    /// Workgroup memory that the launch adds, in bytes.
    pub dynamic_shared: u32,
}

/// The environment that a launch runs in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// The simulator, which runs splitbar's code.
    Simulator,
    /// The simulator and a Vulkan driver for processors.
    Both,
}

/// The place that a buffer is bound to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A descriptor.
    Binding {
        /// Its set.
        set: u32,
        /// Its number there.
        binding: u32,
    },
    /// An argument of an OpenCL kernel.
    Argument(u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Binding { set, binding } => write!(f, "{set}:{binding}"),
            Place::Argument(index) => write!(f, "{index}"),
        }
    }
}

/// A buffer of a launch.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The place at which the kernel finds it.
    pub place: Place,
    /// True for a uniform buffer, false for a storage buffer.
    pub uniform: bool,
    /// The fields of its content.
    pub fields: Vec<Field>,
    /// Its content before the launch.
    pub bytes: Vec<u8>,
}

/// The launch of `bytes` by a guess. The result depends only on the module and the guess.
///
/// # Errors
/// Why the module cannot be launched here: it needs what drivers for processors lack, or it has
/// resources other than buffers of numbers.
pub fn of(bytes: &[u8], guess: Guess, on: On) -> Result<Launch, String> {
    let told = |problems: Diagnostics| problems.to_string();
    let module = Module::parse(bytes).map_err(told)?;
    let mut problems = Diagnostics::default();
    let declarations = Declarations::new(&module, &mut problems);
    let [entry] = declarations.entry_points.as_slice() else {
        return Err("it has several entry points".to_owned());
    };
    let numbers = declarations.capabilities.iter().map(|(number, _)| *number);
    let is_known = |number: &u32| match on {
        On::Simulator => *number != Capability::PhysicalStorageBufferAddresses as u32,
        On::Both => CAPABILITIES.iter().any(|known| *known as u32 == *number),
    };
    if let Some(number) = numbers.clone().find(|number| !is_known(number)) {
        let name = Capability::from_u32(number).map_or(number.to_string(), |c| format!("{c:?}"));
        return Err(format!("it has the capability {name}"));
    }
    let spec = specialization(&declarations, guess.width);
    let values = spec.iter().map(|(id, value)| (*id, u64::from(*value)));
    let values = SpecValues(values.collect());
    let constants = Constants::evaluate(&declarations, &values, &mut problems);
    let read = Reader {
        declarations: &declarations,
        constants: &constants,
        most: guess.most,
    };
    Ok(Launch {
        entry: entry.name.clone(),
        groups: GROUPS,
        buffers: read.buffers()?,
        push: read.push(entry)?,
        spec,
        has_subgroups: numbers
            .into_iter()
            .any(|number| number == Capability::GroupNonUniform as u32),
        size: None,
        dynamic_shared: 0,
    })
}

/// Returns true if `bytes` are a module with the capability Kernel: its launch is one of
/// [`of_kernel`].
pub fn is_kernel(bytes: &[u8]) -> bool {
    Module::parse(bytes).is_ok_and(|module| {
        let mut all = module.instructions();
        let kernel = Ok(Capability::Kernel as u32);
        all.any(|inst| inst.op() == Some(Op::Capability) && inst.operand(0) == kernel)
    })
}

/// An argument of a kernel, as `splitbar lower --emit reflect` has it.
#[derive(Clone, Debug, Deserialize)]
pub struct Argument {
    /// The index of the argument.
    pub index: u32,
    /// `buffer`, `value`, ...
    pub kind: String,
    /// Its own size in bytes.
    pub size: usize,
}

/// The arguments of a launch of a kernel, from `splitbar lower --emit reflect`.
#[derive(Clone, Debug, Deserialize)]
pub struct Interface {
    /// In order.
    pub arguments: Vec<Argument>,
    /// Workgroup memory that the code has, in bytes.
    pub shared_memory_bytes: u32,
}

/// Workgroup memory that an OpenCL pointer to local memory has, in bytes.
const LOCAL: u32 = 1 << 12;
/// The additional memory of a version of the kernel with split barriers, beyond
/// [`Interface::shared_memory_bytes`].
const FOR_BARRIERS: u32 = 1 << 10;

/// The launch of the only kernel of an OpenCL module with this interface, by a guess. Its pointers
/// to local memory are after the memory of the code, with barriers split or not.
///
/// # Errors
/// Why it cannot be launched here: it has several kernels, or arguments that are neither buffers
/// nor values.
pub fn of_kernel(bytes: &[u8], interface: &Interface, guess: Guess) -> Result<Launch, String> {
    let module = Module::parse(bytes).map_err(|problems| problems.to_string())?;
    let declarations = Declarations::new(&module, &mut Diagnostics::default());
    let [entry] = declarations.entry_points.as_slice() else {
        return Err("it has several entry points".to_owned());
    };
    let function = declarations
        .functions
        .iter()
        .find(|f| f.id == entry.function);
    let parameters = function.map_or(&[][..], |function| &function.params);
    let local = (interface.shared_memory_bytes + FOR_BARRIERS).next_multiple_of(256);
    let mut launch = Launch {
        entry: entry.name.clone(),
        groups: GROUPS,
        buffers: Vec::new(),
        push: Vec::new(),
        spec: Vec::new(),
        has_subgroups: false,
        size: Some([WIDTH * guess.width, 1, 1]),
        dynamic_shared: FOR_BARRIERS + 256 + LOCAL,
    };
    for argument in &interface.arguments {
        match argument.kind.as_str() {
            "global_buffer" => {
                let ty = parameters.get(argument.index as usize).map(|(_, ty)| *ty);
                let scalar = ty.map_or(Scalar::Int(4), |ty| element(&declarations, ty));
                let step = scalar.bytes();
                let fields: Vec<Field> = (0..BYTES / step).map(|at| (at * step, scalar)).collect();
                let mut rng = Rng::with_seed(u64::from(argument.index));
                launch.buffers.push(Buffer {
                    place: Place::Argument(argument.index),
                    uniform: false,
                    bytes: contents(&fields, BYTES, 0, guess.most, &mut rng),
                    fields,
                });
            }
            "by_value" => {
                // Sizes and offsets are most of what kernels take; each word of a struct is one.
                let word = u64::from(guess.most).to_le_bytes();
                let words = word.iter().copied().cycle();
                launch.push.extend(words.take(argument.size));
            }
            "dynamic_shared_pointer" => {
                let address = u64::from(local).to_le_bytes();
                launch.push.extend(address.into_iter().take(argument.size));
            }
            other => return Err(format!("it has an argument of the kind {other}")),
        }
    }
    Ok(launch)
}

/// The type of the values in memory that a pointer of type `ty` points to: 32-bit words if the
/// pointer has no type.
fn element(declarations: &Declarations<'_>, ty: Id) -> Scalar {
    let inner = |ty: Id| match declarations.ty(ty) {
        Some(Type::Pointer { pointee, .. }) => *pointee,
        Some(Type::Vector { component, .. }) => Some(*component),
        _ => None,
    };
    let mut ty = ty;
    while let Some(next) = inner(ty) {
        ty = next;
    }
    match declarations.ty(ty) {
        Some(Type::Int { width, .. }) if *width >= 8 => Scalar::Int(*width as usize / 8),
        Some(Type::Float { width, .. }) if [16, 32, 64].contains(width) => {
            Scalar::Float(*width as usize / 8)
        }
        _ => Scalar::Int(4),
    }
}

/// The usual values of the dimensions of a workgroup, or [`WIDTH`] invocations in a row; `times` as
/// many. Only what is wider than one is made wider.
fn specialization(declarations: &Declarations<'_>, times: u32) -> Vec<(u32, u32)> {
    let extent = |(id, value): (u32, u64)| match value as u32 {
        value @ (0 | 1) => (id, value),
        value => (id, value.saturating_mul(times)),
    };
    let dimensions = usual_workgroup(declarations, [WIDTH, 1, 1]);
    dimensions.0.into_iter().map(extent).collect()
}

struct Reader<'r> {
    declarations: &'r Declarations<'r>,
    constants: &'r Constants,
    most: u32,
}

impl Reader<'_> {
    fn buffers(&self) -> Result<Vec<Buffer>, String> {
        let mut places: BTreeMap<(u32, u32), Vec<&Variable<'_>>> = BTreeMap::new();
        for variable in &self.declarations.variables {
            let of = |kind| self.declarations.decoration(variable.id, kind);
            if let (Some(set), Some(binding)) =
                (of(Decoration::DescriptorSet), of(Decoration::Binding))
            {
                if !matches!(
                    variable.class,
                    StorageClass::StorageBuffer | StorageClass::Uniform
                ) {
                    return Err(format!("{set}:{binding} is no buffer"));
                }
                places.entry((set, binding)).or_default().push(variable);
            }
        }
        let buffer = |((set, binding), variables): ((u32, u32), Vec<&Variable<'_>>)| {
            // Several variables may stand for one buffer; results are what is written.
            let written = variables.iter().find(|v| !self.is_read_only(v));
            let variable = written.or(variables.first()).ok_or("no variable")?;
            let at = |why| format!("{set}:{binding}: {why}");
            let fields = self.fields(variable, BYTES).map_err(at)?;
            let mut rng = Rng::with_seed(u64::from(set) << 32 | u64::from(binding));
            Ok(Buffer {
                place: Place::Binding { set, binding },
                uniform: is_uniform(self.declarations, set, binding),
                bytes: contents(&fields, BYTES, 0, self.most, &mut rng),
                fields,
            })
        };
        places.into_iter().map(buffer).collect()
    }

    fn push(&self, entry: &EntryPoint<'_>) -> Result<Vec<u8>, String> {
        let mut rng = Rng::with_seed(u64::MAX);
        let is_used = |variable: &&Variable<'_>| {
            variable.class == StorageClass::PushConstant
                && (entry.interface.contains(&variable.id) || entry.interface.is_empty())
        };
        let variables = self.declarations.variables.iter();
        let all = || {
            variables
                .clone()
                .filter(|v| v.class == StorageClass::PushConstant)
        };
        // Before SPIR-V 1.4 the interface names inputs and outputs alone.
        let Some(variable) = all().find(is_used).or(all().next()) else {
            return Ok(Vec::new());
        };
        let fields = self.fields(variable, MOST_PUSH);
        let fields = fields.map_err(|why| format!("push constants: {why}"))?;
        let end = fields.iter().map(|(at, scalar)| at + scalar.bytes()).max();
        let bytes = end.unwrap_or(0).next_multiple_of(4).min(MOST_PUSH);
        Ok(contents(&fields, bytes, 1, self.most, &mut rng))
    }

    fn fields(&self, variable: &Variable<'_>, bytes: usize) -> Result<Vec<Field>, String> {
        let block = self.block(variable).ok_or("it is no block")?;
        layout::fields(self.declarations, self.constants, block, bytes)
    }

    fn block(&self, variable: &Variable<'_>) -> Option<Id> {
        let Some(Type::Pointer { pointee, .. }) = self.declarations.ty(variable.pointer_type)
        else {
            return None;
        };
        let is_struct = matches!(self.declarations.ty((*pointee)?)?, Type::Struct { .. });
        pointee.filter(|_| is_struct)
    }

    fn is_read_only(&self, variable: &Variable<'_>) -> bool {
        let whole = self
            .declarations
            .decoration(variable.id, Decoration::NonWritable);
        let members = self.block(variable).is_some_and(|block| {
            let count = match self.declarations.ty(block) {
                Some(Type::Struct { members }) => members.len() as u32,
                _ => 0,
            };
            let fixed = |member| {
                let kind = Decoration::NonWritable;
                self.declarations.member_decoration(block, member, kind)
            };
            (0..count).all(|member| fixed(member).is_some())
        });
        whole.is_some() || members
    }
}

/// Random numbers in `bytes` bytes. Floats are multiples of 1/64 up to 2, so that short sums are
/// exact; integers of 32 and 64 bits go from `least` to `most`; those of 16 bits are often read as
/// half or bfloat16 and stay below 2 then; bytes may be anything.
fn contents(fields: &[Field], bytes: usize, least: u32, most: u32, rng: &mut Rng) -> Vec<u8> {
    let mut block = vec![0; bytes];
    for (at, scalar) in fields {
        let float = f64::from(rng.i32(-128..=128)) / 64.0;
        let index = u64::from(rng.u32(least..=most));
        let value = match scalar {
            Scalar::Float(2) => u64::from(f16::from_f64(float).to_bits()),
            Scalar::Float(4) => u64::from((float as f32).to_bits()),
            Scalar::Float(_) => float.to_bits(),
            Scalar::Int(1) => rng.u64(..),
            Scalar::Int(2) => rng.u64(..) & 0xbfff,
            Scalar::Int(_) => index,
        };
        if let (Some(to), Some(from)) = (
            block.get_mut(*at..at + scalar.bytes()),
            value.to_le_bytes().get(..scalar.bytes()),
        ) {
            to.copy_from_slice(from);
        }
    }
    block
}

/// Returns true if the variable of a set and binding is a uniform buffer: a block of storage class
/// Uniform (Vulkan, "Shader Resource and Descriptor Type Correspondence"). BufferBlock was the
/// older spelling of a storage buffer.
fn is_uniform(declarations: &Declarations<'_>, set: u32, binding: u32) -> bool {
    declarations.variables.iter().any(|variable| {
        let at = |kind| declarations.decoration(variable.id, kind);
        let block = match declarations.ty(variable.pointer_type) {
            Some(Type::Pointer { pointee, .. }) => *pointee,
            _ => None,
        };
        let is_storage = block.is_some_and(|block| {
            let decorations = declarations.decorations(block).iter();
            decorations
                .clone()
                .any(|d| d.kind == Decoration::BufferBlock as u32)
        });
        at(Decoration::DescriptorSet) == Some(set)
            && at(Decoration::Binding) == Some(binding)
            && variable.class == StorageClass::Uniform
            && !is_storage
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use splitbar_passes::module::assemble;

    const MODULE: &str = "\
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\"
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %width SpecId 3
OpDecorate %reckoned SpecId 3
OpDecorate %size BuiltIn WorkgroupSize
OpDecorate %words ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 0
OpDecorate %in NonWritable
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%triple = OpTypeVector %uint 3
%one = OpConstant %uint 1
%width = OpSpecConstant %uint 1
%reckoned = OpSpecConstant %uint 64
%size = OpSpecConstantComposite %triple %width %one %one
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%pointer = OpTypePointer StorageBuffer %block
%in = OpVariable %pointer StorageBuffer
%out = OpVariable %pointer StorageBuffer
%main = OpFunction %void None %function
%entry = OpLabel
OpReturn
OpFunctionEnd
";

    #[test]
    fn launches_are_made_of_what_modules_declare() {
        let words = assemble(MODULE).unwrap().words;
        let module: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let launch = of(&module, GUESSES[0], On::Both).unwrap();
        assert_eq!(launch.spec, [(3, 64)], "the greater default");
        let wide = Guess { most: 2, width: 4 };
        assert_eq!(of(&module, wide, On::Both).unwrap().spec, [(3, 256)]);
        assert_eq!(launch.buffers.len(), 2);
        assert_eq!(launch.buffers[1].fields.len(), BYTES / 4);
        let numbers = launch.buffers[0].bytes.chunks(4);
        assert!(numbers.clone().all(|n| n[0] <= 8 && n[1..] == [0; 3]));
        assert_ne!(launch.buffers[0].bytes, launch.buffers[1].bytes);
        let again = of(&module, GUESSES[0], On::Both).unwrap();
        assert_eq!(launch.buffers[0].bytes, again.buffers[0].bytes);
    }

    #[test]
    fn what_cannot_be_launched_is_said() {
        let refused = |text: &str| {
            let words = assemble(text).unwrap().words;
            let module: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            of(&module, GUESSES[0], On::Both).unwrap_err()
        };
        let addresses = format!("OpCapability PhysicalStorageBufferAddresses\n{MODULE}");
        assert!(refused(&addresses).contains("PhysicalStorageBufferAddresses"));
        let loose = MODULE.replace("OpDecorate %words ArrayStride 4\n", "");
        assert!(refused(&loose).contains("stride"));
    }
}
