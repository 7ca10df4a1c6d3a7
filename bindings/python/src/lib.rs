//! The native part of the Python package `splitbar`: it accepts strings and bytes, and returns
//! bytes and JSON. The package in `python/splitbar` wraps it in Python classes.
//!
//! It does not link LLVM. The wheel contains the program `splitbar`, and each thread that compiles
//! has a worker process of this program. A crash of the compiler is therefore an exception, the
//! interpreter lock is free during a compilation, and the wheel contains LLVM only once.

mod stop;
mod work;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use splitbar::diagnostic::json;
use splitbar_passes::transform::registry::PASSES;
use std::path::PathBuf;
use stop::Refused;
use work::Settings;

/// Compiles in the worker of this thread: the products in order, and warnings as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the package names them")]
fn compile<'py>(
    python: Python<'py>,
    module: Vec<u8>,
    target: &str,
    products: Vec<String>,
    settings: Settings,
    spec: Vec<String>,
    program: PathBuf,
    time: Option<f64>,
    memory: Option<u64>,
) -> PyResult<(Vec<Bound<'py, PyBytes>>, String)> {
    let made = python.detach(|| {
        let limits = work::Limits {
            program,
            time,
            memory,
        };
        work::compile(module, target, &products, &settings, &spec, limits)
    })?;
    let products = made.products.iter();
    let products = products.map(|product| PyBytes::new(python, product));
    Ok((products.collect(), json::render(&made.warnings, "module")))
}

/// The diagnostics of a module, as JSON.
#[pyfunction]
fn check(
    python: Python<'_>,
    module: Vec<u8>,
    target: Option<&str>,
    settings: Settings,
    spec: Vec<String>,
) -> PyResult<String> {
    let found = python.detach(|| work::check(&module, target, &settings, &spec))?;
    Ok(json::render(&found, "module"))
}

/// A pair: entry point, number, scope, words of the arrives, of the waits, operations.
type Pair = (String, u32, String, Vec<usize>, Vec<usize>, u32);

/// The pairs of a module.
#[pyfunction]
fn pairs(python: Python<'_>, module: Vec<u8>, spec: Vec<String>) -> PyResult<Vec<Pair>> {
    let pairs = python.detach(|| work::pairs(&module, &spec))?;
    let words = |words: &[splitbar_passes::module::WordOffset]| {
        words.iter().map(|word| word.index()).collect()
    };
    let row = |pair: splitbar::SplitPair| {
        let (arrives, waits) = (words(&pair.arrives), words(&pair.waits));
        let scope = format!("{:?}", pair.scope).to_lowercase();
        (pair.entry, pair.id, scope, arrives, waits, pair.operations)
    };
    Ok(pairs.into_iter().map(row).collect())
}

/// The module that passes make of another, and warnings as JSON.
#[pyfunction]
fn run_passes<'py>(
    python: Python<'py>,
    module: Vec<u8>,
    passes: Vec<String>,
) -> PyResult<(Bound<'py, PyBytes>, String)> {
    let (bytes, found) = python.detach(|| work::run_passes(&module, &passes))?;
    Ok((PyBytes::new(python, &bytes), json::render(&found, "module")))
}

/// The passes: name, description, and notation of the value.
#[pyfunction]
fn list_passes() -> Vec<(&'static str, &'static str, Option<&'static str>)> {
    let passes = PASSES.iter();
    passes
        .map(|pass| (pass.name, pass.about, pass.value))
        .collect()
}

/// The targets, as JSON.
#[pyfunction]
fn targets() -> PyResult<String> {
    serde_json::to_string(&splitbar::targets())
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The native module.
#[pymodule]
fn _splitbar(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Refused", module.py().get_type::<Refused>())?;
    module.add_function(wrap_pyfunction!(compile, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(pairs, module)?)?;
    module.add_function(wrap_pyfunction!(run_passes, module)?)?;
    module.add_function(wrap_pyfunction!(list_passes, module)?)?;
    module.add_function(wrap_pyfunction!(targets, module)?)
}
