//! The parts that are common to linked and other code objects when they are loaded.

/// Where the simulated loader puts a code object.
pub(super) const LOAD: u64 = 0x7000_0000_0000;

/// The fault of a code object.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// Not an ELF file, or one that is cut short.
    #[error("not a 64-bit ELF file: {0}")]
    Elf(#[from] object::read::Error),
    /// No metadata note, or one that cannot be read.
    #[error("the metadata of its kernels cannot be read: {0}")]
    Metadata(String),
    /// A kernel's descriptor is missing.
    #[error("kernel `{0}` has no descriptor; is the file linked?")]
    Descriptor(String),
    /// Something that is not simulated.
    #[error("{0}")]
    Limit(String),
}
