//! The door to the CUDA driver: one GPU, its kernels, its memory and its clock.
//!
//! Names, types and numbers are those of `cuda.h` (CUDA Driver API reference, sections 6.3 to
//! 6.36). A name that the header maps to a newer symbol (`cuMemAlloc` to `cuMemAlloc_v2`) is looked
//! up as that symbol.
//!
//! What makes it sound:
//! - a [`Gpu`] holds the primary context, which is current on the thread that made it, and is
//!   neither `Send` nor `Sync`;
//! - handles are made by the driver, stay in the `Gpu` that owns them, and are freed once, by
//!   [`Gpu::clear`] or when it is dropped;
//! - kernels reach device memory alone: nothing here maps memory of the host, so that no kernel,
//!   right or wrong, can break the host's.

use super::first_library;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::{null_mut, without_provenance_mut};

#[cfg(windows)]
const LIBRARY: &[&str] = &["nvcuda.dll"];
#[cfg(not(windows))]
const LIBRARY: &[&str] = &["libcuda.so.1", "libcuda.so"];

/// `CUresult`; 0 is success.
type Status = c_int;
type DeviceNumber = c_int;
type ContextHandle = *mut c_void;
type ModuleHandle = *mut c_void;
type FunctionHandle = *mut c_void;
type EventHandle = *mut c_void;
type StreamHandle = *mut c_void;
type DeviceAddress = u64;

// CUdevice_attribute
const MULTIPROCESSOR_COUNT: c_int = 16;
const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
const COMPUTE_CAPABILITY_MINOR: c_int = 76;

// CUfunction_attribute
const SHARED_SIZE_BYTES: c_int = 1;
const LOCAL_SIZE_BYTES: c_int = 3;
const NUM_REGS: c_int = 4;

// CUjit_option
const JIT_ERROR_LOG_BUFFER: c_int = 5;
const JIT_ERROR_LOG_BUFFER_SIZE_BYTES: c_int = 6;

/// `CU_LAUNCH_PARAM_BUFFER_POINTER`, `CU_LAUNCH_PARAM_BUFFER_SIZE`: numbers in the places of
/// pointers.
const LAUNCH_BUFFER_POINTER: usize = 1;
const LAUNCH_BUFFER_SIZE: usize = 2;

/// `CUDA_ERROR_NO_BINARY_FOR_GPU`, `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`: this GPU or this driver is
/// too old for the PTX.
const TOO_OLD: [Status; 2] = [209, 222];

/// Bytes for the output of the driver's assembler.
const LOG_BYTES: usize = 4096;

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// The driver's functions.
        struct Api {
            $($name: unsafe extern "system" fn($($argument),*) -> Status,)*
            /// The functions live as long as this.
            _library: Library,
        }

        impl Api {
            fn load() -> Result<Api, String> {
                let library = first_library(LIBRARY)?;
                Ok(Api {
                    // SAFETY: the types are those that cuda.h declares for these symbols, and the
                    // library is kept beside them.
                    $($name: *unsafe { library.get($symbol) }.map_err(|error| error.to_string())?,)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    init = b"cuInit\0" (c_uint);
    driver_version = b"cuDriverGetVersion\0" (*mut c_int);
    error_name = b"cuGetErrorName\0" (Status, *mut *const c_char);
    device_count = b"cuDeviceGetCount\0" (*mut c_int);
    device = b"cuDeviceGet\0" (*mut DeviceNumber, c_int);
    device_name = b"cuDeviceGetName\0" (*mut c_char, c_int, DeviceNumber);
    device_attribute = b"cuDeviceGetAttribute\0" (*mut c_int, c_int, DeviceNumber);
    retain_context = b"cuDevicePrimaryCtxRetain\0" (*mut ContextHandle, DeviceNumber);
    release_context = b"cuDevicePrimaryCtxRelease_v2\0" (DeviceNumber);
    set_context = b"cuCtxSetCurrent\0" (ContextHandle);
    synchronize = b"cuCtxSynchronize\0" ();
    load_module = b"cuModuleLoadDataEx\0" (*mut ModuleHandle, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    unload_module = b"cuModuleUnload\0" (ModuleHandle);
    function = b"cuModuleGetFunction\0" (*mut FunctionHandle, ModuleHandle, *const c_char);
    function_attribute = b"cuFuncGetAttribute\0" (*mut c_int, c_int, FunctionHandle);
    occupancy = b"cuOccupancyMaxActiveBlocksPerMultiprocessor\0" (*mut c_int, FunctionHandle, c_int, usize);
    allocate = b"cuMemAlloc_v2\0" (*mut DeviceAddress, usize);
    free = b"cuMemFree_v2\0" (DeviceAddress);
    copy_in = b"cuMemcpyHtoD_v2\0" (DeviceAddress, *const c_void, usize);
    copy_out = b"cuMemcpyDtoH_v2\0" (*mut c_void, DeviceAddress, usize);
    launch = b"cuLaunchKernel\0" (FunctionHandle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, StreamHandle, *mut *mut c_void, *mut *mut c_void);
    create_event = b"cuEventCreate\0" (*mut EventHandle, c_uint);
    record_event = b"cuEventRecord\0" (EventHandle, StreamHandle);
    wait_event = b"cuEventSynchronize\0" (EventHandle);
    elapsed = b"cuEventElapsedTime\0" (*mut f32, EventHandle, EventHandle);
    destroy_event = b"cuEventDestroy_v2\0" (EventHandle);
}

impl Api {
    /// An error with the driver's name for it.
    fn checked(&self, status: Status, what: &str) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        let mut name: *const c_char = std::ptr::null();
        // SAFETY: writes one pointer, to a string that is never freed, or null for a number without
        // name.
        unsafe { (self.error_name)(status, &mut name) };
        if name.is_null() {
            return Err(format!("{what}: error {status}"));
        }
        // SAFETY: not null, so a string that ends with zero.
        let name = unsafe { CStr::from_ptr(name) };
        Err(format!("{what}: {}", name.to_string_lossy()))
    }
}

/// The reason why a PTX text was not loaded.
pub(crate) enum NotLoaded {
    /// The GPU or the driver is too old for it.
    TooOld(String),
    /// It is wrong.
    Refused(String),
}

/// The first CUDA GPU, with everything that was loaded and allocated on it.
pub(crate) struct Gpu {
    api: Api,
    number: DeviceNumber,
    kernels: Vec<(ModuleHandle, FunctionHandle)>,
    memory: Vec<(DeviceAddress, usize)>,
    events: [EventHandle; 2],
}

impl Gpu {
    /// Loads the driver, and opens its first GPU.
    ///
    /// # Errors
    /// There is no driver, or no GPU that it can use.
    pub(crate) fn open() -> Result<Gpu, String> {
        let api = Api::load().map_err(|error| format!("no CUDA driver ({error})"))?;
        let mut count = 0;
        // SAFETY: the flags must be 0, and are.
        api.checked(unsafe { (api.init)(0) }, "cuInit")?;
        // SAFETY: writes one integer.
        let status = unsafe { (api.device_count)(&mut count) };
        api.checked(status, "cuDeviceGetCount")?;
        if count == 0 {
            return Err("no CUDA device".to_owned());
        }
        let (mut number, mut context) = (0, null_mut());
        // SAFETY: there is a device 0; its number is written.
        api.checked(unsafe { (api.device)(&mut number, 0) }, "cuDeviceGet")?;
        // SAFETY: a device that the driver gave; its context is written. It is released when the
        // result is dropped.
        let status = unsafe { (api.retain_context)(&mut context, number) };
        api.checked(status, "cuDevicePrimaryCtxRetain")?;
        let mut gpu = Gpu {
            api,
            number,
            kernels: Vec::new(),
            memory: Vec::new(),
            events: [null_mut(); 2],
        };
        // SAFETY: the context that was just retained.
        gpu.checked(unsafe { (gpu.api.set_context)(context) }, "cuCtxSetCurrent")?;
        for index in 0..gpu.events.len() {
            let mut event = null_mut();
            // SAFETY: a context is current; the event is written, and destroyed when `gpu` is
            // dropped.
            let status = unsafe { (gpu.api.create_event)(&mut event, 0) };
            gpu.checked(status, "cuEventCreate")?;
            if let Some(place) = gpu.events.get_mut(index) {
                *place = event;
            }
        }
        Ok(gpu)
    }

    fn checked(&self, status: Status, what: &str) -> Result<(), String> {
        self.api.checked(status, what)
    }

    /// The GPU's name, as the driver has it.
    pub(crate) fn name(&self) -> String {
        let mut name = [0 as c_char; 256];
        // SAFETY: writes at most 256 characters, the last of them zero.
        let status = unsafe { (self.api.device_name)(name.as_mut_ptr(), 256, self.number) };
        let bytes: Vec<u8> = name
            .iter()
            .take_while(|c| **c != 0)
            .map(|c| *c as u8)
            .collect();
        match status {
            0 => String::from_utf8_lossy(&bytes).into_owned(),
            _ => "a GPU without name".to_owned(),
        }
    }

    /// The newest CUDA release that the driver supports: 1000 for the major number, 10 for the
    /// minor one.
    pub(crate) fn driver_version(&self) -> u32 {
        let mut version = 0;
        // SAFETY: writes one integer.
        unsafe { (self.api.driver_version)(&mut version) };
        u32::try_from(version).unwrap_or(0)
    }

    fn attribute(&self, attribute: c_int) -> u32 {
        let mut value = 0;
        // SAFETY: writes one integer; an attribute that the driver does not know is an error and
        // writes nothing.
        unsafe { (self.api.device_attribute)(&mut value, attribute, self.number) };
        u32::try_from(value).unwrap_or(0)
    }

    /// The compute capability: 10 for the major number, 1 for the minor one, as in `sm_90`.
    pub(crate) fn capability(&self) -> u32 {
        self.attribute(COMPUTE_CAPABILITY_MAJOR) * 10 + self.attribute(COMPUTE_CAPABILITY_MINOR)
    }

    /// The number of multiprocessors.
    pub(crate) fn multiprocessors(&self) -> u32 {
        self.attribute(MULTIPROCESSOR_COUNT)
    }

    /// Compiles PTX for the GPU and finds the kernel `symbol` in it; its number.
    pub(crate) fn load(&mut self, ptx: &str, symbol: &str) -> Result<usize, NotLoaded> {
        let refused = |why: String| NotLoaded::Refused(why);
        let text = CString::new(ptx).map_err(|error| refused(error.to_string()))?;
        let symbol = CString::new(symbol).map_err(|error| refused(error.to_string()))?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // The size is passed as the value itself, in the place of a pointer.
        let mut values = [
            log.as_mut_ptr().cast::<c_void>(),
            without_provenance_mut(LOG_BYTES),
        ];
        let mut module = null_mut();
        // SAFETY: the text ends with zero; there are two options with their values; the log has as
        // many bytes as is said; the module is written.
        let status = unsafe {
            (self.api.load_module)(
                &mut module,
                text.as_ptr().cast(),
                options.len() as c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        if let Err(why) = self.checked(status, "cuModuleLoadDataEx") {
            let said: Vec<u8> = log.into_iter().take_while(|byte| *byte != 0).collect();
            let why = format!("{why} {}", String::from_utf8_lossy(&said));
            return Err(if TOO_OLD.contains(&status) {
                NotLoaded::TooOld(why)
            } else {
                NotLoaded::Refused(why)
            });
        }
        self.kernels.push((module, null_mut()));
        let mut function = null_mut();
        // SAFETY: a module that was just loaded, a name that ends with zero; the function is
        // written.
        let status = unsafe { (self.api.function)(&mut function, module, symbol.as_ptr()) };
        self.checked(status, "cuModuleGetFunction")
            .map_err(refused)?;
        if let Some(kernel) = self.kernels.last_mut() {
            kernel.1 = function;
        }
        Ok(self.kernels.len() - 1)
    }

    fn function(&self, kernel: usize) -> Result<FunctionHandle, String> {
        let function = self.kernels.get(kernel).map(|(_, function)| *function);
        function
            .filter(|function| !function.is_null())
            .ok_or_else(|| "there is no such kernel".to_owned())
    }

    /// Registers, bytes of shared memory and bytes of local memory of a kernel, and how many
    /// workgroups of `invocations` a multiprocessor holds.
    pub(crate) fn resources(&self, kernel: usize, invocations: u32) -> Result<[u32; 4], String> {
        let function = self.function(kernel)?;
        let attribute = |attribute| {
            let mut value = 0;
            // SAFETY: a function of a loaded module; one integer is written.
            let status = unsafe { (self.api.function_attribute)(&mut value, attribute, function) };
            self.checked(status, "cuFuncGetAttribute")?;
            Ok::<u32, String>(u32::try_from(value).unwrap_or(0))
        };
        let mut workgroups = 0;
        let invocations = c_int::try_from(invocations).map_err(|error| error.to_string())?;
        // SAFETY: a function of a loaded module, no dynamic shared memory; one integer is written.
        let status = unsafe { (self.api.occupancy)(&mut workgroups, function, invocations, 0) };
        self.checked(status, "cuOccupancyMaxActiveBlocksPerMultiprocessor")?;
        Ok([
            attribute(NUM_REGS)?,
            attribute(SHARED_SIZE_BYTES)?,
            attribute(LOCAL_SIZE_BYTES)?,
            u32::try_from(workgroups).unwrap_or(0),
        ])
    }

    /// Memory of the GPU with these bytes in it; its number.
    pub(crate) fn allocate(&mut self, bytes: &[u8]) -> Result<usize, String> {
        let mut address = 0;
        // SAFETY: the driver refuses 0 bytes, so there is at least one; the address is written, and
        // freed with `self.memory`.
        let status = unsafe { (self.api.allocate)(&mut address, bytes.len().max(1)) };
        self.checked(status, "cuMemAlloc")?;
        self.memory.push((address, bytes.len()));
        // SAFETY: as many bytes as were allocated there, from a slice of that length.
        let status = unsafe { (self.api.copy_in)(address, bytes.as_ptr().cast(), bytes.len()) };
        self.checked(status, "cuMemcpyHtoD")?;
        Ok(self.memory.len() - 1)
    }

    /// The address of an allocation.
    pub(crate) fn address(&self, memory: usize) -> Option<u64> {
        self.memory.get(memory).map(|(address, _)| *address)
    }

    /// The content of an allocation.
    pub(crate) fn read(&self, memory: usize) -> Result<Vec<u8>, String> {
        let (address, length) = self.memory.get(memory).ok_or("there is no such buffer")?;
        let mut bytes = vec![0u8; *length];
        // SAFETY: as many bytes as were allocated there, into a vector of that length.
        let status = unsafe { (self.api.copy_out)(bytes.as_mut_ptr().cast(), *address, *length) };
        self.checked(status, "cuMemcpyDtoH")?;
        Ok(bytes)
    }

    /// Runs a kernel to its end; milliseconds.
    pub(crate) fn launch(
        &self,
        kernel: usize,
        [gx, gy, gz]: [u32; 3],
        [x, y, z]: [u32; 3],
        parameters: &[u8],
    ) -> Result<f32, String> {
        let function = self.function(kernel)?;
        let mut block = parameters.to_vec();
        let mut size = block.len();
        // Names and values in turn; null is CU_LAUNCH_PARAM_END.
        let mut extra = [
            without_provenance_mut(LAUNCH_BUFFER_POINTER),
            block.as_mut_ptr().cast::<c_void>(),
            without_provenance_mut(LAUNCH_BUFFER_SIZE),
            (&raw mut size).cast::<c_void>(),
            null_mut(),
        ];
        self.timed(|| {
            // SAFETY: a function of a loaded module; the driver reads `size` bytes of the block
            // before it returns, and compares the size with what the kernel takes. What the kernel
            // does with the addresses in it is confined to the GPU's memory.
            let status = unsafe {
                (self.api.launch)(
                    function,
                    gx,
                    gy,
                    gz,
                    x,
                    y,
                    z,
                    0,
                    null_mut(),
                    null_mut(),
                    extra.as_mut_ptr(),
                )
            };
            self.checked(status, "cuLaunchKernel")
        })
    }

    /// Runs `work`, which starts work on the GPU in the default stream, and waits for it. Returns
    /// the milliseconds on the GPU's clock.
    pub(crate) fn timed(&self, work: impl FnOnce() -> Result<(), String>) -> Result<f32, String> {
        let [start, end] = self.events;
        // SAFETY: an event of this context, the default stream.
        let status = unsafe { (self.api.record_event)(start, null_mut()) };
        self.checked(status, "cuEventRecord")?;
        work()?;
        // SAFETY: as above.
        let status = unsafe { (self.api.record_event)(end, null_mut()) };
        self.checked(status, "cuEventRecord")?;
        // SAFETY: an event of this context.
        self.checked(unsafe { (self.api.wait_event)(end) }, "the kernel failed")?;
        let mut time = 0.0;
        // SAFETY: both events are recorded and complete; a float is written.
        let status = unsafe { (self.api.elapsed)(&mut time, start, end) };
        self.checked(status, "cuEventElapsedTime")?;
        Ok(time)
    }

    /// Frees kernels and memory.
    pub(crate) fn clear(&mut self) {
        // Errors are those of a kernel that failed before, and were reported then.
        // SAFETY: no argument. Nothing is freed while a kernel runs.
        unsafe { (self.api.synchronize)() };
        for (address, _) in self.memory.drain(..) {
            // SAFETY: allocated by `allocate`, and taken out of the list.
            unsafe { (self.api.free)(address) };
        }
        for (module, _) in self.kernels.drain(..) {
            // SAFETY: loaded by `load`, and taken out of the list.
            unsafe { (self.api.unload_module)(module) };
        }
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        self.clear();
        for event in self.events.iter().filter(|event| !event.is_null()) {
            // SAFETY: created by `open`; nothing uses it any more.
            unsafe { (self.api.destroy_event)(*event) };
        }
        // SAFETY: retained by `open`.
        unsafe { (self.api.release_context)(self.number) };
    }
}
