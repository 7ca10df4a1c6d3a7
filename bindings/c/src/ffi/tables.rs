//! Versions, targets and passes.

use super::input::{Versioned, fill};
use super::results::filled;
use super::{SPLITBAR_ABI_VERSION, splitbar_status};
use splitbar::TargetRow;
use splitbar_passes::transform::registry::{PASSES, Pass};
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::OnceLock;

/// A GPU.
#[repr(C)]
pub struct splitbar_target {
    /// The size of this structure; set it before the call.
    pub struct_size: usize,
    /// The name, for `splitbar_options`.
    pub name: *const c_char,
    /// The strategy that a split barrier gets in a workgroup of more than one wave.
    pub strategy: *const c_char,
    /// The PTX version that the code needs, such as "8.0"; null for AMD.
    pub minimum_ptx: *const c_char,
    /// Wave sizes, the default first.
    pub wave_sizes: *const u32,
    /// The number of wave sizes.
    pub wave_size_count: usize,
    /// Workgroup memory of one workgroup, in bytes.
    pub lds_bytes: u32,
    /// Invocations of one workgroup at the most.
    pub max_workgroup_size: u32,
}

/// A pass over SPIR-V.
#[repr(C)]
pub struct splitbar_pass {
    /// The size of this structure; set it before the call.
    pub struct_size: usize,
    /// The name, for `splitbar_run_passes`.
    pub name: *const c_char,
    /// A description in one line.
    pub about: *const c_char,
    /// The notation of its value, after "name="; null if it has none.
    pub value: *const c_char,
}

// SAFETY: repr(C), begins with its size, and holds numbers and pointers.
unsafe impl Versioned for splitbar_target {
    const FIRST: usize = size_of::<splitbar_target>();
}

// SAFETY: as above.
unsafe impl Versioned for splitbar_pass {
    const FIRST: usize = size_of::<splitbar_pass>();
}

/// The strings of a row of a table, which live as long as the process.
struct Row {
    texts: [Option<CString>; 3],
    target: Option<TargetRow>,
}

impl Row {
    fn new(texts: [Option<&str>; 3], target: Option<TargetRow>) -> Row {
        let string = |text: &str| CString::new(text).unwrap_or_default();
        Row {
            texts: texts.map(|text| text.map(string)),
            target,
        }
    }

    fn text(&self, index: usize) -> *const c_char {
        let text = self.texts.get(index).and_then(Option::as_ref);
        text.map_or(ptr::null(), |text| text.as_ptr())
    }
}

fn targets() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let rows = splitbar::targets().into_iter();
        let row = |row: TargetRow| {
            let ptx = row.minimum_ptx.clone();
            Row::new(
                [Some(row.name), Some(row.strategy), ptx.as_deref()],
                Some(row),
            )
        };
        rows.map(row).collect()
    })
}

fn passes() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let row = |pass: &&Pass| Row::new([Some(pass.name), Some(pass.about), pass.value], None);
        PASSES.iter().map(row).collect()
    })
}

/// The version of the interface that this library has.
#[unsafe(no_mangle)]
pub extern "C" fn splitbar_abi_version() -> u32 {
    SPLITBAR_ABI_VERSION
}

/// The version of splitbar, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn splitbar_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Returns 1 if this library generates code in this process, as libsplitbar does. The other
/// library, libsplitbar_passes, only plans in this process, and generates code in a worker.
#[unsafe(no_mangle)]
pub extern "C" fn splitbar_has_llvm() -> u32 {
    u32::from(cfg!(feature = "llvm"))
}

/// The number of targets.
#[unsafe(no_mangle)]
pub extern "C" fn splitbar_target_count() -> usize {
    targets().len()
}

/// Fills in a target, whose `struct_size` is set. Its strings live as long as the process.
///
/// # Safety
/// `target` is null, or a structure of its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_target_get(
    index: usize,
    target: *mut splitbar_target,
) -> splitbar_status {
    let Some((row, facts)) = targets()
        .get(index)
        .and_then(|row| Some((row, row.target.as_ref()?)))
    else {
        return filled(false);
    };
    let shown = splitbar_target {
        struct_size: size_of::<splitbar_target>(),
        name: row.text(0),
        strategy: row.text(1),
        minimum_ptx: row.text(2),
        wave_sizes: facts.wave_sizes.as_ptr(),
        wave_size_count: facts.wave_sizes.len(),
        lds_bytes: facts.lds_bytes,
        max_workgroup_size: facts.max_workgroup_size,
    };
    // SAFETY: as this function's.
    filled(unsafe { fill(target, &shown) })
}

/// The number of passes.
#[unsafe(no_mangle)]
pub extern "C" fn splitbar_pass_count() -> usize {
    passes().len()
}

/// Fills in a pass, whose `struct_size` is set. Its strings live as long as the process.
///
/// # Safety
/// `pass` is null, or a structure of its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_pass_get(
    index: usize,
    pass: *mut splitbar_pass,
) -> splitbar_status {
    let Some(row) = passes().get(index) else {
        return filled(false);
    };
    let shown = splitbar_pass {
        struct_size: size_of::<splitbar_pass>(),
        name: row.text(0),
        about: row.text(1),
        value: row.text(2),
    };
    // SAFETY: as this function's.
    filled(unsafe { fill(pass, &shown) })
}
