//! A device, everything that was made on it, and memory that the host sees.

use ash::vk;

/// The reason why a launch failed or did not happen.
pub(crate) enum Trouble {
    /// There is no driver that runs on the processor.
    NoDevice(String),
    /// The driver refuses something.
    Refused(String),
}

/// An object that has to be destroyed.
pub(super) enum Made {
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
pub(super) struct Session {
    pub(super) device: ash::Device,
    pub(super) made: Vec<Made>,
    memory: vk::PhysicalDeviceMemoryProperties,
    pub(super) family: u32,
    pub(super) name: String,
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

pub(super) fn refused(what: &'static str) -> impl FnOnce(vk::Result) -> Trouble {
    move |result| Trouble::Refused(format!("{what}: {result}"))
}

impl Session {
    /// A device that is a processor, with every feature that it has.
    pub(super) fn open() -> Result<Session, Trouble> {
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
    pub(super) fn filled(
        &mut self,
        content: &[u8],
    ) -> Result<(vk::Buffer, vk::DeviceMemory), Trouble> {
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
    pub(super) fn allocate(
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

    /// The content of a buffer's memory.
    pub(super) fn read(&self, memory: vk::DeviceMemory, bytes: &mut [u8]) -> Result<(), Trouble> {
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
}
