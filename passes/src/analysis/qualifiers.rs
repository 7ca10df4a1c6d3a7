//! The memory that is Coherent or Volatile: the decorations of variables, parameters and members,
//! followed to the pointers and images that lead there.
//!
//! SPIR-V 2.18.1 and 3.20: before Vulkan's memory model it is the memory that is decorated, not the
//! access. What an access has to do follows from where its pointer comes from: through access
//! chains, copies, casts, selections, phis and calls, by union. A pointer that is loaded may be any
//! that the module stores; beside these, the members of the type that it points to are asked (a
//! buffer reference is an address from outside). Nothing is lost by a union: a qualifier only
//! forbids.

use crate::module::facts::Chain;
use crate::module::{Declarations, Id, Inst, TensorAccess, Type, callee};
use spirv::{Decoration, Op};
use std::collections::BTreeMap;

/// Where pointers in memory are collected: no instruction defines it.
const STORED: Id = Id(0);

/// The qualifiers of the accesses to a place, in addition to their memory operands.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Qualifiers {
    /// Writes are made available, and reads visible, in the device's scope.
    pub coherent: bool,
    /// No access is left out, doubled, or made one with another.
    pub volatile: bool,
}

impl Qualifiers {
    /// Returns true if there is one.
    pub fn any(self) -> bool {
        self.coherent || self.volatile
    }

    fn add(&mut self, other: Qualifiers) {
        self.coherent |= other.coherent;
        self.volatile |= other.volatile;
    }

    fn covers(self, other: Qualifiers) -> bool {
        (self.coherent || !other.coherent) && (self.volatile || !other.volatile)
    }

    fn from_decorations(decorations: &[crate::module::Decoration<'_>]) -> Qualifiers {
        let has = |kind: Decoration| decorations.iter().any(|one| one.kind == kind as u32);
        Qualifiers {
            coherent: has(Decoration::Coherent),
            volatile: has(Decoration::Volatile),
        }
    }
}

/// The qualifiers of all pointers and images of a module.
#[derive(Clone, Debug, Default)]
pub struct MemoryQualifiers {
    /// By pointer or image, and by function for what it returns; those without a qualifier are not
    /// there.
    of: BTreeMap<Id, Qualifiers>,
    /// Of anything inside of a type, pointers not followed.
    types: BTreeMap<Id, TypeFacts>,
}

/// What a type says of values and memory of it.
#[derive(Copy, Clone, Debug, Default)]
struct TypeFacts {
    /// Of a member, at any depth.
    members: Qualifiers,
    /// It is or has a pointer.
    pointers: bool,
    /// It is or has an image or a tensor.
    images: bool,
}

impl MemoryQualifiers {
    /// Reads the whole module. One without the decorations costs a look at its types and
    /// decorations.
    pub fn analyze(declarations: &Declarations<'_>) -> MemoryQualifiers {
        let module = declarations.module;
        let decorates = |inst: Inst<'_>| {
            let kind = match inst.op() {
                Some(Op::Decorate) => inst.operand(1),
                Some(Op::MemberDecorate) => inst.operand(2),
                _ => return false,
            };
            kind.is_ok_and(|kind| {
                kind == Decoration::Coherent as u32 || kind == Decoration::Volatile as u32
            })
        };
        let annotations = module
            .instructions()
            .take_while(|inst| inst.op() != Some(Op::Function));
        if !annotations.into_iter().any(decorates) {
            return MemoryQualifiers::default();
        }
        let mut this = MemoryQualifiers {
            of: BTreeMap::new(),
            types: type_facts(declarations),
        };
        let mut flow = Flow::default();
        for inst in module.instructions() {
            this.read(declarations, inst, &mut flow);
        }
        this.of = flow.solve();
        this
    }

    /// The qualifiers for accesses through the pointer `id`, or to the image `id`: those of the
    /// place, and those of anything in it.
    pub fn get(&self, declarations: &Declarations<'_>, id: Id) -> Qualifiers {
        let mut all = self.of.get(&id).copied().unwrap_or_default();
        if !self.types.is_empty() {
            all.add(self.of_pointee(declarations, id));
        }
        all
    }

    /// The qualifiers of the members of the type `ty`, for accesses through untyped pointers.
    pub fn of_type(&self, ty: Id) -> Qualifiers {
        self.facts(Some(ty)).members
    }

    fn facts(&self, ty: Option<Id>) -> TypeFacts {
        ty.and_then(|ty| self.types.get(&ty))
            .copied()
            .unwrap_or_default()
    }

    /// What `inst` says of its result, and where its result's qualifiers come from.
    fn read(&self, declarations: &Declarations<'_>, inst: Inst<'_>, flow: &mut Flow) {
        let Some(op) = inst.op() else { return };
        let value = |index: usize| inst.id(index).ok();
        let leads = |id: Id| {
            let facts = self.facts(declarations.type_of(id));
            facts.pointers || facts.images
        };
        match op {
            Op::Store => {
                if let Some(object) = value(1).filter(|object| leads(*object)) {
                    flow.edge(object, STORED);
                }
                return;
            }
            Op::ReturnValue => {
                let function = declarations.function_at(inst.offset);
                if let (Some(object), Some(function)) = (value(0), function)
                    && leads(object)
                {
                    flow.edge(object, function.id);
                }
                return;
            }
            _ => {}
        }
        if let Some(function) = callee(inst).and_then(|id| declarations.function(id)) {
            let arguments = inst.operands().iter().skip(1).map(|word| Id(*word));
            for ((parameter, _), argument) in function.params.iter().zip(arguments) {
                if leads(argument) {
                    flow.edge(argument, *parameter);
                }
            }
        }
        // A decode function gets addresses behind the pointer.
        if let Some(access) = TensorAccess::from_inst(inst)
            && let Some(function) = access.decode.and_then(|id| declarations.function(id))
            && let Some((parameter, _)) = function.params.first()
        {
            flow.edge(access.pointer, *parameter);
        }
        let (Some(result), Some(ty)) = (inst.result(), inst.result_type()) else {
            return;
        };
        let facts = self.facts(Some(ty));
        if !(facts.pointers || facts.images) {
            return;
        }
        flow.begin(
            result,
            Qualifiers::from_decorations(declarations.decorations(result)),
        );
        match op {
            Op::Variable => {
                // An initializer is a store.
                if let Some(initializer) = value(1).filter(|id| leads(*id)) {
                    flow.edge(initializer, STORED);
                }
            }
            Op::Load | Op::CooperativeMatrixLoadKHR | Op::CooperativeVectorLoadNV => {
                if facts.pointers {
                    flow.edge(STORED, result);
                }
                // An image is what the variable's decorations speak of.
                if let Some(pointer) = value(0).filter(|_| facts.images) {
                    flow.begin(result, self.of_pointee(declarations, pointer));
                    flow.edge(pointer, result);
                }
            }
            Op::FunctionCall => {
                if let Some(function) = callee(inst) {
                    flow.edge(function, result);
                }
            }
            _ => match inst.chain() {
                Some(chain) => self.chain(declarations, chain, result, flow),
                None => {
                    for (_, id) in declarations.module.ids(inst) {
                        if id != result && leads(id) {
                            flow.edge(id, result);
                        }
                    }
                }
            },
        }
    }

    /// What the members of what `pointer` points to ask.
    fn of_pointee(&self, declarations: &Declarations<'_>, pointer: Id) -> Qualifiers {
        let ty = declarations.type_of(pointer);
        self.facts(ty.and_then(|ty| declarations.pointee(ty)))
            .members
    }

    /// An access chain: the base's, and those of each member on the way.
    fn chain(
        &self,
        declarations: &Declarations<'_>,
        chain: Chain<'_>,
        result: Id,
        flow: &mut Flow,
    ) {
        flow.edge(chain.base, result);
        let mut ty = chain.base_type.or_else(|| {
            let base = declarations.type_of(chain.base);
            base.and_then(|ty| declarations.pointee(ty))
        });
        for word in chain.indexes {
            ty = match ty.and_then(|ty| Some((ty, declarations.ty(ty)?))) {
                Some((id, Type::Struct { members })) => {
                    let Some(index) = constant_index(declarations, Id(*word)) else {
                        return;
                    };
                    let own =
                        Qualifiers::from_decorations(declarations.member_decorations(id, index));
                    flow.begin(result, own);
                    members.get(index as usize).copied()
                }
                Some((_, Type::Array { element, .. } | Type::RuntimeArray { element })) => {
                    Some(*element)
                }
                // Inside of a matrix or vector no member is left.
                _ => return,
            };
        }
    }
}

/// The member that a chain names: SPIR-V takes OpConstant only.
fn constant_index(declarations: &Declarations<'_>, id: Id) -> Option<u32> {
    let inst = declarations.module.def(id)?;
    match inst.op()? {
        Op::Constant => inst.operand(0).ok(),
        Op::ConstantNull => Some(0),
        _ => None, // not a member's number
    }
}

/// The facts of all types. A type stands behind what it is made of, but for what a pointer points
/// to.
fn type_facts(declarations: &Declarations<'_>) -> BTreeMap<Id, TypeFacts> {
    let mut facts: BTreeMap<Id, TypeFacts> = BTreeMap::new();
    let defined = declarations
        .module
        .instructions()
        .take_while(|inst| inst.op() != Some(Op::Function))
        .filter_map(|inst| inst.result());
    for id in defined {
        let Some(ty) = declarations.ty(id) else {
            continue;
        };
        let of = |part: &Id| facts.get(part).copied().unwrap_or_default();
        let mut own = TypeFacts::default();
        match ty {
            Type::Pointer { .. } => own.pointers = true,
            Type::Array { element, .. } | Type::RuntimeArray { element } => own = of(element),
            Type::Struct { members } => {
                for (index, member) in (0u32..).zip(members) {
                    let part = of(member);
                    own.members.add(part.members);
                    own.members.add(Qualifiers::from_decorations(
                        declarations.member_decorations(id, index),
                    ));
                    // Of a pointer there may be a forward declaration only.
                    own.pointers |= part.pointers || !facts.contains_key(member);
                    own.images |= part.images;
                }
            }
            Type::Other { opcode } => {
                let op = Op::from_u32(u32::from(*opcode));
                own.images = matches!(
                    op,
                    Some(Op::TypeImage | Op::TypeSampledImage | Op::TypeTensorARM)
                );
            }
            _ => {} // a number, or what has no place in memory
        }
        facts.insert(id, own);
    }
    facts
}

/// A graph along which qualifiers spread.
#[derive(Default)]
struct Flow {
    edges: Vec<(Id, Id)>,
    begun: BTreeMap<Id, Qualifiers>,
}

impl Flow {
    fn edge(&mut self, from: Id, to: Id) {
        self.edges.push((from, to));
    }

    fn begin(&mut self, at: Id, own: Qualifiers) {
        if own.any() {
            self.begun.entry(at).or_default().add(own);
        }
    }

    /// What reaches each place: every one changes twice at most.
    fn solve(mut self) -> BTreeMap<Id, Qualifiers> {
        self.edges.sort_unstable();
        let mut of = self.begun;
        let mut work: Vec<Id> = of.keys().copied().collect();
        while let Some(from) = work.pop() {
            let own = of.get(&from).copied().unwrap_or_default();
            let first = self.edges.partition_point(|(id, _)| *id < from);
            let out = self.edges.iter().skip(first);
            for (_, to) in out.take_while(|(id, _)| *id == from) {
                let there = of.entry(*to).or_default();
                if !there.covers(own) {
                    there.add(own);
                    work.push(*to);
                }
            }
        }
        of
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{MemoryQualifiers, Qualifiers};
    use crate::diagnostic::Diagnostics;
    use crate::module::{Declarations, assemble};

    const HEAD: &str = "
        OpCapability Shader
        OpCapability VariablePointers
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\"
        OpExecutionMode %main LocalSize 1 1 1
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpMemberDecorate %block 1 Offset 16
        OpMemberDecorate %inner 0 Offset 0
        OpMemberDecorate %inner 1 Offset 4
    ";
    const BODY: &str = "
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %bool = OpTypeBool
        %true = OpConstantTrue %bool
        %uint = OpTypeInt 32 0
        %u0 = OpConstant %uint 0
        %u1 = OpConstant %uint 1
        %inner = OpTypeStruct %uint %uint
        %block = OpTypeStruct %uint %inner
        %to_block = OpTypePointer StorageBuffer %block
        %to_inner = OpTypePointer StorageBuffer %inner
        %to_uint = OpTypePointer StorageBuffer %uint
        %cell_type = OpTypePointer Function %to_uint
        %callee_type = OpTypeFunction %to_uint %to_uint
        %a = OpVariable %to_block StorageBuffer
        %b = OpVariable %to_block StorageBuffer
        %callee = OpFunction %to_uint None %callee_type
        %parameter = OpFunctionParameter %to_uint
        %callee_start = OpLabel
        OpReturnValue %parameter
        OpFunctionEnd
        %main = OpFunction %void None %fn
        %start = OpLabel
        %cell = OpVariable %cell_type Function
        %a0 = OpAccessChain %to_uint %a %u0
        %a1 = OpAccessChain %to_inner %a %u1
        %a10 = OpAccessChain %to_uint %a1 %u0
        %a11 = OpAccessChain %to_uint %a %u1 %u1
        %b0 = OpAccessChain %to_uint %b %u0
        %either = OpSelect %to_uint %true %a11 %b0
        %copy = OpCopyObject %to_uint %either
        %returned = OpFunctionCall %to_uint %callee %copy
        OpStore %cell %returned
        %loaded = OpLoad %to_uint %cell
        OpReturn
        OpFunctionEnd
    ";

    /// The qualifiers of the names, as letters.
    fn found(decorations: &str, names: &[&str]) -> Vec<String> {
        let assembled = assemble(&format!("{HEAD}{decorations}{BODY}")).unwrap();
        let module = assembled.module().unwrap();
        let mut diagnostics = Diagnostics::new();
        let declarations = Declarations::new(&module, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{diagnostics}");
        let all = MemoryQualifiers::analyze(&declarations);
        let letters = |Qualifiers { coherent, volatile }: Qualifiers| {
            let parts = [("c", coherent), ("v", volatile)];
            parts
                .iter()
                .filter(|part| part.1)
                .map(|part| part.0)
                .collect()
        };
        names
            .iter()
            .map(|name| letters(all.get(&declarations, assembled.names[*name])))
            .collect()
    }

    #[test]
    fn a_module_without_decorations_has_none() {
        assert_eq!(found("", &["a", "a0", "loaded"]), ["", "", ""]);
    }

    #[test]
    fn a_variable_s_decoration_reaches_all_that_comes_from_it() {
        let names = ["a", "a0", "a1", "a10", "b0", "either", "copy"];
        let got = found("OpDecorate %a Coherent", &names);
        assert_eq!(got, ["c", "c", "c", "c", "", "c", "c"]);
    }

    #[test]
    fn a_member_s_decoration_reaches_what_is_in_it_and_what_holds_it() {
        let names = ["a", "a0", "a1", "a10", "a11", "b0", "either"];
        let got = found("OpMemberDecorate %inner 1 Volatile", &names);
        assert_eq!(got, ["v", "", "v", "", "v", "", "v"]);
        let got = found("OpMemberDecorate %block 1 Coherent", &names);
        assert_eq!(got, ["c", "", "c", "c", "c", "", "c"]);
    }

    #[test]
    fn calls_results_and_memory_pass_them_on() {
        let names = ["parameter", "returned", "loaded", "a0"];
        let got = found("OpMemberDecorate %inner 1 Volatile", &names);
        assert_eq!(got, ["v", "v", "v", ""]);
        let got = found("OpDecorate %parameter Coherent", &names);
        assert_eq!(got, ["c", "c", "c", ""]);
    }
}
