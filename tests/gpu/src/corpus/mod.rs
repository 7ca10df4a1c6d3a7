//! Published modules on two machines: the same launch on a Vulkan driver that runs on the processor
//! and on the simulator, the same results. Launches are made in `splitbar_tests::launch`.
//!
//! ```text
//! module --> launch: blocks with what their bytes mean (layout), random contents --> vulkan::run --+
//!                                                                  +---------------> simulate::run --> layout::difference
//! ```

pub mod simulate;
