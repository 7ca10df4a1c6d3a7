//! Runs the kernels of a bundle, and compares the contents of their buffers with the host
//! references.

use crate::bundle::{Bundle, Kernel};
use crate::device::{Device, Grid, Trouble};
use crate::parameters;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use splitbar_tests::reference::Case;

/// The outcome of one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// The contents of the buffers are those of the reference. The time is in milliseconds, if the
    /// device measures it.
    Right(Option<f32>),
    /// The device cannot run it, and why.
    LeftOut(String),
    /// A wrong result or a failure.
    Wrong(String),
}

/// Runs one kernel.
///
/// # Errors
/// The bundle cannot be read.
pub fn kernel(bundle: &Bundle, kernel: &Kernel, device: &mut dyn Device) -> Result<Outcome> {
    if !device.accepts(&kernel.target) {
        return Ok(Outcome::LeftOut(format!(
            "the device does not run code for {}",
            kernel.target
        )));
    }
    let (ptx, case) = (bundle.ptx(kernel)?, bundle.case(&kernel.case)?);
    let outcome = match launch(kernel, &ptx, &case, device) {
        Ok((found, time)) => {
            let found: Vec<&[u32]> = found.iter().map(Vec::as_slice).collect();
            match case.compare(&found) {
                Ok(()) => Outcome::Right(time),
                Err(difference) => Outcome::Wrong(difference),
            }
        }
        Err(Trouble::Unsupported(why)) => Outcome::LeftOut(why),
        Err(Trouble::Failed(why)) => Outcome::Wrong(why),
    };
    device.clear();
    Ok(outcome)
}

/// Launches once; the words of each buffer afterwards, and the time.
fn launch(
    kernel: &Kernel,
    ptx: &str,
    case: &Case,
    device: &mut dyn Device,
) -> Result<(Vec<Vec<u32>>, Option<f32>), Trouble> {
    let loaded = device.load(ptx, &kernel.symbol)?;
    let buffers = case
        .buffers
        .iter()
        .map(|buffer| device.allocate(&bytes(&buffer.before)))
        .collect::<Result<Vec<_>, _>>()?;
    let addresses: Vec<u64> = buffers.iter().map(|id| device.address(*id)).collect();
    let block = parameters::block(&kernel.arguments, case, &addresses)
        .map_err(|error| Trouble::Unsupported(format!("{error:#}")))?;
    let grid = Grid {
        groups: case.groups,
        workgroup_size: case.workgroup_size,
    };
    let time = device.launch(loaded, grid, &block)?;
    let found = buffers
        .iter()
        .map(|id| Ok(words(&device.read(*id)?)))
        .collect::<Result<Vec<_>, _>>()?;
    Ok((found, time))
}

/// The bytes of words, as every device here has them.
pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The words of bytes.
pub(crate) fn words(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}
