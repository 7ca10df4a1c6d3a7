//! What `lower` and `lower-ir` have in common: how code is made, and where it goes.

use super::emit::{Emit, EmitArg, EmitParser};
use super::limits::LimitArgs;
use super::strategy::{StrategyArg, strategies_and_choices};
use super::values::{Format, WaitsArg, levels, parse_size, wave_sizes};
use super::warnings::WarningArgs;
use clap::Args;
use splitbar::{Optimization, Options};
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
pub(super) struct CodeArgs {
    /// How workgroup-scope split barriers are lowered
    #[arg(long, default_value = "auto", value_parser = strategies_and_choices())]
    pub(super) strategy: StrategyArg,
    /// LLVM's optimisation level
    #[arg(short = 'O', value_name = "LEVEL", default_value = "2", value_parser = levels())]
    pub(super) optimization: Optimization,
    /// Invocations of a wave
    ///
    /// Without it, the target's default.
    #[arg(long, value_name = "SIZE", value_parser = wave_sizes())]
    pub(super) wave: Option<u32>,
    /// Waits for outstanding memory at barriers (AMDGPU)
    #[arg(long, value_enum, default_value_t = WaitsArg::Auto)]
    pub(super) waits: WaitsArg,
    /// The workgroup size of kernels that leave it open
    ///
    /// In SPIR-V also that of specialization constants without a --spec.
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_size)]
    pub(super) workgroup_size: Option<[u32; 3]>,
    /// What is written, and where if not to -o; may be repeated
    ///
    /// Without it asm. Several outputs are of one compilation.
    #[arg(long, value_name = "KIND[=FILE]", value_parser = EmitParser)]
    pub(super) emit: Vec<EmitArg>,
    /// Where an output without a file of its own goes; `-`: standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// With --emit plan: counts what is left of each window
    ///
    /// --emit reflect always does.
    #[arg(long)]
    pub(super) measure: bool,
    /// Fails if the assembly lacks a wait or a fence that the plan promises
    ///
    /// Or an invalidation, or a write-back. --emit reflect shows the audit: docs/audit.md.
    #[arg(long)]
    pub(super) audit: bool,
    /// Lets the compiler close windows, to see the effect
    #[arg(long)]
    pub(super) no_window_guards: bool,
    /// Rounds quotients and square roots of 32 and 16 bits correctly
    ///
    /// Without it they have the errors that Vulkan and OpenCL allow: docs/features.md.
    #[arg(long)]
    pub(super) correctly_rounded_divide_sqrt: bool,
    /// The ptxas, if not that of SPLITBAR_PTXAS or PATH
    ///
    /// For --emit cubin, and for windows in machine code.
    #[arg(long, value_name = "FILE")]
    pub(super) ptxas: Option<PathBuf>,
    /// The linker, if not that of SPLITBAR_LLD or PATH
    ///
    /// For --emit hsaco: a path to ld.lld, lld or rust-lld; without one, that of Rust's tool chain.
    #[arg(long, value_name = "FILE")]
    pub(super) lld: Option<PathBuf>,
    /// How problems are printed
    ///
    /// On the standard error.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) diagnostics: Format,
    #[command(flatten)]
    pub(super) warnings: WarningArgs,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

impl CodeArgs {
    /// Sets what these arguments say of the code.
    pub(super) fn set(&self, options: &mut Options) {
        self.strategy.set(options);
        options.window_guards = !self.no_window_guards;
        options.optimization = self.optimization;
        options.wave_size = self.wave;
        options.waits = self.waits.into();
        options.correctly_rounded_divide_sqrt = self.correctly_rounded_divide_sqrt;
        options.ptxas.clone_from(&self.ptxas);
        options.lld.clone_from(&self.lld);
        options.workgroup_size = self.workgroup_size;
        options.audit = self.audit;
        options.measure = self.measure || self.reflects();
    }

    /// Whether a reflection is written: who asks for all of it gets the windows measured.
    pub(super) fn reflects(&self) -> bool {
        self.emit.iter().any(|one| one.kind == Emit::Reflect)
    }
}
