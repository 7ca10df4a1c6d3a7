//! Sampled images and samplers of a launch.

use serde::{Deserialize, Serialize};

/// A sampled image of a launch, whose texels are 32-bit floats of one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The descriptor set.
    pub set: u32,
    /// The binding.
    pub binding: u32,
    /// Its shape.
    pub shape: Shape,
    /// Texels in x, y and z of the largest level.
    pub extent: [u32; 3],
    /// Layers; of cubes, faces.
    pub layers: u32,
    /// Mip levels.
    pub levels: u32,
    /// True if the texels are depths.
    pub depth: bool,
    /// The bits of the texels: level by level, in each layer by layer.
    pub words: Vec<u32>,
}

impl Image {
    /// Texels in x, y and z of a level.
    pub fn extent_of(&self, level: u32) -> [u32; 3] {
        self.extent
            .map(|size| size.checked_shr(level).unwrap_or(0).max(1))
    }
}

/// The shape of an image.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// One dimension.
    Line,
    /// An array of them.
    Lines,
    /// Two dimensions.
    Plane,
    /// An array of them.
    Planes,
    /// Three dimensions.
    Volume,
    /// Six faces.
    Cube,
    /// An array of cubes.
    Cubes,
}

/// A sampler of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampler {
    /// The descriptor set.
    pub set: u32,
    /// The binding.
    pub binding: u32,
    /// True for linear filtering, false for nearest.
    pub linear: bool,
    /// True for linear filtering between levels, false for the nearest level.
    pub mip_linear: bool,
    /// The address mode.
    pub outside: Outside,
    /// The comparison of a reference with texels, if there is one.
    pub compare: Option<Compare>,
}

/// An address mode: the value outside of an image.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outside {
    /// The image again.
    Repeat,
    /// The image again, every other time mirrored.
    Mirror,
    /// Its last texels.
    Edge,
    /// Zeros.
    Border,
}

/// The comparison of a reference with a texel.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // the operators of Vulkan's VkCompareOp
pub enum Compare {
    Never,
    Less,
    Equal,
    #[serde(rename = "less-equal")]
    LessOrEqual,
    Greater,
    NotEqual,
    #[serde(rename = "greater-equal")]
    GreaterOrEqual,
    Always,
}
