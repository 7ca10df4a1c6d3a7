//! Moves the arrives of pairs up and their waits down, so that work from before or after a barrier
//! gets into the window. Only arrives and waits move: all other instructions keep their order.
//!
//! An arrive or a wait passes an access when nothing on the other side of the barrier conflicts
//! with it ([`crate::analysis::phases`] has the proof). It never passes an instruction that orders
//! memory or execution itself: atomic operations, volatile accesses, OpMemoryBarrier, operations of
//! the workgroup, other barriers, the end of the function. It moves only to control-equivalent
//! blocks, which run exactly as often as the barrier's: a block that dominates the barrier's and is
//! post-dominated by it, or the converse, in the same innermost loop; or around the back edge of
//! that loop (`rotate.rs`), with an arrive before the loop and waits after it.
//!
//! Pairs of the workgroup in entry functions that are one arrive and one wait move, those that
//! people wrote as well; functions with barriers are inlined first. Left alone are pairs with
//! operands from specialization constants, or marked Volatile.
//!
//! In which order. Every pair is asked how far it could come; the one that gains most moves first,
//! and the zones are worked out anew after each. That goes on until nothing moves.
//!
//! With the value `all-memory` every barrier is taken to order all memory, whatever its semantics
//! say: for shaders that count on OpControlBarrier to order buffers without saying so.

pub(super) mod motion;
mod reasons;
mod rotate;
pub(super) mod travel;

pub use reasons::{Stop, Stopped, stops};

use super::edit::Edit;
use super::inline::inline_barrier_functions;
use super::inlined::{entries, inlined};
use super::operands::is_split;
use super::options::PassOptions;
use super::rewrite::{RewrittenModule, SourceMap};
use crate::analysis::cfg::Cfg;
use crate::analysis::pairing::Pairing;
use crate::analysis::phases::{
    Aliasing, Body, Effect, Effects, Item, Openness, Role, still_ordered,
};
use crate::analysis::uniformity::memory::Memory;
use crate::analysis::uniformity::{Level, Model, Uniformity};
use crate::diagnostic::{Diagnostic, Diagnostics, WitnessStep};
use crate::module::{
    BlockIndex, Constants, Declarations, EntryPoint, Function, Module, SpecValues, WordOffset,
};
use motion::{Motion, Moved};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    options: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    if !module.instructions().any(is_split) {
        return Ok(None);
    }
    let orders_all = options.orders_all_memory();
    inlined(module, declarations, |declarations| {
        let mut diagnostics = Diagnostics::new();
        let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
        let mut edit = Edit::new(declarations);
        for (entry, function) in entries(declarations) {
            let (body, cfg) = look(
                declarations,
                &constants,
                entry,
                function,
                orders_all,
                &mut diagnostics,
            )?;
            let uniform = OnceCell::new();
            let is_uniform = |block| {
                let known = uniform.get_or_init(|| {
                    let level = Level::Workgroup;
                    uniformity(declarations, &constants, entry, function, level)
                });
                known.block(block).is_none()
            };
            let moved = Motion::analyze(&body, &cfg, &is_uniform).run();
            prove(&body, &moved.body, &cfg)?;
            write(&mut edit, &body, &moved)?;
        }
        edit.finish()
    })
}

/// The body of an entry function, and its graph.
///
/// # Errors
/// All `diagnostics`, if there are errors among them.
pub(super) fn look<'m>(
    declarations: &Declarations<'m>,
    constants: &Constants,
    entry: &EntryPoint<'m>,
    function: &Function<'m>,
    orders_all: bool,
    diagnostics: &mut Diagnostics,
) -> Result<(Body, Cfg), Diagnostics> {
    let pairing = Pairing::analyse(declarations, constants, entry, diagnostics);
    if diagnostics.has_errors() {
        return Err(std::mem::take(diagnostics));
    }
    let cfg = Cfg::analyze(declarations.module, function);
    let effects = Effects::analyze(declarations, constants, function, Aliasing::Possible);
    let body = Body::analyze(declarations, function, &effects, &pairing, orders_all);
    Ok((body, cfg))
}

/// Which blocks the workgroup, or each subgroup, executes as one.
pub(super) fn uniformity(
    declarations: &Declarations<'_>,
    constants: &Constants,
    entry: &EntryPoint<'_>,
    function: &Function<'_>,
    level: Level,
) -> Uniformity {
    let fixed = constants.without_defaults();
    let size = declarations.workgroup_size(entry, &fixed);
    let cfg = Cfg::analyze(declarations.module, function);
    let places: Vec<BlockIndex> = cfg.blocks().collect();
    let memory = Memory::analyze(declarations);
    let model = Model::analyze(declarations, &fixed, &memory, function, size, cfg, &places);
    Uniformity::analyze(&model, level, size)
}

/// Asks whether `after`, which a pass made of `before`, keeps the order of accesses that barriers
/// of the workgroup gave them. Both are looked at with their barrier functions inlined;
/// `source_map` says what became of what. Entry points with functions that are inlined more or less
/// often than before are left out if the copies of an access cannot be told apart.
pub(crate) fn keeps_order(
    before: &Declarations<'_>,
    after: &Declarations<'_>,
    source_map: &SourceMap,
    options: &PassOptions,
) -> Result<(), Diagnostics> {
    let orders_all = options.orders_all_memory();
    let old_inlined = inline_barrier_functions(before.module, before)?;
    let new_inlined = inline_barrier_functions(after.module, after)?;
    let old_module = old_inlined
        .as_ref()
        .map_or(before.module, |edited| &edited.module);
    let new_module = new_inlined
        .as_ref()
        .map_or(after.module, |edited| &edited.module);
    let (old, new) = (
        bodies(old_module, orders_all),
        bodies(new_module, orders_all),
    );
    let mut given: BTreeMap<WordOffset, Vec<WordOffset>> = BTreeMap::new();
    for inst in old_module.instructions() {
        let place = inst.offset;
        let first = old_inlined
            .as_ref()
            .map_or(Some(place), |edited| edited.source_map.of(place));
        given.entry(first.unwrap_or(place)).or_default().push(place);
    }
    // An instruction that is still there has its words; ids are numbered alike in both.
    let mut same: BTreeMap<&[u32], Vec<WordOffset>> = BTreeMap::new();
    for inst in old_module.instructions() {
        same.entry(inst.words).or_default().push(inst.offset);
    }
    same.values_mut().for_each(|places| places.reverse());
    let mut origins = BTreeMap::new();
    let mut unknown = BTreeSet::new();
    let mut copies: BTreeMap<WordOffset, Vec<WordOffset>> = BTreeMap::new();
    for inst in new_module.instructions() {
        let as_it_was = same.get_mut(inst.words).and_then(Vec::pop);
        let place = match &new_inlined {
            None => Some(inst.offset),
            Some(edited) => edited.source_map.of(inst.offset),
        };
        let first = place.and_then(|place| source_map.of(place));
        let old = match first.and_then(|first| given.get(&first)).map(Vec::as_slice) {
            Some([one]) => Some(*one),
            Some([_, _, ..]) if as_it_was.is_none() => {
                unknown.insert(inst.offset);
                None
            }
            _ => as_it_was, // its function was inlined often
        };
        origins.extend(old.map(|old| (inst.offset, old)));
        if let Some(first) = first {
            copies.entry(first).or_default().push(inst.offset);
        }
    }
    // Where a function is inlined as often as before, its copies are in the same order.
    for (first, new) in &copies {
        if let Some(old) = given.get(first).filter(|old| old.len() == new.len()) {
            origins.extend(new.iter().copied().zip(old.iter().copied()));
        }
    }
    for ((old, graph), (new, new_graph)) in old.iter().zip(&new) {
        // A function may be inlined more often than before, for example in a loop that was
        // unrolled: which of its copies an access was cannot be told then.
        let is_unknown = |item: &Item| {
            let offset = item.offset;
            unknown.contains(&offset) && !origins.contains_key(&offset)
        };
        let mut items = new.blocks.values().flatten();
        if items.any(|item| item.effect != Effect::NONE && is_unknown(item)) {
            continue;
        }
        let compared = compare((old, graph), (new, new_graph), &|offset| {
            origins.get(&offset).copied()
        });
        compared.map_err(|lost| match &new_inlined {
            Some(edited) => Diagnostics::from(lost).moved(|word| edited.source_map.of(word)),
            None => lost.into(),
        })?;
    }
    Ok(())
}

/// The bodies of all entry functions, and their graphs; none where rules are broken, which others
/// say.
fn bodies(module: &Module<'_>, orders_all: bool) -> Vec<(Body, Cfg)> {
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::new(module, &mut diagnostics);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
    let entries = entries(&declarations).into_iter();
    let bodies = entries.map(|(entry, function)| {
        look(
            &declarations,
            &constants,
            entry,
            function,
            orders_all,
            &mut diagnostics,
        )
    });
    bodies.collect::<Result<_, _>>().unwrap_or_default()
}

/// Asks whether arrives and waits alternate as they did, and, in debug builds, in another way
/// whether everything that was ordered is ordered still. Instructions keep their words.
pub(super) fn prove(before: &Body, after: &Body, cfg: &Cfg) -> Result<(), Diagnostic> {
    let alternates = |body| Openness::analyze(body, cfg).alternates();
    if alternates(before) && !alternates(after) {
        return Err(Diagnostic::bug(
            "arrives and waits no longer alternate after they were moved",
        ));
    }
    if cfg!(debug_assertions) {
        compare((before, cfg), (after, cfg), &Some)?;
    }
    Ok(())
}

/// Asks whether every two accesses that were ordered are ordered still.
fn compare(
    before: (&Body, &Cfg),
    after: (&Body, &Cfg),
    source_map: &dyn Fn(WordOffset) -> Option<WordOffset>,
) -> Result<(), Diagnostic> {
    let lost = still_ordered(before, after, source_map).unwrap_or_default();
    match lost.first() {
        None => Ok(()),
        Some((one, other)) => {
            let what = "barriers no longer order this access and another one";
            let other = WitnessStep::at(*other, "the other access");
            Err(Diagnostic::bug(what).at_word(*one).passing(other))
        }
    }
}

/// Notes the changes that lead from `before` to where the halves were moved.
fn write(edit: &mut Edit<'_, '_>, before: &Body, moved: &Moved) -> Result<(), Diagnostic> {
    let old = followers(before);
    let new = followers(&moved.body);
    let is_moved = |item: &Item| {
        matches!(item.role, Role::Half(..)) && old.get(&item.offset) != new.get(&item.offset)
    };
    for block in moved.body.blocks.values() {
        for (index, item) in block.iter().enumerate().filter(|(_, item)| is_moved(item)) {
            let next = block.iter().skip(index + 1).find(|item| !is_moved(item));
            let like = moved.added.get(&item.offset);
            let half = edit.module().at(*like.unwrap_or(&item.offset));
            let (Some(next), Some(half)) = (next, half) else {
                let lost = Diagnostic::bug("an arrive or a wait has no place in its block");
                return Err(lost.at_word(item.offset));
            };
            let Some(op) = half.op() else {
                let unknown = Diagnostic::bug("an arrive or a wait is not an instruction");
                return Err(unknown.at_word(item.offset));
            };
            if like.is_none() {
                edit.remove(item.offset);
            }
            edit.before_from(next.offset, half.offset, op, half.operands())?;
        }
    }
    Ok(())
}

/// By place of a half: the next instruction of its block that is none.
fn followers(body: &Body) -> BTreeMap<WordOffset, Option<WordOffset>> {
    let mut followers = BTreeMap::new();
    for block in body.blocks.values() {
        let mut next = None;
        for item in block.iter().rev() {
            match item.role {
                Role::Half(..) => {
                    followers.insert(item.offset, next);
                }
                Role::First | Role::Plain | Role::Last => next = Some(item.offset),
            }
        }
    }
    followers
}
