//! The time of the matrix products with each strategy, compared with the vendor's library.

use crate::bundle::{Bundle, Kernel};
use crate::check::{bytes, words};
use crate::device::{BufferId, Device, Factor, Grid, KernelId, Product, Resources, Trouble};
use crate::parameters;
use anyhow::{Context, Result, bail};
use splitbar_tests::reference::products;
use std::fmt::Write as _;

/// Launches before the first that counts: the clocks rise, the caches fill.
const WARM_UP: u32 = 3;

/// Elements of a result that are compared with the host's, spread over the matrix.
const SAMPLES: u32 = 509;

/// The kernels and strategies to time.
#[derive(Copy, Clone, Debug)]
pub struct Choices {
    /// Rows and columns of all matrices; a multiple of 64.
    pub size: u32,
    /// Launches of which the median counts.
    pub runs: u32,
}

/// A line of the table.
#[derive(Clone, Debug)]
struct Row {
    what: String,
    /// Median, in milliseconds; `None` if the device does not measure time.
    time: Option<f32>,
    resources: Option<Resources>,
}

/// A product on the device.
struct Loaded {
    product: products::Product,
    buffers: Vec<BufferId>,
}

/// Times every product of the bundle with every strategy for the newest target that the device
/// runs; a table per kernel. Each result is compared with the host's in a sample of its elements.
///
/// # Errors
/// A wrong result, a failure on the device, or a bundle that cannot be read.
pub fn tables(bundle: &Bundle, device: &mut dyn Device, choices: Choices) -> Result<String> {
    let manifest = bundle.manifest()?;
    let mut text = String::new();
    for case in products::KERNELS {
        let runs: Vec<&Kernel> = manifest
            .kernels
            .iter()
            .filter(|kernel| kernel.case == *case && device.accepts(&kernel.target))
            .collect();
        let Some(newest) = runs.iter().map(|kernel| number(&kernel.target)).max() else {
            continue;
        };
        let mut rows = Vec::new();
        for kernel in runs.iter().filter(|k| number(&k.target) == newest) {
            match row(bundle, kernel, device, choices)? {
                Ok(row) => rows.push(row),
                Err(why) => writeln!(text, "{} is left out: {why}", kernel.label())?,
            }
        }
        if let Some(row) = library_row(case, device, choices)? {
            rows.push(row);
        }
        device.clear();
        text.push_str(&table(case, newest, choices, &rows)?);
    }
    Ok(text)
}

/// The number in `sm_90`.
pub(crate) fn number(target: &str) -> u32 {
    target
        .strip_prefix("sm_")
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0)
}

/// Times one kernel. The inner error is the reason why the device does not run it.
fn row(
    bundle: &Bundle,
    kernel: &Kernel,
    device: &mut dyn Device,
    choices: Choices,
) -> Result<Result<Row, String>> {
    device.clear();
    let loaded = upload(&kernel.case, device, choices)?;
    let case = &loaded.product.case;
    let addresses: Vec<u64> = loaded.buffers.iter().map(|b| device.address(*b)).collect();
    let block = parameters::block(&kernel.arguments, case, &addresses)?;
    let grid = Grid {
        groups: case.groups,
        workgroup_size: case.workgroup_size,
    };
    let time = |device: &mut dyn Device, code: KernelId| {
        median(choices.runs, || device.launch(code, grid, &block))
    };
    let measured = device
        .load(&bundle.ptx(kernel)?, &kernel.symbol)
        .and_then(|code| {
            let resources = device.resources(code, grid.invocations())?;
            Ok((time(device, code)?, resources))
        });
    let (time, resources) = match measured {
        Ok(measured) => measured,
        Err(Trouble::Unsupported(why)) => return Ok(Err(why)),
        Err(Trouble::Failed(why)) => bail!("{}: {why}", kernel.label()),
    };
    compare(&loaded, device).with_context(|| kernel.label())?;
    Ok(Ok(Row {
        what: kernel.strategies(),
        time,
        resources,
    }))
}

/// Times the vendor's library.
fn library_row(case: &str, device: &mut dyn Device, choices: Choices) -> Result<Option<Row>> {
    device.clear();
    let loaded = upload(case, device, choices)?;
    let [a, b, c] = *loaded.buffers.as_slice() else {
        bail!("{case} has {} buffers", loaded.buffers.len());
    };
    let product = Product {
        size: loaded.product.size,
        factor: if loaded.product.halves {
            Factor::F16
        } else {
            Factor::F32
        },
        a,
        b,
        c,
    };
    let Some(time) = median(choices.runs, || device.multiply(&product))? else {
        return Ok(None);
    };
    compare(&loaded, device).context("cuBLAS")?;
    Ok(Some(Row {
        what: "cuBLAS".to_owned(),
        time: Some(time),
        resources: None,
    }))
}

fn upload(case: &str, device: &mut dyn Device, choices: Choices) -> Result<Loaded> {
    let size = [choices.size; 3];
    let product = products::Product::from_parts(case, size).with_context(|| {
        format!(
            "{case} makes no product of matrices of {} rows",
            choices.size
        )
    })?;
    let buffers = product.case.buffers.iter();
    let buffers = buffers
        .map(|buffer| device.allocate(&bytes(&buffer.before)))
        .collect::<Result<_, _>>()?;
    Ok(Loaded { product, buffers })
}

/// The median time of `runs` launches after a few that do not count, or, with none, the time of
/// one. If the device does not measure time, `None` after one launch.
pub(crate) fn median(
    runs: u32,
    mut launch: impl FnMut() -> Result<Option<f32>, Trouble>,
) -> Result<Option<f32>, Trouble> {
    let mut times = Vec::new();
    let warm_up = if runs == 0 { 0 } else { WARM_UP };
    for run in 0..warm_up + runs.max(1) {
        match launch()? {
            None => return Ok(None),
            Some(time) if run >= warm_up => times.push(time),
            Some(_) => {}
        }
    }
    times.sort_by(f32::total_cmp);
    Ok(times.get(times.len() / 2).copied())
}

/// Compares a sample of the result. The elements of A and B are small integers, so every order of
/// summation has the same result.
fn compare(loaded: &Loaded, device: &dyn Device) -> Result<()> {
    let [rows, columns, _] = loaded.product.size;
    let result = loaded.buffers.last().context("no result")?;
    let found = words(&device.read(*result)?);
    for sample in 0..SAMPLES {
        // Primes that have nothing in common with the tiles.
        let (i, j) = (sample * 7919 % rows, sample * 6101 % columns);
        let expected = loaded.product.element(i, j);
        let found = found.get((i * columns + j) as usize).copied().unwrap_or(0);
        anyhow::ensure!(
            f32::from_bits(found) == expected,
            "c[{i}][{j}]: {expected} expected, {} found",
            f32::from_bits(found)
        );
    }
    Ok(())
}

fn table(case: &str, target: u32, choices: Choices, rows: &[Row]) -> Result<String> {
    let fused = rows
        .iter()
        .find(|row| row.what.starts_with("fused"))
        .and_then(|row| row.time);
    let mut text = format!(
        "\n{case}, sm_{target}, {0} x {0} x {0}, median of {1} runs\n\n\
         | strategy | ms | TFLOP/s | fused = 1 | registers | shared bytes | local bytes | workgroups per multiprocessor |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        choices.size, choices.runs
    );
    let operations = 2.0 * f64::from(choices.size).powi(3);
    for row in rows {
        let time = row.time.map_or("-".to_owned(), |ms| format!("{ms:.3}"));
        let rate = row.time.map_or("-".to_owned(), |ms| {
            format!("{:.2}", operations / f64::from(ms) / 1e9)
        });
        let share = row
            .time
            .zip(fused)
            .map_or("-".to_owned(), |(ms, fused)| format!("{:.3}", fused / ms));
        let resources = row.resources.map_or("- | - | - | -".to_owned(), |r| {
            format!(
                "{} | {} | {} | {}",
                r.registers, r.shared, r.local, r.workgroups
            )
        });
        writeln!(
            text,
            "| {} | {time} | {rate} | {share} | {resources} |",
            row.what
        )?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_median_leaves_the_warm_up_out() {
        let mut times = [90.0, 80.0, 70.0, 3.0, 1.0, 2.0].into_iter();
        assert_eq!(median(3, || Ok(times.next())).unwrap(), Some(2.0));
        assert_eq!(median(3, || Ok(None)).unwrap(), None);
    }

    #[test]
    fn the_table_compares_with_fused() {
        let row = |what: &str, time| Row {
            what: what.to_owned(),
            time: Some(time),
            resources: None,
        };
        let choices = Choices {
            size: 1000,
            runs: 5,
        };
        let rows = [row("fused", 2.0), row("mbarrier (default)", 1.0)];
        let text = table("tiled_matmul", 90, choices, &rows).unwrap();
        assert!(text.contains("| fused | 2.000 | 1.00 | 1.000 |"));
        assert!(text.contains("| mbarrier (default) | 1.000 | 2.00 | 2.000 |"));
    }
}
