//! Memory and arguments of a launch (docs/abi.md).

use super::inputs::{Inputs, Refusal, Sizes, Texels};
use super::job::{Code, Job};
use super::tables;
use crate::launch::BufferName;
use splitbar_layout::abi::{Argument, ArgumentKind, ResourceKind};
use splitbar_passes::printf;
use splitbar_sim::image::Image;
use splitbar_sim::memory::{Global, RegionId};

/// A launch that can begin.
pub(super) struct Launched {
    pub(super) global: Global,
    /// The buffers, in the order of the inputs.
    pub(super) regions: Vec<RegionId>,
    pub(super) printf_buffer: Option<RegionId>,
    pub(super) arguments: Vec<u8>,
    pub(super) sizes: Sizes,
}

impl Job {
    /// Checks that the kernel uses all of `inputs`, and has the given images and tensors: others
    /// would have no effect.
    ///
    /// # Errors
    /// The first that it does not take.
    pub fn takes(&self, inputs: &Inputs) -> Result<(), Refusal> {
        let has = |place: &BufferName, kinds: &[ArgumentKind]| {
            let is = |argument: &Argument| kinds.contains(&argument.kind);
            let mut arguments = self.arguments.iter().filter(|argument| is(argument));
            arguments.any(|argument| BufferName::from_argument(argument) == *place)
        };
        const SAMPLERS: [ArgumentKind; 1] = [ArgumentKind::Sampler];
        const BUFFERS: [ArgumentKind; 4] = [
            ArgumentKind::GlobalBuffer,
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
                "a sampler is given for {place}, which is neither an image nor a sampler"
            )));
        }
        let by_value = [
            ArgumentKind::PushConstant,
            ArgumentKind::ByValue,
            ArgumentKind::DynamicSharedPointer,
        ];
        let constants = self.arguments.iter();
        let constants = constants.filter(|argument| by_value.contains(&argument.kind));
        let taken: u64 = constants.map(|argument| u64::from(argument.size)).sum();
        let given = inputs.push.len() as u64;
        if given > taken {
            return Err(Refusal::Launch(format!(
                "{given} bytes of constants are given, but the kernel has {taken}"
            )));
        }
        match (self.workgroup_size, inputs.workgroup_size) {
            (Some(own), Some(given)) if own != given => Err(Refusal::Launch(format!(
                "the workgroup size of the kernel is {own:?}; it cannot be {given:?}"
            ))),
            _ => Ok(()),
        }
    }

    /// Memory, arguments and sizes of a launch.
    pub(super) fn launched(&self, inputs: &Inputs) -> Result<Launched, Refusal> {
        inputs
            .check()
            .map_err(|problem| Refusal::Launch(problem.to_string()))?;
        let workgroup_size = self
            .workgroup_size
            .or(inputs.workgroup_size)
            .ok_or_else(|| {
                Refusal::Launch("the kernel does not declare a workgroup size: set one".to_owned())
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
        let printf_buffer = self.printf_buffer(&mut global);
        let arguments = self.lay_out(inputs, &mut global, &regions, printf_buffer)?;
        let sizes = Sizes {
            cluster: self.cluster,
            workgroup: workgroup_size,
            dynamic_shared: self.dynamic_shared.saturating_add(inputs.dynamic_shared),
        };
        Ok(Launched {
            global,
            regions,
            printf_buffer,
            arguments,
            sizes,
        })
    }

    /// An empty printf buffer, for a kernel that has an argument for one.
    fn printf_buffer(&self, global: &mut Global) -> Option<RegionId> {
        let prints = |argument: &Argument| argument.kind == ArgumentKind::PrintfBuffer;
        self.arguments.iter().any(prints).then(|| {
            let bytes = printf::empty_buffer(self.print_capacity);
            global.add("printf buffer", bytes, true)
        })
    }

    /// That there is no buffer for `place`, with all places that want one.
    pub(super) fn no_buffer(&self, place: BufferName) -> Refusal {
        let wants = |argument: &&Argument| {
            [
                ArgumentKind::GlobalBuffer,
                ArgumentKind::Image,
                ArgumentKind::Tensor,
            ]
            .contains(&argument.kind)
        };
        let arguments = self
            .arguments
            .iter()
            .filter(wants)
            .map(BufferName::from_argument);
        let in_tables = self
            .resources
            .iter()
            .filter(|one| one.reach.descriptor.is_some())
            .map(|one| BufferName::Binding(one.reach.set, one.reach.binding));
        let names: Vec<String> = arguments
            .chain(in_tables)
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
        printf_buffer: Option<RegionId>,
    ) -> Result<Vec<u8>, Refusal> {
        let mut bytes = Vec::new();
        let mut push = inputs.push.as_slice();
        let tables = self.tables(inputs, global, regions)?;
        for argument in &self.arguments {
            let place = BufferName::from_argument(argument);
            let given = inputs.buffers.iter().zip(regions);
            let mut given = given.filter(|((p, _), _)| *p == place);
            let region = given.next().map(|((_, bytes), id)| (*id, bytes.len()));
            let found = region.ok_or_else(|| self.no_buffer(place));
            let buffer = || found.clone().map(|(id, length)| (global.base(id), length));
            let value: Vec<u8> = match argument.kind {
                ArgumentKind::GlobalBuffer => buffer()?.0.to_le_bytes().to_vec(),
                ArgumentKind::Image => {
                    let (base, length) = buffer()?;
                    let texels = self.images.get(&place).copied();
                    let descriptor = self.descriptor(texels, base, length, place)?;
                    self.add_descriptor(global, place, &descriptor)
                }
                ArgumentKind::Sampler => self.sampler_argument(global, place)?,
                ArgumentKind::Tensor => {
                    let (base, length) = buffer()?;
                    let descriptor = self.tensor(global, place, base, length)?;
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
                        "argument {} is a table of the lengths of an array of buffers, which cannot be simulated",
                        argument.index
                    )));
                }
                // The simulator launches all three.
                ArgumentKind::WorkDim => 3u32.to_le_bytes().to_vec(),
                ArgumentKind::ArrayLength => (buffer()?.1 as u64).to_le_bytes().to_vec(),
                ArgumentKind::PrintfBuffer => {
                    let address = printf_buffer.map_or(0, |id| global.base(id));
                    address.to_le_bytes().to_vec()
                }
                ArgumentKind::PushConstant
                | ArgumentKind::ByValue
                | ArgumentKind::DynamicSharedPointer => {
                    let (value, rest) = push.split_at_checked(argument.size as usize).ok_or_else(|| {
                        Refusal::Launch(format!(
                            "argument {} needs {} bytes of constants, but {} are left: set them with `Inputs::push`",
                            argument.index,
                            argument.size,
                            push.len()
                        ))
                    })?;
                    push = rest;
                    if argument.kind == ArgumentKind::DynamicSharedPointer {
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
        let align = u64::from(argument.pointee_align.unwrap_or(1).max(1));
        let why = if !(own..=end).contains(&address) {
            format!(
                "the kernel uses the bytes up to {own}, and the launch adds the bytes up to {end}"
            )
        } else if !address.is_multiple_of(align) {
            format!("it must be a multiple of {align}")
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
    pub(super) fn described(
        &self,
        global: &mut Global,
        place: BufferName,
        words: &[u32],
    ) -> Vec<u8> {
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
    pub(super) fn descriptor(
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
            "{place} is an image: set its format and extent with `Job::with_image`"
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
