//! AMDGPU code objects: the kernels in an ELF file, their descriptors and the metadata that says
//! how they are launched.

use super::abi::Start;
use super::descriptor::Descriptor;
use super::isa::Isa;
use super::loading::{LOAD, ObjectError};
use super::unlinked::Placed;
use crate::launch::{Clocks, Launch, Limits};
use crate::memory::Global;
use object::elf::{NoteType, RelocationType};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, ObjectSegment, ObjectSymbol, SectionKind};
use serde::Deserialize;

/// Bytes of private memory of a lane where the program says that it grows at run time.
const DYNAMIC_STACK: u32 = 1 << 14;
/// The most private memory of a lane that is simulated, in bytes.
const MOST_PRIVATE: u32 = 1 << 18;

/// A linked code object.
#[derive(Clone, Debug)]
pub struct CodeObject {
    /// The GPU of its code, where the metadata has it.
    target: Option<String>,
    kernels: Vec<KernelInfo>,
    /// Executable bytes by their addresses after loading.
    code: Vec<(u64, Vec<u8>)>,
    /// What is in memory after loading.
    segments: Vec<(u64, Vec<u8>)>,
}

/// A kernel of a code object.
#[derive(Clone, Debug)]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// Its descriptor.
    pub descriptor: Descriptor,
    /// Its arguments, hidden ones included.
    pub arguments: Vec<ArgumentInfo>,
    /// Bytes of its arguments.
    pub argument_bytes: u32,
    /// The workgroup size that it was compiled for.
    pub workgroup_size: Option<[u32; 3]>,
    descriptor_address: u64,
}

impl KernelInfo {
    /// The address of its first instruction.
    pub fn entry_address(&self) -> u64 {
        self.descriptor_address
            .wrapping_add_signed(self.descriptor.entry_offset)
    }
}

/// One argument.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct ArgumentInfo {
    /// Its offset in the arguments, in bytes.
    #[serde(rename = ".offset")]
    pub offset: u32,
    /// Its bytes.
    #[serde(rename = ".size")]
    pub size: u32,
    /// Its kind: `global_buffer`, `by_value`, `hidden_block_count_x`, ...
    #[serde(rename = ".value_kind")]
    pub kind: String,
}

#[derive(Deserialize)]
struct Metadata {
    /// A triple and a GPU with its features: `amdgcn-amd-amdhsa--gfx90a:xnack+`.
    #[serde(rename = "amdhsa.target", default)]
    target: Option<String>,
    #[serde(rename = "amdhsa.kernels", default)]
    kernels: Vec<KernelMetadata>,
}

#[derive(Deserialize)]
struct KernelMetadata {
    #[serde(rename = ".name")]
    name: String,
    #[serde(rename = ".symbol")]
    symbol: String,
    #[serde(rename = ".args", default)]
    arguments: Vec<ArgumentInfo>,
    #[serde(rename = ".kernarg_segment_size", default)]
    argument_bytes: u32,
    #[serde(rename = ".reqd_workgroup_size", default)]
    workgroup_size: Option<Vec<u32>>,
}

/// Type of the note with the metadata.
const NT_AMDGPU_METADATA: NoteType = NoteType(32);

impl CodeObject {
    /// Reads a linked code object.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn read(bytes: &[u8]) -> Result<CodeObject, ObjectError> {
        let file = ElfFile64::<LittleEndian>::parse(bytes)?;
        let metadata = metadata(&file)?;
        let mut segments = Vec::new();
        for segment in file.segments() {
            let mut data = segment.data()?.to_vec();
            let size = usize::try_from(segment.size()).unwrap_or(usize::MAX);
            if size > MOST_LOADED {
                return Err(ObjectError::Limit(format!("a segment of {size} bytes")));
            }
            data.resize(size, 0);
            segments.push((LOAD + segment.address(), data));
        }
        relocate(&file, &mut segments)?;
        let code = file
            .sections()
            .filter(|s| s.kind() == SectionKind::Text)
            .map(|s| Ok((LOAD + s.address(), s.data()?.to_vec())))
            .collect::<Result<Vec<_>, object::read::Error>>()?;
        let address = |name: &str| {
            let symbols = file.dynamic_symbols().chain(file.symbols());
            let mut named = symbols.filter(|symbol| symbol.name().is_ok_and(|of| of == name));
            named.next().map(|symbol| LOAD + symbol.address())
        };
        CodeObject::new(metadata, code, segments, address)
    }

    /// Reads an object that is not linked, and puts its sections one after the other. Other files
    /// cannot give what it lacks.
    ///
    /// # Errors
    /// See [`ObjectError`]; [`ObjectError::Limit`] if something is not defined in it.
    pub fn read_unlinked(bytes: &[u8]) -> Result<CodeObject, ObjectError> {
        let file = ElfFile64::<LittleEndian>::parse(bytes)?;
        let metadata = metadata(&file)?;
        let placed = Placed::new(&file, MOST_LOADED)?;
        let code = placed.code();
        let symbols = placed.symbols(&file);
        let address = |name: &str| symbols.get(name).copied();
        CodeObject::new(metadata, code, placed.into_segments(), address)
    }

    /// The code object with these contents, whose symbols have an `address` each.
    fn new(
        metadata: Metadata,
        code: Vec<(u64, Vec<u8>)>,
        segments: Vec<(u64, Vec<u8>)>,
        address: impl Fn(&str) -> Option<u64>,
    ) -> Result<CodeObject, ObjectError> {
        let mut kernels = Vec::new();
        for kernel in metadata.kernels {
            let missing = || ObjectError::Descriptor(kernel.name.clone());
            let address = address(&kernel.symbol).ok_or_else(missing)?;
            let descriptor = slice(&segments, address, 64)
                .and_then(Descriptor::read)
                .ok_or_else(missing)?;
            kernels.push(KernelInfo {
                name: kernel.name,
                descriptor,
                arguments: kernel.arguments,
                argument_bytes: kernel.argument_bytes,
                workgroup_size: kernel.workgroup_size.and_then(|s| s.try_into().ok()),
                descriptor_address: address,
            });
        }
        let gpu = |target: String| {
            let id = target.rsplit('-').next()?;
            Some(id.split(':').next()?.to_owned())
        };
        Ok(CodeObject {
            target: metadata.target.and_then(gpu),
            kernels,
            code,
            segments,
        })
    }

    /// The GPU that its code is for, without features; `None` where the metadata does not say
    /// (before code object version 4).
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// The kernels, in the order of the metadata.
    pub fn kernels(&self) -> &[KernelInfo] {
        &self.kernels
    }

    /// Executable bytes, by their addresses after loading.
    pub fn code(&self) -> &[(u64, Vec<u8>)] {
        &self.code
    }
}

/// The most bytes of a segment that are loaded.
const MOST_LOADED: usize = 1 << 28;

/// R_AMDGPU_RELATIVE64 (AMDGPUUsage, "Relocation Records"): the load address and an addend, the one
/// relocation that linked data needs.
const RELATIVE64: RelocationType = RelocationType(13);

/// Fills in the addresses that data holds.
fn relocate(
    file: &ElfFile64<'_, LittleEndian>,
    segments: &mut [(u64, Vec<u8>)],
) -> Result<(), ObjectError> {
    for (place, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let object::RelocationFlags::Elf {
            r_type: RELATIVE64, ..
        } = relocation.flags()
        else {
            let flags = relocation.flags();
            return Err(ObjectError::Limit(format!("a relocation by {flags:?}")));
        };
        let value = LOAD.wrapping_add_signed(relocation.addend());
        let bytes = segments.iter_mut().find_map(|(base, data)| {
            let offset = LOAD.checked_add(place)?.checked_sub(*base)?;
            let offset = usize::try_from(offset).ok()?;
            data.get_mut(offset..offset.checked_add(8)?)
        });
        bytes
            .ok_or_else(|| ObjectError::Limit(format!("a relocation of nothing, at {place:#x}")))?
            .copy_from_slice(&value.to_le_bytes());
    }
    Ok(())
}

fn slice(segments: &[(u64, Vec<u8>)], address: u64, bytes: usize) -> Option<&[u8]> {
    segments.iter().find_map(|(base, data)| {
        let offset = usize::try_from(address.checked_sub(*base)?).ok()?;
        data.get(offset..offset.checked_add(bytes)?)
    })
}

fn metadata(file: &ElfFile64<'_, LittleEndian>) -> Result<Metadata, ObjectError> {
    use object::read::elf::SectionHeader;
    let bad = |problem: String| ObjectError::Metadata(problem);
    let (endian, data) = (file.endian(), file.data());
    for section in file.elf_section_table().iter() {
        let Some(mut notes) = section.notes(endian, data)? else {
            continue; // not a section of notes
        };
        while let Some(note) = notes.next()? {
            if note.name() == b"AMDGPU" && note.n_type(endian) == NT_AMDGPU_METADATA {
                return rmp_serde::from_slice(note.desc()).map_err(|e| bad(e.to_string()));
            }
        }
    }
    Err(bad("there is no note with it".to_owned()))
}

/// A launch as the user asks for it.
#[derive(Clone, Debug)]
pub struct Request {
    /// Workgroups in x, y and z.
    pub groups: [u32; 3],
    /// Workgroups of a cluster in x, y and z.
    pub cluster: [u32; 3],
    /// Invocations of a workgroup in x, y and z.
    pub workgroup_size: [u32; 3],
    /// The kernel's own arguments; hidden ones are filled in.
    pub arguments: Vec<u8>,
    /// Bytes of shared memory beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// Its clocks.
    pub clocks: Clocks,
    /// Its limits.
    pub limits: Limits,
}

/// Loads the code object, writes arguments and dispatch packet, and says how the waves begin.
///
/// # Errors
/// [`ObjectError::Limit`] for kernels that need what is not simulated.
pub fn prepare(
    object: &CodeObject,
    kernel: &KernelInfo,
    isa: Isa,
    request: &Request,
    global: &mut Global,
) -> Result<(Start, Launch), ObjectError> {
    for (address, bytes) in &object.segments {
        global.add_at("the code object", *address, bytes.clone(), false);
    }
    let descriptor = kernel.descriptor;
    let mut private_bytes = descriptor.private_bytes;
    if descriptor.dynamic_stack() {
        private_bytes = private_bytes.saturating_add(DYNAMIC_STACK);
    }
    if private_bytes > MOST_PRIVATE {
        return Err(ObjectError::Limit(format!(
            "{private_bytes} bytes of private memory of an invocation"
        )));
    }
    if kernel.argument_bytes as usize > request.limits.argument_bytes {
        return Err(ObjectError::Limit(format!(
            "{} bytes of arguments",
            kernel.argument_bytes
        )));
    }
    let shared_bytes = descriptor
        .shared_bytes
        .saturating_add(request.dynamic_shared_bytes);
    let bytes = arguments(kernel, request);
    let mut preloaded = [0; 16];
    for (slot, word) in preloaded.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *slot = u32::from_le_bytes(*word);
    }
    let arguments = global.add("the kernel's arguments", bytes, false);
    let arguments = global.base(arguments);
    let packet = global.add(
        "the dispatch packet",
        packet(request, shared_bytes, arguments),
        false,
    );
    let wave_size = descriptor.wave_size(isa);
    let entry = kernel.entry_address();
    let skip = if descriptor.preload().0 > 0 && isa.preload_prologue {
        256
    } else {
        0
    };
    let start = Start {
        entry: entry + skip,
        arguments,
        packet: global.base(packet),
        wave_size,
        private_bytes,
        descriptor,
        preloaded,
    };
    let launch = Launch {
        groups: request.groups,
        cluster: request.cluster,
        workgroup_size: request.workgroup_size,
        shared_bytes: shared_bytes as usize,
        clocks: request.clocks,
        limits: request.limits,
    };
    Ok((start, launch))
}

/// Alignment of the kernel's arguments, at least (AMDGPUUsage, "Kernel Dispatch": the kernarg
/// segment). All bytes of the last 16 are there, and LLVM loads them together.
const ARGUMENT_ALIGNMENT: usize = 16;

/// The bytes of the arguments with the hidden ones, which have the meanings that AMDGPUUsage gives
/// them ("Code Object V5 Metadata").
fn arguments(kernel: &KernelInfo, request: &Request) -> Vec<u8> {
    let mut bytes = request.arguments.clone();
    let count = bytes.len().max(kernel.argument_bytes as usize);
    bytes.resize(count.next_multiple_of(ARGUMENT_ALIGNMENT), 0);
    for argument in &kernel.arguments {
        let axis = match argument.kind.chars().last() {
            Some('x') => 0,
            Some('y') => 1,
            Some('z') => 2,
            _ => 0,
        };
        let value: u64 = match argument.kind.trim_end_matches(['x', 'y', 'z']) {
            "hidden_block_count_" => request.groups[axis].into(),
            "hidden_group_size_" => request.workgroup_size[axis].into(),
            "hidden_grid_dims" => dimensions(request).into(),
            "hidden_dynamic_lds_size" => request.dynamic_shared_bytes.into(),
            "hidden_private_base" => super::apertures::PRIVATE_APERTURE,
            "hidden_shared_base" => super::apertures::SHARED_APERTURE,
            // Remainders and offsets are 0; printf, queues and heaps do not exist.
            kind if kind.starts_with("hidden_") => 0,
            _ => continue, // an argument of the kernel's own
        };
        let at = argument.offset as usize;
        let size = (argument.size as usize).min(8);
        if let (Some(slot), Some(value)) = (
            bytes.get_mut(at..at + size),
            value.to_le_bytes().get(..size),
        ) {
            slot.copy_from_slice(value);
        }
    }
    bytes
}

fn dimensions(request: &Request) -> u16 {
    let used = |axis: usize| request.groups[axis] > 1 || request.workgroup_size[axis] > 1;
    if used(2) {
        3
    } else if used(1) {
        2
    } else {
        1
    }
}

/// `hsa_kernel_dispatch_packet_t`. Source: HSA runtime specification, section 2.9.
fn packet(request: &Request, shared_bytes: u32, arguments: u64) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    let mut put = |at: usize, value: &[u8]| {
        if let Some(slot) = bytes.get_mut(at..at + value.len()) {
            slot.copy_from_slice(value);
        }
    };
    put(2, &dimensions(request).to_le_bytes());
    for axis in 0..3 {
        put(
            4 + 2 * axis,
            &(request.workgroup_size[axis] as u16).to_le_bytes(),
        );
        put(
            12 + 4 * axis,
            &(request.workgroup_size[axis].wrapping_mul(request.groups[axis])).to_le_bytes(),
        );
    }
    put(28, &shared_bytes.to_le_bytes());
    put(40, &arguments.to_le_bytes());
    bytes
}
