//! Instructions on vectors of pointers, component by component.

use crate::analysis::guarded::{Masked, PREDICATED_LOAD, PREDICATED_STORE};
use crate::diagnostic::{Code, Diagnostic};
use crate::module::{Block, Declarations, Id, Inst, Type, WordOffset};
use crate::transform::edit::Edit;
use spirv::{MemoryAccess, Op};
use std::collections::BTreeMap;

/// OpVectorShuffle's word for a component that is not defined.
const UNDEFINED: u32 = u32::MAX;

/// The instructions of a module, on their way to components.
pub(super) struct Components<'t, 'd, 'm> {
    edit: Edit<'d, 'm>,
    /// The vectors of pointers: type of a component, and their number.
    vectors: &'t BTreeMap<Id, (Id, u32)>,
    /// True if there is a predicated access now.
    has_accesses: bool,
}

/// What is done to an instruction with a vector of pointers.
enum Way {
    /// Nothing: a structure is taken as the vector was.
    Same,
    /// The same for each component.
    Each,
    /// As its name says.
    Construct,
    Shuffle,
    Extract,
    Insert,
    Variables,
    Access,
}

fn way(op: Op) -> Option<Way> {
    Some(match op {
        Op::Load
        | Op::Store
        | Op::Phi
        | Op::CopyObject
        | Op::Undef
        | Op::CompositeExtract
        | Op::CompositeInsert
        | Op::FunctionCall
        | Op::ReturnValue
        | Op::FunctionParameter => Way::Same,
        Op::AccessChain
        | Op::InBoundsAccessChain
        | Op::PtrAccessChain
        | Op::InBoundsPtrAccessChain
        | Op::PtrEqual
        | Op::PtrNotEqual
        | Op::PtrDiff
        | Op::ConvertPtrToU
        | Op::ConvertUToPtr
        | Op::PtrCastToGeneric
        | Op::GenericCastToPtr
        | Op::GenericCastToPtrExplicit
        | Op::Bitcast
        | Op::Select => Way::Each,
        Op::CompositeConstruct => Way::Construct,
        Op::VectorShuffle => Way::Shuffle,
        Op::VectorExtractDynamic => Way::Extract,
        Op::VectorInsertDynamic => Way::Insert,
        Op::Variable => Way::Variables,
        Op::MaskedGatherINTEL | Op::MaskedScatterINTEL => Way::Access,
        _ => return None,
    })
}

impl<'t, 'd, 'm> Components<'t, 'd, 'm> {
    pub(super) fn new(
        edit: Edit<'d, 'm>,
        vectors: &'t BTreeMap<Id, (Id, u32)>,
    ) -> Components<'t, 'd, 'm> {
        Components {
            edit,
            vectors,
            has_accesses: false,
        }
    }

    /// The changes, and whether predicated accesses are among them.
    pub(super) fn into_edit(self) -> (Edit<'d, 'm>, bool) {
        (self.edit, self.has_accesses)
    }

    fn declarations(&self) -> &'d Declarations<'m> {
        self.edit.declarations
    }

    /// The vector of pointers that the value `id` is.
    fn vector(&self, id: Id) -> Option<(Id, u32)> {
        let ty = self.declarations().type_of(id)?;
        self.vectors.get(&ty).copied()
    }

    /// Component type and number of the vector that the value `id` is, of pointers or not.
    fn any_vector(&self, id: Id) -> Option<(Id, u32)> {
        match self.declarations().ty(self.declarations().type_of(id)?) {
            Some(Type::Vector { component, count }) => Some((*component, *count)),
            _ => None,
        }
    }

    /// Rewrites `inst` of `block`.
    pub(super) fn instruction(
        &mut self,
        block: &Block<'m>,
        inst: Inst<'m>,
    ) -> Result<(), Diagnostic> {
        let module = self.declarations().module;
        let result = inst
            .result_type()
            .and_then(|ty| self.vectors.get(&ty).copied());
        let mut operands = module.ids(inst).map(|(_, id)| id);
        let is_of_vectors = result.is_some() || operands.any(|id| self.vector(id).is_some());
        if !is_of_vectors {
            return self.chain(inst);
        }
        match inst.op().and_then(way) {
            Some(Way::Same) => Ok(()),
            Some(Way::Each) => self.each(inst),
            Some(Way::Construct) => self.construct(inst),
            Some(Way::Shuffle) => self.shuffle(inst),
            Some(Way::Extract) => self.extract(inst),
            Some(Way::Insert) => self.insert(inst),
            Some(Way::Variables) => self.variables(block, inst),
            Some(Way::Access) => self.access(inst),
            None => Err(refused(inst, "with a vector of pointers")),
        }
    }

    /// An access chain into a vector of pointers in memory names its component by a constant.
    fn chain(&self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let Some(chain) = inst.chain().filter(|chain| chain.base_type.is_none()) else {
            return Ok(());
        };
        let declarations = self.declarations();
        let pointee = declarations.type_of(chain.base);
        let pointee = match pointee.and_then(|ty| declarations.ty(ty)) {
            Some(Type::Pointer { pointee, .. }) => *pointee,
            _ => None,
        };
        let index = chain.indexes.first().map(|id| Id(*id));
        let (Some(_), Some(index)) = (pointee.and_then(|ty| self.vectors.get(&ty)), index) else {
            return Ok(());
        };
        let op = declarations.module.def(index).and_then(Inst::op);
        let is_narrow = matches!(
            declarations
                .type_of(index)
                .and_then(|ty| declarations.ty(ty)),
            Some(Type::Int { width: 32, .. })
        );
        if op == Some(Op::Constant) && is_narrow {
            Ok(())
        } else {
            Err(refused(
                inst,
                "into a vector of pointers by an index that is not a constant of 32 bits",
            ))
        }
    }

    /// Writes `op` before `at`: the id of its result.
    fn write(
        &mut self,
        at: WordOffset,
        op: Op,
        ty: u32,
        operands: &[u32],
    ) -> Result<u32, Diagnostic> {
        let id = self.edit.fresh()?;
        let mut all = vec![ty, id];
        all.extend_from_slice(operands);
        self.edit.before(at, op, &all)?;
        Ok(id)
    }

    /// Component `index` of the vector `id`.
    fn part(
        &mut self,
        at: WordOffset,
        id: Id,
        component: Id,
        index: u32,
    ) -> Result<u32, Diagnostic> {
        self.write(at, Op::CompositeExtract, component.0, &[id.0, index])
    }

    /// All components of the vector `id`.
    fn parts(&mut self, at: WordOffset, id: Id) -> Result<Vec<u32>, Diagnostic> {
        let Some((component, count)) = self.any_vector(id) else {
            return Err(Diagnostic::bug("a vector of no vector type").at_word(at));
        };
        (0..count)
            .map(|index| self.part(at, id, component, index))
            .collect()
    }

    /// Puts the result of `inst` together of its components.
    fn finish(&mut self, inst: Inst<'m>, parts: &[u32]) -> Result<(), Diagnostic> {
        let (Some(ty), Some(result)) = (inst.result_type(), inst.result()) else {
            return Err(Diagnostic::bug("a vector without a type").at_word(inst.offset));
        };
        let mut operands = vec![ty.0, result.0];
        operands.extend(parts);
        self.edit
            .replace(inst.offset, Op::CompositeConstruct, &operands)
    }

    /// The same instruction for each component: operands that are vectors give theirs, others are
    /// the same for all.
    fn each(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let declarations = self.declarations();
        let (Some(op), Some(ty)) = (inst.op(), inst.result_type()) else {
            return Err(Diagnostic::bug("no result").at_word(inst.offset));
        };
        let Some(Type::Vector { component, count }) = declarations.ty(ty) else {
            return Err(refused(
                inst,
                "of a vector of pointers that gives no vector",
            ));
        };
        let (component, count) = (*component, *count);
        let ids: Vec<usize> = declarations
            .module
            .ids(inst)
            .map(|(index, _)| index)
            .collect();
        let mut columns = Vec::new();
        // Words in front of the operands: the opcode, the result's type, the result.
        for (index, word) in (3..).zip(inst.operands()) {
            let is_id = ids.contains(&index);
            let vector = if is_id {
                self.any_vector(Id(*word))
            } else {
                None
            };
            match vector {
                Some((_, many)) if many != count => {
                    return Err(refused(inst, "of vectors of pointers of another length"));
                }
                Some(_) => columns.push(self.parts(inst.offset, Id(*word))?),
                None => columns.push(vec![*word; count as usize]),
            }
        }
        let mut parts = Vec::new();
        for index in 0..count as usize {
            let operands: Vec<u32> = columns
                .iter()
                .filter_map(|c| c.get(index))
                .copied()
                .collect();
            parts.push(self.write(inst.offset, op, component.0, &operands)?);
        }
        self.finish(inst, &parts)
    }

    /// A vector's constituents may be vectors.
    fn construct(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let is_whole = inst
            .result_type()
            .is_some_and(|ty| self.vectors.contains_key(&ty));
        if !is_whole {
            return Err(refused(inst, "with a vector of pointers as a part"));
        }
        let mut parts = Vec::new();
        for word in inst.operands() {
            match self.vector(Id(*word)) {
                Some(_) => parts.extend(self.parts(inst.offset, Id(*word))?),
                None => parts.push(*word),
            }
        }
        self.finish(inst, &parts)
    }

    fn shuffle(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let of = |index| inst.id(index);
        let (first, second) = (of(0)?, of(1)?);
        let (Some((component, many)), Some((_, more))) = (self.vector(first), self.vector(second))
        else {
            return Err(refused(inst, "of a vector of pointers and another one"));
        };
        let mut parts = Vec::new();
        for word in inst.operands_from(2) {
            parts.push(match *word {
                UNDEFINED => self.write(inst.offset, Op::Undef, component.0, &[])?,
                index if index < many => self.part(inst.offset, first, component, index)?,
                index if index - many < more => {
                    self.part(inst.offset, second, component, index - many)?
                }
                _ => {
                    return Err(refused(
                        inst,
                        "with a component that its vectors do not have",
                    ));
                }
            });
        }
        self.finish(inst, &parts)
    }

    /// Whether the number `index` is `value`, as an instruction before `at`.
    fn is_number(&mut self, at: WordOffset, index: Id, value: u32) -> Result<u32, Diagnostic> {
        let declarations = self.declarations();
        let ty = declarations.type_of(index);
        let Some(Type::Int { width, .. }) = ty.and_then(|ty| declarations.ty(ty)) else {
            let message = "the index of a component is not an integer";
            return Err(Diagnostic::error(Code::TypeMismatch, message).at_word(at));
        };
        // A literal below 32 bits fills its word.
        let mut words = vec![value];
        words.resize(width.div_ceil(32).max(1) as usize, 0);
        let ty = ty.map_or(0, |ty| ty.0);
        let number = self.edit.constant(Op::Constant, ty, &words)?;
        let bool = self.edit.type_of(Op::TypeBool, &[])?;
        self.write(at, Op::IEqual, bool, &[index.0, number])
    }

    fn extract(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let (vector, index) = (inst.id(0)?, inst.id(1)?);
        let (Some((component, count)), Some(result)) = (self.vector(vector), inst.result()) else {
            return Err(refused(inst, "without a vector"));
        };
        let at = inst.offset;
        let mut chosen = self.part(at, vector, component, 0)?;
        for number in 1..count {
            let is_it = self.is_number(at, index, number)?;
            let part = self.part(at, vector, component, number)?;
            chosen = self.write(at, Op::Select, component.0, &[is_it, part, chosen])?;
        }
        self.edit
            .replace(at, Op::CopyObject, &[component.0, result.0, chosen])
    }

    fn insert(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let (vector, new, index) = (inst.id(0)?, inst.id(1)?, inst.id(2)?);
        let Some((component, count)) = self.vector(vector) else {
            return Err(refused(inst, "without a vector"));
        };
        let mut parts = Vec::new();
        for number in 0..count {
            let is_it = self.is_number(inst.offset, index, number)?;
            let part = self.part(inst.offset, vector, component, number)?;
            let operands = [is_it, new.0, part];
            parts.push(self.write(inst.offset, Op::Select, component.0, &operands)?);
        }
        self.finish(inst, &parts)
    }

    /// A variable for each component; their addresses are put together behind all variables.
    fn variables(&mut self, block: &Block<'m>, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let ty = inst.result_type();
        let vector = ty.and_then(|ty| self.vectors.get(&ty).copied());
        let (Some(ty), Some(result), Some((component, count))) = (ty, inst.result(), vector) else {
            return Err(refused(inst, "with a vector of pointers as an initializer"));
        };
        let [class] = inst.operands() else {
            return Err(refused(
                inst,
                "of a vector of variables with an initializer",
            ));
        };
        let mut parts = Vec::new();
        for _ in 0..count {
            parts.push(self.write(inst.offset, Op::Variable, component.0, &[*class])?);
        }
        self.edit.remove(inst.offset);
        let variable = |inst: &&Inst<'_>| {
            matches!(
                inst.op(),
                Some(Op::Variable | Op::Line | Op::NoLine | Op::Phi)
            )
        };
        let Some(behind) = block.insts.iter().find(|inst| !variable(inst)) else {
            return Err(Diagnostic::bug("a block without an end").at_word(inst.offset));
        };
        let mut operands = vec![ty.0, result.0];
        operands.extend(parts);
        self.edit
            .before(behind.offset, Op::CompositeConstruct, &operands)
    }

    fn access(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let Some(access) = Masked::from_inst(inst) else {
            return Err(refused(inst, "without its operands"));
        };
        self.has_accesses = true;
        let at = inst.offset;
        let pointers = self.parts(at, access.pointers)?;
        let (mask, values) = (self.parts(at, access.mask)?, self.parts(at, access.value)?);
        let memory = match access.alignment {
            0 => Vec::new(),
            alignment => vec![MemoryAccess::ALIGNED.bits(), alignment],
        };
        let component = self
            .any_vector(access.value)
            .map(|(component, _)| component);
        let is_gather = inst.result().is_some();
        let mut parts = Vec::new();
        for ((pointer, predicate), value) in pointers.iter().zip(&mask).zip(&values) {
            let mut operands = match (is_gather, component) {
                (true, Some(component)) => {
                    let id = self.edit.fresh()?;
                    parts.push(id);
                    vec![component.0, id, *pointer, *predicate, *value]
                }
                _ => vec![*pointer, *value, *predicate],
            };
            operands.extend(&memory);
            let opcode = if is_gather {
                PREDICATED_LOAD
            } else {
                PREDICATED_STORE
            };
            self.edit.before_numbered(at, opcode, &operands)?;
        }
        if is_gather {
            self.finish(inst, &parts)
        } else {
            self.edit.remove(at);
            Ok(())
        }
    }
}

fn refused(inst: Inst<'_>, what: &str) -> Diagnostic {
    let message = format!("{} {what} is not lowered", inst.name());
    Diagnostic::error(Code::UnsupportedInstruction, message).at_word(inst.offset)
}
