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

use crate::vulkan::{Image, Sampler};
use ash::vk;
use images::Upload;
use std::ffi::CString;
use std::time::Duration;

/// What a descriptor is.
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

/// What a binding of a launch is.
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

/// Why a launch did not happen or failed.
pub(crate) enum Trouble {
    /// There is no driver that runs on the processor.
    NoDevice(String),
    /// The driver refuses something.
    Refused(String),
}

/// What has to be destroyed.
enum Made {
    Buffer(vk::Buffer),
    Image(vk::Image),
    View(vk::ImageView),
    Sampler(vk::Sampler),
    Memory(vk::DeviceMemory),
    SetLayout(vk::DescriptorSetLayout),
    Layout(vk::PipelineLayout),
    Module(vk::ShaderModule),
    Pipeline(vk::Pipeline),
    Descriptors(vk::DescriptorPool),
    Commands(vk::CommandPool),
    Fence(vk::Fence),
}

/// An instance, destroyed with it.
struct Instance {
    api: ash::Instance,
    /// Its functions live as long as this.
    _entry: ash::Entry,
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: its device is gone, which is dropped first.
        unsafe { self.api.destroy_instance(None) };
    }
}

/// A device with everything that was made on it.
struct Session {
    device: ash::Device,
    made: Vec<Made>,
    memory: vk::PhysicalDeviceMemoryProperties,
    family: u32,
    name: String,
    _instance: Instance,
}

impl Drop for Session {
    fn drop(&mut self) {
        let device = &self.device;
        // SAFETY: nothing is destroyed while the device works; each object was made on it and is
        // taken out of the list; the device comes last.
        unsafe {
            let _ = device.device_wait_idle();
            for object in self.made.drain(..).rev() {
                match object {
                    Made::Buffer(buffer) => device.destroy_buffer(buffer, None),
                    Made::Image(image) => device.destroy_image(image, None),
                    Made::View(view) => device.destroy_image_view(view, None),
                    Made::Sampler(sampler) => device.destroy_sampler(sampler, None),
                    Made::Memory(memory) => device.free_memory(memory, None),
                    Made::SetLayout(layout) => device.destroy_descriptor_set_layout(layout, None),
                    Made::Layout(layout) => device.destroy_pipeline_layout(layout, None),
                    Made::Module(module) => device.destroy_shader_module(module, None),
                    Made::Pipeline(pipeline) => device.destroy_pipeline(pipeline, None),
                    Made::Descriptors(pool) => device.destroy_descriptor_pool(pool, None),
                    Made::Commands(pool) => device.destroy_command_pool(pool, None),
                    Made::Fence(fence) => device.destroy_fence(fence, None),
                }
            }
            device.destroy_device(None);
        }
    }
}

fn refused(what: &'static str) -> impl FnOnce(vk::Result) -> Trouble {
    move |result| Trouble::Refused(format!("{what}: {result}"))
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
    /// A device that is a processor, with every feature that it has.
    fn open() -> Result<Session, Trouble> {
        let none = |why: String| Trouble::NoDevice(why);
        // SAFETY: loads the system's Vulkan loader, the library by which every program finds its
        // drivers.
        let entry = unsafe { ash::Entry::load() }.map_err(|error| none(error.to_string()))?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let create = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: no layers, no extensions; the structures live until the call returns.
        let api = unsafe { entry.create_instance(&create, None) }
            .map_err(|result| none(format!("vkCreateInstance: {result}")))?;
        let instance = Instance { api, _entry: entry };
        let api = &instance.api;
        // SAFETY: an instance that was just made.
        let devices = unsafe { api.enumerate_physical_devices() }
            .map_err(|result| none(format!("vkEnumeratePhysicalDevices: {result}")))?;
        let processor = devices.into_iter().find_map(|device| {
            // SAFETY: a device of this instance.
            let properties = unsafe { api.get_physical_device_properties(device) };
            (properties.device_type == vk::PhysicalDeviceType::CPU
                && properties.api_version >= vk::API_VERSION_1_3)
                .then_some((device, properties))
        });
        let (physical, properties) = processor
            .ok_or_else(|| none("no Vulkan 1.3 driver that runs on the processor".to_owned()))?;
        // SAFETY: a device of this instance.
        let families = unsafe { api.get_physical_device_queue_family_properties(physical) };
        let computes = |family: &vk::QueueFamilyProperties| {
            family.queue_flags.contains(vk::QueueFlags::COMPUTE)
        };
        let family = families
            .iter()
            .position(computes)
            .and_then(|family| u32::try_from(family).ok())
            .ok_or_else(|| none("the driver has no compute queue".to_owned()))?;
        let mut features_11 = vk::PhysicalDeviceVulkan11Features::default();
        let mut features_12 = vk::PhysicalDeviceVulkan12Features::default();
        let mut features_13 = vk::PhysicalDeviceVulkan13Features::default();
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut features_11)
            .push_next(&mut features_12)
            .push_next(&mut features_13);
        // SAFETY: a device of this instance, of Vulkan 1.3, which knows these structures.
        unsafe { api.get_physical_device_features2(physical, &mut features) };
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(family)
            .queue_priorities(&[1.0])];
        let create = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .push_next(&mut features);
        // SAFETY: one queue of a family that is there, the features that the device said it has.
        let device = unsafe { api.create_device(physical, &create, None) }
            .map_err(|result| none(format!("vkCreateDevice: {result}")))?;
        let name = properties
            .device_name_as_c_str()
            .unwrap_or(c"a device without name");
        Ok(Session {
            device,
            made: Vec::new(),
            // SAFETY: a device of this instance.
            memory: unsafe { api.get_physical_device_memory_properties(physical) },
            family,
            name: name.to_string_lossy().into_owned(),
            _instance: instance,
        })
    }

    /// A buffer in memory that the host sees, filled.
    fn filled(&mut self, content: &[u8]) -> Result<(vk::Buffer, vk::DeviceMemory), Trouble> {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::UNIFORM_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC;
        let size = content.len().max(4) as u64;
        let create = vk::BufferCreateInfo::default().size(size).usage(usage);
        // SAFETY: at least four bytes; destroyed with the session.
        let buffer = unsafe { self.device.create_buffer(&create, None) }
            .map_err(refused("vkCreateBuffer"))?;
        self.made.push(Made::Buffer(buffer));
        // SAFETY: a buffer of this device.
        let needs = unsafe { self.device.get_buffer_memory_requirements(buffer) };
        let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let memory = self.allocate(needs, wanted)?;
        // SAFETY: as much memory of a fitting type as the buffer asked for.
        unsafe { self.device.bind_buffer_memory(buffer, memory, 0) }
            .map_err(refused("vkBindBufferMemory"))?;
        let length = content.len();
        self.mapped(memory, |bytes| {
            // SAFETY: the mapping holds at least `length` bytes, and nothing else is in it.
            unsafe { bytes.copy_from_nonoverlapping(content.as_ptr(), length) }
        })?;
        Ok((buffer, memory))
    }

    /// Memory with these properties.
    fn allocate(
        &mut self,
        needs: vk::MemoryRequirements,
        wanted: vk::MemoryPropertyFlags,
    ) -> Result<vk::DeviceMemory, Trouble> {
        let kind = self
            .memory
            .memory_types_as_slice()
            .iter()
            .zip(0u32..)
            .find(|(kind, index)| {
                needs.memory_type_bits >> index & 1 == 1 && kind.property_flags.contains(wanted)
            })
            .ok_or_else(|| Trouble::Refused("no memory of the kind that is needed".to_owned()))?;
        let allocate = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(kind.1);
        // SAFETY: a memory type of this device; freed with the session.
        let memory = unsafe { self.device.allocate_memory(&allocate, None) }
            .map_err(refused("vkAllocateMemory"))?;
        self.made.push(Made::Memory(memory));
        Ok(memory)
    }

    /// What a buffer's memory holds.
    fn read(&self, memory: vk::DeviceMemory, bytes: &mut [u8]) -> Result<(), Trouble> {
        self.mapped(memory, |from| {
            // SAFETY: the memory was made for as many bytes; the kernel has ended.
            unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) }
        })
    }

    fn mapped(
        &self,
        memory: vk::DeviceMemory,
        access: impl FnOnce(*mut u8),
    ) -> Result<(), Trouble> {
        // SAFETY: memory that the host sees and that is not mapped now.
        let bytes = unsafe {
            self.device
                .map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
        };
        access(bytes.map_err(refused("vkMapMemory"))?.cast());
        // SAFETY: mapped above.
        unsafe { self.device.unmap_memory(memory) };
        Ok(())
    }

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
