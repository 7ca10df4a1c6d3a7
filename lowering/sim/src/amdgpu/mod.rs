//! AMDGPU machine code: code objects of gfx9 to gfx12.5 on the machine.
//!
//! ```text
//! code object -> object.rs -> bytes --(LLVM's disassembler, elsewhere)--> lines -> decode/ -> program.rs -> machine
//! ```
//!
//! Registers are poisoned while the load that fills them is outstanding, and a wait retires exactly
//! what the counters prove complete. Code has no fences: an access counts as done when it takes
//! effect, and an arrival at a barrier publishes what has taken effect by then. Loads cannot be
//! told from atomic loads, so what an atomic wrote may be read without a race; a store that only
//! its waits make atomic, at workgroup scope, is taken as plain.

mod abi;
mod access;
mod address;
mod apertures;
mod barriers;
mod bits;
mod cost;
mod counters;
mod decode;
mod descriptor;
mod effect;
mod indirect;
mod inst;
mod isa;
mod labelled;
mod labels;
mod lanes;
mod loading;
mod masks;
mod matrix;
mod matrix_inst;
mod number;
mod object;
mod operand;
mod operation;
mod program;
mod sync;
mod table;
mod texel;
mod text;
mod unlinked;
mod unread;
mod vector;
mod wave;

pub use self::loading::ObjectError;
pub use self::object::{ArgumentInfo, CodeObject, KernelInfo, Request, prepare};
pub use abi::Start;
pub use decode::synchronising_parts;
pub use descriptor::Descriptor;
pub use inst::Mark;
pub use isa::Isa;
pub use program::{Kernel, unknown};
pub use text::Line;
pub use wave::Wave;
