//! A launch on the simulator: the flags that `sim`, `advise --estimate` and `lower` share.

use super::buffer_name::split;
use super::described::{SamplerArg, TensorArg, parse_sampler, parse_tensor};
use super::input::{MOST, read, read_at_most};
use clap::{Arg, Args, Command, value_parser};
use splitbar::Launch;
use splitbar::simulate::machine::image::{Format as TexelFormat, Levels, MOST_LEVELS};
use splitbar::simulate::{BufferName, Inputs, Job, PRINT_CAPACITY, Texels};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The flags of a launch without images, samplers and tensors.
#[derive(Clone, Debug, Args)]
pub(super) struct LaunchArgs {
    /// Number of workgroups in each dimension of the launch
    #[arg(long, value_name = "X,Y,Z", value_parser = splitbar::parse_size)]
    pub(super) groups: Option<[u32; 3]>,
    /// Fills the buffer at PLACE (SET:BINDING or argument INDEX) with FILE, zeros:BYTES,
    /// seq:u32:COUNT or seq:f32:COUNT
    ///
    /// PLACE is SET:BINDING, SET:BINDING:ELEMENT for an element of an array of descriptors, or the
    /// INDEX of an argument of an OpenCL kernel.
    #[arg(long, value_name = "PLACE=CONTENT", value_parser = parse_buffer)]
    buffer: Vec<BufferArg>,
    /// Push constants or by-value arguments: hexadecimal bytes or a file
    #[arg(long, value_name = "HEX|FILE")]
    push: Option<String>,
    /// Bytes of dynamic workgroup memory
    ///
    /// The size of a workgroup array whose size the kernel leaves open.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    dynamic_shared: u32,
    /// Number of resident workgroups to assume in time estimates
    ///
    /// The default is the highest number that the code allows.
    #[arg(long, value_name = "N")]
    pub(super) resident: Option<u32>,
    /// Limit on executed instructions, all waves together
    #[arg(long, default_value_t = 100_000_000)]
    steps: u64,
}

impl LaunchArgs {
    /// What the launch is given, with workgroups of this size where the kernel leaves it open.
    ///
    /// # Errors
    /// Buffers that are given twice or are too large, and files that cannot be read.
    pub(super) fn inputs(&self, workgroup_size: Option<[u32; 3]>) -> Result<Inputs, String> {
        let groups = self
            .groups
            .ok_or("set the number of workgroups with --groups")?;
        let mut inputs = Inputs::new(groups, buffers(&self.buffer)?);
        inputs.workgroup_size = workgroup_size;
        if let Some(bytes) = &self.push {
            inputs.push = push(bytes)?;
        }
        inputs.dynamic_shared = self.dynamic_shared;
        inputs.limits.steps = self.steps;
        Ok(inputs)
    }

    /// The launch by which `--strategy auto=measured` goes.
    ///
    /// # Errors
    /// As [`LaunchArgs::inputs`].
    pub(super) fn deciding(&self) -> Result<Launch, String> {
        let groups = self
            .groups
            .ok_or("--strategy auto=measured needs --groups")?;
        let mut launch = Launch::new(groups, buffers(&self.buffer)?);
        if let Some(bytes) = &self.push {
            launch.push = push(bytes)?;
        }
        launch.dynamic_shared = self.dynamic_shared;
        launch.resident = self.resident;
        launch.steps = self.steps;
        Ok(launch)
    }

    /// Returns true if there is a launch.
    pub(super) fn is_given(&self) -> bool {
        self.groups.is_some()
    }

    /// The launch in words: workgroups and buffers.
    pub(super) fn words(&self) -> String {
        let [x, y, z] = self.groups.unwrap_or_default();
        let buffers = self.buffer.iter().map(|buffer| {
            let content = match &buffer.content {
                Content::File(_) => "a file".to_owned(),
                Content::Zeros(bytes) => format!("{bytes} bytes of zeros"),
                Content::Integers(count) => format!("{count} integers in sequence"),
                Content::Floats(count) => format!("{count} floats in sequence"),
            };
            format!("; buffer {}: {content}", buffer.place)
        });
        let push = self.push.as_ref().map(|_| "; push constants");
        let buffers: String = buffers.collect();
        format!(
            "{x}x{y}x{z} workgroups on one unit of the GPU{buffers}{}",
            push.unwrap_or("")
        )
    }

    /// The files that are read.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.buffer
            .iter()
            .filter_map(|buffer| buffer.content.file())
    }
}

/// The flags of a launch with all that a kernel may be given.
#[derive(Clone, Debug, Args)]
pub(super) struct FullLaunchArgs {
    #[command(flatten)]
    pub(super) base: LaunchArgs,
    /// Uses a buffer as an image: rgba8:64x32, r32ui:buffer:256
    ///
    /// The extent is in texels; the formats have GLSL's names. Suffixes of the extent: :levels=N
    /// is the number of mip levels, which follow one another; with :layers, the last number of the
    /// extent is the number of array layers; :samples=N is the number of samples per texel.
    #[arg(long, value_name = "SET:BINDING=FORMAT:EXTENT", value_parser = parse_image)]
    image: Vec<ImageArg>,
    /// The sampler at SET:BINDING, such as linear,repeat or nearest,edge
    ///
    /// The filters are linear and nearest; the address modes are repeat, mirror, edge and border
    /// (zeros). Optional parts follow: mip-linear or mip-nearest, a comparison such as less-equal,
    /// and unnormalized.
    #[arg(long, value_name = "SET:BINDING=FILTER,ADDRESSING", value_parser = parse_sampler)]
    sampler: Vec<SamplerArg>,
    /// Uses a buffer as a tensor: f32:4x8x16, u8:3x5:64x2
    ///
    /// The outermost dimension comes first. The optional strides are in bytes, for tensors that are
    /// not contiguous.
    #[arg(long, value_name = "SET:BINDING=TYPE:DIMENSIONS[:STRIDES]", value_parser = parse_tensor)]
    tensor: Vec<TensorArg>,
    /// Size of the printf buffer
    ///
    /// A printf call needs 8 bytes, and 4 or 8 for each number.
    #[arg(long = "printf-buffer-size", alias = "print-capacity", value_name = "BYTES", default_value_t = PRINT_CAPACITY, value_parser = value_parser!(u32).range(..=MOST as i64))]
    print_capacity: u32,
}

impl FullLaunchArgs {
    /// That no image, sampler or tensor is given twice.
    ///
    /// # Errors
    /// The first that is.
    pub(super) fn check(&self) -> Result<(), String> {
        once("image", self.image.iter().map(|image| image.place))?;
        once("sampler", self.sampler.iter().map(|sampler| sampler.place))?;
        once("tensor", self.tensor.iter().map(|tensor| tensor.place))
    }

    /// The `job` with the images, samplers and tensors that its buffers are.
    ///
    /// # Errors
    /// As [`LaunchArgs::check`].
    pub(super) fn describe(&self, job: Job) -> Result<Job, String> {
        self.check()?;
        let mut job = job.with_print_capacity(self.print_capacity);
        for image in &self.image {
            job = job.with_image(image.place, image.texels);
        }
        for sampler in &self.sampler {
            job = job.with_sampler(sampler.place, sampler.sampler);
        }
        for tensor in &self.tensor {
            job = job.with_tensor(tensor.place, tensor.elements.clone());
        }
        Ok(job)
    }

    /// As [`LaunchArgs::deciding`].
    ///
    /// # Errors
    /// Images, samplers and tensors, which no such launch has.
    pub(super) fn deciding(&self) -> Result<Launch, String> {
        let is_plain = self.image.is_empty() && self.sampler.is_empty() && self.tensor.is_empty();
        if !is_plain {
            let text = "--strategy auto=measured does not support images, samplers and tensors; name a strategy";
            return Err(text.to_owned());
        }
        self.base.deciding()
    }
}

/// `arg`, which requires the flag `other` if it is one of the flags of `A`.
pub(super) fn requiring<A: Args>(arg: Arg, other: &'static str) -> Arg {
    let flags = A::augment_args(Command::default());
    let mut names = flags.get_arguments().map(Arg::get_id);
    if arg.get_id() != other && names.any(|name| name == arg.get_id()) {
        arg.requires(other)
    } else {
        arg
    }
}

/// That no place is given twice to a `what`.
fn once(what: &str, places: impl Iterator<Item = BufferName>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for place in places {
        if !seen.insert(place) {
            return Err(format!("the {what} {place} is given twice"));
        }
    }
    Ok(())
}

/// A buffer of the command line: `SET:BINDING=CONTENT`.
#[derive(Clone, Debug)]
pub(super) struct BufferArg {
    place: BufferName,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    File(PathBuf),
    Zeros(usize),
    /// 0, 1, 2, ... as numbers of four bytes.
    Integers(u32),
    Floats(u32),
}

impl Content {
    /// The file that it is read from.
    fn file(&self) -> Option<&Path> {
        match self {
            Content::File(path) => Some(path),
            Content::Zeros(_) | Content::Integers(_) | Content::Floats(_) => None,
        }
    }

    /// The bytes, of which there may be `most`.
    fn bytes(&self, most: usize) -> Result<Vec<u8>, String> {
        let size = match self {
            Content::File(path) => return read_at_most(path, most),
            Content::Zeros(bytes) => *bytes,
            Content::Integers(count) | Content::Floats(count) => *count as usize * 4,
        };
        if size > most {
            return Err(format!("the buffers have more than {MOST} bytes"));
        }
        Ok(match self {
            Content::File(_) | Content::Zeros(_) => vec![0; size],
            Content::Integers(count) => (0..*count).flat_map(u32::to_le_bytes).collect(),
            Content::Floats(count) => (0..*count).flat_map(|n| (n as f32).to_le_bytes()).collect(),
        })
    }
}

/// The bytes of all buffers, of which there are at most [`MOST`] together.
fn buffers(arguments: &[BufferArg]) -> Result<Vec<(BufferName, Vec<u8>)>, String> {
    let mut buffers: Vec<(BufferName, Vec<u8>)> = Vec::new();
    let mut room = MOST;
    for BufferArg { place, content } in arguments {
        if buffers.iter().any(|(other, _)| other == place) {
            return Err(format!("the buffer {place} is given twice"));
        }
        let bytes = content.bytes(room)?;
        room -= bytes.len();
        buffers.push((*place, bytes));
    }
    Ok(buffers)
}

/// Reads `SET:BINDING=FILE`, `...=zeros:BYTES`, `...=seq:u32:COUNT` or `...=seq:f32:COUNT`;
/// `INDEX=...` for kernels without bindings.
pub(super) fn parse_buffer(text: &str) -> Result<BufferArg, String> {
    let (place, content) = split(text)?;
    let number = |text: &str, unit: usize| {
        text.parse::<usize>()
            .ok()
            .filter(|n| n.checked_mul(unit).is_some_and(|b| b <= MOST))
            .ok_or_else(|| format!("{text:?} is not a number of at most {} bytes", MOST))
    };
    let content = if let Some(bytes) = content.strip_prefix("zeros:") {
        Content::Zeros(number(bytes, 1)?)
    } else if let Some(count) = content.strip_prefix("seq:u32:") {
        Content::Integers(number(count, 4)? as u32)
    } else if let Some(count) = content.strip_prefix("seq:f32:") {
        Content::Floats(number(count, 4)? as u32)
    } else {
        check_file(place, content)?;
        Content::File(content.into())
    };
    Ok(BufferArg { place, content })
}

/// Checks that the content of a buffer can be the name of a file: not nothing, and no form that
/// lacks something, unless there is such a file.
fn check_file(place: BufferName, content: &str) -> Result<(), String> {
    const FORMS: &str = "FILE, zeros:BYTES, seq:u32:COUNT or seq:f32:COUNT";
    if content.is_empty() {
        return Err(format!("buffer {place} has no content; use {FORMS}"));
    }
    let Some((form, rest)) = content.split_once(':') else {
        return Ok(());
    };
    if !matches!(form, "seq" | "zeros" | "zero") || Path::new(content).exists() {
        return Ok(());
    }
    if form == "seq" && !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()) {
        let why = format!("{content:?} has no type; write seq:u32:{rest} or seq:f32:{rest}");
        return Err(why);
    }
    Err(format!(
        "{content:?} is not a valid content of a buffer; use {FORMS}"
    ))
}

/// A buffer that is an image: `SET:BINDING=FORMAT:EXTENT`.
#[derive(Clone, Debug)]
pub(super) struct ImageArg {
    place: BufferName,
    texels: Texels,
}

/// Reads `SET:BINDING=FORMAT:XxYxZ` with levels, layers and samples behind it, or
/// `SET:BINDING=FORMAT:buffer:N`.
pub(super) fn parse_image(text: &str) -> Result<ImageArg, String> {
    let (place, rest) = split(text)?;
    let wrong =
        || format!("{rest:?} is not FORMAT:XxYxZ, optionally with levels, or FORMAT:buffer:N");
    let (format, extent) = rest.split_once(':').ok_or_else(wrong)?;
    let format = TexelFormat::by_name(format).ok_or_else(|| {
        format!("{format:?} is not a format of GLSL with components of one width, such as rgba8")
    })?;
    let (is_buffer, sizes) = match extent.strip_prefix("buffer:") {
        Some(count) => (true, count),
        None => (false, extent),
    };
    let mut levels = Levels::default();
    let mut options = sizes.split(':');
    let sizes = options.next().ok_or_else(wrong)?;
    let dimensions = sizes.split('x').count();
    for option in options.by_ref() {
        let number = |text: &str| text.parse().ok().filter(|n| *n > 0).ok_or_else(wrong);
        match option.split_once('=') {
            _ if is_buffer => return Err(wrong()),
            Some(("levels", count)) => {
                let count = number(count)?;
                levels.count = Some(count)
                    .filter(|n| *n <= MOST_LEVELS)
                    .ok_or_else(wrong)?;
            }
            Some(("samples", count)) => levels.samples = number(count)?,
            None if option == "layers" && dimensions > 1 => {
                levels.directions = dimensions as u8 - 1;
            }
            _ => return Err(wrong()),
        }
    }
    let mut extent = [1; 3];
    let most = if is_buffer { 1 } else { 3 };
    if sizes.split('x').count() > most {
        return Err(wrong());
    }
    for (to, size) in extent.iter_mut().zip(sizes.split('x')) {
        *to = size.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?;
    }
    Ok(ImageArg {
        place,
        texels: Texels {
            format,
            extent,
            is_buffer,
            levels,
        },
    })
}

/// Bytes from hexadecimal digits, or from a file.
fn push(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let hex = digits.len().is_multiple_of(2)
        && !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if !hex {
        return read(text.as_ref());
    }
    let (pairs, _) = digits.as_bytes().as_chunks::<2>();
    pairs
        .iter()
        .map(|pair| {
            let digits = std::str::from_utf8(pair).map_err(|e| e.to_string())?;
            u8::from_str_radix(digits, 16).map_err(|e| e.to_string())
        })
        .collect()
}
