//! Linking of SPIR-V modules, before anything is compiled.

use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::Module;

/// The bytes of one module made of several: what one imports (decoration LinkageAttributes) becomes
/// what another exports. One alone comes back as it is.
///
/// # Errors
/// What is wrong with a module, or why they do not fit together (SB0113).
pub fn link_modules(modules: &[&[u8]]) -> Result<Vec<u8>, Diagnostics> {
    let mut parsed = Vec::new();
    for bytes in modules {
        parsed.push(Module::parse(bytes)?);
    }
    Ok(splitbar_passes::transform::link(&parsed)?.to_bytes())
}
