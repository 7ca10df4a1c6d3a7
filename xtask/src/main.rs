//! Project automation: `cargo xtask COMMAND`.
//!
//! This crate does not depend on LLVM: it is what provides it. Every command that needs LLVM calls
//! [`llvm::ensure`] first, so that a machine that lacks something hears it in one sentence before
//! cargo starts to build.

mod bench;
mod book;
mod ci;
mod corpus;
mod demo;
mod disk;
mod dist;
mod each;
mod features;
mod fixtures;
mod gpu;
mod header;
mod linker;
mod llvm;
mod nvidia;
mod outdated;
mod package;
mod page;
mod portable;
mod release;
mod shell;
mod soak;
mod spelling;
mod split;
mod system;
mod tables;
mod targets;
mod test;
mod tidy;
mod unify;
mod wheel;
mod wheels;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "Project automation"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find LLVM 23.1, or install the pinned static one into .llvm/ (every other command that needs
    /// it calls this)
    Llvm,
    /// Find NVIDIA's ptxas and nvdisasm, or install pinned ones into .llvm/ (under NVIDIA's
    /// licence) for the tests that need them
    Ptxas,
    /// Find a browser, tsc and axe-core for the tests of the page of `report`, or install them:
    /// from the system's packages, and pinned into .llvm/
    Page,
    /// Lower the tiled matrix multiply for three GPUs and show the barrier lines of each assembly
    /// side by side
    Demo,
    /// Run the tests of the workspace: of the suite over the fixtures, a sample of each family
    Test(test::Options),
    /// Run random programs and fuzzers with new seeds for as long as asked
    Soak(soak::Options),
    /// Run the benchmarks
    Bench {
        /// Passed on to the benchmarks
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        filter: Vec<String>,
    },
    /// Run tests and rewrite what they compare with: snapshots, generated pages, expectations
    Bless {
        /// A part of the tests' names, for example `filetest/scan`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        filter: Vec<String>,
    },
    /// Compile the sources of fixtures/kernels again with the commands that they record
    Fixtures {
        /// Only these kernels
        names: Vec<String>,
    },
    /// Compile every module of the corpus for every target, and write docs/corpus.md; or those of a
    /// folder, and print the same
    Corpus(corpus::Options),
    /// Write docs/amdgpu.md: what is left of each window, and which waits stand in the loops of
    /// AMDGPU code
    Amdgpu(tables::Options),
    /// Write docs/nvptx.md: what each strategy costs and keeps on NVIDIA GPUs (needs ptxas)
    Nvptx(tables::Options),
    /// Write docs/choice_tables.md: the advised strategy for each kernel (registers of NVIDIA GPUs
    /// need ptxas)
    Choose(tables::Options),
    /// Write docs/splitting.md: how much work comes into the windows of the corpus' barriers
    Split,
    /// Write docs/splitting_code.md: what splitting the barriers of the corpus does to registers,
    /// residency and windows (registers of NVIDIA GPUs need ptxas)
    SplitCode(tables::Options),
    /// Write docs/pipelining_code.md: what `--pipeline-loops auto` does with the matrix products of
    /// the corpus
    PipelineLoops(tables::Options),
    /// Run every kernel with every strategy on a CUDA device, compare the results, and time the
    /// matrix products; or on the simulator
    Gpu(gpu::Options),
    /// Generate the table of targets from fixtures/targets
    Targets {
        /// Only say whether the table is fresh
        #[arg(long)]
        check: bool,
    },
    /// Generate the C header from bindings/c
    Header {
        /// Only say whether it is fresh
        #[arg(long)]
        check: bool,
    },
    /// Write an archive: programs, libraries, header, pkg-config and CMake files, manual pages,
    /// completions, licences
    Dist(dist::Options),
    /// Build the Python wheel, by maturin
    Wheel(wheel::Options),
    /// Make a release: version, change log, archive, wheel, bill of materials, checksums, a dry run
    /// of publishing, commit and tag; nothing is pushed
    Release(release::Options),
    /// Make the packages of the crates and ask the registry whether it would take them
    Package {
        /// Build each package as its users do: needs LLVM, and takes minutes
        #[arg(long)]
        verify: bool,
    },
    /// Check splitbar-passes with the oldest Rust that its manifest names, and for wasm32; rustup
    /// installs what is missing
    Portable,
    /// Ask cargo-deny about licences and sources; it is installed where it is missing
    Deny,
    /// Say which dependencies have newer releases, by the registry's index; changes nothing
    Outdated,
    /// Make a book of docs/, by mdBook (installed where it is missing), and check its links
    Book,
    /// Check the spelling of all files, by typos (installed into .llvm/ where it is missing)
    Spelling,
    /// Check what no compiler checks: crate edges, fixtures, generated files, words that must not
    /// land
    Tidy,
    /// Everything that must hold before a change lands: format, lints, documentation, tidy, and of
    /// the tests a share that goes with the commit (`test --all` runs all)
    Ci,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The causes, one a line; a backtrace of this program helps nobody.
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  because: {cause}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Llvm => {
            let found = llvm::ensure()?;
            println!("LLVM {} at {}", found.version, found.prefix.display());
            Ok(())
        }
        Command::Ptxas => {
            for program in nvidia::ensure()? {
                println!("{}", program.display());
            }
            Ok(())
        }
        Command::Page => {
            system::ensure();
            println!("{}", page::ensure()?.display());
            Ok(())
        }
        Command::Demo => demo::run(),
        Command::Test(options) => test::run(&options),
        Command::Soak(options) => soak::run(&options),
        Command::Bench { filter } => bench::run(&filter),
        Command::Bless { filter } => test::bless(&filter),
        Command::Fixtures { names } => fixtures::run(&names),
        Command::Corpus(options) => corpus::run(&options),
        Command::Amdgpu(options) => tables::amdgpu::run(&options),
        Command::Nvptx(options) => tables::nvptx::run(&options),
        Command::Choose(options) => tables::choice::run(&options),
        Command::Split => split::run(),
        Command::SplitCode(options) => tables::splitting::run(&options),
        Command::PipelineLoops(options) => tables::pipelining::run(&options),
        Command::Gpu(options) => gpu::run(&options),
        Command::Targets { check } => targets::run(check),
        Command::Header { check } => header::run(check),
        Command::Dist(options) => dist::run(&options),
        Command::Wheel(options) => wheel::run(&options),
        Command::Release(options) => release::run(&options),
        Command::Package { verify } => package::packages(verify),
        Command::Portable => portable::run(),
        Command::Deny => package::deny(),
        Command::Outdated => outdated::run(),
        Command::Book => book::run(),
        Command::Spelling => spelling::check(),
        Command::Tidy => tidy::run(),
        Command::Ci => ci::run(),
    }
}
