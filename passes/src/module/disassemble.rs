//! One instruction as one line of text, names resolved.

use super::strings::literal_string;
use super::{Declarations, ExtInstSet, Id, Inst, Operand, Type, grammar};
use crate::diagnostic::Span;
use rspirv::binary::Disassemble;
use rspirv::grammar::{OperandKind, ext_inst_table};

/// Characters of one line at the most; an instruction can have 65,535 words.
const MOST_CHARACTERS: usize = 240;

impl Declarations<'_> {
    /// The instruction in the notation of the disassembler: `%12 = OpIAdd %uint %10 %11`.
    ///
    /// An id is `%` and its OpName (of a scalar or vector type: its usual name), else its number;
    /// the number follows the name when another id has the same or it would not be read as one
    /// word. A line that would be longer than 240 characters ends with `...`.
    pub fn disassemble(&self, inst: Inst<'_>) -> String {
        self.disassemble_marking(inst, None).0
    }

    /// As [`Declarations::disassemble`], with the span of the operand with number `wanted` (from 0,
    /// without result type and result) in the line.
    pub fn disassemble_marking(
        &self,
        inst: Inst<'_>,
        wanted: Option<u32>,
    ) -> (String, Option<Span>) {
        let mut line = match inst.result() {
            Some(id) => format!("{} = {}", self.display_id(id), self.op_name(inst)),
            None => self.op_name(inst),
        };
        let mut set = None;
        let (mut number, mut marked) = (0, None);
        for operand in self.module.operands(inst) {
            if operand.kind == OperandKind::IdResult {
                continue;
            }
            line.push(' ');
            let start = line.len();
            line.push_str(&self.operand_text(inst, operand, set));
            if line.len() > MOST_CHARACTERS {
                let end = crate::boundary::floor(&line, MOST_CHARACTERS);
                line.truncate(end);
                line.push_str(" ...");
                break;
            }
            if operand.kind != OperandKind::IdResultType {
                if wanted == Some(number) {
                    let end = line.len();
                    marked = Some(Span { start, end });
                }
                number += 1;
            }
            set = operand
                .id()
                .and_then(|id| self.ext_inst_sets.get(&id))
                .or(set);
        }
        (line, marked)
    }

    fn operand_text(
        &self,
        inst: Inst<'_>,
        operand: Operand<'_>,
        set: Option<&ExtInstSet>,
    ) -> String {
        if let Some(id) = operand.id() {
            return self.display_id(id);
        }
        let word = operand.words.first().copied().unwrap_or(0);
        match operand.kind {
            OperandKind::LiteralString => {
                let (text, _) = literal_string(operand.words);
                format!(
                    "{:?}",
                    text.chars().take(MOST_CHARACTERS).collect::<String>()
                )
            }
            OperandKind::LiteralContextDependentNumber => self.number_text(inst, operand.words),
            OperandKind::LiteralSpecConstantOpInteger => {
                let name = u16::try_from(word).map_or_else(|_| word.to_string(), grammar::name);
                name.strip_prefix("Op").unwrap_or(&name).to_owned()
            }
            OperandKind::LiteralExtInstInteger => {
                ext_name(set, word).unwrap_or_else(|| word.to_string())
            }
            kind => match grammar::concrete(kind, word) {
                Some(value) => value.disassemble(),
                None => wide(operand.words).to_string(),
            },
        }
    }

    /// A literal as a number of the instruction's result type.
    fn number_text(&self, inst: Inst<'_>, words: &[u32]) -> String {
        let bits = wide(words);
        match inst.result_type().and_then(|id| self.ty(id)) {
            Some(Type::Int {
                width: 64,
                signed: true,
            }) => (bits as i64).to_string(),
            Some(Type::Int { signed: true, .. }) => (bits as u32 as i32).to_string(),
            Some(Type::Float { width: 32, .. }) => f32::from_bits(bits as u32).to_string(),
            Some(Type::Float { width: 64, .. }) => f64::from_bits(bits).to_string(),
            Some(Type::Float { .. }) => format!("{bits:#06x}"),
            _ => bits.to_string(), // unsigned
        }
    }

    /// `%` and what a reader knows `id` by.
    pub fn display_id(&self, id: Id) -> String {
        if let Some(name) = self.name(id) {
            let plain = name.len() <= 64
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !self.names.read().is_shared(name);
            let number = name.starts_with(|c: char| c.is_ascii_digit());
            return match (plain, number) {
                (true, false) => format!("%{name}"),
                (true, true) => format!("%_{name}"),
                (false, _) => {
                    let word: String = name
                        .chars()
                        .take(64)
                        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
                        .collect();
                    format!("%{word}_{}", id.0)
                }
            };
        }
        self.ty(id)
            .and_then(|ty| self.type_name(ty))
            .map_or_else(|| id.to_string(), |name| format!("%{name}"))
    }

    fn type_name(&self, ty: &Type) -> Option<String> {
        Some(match ty {
            Type::Void => "void".to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Int {
                width: 32,
                signed: true,
            } => "int".to_owned(),
            Type::Int {
                width: 32,
                signed: false,
            } => "uint".to_owned(),
            Type::Int {
                width,
                signed: true,
            } => format!("int{width}"),
            Type::Int {
                width,
                signed: false,
            } => format!("uint{width}"),
            Type::Float {
                width: 16,
                format: super::FloatFormat::Ieee,
            } => "half".to_owned(),
            Type::Float { width: 32, .. } => "float".to_owned(),
            Type::Float { width: 64, .. } => "double".to_owned(),
            Type::Vector { component, count } => {
                let component = self.ty(*component).filter(|ty| ty.is_scalar())?;
                format!("v{count}{}", self.type_name(component)?)
            }
            _ => return None, // the number is shorter
        })
    }
}

/// Up to two words as one number.
fn wide(words: &[u32]) -> u64 {
    let word = |index: usize| u64::from(words.get(index).copied().unwrap_or(0));
    word(1) << 32 | word(0)
}

fn ext_name(set: Option<&ExtInstSet>, number: u32) -> Option<String> {
    let table = match set? {
        ExtInstSet::Glsl450 => ext_inst_table("GLSL.std.450"),
        ExtInstSet::OpenCl => ext_inst_table("OpenCL.std"),
        ExtInstSet::Amd(name) | ExtInstSet::Other(name) => ext_inst_table(name),
        ExtInstSet::NonSemantic => None,
    };
    table?
        .lookup_opcode(number)
        .map(|inst| inst.opname.to_owned())
}
