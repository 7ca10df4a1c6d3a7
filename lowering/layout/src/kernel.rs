//! The input of planning and lowering.

use crate::copies::Copies;
use crate::exchange::exchange_bytes;
use crate::scratch::shared_bytes;
use splitbar_passes::analysis::pairing::Pairing;
use splitbar_passes::analysis::phases::{Aliasing, Narrowed};
use splitbar_passes::analysis::program::Program;
use splitbar_passes::analysis::uses::Reached;
use splitbar_passes::analysis::workgroup_memory::WorkgroupMemory;
use splitbar_passes::diagnostic::{Code, Diagnostic, Diagnostics};
use splitbar_passes::module::EntryPoint;
use splitbar_target::Target;

/// An entry point on a target, prepared once: the check of limits, the plan, the model and the
/// lowering go by it.
#[derive(Clone, Debug)]
pub struct Kernel<'m> {
    /// The entry point.
    pub entry: &'m EntryPoint<'m>,
    /// The target.
    pub target: &'static Target,
    /// Its workgroup size; `None` when only the launch knows it.
    pub workgroup_size: Option<[u32; 3]>,
    /// Its sites and pairs.
    pub pairing: &'m Pairing,
    /// Classes of memory that its barriers name and order nothing of.
    pub narrowed: Narrowed,
    /// Its asynchronous copies; `None` without a function that has some.
    pub copies: Option<Copies>,
    /// Workgroup memory in bytes, before barriers reserve any.
    pub shared_bytes: u32,
    /// Of that, the variables.
    pub variables: WorkgroupMemory,
    /// Of that, what subgroups exchange elements of cooperative matrices through, if it is at most
    /// [`MAX_EXCHANGE_BYTES`](crate::exchange::MAX_EXCHANGE_BYTES).
    pub exchange_bytes: u64,
    /// The functions that it reaches, and which variables they touch.
    pub reached: Reached,
}

/// The options of a kernel.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelOptions {
    /// The workgroup size, where the module leaves it open.
    pub workgroup_size: Option<[u32; 3]>,
    /// True if plain copies become asynchronous ones.
    pub promote_async_copies: bool,
    /// The aliasing to assume when barriers are narrowed; `None` if they order all memory that they
    /// name.
    pub narrowing: Option<Aliasing>,
}

impl<'m> Kernel<'m> {
    /// The kernel of `entry` of `program`.
    ///
    /// # Errors
    /// `Internal` for an entry point of another module; those of [`Reached::analyze`] and
    /// [`Narrowed::analyze`]. To
    /// `diagnostics`: those of [`Pairing::analyse`], and `UnsupportedMode` for another
    /// workgroup size than the module's.
    pub fn analyze(
        program: &'m Program<'_>,
        entry: &'m EntryPoint<'m>,
        target: &'static Target,
        wanted: KernelOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<Kernel<'m>, Diagnostic> {
        let (declarations, constants) = (program.declarations(), program.constants());
        let fixed = declarations.workgroup_size(entry, constants);
        let workgroup_size = workgroup_size(entry, fixed, wanted.workgroup_size, diagnostics);
        let promote = wanted.promote_async_copies;
        let (pairing, found) = program.pairing(entry)?;
        diagnostics.extend(found.clone());
        let reached = Reached::analyze(declarations, constants, entry)?;
        let variables = WorkgroupMemory::touched(declarations, constants, &reached.own);
        let exchange_bytes = exchange_bytes(declarations, constants, entry, &reached);
        Ok(Kernel {
            entry,
            target,
            workgroup_size,
            pairing,
            narrowed: narrowed(program, entry, pairing, found, wanted.narrowing)?,
            copies: Copies::analyze(program, entry, workgroup_size, promote),
            shared_bytes: shared_bytes(
                declarations,
                constants,
                target,
                &reached,
                &variables,
                exchange_bytes,
            ),
            variables,
            exchange_bytes,
            reached,
        })
    }
}

/// What the barriers of `entry` lose, where they may and its pairs are known.
fn narrowed(
    program: &Program<'_>,
    entry: &EntryPoint<'_>,
    pairing: &Pairing,
    found: &Diagnostics,
    narrowing: Option<Aliasing>,
) -> Result<Narrowed, Diagnostic> {
    let (declarations, constants) = (program.declarations(), program.constants());
    let function = declarations.function(entry.function);
    match (narrowing, function) {
        (Some(aliasing), Some(function)) if !found.has_errors() => {
            let cfg = program.cfg(entry)?;
            Narrowed::analyze(declarations, constants, function, cfg, pairing, aliasing)
        }
        _ => Ok(Narrowed::default()),
    }
}

/// The workgroup size: what the module says, else what the caller says.
fn workgroup_size(
    entry: &EntryPoint<'_>,
    fixed: Option<[u32; 3]>,
    asked: Option<[u32; 3]>,
    diagnostics: &mut Diagnostics,
) -> Option<[u32; 3]> {
    if let (Some(fixed), Some(asked)) = (fixed, asked)
        && fixed != asked
    {
        let by = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
        diagnostics.push(
            Diagnostic::error(
                Code::UnsupportedMode,
                format!(
                    "entry point `{}` requires the workgroup size {}; it cannot be {}",
                    entry.name,
                    by(fixed),
                    by(asked)
                ),
            )
            .at_word(entry.inst.offset)
            .help("remove the workgroup size"),
        );
    }
    fixed.or(asked)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn a_kernel_keeps_the_size_that_its_module_says() {
        let target = Target::by_name("sm_90").unwrap();
        fixture("tiled_matmul", |declarations, constants| {
            let program = Program::new(declarations, constants);
            let entry = declarations.entry_points.first().unwrap();
            for (asked, errors) in [(None, 0), (Some([16, 16, 1]), 0), (Some([8, 8, 1]), 1)] {
                let wanted = KernelOptions {
                    workgroup_size: asked,
                    ..KernelOptions::default()
                };
                let mut found = Diagnostics::new();
                let kernel = Kernel::analyze(&program, entry, target, wanted, &mut found).unwrap();
                assert_eq!(kernel.workgroup_size, Some([16, 16, 1]));
                assert_eq!(found.iter().count(), errors, "{found}");
                assert!(found.iter().all(|one| one.code == Code::UnsupportedMode));
                assert_eq!((kernel.shared_bytes, kernel.pairing.pairs.len()), (4096, 1));
            }
        });
    }
}
