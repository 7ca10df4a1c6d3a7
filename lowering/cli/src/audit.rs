//! `splitbar audit`: what may be outstanding at each barrier of final code, and what is missing of
//! the fences around it.

use super::given;
use super::input::read;
use super::limits::LimitArgs;
use super::places::Places;
use super::problem::audits::{self, Audited};
use super::problem::github;
use super::stop::Stop;
use super::values::{Format, parse_target};
use super::{report, write};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use splitbar::asm::{Function, Role};
use splitbar::fences::{FenceRequirement, RequiredOrdering};
use splitbar::verdict::{self, Audit};
use splitbar::{Placement, Target, asm, exit, machine_code, require_llvm};
use splitbar_passes::diagnostic::json::WordPlace;
use splitbar_passes::module::{Module, WordOffset};
use splitbar_plan::target::Arch;
use splitbar_plan::{Fence, FenceMemory, FenceOrder, FenceScope};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The end of the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  splitbar lower kernel.spv --target gfx1201 --audit --emit reflect -o kernel.json
  splitbar lower kernel.spv --target gfx1201 --emit obj -o kernel.o
  splitbar audit kernel.o --target gfx1201 --plan kernel.json   checks against the plan
  splitbar audit other.s --target gfx942 --release local        another compiler's code
  splitbar audit other.s --target gfx1201 --release all --acquire all --scope device
  splitbar audit other.ptx --target sm_90 --release all --acquire all --scope device

Exit codes: 0 nothing found, 1 a wait, an invalidation, a write-back or a fence is missing, 2 wrong
usage or a file that cannot be read.";

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// An object file, AMDGPU assembly in LLVM's syntax, or PTX; `-` is standard input
    input: PathBuf,
    /// The GPU of the code
    #[arg(long, value_parser = parse_target)]
    target: &'static Target,
    /// The required orderings: the output of `lower --audit --emit reflect`
    ///
    /// Use the same options for both.
    #[arg(long, value_name = "FILE", conflicts_with = "release")]
    plan: Option<PathBuf>,
    /// The SPIR-V module that the code was compiled from; findings then name its lines
    ///
    /// Needs debug lines in the code, as `lower --audit` writes them.
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
    /// The memory that every barrier releases
    ///
    /// Without this, --acquire and --plan, nothing is required of the code.
    #[arg(long, value_enum)]
    release: Option<Memory>,
    /// The memory that every barrier acquires
    #[arg(long, value_enum, conflicts_with = "plan")]
    acquire: Option<Memory>,
    /// The scope of --release and --acquire
    #[arg(long, value_enum, default_value_t = MemoryScope::Workgroup, conflicts_with = "plan")]
    scope: MemoryScope,
    /// Workgroups run on one compute unit (gfx10 to gfx12.0)
    #[arg(long, conflicts_with = "plan")]
    cu_mode: bool,
    /// Workgroups run on several compute units (gfx90a, gfx942, gfx950)
    #[arg(long, conflicts_with_all = ["cu_mode", "plan"])]
    tgsplit: bool,
    /// Format of the audit
    #[arg(long, alias = "report", value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    limits: LimitArgs,
}

impl AuditArgs {
    /// What limits the command, its input, and how problems are printed.
    pub(super) fn limited(&self) -> (&LimitArgs, &Path, Format) {
        (&self.limits, &self.input, self.format)
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Memory {
    /// LDS, shared memory
    Local,
    /// Everything else
    Global,
    /// All memory
    All,
}

impl From<Memory> for FenceMemory {
    fn from(memory: Memory) -> FenceMemory {
        match memory {
            Memory::Local => FenceMemory::Local,
            Memory::Global => FenceMemory::Global,
            Memory::All => FenceMemory::All,
        }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryScope {
    /// One workgroup
    Workgroup,
    /// One device
    Device,
    /// All devices and the host
    System,
}

impl From<MemoryScope> for FenceScope {
    fn from(scope: MemoryScope) -> FenceScope {
        match scope {
            MemoryScope::Workgroup => FenceScope::Workgroup,
            MemoryScope::Device => FenceScope::Device,
            MemoryScope::System => FenceScope::System,
        }
    }
}

/// Audits as `args` ask and gives the exit code: 1 if something is missing.
pub(super) fn run(args: &AuditArgs) -> u8 {
    match audit(args).and_then(|audits| Ok((places(args, &audits)?, audits))) {
        Ok((places, audits)) => {
            let problems = || {
                let file = report::name(args.module.as_deref().unwrap_or(&args.input));
                let of = Audited {
                    file: &file,
                    target: args.target.name,
                    place: &|word| places.location(word),
                };
                audits::problems(&audits, &of)
            };
            let text = match args.format {
                Format::Text => text(&audits, &places),
                Format::Json => json(&audits, &places),
                Format::Github => github::render(&problems()),
                Format::Sarif => {
                    report::keep(problems());
                    String::new()
                }
            };
            let written = write::to_stdout(text.as_bytes());
            if audits.iter().all(Audit::is_clean) {
                written
            } else {
                exit::INVALID
            }
        }
        Err(Stop::Problems(failure)) => {
            report::show(&failure.diagnostics, &args.input, args.format);
            failure.exit_code()
        }
        Err(Stop::Usage(why)) => report::usage(&why, &args.input, args.format),
    }
}

/// The places of what the audits name, where the module is given.
fn places(args: &AuditArgs, audits: &[Audit]) -> Result<Places, Stop> {
    let Some(module) = &args.module else {
        return Ok(Places::default());
    };
    if args.input == Path::new("-") && *module == args.input {
        let text = "the code and the module cannot both be standard input";
        return Err(Stop::Usage(text.to_owned()));
    }
    let module = given::module(module)?;
    Module::parse(&module)?;
    Ok(Places::of(Some(&module), audits.iter().flat_map(words)))
}

/// The words of the instructions that an audit names, in their order in the module.
fn words(audit: &Audit) -> BTreeSet<u32> {
    let barriers = audit.barriers.iter().flat_map(|barrier| {
        let outstanding = barrier.outstanding.iter().map(|flying| flying.at.word);
        outstanding.chain([barrier.at.word])
    });
    let findings = audit.findings.iter();
    let findings = findings.flat_map(|one| [one.word, one.sync.word, one.access.word]);
    let redundant = audit.redundant_waits.iter().map(|wait| wait.word);
    let all = barriers.chain(findings).chain(redundant);
    all.flatten().map(WordOffset::get).collect()
}

/// The audits, each with the places of the words that it names.
fn text(audits: &[Audit], places: &Places) -> String {
    let shown = audits.iter().map(|audit| {
        let mut text = audit.to_string();
        for word in words(audit) {
            if let Some(place) = places.location(word).and_then(|_| places.text(word)) {
                text.push_str(&format!("  word {word}: {place}\n"));
            }
        }
        text
    });
    shown.collect::<Vec<_>>().join("\n")
}

fn audit(args: &AuditArgs) -> Result<Vec<Audit>, Stop> {
    let name = args.input.display();
    let arch = &args.target.arch;
    let bytes = given::code(&args.input, args.target)?;
    let functions = match arch {
        Arch::Amdgpu(_) if bytes.starts_with(b"\x7fELF") => {
            require_llvm("reading machine code")?;
            machine_code::functions(&bytes, args.target).map_err(|why| format!("{name}: {why}"))?
        }
        Arch::Amdgpu(_) | Arch::Nvptx(_) => {
            let text = String::from_utf8(bytes)
                .map_err(|_| format!("{name} is neither an object nor assembly text"))?;
            asm::parse(&text, arch).map_err(|error| format!("{name}: {error}"))?
        }
    };
    if functions.is_empty() {
        let announced = match arch {
            Arch::Amdgpu(_) => "`.type NAME,@function`",
            Arch::Nvptx(_) => "`.entry` or `.func`",
        };
        return Err(format!("{name} has no function ({announced} starts one)").into());
    }
    let plan = args.plan.as_deref().map(plan).transpose()?;
    let placement = match (args.cu_mode, args.tgsplit) {
        (true, _) => Placement::CuMode,
        (false, true) => Placement::ThreadgroupSplit,
        (false, false) => Placement::Default,
    };
    if !placement.exists_on(args.target) {
        return Err(format!("{} has no {}", args.target.name, placement.name()).into());
    }
    let audits = functions.iter().map(|function| match &plan {
        Some(plan) => planned(function, plan, arch),
        None => verdict::audit(function, arch, placement, &assumed(function, args)),
    });
    Ok(audits.collect::<Result<_, String>>()?)
}

/// What of `--emit reflect` is read back.
#[derive(Deserialize)]
struct Reflected {
    audit: Option<Audit>,
}

fn plan(path: &Path) -> Result<Vec<Audit>, String> {
    let name = path.display();
    let entries: Vec<Reflected> = serde_json::from_slice(&read(path)?).map_err(|error| {
        format!("{name} is not the output of `splitbar lower --audit --emit reflect`: {error}")
    })?;
    entries
        .into_iter()
        .map(|entry| {
            entry.audit.ok_or_else(|| {
                format!(
                    "{name} has no audit: write it with `splitbar lower --audit --emit reflect`"
                )
            })
        })
        .collect()
}

/// Audits against the orderings that the plan requires of this code, which must be the code that
/// the plan was made with.
fn planned(function: &Function, plan: &[Audit], arch: &Arch) -> Result<Audit, String> {
    let Some(audit) = plan.iter().find(|audit| audit.kernel == function.name) else {
        // A function that is not a kernel.
        return verdict::audit(function, arch, Placement::Default, &BTreeMap::new());
    };
    let fits = |barrier: &verdict::Barrier| {
        function
            .instructions
            .get(barrier.at.position)
            .is_some_and(|inst| inst.mnemonic == barrier.at.mnemonic)
    };
    if !audit.barriers.iter().all(fits) {
        return Err(format!(
            "the plan does not match this code: the barriers of {} are in other places; use the same options for both",
            function.name
        ));
    }
    audit.of_changed(function, arch)
}

/// The same ordering, required of every barrier: a release on its arriving side, an acquire on its
/// waiting side.
fn assumed(function: &Function, args: &AuditArgs) -> BTreeMap<usize, RequiredOrdering> {
    let requirements = |order, memory: Option<Memory>, role: Role, sides: [Role; 2]| {
        let memory = memory.filter(|_| sides.contains(&role));
        let requirement = memory.map(|memory| {
            FenceRequirement::everything(Fence {
                order,
                scope: args.scope.into(),
                memory: memory.into(),
            })
        });
        requirement.into_iter().collect()
    };
    let required = |role| RequiredOrdering {
        release: requirements(
            FenceOrder::Release,
            args.release,
            role,
            [Role::Arrive, Role::ArriveAndWait],
        ),
        acquire: requirements(
            FenceOrder::Acquire,
            args.acquire,
            role,
            [Role::Wait, Role::ArriveAndWait],
        ),
    };
    let instructions = function.instructions.iter().enumerate();
    instructions
        .map(|(position, inst)| (position, required(inst.role)))
        .filter(|(_, required)| !required.is_empty())
        .collect()
}

/// An audit, and the places of the words that it names.
#[derive(Serialize)]
struct Placed<'a> {
    #[serde(flatten)]
    audit: &'a Audit,
    /// Empty without the module.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    places: Vec<WordPlace<'a>>,
}

fn json(audits: &[Audit], places: &Places) -> String {
    let audits: Vec<Placed<'_>> = audits
        .iter()
        .map(|audit| Placed {
            audit,
            places: words(audit)
                .into_iter()
                .filter_map(|word| {
                    let place = places.json(Some(word))?;
                    let word = WordOffset::new(word);
                    Some(WordPlace { word, place })
                })
                .collect(),
        })
        .collect();
    // Serialising plain structs to a string has no way to fail: no maps, no foreign impls.
    let mut text = serde_json::to_string_pretty(&audits).unwrap_or_default();
    text.push('\n');
    text
}
