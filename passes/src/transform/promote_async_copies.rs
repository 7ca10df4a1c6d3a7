//! Marks the copies from global to workgroup memory that can be asynchronous, with their marks, and
//! the places where they must be complete.
//!
//! The analysis is [`crate::analysis::async_copy`]. What it finds is written as instructions of the
//! set `NonSemantic.Splitbar.AsyncCopy`, so that taking them away (`spirv-opt --strip-nonsemantic`)
//! leaves the program that there was:
//!
//! | number | instruction | stands before | says |
//! | --- | --- | --- | --- |
//! | 1 | Copy | an OpStore | the store and the load of its value may be an asynchronous copy, with zeros where the load is not made |
//! | 2 | Mark | any instruction | the copies before it are a group |
//! | 3 | Wait | any instruction | at most so many marks, the newest, may be outstanding; operand: a 32-bit constant |
//!
//! Marks and waits belong to the copies of their function body. Whoever reads them proves them
//! again: they hold for the default values of specialization constants, and other passes may have
//! moved things about since.
//!
//! Annotations that are there already are replaced. Functions with barriers are inlined first when
//! there is something to be said.

use super::edit::Edit;
use super::inlined::{entries, inlined};
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::analysis::async_copy::{self, AsyncCopies};
use crate::analysis::cfg::Cfg;
use crate::analysis::uniformity::memory::Memory;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{
    Constants, Declarations, EntryPoint, Function, Id, Inst, Module, SpecValues, WordOffset,
};
use spirv::Op;
use std::collections::BTreeMap;

/// The name of the set.
pub(super) const SET: &str = "NonSemantic.Splitbar.AsyncCopy";

/// The extension that OpExtInstImport of such sets needs before SPIR-V 1.6.
const EXTENSION: &str = "SPV_KHR_non_semantic_info";

/// SPIR-V 1.6 as the header writes it.
const VERSION_1_6: u32 = 0x0001_0600;

/// An instruction of the set.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Annotation {
    Mark,
    Wait(u32),
    Copy,
}

/// By the word offset of the instruction that they stand before; in order.
type Annotations = BTreeMap<WordOffset, Vec<Annotation>>;

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    _: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    inlined(module, declarations, annotate)
}

fn annotate(declarations: &Declarations<'_>) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let memory = Memory::analyze(declarations);
    let mut wanted = Annotations::new();
    for (entry, function) in entries(declarations) {
        let cfg = Cfg::analyze(declarations.module, function);
        let size = size(declarations, &constants, entry);
        let copies = async_copy::find(async_copy::Input {
            declarations,
            constants: &constants,
            memory: &memory,
            function,
            cfg: &cfg,
            size,
        });
        note(&copies, function, &mut wanted);
    }
    let set = import(declarations);
    let present = present(declarations, set);
    if present.by_place == wanted {
        return Ok(None);
    }
    let mut edit = Edit::new(declarations);
    present
        .offsets
        .iter()
        .for_each(|offset| edit.remove(*offset));
    write(&mut edit, set, &wanted)?;
    edit.finish()
}

/// The size of the workgroup for all entry points of the function.
fn size(
    declarations: &Declarations<'_>,
    constants: &Constants,
    entry: &EntryPoint<'_>,
) -> Option<[u32; 3]> {
    let of_function = declarations
        .entry_points
        .iter()
        .filter(|other| other.function == entry.function);
    let mut sizes = of_function.map(|entry| declarations.workgroup_size(entry, constants));
    let first = sizes.next()??;
    sizes.all(|size| size == Some(first)).then_some(first)
}

fn note(copies: &AsyncCopies, function: &Function<'_>, wanted: &mut Annotations) {
    debug_assert!(copies.marks.iter().all(|mark| *mark > function.offset));
    let mut add =
        |offset: WordOffset, annotation| wanted.entry(offset).or_default().push(annotation);
    copies
        .marks
        .iter()
        .for_each(|mark| add(*mark, Annotation::Mark));
    copies
        .waits
        .iter()
        .for_each(|wait| add(wait.before, Annotation::Wait(wait.outstanding)));
    copies
        .copies
        .iter()
        .for_each(|copy| add(copy.store, Annotation::Copy));
}

/// The id of the set, if the module imports it.
fn import(declarations: &Declarations<'_>) -> Option<Id> {
    let imports = declarations.ext_inst_sets.keys();
    imports.copied().find(|id| {
        let import = declarations.module.def(*id);
        import.is_some_and(|import| import.string(0) == SET)
    })
}

/// What the module says already.
#[derive(Default)]
struct Present {
    by_place: Annotations,
    offsets: Vec<WordOffset>,
}

fn present(declarations: &Declarations<'_>, set: Option<Id>) -> Present {
    let mut present = Present::default();
    let Some(set) = set else {
        return present; // without the import there are no such instructions
    };
    let mut open = Vec::new();
    for inst in declarations.module.instructions() {
        if is_of_set(inst, set) {
            present.offsets.push(inst.offset);
            open.push(read(declarations, inst));
        } else if !matches!(inst.op(), Some(Op::Line | Op::NoLine)) && !open.is_empty() {
            // One that cannot be read is never what is wanted.
            let known: Option<Vec<Annotation>> = open.drain(..).collect();
            present
                .by_place
                .insert(inst.offset, known.unwrap_or_default());
        }
    }
    present
}

fn is_of_set(inst: Inst<'_>, set: Id) -> bool {
    inst.op() == Some(Op::ExtInst) && inst.operands().first() == Some(&set.0)
}

fn read(declarations: &Declarations<'_>, inst: Inst<'_>) -> Option<Annotation> {
    match *inst.operands().get(1..)? {
        [1] => Some(Annotation::Copy),
        [2] => Some(Annotation::Mark),
        [3, outstanding] => {
            let constant = declarations.module.def(Id(outstanding))?;
            let is_constant = constant.op() == Some(Op::Constant);
            let word = constant.operands().first().copied();
            word.filter(|_| is_constant).map(Annotation::Wait)
        }
        _ => None, // not an instruction of the set
    }
}

fn write(edit: &mut Edit<'_, '_>, set: Option<Id>, wanted: &Annotations) -> Result<(), Diagnostic> {
    if wanted.is_empty() {
        return Ok(());
    }
    let void = edit.type_of(Op::TypeVoid, &[])?;
    let set = match set {
        Some(set) => set.0,
        None => {
            let declarations = edit.declarations;
            let has_extension = declarations.extensions.iter().any(|name| name == EXTENSION);
            if declarations.module.header().version < VERSION_1_6 && !has_extension {
                edit.extension(EXTENSION)?;
            }
            edit.import(SET)?
        }
    };
    for (offset, annotations) in wanted {
        for annotation in annotations {
            let result = edit.fresh()?;
            let mut operands = vec![void, result, set];
            match annotation {
                Annotation::Copy => operands.push(1),
                Annotation::Mark => operands.push(2),
                Annotation::Wait(outstanding) => operands.extend([3, edit.number(*outstanding)?]),
            }
            edit.before(*offset, Op::ExtInst, &operands)?;
        }
    }
    Ok(())
}
