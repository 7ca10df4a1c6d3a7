//! The input from C: every pointer of a caller is read here.

use super::refused::Refused;
use std::ffi::{CStr, c_char};

/// A string of the caller; `None` for a null pointer.
///
/// # Errors
/// That it is not UTF-8, with the name of the argument.
///
/// # Safety
/// `at` is null, or points to a string that ends with a zero.
pub(super) unsafe fn text<'c>(at: *const c_char, what: &str) -> Result<Option<&'c str>, Refused> {
    if at.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and the caller promises the zero at the end.
    let text = unsafe { CStr::from_ptr(at) };
    let text = text.to_str();
    text.map(Some)
        .map_err(|_| Refused::usage(format!("{what} is not UTF-8")))
}

/// So many bytes of the caller. A null pointer is good for none.
///
/// # Errors
/// A null pointer with a size, or a size that no memory has.
///
/// # Safety
/// `at` is null, or points to `size` bytes.
pub(super) unsafe fn bytes<'c>(
    at: *const u8,
    size: usize,
    what: &str,
) -> Result<&'c [u8], Refused> {
    // SAFETY: as this function's.
    unsafe { list(at, size, what) }
}

/// So many values of the caller. A null pointer is good for none.
///
/// # Errors
/// A null pointer with a count, an address that is not aligned, or a count that no memory has.
///
/// # Safety
/// `at` is null, or points to `count` values.
pub(super) unsafe fn list<'c, T>(
    at: *const T,
    count: usize,
    what: &str,
) -> Result<&'c [T], Refused> {
    if count == 0 {
        return Ok(&[]);
    }
    if at.is_null() {
        return Err(Refused::usage(format!("{what} is null")));
    }
    let most = isize::MAX.cast_unsigned() / size_of::<T>().max(1);
    if !at.is_aligned() || count > most {
        return Err(Refused::usage(format!("{what} cannot be {count} values")));
    }
    // SAFETY: not null, aligned, of a size that is possible, and the caller promises the values.
    Ok(unsafe { std::slice::from_raw_parts(at, count) })
}

/// Strings of the caller, none of them null.
///
/// # Errors
/// As [`list`] and [`text`], and a string that is null.
///
/// # Safety
/// `at` is null, or points to `count` strings, each null or ended by a zero.
pub(super) unsafe fn texts<'c>(
    at: *const *const c_char,
    count: usize,
    what: &str,
) -> Result<Vec<&'c str>, Refused> {
    // SAFETY: as this function's.
    let all = unsafe { list(at, count, what) }?;
    all.iter()
        .map(|one| {
            // SAFETY: the caller promises strings, or null.
            let text = unsafe { text(*one, what) }?;
            text.ok_or_else(|| Refused::usage(format!("{what} has a null pointer")))
        })
        .collect()
}

/// A structure that begins with its size: plain data, of which all zeros is a value.
///
/// # Safety
/// The type is `repr(C)`, its first field is the size as a `usize`, and every pattern of bytes that
/// a caller may put there, zeros included, is a value of it.
pub(super) unsafe trait Versioned {
    /// The size of the structure in version 1 of the interface.
    const FIRST: usize;
}

/// A copy of the caller's structure, zero where the caller has an older one. `None` for null.
///
/// # Errors
/// A size that no version has, or fields that this library does not know and that are not zero.
///
/// # Safety
/// `at` is null, or points to a structure of the size that it begins with.
pub(super) unsafe fn sized<T: Versioned>(at: *const T, what: &str) -> Result<Option<T>, Refused> {
    if at.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller promises a structure that begins with its size.
    let size = unsafe { at.cast::<usize>().read_unaligned() };
    if !(T::FIRST..=1 << 16).contains(&size) {
        return Err(Refused::usage(format!("{what}: struct_size is {size}")));
    }
    let known = size.min(size_of::<T>());
    // SAFETY: the caller promises so many bytes.
    let all = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), size) };
    if all.iter().skip(known).any(|byte| *byte != 0) {
        return Err(Refused::usage(format!(
            "{what} has fields that this library does not know; take a newer one"
        )));
    }
    let mut copy = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: `known` bytes are in both; zeros and what callers write are values of the type.
    Ok(Some(unsafe {
        copy.as_mut_ptr()
            .cast::<u8>()
            .copy_from_nonoverlapping(at.cast::<u8>(), known);
        copy.assume_init()
    }))
}

/// Fills the caller's structure up to its size, which does not change. Returns true on success.
///
/// # Safety
/// `to` is null, or points to a structure of the size that it begins with, which may be written.
pub(super) unsafe fn fill<T: Versioned>(to: *mut T, value: &T) -> bool {
    if to.is_null() {
        return false;
    }
    // SAFETY: the caller promises a structure that begins with its size.
    let size = unsafe { to.cast::<usize>().read_unaligned() };
    if size < T::FIRST {
        return false;
    }
    let (head, known) = (size_of::<usize>(), size.min(size_of::<T>()));
    let from = std::ptr::from_ref(value).cast::<u8>();
    // SAFETY: the caller promises so many bytes, and the value has them; the size is left out.
    unsafe {
        to.cast::<u8>()
            .add(head)
            .copy_from_nonoverlapping(from.add(head), known - head);
    }
    true
}
