//! The worker: takes requests from one stream, and gives events and replies to another.

use super::bytes::Bytes;
use super::group;
use super::message::{self, Event, Request};
use super::product::Product;
use super::source::{Language, Source};
use super::worker_stderr::NO_PASS;
#[cfg(not(feature = "llvm"))]
use crate::interface::interfaces;
use crate::{Artefact, Compiler, Failure, Input, Observer, Options, Output, Stage};
use splitbar_passes::diagnostic::Diagnostics;
use std::io::{self, Read, Write};
use std::sync::mpsc;

/// Memory that a worker reserves and hardly uses: the stacks of its threads, of which LLVM's has
/// 256 MiB.
#[cfg(unix)]
const RESERVED: u64 = 264 << 20;

/// Serves requests from standard input, with events and replies on standard output, until the input
/// ends. Then the owner has exited, and the process ends with everything that it has started, even
/// during a compilation. LLVM reports its passes on standard error, so the process must not be used
/// for anything else. `memory` is its memory limit in bytes.
///
/// # Errors
/// What the system says when the limit cannot be set or a stream breaks.
pub fn serve_isolated(memory: Option<u64>) -> io::Result<()> {
    // Not what a copy of another process may have left in the buffers of the standard streams.
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let from = io::stdin().as_fd().try_clone_to_owned()?;
        let to = io::stdout().as_fd().try_clone_to_owned()?;
        serve(std::fs::File::from(from), std::fs::File::from(to), memory)
    }
    #[cfg(not(unix))]
    serve(io::stdin(), io::stdout().lock(), memory)
}

fn serve(
    mut from: impl Read + Send + 'static,
    mut to: impl Write,
    memory: Option<u64>,
) -> io::Result<()> {
    if let Some(bytes) = memory {
        limit_memory(bytes)?;
    }
    crate::backend::current().end_with_llvm(); // the owner starts another process
    message::greet(&mut to)?;
    crate::backend::current().report_passes(NO_PASS);
    let (requests, next) = mpsc::channel();
    std::thread::spawn(move || {
        while let Ok(Some(request)) = message::receive::<Request>(&mut from) {
            if requests.send(request).is_err() {
                break;
            }
        }
        group::end_own();
    });
    for request in next {
        let mut reporter = Reporter {
            to: &mut to,
            artefacts: request.artefacts,
            result: Ok(()),
        };
        let made = perform(
            &request.source,
            &request.options,
            &request.products,
            &mut reporter,
        );
        reporter.result?;
        let last = match made {
            Ok((products, warnings)) => {
                Event::Done(products.into_iter().map(Bytes).collect(), warnings)
            }
            Err(failure) => Event::Failed(failure.diagnostics),
        };
        message::send(&mut to, &last)?;
    }
    Ok(())
}

#[cfg(unix)]
pub(super) fn limit_memory(bytes: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = Some(bytes.saturating_add(RESERVED));
    let limit = Rlimit {
        current: limit,
        maximum: limit,
    };
    Ok(setrlimit(Resource::Data, limit)?)
}

#[cfg(not(unix))]
pub(super) fn limit_memory(_: u64) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Compiles and generates what is wanted, in this process. A build without LLVM makes plans, and
/// reflections with what is known without code.
///
/// # Errors
/// As [`Compiler::compile`], and what the products' own generation says.
pub fn perform(
    source: &Source,
    options: &Options,
    products: &[Product],
    observer: &mut dyn Observer,
) -> Result<(Vec<Vec<u8>>, Diagnostics), Failure> {
    let (module, options) = source.resolve(options, observer)?;
    let (module, options) = (module.as_ref(), options.as_ref());
    let input = match source.language() {
        Language::SpirV => Input::SpirV(module),
        Language::LlvmIr => Input::LlvmIr(module),
    };
    if products == [Product::Plan] && !options.measure && !options.audit {
        let planned = Compiler::new(options).with_observer(observer).plan(input)?;
        return Ok((vec![planned.to_string().into_bytes()], planned.warnings));
    }
    #[cfg(not(feature = "llvm"))]
    if products == [Product::Reflect] && !options.measure && !options.audit {
        let (entries, warnings) = interfaces(module, options, observer)?;
        let reflection = crate::compile::reflection(&entries, options.target);
        return Ok((vec![reflection.into_bytes()], warnings));
    }
    let mut compiler = Compiler::new(options).with_observer(&mut *observer);
    let output = compiler.compile(input)?;
    // What fails from here on is reported together with the warnings so far.
    generate(&output, products, observer)
        .map(|made| (made, output.warnings().clone()))
        .map_err(|refused| {
            let mut all = output.warnings().clone();
            all.extend(refused);
            all.into()
        })
}

/// The products, in order.
fn generate(
    output: &Output,
    products: &[Product],
    observer: &mut dyn Observer,
) -> Result<Vec<Vec<u8>>, Diagnostics> {
    observer.begin(Stage::Generate);
    if observer.wants_artefacts() {
        observer.produced(Artefact::Assembly, output.assembly()?.as_bytes());
        if let Ok(object) = output.object() {
            observer.produced(Artefact::Object, &object);
        }
        observer.produced(Artefact::Reflect, output.reflect().as_bytes());
    }
    let mut made = Vec::new();
    for product in products {
        if *product == Product::CodeObject {
            observer.begin(Stage::Link);
        }
        made.push(product.of(output)?);
    }
    Ok(made)
}

impl Product {
    /// Generates it.
    fn of(self, output: &Output) -> Result<Vec<u8>, Diagnostics> {
        Ok(match self {
            Product::Ir => output.ir().into_bytes(),
            Product::Bitcode => output.bitcode(),
            Product::Assembly => output.assembly()?.into_bytes(),
            Product::Object => output.object()?,
            Product::CodeObject => output.hsaco()?,
            Product::Cubin => output.cubin()?,
            Product::Plan => output.plan().into_bytes(),
            Product::Reflect => output.reflect().into_bytes(),
        })
    }
}

/// Passes on what happens.
struct Reporter<'w, W> {
    to: &'w mut W,
    artefacts: bool,
    /// The first message that did not get through.
    result: io::Result<()>,
}

impl<W: Write> Reporter<'_, W> {
    fn send(&mut self, event: &Event) {
        if self.result.is_ok() {
            self.result = message::send(self.to, event);
        }
    }
}

impl<W: Write> Observer for Reporter<'_, W> {
    fn begin(&mut self, stage: Stage) {
        self.send(&Event::Begin(stage));
    }

    fn wants_artefacts(&self) -> bool {
        self.artefacts
    }

    fn produced(&mut self, artefact: Artefact, bytes: &[u8]) {
        self.send(&Event::Produced(artefact, Bytes(bytes.to_vec())));
    }
}
