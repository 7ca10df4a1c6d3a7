//! Sampled images and samplers.

use super::session::{Made, Session, Trouble, refused};
use crate::vulkan::{Compare, Image, Outside, Sampler, Shape};
use ash::vk;

/// Texels are 32-bit floats of one component: colours, or depths where a shader compares them.
fn format(image: &Image) -> (vk::Format, vk::ImageAspectFlags) {
    if image.depth {
        (vk::Format::D32_SFLOAT, vk::ImageAspectFlags::DEPTH)
    } else {
        (vk::Format::R32_SFLOAT, vk::ImageAspectFlags::COLOR)
    }
}

/// An image, and the data to copy into it.
pub(super) struct Upload {
    image: vk::Image,
    from: vk::Buffer,
    all: vk::ImageSubresourceRange,
    regions: Vec<vk::BufferImageCopy>,
}

impl Session {
    /// An image, its view, and the copy that fills it.
    pub(super) fn image(&mut self, image: &Image) -> Result<(vk::ImageView, Upload), Trouble> {
        let (format, aspect) = format(image);
        let (ty, view) = match image.shape {
            Shape::Line => (vk::ImageType::TYPE_1D, vk::ImageViewType::TYPE_1D),
            Shape::Lines => (vk::ImageType::TYPE_1D, vk::ImageViewType::TYPE_1D_ARRAY),
            Shape::Plane => (vk::ImageType::TYPE_2D, vk::ImageViewType::TYPE_2D),
            Shape::Planes => (vk::ImageType::TYPE_2D, vk::ImageViewType::TYPE_2D_ARRAY),
            Shape::Volume => (vk::ImageType::TYPE_3D, vk::ImageViewType::TYPE_3D),
            Shape::Cube => (vk::ImageType::TYPE_2D, vk::ImageViewType::CUBE),
            Shape::Cubes => (vk::ImageType::TYPE_2D, vk::ImageViewType::CUBE_ARRAY),
        };
        let flags = match image.shape {
            Shape::Cube | Shape::Cubes => vk::ImageCreateFlags::CUBE_COMPATIBLE,
            _ => vk::ImageCreateFlags::empty(),
        };
        let [width, height, depth] = image.extent;
        let create = vk::ImageCreateInfo::default()
            .flags(flags)
            .image_type(ty)
            .format(format)
            .extent(vk::Extent3D {
                width,
                height,
                depth,
            })
            .mip_levels(image.levels)
            .array_layers(image.layers)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST);
        // SAFETY: a structure without pointers; destroyed with the session.
        let made =
            unsafe { self.device.create_image(&create, None) }.map_err(refused("vkCreateImage"))?;
        self.made.push(Made::Image(made));
        // SAFETY: an image of this device.
        let needs = unsafe { self.device.get_image_memory_requirements(made) };
        let memory = self.allocate(needs, vk::MemoryPropertyFlags::empty())?;
        // SAFETY: as much memory of a fitting type as the image asked for.
        unsafe { self.device.bind_image_memory(made, memory, 0) }
            .map_err(refused("vkBindImageMemory"))?;
        let all = vk::ImageSubresourceRange::default()
            .aspect_mask(aspect)
            .level_count(image.levels)
            .layer_count(image.layers);
        let create = vk::ImageViewCreateInfo::default()
            .image(made)
            .view_type(view)
            .format(format)
            .subresource_range(all);
        // SAFETY: an image of this device that has memory; destroyed with the session.
        let view = unsafe { self.device.create_image_view(&create, None) }
            .map_err(refused("vkCreateImageView"))?;
        self.made.push(Made::View(view));
        let (from, _) = self.filled(&crate::check::bytes(&image.words))?;
        let mut regions = Vec::new();
        let mut offset = 0;
        for level in 0..image.levels {
            let [width, height, depth] = image.extent_of(level);
            let layers = vk::ImageSubresourceLayers::default()
                .aspect_mask(aspect)
                .mip_level(level)
                .layer_count(image.layers);
            let extent = vk::Extent3D {
                width,
                height,
                depth,
            };
            let region = vk::BufferImageCopy::default().buffer_offset(offset);
            regions.push(region.image_subresource(layers).image_extent(extent));
            offset += 4 * u64::from(width * height * depth * image.layers);
        }
        if offset != 4 * image.words.len() as u64 {
            return Err(Trouble::Refused(format!(
                "the levels of an image have {offset} bytes, not {}",
                4 * image.words.len()
            )));
        }
        let upload = Upload {
            image: made,
            from,
            all,
            regions,
        };
        Ok((view, upload))
    }

    /// Records the copy into an image, and that kernels see it.
    pub(super) fn upload(&self, commands: vk::CommandBuffer, upload: &Upload) {
        let barrier = vk::ImageMemoryBarrier::default()
            .image(upload.image)
            .subresource_range(upload.all)
            .new_layout(vk::ImageLayout::GENERAL);
        let before = [barrier
            .old_layout(vk::ImageLayout::UNDEFINED)
            .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE)];
        let behind = [barrier
            .old_layout(vk::ImageLayout::GENERAL)
            .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
            .dst_access_mask(vk::AccessFlags::SHADER_READ)];
        let (top, copy, kernel) = (
            vk::PipelineStageFlags::TOP_OF_PIPE,
            vk::PipelineStageFlags::TRANSFER,
            vk::PipelineStageFlags::COMPUTE_SHADER,
        );
        let none = vk::DependencyFlags::empty();
        // SAFETY: a command buffer that is being recorded, outside of a render pass; the buffer has
        // all bytes of the regions, which lie within the image.
        unsafe {
            let device = &self.device;
            device.cmd_pipeline_barrier(commands, top, copy, none, &[], &[], &before);
            let layout = vk::ImageLayout::GENERAL;
            let (from, to) = (upload.from, upload.image);
            device.cmd_copy_buffer_to_image(commands, from, to, layout, &upload.regions);
            device.cmd_pipeline_barrier(commands, copy, kernel, none, &[], &[], &behind);
        }
    }

    /// A sampler.
    pub(super) fn sampler(&mut self, sampler: &Sampler) -> Result<vk::Sampler, Trouble> {
        let filter = if sampler.linear {
            vk::Filter::LINEAR
        } else {
            vk::Filter::NEAREST
        };
        let mips = if sampler.mip_linear {
            vk::SamplerMipmapMode::LINEAR
        } else {
            vk::SamplerMipmapMode::NEAREST
        };
        let outside = match sampler.outside {
            Outside::Repeat => vk::SamplerAddressMode::REPEAT,
            Outside::Mirror => vk::SamplerAddressMode::MIRRORED_REPEAT,
            Outside::Edge => vk::SamplerAddressMode::CLAMP_TO_EDGE,
            Outside::Border => vk::SamplerAddressMode::CLAMP_TO_BORDER,
        };
        let compare = sampler.compare.map(|compare| match compare {
            Compare::Never => vk::CompareOp::NEVER,
            Compare::Less => vk::CompareOp::LESS,
            Compare::Equal => vk::CompareOp::EQUAL,
            Compare::LessOrEqual => vk::CompareOp::LESS_OR_EQUAL,
            Compare::Greater => vk::CompareOp::GREATER,
            Compare::NotEqual => vk::CompareOp::NOT_EQUAL,
            Compare::GreaterOrEqual => vk::CompareOp::GREATER_OR_EQUAL,
            Compare::Always => vk::CompareOp::ALWAYS,
        });
        let create = vk::SamplerCreateInfo::default()
            .mag_filter(filter)
            .min_filter(filter)
            .mipmap_mode(mips)
            .address_mode_u(outside)
            .address_mode_v(outside)
            .address_mode_w(outside)
            .border_color(vk::BorderColor::FLOAT_TRANSPARENT_BLACK)
            .compare_enable(compare.is_some())
            .compare_op(compare.unwrap_or(vk::CompareOp::NEVER))
            .max_lod(vk::LOD_CLAMP_NONE);
        // SAFETY: a structure without pointers; destroyed with the session.
        let made = unsafe { self.device.create_sampler(&create, None) }
            .map_err(refused("vkCreateSampler"))?;
        self.made.push(Made::Sampler(made));
        Ok(made)
    }
}
