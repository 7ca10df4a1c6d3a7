//! Runs kernels on devices, for `cargo xtask gpu`.
//!
//! ```text
//! fixtures, host references --> compile (the program `splitbar`) --> bundle: a folder
//!                                                                       |
//!        CUDA device, simulator (both a Device) --------> check, timing, break_even
//! ```
//!
//! A bundle is complete: the machine with the GPU needs it and this crate's program, and neither a
//! compiler nor the repository. Whatever uses a device goes through [`device::Device`], so that all
//! of it but the driver's door is tested on the simulator.
//!
//! [`vulkan`] stands beside it: modules, not PTX, on a Vulkan driver that runs on the processor.
//! [`corpus`] runs launches of published modules there and on the simulator. [`loops`] are modules
//! before and after pipelining, for the drivers of the machine with the GPU.

pub mod attempts;
pub mod break_even;
pub mod bundle;
pub mod check;
pub mod compile;
pub mod corpus;
pub mod cuda;
pub mod device;
mod ffi;
pub mod loops;
pub mod parameters;
pub mod simulated;
pub mod timing;
pub mod vulkan;
