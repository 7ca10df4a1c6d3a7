//! The forms of a kernel's binary interface: plain data that an embedder chooses or writes.
//!
//! A form says where the resources of a shader are found. [`AbiForm::table`] turns a form and the
//! resources of a kernel into an [`AbiTable`]; it is a pure function. docs/abi.md specifies all
//! forms.

use super::resources::Resource;
use crate::Result;
use serde::{Deserialize, Serialize};
use splitbar_passes::analysis::layout;
use splitbar_passes::diagnostic::{Code, Diagnostic};
use splitbar_passes::module::Declarations;
use std::fmt;
use std::str::FromStr;

/// The binary interface for a shader's buffers, images and tensors. OpenCL kernels keep their own
/// parameters in every form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AbiForm {
    /// One argument for each (set, binding), and one for each length.
    #[default]
    Arguments,
    /// One pointer argument for each descriptor set, to an array of descriptors.
    DescriptorSets(DescriptorSets),
    /// The embedder's own.
    Table(AbiTable),
}

/// Arrays of descriptors, one for each set.
///
/// A descriptor of a buffer has its address in bytes 0 to 7 and its length in bytes 8 to 15, both
/// little-endian. A descriptor of an image is what [`crate::image`] says, that of a tensor what
/// [`crate::tensor`] says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescriptorSets {
    /// The size of each descriptor.
    pub size: DescriptorSize,
    /// Offsets of bindings in their sets. A binding without one lies at its number times the size.
    pub offsets: Vec<BindingOffset>,
}

/// The size of a descriptor.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DescriptorSize {
    /// 16 bytes: buffers, tensors, texel buffers, and all images of NVIDIA GPUs.
    Bytes16,
    /// 32 bytes: also the images of AMD GPUs.
    #[default]
    Bytes32,
}

impl DescriptorSize {
    /// The size in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            DescriptorSize::Bytes16 => 16,
            DescriptorSize::Bytes32 => 32,
        }
    }
}

/// The offset of the first descriptor of a binding in its set.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingOffset {
    /// The set.
    pub set: u32,
    /// The binding.
    pub binding: u32,
    /// Bytes from the start of the set: a multiple of 8, for images of AMD GPUs of 16.
    pub offset: u32,
}

/// The way to reach every (set, binding) from pointer arguments that the kernel always has.
///
/// Nobody may write the tables while the kernel runs. Every address that a table or an argument
/// holds is a multiple of 16.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbiTable {
    /// The pointer arguments, which come first, in order.
    pub arguments: Vec<TableArgument>,
    /// The way to reach each binding. Bindings that the kernel does not use are ignored.
    pub bindings: Vec<Reach>,
    /// Bytes of each descriptor, and from one descriptor of an array to the next: a multiple of 8,
    /// for images of AMD GPUs of 16.
    pub stride: u32,
}

/// A pointer argument of 8 bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableArgument {
    /// The set that reflection names with it, if it belongs to one.
    pub set: Option<u32>,
}

/// The way to reach a binding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// The set.
    pub set: u32,
    /// The binding.
    pub binding: u32,
    /// The number of the argument in [`AbiTable::arguments`].
    pub argument: u32,
    /// The place of the descriptor. `None`: the argument is the address of the buffer, or of the
    /// (first) descriptor of an image, a tensor or an array, and is only for this binding.
    pub descriptor: Option<DescriptorPlace>,
}

/// The place of a descriptor. The address of a buffer is in its first 8 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescriptorPlace {
    /// Addresses to load on the way: each is at this offset in bytes from the previous address, the
    /// first one from the argument.
    pub loads: Vec<u32>,
    /// Bytes from the last address to the (first) descriptor.
    pub offset: u32,
    /// Bytes from the start of a buffer's descriptor to its length: 32 bits, in bytes. `None`: it
    /// has no length, and a kernel that needs one is rejected.
    pub length: Option<u32>,
}

/// The memory layout of arrays of buffer descriptors.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DescriptorArrays {
    /// Bytes from one address to the next.
    pub addresses: u32,
    /// Bytes from one length to the next.
    pub lengths: u32,
    /// True if the buffers do not change while the kernel runs.
    pub constant: bool,
}

impl AbiForm {
    /// The name that the command line and reflection have for the form.
    pub fn name(&self) -> &'static str {
        match self {
            AbiForm::Arguments => "arguments",
            AbiForm::DescriptorSets(_) => "descriptor-sets",
            AbiForm::Table(_) => "table",
        }
    }

    /// The form that kernels of this module have: those of OpenCL have no descriptor sets.
    pub fn of_module(&self, declarations: &Declarations<'_>) -> &AbiForm {
        if declarations.has_capability(spirv::Capability::Kernel) {
            &AbiForm::Arguments
        } else {
            self
        }
    }

    /// Bytes of a descriptor; `None` where each kind has its own size.
    pub fn descriptor_bytes(&self) -> Option<u32> {
        match self {
            AbiForm::Arguments => None,
            AbiForm::DescriptorSets(sets) => Some(sets.size.bytes()),
            AbiForm::Table(table) => Some(table.stride),
        }
    }

    /// The memory layout of arrays of buffer descriptors.
    pub fn arrays(&self) -> DescriptorArrays {
        match self.descriptor_bytes() {
            Some(bytes) => DescriptorArrays {
                addresses: bytes,
                lengths: bytes,
                constant: true,
            },
            None => DescriptorArrays {
                addresses: layout::POINTER_BYTES as u32,
                lengths: 4,
                constant: false,
            },
        }
    }

    /// How `resources` are reached; `None`: each is an argument.
    ///
    /// # Errors
    /// `UnsupportedAbi` for a binding whose offset has more than 32 bits.
    pub(super) fn table(&self, resources: &[Resource]) -> Result<Option<AbiTable>> {
        Ok(match self {
            AbiForm::Arguments => None,
            AbiForm::DescriptorSets(sets) => Some(sets.table(resources)?),
            AbiForm::Table(table) => Some(table.clone()),
        })
    }
}

impl DescriptorSets {
    /// Bytes from the start of a buffer's descriptor to its length.
    pub const LENGTH_OFFSET: u32 = 8;

    fn offset(&self, resource: &Resource) -> Result<u32> {
        let (set, binding) = (resource.set, resource.binding);
        let mut given = self.offsets.iter();
        match given.find(|one| (one.set, one.binding) == (set, binding)) {
            Some(given) => Ok(given.offset),
            None => binding.checked_mul(self.size.bytes()).ok_or_else(|| {
                let message = format!("the descriptor of {set}:{binding} has no 32-bit offset");
                Box::new(
                    Diagnostic::error(Code::UnsupportedAbi, message)
                        .at_word(resource.declared)
                        .help("number the bindings of each set from 0"),
                )
            }),
        }
    }

    fn table(&self, resources: &[Resource]) -> Result<AbiTable> {
        let mut sets: Vec<u32> = resources.iter().map(|resource| resource.set).collect();
        sets.sort_unstable();
        sets.dedup();
        let reach = |resource: &Resource| {
            let argument = sets.partition_point(|set| *set < resource.set);
            Ok(Reach {
                set: resource.set,
                binding: resource.binding,
                argument: argument as u32,
                descriptor: Some(DescriptorPlace {
                    loads: Vec::new(),
                    offset: self.offset(resource)?,
                    length: Some(DescriptorSets::LENGTH_OFFSET),
                }),
            })
        };
        // A buffer and an image may have the same numbers; whether they can is not decided here.
        let places = resources
            .chunk_by(|a, b| (a.set, a.binding) == (b.set, b.binding))
            .filter_map(|shared| shared.first());
        Ok(AbiTable {
            bindings: places.map(reach).collect::<Result<_>>()?,
            arguments: sets
                .iter()
                .map(|set| TableArgument { set: Some(*set) })
                .collect(),
            stride: self.size.bytes(),
        })
    }
}

impl fmt::Display for AbiForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            AbiForm::DescriptorSets(sets) => write!(f, ":{}", sets.size.bytes()),
            AbiForm::Arguments | AbiForm::Table(_) => Ok(()),
        }
    }
}

impl FromStr for AbiForm {
    type Err = String;

    /// Reads `arguments`, `descriptor-sets`, `descriptor-sets:16` and `descriptor-sets:32`.
    fn from_str(text: &str) -> std::result::Result<AbiForm, String> {
        let size = match text {
            "arguments" => return Ok(AbiForm::Arguments),
            "descriptor-sets" => DescriptorSize::default(),
            "descriptor-sets:16" => DescriptorSize::Bytes16,
            "descriptor-sets:32" => DescriptorSize::Bytes32,
            _ => {
                return Err(
                    "one of arguments, descriptor-sets, descriptor-sets:16, descriptor-sets:32"
                        .to_owned(),
                );
            }
        };
        Ok(AbiForm::DescriptorSets(DescriptorSets {
            size,
            offsets: Vec::new(),
        }))
    }
}
