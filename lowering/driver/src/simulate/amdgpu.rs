//! AMDGPU code objects: read, disassembled once, decoded for the machine.

use super::inputs::{Given, Refusal};
use super::timeline::{Recording, Timeline};
use super::unit::{Timed, recorded};
use crate::asm::Function;
use splitbar_layout::abi::{Argument, ArgumentKind};
use splitbar_plan::{AccessMark, Target};
use splitbar_sim::amdgpu::{
    CodeObject, Isa, Kernel, KernelInfo, Line, Mark, Request, prepare, synchronising_parts, unknown,
};
use splitbar_sim::clock::Scope;
use splitbar_sim::memory::Global;
use splitbar_sim::timing::Setup;
use splitbar_sim::{Launch, Progress, Report, Schedule};

/// A part of an instruction that synchronises: one counter of a wait, or a whole barrier
/// instruction.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// The place of the instruction in [`Binary::lines`].
    pub instruction: usize,
    /// The number of its counter, in the order of the text; 0 for barriers.
    pub part: usize,
}

/// A kernel of a code object.
pub struct Binary {
    object: CodeObject,
    kernel: KernelInfo,
    isa: Isa,
    lines: Vec<Line>,
    left_out: Option<Part>,
    /// The word of the SPIR-V instruction that each came from, where that is known.
    words: Vec<Option<u32>>,
    /// Whether each is an atomic load or store, where that is known.
    marks: Vec<Option<Mark>>,
}

/// Where in code, given as mnemonics, the instructions of `function` are, if it begins at
/// `start`.
fn places(code: &[&str], start: usize, function: &Function) -> Option<Vec<usize>> {
    let mut places = Vec::with_capacity(function.instructions.len());
    let mut at = start;
    for instruction in &function.instructions {
        while *code.get(at)? != instruction.mnemonic {
            let pads = *code.get(at)? == "s_nop" && at > start;
            pads.then_some(())?;
            at += 1;
        }
        places.push(at);
        at += 1;
    }
    Some(places)
}

impl Binary {
    pub(super) fn read(
        bytes: &[u8],
        target: &Target,
        name: Option<&str>,
    ) -> Result<Binary, Refusal> {
        let object = CodeObject::read(bytes).map_err(|e| Refusal::Launch(e.to_string()))?;
        Binary::of_object(object, target, name)
    }

    /// The kernel `name` of `object`, or the only one.
    pub(super) fn of_object(
        object: CodeObject,
        target: &Target,
        name: Option<&str>,
    ) -> Result<Binary, Refusal> {
        let isa = Isa::by_name(target.name)
            .filter(|_| target.amdgpu().is_some())
            .ok_or_else(|| Refusal::Launch(format!("{} is not simulated", target.name)))?;
        if let Some(gpu) = object.target().filter(|gpu| *gpu != target.gpu()) {
            let name = target.name;
            return Err(Refusal::Launch(format!(
                "the code object is for {gpu}, not {name}"
            )));
        }
        let kernel = match name {
            Some(name) => object.kernels().iter().find(|k| k.name == name),
            None => object
                .kernels()
                .first()
                .filter(|_| object.kernels().len() == 1),
        };
        let Some(kernel) = kernel.cloned() else {
            let names: Vec<&str> = object.kernels().iter().map(|k| k.name.as_str()).collect();
            return Err(Refusal::Launch(format!(
                "choose one of the file's kernels: {}",
                names.join(", ")
            )));
        };
        let wave_size = kernel.descriptor.wave_size(isa);
        let mut lines = Vec::new();
        for (address, code) in object.code() {
            let disassembled = crate::backend::current()
                .disassemble(target, wave_size, code, *address)
                .map_err(Refusal::Code)?;
            lines.extend(disassembled.into_iter().map(|i| Line {
                address: address + i.offset as u64,
                length: i.length as u32,
                text: i.text,
            }));
        }
        Ok(Binary {
            object,
            kernel,
            isa,
            lines,
            left_out: None,
            words: Vec::new(),
            marks: Vec::new(),
        })
    }

    /// The kernel's own arguments as its metadata has them.
    pub(super) fn signature(&self) -> (Vec<Argument>, Option<[u32; 3]>) {
        let explicit = self
            .kernel
            .arguments
            .iter()
            .filter(|a| !a.kind.starts_with("hidden_"));
        let arguments = explicit
            .zip(0..)
            .map(|(argument, index)| Argument {
                index,
                kind: match argument.kind.as_str() {
                    "by_value" => ArgumentKind::ByValue,
                    "dynamic_shared_pointer" => ArgumentKind::DynamicSharedPointer,
                    _ => ArgumentKind::GlobalBuffer,
                },
                set: None,
                binding: None,
                size: argument.size,
                offset: argument.offset,
                align: 1,
                pointee_align: None,
            })
            .collect();
        (arguments, self.kernel.workgroup_size)
    }

    /// Bytes of workgroup memory that the kernel declares.
    pub(super) fn shared_bytes(&self) -> u32 {
        self.kernel.descriptor.shared_bytes
    }

    /// The disassembled code.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The instructions that wait for memory or take part in a barrier, in order.
    pub fn synchronising(&self) -> impl Iterator<Item = Part> {
        self.lines
            .iter()
            .enumerate()
            .flat_map(|(instruction, line)| {
                (0..synchronising_parts(line)).map(move |part| Part { instruction, part })
            })
    }

    /// Says where the instructions came from, and which loads and stores are atomic: `functions`
    /// are those of the assembly with debug lines. Text and code have the same functions in the
    /// same order, and the same instructions in them, beside the `s_nop` that loops are aligned
    /// with.
    pub(super) fn set_lines(&mut self, functions: &[Function]) {
        self.words = vec![None; self.lines.len()];
        self.marks = vec![None; self.lines.len()];
        let mnemonics: Vec<&str> = self
            .lines
            .iter()
            // An empty line is no instruction.
            .map(|line| line.text.split_whitespace().next().unwrap_or_default())
            .collect();
        let mut next = 0;
        for function in functions {
            // Between functions there is padding.
            let found = (next..=mnemonics.len()).find_map(|at| places(&mnemonics, at, function));
            debug_assert!(found.is_some(), "the instructions of text and code differ");
            let Some(places) = found else {
                continue; // it stays without
            };
            next = places.last().map_or(next, |last| last + 1);
            for (at, instruction) in places.into_iter().zip(&function.instructions) {
                if let Some(word) = self.words.get_mut(at) {
                    *word = instruction.word;
                }
                if let Some(mark) = self.marks.get_mut(at) {
                    *mark = AccessMark::of_column(instruction.column).map(|mark| match mark {
                        AccessMark::Plain => Mark::Plain,
                        AccessMark::Workgroup => Mark::Atomic(Scope::Workgroup),
                        AccessMark::Device => Mark::Atomic(Scope::Device),
                    });
                }
            }
        }
    }

    pub(super) fn unknown(&self) -> Vec<&str> {
        let wave_size = self.kernel.descriptor.wave_size(self.isa);
        unknown(self.isa, wave_size, &self.lines)
            .into_iter()
            .map(|line| line.text.trim())
            .collect()
    }

    /// Lanes of a wave.
    pub(super) fn wave_size(&self) -> u32 {
        self.kernel.descriptor.wave_size(self.isa)
    }

    /// Leaves this part out of the next runs; `None` leaves out nothing.
    pub fn leave_out(&mut self, part: Option<Part>) {
        self.left_out = part;
    }

    pub(super) fn run(
        &self,
        given: Given<'_>,
        global: &mut Global,
        schedule: Schedule,
        recording: Option<&Recording>,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(Report, Option<Timeline>), Refusal> {
        let (kernel, launch) = self.prepared(given, global)?;
        let recorded = recorded(&kernel, global, &launch, schedule, recording, watch);
        Ok(recorded)
    }

    pub(super) fn estimate(
        &self,
        given: Given<'_>,
        global: &mut Global,
        setup: Setup,
        recording: Option<&Recording>,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Timed, Refusal> {
        let (kernel, launch) = self.prepared(given, global)?;
        let timed = Timed::new(&kernel, global, &launch, setup, recording, watch);
        Ok(timed)
    }

    /// The kernel with its arguments, and its launch.
    fn prepared(&self, given: Given<'_>, global: &mut Global) -> Result<(Kernel, Launch), Refusal> {
        let Given {
            arguments,
            inputs,
            sizes,
        } = given;
        let request = Request {
            groups: inputs.groups,
            cluster: sizes.cluster,
            workgroup_size: sizes.workgroup,
            arguments: arguments.to_vec(),
            dynamic_shared_bytes: sizes.dynamic_shared,
            clocks: inputs.clocks,
            limits: inputs.limits,
        };
        let (start, launch) = prepare(&self.object, &self.kernel, self.isa, &request, global)
            .map_err(|e| Refusal::Launch(e.to_string()))?;
        let mut kernel = Kernel::new(self.isa, self.lines.clone(), start);
        kernel.set_words(self.words.clone());
        kernel.set_marks(&self.marks);
        if let Some(Part { instruction, part }) = self.left_out {
            kernel.leave_out(instruction, part);
        }
        Ok((kernel, launch))
    }
}
