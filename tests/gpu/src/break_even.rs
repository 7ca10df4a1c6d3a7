//! From which delay on a split barrier pays: phases in which one wave is late, with every strategy.
//!
//! `fixtures/timing/uneven.comp` is compiled for several numbers of waves and windows. In each
//! phase one wave, another one each time, works so many steps longer than the others before it
//! arrives; behind its arrival every wave works for the window. A step is an iteration of a loop
//! with one multiply-add.

use crate::bundle::{Bundle, Kernel, Point};
use crate::check::{bytes, words};
use crate::device::{Device, Grid, KernelId, Trouble};
use crate::parameters;
use crate::timing::{median, number};
use anyhow::{Context, Result, bail};
use splitbar_tests::reference::{Buffer, BufferName, Case, Element};
use std::fmt::Write as _;

/// Waves of a workgroup.
pub const WAVES: [u32; 3] = [2, 8, 32];
/// Steps of the window.
pub const WINDOWS: [u32; 4] = [0, 16, 64, 256];
/// Numbers of resident workgroups of a multiprocessor.
const RESIDENT: [u32; 4] = [1, 2, 4, 8];
/// Waves that a multiprocessor holds at least, on every GPU (CUDA C++ Programming Guide, Technical
/// Specifications per Compute Capability: sm_75 has the fewest).
const MOST_WAVES: u32 = 32;
/// Steps by which one wave is late.
const DELAYS: [u32; 4] = [0, 32, 128, 512];
/// Steps of every wave before it arrives.
const STEPS: u32 = 8;
/// Phases of a launch: the default of the constant `PHASES`.
const PHASES: u32 = 16;
/// Invocations of a wave.
const LANES: u32 = 32;

/// Waves and windows of all points, in the order of the table.
pub fn points() -> Vec<(u32, u32)> {
    let windows = |waves| WINDOWS.map(|window| (waves, window));
    WAVES.into_iter().flat_map(windows).collect()
}

/// The name of the kernel of a point, with which its file name begins.
pub(crate) fn name(waves: u32, window: u32) -> String {
    format!("uneven.{waves}.{window}")
}

/// The values of its specialization constants, in the notation of `--spec`.
pub(crate) fn constants(waves: u32, window: u32) -> [String; 2] {
    [format!("0={window}"), format!("2={}", waves * LANES)]
}

impl Point {
    /// The launch of so many workgroups in which one wave is `delay` steps late, with its expected
    /// result.
    pub fn case(&self, groups: u32, delay: u32) -> Case {
        let (waves, size) = (self.waves, self.waves * LANES);
        let steps = |wave: u32, phase: u32| {
            if phase % waves == wave {
                STEPS + delay
            } else {
                STEPS
            }
        };
        let one: Vec<u32> = (0..waves)
            .flat_map(|wave| (0..PHASES).map(move |phase| steps(wave, phase)))
            .collect();
        let step = |value: f32| value.mul_add(0.5, 3.0);
        let mut x: Vec<f32> = (0..size).map(|t| t as f32).collect();
        let mut y: Vec<f32> = (0..size).map(|t| (t + 1) as f32).collect();
        for phase in 0..PHASES {
            for (value, t) in x.iter_mut().zip(0u32..) {
                *value = (0..steps(t / LANES, phase)).fold(*value, |value, _| step(value));
            }
            let published = x.clone();
            let neighbours = published.iter().cycle().skip(LANES as usize);
            for (value, other) in x.iter_mut().zip(neighbours) {
                *value += other;
            }
            for value in &mut y {
                *value = (0..self.window).fold(*value, |value, _| step(value));
            }
        }
        let results: Vec<u32> = x.iter().zip(&y).map(|(x, y)| (x + y).to_bits()).collect();
        let of_all = |words: &[u32]| words.repeat(groups as usize);
        let buffer = |binding, name: &str, before, after| Buffer {
            place: BufferName::Binding(0, binding),
            name: name.to_owned(),
            element: Element::F32 { tolerance: 0.0 },
            before,
            after,
        };
        Case {
            groups: [groups, 1, 1],
            workgroup_size: [size, 1, 1],
            push_constants: Vec::new(),
            buffers: vec![
                buffer(0, "steps", of_all(&one), None),
                buffer(
                    1,
                    "results",
                    vec![0; (size * groups) as usize],
                    Some(of_all(&results)),
                ),
            ],
        }
    }
}

/// Nanoseconds of a phase at each of [`DELAYS`].
type Phases = [f32; DELAYS.len()];

/// A table for the newest target that the device runs: what a phase takes with full barriers, and
/// what it takes with each strategy as a share of that. All results are compared with those that
/// the host computes. The time is the median of `runs` launches after a few that do not count; with
/// none, that of one.
///
/// # Errors
/// A wrong result, a failure on the device, or a bundle that cannot be read.
pub fn table(bundle: &Bundle, device: &mut dyn Device, runs: u32) -> Result<String> {
    let manifest = bundle.manifest()?;
    let mut points: Vec<&Point> = manifest.points.iter().collect();
    points.retain(|point| device.accepts(&point.kernel.target));
    let newest = points.iter().map(|point| number(&point.kernel.target));
    let Some(newest) = newest.max() else {
        return Ok(String::new());
    };
    points.retain(|point| number(&point.kernel.target) == newest);
    let mut text = head(newest, runs);
    for waves in WAVES {
        for resident in RESIDENT.into_iter().filter(|n| n * waves <= MOST_WAVES) {
            for window in WINDOWS {
                let same = |point: &&&Point| (point.waves, point.window) == (waves, window);
                let mut fused = None;
                for point in points.iter().filter(same) {
                    let phases = match measured(bundle, point, device, resident, runs)? {
                        Ok(Some(phases)) => phases,
                        Ok(None) => continue, // a device without a clock
                        Err(why) => {
                            writeln!(text, "{} is left out: {why}", point.kernel.label())?;
                            continue;
                        }
                    };
                    // The full barrier is compiled first.
                    let fused = *fused.get_or_insert(phases);
                    text.push_str(&row(point, resident, fused, phases)?);
                }
            }
        }
    }
    Ok(text)
}

fn head(target: u32, runs: u32) -> String {
    let delays = DELAYS.map(|delay| format!(" {delay} late |")).concat();
    let rules = " --: |".repeat(DELAYS.len());
    let launches = match runs {
        0 => "estimated".to_owned(),
        _ => format!("median of {runs} launches"),
    };
    format!(
        "\nsm_{target}, {PHASES} phases a launch, {launches}\n\n\
         | waves | at once | window | strategy | ns a phase |{delays} pays from |\n\
         | --: | --: | --: | --- | --: |{rules} --: |\n"
    )
}

fn row(point: &Point, resident: u32, fused: Phases, phases: Phases) -> Result<String> {
    let mut text = format!(
        "| {} | {resident} | {} | {} | {:.0} |",
        point.waves,
        point.window,
        point.kernel.strategies(),
        phases.first().copied().unwrap_or_default(),
    );
    let shares: Vec<f32> = phases
        .iter()
        .zip(fused)
        .map(|(one, all)| one / all)
        .collect();
    for share in &shares {
        write!(text, " {share:.3} |")?;
    }
    let from = pays_from(&shares).map_or("-".to_owned(), |delay| format!("{delay:.0}"));
    writeln!(text, " {from} |")?;
    Ok(text)
}

/// The delay from which on the share is below 1, between two of [`DELAYS`] in a straight line;
/// `None` where it is not below 1 at the longest of them.
fn pays_from(shares: &[f32]) -> Option<f32> {
    let paying = shares
        .iter()
        .rev()
        .take_while(|share| **share < 1.0)
        .count();
    let first = shares.len().checked_sub(paying).filter(|_| paying > 0)?;
    let to = *DELAYS.get(first)? as f32;
    let Some(before) = first.checked_sub(1) else {
        return Some(to);
    };
    let (from, above, below) = (
        *DELAYS.get(before)? as f32,
        *shares.get(before)?,
        *shares.get(first)?,
    );
    Some(from + (to - from) * (above - 1.0) / (above - below))
}

/// Times a point with each delay; the inner error is the reason why the device does not run it.
fn measured(
    bundle: &Bundle,
    point: &Point,
    device: &mut dyn Device,
    resident: u32,
    runs: u32,
) -> Result<Result<Option<Phases>, String>> {
    let ptx = bundle.ptx(&point.kernel)?;
    let mut phases = Phases::default();
    for (delay, phase) in DELAYS.into_iter().zip(&mut phases) {
        device.clear();
        let code = match device.load(&ptx, &point.kernel.symbol) {
            Ok(code) => code,
            Err(Trouble::Unsupported(why)) => return Ok(Err(why)),
            Err(Trouble::Failed(why)) => bail!("{}: {why}", point.kernel.label()),
        };
        let case = point.case(resident * device.multiprocessors(), delay);
        let time = launched(&case, &point.kernel, code, device, runs);
        match time.with_context(|| point.kernel.label())? {
            None => return Ok(Ok(None)),
            Some(ms) => *phase = ms * 1e6 / PHASES as f32,
        }
    }
    device.clear();
    Ok(Ok(Some(phases)))
}

/// The median time of a launch in milliseconds, its results compared.
fn launched(
    case: &Case,
    kernel: &Kernel,
    code: KernelId,
    device: &mut dyn Device,
    runs: u32,
) -> Result<Option<f32>> {
    let buffers = case.buffers.iter();
    let buffers = buffers
        .map(|buffer| device.allocate(&bytes(&buffer.before)))
        .collect::<Result<Vec<_>, _>>()?;
    let addresses: Vec<u64> = buffers.iter().map(|id| device.address(*id)).collect();
    let block = parameters::block(&kernel.arguments, case, &addresses)?;
    let grid = Grid {
        groups: case.groups,
        workgroup_size: case.workgroup_size,
    };
    let time = median(runs, || device.launch(code, grid, &block))?;
    let found = buffers.iter().map(|id| Ok(words(&device.read(*id)?)));
    let found = found.collect::<Result<Vec<_>, Trouble>>()?;
    let found: Vec<&[u32]> = found.iter().map(Vec::as_slice).collect();
    case.compare(&found).map_err(anyhow::Error::msg)?;
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_pays_between_two_delays() {
        assert_eq!(pays_from(&[1.1, 1.1, 0.9, 0.8]), Some(80.0));
        assert_eq!(pays_from(&[0.9, 0.9, 0.9, 0.8]), Some(0.0));
        // Once is not from then on.
        assert_eq!(pays_from(&[0.9, 1.1, 1.05, 1.0]), None);
    }
}
