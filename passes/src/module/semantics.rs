//! Scopes and memory semantics, decoded once at the door into closed types (SPIR-V specification
//! 3.27 and 3.25).

use super::{Constants, Id, Inst};
use crate::diagnostic::Diagnostic;
use std::fmt;

/// A scope (SPIR-V 3.27).
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// 4: this invocation.
    Invocation,
    /// 3: the subgroup (wave, warp).
    Subgroup,
    /// 2: the workgroup.
    Workgroup,
    /// 5: the queue family.
    QueueFamily,
    /// 1: the device.
    Device,
    /// 0: all devices.
    CrossDevice,
    /// 6: shader call (ray tracing).
    ShaderCall,
}

/// The one memory order of a semantics operand.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// None.
    Relaxed,
    /// 0x2.
    Acquire,
    /// 0x4.
    Release,
    /// 0x8.
    AcquireRelease,
    /// 0x10.
    SequentiallyConsistent,
}

impl Order {
    /// Returns true if earlier accesses become visible to who acquires.
    pub fn releases(self) -> bool {
        matches!(
            self,
            Order::Release | Order::AcquireRelease | Order::SequentiallyConsistent
        )
    }
    /// Returns true if later accesses see what was released.
    pub fn acquires(self) -> bool {
        matches!(
            self,
            Order::Acquire | Order::AcquireRelease | Order::SequentiallyConsistent
        )
    }
}

/// The storage classes of a semantics operand.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Classes {
    /// 0x40: StorageBuffer, PhysicalStorageBuffer, Uniform.
    pub uniform: bool,
    /// 0x80: ignored by Vulkan.
    pub subgroup: bool,
    /// 0x100: Workgroup.
    pub workgroup: bool,
    /// 0x200: CrossWorkgroup (OpenCL global memory).
    pub cross_workgroup: bool,
    /// 0x400: AtomicCounter.
    pub atomic_counter: bool,
    /// 0x800: Image.
    pub image: bool,
    /// 0x1000: Output.
    pub output: bool,
}

impl Classes {
    /// The bits of the operand.
    pub fn bits(self) -> u32 {
        let bit = |set: bool, mask: u32| if set { mask } else { 0 };
        bit(self.uniform, 0x40)
            | bit(self.subgroup, 0x80)
            | bit(self.workgroup, 0x100)
            | bit(self.cross_workgroup, 0x200)
            | bit(self.atomic_counter, 0x400)
            | bit(self.image, 0x800)
            | bit(self.output, 0x1000)
    }
}

/// A memory semantics operand (SPIR-V 3.25).
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Semantics {
    /// The order.
    pub order: Order,
    /// The storage classes it speaks of.
    pub classes: Classes,
    /// 0x2000.
    pub make_available: bool,
    /// 0x4000.
    pub make_visible: bool,
    /// 0x8000.
    pub volatile: bool,
}

impl Scope {
    /// Decodes the number of a scope.
    pub fn from_u32(value: u32) -> Option<Scope> {
        Some(match value {
            0 => Scope::CrossDevice,
            1 => Scope::Device,
            2 => Scope::Workgroup,
            3 => Scope::Subgroup,
            4 => Scope::Invocation,
            5 => Scope::QueueFamily,
            6 => Scope::ShaderCall,
            _ => return None,
        })
    }

    /// Decodes the scope operand `id` of `inst`.
    ///
    /// # Errors
    /// `BadScope` when it is not a constant or not a scope.
    pub fn evaluate(id: Id, inst: Inst<'_>, constants: &Constants) -> Result<Scope, Diagnostic> {
        use crate::diagnostic::Code;
        constants
            .as_u32(id)
            .and_then(Scope::from_u32)
            .ok_or_else(|| {
                Diagnostic::error(Code::BadScope, format!("{id} is not a constant scope"))
                    .at_word(inst.offset)
                    .help("use an OpConstant of a 32-bit integer type with a value from 0 to 6")
            })
    }
}

impl Semantics {
    /// Memory semantics without memory order.
    pub const NONE: Semantics = Semantics {
        order: Order::Relaxed,
        classes: Classes {
            uniform: false,
            subgroup: false,
            workgroup: false,
            cross_workgroup: false,
            atomic_counter: false,
            image: false,
            output: false,
        },
        make_available: false,
        make_visible: false,
        volatile: false,
    };

    /// Decodes the bits; `None` when two orders or an unknown bit are set.
    pub fn from_u32(bits: u32) -> Option<Semantics> {
        let order = match bits & 0x1e {
            0 => Order::Relaxed,
            0x2 => Order::Acquire,
            0x4 => Order::Release,
            0x8 => Order::AcquireRelease,
            0x10 => Order::SequentiallyConsistent,
            _ => return None,
        };
        if bits & !(0x1e | 0xffc0) != 0 {
            return None;
        }
        let bit = |mask: u32| bits & mask != 0;
        Some(Semantics {
            order,
            classes: Classes {
                uniform: bit(0x40),
                subgroup: bit(0x80),
                workgroup: bit(0x100),
                cross_workgroup: bit(0x200),
                atomic_counter: bit(0x400),
                image: bit(0x800),
                output: bit(0x1000),
            },
            make_available: bit(0x2000),
            make_visible: bit(0x4000),
            volatile: bit(0x8000),
        })
    }

    /// Decodes the semantics operand `id` of `inst`.
    ///
    /// # Errors
    /// `BadSemantics` when it is not a constant, sets two orders or an unknown bit.
    pub fn evaluate(
        id: Id,
        inst: Inst<'_>,
        constants: &Constants,
    ) -> Result<Semantics, Diagnostic> {
        use crate::diagnostic::Code;
        constants.as_u32(id).and_then(Semantics::from_u32).ok_or_else(|| {
            Diagnostic::error(Code::BadSemantics, format!("{id} is not a constant with valid memory semantics")).at_word(inst.offset).help("use a constant with at most one memory order (0x2, 0x4, 0x8 or 0x10) and storage classes from 0x40 to 0x1000")
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scope::Invocation => "Invocation",
            Scope::Subgroup => "Subgroup",
            Scope::Workgroup => "Workgroup",
            Scope::QueueFamily => "QueueFamily",
            Scope::Device => "Device",
            Scope::CrossDevice => "CrossDevice",
            Scope::ShaderCall => "ShaderCallKHR",
        })
    }
}

impl fmt::Display for Semantics {
    /// `None`, or the names of the set bits joined by `|`, in the order of their values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            Order::Relaxed => None,
            Order::Acquire => Some("Acquire"),
            Order::Release => Some("Release"),
            Order::AcquireRelease => Some("AcquireRelease"),
            Order::SequentiallyConsistent => Some("SequentiallyConsistent"),
        };
        let c = self.classes;
        let flags = [
            (c.uniform, "UniformMemory"),
            (c.subgroup, "SubgroupMemory"),
            (c.workgroup, "WorkgroupMemory"),
            (c.cross_workgroup, "CrossWorkgroupMemory"),
            (c.atomic_counter, "AtomicCounterMemory"),
            (c.image, "ImageMemory"),
            (c.output, "OutputMemory"),
            (self.make_available, "MakeAvailable"),
            (self.make_visible, "MakeVisible"),
            (self.volatile, "Volatile"),
        ];
        let names: Vec<&str> = order
            .into_iter()
            .chain(
                flags
                    .into_iter()
                    .filter_map(|(set, name)| set.then_some(name)),
            )
            .collect();
        f.write_str(&if names.is_empty() {
            "None".to_owned()
        } else {
            names.join("|")
        })
    }
}
