//! The functions of the module, without the interpreter.

use crate::stop::Stop;
use splitbar::diagnostic::Diagnostics;
use splitbar::spec::{self, Setting};
use splitbar::{
    CheckOptions, Choice, Failure, Isolated, Isolation, Options, Product, Source, SplitPair,
    Target, Worker,
};
use splitbar_passes::module::Module;
use splitbar_passes::pipeline::{self, Step};
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

/// Names and values of options.
pub(crate) type Settings = Vec<(String, String)>;

/// The product of each name; the names are those of `--emit`.
const PRODUCTS: [(&str, Product); 8] = [
    ("asm", Product::Assembly),
    ("obj", Product::Object),
    ("hsaco", Product::CodeObject),
    ("cubin", Product::Cubin),
    ("llvm-ir", Product::Ir),
    ("bitcode", Product::Bitcode),
    ("plan", Product::Plan),
    ("reflect", Product::Reflect),
];

/// The worker and its limits.
#[derive(Clone, PartialEq)]
pub(crate) struct Limits {
    pub(crate) program: PathBuf,
    /// Seconds.
    pub(crate) time: Option<f64>,
    /// Bytes.
    pub(crate) memory: Option<u64>,
}

/// A worker of this thread.
struct Own {
    limits: Limits,
    /// The process that has started it: a child that was forked off must not use it.
    process: u32,
    worker: Worker,
}

thread_local! {
    static WORKER: RefCell<Option<Own>> = const { RefCell::new(None) };
}

/// Compiles in the worker of this thread. The worker is started or replaced if necessary.
pub(crate) fn compile(
    module: Vec<u8>,
    target: &str,
    products: &[String],
    settings: &Settings,
    spec: &[String],
    limits: Limits,
) -> Result<Isolated, Stop> {
    let mut options = Options::new(named(target)?);
    options.choice = Choice::Balanced;
    for (name, value) in settings {
        options.set(name, value)?;
    }
    let products = products.iter().map(|name| product(name));
    let products: Vec<Product> = products.collect::<Result<_, _>>()?;
    let source = Source::new(vec![module], parsed(spec)?);
    let time = limits.time.map(Duration::try_from_secs_f64).transpose();
    let mut isolation = Isolation::default();
    isolation.program = Some(limits.program.clone());
    isolation.time = time.map_err(|error| format!("time_limit: {error}"))?;
    isolation.memory = limits.memory;
    WORKER.with_borrow_mut(|own| {
        let process = std::process::id();
        if own.as_ref().is_some_and(|own| own.process != process) {
            // It belongs to the process that this one was forked off: that one ends it.
            std::mem::forget(own.take());
        }
        if own.as_ref().is_none_or(|own| own.limits != limits) {
            let worker = Worker::new(isolation);
            *own = Some(Own {
                limits,
                process,
                worker,
            });
        }
        match own {
            Some(own) => Ok(own.worker.compile(source, &options, &products, &mut ())?),
            None => Err(Stop::Argument("there is no worker".to_owned())),
        }
    })
}

pub(crate) fn check(
    module: &[u8],
    target: Option<&str>,
    settings: &Settings,
    spec: &[String],
) -> Result<Diagnostics, Stop> {
    let mut options = CheckOptions::default();
    options.target = target.map(named).transpose()?;
    for (name, value) in settings {
        options.set(name, value)?;
    }
    match spec::resolve_for(module, &parsed(spec)?) {
        Ok(spec) => options.spec = spec,
        Err(found) => return Ok(found),
    }
    Ok(splitbar::check(module, &options))
}

pub(crate) fn pairs(module: &[u8], spec: &[String]) -> Result<Vec<SplitPair>, Stop> {
    let spec = spec::resolve_for(module, &parsed(spec)?).map_err(Failure::from)?;
    Ok(splitbar::pairs(module, &spec)?)
}

pub(crate) fn run_passes(module: &[u8], passes: &[String]) -> Result<(Vec<u8>, Diagnostics), Stop> {
    let steps: Vec<Step> = passes
        .iter()
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    let module = Module::parse(module).map_err(Failure::from)?.into_owned();
    let settings = pipeline::Settings::default();
    let outcome = pipeline::run(module, &steps, settings, &mut |_, _| ());
    let outcome = outcome.map_err(Failure::from)?;
    Ok((outcome.module.to_bytes(), outcome.diagnostics))
}

fn parsed(spec: &[String]) -> Result<Vec<Setting>, String> {
    spec.iter().map(|setting| setting.parse()).collect()
}

fn named(target: &str) -> Result<&'static Target, String> {
    Target::named(target).map_err(|why| format!("target {target:?}: {why}"))
}

fn product(name: &str) -> Result<Product, String> {
    let found = PRODUCTS.iter().find(|(known, _)| *known == name);
    found.map(|(_, product)| *product).ok_or_else(|| {
        let names = PRODUCTS.map(|(name, _)| name);
        format!(
            "there is no product {name:?}; there are {}",
            names.join(", ")
        )
    })
}
