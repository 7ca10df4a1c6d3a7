//! Defines imported functions that no module of the program defines: those of DPC++'s device
//! library (`__devicelib_cexpf`), the functions of C that it replaces (`sinf`), and instructions
//! that a front end called as functions (`__spirv_ocl_fmin`, `_Z22__spirv_ControlBarrierjjj`).
//!
//! | file | what it has |
//! |---|---|
//! | [`names`] | what the name of an import asks for |
//! | [`signature`] | the types of an import |
//! | [`instructions`] | calls that are one instruction: it takes the call's place |
//! | [`routines`] | functions with a body, which the import gets |
//! | [`complex`], [`float`] | the formulas of complex functions |
//! | [`assertion`] | failed assertions, which are printed |
//! | [`write`] | instructions of a body |
//!
//! The names and types are those of "Device library extensions" (intel/llvm,
//! sycl/doc/design/DeviceLibExtensions.rst). An import whose types are others, and one that nobody
//! knows, stays an import.

mod assertion;
mod complex;
mod float;
mod instructions;
mod names;
mod routines;
mod signature;
mod write;

use super::edit::Edit;
use super::options::PassOptions;
use super::rewrite::RewrittenModule;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::module::{
    Constants, Declarations, ExtInstSet, Function, Id, Inst, Module, SpecValues, Type,
};
use assertion::Assertion;
use instructions::Core;
use names::ImportedFunction;
use routines::Routine;
use signature::Signature;
use spirv::{Capability, Decoration, LinkageType, Op, OpenclStd100Op as Cl};
use std::collections::{BTreeMap, BTreeSet};
use write::Body;

/// What an import becomes.
#[derive(Copy, Clone)]
enum Provided {
    /// Each call becomes an instruction of OpenCL.std.
    OpenCl(Cl),
    /// Each call becomes a core instruction.
    Core(Core),
    /// Each call prints.
    Assertion(Assertion),
    /// The function gets a body.
    Routine(Routine),
}

pub(super) fn run(
    module: &Module<'_>,
    declarations: &Declarations<'_>,
    _: &PassOptions,
    _: &mut Diagnostics,
) -> Result<Option<RewrittenModule>, Diagnostics> {
    let mut provided = BTreeMap::new();
    for function in &declarations.functions {
        if !function.blocks.is_empty() {
            continue;
        }
        let Some(name) = imported(declarations, function.id) else {
            continue; // a declaration that imports nothing
        };
        if let Some(what) = provide(declarations, function, &name) {
            provided.insert(function.id, (function, name, what));
        }
    }
    if provided.is_empty() {
        return Ok(None);
    }
    let mut defaults = Diagnostics::new();
    let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut defaults);
    let mut linking = Linking {
        declarations,
        constants: constants.without_defaults(),
        edit: Edit::new(declarations),
        set: None,
        capabilities: BTreeSet::new(),
        gone: BTreeSet::new(),
        defined: BTreeSet::new(),
    };
    for function in &declarations.functions {
        for call in &function.calls {
            let callee = call
                .id(0)
                .ok()
                .filter(|_| call.op() == Some(Op::FunctionCall));
            if let Some((_, name, what)) = callee.and_then(|id| provided.get(&id)) {
                linking.call(*call, name, *what)?;
            }
        }
    }
    for (function, _, what) in provided.values() {
        if let Provided::Routine(routine) = what {
            linking.define(module, function, *routine)?;
        }
    }
    linking.forget(module);
    linking.edit.finish()
}

/// The name by which `function` is imported.
fn imported(declarations: &Declarations<'_>, function: Id) -> Option<String> {
    let linkage = declarations.decorations(function).iter();
    let mut linkage = linkage.filter(|d| d.kind == Decoration::LinkageAttributes as u32);
    let words = linkage.next()?.operands;
    let (kind, name) = words.split_last()?;
    if *kind != LinkageType::Import as u32 {
        return None;
    }
    let bytes: Vec<u8> = name.iter().flat_map(|word| word.to_le_bytes()).collect();
    let text = bytes.split(|byte| *byte == 0).next()?;
    String::from_utf8(text.to_vec()).ok()
}

/// What the import is, if somebody knows it.
fn provide(
    declarations: &Declarations<'_>,
    function: &Function<'_>,
    name: &str,
) -> Option<Provided> {
    let library = match names::imported_function(name) {
        ImportedFunction::OpenCl(op) => return instructions::open_cl(op).map(Provided::OpenCl),
        ImportedFunction::Core(op, _) => return instructions::core(op).map(Provided::Core),
        ImportedFunction::Library(library) => library,
    };
    let signature = Signature::from_function(declarations, function);
    if let Some(assertion) = Assertion::named(library, function) {
        return Some(Provided::Assertion(assertion));
    }
    let one = instructions::function(library, &signature).map(Provided::OpenCl);
    one.or_else(|| routines::routine(library, &signature).map(Provided::Routine))
}

/// A module whose imports are being provided.
struct Linking<'d, 'm> {
    declarations: &'d Declarations<'m>,
    constants: Constants,
    edit: Edit<'d, 'm>,
    /// OpenCL.std, once it is needed.
    set: Option<u32>,
    capabilities: BTreeSet<u32>,
    /// Ids that nothing defines any more.
    gone: BTreeSet<u32>,
    /// Imports that have a body now.
    defined: BTreeSet<u32>,
}

impl<'m> Linking<'_, 'm> {
    /// The id of OpenCL.std.
    fn set(&mut self) -> Result<u32, Diagnostic> {
        if let Some(set) = self.set {
            return Ok(set);
        }
        let mut sets = self.declarations.ext_inst_sets.iter();
        let set = match sets.find(|(_, set)| **set == ExtInstSet::OpenCl) {
            Some((id, _)) => id.0,
            None => self.edit.import("OpenCL.std")?,
        };
        self.set = Some(set);
        Ok(set)
    }

    /// Declares one of the capabilities that something needs, if the module has none of them.
    fn need(&mut self, one_of: &[Capability]) -> Result<(), Diagnostic> {
        let has = one_of.iter().any(|c| self.declarations.has_capability(*c));
        if let (false, Some(first)) = (has, one_of.first())
            && self.capabilities.insert(*first as u32)
        {
            self.edit.capability(*first as u32)?;
        }
        Ok(())
    }

    /// Replaces a call; one that does not fit stays.
    fn call(&mut self, call: Inst<'m>, name: &str, what: Provided) -> Result<(), Diagnostic> {
        let (Some(ty), Some(result)) = (call.result_type(), call.result()) else {
            return Err(Diagnostic::bug("a call without a result").at_word(call.offset));
        };
        let arguments = call.operands_from(1);
        match what {
            Provided::Routine(_) => Ok(()),
            Provided::OpenCl(op) => {
                let mut operands = vec![ty.0, result.0, self.set()?, op as u32];
                operands.extend(arguments);
                self.edit.replace(call.offset, Op::ExtInst, &operands)
            }
            Provided::Assertion(assertion) => {
                let set = self.set()?;
                assertion.print(self.declarations, &mut self.edit, call, set)?;
                self.gone.insert(result.0);
                Ok(())
            }
            Provided::Core(core) => self.core(call, ty, result, name, core),
        }
    }

    fn core(
        &mut self,
        call: Inst<'m>,
        ty: Id,
        result: Id,
        name: &str,
        core: Core,
    ) -> Result<(), Diagnostic> {
        let arguments = call.operands_from(1);
        let literal = |id| self.constants.as_u32(Id(id));
        let Some(operands) = core.operands(arguments, literal) else {
            return Ok(()); // it stays a call of an import, which is reported
        };
        let is_void = matches!(self.declarations.ty(ty), Some(Type::Void));
        if is_void == core.has_result {
            return Ok(());
        }
        let (element, _) = self.shape(ty);
        let is_number = matches!(self.declarations.ty(element), Some(Type::Int { .. }));
        if is_test(core.op) && !self.is_boolean(ty) && !is_number {
            return Ok(()); // no test gives that
        }
        self.need(core.capabilities)?;
        if !core.has_result {
            self.gone.insert(result.0);
            return self.edit.replace(call.offset, core.op, &operands);
        }
        let mut id = result.0;
        let mut as_type = ty.0;
        if is_test(core.op) && !self.is_boolean(ty) {
            // C has no Booleans here: a test gives an integer.
            (id, as_type) = (self.edit.fresh()?, self.booleans(ty)?);
            let (yes, no) = self.truth(ty)?;
            let chosen = [ty.0, result.0, id, yes, no];
            self.edit.after(call.offset, Op::Select, &chosen)?;
        }
        let mut all = vec![as_type, id];
        all.extend(operands);
        self.edit.replace(call.offset, core.op, &all)?;
        if let ImportedFunction::Core(_, suffix) = names::imported_function(name) {
            for decoration in instructions::decorations(suffix) {
                let mut operands = vec![id];
                operands.extend(decoration);
                self.edit.annotation(Op::Decorate, &operands)?;
            }
        }
        Ok(())
    }

    /// The element type and the number of elements of `ty`.
    fn shape(&self, ty: Id) -> (Id, u32) {
        match self.declarations.ty(ty) {
            Some(Type::Vector { component, count }) => (*component, *count),
            _ => (ty, 1),
        }
    }

    fn is_boolean(&self, ty: Id) -> bool {
        let (element, _) = self.shape(ty);
        matches!(self.declarations.ty(element), Some(Type::Bool))
    }

    /// As many Booleans as `ty` has elements.
    fn booleans(&mut self, ty: Id) -> Result<u32, Diagnostic> {
        let boolean = self.edit.type_of(Op::TypeBool, &[])?;
        match self.shape(ty) {
            (_, 1) => Ok(boolean),
            (_, count) => self.edit.type_of(Op::TypeVector, &[boolean, count]),
        }
    }

    /// What stands for true and false in the integers `ty`: of a vector -1 and 0, as OpenCL C has
    /// it, of one integer 1 and 0.
    fn truth(&mut self, ty: Id) -> Result<(u32, u32), Diagnostic> {
        let (element, count) = self.shape(ty);
        let wide = matches!(
            self.declarations.ty(element),
            Some(Type::Int { width: 64, .. })
        );
        let width = match self.declarations.ty(element) {
            Some(Type::Int { width, .. }) => *width,
            _ => {
                return Err(Diagnostic::bug(
                    "the result of a test is neither Boolean nor integer",
                ));
            }
        };
        let words = |value: u64| {
            let words = [value as u32, (value >> 32) as u32];
            words.into_iter().take(if wide { 2 } else { 1 })
        };
        let yes = if count == 1 {
            1
        } else {
            u64::MAX >> (64 - width)
        };
        let mut both = [0; 2];
        for (slot, value) in both.iter_mut().zip([yes, 0]) {
            let words: Vec<u32> = words(value).collect();
            let one = self.edit.constant(Op::Constant, element.0, &words)?;
            *slot = if count == 1 {
                one
            } else {
                let mut operands = vec![ty.0, 0];
                operands.extend((0..count).map(|_| one));
                self.edit.global(Op::ConstantComposite, &operands, 1)?
            };
        }
        let [yes, no] = both;
        Ok((yes, no))
    }

    /// Makes a definition of the import.
    fn define(
        &mut self,
        module: &Module<'m>,
        function: &Function<'m>,
        routine: Routine,
    ) -> Result<(), Diagnostic> {
        let set = self.set()?;
        if let Routine::Brain { .. } = routine {
            self.need(&[Capability::BFloat16ConversionINTEL])?;
        }
        let frame = module
            .instructions_from(function.offset)
            .take_while(|inst| inst.offset <= function.end);
        for inst in frame {
            self.edit.remove(inst.offset);
            if let Some(op @ (Op::Function | Op::FunctionParameter)) = inst.op() {
                let words = inst.words.get(1..).unwrap_or_default();
                self.edit.function(op, words)?;
            }
        }
        let body = Body::new(&mut self.edit, set);
        routine.write(&body, self.declarations, function)?;
        self.edit.function(Op::FunctionEnd, &[])?;
        self.defined.insert(function.id.0);
        Ok(())
    }

    /// Takes away the names and decorations of what is gone, and says of no function that is
    /// defined now that it is imported.
    fn forget(&mut self, module: &Module<'m>) {
        for inst in module.instructions() {
            let about_one = matches!(
                inst.op(),
                Some(Op::Name | Op::Decorate | Op::DecorateId | Op::DecorateString)
            );
            let Some(target) = inst.operands().first().filter(|_| about_one) else {
                continue; // says nothing about one id
            };
            let is_linkage = inst.op() == Some(Op::Decorate)
                && inst.operands().get(1) == Some(&(Decoration::LinkageAttributes as u32));
            if self.gone.contains(target) || is_linkage && self.defined.contains(target) {
                self.edit.remove(inst.offset);
            }
        }
    }
}

/// Returns true if the instruction gives Booleans by its own definition.
fn is_test(op: Op) -> bool {
    matches!(
        op,
        Op::Any
            | Op::All
            | Op::IsNan
            | Op::IsInf
            | Op::IsFinite
            | Op::IsNormal
            | Op::SignBitSet
            | Op::LessOrGreater
            | Op::Ordered
            | Op::Unordered
            | Op::FOrdEqual
            | Op::FUnordEqual
            | Op::FOrdNotEqual
            | Op::FUnordNotEqual
            | Op::FOrdLessThan
            | Op::FUnordLessThan
            | Op::FOrdGreaterThan
            | Op::FUnordGreaterThan
            | Op::FOrdLessThanEqual
            | Op::FUnordLessThanEqual
            | Op::FOrdGreaterThanEqual
            | Op::FUnordGreaterThanEqual
            | Op::AtomicFlagTestAndSet
    )
}
