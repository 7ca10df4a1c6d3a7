//! Evaluates the constants of a module.

use super::constant::Constant;
use super::constants::{Constants, SpecValues};
use super::report::Report;
use super::{Declarations, Id, Inst, Type, fold, scalar};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use std::collections::BTreeSet;

/// Scalars that all constants of a module together may have, at least; a larger module may have
/// [`SCALARS_PER_WORD`] for each of its words. Without a limit a few hundred bytes that nest one
/// composite in another could stand for more memory than there is.
const LEAST_SCALARS: usize = 1 << 16;

/// See [`LEAST_SCALARS`].
const SCALARS_PER_WORD: usize = 4;

impl Constants {
    /// Evaluates all constants, OpSpecConstantOp included, in module order.
    ///
    /// What has no value here (addresses of variables, samplers, the length of a cooperative
    /// matrix) is left out without a word: the instruction stays in the module. A result that
    /// SPIR-V leaves undefined (division by zero, a shift by the width or more) is
    /// [`Constant::Undef`]. `diagnostics` gets `UnknownSpecId` for values that no constant takes,
    /// `BadConstant` and `TypeMismatch` for constants that break a rule, and `NestingTooDeep` when
    /// all values together would be out of proportion to the module.
    pub fn evaluate(
        declarations: &Declarations<'_>,
        spec: &SpecValues,
        diagnostics: &mut Diagnostics,
    ) -> Constants {
        let mut report = Report::new(diagnostics);
        let left = LEAST_SCALARS.max(declarations.module.words().len() * SCALARS_PER_WORD);
        let mut evaluator = Evaluator {
            declarations,
            spec,
            constants: Constants::new(declarations.module.words().len()),
            taken: BTreeSet::new(),
            left,
            warnings: Vec::new(),
        };
        for inst in declarations.constants.iter().copied() {
            if let Err(diagnostic) = evaluator
                .value(inst)
                .and_then(|value| evaluator.keep(inst, value))
            {
                let last = diagnostic.code == Code::NestingTooDeep;
                report.push(diagnostic.at_word(inst.offset));
                if last {
                    break;
                }
            }
        }
        for id in spec.0.keys().filter(|id| !evaluator.taken.contains(id)) {
            let known: Vec<String> = evaluator.spec_ids().iter().map(u32::to_string).collect();
            let known = if known.is_empty() {
                "the module has no specialization constants".to_owned()
            } else {
                format!("the module has the SpecIds {}", known.join(", "))
            };
            report.push(
                Diagnostic::error(
                    Code::UnknownSpecId,
                    format!("no specialization constant has the SpecId {id}"),
                )
                .because(known)
                .help("use a SpecId of the module, or remove the value"),
            );
        }
        for warning in evaluator.warnings {
            report.push(warning);
        }
        evaluator.constants
    }
}

/// Zero-extended bits of the literal in `words`, cut to `width`.
fn literal_bits(words: &[u32], width: u32) -> Option<u64> {
    let low = u64::from(*words.first()?);
    let high = if width > 32 {
        u64::from(*words.get(1)?)
    } else {
        0
    };
    Some((high << 32 | low) & scalar::mask(width))
}

fn too_many() -> Diagnostic {
    Diagnostic::error(
        Code::NestingTooDeep,
        "the constants of this module have too many values",
    )
    .because("nested composites multiply the number of their values")
    .help("initialise large arrays at run time")
}

/// Returns true if `inst` computes a specialization constant from others.
fn is_computed(inst: Inst<'_>) -> bool {
    use spirv::Op;
    matches!(
        inst.op(),
        Some(
            Op::SpecConstantOp | Op::SpecConstantComposite | Op::SpecConstantCompositeReplicateEXT
        )
    )
}

/// One run over the constants.
struct Evaluator<'e, 'm> {
    declarations: &'e Declarations<'m>,
    spec: &'e SpecValues,
    constants: Constants,
    /// SpecIds of the module.
    taken: BTreeSet<u32>,
    /// Scalars that may still be made.
    left: usize,
    /// What is wrong and taken all the same.
    warnings: Vec<Diagnostic>,
}

impl Evaluator<'_, '_> {
    fn keep(&mut self, inst: Inst<'_>, value: Option<Constant>) -> Result<(), Diagnostic> {
        let Some(value) = value else { return Ok(()) };
        self.left = self
            .left
            .checked_sub(value.scalars())
            .ok_or_else(too_many)?;
        let id = inst.result();
        let defaults = &self.constants.defaults;
        if is_computed(inst) && !defaults.is_empty() {
            let mut operands = self.declarations.module.ids(inst);
            if operands.any(|(_, id)| defaults.contains(&id)) {
                self.constants.defaults.extend(id);
            }
        }
        if let Some(id) = id {
            self.constants.values.insert(id, value);
        }
        Ok(())
    }

    /// The SpecIds that the module has (all of them once the run is over).
    fn spec_ids(&self) -> &BTreeSet<u32> {
        &self.taken
    }

    fn value(&mut self, inst: Inst<'_>) -> Result<Option<Constant>, Diagnostic> {
        use spirv::Op;
        Ok(match inst.op() {
            Some(Op::ConstantTrue) => Some(Constant::Bool(true)),
            Some(Op::ConstantFalse) => Some(Constant::Bool(false)),
            Some(Op::SpecConstantTrue) => Some(self.spec_bool(inst, true)?),
            Some(Op::SpecConstantFalse) => Some(self.spec_bool(inst, false)?),
            Some(Op::Constant) => self.number(inst)?,
            Some(Op::SpecConstant) => self.spec_number(inst)?,
            Some(Op::ConstantNull) => Some(Constant::Null),
            Some(Op::Undef) => Some(Constant::Undef),
            Some(Op::ConstantComposite | Op::SpecConstantComposite) => self.composite(inst)?,
            Some(Op::ConstantCompositeReplicateEXT | Op::SpecConstantCompositeReplicateEXT) => {
                self.replicate(inst)?
            }
            Some(Op::SpecConstantOp) => {
                fold::operation(self.declarations, &self.constants, inst, self.left)?
            }
            _ => None, // see `has_value`
        })
    }

    /// The value given for the SpecId of `inst`.
    fn given(&mut self, inst: Inst<'_>) -> Option<u64> {
        let constant = inst.result()?;
        let id = self
            .declarations
            .decoration(constant, spirv::Decoration::SpecId)?;
        self.taken.insert(id);
        let given = self.spec.0.get(&id).copied();
        if given.is_none() {
            self.constants.defaults.insert(constant);
        }
        given
    }

    fn spec_bool(&mut self, inst: Inst<'_>, default: bool) -> Result<Constant, Diagnostic> {
        match self.given(inst) {
            None => Ok(Constant::Bool(default)),
            Some(bits @ 0..=1) => Ok(Constant::Bool(bits == 1)),
            Some(bits) => Err(Diagnostic::error(
                Code::BadConstant,
                format!("the value {bits} was given for a Boolean specialization constant"),
            )
            .help("use 0 or 1")),
        }
    }

    fn spec_number(&mut self, inst: Inst<'_>) -> Result<Option<Constant>, Diagnostic> {
        let (default, given) = (self.number(inst)?, self.given(inst));
        let (Some(default), Some(given)) = (default.clone(), given) else {
            return Ok(default);
        };
        let width = match default {
            Constant::Int { width, .. } | Constant::Float { width, .. } => width,
            Constant::Bool(_) | Constant::Composite(_) | Constant::Null | Constant::Undef => 64,
        };
        let bits = given & scalar::mask(width);
        if bits != given && scalar::sign_extend(bits, width) as u64 != given {
            return Err(Diagnostic::error(
                Code::BadConstant,
                format!(
                    "the value {given:#x} does not fit into the {width} bits of the specialization constant"
                ),
            )
            .help(format!("use a value of at most {width} bits")));
        }
        Ok(Some(match default {
            Constant::Float { .. } => Constant::Float { bits, width },
            Constant::Int { .. }
            | Constant::Bool(_)
            | Constant::Composite(_)
            | Constant::Null
            | Constant::Undef => Constant::Int { bits, width },
        }))
    }

    /// `None` for a number whose type is not decoded; the declarations report it.
    fn number(&self, inst: Inst<'_>) -> Result<Option<Constant>, Diagnostic> {
        let ty = inst.result_type().and_then(|id| self.declarations.ty(id));
        let short = || {
            Diagnostic::error(
                Code::MissingOperand,
                format!("the literal of {} is shorter than its type", inst.name()),
            )
        };
        match ty {
            Some(Type::Int { width, .. }) => Ok(Some(Constant::Int {
                bits: literal_bits(inst.operands(), *width).ok_or_else(short)?,
                width: *width,
            })),
            Some(Type::Float { width, .. }) => Ok(Some(Constant::Float {
                bits: literal_bits(inst.operands(), *width).ok_or_else(short)?,
                width: *width,
            })),
            None => Ok(None),
            _ => Err(Diagnostic::error(
                Code::TypeMismatch,
                format!(
                    "the type of {} is neither an integer nor a floating-point type",
                    inst.name()
                ),
            )),
        }
    }

    /// `None` when a constituent has no value here (the address of a variable).
    fn composite(&mut self, inst: Inst<'_>) -> Result<Option<Constant>, Diagnostic> {
        let (value, warning) = self.constituents(inst)?;
        self.warnings.extend(warning);
        Ok(value)
    }

    /// The value of a composite, and a warning about it if there is one.
    fn constituents(
        &self,
        inst: Inst<'_>,
    ) -> Result<(Option<Constant>, Option<Diagnostic>), Diagnostic> {
        let constituents = inst.operands();
        let mut warning = None;
        let Some(wanted) = self.wanted(inst)? else {
            return Ok((None, None));
        };
        let mut parts = Some(Vec::with_capacity(constituents.len()));
        let mut room = self.left;
        for (index, (constituent, ty)) in constituents.iter().zip(wanted.iter()).enumerate() {
            let constituent = Id(*constituent);
            let found = self.declarations.type_of(constituent);
            if found != Some(ty) && self.declarations.module.def(constituent).is_some() {
                let message = format!(
                    "the type of constituent {index} of {}, {constituent}, is not {ty}",
                    inst.name()
                );
                if !self.differ_in_sign(inst, found, ty) {
                    return Err(Diagnostic::error(Code::TypeMismatch, message));
                }
                warning.get_or_insert_with(|| {
                    Diagnostic::warning(Code::TypeMismatch, message)
                        .at_word(inst.offset)
                        .because("the types are integers of one width that differ only in signedness, which drivers accept")
                        .help(format!("use a constituent of the type {ty}"))
                });
            }
            let value = self.constants.get(constituent);
            room = room
                .checked_sub(value.map_or(0, Constant::scalars))
                .ok_or_else(too_many)?;
            match (&mut parts, value) {
                (Some(parts), Some(value)) => parts.push(value.clone()),
                _ => parts = None,
            }
        }
        if constituents.len() as u64 != wanted.len {
            return Err(Diagnostic::error(
                Code::TypeMismatch,
                format!(
                    "{} has {} constituents, but its type has {}",
                    inst.name(),
                    constituents.len(),
                    wanted.len
                ),
            ));
        }
        Ok((parts.map(Constant::Composite), warning))
    }

    /// Returns true if `inst` is an OpSpecConstantComposite and the two types are integers of one
    /// width. glslang writes gl_WorkGroupSize like this if a dimension is an int.
    fn differ_in_sign(&self, inst: Inst<'_>, found: Option<Id>, wanted: Id) -> bool {
        let width = |ty: Id| match self.declarations.ty(ty) {
            Some(Type::Int { width, .. }) => Some(*width),
            _ => None,
        };
        let found = found.and_then(width);
        inst.op() == Some(spirv::Op::SpecConstantComposite)
            && found.is_some()
            && found == width(wanted)
    }

    fn replicate(&self, inst: Inst<'_>) -> Result<Option<Constant>, Diagnostic> {
        let value = inst.id(0)?;
        let (Some(wanted), Some(part)) = (self.wanted(inst)?, self.constants.get(value)) else {
            return Ok(None);
        };
        if wanted.iter().next() != self.declarations.type_of(value) {
            return Err(Diagnostic::error(
                Code::TypeMismatch,
                format!(
                    "the type of {value}, the value of {}, is not the type of a constituent",
                    inst.name()
                ),
            ));
        }
        let total = (part.scalars() as u64).saturating_mul(wanted.len);
        if total > self.left as u64 {
            return Err(too_many());
        }
        Ok(Some(Constant::Composite(
            (0..wanted.len).map(|_| part.clone()).collect(),
        )))
    }

    /// The types of the constituents of the composite `inst`; `None` for types whose constants are
    /// not decoded here.
    fn wanted(&self, inst: Inst<'_>) -> Result<Option<ConstituentTypes<'_>>, Diagnostic> {
        let ty = inst.result_type().and_then(|id| self.declarations.ty(id));
        Ok(match ty {
            Some(
                Type::Vector {
                    component: one,
                    count,
                }
                | Type::Matrix { column: one, count },
            ) => Some(ConstituentTypes {
                all: &[],
                one: Some(*one),
                len: u64::from(*count),
            }),
            Some(Type::Struct { members }) => Some(ConstituentTypes {
                all: members,
                one: None,
                len: members.len() as u64,
            }),
            Some(Type::Array { element, length }) => self
                .constants
                .get(*length)
                .and_then(Constant::as_u64)
                .map(|len| ConstituentTypes {
                    all: &[],
                    one: Some(*element),
                    len,
                }),
            // One constituent stands for all of them (SPV_KHR_cooperative_matrix).
            Some(Type::CooperativeMatrix { component, .. }) => Some(ConstituentTypes {
                all: &[],
                one: Some(*component),
                len: 1,
            }),
            Some(Type::Other { .. }) | None => None,
            Some(
                Type::Void
                | Type::Bool
                | Type::Int { .. }
                | Type::Float { .. }
                | Type::RuntimeArray { .. }
                | Type::Pointer { .. }
                | Type::Function { .. }
                | Type::Event
                | Type::NamedBarrier,
            ) => {
                return Err(Diagnostic::error(
                    Code::TypeMismatch,
                    format!("the type of {} is not a composite type", inst.name()),
                ));
            }
        })
    }
}

/// Types that a composite's constituents must have.
struct ConstituentTypes<'d> {
    /// Each one, of a structure.
    all: &'d [Id],
    /// The one of all, of everything else.
    one: Option<Id>,
    /// How many.
    len: u64,
}

impl ConstituentTypes<'_> {
    fn iter(&self) -> impl Iterator<Item = Id> {
        let same = self.one.into_iter().flat_map(|one| {
            std::iter::repeat_n(one, usize::try_from(self.len).unwrap_or(usize::MAX))
        });
        self.all.iter().copied().chain(same)
    }
}
