//! The output to C: results, which own everything that their functions return.

use super::input::{Versioned, fill};
use super::refused::Refused;
use super::{
    SPLITBAR_BUG, SPLITBAR_ERROR, SPLITBAR_INVALID, SPLITBAR_NOTE, SPLITBAR_OK, SPLITBAR_UNKNOWN,
    SPLITBAR_UNSUPPORTED, SPLITBAR_USAGE, SPLITBAR_WARNING, splitbar_severity, splitbar_status,
};
use splitbar::diagnostic::{Diagnostic, Diagnostics, Severity, json, text};
use splitbar::{Failure, SplitPair, exit};
use splitbar_passes::module::Scope;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// The name of the input in diagnostics: the interface has bytes, not files.
const MODULE: &str = "module";

/// The output of a call, before it is converted to C structures.
#[derive(Default)]
pub(super) struct Made {
    pub(super) products: Vec<Vec<u8>>,
    pub(super) diagnostics: Diagnostics,
    pub(super) pairs: Vec<SplitPair>,
}

/// A result: products, pairs and diagnostics.
pub struct splitbar_result {
    products: Vec<Vec<u8>>,
    diagnostics: Vec<Held>,
    pairs: Vec<HeldPair>,
    text: CString,
    json: CString,
}

/// A diagnostic: the message, its place, the reasons, and the help. Unknown strings are null.
#[repr(C)]
pub struct splitbar_diagnostic {
    /// The size of this structure; set it before the call.
    pub struct_size: usize,
    /// The severity.
    pub severity: splitbar_severity,
    /// The word offset of the instruction in the module, or `SPLITBAR_UNKNOWN`.
    pub word: u32,
    /// The operand, counted from 0 without result type and result, or `SPLITBAR_UNKNOWN`.
    pub operand: u32,
    /// The line in the source file, from 1, or `SPLITBAR_UNKNOWN`.
    pub source_line: u32,
    /// The stable code, such as "SB0205".
    pub code: *const c_char,
    /// The message: a description of the problem.
    pub message: *const c_char,
    /// The help: an instruction for solving the problem.
    pub help: *const c_char,
    /// The rule of Vulkan's specification.
    pub vuid: *const c_char,
    /// The function.
    pub function: *const c_char,
    /// The block.
    pub block: *const c_char,
    /// The instruction as text.
    pub instruction: *const c_char,
    /// The source file.
    pub source_file: *const c_char,
    /// The reasons, outermost first.
    pub reasons: *const *const c_char,
    /// The number of reasons.
    pub reason_count: usize,
}

/// Arrives and waits that belong together.
#[repr(C)]
pub struct splitbar_pair {
    /// The size of this structure; set it before the call.
    pub struct_size: usize,
    /// The name of the entry point.
    pub entry: *const c_char,
    /// The number of the pair in its entry point.
    pub id: u32,
    /// SPIR-V's number of the execution scope: 2 is Workgroup, 3 Subgroup.
    pub scope: u32,
    /// Word offsets of the arrives.
    pub arrives: *const u32,
    /// The number of arrives.
    pub arrive_count: usize,
    /// Word offsets of the waits.
    pub waits: *const u32,
    /// The number of waits.
    pub wait_count: usize,
    /// Instructions between them that compute, read or write.
    pub operations: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: repr(C), begins with its size, and holds numbers and pointers.
unsafe impl Versioned for splitbar_diagnostic {
    const FIRST: usize = size_of::<splitbar_diagnostic>();
}

// SAFETY: as above.
unsafe impl Versioned for splitbar_pair {
    const FIRST: usize = size_of::<splitbar_pair>();
}

/// The strings of a diagnostic, and it.
struct Held {
    /// The strings that the pointers of `shown` point to. They are on the heap, so the pointers
    /// stay valid if this moves.
    _texts: Vec<CString>,
    _reasons: Vec<*const c_char>,
    shown: splitbar_diagnostic,
}

struct HeldPair {
    _entry: CString,
    _words: [Vec<u32>; 2],
    shown: splitbar_pair,
}

/// The text without zeros, which C's strings cannot have.
fn string(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

impl Held {
    fn capture(problem: &Diagnostic) -> Held {
        let mut texts = Vec::new();
        let mut keep = |text: Option<&str>| {
            text.map_or(ptr::null(), |text| {
                let text = string(text);
                let at = text.as_ptr();
                texts.push(text);
                at
            })
        };
        let location = &*problem.location;
        let reasons: Vec<*const c_char> = problem
            .reasons
            .iter()
            .map(|reason| keep(Some(reason)))
            .collect();
        let source = location.source.as_ref();
        let shown = splitbar_diagnostic {
            struct_size: size_of::<splitbar_diagnostic>(),
            severity: match problem.severity {
                Severity::Error => SPLITBAR_ERROR,
                Severity::Warning => SPLITBAR_WARNING,
                Severity::Note => SPLITBAR_NOTE,
            },
            word: location.word.map_or(SPLITBAR_UNKNOWN, words),
            operand: location.operand.unwrap_or(SPLITBAR_UNKNOWN),
            source_line: source.map_or(SPLITBAR_UNKNOWN, |source| source.line),
            code: keep(Some(&problem.code.to_string())),
            message: keep(Some(&problem.message)),
            help: keep(problem.help_text()),
            vuid: keep(problem.vuid),
            function: keep(location.function.as_deref()),
            block: keep(location.block.as_deref()),
            instruction: keep(location.instruction.as_deref()),
            source_file: keep(source.map(|source| source.file.as_str())),
            reasons: reasons.as_ptr(),
            reason_count: reasons.len(),
        };
        Held {
            _texts: texts,
            _reasons: reasons,
            shown,
        }
    }
}

/// Modules have fewer words than that.
fn words(word: splitbar_passes::module::WordOffset) -> u32 {
    u32::try_from(word.index()).unwrap_or(SPLITBAR_UNKNOWN)
}

impl HeldPair {
    fn from_pair(pair: &SplitPair) -> HeldPair {
        let entry = string(&pair.entry);
        let numbers = [&pair.arrives, &pair.waits]
            .map(|offsets| offsets.iter().copied().map(words).collect::<Vec<u32>>());
        let [arrives, waits] = &numbers;
        let shown = splitbar_pair {
            struct_size: size_of::<splitbar_pair>(),
            entry: entry.as_ptr(),
            id: pair.id,
            scope: match pair.scope {
                Scope::Subgroup => 3,
                // Pairs of other scopes are not made.
                _ => 2,
            },
            arrives: arrives.as_ptr(),
            arrive_count: arrives.len(),
            waits: waits.as_ptr(),
            wait_count: waits.len(),
            operations: pair.operations,
            reserved: 0,
        };
        HeldPair {
            _entry: entry,
            _words: numbers,
            shown,
        }
    }
}

/// Runs a call and stores its result at `out`. The status is that of the errors among the
/// diagnostics. Panics stop here.
///
/// # Safety
/// `out` is null, or points to a place for a pointer.
pub(super) unsafe fn answer(
    out: *mut *mut splitbar_result,
    work: impl FnOnce() -> Result<Made, Refused>,
) -> splitbar_status {
    if out.is_null() {
        return SPLITBAR_USAGE;
    }
    let made = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let bug = Diagnostic::bug("a panic reached the boundary of the C interface");
        Err(Refused(bug.into()))
    });
    let made = made.unwrap_or_else(|Refused(failure)| Made {
        diagnostics: failure.diagnostics,
        ..Made::default()
    });
    let status = if made.diagnostics.has_errors() {
        status(&made.diagnostics)
    } else {
        SPLITBAR_OK
    };
    let result = splitbar_result {
        diagnostics: made.diagnostics.iter().map(Held::capture).collect(),
        pairs: made.pairs.iter().map(HeldPair::from_pair).collect(),
        text: string(&text::render(&made.diagnostics, MODULE)),
        json: string(&json::render(&made.diagnostics, MODULE)),
        products: made.products,
    };
    // SAFETY: not null, and the caller promises the place.
    unsafe { out.write(Box::into_raw(Box::new(result))) };
    status
}

fn status(problems: &Diagnostics) -> splitbar_status {
    match Failure::from(problems.clone()).exit_code() {
        exit::INVALID => SPLITBAR_INVALID,
        exit::USAGE => SPLITBAR_USAGE,
        exit::UNSUPPORTED => SPLITBAR_UNSUPPORTED,
        _ => SPLITBAR_BUG,
    }
}

/// The result of a handle; `None` for null.
///
/// # Safety
/// `result` is null, or a handle that was not freed.
unsafe fn handle<'r>(result: *const splitbar_result) -> Option<&'r splitbar_result> {
    // SAFETY: as this function's.
    unsafe { result.as_ref() }
}

/// Frees a result, and everything that it gave. Null is nothing to free.
///
/// # Safety
/// `result` is null, or a handle that was not freed and that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_result_free(result: *mut splitbar_result) {
    if !result.is_null() {
        // SAFETY: it came from a box, and is given back once.
        drop(unsafe { Box::from_raw(result) });
    }
}

/// The number of products: as many as were requested, or none after an error.
///
/// # Safety
/// `result` is null, or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_result_product_count(result: *const splitbar_result) -> usize {
    // SAFETY: as this function's.
    unsafe { handle(result) }.map_or(0, |result| result.products.len())
}

/// Returns the bytes of a product, and stores their number at `size`. Products have the order of
/// the request. Null if there is no such product.
///
/// # Safety
/// `result` is null, or a handle; `size` is null, or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_result_product(
    result: *const splitbar_result,
    index: usize,
    size: *mut usize,
) -> *const u8 {
    // SAFETY: as this function's.
    let product = unsafe { handle(result) }.and_then(|result| result.products.get(index));
    if !size.is_null() {
        // SAFETY: not null, and the caller promises the place.
        unsafe { size.write(product.map_or(0, Vec::len)) };
    }
    product.map_or(ptr::null(), |product| product.as_ptr())
}

/// The number of diagnostics.
///
/// # Safety
/// `result` is null, or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_result_diagnostic_count(result: *const splitbar_result) -> usize {
    // SAFETY: as this function's.
    unsafe { handle(result) }.map_or(0, |result| result.diagnostics.len())
}

/// Fills in a diagnostic, whose `struct_size` is set.
///
/// # Safety
/// `result` is null, or a handle; `diagnostic` is null, or a structure of its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_result_diagnostic(
    result: *const splitbar_result,
    index: usize,
    diagnostic: *mut splitbar_diagnostic,
) -> splitbar_status {
    // SAFETY: as this function's.
    let held = unsafe { handle(result) }.and_then(|result| result.diagnostics.get(index));
    // SAFETY: as this function's.
    filled(held.is_some_and(|held| unsafe { fill(diagnostic, &held.shown) }))
}

/// The number of pairs.
///
/// # Safety
/// `result` is null, or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_result_pair_count(result: *const splitbar_result) -> usize {
    // SAFETY: as this function's.
    unsafe { handle(result) }.map_or(0, |result| result.pairs.len())
}

/// Fills in a pair, whose `struct_size` is set.
///
/// # Safety
/// `result` is null, or a handle; `pair` is null, or a structure of its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_result_pair(
    result: *const splitbar_result,
    index: usize,
    pair: *mut splitbar_pair,
) -> splitbar_status {
    // SAFETY: as this function's.
    let held = unsafe { handle(result) }.and_then(|result| result.pairs.get(index));
    // SAFETY: as this function's.
    filled(held.is_some_and(|held| unsafe { fill(pair, &held.shown) }))
}

/// The status of a call that fills a structure.
pub(super) fn filled(is_filled: bool) -> splitbar_status {
    if is_filled {
        SPLITBAR_OK
    } else {
        SPLITBAR_USAGE
    }
}

/// All diagnostics as text, as the program prints them; empty where there are none, null for null.
///
/// # Safety
/// `result` is null, or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_result_text(result: *const splitbar_result) -> *const c_char {
    // SAFETY: as this function's.
    unsafe { handle(result) }.map_or(ptr::null(), |result| result.text.as_ptr())
}

/// All diagnostics as JSON, an object on each line; empty where there are none, null for null.
///
/// # Safety
/// `result` is null, or a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_result_json(result: *const splitbar_result) -> *const c_char {
    // SAFETY: as this function's.
    unsafe { handle(result) }.map_or(ptr::null(), |result| result.json.as_ptr())
}
