//! Keeps the first contents of workgroup memory out of the optimiser's reach. A workgroup variable
//! begins as arbitrary bytes. LLVM can say that of no initial value: `undef` and `poison` spread to
//! what is read before anything is written. So the variables count as initialised from outside
//! until the optimiser has run.

use crate::ffi::Value;
use inkwell::module::{Linkage, Module};

/// The address space of workgroup memory, on both vendors' GPUs.
const SHARED: u16 = 3;

/// Gives the shared variable `global` contents that nobody knows.
pub(crate) fn open(global: Value<'_>) {
    global.set_externally_initialized();
}

/// Makes the variables ordinary ones again, as code generators take them. To be called when the
/// optimiser has run.
pub(crate) fn close(module: &Module<'_>) {
    for global in module.get_globals() {
        let space = global.as_pointer_value().get_type().get_address_space();
        if space == SHARED.into() && global.get_linkage() == Linkage::Internal {
            global.set_externally_initialized(false);
        }
    }
}
