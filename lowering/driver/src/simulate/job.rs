//! A kernel that can be run.

use super::inputs::{Elements, Refusal, Texels};
use super::unit::Unit;
use super::{amdgpu, nvptx};
use crate::asm;
use crate::compile::{Entry, Output};
use crate::launch::BufferName;
use crate::usage::ResourceUsage;
use splitbar_layout::abi::{Argument, Combination, Reached};
#[cfg(feature = "llvm")]
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::printf::Table;
use splitbar_passes::profile::Gpu;
use splitbar_plan::target::Arch;
use splitbar_plan::{Overlap, Strategy, Target};
use splitbar_sim::amdgpu::CodeObject;
use splitbar_sim::sampler::Sampler;
use std::collections::BTreeMap;

/// A kernel that can be run.
///
#[cfg_attr(feature = "llvm", doc = "```")]
#[cfg_attr(not(feature = "llvm"), doc = "```no_run")]
/// use splitbar::simulate::machine::Schedule;
/// use splitbar::simulate::{BufferName, Inputs, Job};
/// use splitbar::{Options, Target};
///
/// let module = include_bytes!("../../../../docs/examples/rounds.spv");
/// let target = Target::by_name("sm_90").ok_or("no such target")?;
/// let output = splitbar::Compiler::new(&Options::new(target)).compile(module)?;
/// let values: Vec<u8> = (0..128u32).flat_map(u32::to_le_bytes).collect();
/// let buffers = vec![
///     (BufferName::Binding(0, 0), values),
///     (BufferName::Binding(0, 1), vec![0; 512]),
/// ];
/// let inputs = Inputs::new([1, 1, 1], buffers);
/// let outcome = Job::compiled(&output, 0)?.run(&inputs, Schedule::nth(0, 1))?;
/// assert!(outcome.report.findings.is_empty());
/// // 0 stays 0 in all rounds; its neighbour is 1.
/// assert_eq!(outcome.buffers[1][..4], 1u32.to_le_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Job {
    pub(super) code: Code,
    pub(super) arguments: Vec<Argument>,
    /// What is reached through tables, and the bytes of a descriptor there.
    pub(super) resources: Vec<Reached>,
    pub(super) descriptor_bytes: u32,
    /// Which samplers the texture objects of images have in them.
    pub(super) combined_image_samplers: Vec<Combination>,
    pub(super) workgroup_size: Option<[u32; 3]>,
    /// Workgroups of a cluster.
    pub(super) cluster: [u32; 3],
    /// Bytes of dynamic workgroup memory that the kernel wants.
    pub(super) dynamic_shared: u32,
    pub(super) images: BTreeMap<BufferName, Texels>,
    pub(super) samplers: BTreeMap<BufferName, Sampler>,
    pub(super) tensors: BTreeMap<BufferName, Elements>,
    pub(super) prints: Table,
    pub(super) print_capacity: u32,
    /// What it runs on, and what it takes of it.
    pub(super) unit: Unit,
}

/// Default size in bytes of the printf buffer.
pub const PRINT_CAPACITY: u32 = 1 << 16;

/// The executable, by vendor.
pub(super) enum Code {
    Amdgpu(amdgpu::Binary),
    Nvptx(nvptx::Text),
}

impl Code {
    /// What the kernel may take, by its PTX; `None` for machine code.
    fn expected_usage(&self) -> Option<ResourceUsage> {
        match self {
            Code::Amdgpu(_) => None,
            Code::Nvptx(text) => Some(text.expected_usage()),
        }
    }

    /// Bytes of workgroup memory that it declares.
    pub(super) fn shared_bytes(&self) -> u32 {
        match self {
            Code::Amdgpu(binary) => binary.shared_bytes(),
            Code::Nvptx(text) => text.shared_bytes(),
        }
    }
}

impl Job {
    /// The kernel of entry point number `entry` of a compilation. Where that was made with
    /// [`lines`](crate::Options::lines), findings name words of the module, and the simulator knows
    /// which loads and stores of AMDGPU code are atomic.
    ///
    /// # Errors
    /// When there is no such entry point, the code cannot be generated or linked, or the GPU is not
    /// simulated.
    pub fn compiled(output: &Output, entry: usize) -> Result<Job, Refusal> {
        Job::of_output(output, entry, &|entry| match output.target.arch {
            Arch::Amdgpu(_) => {
                // The object is made from the text if the text is there.
                let text = output.lines.then(|| output.assembly()).transpose();
                let text = text.map_err(Refusal::Code)?;
                let bytes = output.hsaco().map_err(Refusal::Code)?;
                let object = CodeObject::read(&bytes);
                let object = object.map_err(|e| Refusal::Launch(e.to_string()))?;
                let symbol = Some(entry.abi.symbol.as_str());
                let mut binary = amdgpu::Binary::of_object(object, output.target, symbol)?;
                if let Some(text) = text {
                    binary.set_lines(&asm::amdgpu::parse(&text));
                }
                Ok(Code::Amdgpu(binary))
            }
            Arch::Nvptx(_) => {
                let text = output.assembly().map_err(Refusal::Code)?;
                let symbol = Some(entry.abi.symbol.as_str());
                Ok(Code::Nvptx(nvptx::Text::read(&text, symbol)?))
            }
        })
    }

    /// The same of the code that was measured. It is not linked, so that it needs no linker, and
    /// cannot use what other files define.
    #[cfg(feature = "llvm")]
    pub(super) fn measured(output: &Output, entry: usize) -> Result<Job, Refusal> {
        Job::of_object(output, entry, &|| output.measured_object())
    }

    /// The same of the code of the output, which was made with [`lines`](crate::Options::lines).
    #[cfg(feature = "llvm")]
    pub(super) fn unlinked(output: &Output, entry: usize) -> Result<Job, Refusal> {
        // The object is made from the text if the text is there.
        let text = output.assembly().map_err(Refusal::Code)?;
        let mut job = Job::of_object(output, entry, &|| match output.target.arch {
            Arch::Amdgpu(_) => output.object(),
            Arch::Nvptx(_) => Ok(text.clone().into_bytes()),
        })?;
        if let Code::Amdgpu(binary) = &mut job.code {
            binary.set_lines(&asm::amdgpu::parse(&text));
        }
        Ok(job)
    }

    /// The kernel of entry point number `entry` of a compilation, in the object, or PTX, that
    /// `code` makes.
    #[cfg(feature = "llvm")]
    fn of_object(
        output: &Output,
        entry: usize,
        code: &dyn Fn() -> Result<Vec<u8>, Diagnostics>,
    ) -> Result<Job, Refusal> {
        Job::of_output(output, entry, &|entry| {
            let bytes = code().map_err(Refusal::Code)?;
            let symbol = Some(entry.abi.symbol.as_str());
            Ok(match output.target.arch {
                Arch::Amdgpu(_) => {
                    let object = CodeObject::read_unlinked(&bytes);
                    let object = object.map_err(|e| Refusal::Launch(e.to_string()))?;
                    Code::Amdgpu(amdgpu::Binary::of_object(object, output.target, symbol)?)
                }
                Arch::Nvptx(_) => {
                    let text = String::from_utf8_lossy(&bytes);
                    Code::Nvptx(nvptx::Text::read(&text, symbol)?)
                }
            })
        })
    }

    /// The kernel of entry point number `entry` of a compilation, whose code `read` reads.
    fn of_output(
        output: &Output,
        entry: usize,
        read: &dyn Fn(&Entry) -> Result<Code, Refusal>,
    ) -> Result<Job, Refusal> {
        let entry = output
            .entries()
            .get(entry)
            .ok_or_else(|| Refusal::Launch("there is no such entry point".to_owned()))?;
        let abi = &entry.abi;
        let code = read(entry)?;
        let expected = code.expected_usage();
        Ok(Job {
            code,
            arguments: abi.arguments.clone(),
            resources: abi.resources.clone(),
            // 0 where no descriptors lie in tables.
            descriptor_bytes: abi.form.descriptor_bytes().unwrap_or(0),
            combined_image_samplers: abi.combined_image_samplers.clone(),
            workgroup_size: abi.workgroup_size,
            cluster: entry.plan.cluster.unwrap_or([1; 3]),
            dynamic_shared: entry.plan.dynamic_shared_bytes,
            images: BTreeMap::new(),
            samplers: BTreeMap::new(),
            tensors: BTreeMap::new(),
            prints: abi.prints.clone(),
            print_capacity: PRINT_CAPACITY,
            unit: Unit::new(output.target, entry.plan.wave_size, entry.usage, expected),
        })
    }

    /// A kernel of a linked AMDGPU code object: the one of this name, or the only one.
    ///
    /// # Errors
    /// When the file cannot be read, is for another GPU, has no such kernel, or the GPU is not
    /// simulated.
    pub fn code_object(
        bytes: &[u8],
        target: &Target,
        kernel: Option<&str>,
    ) -> Result<Job, Refusal> {
        let binary = amdgpu::Binary::read(bytes, target, kernel)?;
        let (arguments, workgroup_size) = binary.signature();
        let unit = Unit::new(target, binary.wave_size(), None, None);
        Ok(Job::of_code(
            Code::Amdgpu(binary),
            arguments,
            workgroup_size,
            unit,
        ))
    }

    /// A kernel of a PTX text: the one of this name, or the only one. Its arguments are named by
    /// their positions.
    ///
    /// # Errors
    /// When the text is not PTX, is for a GPU whose code `target` cannot run, has no such kernel,
    /// or asks for more than the simulator's limits.
    pub fn ptx(text: &str, target: &Target, kernel: Option<&str>) -> Result<Job, Refusal> {
        let text = nvptx::Text::read(text, kernel)?.of(target)?;
        let (arguments, workgroup_size) = text.signature();
        let code = Code::Nvptx(text);
        let expected = code.expected_usage();
        let unit = Unit::new(target, target.default_wave_size(), None, expected);
        Ok(Job::of_code(code, arguments, workgroup_size, unit))
    }

    /// A kernel of which only the code is known: without resources that tables lead to, clusters
    /// and dynamic workgroup memory.
    fn of_code(
        code: Code,
        arguments: Vec<Argument>,
        workgroup_size: Option<[u32; 3]>,
        unit: Unit,
    ) -> Job {
        Job {
            code,
            arguments,
            resources: Vec::new(),
            descriptor_bytes: 0,
            combined_image_samplers: Vec::new(),
            workgroup_size,
            cluster: [1; 3],
            dynamic_shared: 0,
            images: BTreeMap::new(),
            samplers: BTreeMap::new(),
            tensors: BTreeMap::new(),
            prints: Table::default(),
            print_capacity: PRINT_CAPACITY,
            unit,
        }
    }

    /// The same kernel, launched in clusters of so many workgroups. A compilation knows its own.
    #[must_use]
    pub fn in_clusters(self, size: [u32; 3]) -> Job {
        Job {
            cluster: size,
            ..self
        }
    }

    /// Says that the buffer at `place` is an image: the kernel gets a descriptor of it.
    #[must_use]
    pub fn with_image(mut self, place: BufferName, texels: Texels) -> Job {
        self.images.insert(place, texels);
        self
    }

    /// Says which sampler is at `place`: of an image, which has it in its descriptor, or one of its
    /// own. Where the descriptor of an image has a sampler in it that the kernel has of its own,
    /// it is put there, too.
    #[must_use]
    pub fn with_sampler(mut self, place: BufferName, sampler: Sampler) -> Job {
        self.samplers.insert(place, sampler);
        self
    }

    /// Gives the kernel room for so many bytes of printf's records.
    #[must_use]
    pub fn with_print_capacity(mut self, bytes: u32) -> Job {
        self.print_capacity = bytes;
        self
    }

    /// The GPU that it is code for, as profiles name it.
    pub fn gpu(&self) -> Option<Gpu> {
        self.unit.gpu()
    }

    /// The PTX kernel, as text; `None` for others.
    pub fn ptx_text(&self) -> Option<&nvptx::Text> {
        match &self.code {
            Code::Amdgpu(_) => None,
            Code::Nvptx(text) => Some(text),
        }
    }

    /// The same kernel with the same arguments in another PTX text, for tests that change it.
    ///
    /// # Errors
    /// As [`Job::ptx`].
    pub fn with_ptx(&self, text: &str, kernel: &str) -> Result<Job, Refusal> {
        let code = Code::Nvptx(nvptx::Text::read(text, Some(kernel))?);
        Ok(self.with_code(code))
    }

    /// The same kernel with the same arguments in another AMDGPU code object, for tests that change
    /// it.
    ///
    /// # Errors
    /// As [`Job::code_object`].
    pub fn with_code_object(
        &self,
        bytes: &[u8],
        target: &Target,
        kernel: &str,
    ) -> Result<Job, Refusal> {
        let code = Code::Amdgpu(amdgpu::Binary::read(bytes, target, Some(kernel))?);
        Ok(self.with_code(code))
    }

    fn with_code(&self, code: Code) -> Job {
        Job {
            code,
            arguments: self.arguments.clone(),
            resources: self.resources.clone(),
            descriptor_bytes: self.descriptor_bytes,
            combined_image_samplers: self.combined_image_samplers.clone(),
            workgroup_size: self.workgroup_size,
            cluster: self.cluster,
            dynamic_shared: self.dynamic_shared,
            images: self.images.clone(),
            samplers: self.samplers.clone(),
            tensors: self.tensors.clone(),
            prints: self.prints.clone(),
            print_capacity: self.print_capacity,
            unit: self.unit,
        }
    }

    /// The AMDGPU kernel's instructions, for tests that change them.
    pub fn amdgpu(&mut self) -> Option<&mut amdgpu::Binary> {
        match &mut self.code {
            Code::Amdgpu(binary) => Some(binary),
            Code::Nvptx(_) => None,
        }
    }

    /// The instructions that the simulator does not know, as text. Executing one is a finding.
    pub fn unknown(&self) -> Vec<&str> {
        match &self.code {
            Code::Amdgpu(binary) => binary.unknown(),
            Code::Nvptx(text) => text.unknown(),
        }
    }

    /// Returns true if the hardware has both instructions of all pairs of the entry point that are
    /// split, so that they cost no more than a full barrier, and the times of its instructions are
    /// measured.
    pub(crate) fn splits_for_free(&self, output: &Output, entry: usize) -> bool {
        let entry = output.entries().get(entry);
        let pairs = entry.into_iter().flat_map(|entry| &entry.plan.pairs);
        let strategies = pairs.map(|pair| pair.strategy);
        let mut split = strategies
            .filter(|one| one.overlap() == Overlap::Split)
            .peekable();
        let is_measured = self.unit.timing.is_some_and(|timing| !timing.estimated);
        is_measured && split.peek().is_some() && split.all(|one| one == Strategy::Native)
    }
}
