//! Shared memory as instructions: accesses of slots, atomic operations, barriers, functions with
//! barriers, and the sums of the last workgroup.

use super::share::{ACQUIRE, ACQUIRE_RELEASE, Access, BUFFER, Count, Fence, Index};
use super::share::{MAKE_AVAILABLE, MAKE_VISIBLE, Of, SHARED_MEMORY, Scope, When};
use super::sizes::{GROUPS, SHARED, VARIABLES};
use super::text::Writer;
use super::tree::{Dialect, Last, Top};
use std::fmt::Write;

/// An access that publishes everything that one workgroup knows to the next one that acquires.
const PUBLISHED: Access = Access {
    volatile: false,
    scope: Scope::Device,
};

impl Writer {
    /// A top that is a matter of shared memory.
    pub(super) fn shared(&mut self, top: &Top) {
        match top {
            Top::Put {
                slot,
                index,
                from,
                when,
                access,
            } => self.only(*when, |writer| {
                let value = writer.get(*from);
                let pointer = writer.pointer(*slot, *index);
                writer.store(&pointer, &value, *access);
            }),
            Top::Take {
                slot,
                index,
                to,
                when,
                access,
            } => self.only(*when, |writer| {
                let pointer = writer.pointer(*slot, *index);
                let value = writer.load(&pointer, *access);
                writer.set(*to, &value);
            }),
            Top::Copy {
                to,
                from,
                index,
                access,
            } => {
                let source = self.pointer(*from, *index);
                let target = self.pointer(*to, Index::Own);
                if self.dialect == Dialect::Glsl {
                    self.line(&format!("OpCopyMemory {target} {source}"));
                } else {
                    let value = self.load(&source, *access);
                    self.store(&target, &value, *access);
                }
            }
            Top::Atomic {
                slot,
                index,
                from,
                what,
                fence,
            } => {
                let value = self.get(*from);
                let pointer = self.pointer(*slot, *index);
                let fence = self.fence(*fence);
                self.id(&format!("{} %u32 {pointer} {fence} {value}", what.opcode()));
            }
            Top::Fence(fence) => {
                let fence = self.fence(*fence);
                self.line(&format!("OpMemoryBarrier {fence}"));
            }
            Top::Barrier(execution, fence) => self.control("OpControlBarrier", *execution, *fence),
            Top::Arrive(execution, fence) => {
                self.control("OpControlBarrierArriveEXT", *execution, *fence);
            }
            Top::Wait(execution, fence) => {
                self.control("OpControlBarrierWaitEXT", *execution, *fence);
            }
            _ => {}
        }
    }

    fn control(&mut self, opcode: &str, execution: Scope, fence: Fence) {
        let fence = self.fence(fence);
        self.line(&format!("{opcode} %c{} {fence}", execution.number()));
    }

    /// The operands for scope and semantics.
    fn fence(&mut self, fence: Fence) -> String {
        self.semantics.insert(fence.bits);
        format!("%c{} %bits{}", fence.scope.number(), fence.bits)
    }

    fn local(&self) -> String {
        format!("%{}local", self.frame)
    }

    /// The condition that the workgroup's number is odd.
    pub(super) fn is_odd(&mut self) -> String {
        let bit = self.id(&format!("OpBitwiseAnd %u32 %{}wid %c1", self.frame));
        self.id(&format!("OpINotEqual %bool {bit} %c0"))
    }

    fn pointer(&mut self, slot: usize, index: Index) -> String {
        let (local, size) = (self.local(), self.size);
        let index = match index {
            Index::Own => local,
            Index::Shift(distance) => {
                let sum = self.id(&format!("OpIAdd %u32 {local} %c{distance}"));
                self.id(&format!("OpUMod %u32 {sum} %c{size}"))
            }
            Index::Xor(mask) => self.id(&format!("OpBitwiseXor %u32 {local} %c{mask}")),
            Index::At(at) => format!("%c{at}"),
            Index::By(variable) => {
                let value = self.get(variable);
                self.id(&format!("OpUMod %u32 {value} %c{size}"))
            }
        };
        if slot < SHARED {
            return self.id(&format!("OpAccessChain %p_element %slot{slot} {index}"));
        }
        // Two slots are in one buffer, the third has its own.
        let (buffer, number) = match slot - SHARED {
            2 => ("last", 0),
            number => ("both", number),
        };
        let group = self.id(&format!("OpIMul %u32 %{}wid %c{size}", self.frame));
        let first = self.id(&format!("OpIMul %u32 %c{number} %c{}", GROUPS * size));
        let part = self.id(&format!("OpIAdd %u32 {first} {group}"));
        let at = self.id(&format!("OpIAdd %u32 {part} {index}"));
        self.id(&format!("OpAccessChain %p_word %{buffer} %c0 {at}"))
    }

    fn only(&mut self, when: When, access: impl FnOnce(&mut Writer)) {
        let chosen = match when {
            When::Always => return access(self),
            When::Bit(variable, bit) => self.bit(variable, bit),
            When::Only(only) => {
                let local = self.local();
                self.id(&format!("OpIEqual %bool {local} %c{only}"))
            }
        };
        self.if_true(&chosen, access);
    }

    fn if_true(&mut self, condition: &str, body: impl FnOnce(&mut Writer)) {
        let [inside, out] = std::array::from_fn(|_| self.label());
        self.line(&format!(
            "OpSelectionMerge {out} None\nOpBranchConditional {condition} {inside} {out}\n{inside} = OpLabel"
        ));
        body(self);
        self.line(&format!("OpBranch {out}\n{out} = OpLabel"));
    }

    /// The memory operands of an access.
    fn marks(&self, access: Access, made: &str) -> String {
        let mut marks = Vec::new();
        if access.volatile {
            marks.push("Volatile".to_owned());
        }
        let mut scope = String::new();
        if self.dialect == Dialect::VulkanAccess {
            marks.push(format!("MakePointer{made}"));
            scope = format!(" %c{}", access.scope.number());
        }
        if self.dialect.has_vulkan_model() {
            marks.push("NonPrivatePointer".to_owned());
        }
        if marks.is_empty() {
            return String::new();
        }
        format!(" {}{scope}", marks.join("|"))
    }

    fn store(&mut self, pointer: &str, value: &str, access: Access) {
        let marks = self.marks(access, "Available");
        self.line(&format!("OpStore {pointer} {value}{marks}"));
    }

    fn load(&mut self, pointer: &str, access: Access) -> String {
        let marks = self.marks(access, "Visible");
        self.id(&format!("OpLoad %u32 {pointer}{marks}"))
    }

    /// The number of iterations of a loop.
    pub(super) fn times(&mut self, count: Count) -> String {
        let all = match count.of {
            Of::Number(number) => return format!("%c{}", number - count.less),
            Of::Push(at) => self.id(&format!("OpAccessChain %p_push %push %c{at}")),
        };
        let all = self.id(&format!("OpLoad %u32 {all}"));
        self.id(&format!("OpISub %u32 {all} %c{}", count.less))
    }

    /// A function with pointers to the variables, and its call.
    pub(super) fn outlined(&mut self, body: &[Top]) {
        let number = self.label().replace("%l", "");
        let frame = format!("o{number}_");
        let names = |frame: &str| -> Vec<String> {
            (0..VARIABLES)
                .map(|variable| format!("%{frame}v{variable}"))
                .chain([format!("%{frame}own")])
                .collect()
        };
        let arguments = names(&self.frame).join(" ");
        self.id(&format!("OpFunctionCall %void %o{number} {arguments}"));
        let outer = (
            std::mem::replace(&mut self.frame, frame.clone()),
            std::mem::take(&mut self.code),
            std::mem::take(&mut self.variables),
            std::mem::take(&mut self.loops),
        );
        self.line(&format!(
            "%{frame}local = OpLoad %u32 %lids\n%{frame}wid3 = OpLoad %u32v3 %wids\n%{frame}wid = OpCompositeExtract %u32 %{frame}wid3 0"
        ));
        self.tops(body);
        let mut text = format!("%o{number} = OpFunction %void None %of_pointers\n");
        for (at, name) in names(&frame).iter().enumerate() {
            let kind = if at < VARIABLES {
                "%p_local"
            } else {
                "%p_array"
            };
            let _ = writeln!(text, "{name} = OpFunctionParameter {kind}");
        }
        let _ = write!(
            text,
            "%{frame}begin = OpLabel\n{}{}OpReturn\nOpFunctionEnd\n",
            self.variables, self.code
        );
        self.functions.push_str(&text);
        (self.frame, self.code, self.variables, self.loops) = outer;
    }

    /// See [`Last`].
    pub(super) fn last(&mut self, last: Last) {
        let fence = |order: u32, scope| {
            let mut bits = order | BUFFER;
            if order == ACQUIRE_RELEASE && scope == Scope::Workgroup {
                bits |= SHARED_MEMORY;
            }
            Fence { scope, bits }
        };
        let vulkan = self.dialect.has_vulkan_model();
        let marked = |fence: Fence| {
            let available = if fence.releases() { MAKE_AVAILABLE } else { 0 };
            Fence {
                bits: fence.bits | if vulkan { available | MAKE_VISIBLE } else { 0 },
                ..fence
            }
        };
        let at_device = marked(fence(ACQUIRE_RELEASE, Scope::Device));
        let in_group = marked(fence(ACQUIRE_RELEASE, Scope::Workgroup));
        let value = self.get(last.from);
        let own = self.id("OpAccessChain %p_word %published %c0 %gid");
        self.store(&own, &value, PUBLISHED);
        if !last.by_one {
            self.shared(&Top::Fence(at_device));
        }
        self.shared(&Top::Barrier(Scope::Workgroup, in_group));
        self.only(When::Only(0), |writer| {
            let counter = writer.id("OpAccessChain %p_word %finished %c0 %c0");
            let fence = writer.fence(at_device);
            let ticket = writer.id(&format!("OpAtomicIAdd %u32 {counter} {fence} %c1"));
            writer.store("%ticket", &ticket, PUBLISHED);
        });
        self.shared(&Top::Barrier(Scope::Workgroup, in_group));
        let ticket = self.load("%ticket", PUBLISHED);
        let is_last = self.id(&format!("OpIEqual %bool {ticket} %c{}", GROUPS - 1));
        self.if_true(&is_last, |writer| {
            if !last.by_one {
                let acquire = marked(fence(ACQUIRE, Scope::Device));
                writer.shared(&Top::Fence(acquire));
            }
            let mut sum = "%c0".to_owned();
            for group in 0..GROUPS {
                let first = group * writer.size;
                let at = writer.id(&format!("OpIAdd %u32 %local %c{first}"));
                let pointer = writer.id(&format!("OpAccessChain %p_word %published %c0 {at}"));
                let value = writer.load(&pointer, PUBLISHED);
                sum = writer.id(&format!("OpIAdd %u32 {sum} {value}"));
            }
            let pointer = writer.id("OpAccessChain %p_word %sums %c0 %local");
            writer.line(&format!("OpStore {pointer} {sum}"));
        });
    }
}
