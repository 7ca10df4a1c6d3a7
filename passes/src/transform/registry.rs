//! The table of passes. A pass is registered once, here: its name is the name of its file and of
//! its flag and, in capitals, of its constant in the library.

use super::fill_split_barrier_windows;
use super::fuse_split_barriers;
pub use super::options::PassOptions;
use super::options::{Ahead, Buffers, Fill, FuseAt, PipelineLoops};
use super::rewrite::RewrittenModule;
use super::{
    branch_on_predicates, eliminate_redundant_control_barriers, eliminate_redundant_split_barriers,
    freeze_specialization_constants, fuse_narrow_split_barriers, inline, instrument_barrier_skew,
    instrument_split_barriers, link_device_library, modernize_cooperative_matrices,
    move_split_barriers, narrow_barrier_semantics, narrow_barriers_to_subgroups,
    order_split_barriers, pipeline_barrier_loops, prefetch_barrier_loop_loads,
    promote_async_copies, scalarize_pointer_vectors, split_control_barriers,
    strip_split_barrier_alias, unroll_barrier_loops,
};
use crate::diagnostic::Diagnostics;
use crate::module::{Declarations, Module, SplitBarrierExtension};
use crate::profile::Gpu;
use std::collections::BTreeSet;

/// Runs a pass: `None` when the module is right as it is, and only then.
type Run = fn(
    &Module<'_>,
    &Declarations<'_>,
    &PassOptions,
    &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics>;

/// A pass.
///
/// ```
/// use splitbar_passes::module::Module;
/// use splitbar_passes::pipeline::{self, Settings, Step};
/// use splitbar_passes::transform::registry::FUSE_SPLIT_BARRIERS;
///
/// let bytes = include_bytes!("../../../fixtures/kernels/reduction/reduction.spv");
/// let pass = FUSE_SPLIT_BARRIERS;
/// let step = Step { pass, options: pass.options(Some("arrive"))? };
/// let module = Module::parse(bytes)?.into_owned();
/// let outcome = pipeline::run(module, &[step], Settings::default(), &mut |_, _| ())?;
/// assert!(outcome.ran[0].changed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pass {
    /// Its flag without the dashes.
    pub name: &'static str,
    /// Its effect, in one line.
    pub about: &'static str,
    /// The form of its value; `None` if it has none.
    pub value: Option<&'static str>,
    /// True if it takes no barriers of the workgroup away, makes none of several, and brings no
    /// accesses from elsewhere: then accesses can be asked whether they keep the order that
    /// barriers give them.
    pub keeps_order: bool,
    parse: fn(Option<&str>) -> Option<PassOptions>,
    run: Run,
}

/// Declares passes: a constant for each, and the table of all of them.
macro_rules! passes {
    ($($handle:ident { name: $name:literal, about: $about:literal, $($rest:tt)* })*) => {
        $(
            #[doc = concat!("`--", $name, "`: ", $about, ".")]
            pub const $handle: &Pass = &Pass { name: $name, about: $about, $($rest)* };
        )*

        /// All passes, in the order of their names.
        pub const PASSES: &[&Pass] = &[$($handle),*];
    };
}

passes! {
    BRANCH_ON_PREDICATES {
        name: "branch-on-predicates",
        about: "replace predicated loads and stores (SPV_INTEL_predicated_io) with branches",
        value: None,
        keeps_order: true,
        parse: none,
        run: branch_on_predicates::run,
    }
    ELIMINATE_REDUNDANT_CONTROL_BARRIERS {
        name: "eliminate-redundant-control-barriers",
        about: "remove OpControlBarriers that order no accesses",
        value: Some("all-memory"),
        keeps_order: false,
        parse: all_memory,
        run: eliminate_redundant_control_barriers::run,
    }
    ELIMINATE_REDUNDANT_SPLIT_BARRIERS {
        name: "eliminate-redundant-split-barriers",
                about: "remove pairs and barriers that are redundant because of another barrier in the same block, or of barriers on all paths to or from it",
        value: None,
        keeps_order: false,
        parse: none,
        run: eliminate_redundant_split_barriers::run,
    }
    FILL_SPLIT_BARRIER_WINDOWS {
        name: "fill-split-barrier-windows",
                about: "move instructions into the windows: down past arrives, and up past waits (docs/splitting.md)",
        value: Some("live:N,all-memory"),
        keeps_order: true,
        parse: fill,
        run: fill_split_barrier_windows::run,
    }
    FREEZE_SPECIALIZATION_CONSTANTS {
        name: "freeze-specialization-constants",
        about: "replace uses of specialization constants in functions with their default values",
        value: None,
        keeps_order: true,
        parse: none,
        run: freeze_specialization_constants::run,
    }
    FUSE_NARROW_SPLIT_BARRIERS {
        name: "fuse-narrow-split-barriers",
        about: "fuse pairs with fewer than N instructions in their window into one OpControlBarrier",
        value: Some("N"),
        keeps_order: true,
        parse: narrow,
        run: fuse_narrow_split_barriers::run,
    }
    FUSE_SPLIT_BARRIERS {
        name: "fuse-split-barriers",
        about: "replace arrive and wait with OpControlBarrier, at the wait (default) or at the arrive",
        value: Some("wait|arrive"),
        keeps_order: false,
        parse: fuse_at,
        run: fuse_split_barriers::run,
    }
    INLINE_BARRIER_FUNCTIONS {
        name: "inline-barrier-functions",
        about: "inline functions that contain control barriers into their callers",
        value: None,
        keeps_order: false,
        parse: none,
        run: |module, declarations, _, _| inline::inline_barrier_functions(module, declarations),
    }
    INSTRUMENT_BARRIER_SKEW {
        name: "instrument-barrier-skew",
        about: "record the clock before and after each workgroup barrier in a storage buffer (docs/profile.md)",
        value: Some("set:N,binding:N[,target:GPU,wave:N]"),
        keeps_order: false,
        parse: clocks,
        run: instrument_barrier_skew::run,
    }
    INSTRUMENT_SPLIT_BARRIERS {
        name: "instrument-split-barriers",
        about: "check VUIDs 13559 to 13561 at run time, and write the first violation to a storage buffer",
        value: Some("set:N,binding:N"),
        keeps_order: false,
        parse: buffer,
        run: instrument_split_barriers::run,
    }
    LINK_DEVICE_LIBRARY {
        name: "link-device-library",
                about: "add definitions of imported functions: those of SYCL's device library and the C library, and the wrappers of SPIR-V instructions",
        value: None,
        keeps_order: false,
        parse: none,
        run: link_device_library::run,
    }
    MODERNIZE_COOPERATIVE_MATRICES {
        name: "modernize-cooperative-matrices",
        about: "convert matrices of SPV_NV_cooperative_matrix to SPV_KHR_cooperative_matrix",
        value: None,
        keeps_order: true,
        parse: none,
        run: modernize_cooperative_matrices::run,
    }
    MOVE_SPLIT_BARRIERS {
        name: "move-split-barriers",
        about: "move arrives up and waits down, past instructions that the barrier does not have to order",
        value: Some("all-memory"),
        keeps_order: true,
        parse: all_memory,
        run: move_split_barriers::run,
    }
    NARROW_BARRIER_SEMANTICS {
        name: "narrow-barrier-semantics",
        about: "remove from each barrier the storage classes in which it orders no accesses",
        value: Some("aliased"),
        keeps_order: false,
        parse: aliased,
        run: narrow_barrier_semantics::run,
    }
    NARROW_BARRIERS_TO_SUBGROUPS {
        name: "narrow-barriers-to-subgroups",
        about: "replace workgroup barriers by subgroup barriers (of N invocations) if no accesses of different subgroups conflict",
        value: Some("N"),
        keeps_order: false,
        parse: subgroups,
        run: narrow_barriers_to_subgroups::run,
    }
    ORDER_SPLIT_BARRIERS {
        name: "order-split-barriers",
        about: "if an arrive has no wait, insert one before the next OpControlBarrier of the same scope, or before the shader returns",
        value: None,
        keeps_order: false,
        parse: none,
        run: order_split_barriers::run,
    }
    PIPELINE_BARRIER_LOOPS {
        name: "pipeline-barrier-loops",
                about: "load the data of a loop's next iteration in the current one, with two workgroup-memory buffers and one split barrier",
        value: Some("loads|stage|copies|one-buffer|alternate,3|4,always-store,plain,aliased,all-memory,words:N,memory:BYTES"),
        keeps_order: false,
        parse: pipeline_loops,
        run: pipeline_barrier_loops::run,
    }
    PREFETCH_BARRIER_LOOP_LOADS {
        name: "prefetch-barrier-loop-loads",
        about: "prefetch, one iteration ahead, the values that a loop stores to workgroup memory (docs/splitting.md)",
        value: None,
        keeps_order: true,
        parse: none,
        run: prefetch_barrier_loop_loads::run,
    }
    PROMOTE_ASYNC_COPIES {
        name: "promote-async-copies",
                about: "mark copies from global to workgroup memory that can be asynchronous, and where to wait for them (docs/async.md)",
        value: None,
        keeps_order: false,
        parse: none,
        run: promote_async_copies::run,
    }
    SCALARIZE_POINTER_VECTORS {
        name: "scalarize-pointer-vectors",
        about: "split gathers, scatters and vectors of pointers (SPV_INTEL_masked_gather_scatter) into components",
        value: None,
        keeps_order: true,
        parse: none,
        run: scalarize_pointer_vectors::run,
    }
    SPLIT_CONTROL_BARRIERS {
        name: "split-control-barriers",
        about: "replace each OpControlBarrier with an arrive directly followed by its wait",
        value: None,
        keeps_order: true,
        parse: none,
        run: split_control_barriers::run,
    }
    STRIP_SPLIT_BARRIER_ALIAS {
        name: "strip-split-barrier-alias",
        about: "keep only the EXT or the INTEL name of the extension and of its capability",
        value: Some("ext|intel"),
        keeps_order: false,
        parse: extension,
        run: strip_split_barrier_alias::run,
    }
    UNROLL_BARRIER_LOOPS {
        name: "unroll-barrier-loops",
                about: "unroll loops that have barriers and a constant trip count, to at most N instructions",
        value: Some("N"),
        keeps_order: true,
        parse: unroll,
        run: unroll_barrier_loops::run,
    }
}

/// The passes of `-O`, in order: later passes and the lowering benefit from them, and no program
/// can observe them.
pub const OPTIMIZE: &[&Pass] = &[
    INLINE_BARRIER_FUNCTIONS,
    ELIMINATE_REDUNDANT_SPLIT_BARRIERS,
    ORDER_SPLIT_BARRIERS,
];

/// Earlier names of passes. They are taken and not shown.
const EARLIER_NAMES: [(&str, &Pass); 2] = [
    ("stage-barrier-loop-loads", PREFETCH_BARRIER_LOOP_LOADS),
    ("strip-split-barrier-spelling", STRIP_SPLIT_BARRIER_ALIAS),
];

impl Pass {
    /// The pass with this name, or with this earlier name.
    pub fn named(name: &str) -> Option<&'static Pass> {
        let mut all = PASSES.iter().copied();
        all.find(|pass| pass.name == name || pass.earlier_names().any(|other| other == name))
    }

    /// The names that the pass had before: flags that are still taken.
    pub fn earlier_names(&self) -> impl Iterator<Item = &'static str> {
        let of_this = EARLIER_NAMES
            .iter()
            .filter(|(_, pass)| pass.name == self.name);
        of_this.map(|(earlier, _)| *earlier)
    }

    /// Returns true if the value of the flag is optional.
    pub fn value_is_optional(&self) -> bool {
        (self.parse)(None).is_some()
    }

    /// Reads the value of the flag (`None`: the flag has no value).
    ///
    /// # Errors
    /// How the value is written.
    pub fn options(&self, value: Option<&str>) -> Result<PassOptions, String> {
        (self.parse)(value).ok_or_else(|| match (self.value, value) {
            (None, _) => format!("--{} has no value", self.name),
            (Some(form), None) => format!("--{} needs a value: {form}", self.name),
            (Some(form), Some(value)) => {
                format!(
                    "--{}={value}: the value must have the form {form}",
                    self.name
                )
            }
        })
    }

    /// Runs it: [`crate::pipeline`] does, for everybody. `declarations` are those of `module`,
    /// without errors.
    ///
    /// # Errors
    /// Why the module cannot be changed; nothing has happened to it.
    pub(crate) fn run(
        &self,
        module: &Module<'_>,
        declarations: &Declarations<'_>,
        options: &PassOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<Option<RewrittenModule>, Diagnostics> {
        (self.run)(module, declarations, options, diagnostics)
    }
}

fn none(value: Option<&str>) -> Option<PassOptions> {
    value.is_none().then_some(PassOptions::None)
}

fn aliased(value: Option<&str>) -> Option<PassOptions> {
    match value {
        None => Some(PassOptions::None),
        Some("aliased") => Some(PassOptions::Aliased),
        Some(_) => None,
    }
}

fn fuse_at(value: Option<&str>) -> Option<PassOptions> {
    match value {
        None | Some("wait") => Some(PassOptions::Fuse(FuseAt::Wait)),
        Some("arrive") => Some(PassOptions::Fuse(FuseAt::Arrive)),
        Some(_) => None,
    }
}

fn all_memory(value: Option<&str>) -> Option<PassOptions> {
    match value {
        None => Some(PassOptions::None),
        Some("all-memory") => Some(PassOptions::AllMemory),
        Some(_) => None,
    }
}

fn pipeline_loops(value: Option<&str>) -> Option<PassOptions> {
    let mut pipeline = PipelineLoops::default();
    for part in value.into_iter().flat_map(|value| value.split(',')) {
        match part.split_once(':') {
            None if part == "loads" => pipeline.ahead = Ahead::Loads,
            None if part == "stage" => pipeline.ahead = Ahead::Stage,
            None if part == "copies" => pipeline.ahead = Ahead::Copies,
            None if part == "one-buffer" => pipeline.ahead = Ahead::LoadsOfOneBuffer,
            None if part == "alternate" => pipeline.ahead = Ahead::Nothing,
            None if part == "3" => pipeline.buffers = Buffers::Three,
            None if part == "4" => pipeline.buffers = Buffers::Four,
            None if part == "always-store" => pipeline.always_store = true,
            None if part == "plain" => pipeline.plain = true,
            None if part == "aliased" => pipeline.aliased = true,
            None if part == "all-memory" => pipeline.all_memory = true,
            Some(("words", words)) => pipeline.most_words = words.parse().ok()?,
            Some(("memory", bytes)) => pipeline.most_memory = bytes.parse().ok()?,
            _ => return None,
        }
    }
    let can_have_more = match pipeline.ahead {
        Ahead::Either | Ahead::Loads | Ahead::Stage => true,
        Ahead::Copies | Ahead::LoadsOfOneBuffer | Ahead::Nothing => false,
    };
    let is_right = can_have_more || pipeline.buffers == Buffers::Two;
    is_right.then_some(PassOptions::PipelineLoops(pipeline))
}

/// Parts behind commas, each at most once and in any order.
fn fill(value: Option<&str>) -> Option<PassOptions> {
    let mut fill = Fill::default();
    let (mut has_live, mut has_memory) = (false, false);
    for part in value.into_iter().flat_map(|value| value.split(',')) {
        let is_again = match part.strip_prefix("live:") {
            Some(live) => {
                fill.most_live = live.parse().ok()?;
                std::mem::replace(&mut has_live, true)
            }
            None if part == "all-memory" => {
                fill.all_memory = true;
                std::mem::replace(&mut has_memory, true)
            }
            None => return None,
        };
        if is_again {
            return None;
        }
    }
    Some(PassOptions::Fill(fill))
}

fn narrow(value: Option<&str>) -> Option<PassOptions> {
    Some(PassOptions::Narrow(value?.parse().ok()?))
}

fn unroll(value: Option<&str>) -> Option<PassOptions> {
    Some(PassOptions::Unroll(value?.parse().ok()?))
}

fn subgroups(value: Option<&str>) -> Option<PassOptions> {
    let size = value?.parse().ok().filter(|size| *size > 0)?;
    let kept = BTreeSet::new();
    Some(PassOptions::Subgroups { size, kept })
}

fn extension(value: Option<&str>) -> Option<PassOptions> {
    match value? {
        "ext" => Some(PassOptions::Extension(SplitBarrierExtension::Ext)),
        "intel" => Some(PassOptions::Extension(SplitBarrierExtension::Intel)),
        _ => None,
    }
}

fn buffer(value: Option<&str>) -> Option<PassOptions> {
    let (set, binding) = place(value?)?;
    Some(PassOptions::Buffer { set, binding })
}

/// The place of the buffer, and the GPU and its waves behind it, or neither.
fn clocks(value: Option<&str>) -> Option<PassOptions> {
    let value = value?;
    let (place, gpu) = match value.split_once(",target:") {
        None => (value, None),
        Some((place, gpu)) => {
            let (name, wave_size) = gpu.split_once(",wave:")?;
            (place, Some(Gpu::new(name, wave_size.parse().ok()?)?))
        }
    };
    let (set, binding) = self::place(place)?;
    Some(PassOptions::Clocks { set, binding, gpu })
}

/// Descriptor set and binding.
fn place(value: &str) -> Option<(u32, u32)> {
    let (set, binding) = value.split_once(',')?;
    let set = set.strip_prefix("set:")?.parse().ok()?;
    Some((set, binding.strip_prefix("binding:")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_every_pass_is_found() {
        assert!(
            PASSES
                .windows(2)
                .all(|pair| matches!(pair, [a, b] if a.name < b.name))
        );
        assert!(
            PASSES
                .iter()
                .all(|pass| Pass::named(pass.name).is_some_and(|found| found.name == pass.name))
        );
        assert!(OPTIMIZE.iter().all(|pass| pass.value_is_optional()));
    }

    #[test]
    fn values() {
        let options = |name: &str, value| Pass::named(name).map(|pass| pass.options(value).ok());
        assert_eq!(
            options("instrument-split-barriers", Some("set:3,binding:17")),
            Some(Some(PassOptions::Buffer {
                set: 3,
                binding: 17
            }))
        );
        for (value, gpu) in [
            ("set:1,binding:2", None),
            (
                "set:1,binding:2,target:gfx90a,wave:64",
                Gpu::new("gfx90a", 64),
            ),
        ] {
            assert_eq!(
                options("instrument-barrier-skew", Some(value)),
                Some(Some(PassOptions::Clocks {
                    set: 1,
                    binding: 2,
                    gpu
                }))
            );
        }
        assert_eq!(
            options("fill-split-barrier-windows", Some("all-memory,live:7")),
            Some(Some(PassOptions::Fill(Fill {
                most_live: 7,
                all_memory: true
            })))
        );
        for (name, value) in [
            ("instrument-barrier-skew", None),
            ("instrument-barrier-skew", Some("set:0")),
            (
                "instrument-barrier-skew",
                Some("set:0,binding:0,target:sm_90"),
            ),
            (
                "instrument-barrier-skew",
                Some("set:0,binding:0,target:sm_90,wave:64"),
            ),
            (
                "instrument-barrier-skew",
                Some("set:0,binding:0,target:b2,wave:32"),
            ),
            ("instrument-barrier-skew", Some("set:0,binding:0,wave:32")),
            ("instrument-split-barriers", None),
            ("instrument-split-barriers", Some("set:-1,binding:0")),
            ("strip-split-barrier-alias", None),
            ("strip-split-barrier-alias", Some("khr")),
            ("fill-split-barrier-windows", Some("")),
            ("fill-split-barrier-windows", Some("live:1,live:1")),
            ("fill-split-barrier-windows", Some("live:")),
            ("fuse-split-barriers", Some("")),
            ("order-split-barriers", Some("x")),
        ] {
            assert_eq!(options(name, value), Some(None), "{name} {value:?}");
        }
    }
}
