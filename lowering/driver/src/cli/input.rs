//! Reading the module that a command names.

use std::io::Read;
use std::path::Path;

/// The bytes of the file `input`, or of the standard input for `-`.
///
/// # Errors
/// What the system says, with the name in front.
pub fn read(input: &Path) -> Result<Vec<u8>, String> {
    if input == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(|error| format!("standard input: {error}"))?;
        Ok(bytes)
    } else {
        std::fs::read(input).map_err(|error| format!("{}: {error}", input.display()))
    }
}
