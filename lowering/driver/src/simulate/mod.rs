//! Kernels on the simulated machine: what is run, with which buffers, and what came of it.
//!
//! A [`Job`] is an executable for one GPU with the layout of its arguments. It comes from a
//! compilation or from a file that another compiler made, and is run once per schedule, each time
//! with fresh buffers.

pub mod amdgpu;
pub mod estimate;
pub mod nvptx;
pub mod profile;
mod samplers;
mod tables;
mod tensors;

use crate::asm;
use crate::compile::Output;
use estimate::Unit;
use splitbar_passes::diagnostic::{Code as Problem, Diagnostic, Diagnostics};
use splitbar_passes::printf::{self, Printed, Table};
use splitbar_passes::profile::Gpu;
use splitbar_plan::Target;
use splitbar_plan::target::Arch;
pub use splitbar_sim as machine;
use splitbar_sim::image::{Format, Image, Levels};
use splitbar_sim::memory::{Global, RegionId};
use splitbar_sim::sampler::Sampler;
use splitbar_sim::{Clocks, Limits, Progress, Report, Schedule};
use splitbar_typed::abi::{Argument, ArgumentKind, Combination, Reached, ResourceKind};
use std::collections::BTreeMap;
pub use tensors::Elements;

/// Why a kernel cannot be run at all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The kernel or the machine does not have what is asked, or the code cannot be read.
    Launch(String),
    /// Code could not be generated, linked or disassembled.
    Code(Diagnostics),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Launch(why) => f.write_str(why),
            Refusal::Code(problems) => problems.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

/// What a buffer is called.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BufferName {
    /// Descriptor set and binding of a shader.
    Binding(u32, u32),
    /// Descriptor set, binding, and position in the array of descriptors there, from 0. Position 0
    /// is the same as [`BufferName::Binding`].
    Element(u32, u32, u32),
    /// The position among the kernel's arguments, from 0.
    Argument(u32),
}

impl BufferName {
    /// What the buffer of `argument` is called.
    fn of(argument: &Argument) -> BufferName {
        match (argument.set, argument.binding) {
            (Some(set), Some(binding)) => BufferName::Binding(set, binding),
            _ => BufferName::Argument(argument.index),
        }
    }
}

impl std::fmt::Display for BufferName {
    /// `0:1`, `0:1:2` for an element of an array, or `2` for an argument.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BufferName::Binding(set, binding) => write!(f, "{set}:{binding}"),
            BufferName::Element(set, binding, element) => write!(f, "{set}:{binding}:{element}"),
            BufferName::Argument(index) => write!(f, "{index}"),
        }
    }
}

/// What the bytes of a buffer are where the kernel has an image or a texel buffer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Texels {
    /// What a texel is.
    pub format: Format,
    /// Texels in each direction, layers behind them; 1 where there is nothing. They follow each
    /// other without gaps.
    pub extent: [u32; 3],
    /// Whether it is a texel buffer.
    pub is_buffer: bool,
    /// Its mip levels and samples.
    pub levels: Levels,
}

/// What a launch is given.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inputs {
    /// Workgroups in x, y and z.
    pub groups: [u32; 3],
    /// Invocations of a workgroup, for kernels that leave it open.
    pub workgroup_size: Option<[u32; 3]>,
    /// The buffers.
    pub buffers: Vec<(BufferName, Vec<u8>)>,
    /// The push-constant block; for other kernels, their arguments that are no pointers, one after
    /// the other.
    pub push: Vec<u8>,
    /// Bytes of workgroup memory that the launch adds to the kernel's own: the array without a size
    /// that a kernel may have there.
    pub dynamic_shared: u32,
    /// What the clocks of the machine show.
    pub clocks: Clocks,
    /// What the launch may cost.
    pub limits: Limits,
}

impl Inputs {
    /// The launch of so many workgroups with these buffers: no push constants, no more workgroup
    /// memory than the kernel's own, limits that suit tests.
    pub fn new(groups: [u32; 3], buffers: Vec<(BufferName, Vec<u8>)>) -> Inputs {
        Inputs {
            groups,
            workgroup_size: None,
            buffers,
            push: Vec::new(),
            dynamic_shared: 0,
            clocks: Clocks::Machine,
            limits: Limits::default(),
        }
    }

    /// Whether the launch keeps its limits. Nothing has been run then, and nothing allocated.
    ///
    /// # Errors
    /// `LaunchTooLarge`, also of a launch without a workgroup.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let limits = &self.limits;
        let product = |sizes: [u32; 3]| sizes.iter().try_fold(1u32, |n, s| n.checked_mul(*s));
        let beyond = |what: String, limit: u64| {
            Err(Diagnostic::error(
                Problem::LaunchTooLarge,
                format!("the launch has {what}; the limit is {limit}"),
            )
            .because("every workgroup is run, instruction by instruction, under every schedule")
            .help("launch fewer workgroups on less data: those that show the problem"))
        };
        if product(self.groups).is_none_or(|n| n > limits.workgroups) {
            let [x, y, z] = self.groups;
            return beyond(
                format!("{x} x {y} x {z} workgroups"),
                limits.workgroups.into(),
            );
        }
        if self.groups.contains(&0) {
            return Err(Diagnostic::error(
                Problem::LaunchTooLarge,
                "the launch has no workgroup, so there is nothing to run",
            ));
        }
        if let Some([x, y, z]) = self.workgroup_size
            && product([x, y, z]).is_none_or(|n| n == 0 || n > limits.workgroup_invocations)
        {
            let what = format!("workgroups of {x} x {y} x {z} invocations");
            return beyond(what, limits.workgroup_invocations.into());
        }
        let sizes = self.buffers.iter().map(|(_, bytes)| bytes.len());
        let bytes = sizes.fold(0usize, usize::saturating_add);
        if bytes > limits.buffer_bytes {
            let what = format!("{bytes} bytes of buffers");
            return beyond(what, limits.buffer_bytes as u64);
        }
        if self.push.len() > limits.argument_bytes {
            let what = format!("{} bytes of push constants", self.push.len());
            return beyond(what, limits.argument_bytes as u64);
        }
        if self.dynamic_shared as usize > limits.shared_bytes {
            let what = format!("{} bytes of dynamic shared memory", self.dynamic_shared);
            return beyond(what, limits.shared_bytes as u64);
        }
        Ok(())
    }
}

/// What came of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Under which schedule.
    pub schedule: Schedule,
    /// What was found.
    pub report: Report,
    /// The buffers afterwards, in the order of the inputs.
    pub buffers: Vec<Vec<u8>>,
    /// What the kernel printed; `None` for one that has no print buffer, or of whose calls nothing
    /// is known.
    pub printed: Option<Printed>,
}

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
    code: Code,
    arguments: Vec<Argument>,
    /// What is reached through tables, and the bytes of a descriptor there.
    resources: Vec<Reached>,
    descriptor_bytes: u32,
    /// Which samplers the texture objects of images have in them.
    combinations: Vec<Combination>,
    workgroup_size: Option<[u32; 3]>,
    /// Workgroups of a cluster.
    cluster: [u32; 3],
    /// Bytes of dynamic workgroup memory that the kernel wants.
    dynamic_shared: u32,
    images: BTreeMap<BufferName, Texels>,
    samplers: BTreeMap<BufferName, Sampler>,
    tensors: BTreeMap<BufferName, Elements>,
    prints: Table,
    print_capacity: u32,
    /// What it runs on, and what it takes of it.
    unit: Unit,
}

/// Bytes for records of printf, where a job does not say another number.
pub const PRINT_CAPACITY: u32 = 1 << 16;

/// Workgroups of a cluster and invocations of a workgroup.
#[derive(Copy, Clone, Debug)]
struct Sizes {
    cluster: [u32; 3],
    workgroup: [u32; 3],
    /// Bytes of dynamic workgroup memory: what the kernel wants, and behind it what the launch
    /// adds.
    dynamic_shared: u32,
}

/// A launch that can begin.
struct Launched {
    global: Global,
    /// The buffers, in the order of the inputs.
    regions: Vec<RegionId>,
    print_buffer: Option<RegionId>,
    arguments: Vec<u8>,
    sizes: Sizes,
}

/// The executable, by vendor.
enum Code {
    Amdgpu(amdgpu::Binary),
    Nvptx(nvptx::Text),
}

impl Code {
    /// Bytes of workgroup memory that it declares.
    fn shared_bytes(&self) -> u32 {
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
        let entry = output
            .entries()
            .get(entry)
            .ok_or_else(|| Refusal::Launch("there is no such entry point".to_owned()))?;
        let abi = &entry.abi;
        let code = match output.target.arch {
            Arch::Amdgpu(_) => {
                let bytes = output.hsaco().map_err(Refusal::Code)?;
                let mut binary = amdgpu::Binary::read(&bytes, output.target, Some(&abi.symbol))?;
                if output.lines {
                    let text = output.assembly().map_err(Refusal::Code)?;
                    binary.set_lines(&asm::amdgpu::parse(&text));
                }
                Code::Amdgpu(binary)
            }
            Arch::Nvptx(_) => {
                let text = output.assembly().map_err(Refusal::Code)?;
                Code::Nvptx(nvptx::Text::read(&text, Some(&abi.symbol))?)
            }
        };
        Ok(Job {
            code,
            arguments: abi.arguments.clone(),
            resources: abi.resources.clone(),
            // 0 where no descriptors lie in tables.
            descriptor_bytes: abi.form.descriptor_bytes().unwrap_or(0),
            combinations: abi.combinations.clone(),
            workgroup_size: abi.workgroup_size,
            cluster: entry.plan.cluster.unwrap_or([1; 3]),
            dynamic_shared: entry.plan.dynamic_shared_bytes,
            images: BTreeMap::new(),
            samplers: BTreeMap::new(),
            tensors: BTreeMap::new(),
            prints: abi.prints.clone(),
            print_capacity: PRINT_CAPACITY,
            unit: Unit::of(output.target, entry.plan.wave_size, entry.usage),
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
        let unit = Unit::of(target, binary.wave_size(), None);
        Ok(Job {
            code: Code::Amdgpu(binary),
            arguments,
            resources: Vec::new(),
            descriptor_bytes: 0,
            combinations: Vec::new(),
            workgroup_size,
            cluster: [1; 3],
            dynamic_shared: 0,
            images: BTreeMap::new(),
            samplers: BTreeMap::new(),
            tensors: BTreeMap::new(),
            prints: Table::default(),
            print_capacity: PRINT_CAPACITY,
            unit,
        })
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
        let unit = Unit::of(target, target.default_wave_size(), None);
        Ok(Job {
            code: Code::Nvptx(text),
            arguments,
            resources: Vec::new(),
            descriptor_bytes: 0,
            combinations: Vec::new(),
            workgroup_size,
            cluster: [1; 3],
            dynamic_shared: 0,
            images: BTreeMap::new(),
            samplers: BTreeMap::new(),
            tensors: BTreeMap::new(),
            prints: Table::default(),
            print_capacity: PRINT_CAPACITY,
            unit,
        })
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
            combinations: self.combinations.clone(),
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

    /// That the kernel takes all of `inputs`, and has the images and tensors that it was said to
    /// have: what is left over would change nothing.
    ///
    /// # Errors
    /// The first that it does not take.
    pub fn takes(&self, inputs: &Inputs) -> Result<(), Refusal> {
        let has = |place: &BufferName, kinds: &[ArgumentKind]| {
            let is = |argument: &Argument| kinds.contains(&argument.kind);
            let mut arguments = self.arguments.iter().filter(|argument| is(argument));
            arguments.any(|argument| BufferName::of(argument) == *place)
        };
        const SAMPLERS: [ArgumentKind; 1] = [ArgumentKind::Sampler];
        const BUFFERS: [ArgumentKind; 4] = [
            ArgumentKind::Buffer,
            ArgumentKind::Image,
            ArgumentKind::Tensor,
            ArgumentKind::ArrayLength,
        ];
        let mut buffers = inputs.buffers.iter().map(|(place, _)| place);
        let in_table = |place: &BufferName, kinds: &[ResourceKind]| {
            let mut resources = self.resources.iter();
            resources.any(|one| kinds.contains(&one.kind) && tables::element(one, *place).is_some())
        };
        const RESOURCES: [ResourceKind; 3] = [
            ResourceKind::Buffer,
            ResourceKind::Image,
            ResourceKind::Tensor,
        ];
        let is_buffer = |place: &BufferName| has(place, &BUFFERS) || in_table(place, &RESOURCES);
        if let Some(place) = buffers.find(|place| !is_buffer(place)) {
            return Err(Refusal::Launch(format!(
                "the kernel uses no buffer {place}"
            )));
        }
        let mut images = self.images.keys();
        let is_image = |place: &BufferName| {
            has(place, &[ArgumentKind::Image]) || in_table(place, &[ResourceKind::Image])
        };
        if let Some(place) = images.find(|place| !is_image(place)) {
            return Err(Refusal::Launch(format!("the kernel uses no image {place}")));
        }
        self.takes_tensors()?;
        let is_sampler =
            |place: &BufferName| has(place, &SAMPLERS) || in_table(place, &[ResourceKind::Sampler]);
        let mut samplers = self.samplers.keys();
        let other = |place: &&BufferName| !self.images.contains_key(place) && !is_sampler(place);
        if let Some(place) = samplers.find(other) {
            return Err(Refusal::Launch(format!(
                "{place} has a sampler and is neither an image nor a sampler"
            )));
        }
        let by_value = [
            ArgumentKind::PushConstant,
            ArgumentKind::Value,
            ArgumentKind::SharedAddress,
        ];
        let constants = self.arguments.iter();
        let constants = constants.filter(|argument| by_value.contains(&argument.kind));
        let taken: u64 = constants.map(|argument| u64::from(argument.size)).sum();
        let given = inputs.push.len() as u64;
        if given > taken {
            return Err(Refusal::Launch(format!(
                "{given} bytes of constants are given; the kernel takes {taken}"
            )));
        }
        match (self.workgroup_size, inputs.workgroup_size) {
            (Some(own), Some(given)) if own != given => Err(Refusal::Launch(format!(
                "the kernel's workgroups have {own:?} invocations; they cannot have {given:?}"
            ))),
            _ => Ok(()),
        }
    }

    /// Runs the kernel under one schedule.
    ///
    /// # Errors
    /// When inputs are missing or do not fit.
    pub fn run(&self, inputs: &Inputs, schedule: Schedule) -> Result<Outcome, Refusal> {
        self.run_watched(inputs, schedule, &mut |_| ())
    }

    /// As [`Job::run`], and says from time to time how far it is.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn run_watched(
        &self,
        inputs: &Inputs,
        schedule: Schedule,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, Refusal> {
        let Launched {
            mut global,
            regions,
            print_buffer,
            arguments,
            sizes,
        } = self.launched(inputs)?;
        let report = match &self.code {
            Code::Amdgpu(binary) => {
                binary.run(&arguments, inputs, sizes, &mut global, schedule, watch)?
            }
            Code::Nvptx(text) => text.run(&arguments, inputs, sizes, &mut global, schedule, watch),
        };
        let bytes = |id| global.region(id).map(|region| region.bytes());
        let buffers = regions
            .iter()
            .map(|id| bytes(*id).map(<[u8]>::to_vec))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| Refusal::Launch("a buffer is lost: this is a bug".to_owned()))?;
        let printed = print_buffer.and_then(bytes);
        Ok(Outcome {
            schedule,
            report,
            buffers,
            printed: printed.map(|bytes| Printed::read(bytes, &self.prints)),
        })
    }

    /// Memory, arguments and sizes of a launch.
    fn launched(&self, inputs: &Inputs) -> Result<Launched, Refusal> {
        inputs
            .check()
            .map_err(|problem| Refusal::Launch(problem.to_string()))?;
        let workgroup_size = self
            .workgroup_size
            .or(inputs.workgroup_size)
            .ok_or_else(|| {
                Refusal::Launch("the kernel leaves the workgroup's size open: give one".to_owned())
            })?;
        let in_axis = |axis: usize| inputs.groups[axis].is_multiple_of(self.cluster[axis].max(1));
        if !(0..3).all(in_axis) {
            return Err(Refusal::Launch(format!(
                "the grid {:?} is not a multiple of the cluster {:?}",
                inputs.groups, self.cluster
            )));
        }
        let mut global = Global::default();
        let regions: Vec<RegionId> = inputs
            .buffers
            .iter()
            .map(|(place, bytes)| global.add(&format!("buffer {place}"), bytes.clone(), true))
            .collect();
        let print_buffer = self.print_buffer(&mut global);
        let arguments = self.lay_out(inputs, &mut global, &regions, print_buffer)?;
        let sizes = Sizes {
            cluster: self.cluster,
            workgroup: workgroup_size,
            dynamic_shared: self.dynamic_shared.saturating_add(inputs.dynamic_shared),
        };
        Ok(Launched {
            global,
            regions,
            print_buffer,
            arguments,
            sizes,
        })
    }

    /// An empty print buffer, for a kernel that has an argument for one.
    fn print_buffer(&self, global: &mut Global) -> Option<RegionId> {
        let prints = |argument: &Argument| argument.kind == ArgumentKind::PrintBuffer;
        self.arguments.iter().any(prints).then(|| {
            let bytes = printf::empty_buffer(self.print_capacity);
            global.add("print buffer", bytes, true)
        })
    }

    /// That there is no buffer for `place`, with all places that want one.
    fn no_buffer(&self, place: BufferName) -> Refusal {
        let wants = |argument: &&Argument| {
            [
                ArgumentKind::Buffer,
                ArgumentKind::Image,
                ArgumentKind::Tensor,
            ]
            .contains(&argument.kind)
        };
        let arguments = self.arguments.iter().filter(wants).map(BufferName::of);
        let tables = self.resources.iter();
        let tables = tables.filter(|one| one.reach.descriptor.is_some());
        let tables = tables.map(|one| BufferName::Binding(one.reach.set, one.reach.binding));
        let names: Vec<String> = arguments
            .chain(tables)
            .map(|name| name.to_string())
            .collect();
        let names = names.join(", ");
        Refusal::Launch(format!(
            "no buffer is given for {place}; the kernel uses {names}"
        ))
    }

    /// The bytes of the kernel's arguments.
    fn lay_out(
        &self,
        inputs: &Inputs,
        global: &mut Global,
        regions: &[RegionId],
        print_buffer: Option<RegionId>,
    ) -> Result<Vec<u8>, Refusal> {
        let mut bytes = Vec::new();
        let mut push = inputs.push.as_slice();
        let tables = self.tables(inputs, global, regions)?;
        for argument in &self.arguments {
            let place = BufferName::of(argument);
            let given = inputs.buffers.iter().zip(regions);
            let mut given = given.filter(|((p, _), _)| *p == place);
            let region = given.next().map(|((_, bytes), id)| (*id, bytes.len()));
            let found = region.ok_or_else(|| self.no_buffer(place));
            let buffer = || found.clone().map(|(id, length)| (global.base(id), length));
            let value: Vec<u8> = match argument.kind {
                ArgumentKind::Buffer => buffer()?.0.to_le_bytes().to_vec(),
                ArgumentKind::Image => {
                    let (base, length) = buffer()?;
                    let texels = self.images.get(&place).copied();
                    let descriptor = self.descriptor(texels, base, length, place)?;
                    self.add_descriptor(global, place, &descriptor)
                }
                ArgumentKind::Sampler => self.sampler_argument(global, place)?,
                ArgumentKind::Tensor => {
                    let descriptor = self.tensor(global, place, buffer()?)?;
                    let region = global.add(&format!("descriptor {place}"), descriptor, false);
                    global.base(region).to_le_bytes().to_vec()
                }
                // A table that nothing is reached through is never read.
                ArgumentKind::Table => {
                    let address = tables.get(&argument.index).copied().unwrap_or(0);
                    address.to_le_bytes().to_vec()
                }
                ArgumentKind::ArrayLengths => {
                    return Err(Refusal::Launch(format!(
                        "argument {} is a table of the lengths of an array of buffers, and such arrays are not simulated",
                        argument.index
                    )));
                }
                // The simulator launches all three.
                ArgumentKind::WorkDimensions => 3u32.to_le_bytes().to_vec(),
                ArgumentKind::ArrayLength => (buffer()?.1 as u64).to_le_bytes().to_vec(),
                ArgumentKind::PrintBuffer => {
                    let address = print_buffer.map_or(0, |id| global.base(id));
                    address.to_le_bytes().to_vec()
                }
                ArgumentKind::PushConstant | ArgumentKind::Value | ArgumentKind::SharedAddress => {
                    let (value, rest) = push.split_at_checked(argument.size as usize).ok_or_else(|| {
                        Refusal::Launch(format!(
                            "argument {} takes {} bytes of constants, and {} are left: give them with `Inputs::push`",
                            argument.index,
                            argument.size,
                            push.len()
                        ))
                    })?;
                    push = rest;
                    if argument.kind == ArgumentKind::SharedAddress {
                        self.check_shared_address(argument, value, inputs)?;
                    }
                    value.to_vec()
                }
            };
            let (at, size) = (argument.offset as usize, argument.size as usize);
            if at + size > inputs.limits.argument_bytes {
                return Err(Refusal::Launch(format!(
                    "argument {} ends at byte {}; the limit is {}",
                    argument.index,
                    at + size,
                    inputs.limits.argument_bytes
                )));
            }
            if bytes.len() < at + size {
                bytes.resize(at + size, 0);
            }
            if let (Some(slot), Some(value)) = (bytes.get_mut(at..at + size), value.get(..size)) {
                slot.copy_from_slice(value);
            }
        }
        Ok(bytes)
    }

    /// That the place in workgroup memory that an argument names is the launch's to give: behind
    /// what the kernel has for itself, its variables and its barriers' state.
    fn check_shared_address(
        &self,
        argument: &Argument,
        value: &[u8],
        inputs: &Inputs,
    ) -> Result<(), Refusal> {
        let bytes = value.iter().rev();
        let address = bytes.fold(0u64, |address, byte| address << 8 | u64::from(*byte));
        let own = u64::from(self.code.shared_bytes()) + u64::from(self.dynamic_shared);
        let end = own + u64::from(inputs.dynamic_shared);
        let align = u64::from(argument.address_align.unwrap_or(1).max(1));
        let why = if !(own..=end).contains(&address) {
            format!(
                "the kernel has the bytes up to {own} for itself, and the launch adds those from there to {end}"
            )
        } else if !address.is_multiple_of(align) {
            format!("it has to be a multiple of {align}")
        } else {
            return Ok(());
        };
        Err(Refusal::Launch(format!(
            "argument {} is the address {address} of workgroup memory: {why}",
            argument.index
        )))
    }

    /// Puts a descriptor where the kernel finds it; the bytes of the argument that points to it.
    fn add_descriptor(&self, global: &mut Global, place: BufferName, words: &[u32]) -> Vec<u8> {
        let bytes = self.described(global, place, words);
        let holder = match self.code {
            Code::Amdgpu(_) => "descriptor",
            Code::Nvptx(_) => "object",
        };
        let descriptor = global.add(&format!("{holder} {place}"), bytes, false);
        global.base(descriptor).to_le_bytes().to_vec()
    }

    /// The bytes of an image's descriptor as the target has it. NVIDIA's code takes an object,
    /// which is here the address of the machine's descriptor.
    fn described(&self, global: &mut Global, place: BufferName, words: &[u32]) -> Vec<u8> {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        match self.code {
            Code::Amdgpu(_) => bytes,
            Code::Nvptx(_) => {
                let descriptor = global.add(&format!("descriptor {place}"), bytes, false);
                global.base(descriptor).to_le_bytes().to_vec()
            }
        }
    }

    /// The descriptor of an image whose `length` bytes lie at `base`, and of its sampler.
    fn descriptor(
        &self,
        texels: Option<Texels>,
        base: u64,
        length: usize,
        place: BufferName,
    ) -> Result<Vec<u32>, Refusal> {
        let mut words = descriptor(texels, base, length, place)?.to_vec();
        if let Some(sampler) = self.sampler_of(place) {
            words.extend(sampler.descriptor());
        }
        Ok(words)
    }
}

/// The descriptor of an image whose `length` bytes lie at `base`.
fn descriptor(
    texels: Option<Texels>,
    base: u64,
    length: usize,
    place: BufferName,
) -> Result<[u32; 8], Refusal> {
    let texels = texels.ok_or_else(|| {
        Refusal::Launch(format!(
            "{place} is an image: say its format and extent with `Job::with_image`"
        ))
    })?;
    let image = Image {
        base,
        extent: texels.extent,
        format: texels.format,
        is_buffer: texels.is_buffer,
        levels: texels.levels,
    };
    if image.bytes().is_none_or(|needed| needed > length as u64) {
        return Err(Refusal::Launch(format!(
            "{place} has {length} bytes, too few for {:?} texels of {} bytes in {} levels of {} samples",
            texels.extent,
            texels.format.bytes(),
            texels.levels.count,
            texels.levels.samples
        )));
    }
    Ok(image.descriptor())
}
