//! The program: decoded code, and what a step of a wave does.

use super::abi::Start;
use super::bits::Ty;
use super::counters::counter;
use super::decode::Decoder;
use super::indirect;
use super::inst::{Condition, Inst, Mark, Op, Target};
use super::isa::Isa;
use super::operand::{Kind, Operand, sgpr};
use super::table::rounding;
use super::table::scalar::OfExec;
use super::text::Line;
use super::unread;
use super::vector::{commit, compute};
use super::wave::Wave;
use crate::barrier::Name;
use crate::cache::{DIRTY, FAR, Levels, NEAR, OWN};
use crate::context::{Context, Group};
use crate::directed::Rounding;
use crate::finding::{CodeLocation, FindingKind};
use crate::program::{Program, Step, WaveStart};
use crate::queue::Counters;
use std::collections::BTreeMap;

/// The lines with instructions that the simulator does not know. Executing one is a finding.
pub fn unknown(isa: Isa, wave_size: u32, lines: &[Line]) -> Vec<&Line> {
    let index = index(lines);
    let decoder = Decoder::new(isa, wave_size, &index);
    let decoded = lines.iter().zip(decoder.decode_all(lines));
    decoded
        .filter_map(|(line, inst)| matches!(inst.op, Op::Unknown).then_some(line))
        .collect()
}

/// Instructions by address.
fn index(lines: &[Line]) -> BTreeMap<u64, u32> {
    lines
        .iter()
        .zip(0..)
        .map(|(line, at)| (line.address, at))
        .collect()
}

/// A kernel's code, ready to run.
#[derive(Debug)]
pub struct Kernel {
    isa: Isa,
    insts: Vec<Inst>,
    lines: Vec<Line>,
    index: BTreeMap<u64, u32>,
    vgprs: usize,
    start: Start,
    /// Caches between a wave and memory.
    caches: Levels,
    /// The instruction that is left out.
    left_out: Option<u32>,
    words: Vec<Option<u32>>,
}

impl Kernel {
    /// Decodes disassembled code; the waves begin as `start` says.
    pub fn new(isa: Isa, lines: Vec<Line>, start: Start) -> Kernel {
        let index = index(&lines);
        let decoder = Decoder::new(isa, start.wave_size, &index);
        let mut insts: Vec<Inst> = decoder.decode_all(&lines).collect();
        unread::narrow_loads(&mut insts);
        // At least those that hold the work-item's ids.
        let vgprs = insts
            .iter()
            .flat_map(|i| i.uses.iter())
            .map(|u| u.registers)
            .filter(|r| r.file == super::inst::File::Vector)
            .map(|r| usize::from(r.first) + usize::from(r.count))
            .fold(4, usize::max);
        let mut caches = NEAR;
        for (level, there) in [
            (OWN, isa.wgp_mode && start.descriptor.wgp_mode()),
            (FAR, isa.far_cache),
            (DIRTY, isa.writes_back),
        ] {
            caches |= if there { level } else { 0 };
        }
        Kernel {
            isa,
            insts,
            lines,
            index,
            vgprs,
            start,
            caches,
            left_out: None,
            words: Vec::new(),
        }
    }

    /// The disassembled code.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The decoded instructions.
    pub(super) fn instructions(&self) -> &[Inst] {
        &self.insts
    }

    /// Says from which word of a SPIR-V module each line came, for findings.
    pub fn set_words(&mut self, words: Vec<Option<u32>>) {
        self.words = words;
    }

    /// Says of each line whether it is an atomic load or store, where that is known. What has two
    /// places was merged of two accesses, which no compiler does with atomics.
    pub fn set_marks(&mut self, marks: &[Option<Mark>]) {
        for (inst, mark) in self.insts.iter_mut().zip(marks) {
            let Op::Memory(memory) = &mut inst.op else {
                continue; // it touches no memory
            };
            let merged = (memory.places > 1).then_some(Mark::Plain);
            if let Some(mark) = mark.or(merged) {
                memory.mark(mark);
            }
        }
    }

    /// Makes an instruction do nothing, or a wait for several counters wait for all but number
    /// `part` of them: for tests that ask whether its absence is noticed.
    /// [`crate::Coverage::mattered`] then says of a wait whether something that it would have
    /// retired was outstanding when the wave told others of its work, by a barrier or by an atomic.
    pub fn leave_out(&mut self, index: usize, part: usize) {
        let Some(inst) = self.insts.get_mut(index) else {
            debug_assert!(false, "the program has no instruction {index}");
            return;
        };
        inst.op = match &inst.op {
            Op::Wait(waits) if let Some(missing) = waits.get(part).copied() => {
                let others = waits.iter().enumerate().filter(|(at, _)| *at != part);
                Op::LackingWait {
                    kept: others.map(|(_, wait)| *wait).collect(),
                    missing,
                }
            }
            _ => Op::Nothing,
        };
        self.left_out = u32::try_from(index).ok();
    }

    /// The wave tells others that what it did so far is done.
    pub(super) fn release(&self, wave: &Wave, cx: &mut Context<'_>) {
        if let Some(wait) = self.left_out
            && wave.is_overdue()
        {
            cx.coverage.matter(wait);
        }
    }

    fn jump(&self, wave: &mut Wave, address: u64, pc: u32, cx: &mut Context<'_>) -> Step {
        match self.index.get(&address) {
            Some(target) => {
                wave.pc = *target;
                Step::Ran(1)
            }
            None => {
                cx.report(FindingKind::BadProgramCounter, pc, None, || {
                    format!("{address:#x} is not an instruction")
                });
                self.end(wave, cx)
            }
        }
    }

    /// The wave is over: what is outstanding takes effect, and the barriers expect it no more.
    fn end(&self, wave: &mut Wave, cx: &mut Context<'_>) -> Step {
        wave.wait(counter::ALL, 0, cx);
        // LLVM AMDGPUUsage, "AMDGPU Execution Synchronization": a thread that ends drops the
        // workgroup's barrier, and must not have an arrival open there. Named objects it does not
        // drop.
        for (name, phase) in std::mem::take(&mut wave.arrived) {
            let dropped = !matches!(name, Name::Named(_));
            let barrier = cx.group.barriers.get(name);
            if dropped && barrier.is_some_and(|barrier| !barrier.passed(phase)) {
                cx.report(FindingKind::BarrierMisuse, wave.pc, None, || {
                    format!("the wave ends with an arrival at {name} that is not complete")
                });
            }
        }
        if let Some(barrier) = cx.group.barriers.get_mut(Name::Workgroup) {
            barrier.leave(1);
        }
        cx.changed();
        Step::Done
    }

    /// The instruction is not simulated: the wave ends.
    fn unknown(&self, wave: &mut Wave, pc: u32, why: &str, cx: &mut Context<'_>) -> Step {
        let text = self.lines.get(pc as usize).map_or("", |l| l.text.as_str());
        cx.report(FindingKind::UnsupportedInstruction, pc, None, || {
            format!("`{text}`{why}")
        });
        self.end(wave, cx)
    }

    /// Invalidates caches of `levels` and writes back, and counts it in `counts`: the counter that
    /// it is in, and the class whose order it keeps.
    fn cache(
        &self,
        wave: &mut Wave,
        levels: Levels,
        writes_back: bool,
        counts: Option<(Counters, u8)>,
        pc: u32,
        cx: &mut Context<'_>,
    ) {
        let levels = levels & self.caches;
        if levels != 0 {
            cx.invalidate(levels, pc);
        }
        if writes_back && self.caches & DIRTY != 0 {
            cx.write_back(pc);
        }
        if let Some((counters, class)) = counts {
            wave.make_room(counters, self.isa.most_counted, cx);
            wave.count(pc, counters, class);
        }
    }

    /// The address behind an instruction.
    pub(super) fn after(&self, pc: u32) -> u64 {
        self.lines
            .get(pc as usize)
            .map_or(0, |l| l.address + u64::from(l.length))
    }
}

/// Returns true if what the instruction computes is known in this rounding.
fn knows_rounding(op: &Op, mode: u8) -> bool {
    match op {
        Op::Vector(vector) => vector.knows_rounding(mode),
        Op::Dual(both) => both.iter().all(|vector| vector.knows_rounding(mode)),
        Op::Scalar(scalar) => {
            rounding::direction(scalar.row, mode) == Rounding::Nearest
                || matches!(rounding::rule(scalar.row), rounding::Rule::Same)
        }
        Op::Matrix(_) => false,
        Op::Nothing
        | Op::Indirect(..)
        | Op::SetIndexing(_)
        | Op::SaveExec { .. }
        | Op::Special(..)
        | Op::Branch { .. }
        | Op::Jump { .. }
        | Op::Memory(_)
        | Op::Wait(_)
        | Op::Cache { .. }
        | Op::LackingWait { .. }
        | Op::Barrier(_)
        | Op::SetRounding { .. }
        | Op::End
        | Op::Trap
        | Op::Sleep
        | Op::Unknown => true,
    }
}

pub(super) fn next(wave: &mut Wave) -> Step {
    wave.pc += 1;
    Step::Ran(1)
}

/// `s_X_saveexec` and `s_X_wrexec`: a new EXEC of the source and the old one.
fn save_exec(
    wave: &mut Wave,
    compute: OfExec,
    dst: &Operand,
    src: &Operand,
    registers: u16,
    wrexec: bool,
) {
    let (ty, mask, old) = if registers == 2 {
        (Ty::B64, u64::MAX, wave.pair(sgpr::EXEC))
    } else {
        (Ty::B32, 0xffff_ffff, wave.s(sgpr::EXEC).into())
    };
    let new = compute(wave.scalar(src, ty), old) & mask;
    wave.set_scalar(dst, ty, if wrexec { new } else { old });
    wave.set_scalar(&Operand::new(Kind::Sgpr(sgpr::EXEC), registers), ty, new);
    wave.scc = new != 0;
}

/// Returns true if a branch on `condition` is taken.
fn holds(wave: &Wave, condition: Condition) -> bool {
    match condition {
        Condition::Always => true,
        Condition::Never => false,
        Condition::Scc(set) => wave.scc == set,
        Condition::VccZero(zero) => (wave.vcc() == 0) == zero,
        Condition::ExecZero(zero) => (wave.exec() == 0) == zero,
    }
}

impl Program for Kernel {
    type Wave = Wave;

    fn wave_size(&self) -> u32 {
        self.start.wave_size
    }

    fn enter(&self, group: &mut Group) {
        group.barriers.make(Name::Workgroup, group.waves.into());
        group.barriers.make(Name::Cluster, 1);
    }

    fn start(&self, start: &WaveStart) -> Wave {
        let mut wave = Wave::new(
            self.start.wave_size,
            self.vgprs,
            self.start.private_bytes,
            start.noise,
        );
        self.start.registers(&mut wave, start, self.isa);
        wave.pc = self
            .index
            .get(&self.start.entry)
            .copied()
            .unwrap_or(u32::MAX);
        wave
    }

    fn step(&self, wave: &mut Wave, cx: &mut Context<'_>) -> Step {
        let pc = wave.pc;
        let Some(inst) = self.insts.get(pc as usize) else {
            cx.report(FindingKind::BadProgramCounter, pc, None, || {
                "control runs off the end of the code".to_owned()
            });
            return self.end(wave, cx);
        };
        cx.execute(pc);
        // One arm for each operation; what is more than a few lines has a function of its own.
        let meant;
        let inst = match indirect::resolve(wave, inst) {
            Ok(None) => inst,
            Ok(Some(resolved)) => {
                meant = resolved;
                &meant
            }
            Err(why) => return self.unknown(wave, pc, why, cx),
        };
        if !wave.queue.is_empty() {
            wave.check(inst, pc, cx);
        }
        if wave.rounding != 0 && !knows_rounding(&inst.op, wave.rounding) {
            return self.unknown(wave, pc, " in the rounding that is set", cx);
        }
        if cx.uses.follows() {
            self.label(wave, inst, cx);
        }
        let lanes = match &inst.op {
            Op::Nothing => 1,
            Op::Vector(vector) => {
                let computed = compute(wave, vector);
                let lanes = wave.exec().count_ones();
                commit(wave, vector, &computed);
                lanes
            }
            Op::Dual(both) => {
                let [first, second] = &**both;
                let (a, b) = (compute(wave, first), compute(wave, second));
                commit(wave, first, &a);
                commit(wave, second, &b);
                2 * wave.exec().count_ones()
            }
            // It has become a move.
            Op::Indirect(..) => return self.unknown(wave, pc, "", cx),
            Op::SetIndexing(to) => {
                match to {
                    Some((index, which)) => {
                        let index = wave.scalar(index, Ty::B32) as u32;
                        indirect::switch_on(wave, *which, index);
                    }
                    None => wave.indexing = None,
                }
                1
            }
            Op::Scalar(scalar) => {
                self.scalar(wave, scalar);
                1
            }
            Op::SaveExec {
                compute,
                dst,
                src,
                registers,
                wrexec,
            } => {
                save_exec(wave, *compute, dst, src, *registers, *wrexec);
                1
            }
            Op::Special(special, operands) => {
                self.special(wave, *special, operands, pc, cx.time);
                wave.exec().count_ones()
            }
            Op::Branch { condition, target } => {
                wave.pc = if holds(wave, *condition) {
                    *target
                } else {
                    pc + 1
                };
                return Step::Ran(1);
            }
            Op::Jump { link, target } => {
                let back = self.after(pc);
                let address = match target {
                    Target::Registers(operand) => wave.scalar(operand, Ty::B64),
                    Target::Instruction(index) => {
                        self.lines.get(*index as usize).map_or(0, |l| l.address)
                    }
                };
                if let Some(link) = link {
                    wave.set_scalar(link, Ty::B64, back);
                }
                return self.jump(wave, address, pc, cx);
            }
            Op::Memory(memory) => {
                if memory.action.publishes(memory.access) {
                    self.release(wave, cx);
                }
                wave.make_room(memory.counters, self.isa.most_counted, cx);
                wave.issue(
                    memory,
                    &inst.uses,
                    pc,
                    self.isa.ordered_vmem,
                    self.caches,
                    cx,
                );
                wave.exec().count_ones()
            }
            Op::Matrix(matrix) => {
                matrix.run(wave, pc, cx);
                wave.size
            }
            Op::Wait(waits) => {
                let mut matters = false;
                for (counter, left) in waits {
                    matters |= wave.wait(*counter, *left, cx);
                }
                if matters {
                    cx.coverage.matter(pc);
                }
                1
            }
            Op::Cache {
                invalidates,
                writes_back,
                counts,
            } => {
                self.cache(wave, *invalidates, *writes_back, *counts, pc, cx);
                1
            }
            Op::LackingWait { kept, missing } => {
                wave.queue.leave_out_wait(missing.0, missing.1);
                for (counter, left) in kept {
                    wave.wait(*counter, *left, cx);
                }
                1
            }
            Op::Barrier(barrier) => return self.barrier(wave, *barrier, pc, cx),
            Op::End => return self.end(wave, cx),
            Op::Trap => {
                cx.report(FindingKind::Trap, pc, None, || "the wave traps".to_owned());
                return self.end(wave, cx);
            }
            Op::Sleep => {
                wave.pc += 1;
                return Step::Yielded(1);
            }
            Op::SetRounding { first, bits, value } => {
                let mask = (1u8 << bits) - 1;
                let value = wave.scalar(value, Ty::B32) as u8 & mask;
                wave.rounding = wave.rounding & !(mask << first) | value << first;
                1
            }
            Op::Unknown => return self.unknown(wave, pc, "", cx),
        };
        wave.pc = pc + 1;
        Step::Ran(lanes)
    }

    fn complete_one(&self, wave: &mut Wave, cx: &mut Context<'_>) {
        wave.perform_one(cx);
    }

    fn waiting(&self, wave: &Wave) -> Vec<(u32, Option<Name>)> {
        let name = self
            .insts
            .get(wave.pc as usize)
            .and_then(|inst| match &inst.op {
                Op::Barrier(_) => wave.arrived.last().map(|(name, _)| *name),
                _ => None,
            });
        vec![(wave.pc, name)]
    }

    fn place(&self, pc: u32) -> CodeLocation {
        let line = self.lines.get(pc as usize);
        CodeLocation {
            address: line.map_or(0, |l| l.address),
            text: line.map_or_else(String::new, |l| {
                l.text.split_whitespace().collect::<Vec<_>>().join(" ")
            }),
            word: self.words.get(pc as usize).copied().flatten(),
        }
    }
}

impl Kernel {
    pub(super) fn scalar(&self, wave: &mut Wave, scalar: &super::inst::Scalar) {
        let mut sources = [0; 3];
        for (slot, (operand, ty)) in sources
            .iter_mut()
            .zip(scalar.src.iter().zip(scalar.row.src))
        {
            *slot = wave.scalar(operand, *ty);
        }
        match scalar.row.compute {
            super::bits::Compute::Scalar(f) => {
                let (value, scc) = f(&sources, wave.scc);
                wave.set_scalar(&scalar.dst, scalar.row.dst, value);
                if let Some(scc) = scc {
                    wave.scc = scc;
                }
            }
            super::bits::Compute::Test(f) => wave.scc = f(&sources),
            super::bits::Compute::Value(_) | super::bits::Compute::Carry(_) => {}
        }
    }
}
