//! Memory instructions at run time: addresses when they are issued, bytes when they take effect,
//! registers when they are waited for.

use super::counters::{class, counter};
use super::effect::Effects;
use super::inst::{Action, File, Memories, Memory, Registers, Use};
use super::masks::each;
use super::operand::{Half, Kind};
use super::operation::Operation;
use super::wave::Wave;
use crate::cache::Levels;
use crate::context::Context;
use crate::finding::{FindingKind, Site};
use crate::memory::Pending;
use crate::queue::{Counters, InClass, Rules};
use crate::race::Sharing;
use crate::schedule::Completion;
use crate::uses::NONE;

/// Paths on which a wave's operations take effect in order: see [`Rules::path`].
mod path {
    pub(super) const VECTOR: u8 = 0;
    pub(super) const SHARED: u8 = 1;
    pub(super) const COPY: u8 = 2;
}

/// The registers that are loaded into.
fn destination(memory: &Memory) -> Option<Registers> {
    let dst = memory.dst?;
    let (file, first) = match dst.kind {
        Kind::Vgpr(first) => (File::Vector, first),
        Kind::Sgpr(first) => (File::Scalar, first),
        _ => return None,
    };
    Some(Registers {
        file,
        first,
        count: u16::from(memory.bytes.div_ceil(4)) * u16::from(memory.places),
        half: memory.extend.half(),
    })
}

/// The order in which an operation of `memory` is done.
fn rules(memory: &Memory, operation: &Operation) -> Rules {
    Rules {
        counters: memory.counters,
        class: memory.class,
        order: match memory.class {
            class::SCALAR | class::FLAT => InClass::Unordered,
            _ => InClass::Ordered,
        },
        elsewhere: (memory.memories == Memories::Flat && memory.class != class::FLAT)
            .then_some((counter::LDS, class::LDS)),
        path: match memory.memories {
            Memories::Scalar | Memories::ScalarBuffer => None,
            Memories::Shared => Some(path::SHARED),
            _ if operation.copies() => Some(path::COPY),
            Memories::Global
            | Memories::Flat
            | Memories::Private
            | Memories::Buffer
            | Memories::Image => Some(path::VECTOR),
        },
    }
}

impl Wave {
    /// Issues a memory instruction.
    pub(super) fn issue(
        &mut self,
        memory: &Memory,
        uses: &[Use],
        pc: u32,
        ordered_vmem: bool,
        caches: Levels,
        cx: &mut Context<'_>,
    ) {
        let mut operation = self.operation(memory, pc, caches, cx);
        if matches!(memory.action, Action::Time) {
            let words = [cx.time as u32, (cx.time >> 32) as u32];
            operation.data.extend(words.map(|word| [word; 64]));
        }
        self.take_data(memory, &mut operation);
        operation.dst = destination(memory);
        if !self.labels.is_empty() {
            self.label_data(memory, uses, &mut operation, cx);
        }
        self.check_order(&operation, cx);
        if matches!(memory.action, Action::ToShared) {
            let by = Pending { wave: cx.wave, pc };
            let bytes = operation.shared_bytes.into();
            for lane in each(operation.lanes) {
                cx.group
                    .shared
                    .mark(operation.shared[lane] as usize, bytes, by);
            }
        }
        let id = self.queue.next_id();
        if let Some(registers) = operation.dst {
            self.set_pending(registers, id);
        }
        let rules = rules(memory, &operation);
        operation.in_order = ordered_vmem && rules.path == Some(path::VECTOR);
        let at_once = cx.completion == Completion::Early || operation.in_order;
        if operation.in_order {
            // The workgroup sees it now. To others it is done when it is waited for: it has a time
            // of its own, up to which nothing is published until then.
            operation.time = cx.begin_time();
            let unproved = self.queue.iter().filter(|older| older.what.in_order);
            cx.unproved = unproved.map(|older| older.what.time).min();
        }
        self.queue.issue(rules, operation);
        if at_once {
            let (queue, mut effects) = self.effects();
            queue.perform_one(
                |n| n.saturating_sub(1),
                |operation| effects.perform(operation, cx),
            );
        }
        cx.unproved = None;
    }

    /// An operation of `memory`, with its lanes and their addresses.
    fn operation(
        &mut self,
        memory: &Memory,
        pc: u32,
        caches: Levels,
        cx: &mut Context<'_>,
    ) -> Box<Operation> {
        let mut operation = self.spare.pop().unwrap_or_default(); // a new one
        operation.pc = pc;
        operation.memories = memory.memories;
        operation.action = memory.action;
        operation.bytes = memory.bytes;
        operation.extend = memory.extend;
        operation.places = memory.places;
        operation.used = match memory.access.sharing {
            Sharing::Plain | Sharing::Unknown => memory.used,
            Sharing::Atomic => u16::MAX,
        };
        operation.texels = None;
        operation.taps.clear();
        operation.comparison = None;
        operation.access = memory.access.through(match memory.memories {
            Memories::Scalar | Memories::ScalarBuffer => 0,
            _ => caches & !memory.passes_by,
        });
        operation.lanes = match memory.memories {
            Memories::Scalar | Memories::ScalarBuffer => 1,
            _ => self.exec(),
        };
        operation.beyond = 0;
        operation.data.clear();
        operation.labels.clear();
        match memory.memories {
            Memories::Image => self.texels(memory, &mut operation, pc, cx),
            _ => self.addresses(memory, &mut operation, pc, cx),
        }
        operation
    }

    /// Takes what is written from registers.
    fn take_data(&self, memory: &Memory, operation: &mut Operation) {
        let per_place = usize::from(memory.bytes.div_ceil(4));
        for data in memory.data.iter().flatten() {
            let first = match data.kind {
                Kind::Vgpr(first) => first,
                _ => {
                    operation
                        .data
                        .push([self.scalar(data, super::bits::Ty::B32) as u32; 64]);
                    continue;
                }
            };
            operation
                .data
                .extend((0..per_place as u16).map(|n| self.v(first + n)));
        }
    }

    /// What a store writes takes its labels along; whatever else decides is used.
    fn label_data(
        &self,
        memory: &Memory,
        uses: &[Use],
        operation: &mut Operation,
        cx: &mut Context<'_>,
    ) {
        let stores = matches!(memory.action, Action::Store) && operation.texels.is_none();
        if !stores {
            self.spend_read(uses, cx.uses);
            return;
        }
        let per_place = u16::from(memory.bytes.div_ceil(4));
        let mut data = Vec::new();
        for operand in memory.data.iter().flatten() {
            let Kind::Vgpr(first) = operand.kind else {
                self.spend_read(uses, cx.uses);
                return;
            };
            data.extend(first..first + per_place);
        }
        let is_data =
            |one: &Use| one.registers.file == File::Vector && data.contains(&one.registers.first);
        let addresses: Vec<Use> = uses.iter().filter(|one| !is_data(one)).copied().collect();
        self.spend_read(&addresses, cx.uses);
        // A register may be address and data.
        for operand in [&memory.vaddr, &memory.saddr].into_iter().flatten() {
            if let Kind::Vgpr(first) = operand.kind
                && (first..first + operand.count).any(|register| data.contains(&register))
            {
                self.spend_read(uses, cx.uses);
            }
        }
        let labels = data
            .iter()
            .map(|register| self.labels.vector_or_none(*register));
        operation.labels.extend(labels);
    }

    /// Waits until one more operation can count in `counters`. Hardware does not issue what would
    /// overflow a counter (ROCm/rocm-systems, issue 11202), and LLVM leaves out waits for what is
    /// complete by then.
    pub(super) fn make_room(
        &mut self,
        counters: Counters,
        most_counted: [u32; 8],
        cx: &mut Context<'_>,
    ) {
        for (number, most) in most_counted.into_iter().enumerate() {
            let bit = 1 << number;
            if counters & bit != 0 && self.queue.len() >= most as usize {
                self.wait(bit, most.saturating_sub(1), cx);
            }
        }
    }

    /// Issues an instruction that moves no data and is counted all the same.
    pub(super) fn count(&mut self, pc: u32, counters: Counters, class: u8) {
        let rules = Rules {
            counters,
            class,
            order: InClass::Ordered,
            elsewhere: None,
            path: None,
        };
        let operation = Operation {
            pc,
            ..Operation::default()
        };
        self.queue.issue(rules, Box::new(operation));
    }

    /// Reports an outstanding operation on the bytes of shared memory that `younger` is about to
    /// touch on another way. After that, the older one takes effect first.
    fn check_order(&mut self, younger: &Operation, cx: &mut Context<'_>) {
        let suspects = self
            .queue
            .iter()
            .filter(|older| older.what.may_be_overtaken_by(younger));
        let mut ranges: Option<Vec<(u64, u64)>> = None;
        let mut found = None;
        for older in suspects {
            let ranges = ranges.get_or_insert_with(|| younger.shared_ranges());
            let hit = older.what.shared_ranges().into_iter().find(|(a, n)| {
                ranges
                    .iter()
                    .any(|(b, m)| *a < b.saturating_add(*m) && *b < a.saturating_add(*n))
            });
            if let Some((address, _)) = hit {
                found = Some((older.what.pc, address));
                break;
            }
        }
        let Some((pc, address)) = found else {
            return; // no older operation touches the place
        };
        let site = cx.site(younger.pc, None);
        let other = Site {
            lane: None,
            ..cx.site(pc, None)
        };
        cx.findings
            .report(FindingKind::MissingWait, site, Some(other), || {
                format!("shared memory at {address:#x}, on which an older operation of the wave is outstanding: the two are not ordered")
            });
        let (queue, mut effects) = self.effects();
        queue.perform_all(|operation| effects.perform(operation, cx));
    }

    /// Lets one outstanding operation take effect.
    pub(super) fn perform_one(&mut self, cx: &mut Context<'_>) {
        let chosen = cx.rng.usize(..);
        let (queue, mut effects) = self.effects();
        queue.perform_one(
            |n| chosen % n.max(1),
            |operation| effects.perform(operation, cx),
        );
    }

    /// Returns true if an operation is outstanding only because a wait was left out, and others may
    /// notice.
    pub(super) fn is_overdue(&self) -> bool {
        self.queue.overdue().any(|operation| !operation.in_order)
    }

    /// Waits until at most `left` operations are in the counter. Gives whether that retired
    /// anything.
    pub(super) fn wait(&mut self, counter: u8, left: u32, cx: &mut Context<'_>) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        let mut retires = false;
        for bit in (0..8).map(|b| 1 << b).filter(|b| counter & b != 0) {
            retires |= self.queue.wait(bit, left);
        }
        let mut done = Vec::new();
        {
            let (queue, mut effects) = self.effects();
            queue.settle(
                |operation| effects.perform(operation, cx),
                |id, operation| done.push((id, operation)),
            );
        }
        for (id, operation) in done {
            self.retire(id, &operation, cx);
            if self.spare.len() < 16 {
                self.spare.push(operation);
            }
        }
        retires
    }

    /// The queue and what operations of it may change, apart.
    fn effects(&mut self) -> (&mut crate::queue::Queue<Box<Operation>>, Effects<'_>) {
        (
            &mut self.queue,
            Effects {
                private: &mut self.private,
                private_bytes: self.private_bytes,
                private_labels: &mut self.private_labels,
            },
        )
    }

    /// Gives registers the labels of what was loaded.
    fn label_loaded(&mut self, registers: Registers, operation: &Operation) {
        let stored = matches!(operation.action, Action::Store);
        for index in 0..registers.count {
            let register = registers.first + index;
            let none = [[NONE; 4]; 64];
            let loaded = operation.labels.get(usize::from(index)).filter(|_| !stored);
            let loaded = loaded.unwrap_or(&none);
            match registers.file {
                File::Scalar => {
                    let bytes = loaded[0];
                    let bits = std::array::from_fn(|bit| bytes[bit / 8]);
                    self.labels.set_scalar(register, &bits);
                }
                File::Vector => {
                    let mut labels = self.labels.vector_or_none(register);
                    for lane in each(operation.lanes) {
                        let [a, b, c, d] = loaded[lane];
                        let old = labels[lane];
                        labels[lane] = match operation.extend.half() {
                            Half::Whole => [a, b, c, d],
                            Half::Low => [a, b, old[2], old[3]],
                            Half::High => [old[0], old[1], a, b],
                        };
                    }
                    self.labels.set_vector(register, &labels);
                }
            }
        }
    }

    /// Writes what was loaded, and unmarks the registers.
    fn retire(&mut self, id: u32, operation: &Operation, cx: &mut Context<'_>) {
        if matches!(operation.action, Action::ToShared) {
            let by = Pending {
                wave: cx.wave,
                pc: operation.pc,
            };
            let bytes = operation.shared_bytes.into();
            for lane in each(operation.lanes) {
                cx.group
                    .shared
                    .unmark(operation.shared[lane] as usize, bytes, by);
            }
        }
        let Some(registers) = operation.dst else {
            return; // a store
        };
        if !self.labels.is_empty() || !operation.labels.is_empty() {
            self.label_loaded(registers, operation);
        }
        let Registers { first, count, .. } = registers;
        match registers.file {
            File::Scalar => {
                for (index, value) in (first..).zip(&operation.data).take(count.into()) {
                    self.set_s(index, value[0]);
                }
            }
            File::Vector => {
                for (index, values) in (usize::from(first)..)
                    .zip(&operation.data)
                    .take(count.into())
                {
                    let Some(register) = self.vgpr.get_mut(index) else {
                        continue;
                    };
                    for lane in each(operation.lanes) {
                        register[lane] = operation.extend.merge(register[lane], values[lane]);
                    }
                }
            }
        }
        self.clear_pending(registers, id);
    }
}
