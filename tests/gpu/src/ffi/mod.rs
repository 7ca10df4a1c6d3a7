//! The interfaces to drivers that are loaded at run time. Each file has the unsafe code for one
//! library, and functions around it that are safe to call.
#![allow(unsafe_code)]

pub(crate) mod cublas;
pub(crate) mod cuda;
pub(crate) mod vulkan;

use libloading::Library;

/// The first of these libraries that the system's loader finds.
fn first_library(names: &[&str]) -> Result<Library, String> {
    let mut said = Vec::new();
    for name in names {
        // SAFETY: loading runs the library's initialisers. These are the vendor's own libraries
        // under the names by which every program finds them.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(library),
            Err(error) => said.push(error.to_string()),
        }
    }
    Err(said.join("; "))
}
