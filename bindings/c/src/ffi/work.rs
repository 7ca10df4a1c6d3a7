//! The calls that check, transform and compile modules.

use super::input::{bytes, list, texts};
use super::options::{Asked, splitbar_options};
use super::refused::Refused;
use super::results::{Made, answer, splitbar_result};
use super::{
    SPLITBAR_ASSEMBLY, SPLITBAR_BITCODE, SPLITBAR_CODE_OBJECT, SPLITBAR_CUBIN, SPLITBAR_LLVM_IR,
    SPLITBAR_OBJECT, SPLITBAR_PLAN, SPLITBAR_REFLECTION, splitbar_product, splitbar_status,
};
use splitbar::{CheckOptions, Product, Source, Worker, check, pairs, perform, spec};
use splitbar_passes::module::Module;
use splitbar_passes::pipeline::{self, Settings, Step};
use std::ffi::c_char;

/// The product of each number.
const PRODUCTS: [(splitbar_product, Product); 8] = [
    (SPLITBAR_ASSEMBLY, Product::Assembly),
    (SPLITBAR_OBJECT, Product::Object),
    (SPLITBAR_CODE_OBJECT, Product::CodeObject),
    (SPLITBAR_CUBIN, Product::Cubin),
    (SPLITBAR_LLVM_IR, Product::Ir),
    (SPLITBAR_BITCODE, Product::Bitcode),
    (SPLITBAR_PLAN, Product::Plan),
    (SPLITBAR_REFLECTION, Product::Reflect),
];

/// Checks a module against the rules of SPIR-V and its client API. If `options` name a target, also
/// checks its limits. The result has diagnostics.
///
/// # Safety
/// `module` points to `size` bytes; `options` is null or a valid structure; `result` is a place
/// for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_check(
    module: *const u8,
    size: usize,
    options: *const splitbar_options,
    result: *mut *mut splitbar_result,
) -> splitbar_status {
    let work = || {
        // SAFETY: as this function's.
        let (module, asked) = unsafe { (bytes(module, size, "module")?, Asked::of(options)?) };
        let mut options = CheckOptions::default();
        options.target = asked.target;
        options.spec = spec::resolve_for(module, &asked.spec)?;
        for (name, value) in &asked.settings {
            options.set(name, value).map_err(Refused::usage)?;
        }
        Ok(Made {
            diagnostics: check(module, &options),
            ..Made::default()
        })
    };
    // SAFETY: as this function's.
    unsafe { answer(result, work) }
}

/// Finds the pairs of arrives and waits. The result has pairs. Only the "spec" settings of the
/// options have an effect.
///
/// # Safety
/// As `splitbar_check`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_list_pairs(
    module: *const u8,
    size: usize,
    options: *const splitbar_options,
    result: *mut *mut splitbar_result,
) -> splitbar_status {
    let work = || {
        // SAFETY: as this function's.
        let (module, asked) = unsafe { (bytes(module, size, "module")?, Asked::of(options)?) };
        let spec = spec::resolve_for(module, &asked.spec)?;
        Ok(Made {
            pairs: pairs(module, &spec)?,
            ..Made::default()
        })
    };
    // SAFETY: as this function's.
    unsafe { answer(result, work) }
}

/// Runs passes over a module, each "name" or "name=value", in order. The result has one product:
/// the transformed module, with the same bytes if nothing changed.
///
/// # Safety
/// `module` points to `size` bytes, `passes` to `count` strings; `result` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_run_passes(
    module: *const u8,
    size: usize,
    passes: *const *const c_char,
    count: usize,
    result: *mut *mut splitbar_result,
) -> splitbar_status {
    let work = || {
        // SAFETY: as this function's.
        let (module, passes) = unsafe {
            (
                bytes(module, size, "module")?,
                texts(passes, count, "passes")?,
            )
        };
        let steps = passes.into_iter().map(str::parse::<Step>);
        let steps = steps
            .collect::<Result<Vec<_>, _>>()
            .map_err(Refused::usage)?;
        let module = Module::parse(module)?.into_owned();
        let outcome = pipeline::run(module, &steps, Settings::default(), &mut |_, _| ())?;
        Ok(Made {
            products: vec![outcome.module.to_bytes()],
            diagnostics: outcome.diagnostics,
            ..Made::default()
        })
    };
    // SAFETY: as this function's.
    unsafe { answer(result, work) }
}

/// Compiles a module for the target of `options`. The result has the requested products, in the
/// order of the request, and warnings.
///
/// # Safety
/// `module` points to `size` bytes, `products` to `count` numbers; `options` is a valid structure;
/// `result` is a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splitbar_compile(
    module: *const u8,
    size: usize,
    options: *const splitbar_options,
    products: *const splitbar_product,
    count: usize,
    result: *mut *mut splitbar_result,
) -> splitbar_status {
    let work = || {
        // SAFETY: as this function's.
        let (module, asked, numbers) = unsafe {
            (
                bytes(module, size, "module")?,
                Asked::of(options)?,
                list(products, count, "products")?,
            )
        };
        let products: Vec<Product> = numbers.iter().map(product).collect::<Result<_, _>>()?;
        let options = asked.options()?;
        let source = Source::new(vec![module.to_vec()], asked.spec);
        let mut log = asked.log;
        let (products, diagnostics) = match asked.isolation {
            Some(isolation) => {
                let made = Worker::new(isolation).compile(source, &options, &products, &mut log)?;
                (made.products, made.warnings)
            }
            None => perform(&source, &options, &products, &mut log)?,
        };
        Ok(Made {
            products,
            diagnostics,
            ..Made::default()
        })
    };
    // SAFETY: as this function's.
    unsafe { answer(result, work) }
}

fn product(number: &splitbar_product) -> Result<Product, Refused> {
    let found = PRODUCTS.iter().find(|(known, _)| known == number);
    let unknown = || Refused::usage(format!("there is no product {number}"));
    found.map(|(_, product)| *product).ok_or_else(unknown)
}
