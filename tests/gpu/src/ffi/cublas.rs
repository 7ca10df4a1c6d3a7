//! The interface to cuBLAS, which shows how fast a product can be on the GPU.
//!
//! Names, types and numbers are those of `cublas_api.h` and `library_types.h` (cuBLAS
//! documentation, sections 2.2, 2.7 and 2.8.12). cuBLAS works in the context that is current, which
//! is the one of [`super::cuda::Gpu`].

use super::first_library;
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

#[cfg(windows)]
const LIBRARY: &[&str] = &["cublas64_13.dll", "cublas64_12.dll"];
#[cfg(not(windows))]
const LIBRARY: &[&str] = &[
    "libcublas.so.13",
    "libcublas.so.12",
    "libcublas.so.11",
    "libcublas.so",
];

/// `cublasStatus_t`; 0 is success.
type Status = c_int;
type Handle = *mut c_void;

/// `CUBLAS_OP_N`: no operand is transposed.
const PLAIN: c_int = 0;
/// `CUDA_R_32F`, `CUDA_R_16F`.
const FLOATS: c_int = 0;
const HALVES: c_int = 2;
/// `CUBLAS_COMPUTE_32F`: products and sums in 32 bits.
const COMPUTE_32F: c_int = 68;
/// `CUBLAS_GEMM_DEFAULT`.
const DEFAULT_ALGORITHM: c_int = -1;

type Destroy = unsafe extern "C" fn(Handle) -> Status;
type Gemm = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
) -> Status;

/// The library and a handle of it.
pub(crate) struct Cublas {
    handle: Handle,
    destroy: Destroy,
    gemm: Gemm,
    /// The functions live as long as this.
    _library: Library,
}

impl Cublas {
    /// Finds the library.
    ///
    /// # Errors
    /// There is none, or it cannot use the current context.
    pub(crate) fn open() -> Result<Cublas, String> {
        type Create = unsafe extern "C" fn(*mut Handle) -> Status;
        let library = first_library(LIBRARY)?;
        let missing = |error: libloading::Error| error.to_string();
        // SAFETY: the types are those that cublas_api.h declares for these symbols, and the library
        // is kept beside them.
        let create: Create = *unsafe { library.get(b"cublasCreate_v2\0") }.map_err(missing)?;
        // SAFETY: as above.
        let destroy: Destroy = *unsafe { library.get(b"cublasDestroy_v2\0") }.map_err(missing)?;
        // SAFETY: as above.
        let gemm: Gemm = *unsafe { library.get(b"cublasGemmEx\0") }.map_err(missing)?;
        let mut handle = null_mut();
        // SAFETY: the handle is written, and destroyed when the result is dropped.
        match unsafe { create(&mut handle) } {
            0 => Ok(Cublas {
                handle,
                destroy,
                gemm,
                _library: library,
            }),
            status => Err(format!("cublasCreate: error {status}")),
        }
    }

    /// Starts `c = a b` with 32-bit floats in all matrices, or with 16-bit floats in `a` and `b`;
    /// all row-major, at these addresses of the GPU.
    ///
    /// # Errors
    /// What cuBLAS answers.
    pub(crate) fn multiply(
        &self,
        [m, n, k]: [u32; 3],
        halves: bool,
        [a, b, c]: [u64; 3],
    ) -> Result<(), String> {
        let signed = |value: u32| c_int::try_from(value).map_err(|error| error.to_string());
        let [m, n, k] = [signed(m)?, signed(n)?, signed(k)?];
        let (one, zero) = (1.0f32, 0.0f32);
        let factor = if halves { HALVES } else { FLOATS };
        // cuBLAS is column-major: to it, the matrices are their transposes, and the product of the
        // transposes is that of b and a. SAFETY: a handle of this library; the scale factors are
        // read before the function returns (they are the host's); the matrices are on the GPU,
        // which alone is written.
        let status = unsafe {
            (self.gemm)(
                self.handle,
                PLAIN,
                PLAIN,
                n,
                m,
                k,
                (&raw const one).cast(),
                b as *const c_void,
                factor,
                n,
                a as *const c_void,
                factor,
                k,
                (&raw const zero).cast(),
                c as *mut c_void,
                FLOATS,
                n,
                COMPUTE_32F,
                DEFAULT_ALGORITHM,
            )
        };
        match status {
            0 => Ok(()),
            status => Err(format!("cublasGemmEx: error {status}")),
        }
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // SAFETY: made by `open`; nothing uses it any more.
        unsafe { (self.destroy)(self.handle) };
    }
}
