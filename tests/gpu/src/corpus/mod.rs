//! Published modules on two machines: the same launch on a Vulkan driver that runs on the processor
//! and on the simulator, the same results.
//!
//! ```text
//! module --> launch: blocks with what their bytes mean (layout), random contents --> vulkan::run --+
//!                                                                  +---------------> simulate::run --> layout::difference
//! ```
//!
//! Nobody wrote down what these modules expect, so a launch is a guess: numbers that are small
//! enough to index with. Whether it was a good one the simulator says, which sees accesses outside
//! of buffers and races that a driver does not.

pub mod launch;
pub mod layout;
pub mod simulate;
