//! The door to Vulkan: one launch of a compute module on a driver that runs on the processor.
//!
//! Names are those of Vulkan 1.3, through the crate ash. What makes it sound:
//! - everything that is made is kept in [`Session::made`] and destroyed once, in reverse order,
//!   when nothing runs any more;
//! - structures that point to others live in the same function as the call that reads them;
//! - buffers are mapped once for writing and once for reading, within their size, while no kernel
//!   runs.
//!
//! A driver may do anything with a module that is not valid SPIR-V, so whoever calls this does so
//! in a process of its own ([`crate::vulkan`]).

mod images;
mod session;

pub(crate) use session::Trouble;

use crate::vulkan::{Image, Sampler};
use ash::vk;
use images::Upload;
use session::{Made, Session, refused};
use std::ffi::CString;
use std::time::Duration;

/// The kind of a descriptor.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Descriptor {
    Storage,
    Uniform,
}

/// A buffer of a launch.
pub(crate) struct Bound {
    pub(crate) set: u32,
    pub(crate) binding: u32,
    pub(crate) descriptor: Descriptor,
    pub(crate) bytes: Vec<u8>,
}

/// The resource of a binding of a launch.
struct Resource {
    set: u32,
    binding: u32,
    what: What,
}

/// See [`Resource`].
enum What {
    Buffer(Descriptor, vk::Buffer),
    Image(vk::ImageView),
    Sampler(vk::Sampler),
}

/// A launch.
pub(crate) struct Launch<'l> {
    pub(crate) module: &'l [u32],
    pub(crate) entry: &'l str,
    pub(crate) groups: [u32; 3],
    pub(crate) constants: &'l [u8],
    pub(crate) images: &'l [Image],
    pub(crate) samplers: &'l [Sampler],
    /// Specialization constants of four bytes, by SpecId.
    pub(crate) spec: &'l [(u32, u32)],
    pub(crate) limit: Duration,
}

/// Runs a launch; the buffers hold its results afterwards. The answer is the device's name.
pub(crate) fn run(launch: &Launch<'_>, buffers: &mut [Bound]) -> Result<String, Trouble> {
    let mut session = Session::open()?;
    let (mut resources, mut memories, mut uploads) = (Vec::new(), Vec::new(), Vec::new());
    for buffer in buffers.iter() {
        let (handle, memory) = session.filled(&buffer.bytes)?;
        memories.push(memory);
        resources.push(Resource {
            set: buffer.set,
            binding: buffer.binding,
            what: What::Buffer(buffer.descriptor, handle),
        });
    }
    for image in launch.images {
        let (view, upload) = session.image(image)?;
        uploads.push(upload);
        resources.push(Resource {
            set: image.set,
            binding: image.binding,
            what: What::Image(view),
        });
    }
    for sampler in launch.samplers {
        resources.push(Resource {
            set: sampler.set,
            binding: sampler.binding,
            what: What::Sampler(session.sampler(sampler)?),
        });
    }
    let set_layouts = session.set_layouts(&resources)?;
    let (pipeline, layout) = session.pipeline(launch, &set_layouts)?;
    let sets = session.descriptor_sets(&set_layouts, &resources)?;
    session.dispatch(launch, &uploads, (pipeline, layout), &sets)?;
    for (buffer, memory) in buffers.iter_mut().zip(memories) {
        session.read(memory, &mut buffer.bytes)?;
    }
    Ok(session.name.clone())
}

impl Session {
    /// A layout for each set up to the last that is used.
    fn set_layouts(
        &mut self,
        resources: &[Resource],
    ) -> Result<Vec<vk::DescriptorSetLayout>, Trouble> {
        let sets = resources.iter().map(|one| one.set + 1).max().unwrap_or(0);
        let mut layouts = Vec::new();
        for set in 0..sets {
            let bindings: Vec<_> = resources
                .iter()
                .filter(|one| one.set == set)
                .map(|one| {
                    vk::DescriptorSetLayoutBinding::default()
                        .binding(one.binding)
                        .descriptor_type(one.what.descriptor())
                        .descriptor_count(1)
                        .stage_flags(vk::ShaderStageFlags::COMPUTE)
                })
                .collect();
            let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            // SAFETY: each binding is there once; destroyed with the session.
            let layout = unsafe { self.device.create_descriptor_set_layout(&create, None) }
                .map_err(refused("vkCreateDescriptorSetLayout"))?;
            self.made.push(Made::SetLayout(layout));
            layouts.push(layout);
        }
        Ok(layouts)
    }

    fn pipeline(
        &mut self,
        launch: &Launch<'_>,
        set_layouts: &[vk::DescriptorSetLayout],
    ) -> Result<(vk::Pipeline, vk::PipelineLayout), Trouble> {
        let size = u32::try_from(launch.constants.len())
            .map_err(|error| Trouble::Refused(error.to_string()))?;
        let ranges = [vk::PushConstantRange::default()
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
            .size(size)];
        let ranges: &[vk::PushConstantRange] = if size == 0 { &[] } else { &ranges };
        let create = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(set_layouts)
            .push_constant_ranges(ranges);
        // SAFETY: layouts of this device; destroyed with the session.
        let layout = unsafe { self.device.create_pipeline_layout(&create, None) }
            .map_err(refused("vkCreatePipelineLayout"))?;
        self.made.push(Made::Layout(layout));
        let create = vk::ShaderModuleCreateInfo::default().code(launch.module);
        // SAFETY: the words of a module; destroyed with the session.
        let module = unsafe { self.device.create_shader_module(&create, None) }
            .map_err(refused("vkCreateShaderModule"))?;
        self.made.push(Made::Module(module));
        let entry =
            CString::new(launch.entry).map_err(|error| Trouble::Refused(error.to_string()))?;
        let entries: Vec<_> = (0u32..)
            .zip(launch.spec)
            .map(|(at, (id, _))| {
                vk::SpecializationMapEntry::default()
                    .constant_id(*id)
                    .offset(4 * at)
                    .size(4)
            })
            .collect();
        let values: Vec<u8> = launch
            .spec
            .iter()
            .flat_map(|(_, value)| value.to_le_bytes())
            .collect();
        let specialization = vk::SpecializationInfo::default()
            .map_entries(&entries)
            .data(&values);
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .specialization_info(&specialization)
            .name(&entry);
        let create = [vk::ComputePipelineCreateInfo::default()
            .stage(stage)
            .layout(layout)];
        // SAFETY: the module, its entry point and the layout of its resources; destroyed with the
        // session.
        let pipelines = unsafe {
            self.device
                .create_compute_pipelines(vk::PipelineCache::null(), &create, None)
        };
        let pipelines =
            pipelines.map_err(|(_, result)| refused("vkCreateComputePipelines")(result))?;
        let made = pipelines.iter().copied().map(Made::Pipeline);
        self.made.extend(made);
        let pipeline = pipelines.first().copied();
        Ok((pipeline.unwrap_or(vk::Pipeline::null()), layout))
    }

    fn descriptor_sets(
        &mut self,
        layouts: &[vk::DescriptorSetLayout],
        resources: &[Resource],
    ) -> Result<Vec<vk::DescriptorSet>, Trouble> {
        if layouts.is_empty() {
            return Ok(Vec::new());
        }
        let most = u32::try_from(resources.len() + 1).unwrap_or(u32::MAX);
        let sizes = [
            vk::DescriptorType::STORAGE_BUFFER,
            vk::DescriptorType::UNIFORM_BUFFER,
            vk::DescriptorType::SAMPLED_IMAGE,
            vk::DescriptorType::SAMPLER,
        ]
        .map(|ty| {
            vk::DescriptorPoolSize::default()
                .ty(ty)
                .descriptor_count(most)
        });
        let create = vk::DescriptorPoolCreateInfo::default()
            .max_sets(u32::try_from(layouts.len()).unwrap_or(u32::MAX))
            .pool_sizes(&sizes);
        // SAFETY: destroyed with the session, and its sets with it.
        let pool = unsafe { self.device.create_descriptor_pool(&create, None) }
            .map_err(refused("vkCreateDescriptorPool"))?;
        self.made.push(Made::Descriptors(pool));
        let allocate = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(pool)
            .set_layouts(layouts);
        // SAFETY: the pool holds as many sets and descriptors as the layouts have.
        let sets = unsafe { self.device.allocate_descriptor_sets(&allocate) }
            .map_err(refused("vkAllocateDescriptorSets"))?;
        for one in resources {
            let Some(set) = sets.get(one.set as usize) else {
                continue; // the layouts have all sets
            };
            let mut buffer = vk::DescriptorBufferInfo::default().range(vk::WHOLE_SIZE);
            let mut image =
                vk::DescriptorImageInfo::default().image_layout(vk::ImageLayout::GENERAL);
            match one.what {
                What::Buffer(_, handle) => buffer.buffer = handle,
                What::Image(view) => image.image_view = view,
                What::Sampler(sampler) => image.sampler = sampler,
            }
            let (buffer, image) = ([buffer], [image]);
            let write = vk::WriteDescriptorSet::default()
                .dst_set(*set)
                .dst_binding(one.binding)
                .descriptor_type(one.what.descriptor());
            let write = match one.what {
                What::Buffer(..) => write.buffer_info(&buffer),
                What::Image(_) | What::Sampler(_) => write.image_info(&image),
            };
            // SAFETY: a binding of the set's layout, of this type, and an object of this device.
            unsafe { self.device.update_descriptor_sets(&[write], &[]) };
        }
        Ok(sets)
    }

    /// Runs the pipeline to its end.
    fn dispatch(
        &mut self,
        launch: &Launch<'_>,
        uploads: &[Upload],
        (pipeline, layout): (vk::Pipeline, vk::PipelineLayout),
        sets: &[vk::DescriptorSet],
    ) -> Result<(), Trouble> {
        let create = vk::CommandPoolCreateInfo::default().queue_family_index(self.family);
        // SAFETY: the family of the device's queue; destroyed with the session, and its buffers
        // with it.
        let pool = unsafe { self.device.create_command_pool(&create, None) }
            .map_err(refused("vkCreateCommandPool"))?;
        self.made.push(Made::Commands(pool));
        let allocate = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        // SAFETY: a pool of this device.
        let commands = unsafe { self.device.allocate_command_buffers(&allocate) }
            .map_err(refused("vkAllocateCommandBuffers"))?;
        // SAFETY: destroyed with the session.
        let fence = unsafe {
            self.device
                .create_fence(&vk::FenceCreateInfo::default(), None)
        }
        .map_err(refused("vkCreateFence"))?;
        self.made.push(Made::Fence(fence));
        let bind = vk::PipelineBindPoint::COMPUTE;
        let [x, y, z] = launch.groups;
        for buffer in &commands {
            // SAFETY: a new command buffer; pipeline, layout and sets are of this device and fit
            // each other; the constants are those of the layout.
            unsafe {
                let begin = vk::CommandBufferBeginInfo::default();
                self.device
                    .begin_command_buffer(*buffer, &begin)
                    .map_err(refused("vkBeginCommandBuffer"))?;
                uploads.iter().for_each(|one| self.upload(*buffer, one));
                self.device.cmd_bind_pipeline(*buffer, bind, pipeline);
                if !sets.is_empty() {
                    self.device
                        .cmd_bind_descriptor_sets(*buffer, bind, layout, 0, sets, &[]);
                }
                if !launch.constants.is_empty() {
                    let stage = vk::ShaderStageFlags::COMPUTE;
                    self.device
                        .cmd_push_constants(*buffer, layout, stage, 0, launch.constants);
                }
                self.device.cmd_dispatch(*buffer, x, y, z);
                self.device
                    .end_command_buffer(*buffer)
                    .map_err(refused("vkEndCommandBuffer"))?;
            }
        }
        let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
        let limit = u64::try_from(launch.limit.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: recorded command buffers, the device's only queue, used by one thread; the fence
        // tells their end.
        unsafe {
            let queue = self.device.get_device_queue(self.family, 0);
            self.device
                .queue_submit(queue, &submit, fence)
                .map_err(refused("vkQueueSubmit"))?;
            self.device
                .wait_for_fences(&[fence], true, limit)
                .map_err(refused("vkWaitForFences"))
        }
    }
}

impl What {
    fn descriptor(&self) -> vk::DescriptorType {
        match self {
            What::Buffer(Descriptor::Storage, _) => vk::DescriptorType::STORAGE_BUFFER,
            What::Buffer(Descriptor::Uniform, _) => vk::DescriptorType::UNIFORM_BUFFER,
            What::Image(_) => vk::DescriptorType::SAMPLED_IMAGE,
            What::Sampler(_) => vk::DescriptorType::SAMPLER,
        }
    }
}
