//! Image instructions (MIMG, VIMAGE, VSAMPLE): texels by integer coordinates, and by samplers.
//!
//! `image_load dst, coordinates, descriptor dmask:... dim:...`; the coordinates are a range of
//! registers or a list of them.

use super::super::inst::{Action, Components, Memories, Memory, Op, Sampled};
use super::super::isa::Isa;
use super::super::operand::{Kind, Operand, parse_operand};
use super::super::table::memory::Extend;
use super::super::text::{Parts, pieces};
use super::memory::{access, atomic, counted, pair, passes_by};
use crate::sampler::Directions;

/// The shapes whose texels the machine finds, and how many coordinates they have. Code for gfx9
/// does not say its shape, which is in the descriptor: it is not simulated.
const SHAPES: &[(&str, usize)] = &[
    ("SQ_RSRC_IMG_1D", 1),
    ("SQ_RSRC_IMG_2D", 2),
    ("SQ_RSRC_IMG_3D", 3),
    ("SQ_RSRC_IMG_1D_ARRAY", 2),
    ("SQ_RSRC_IMG_2D_ARRAY", 3),
];

/// The instruction behind `image_`; `None` for what is not simulated.
pub(super) fn decode(parts: &Parts<'_>, rest: &str, isa: Isa) -> Option<Op> {
    let modifiers = &parts.modifiers;
    let atomics = rest.strip_prefix("atomic_");
    let (action, bytes) = match (rest, atomics) {
        ("load" | "sample_l" | "sample_lz" | "gather4_lz", _) => (Action::Load, 0),
        ("store", _) => (Action::Store, 0),
        ("get_resinfo", _) => (Action::Size, 0),
        (_, Some(name)) => {
            // gfx12 writes types as words: `add_uint`.
            let name = name.replace("_uint", "_u32").replace("_int", "_i32");
            let (bytes, update) = atomic(&name).filter(|(bytes, _)| *bytes == 4)?;
            let returns =
                modifiers.has("glc") || modifiers.get("th").is_some_and(|th| th.contains("RETURN"));
            (Action::Atomic { update, returns }, bytes)
        }
        _ => return None,
    };
    let mask = modifiers.number("dmask") as u8 & 15;
    let coordinates = coordinates(parts)?;
    let shape = modifiers.get("dim").unwrap_or("");
    let (_, count) = SHAPES.iter().find(|(name, _)| *name == shape)?;
    let size = matches!(action, Action::Size);
    let fits = size || coordinates.len() >= *count;
    // Half coordinates but for the level of `get_resinfo`, half data, and what is loaded beside the
    // texel.
    let odd = (modifiers.has("a16") || parts.rest.ends_with(" a16")) && !size
        || ["d16", "tfe", "lwe", "r128"]
            .iter()
            .any(|name| parts.rest.contains(name));
    if !fits || odd || mask == 0 {
        return None;
    }
    let samples = rest.starts_with("sample_");
    let gathers = rest.starts_with("gather4_");
    let sampled = match samples || gathers {
        true => Some(sampled(parts, shape, gathers)?),
        false => None,
    };
    let first = parts.operands.first()?;
    let is_descriptor = |operand: &&Operand| matches!(operand.kind, Kind::Sgpr(_));
    let descriptor = parts.operands.iter().find(is_descriptor)?;
    let mut memory = Memory {
        memories: Memories::Image,
        action,
        bytes: match bytes {
            0 if gathers => 16,
            0 => 4 * mask.count_ones() as u8,
            bytes => bytes,
        },
        extend: Extend::Zero,
        offsets: [0, 0],
        places: 1,
        components: Some(Components {
            mask,
            repeats: isa.repeats_components,
            layers_of_lines: shape == "SQ_RSRC_IMG_1D_ARRAY",
            sampled,
        }),
        coordinates: coordinates.into_iter().take(*count).collect(),
        dst: None,
        data: [None, None],
        vaddr: None,
        saddr: Some(*descriptor),
        soffset: None,
        lds: None,
        index_enabled: false,
        offset_enabled: false,
        scaled: false,
        halves: false,
        passes_by: passes_by(parts),
        access: access(parts, action, Memories::Image),
        counters: 0,
        class: 0,
    };
    match action {
        Action::Load | Action::Size => memory.dst = Some(*first),
        Action::Atomic { returns, .. } => {
            memory.data = pair(*first, bytes, parts.mnemonic);
            memory.dst = returns.then_some(*first);
        }
        _ => memory.data[0] = Some(*first),
    }
    (memory.counters, memory.class) = counted(&memory, parts.mnemonic, isa);
    Some(Op::Memory(Box::new(memory)))
}

/// How an instruction with a sampler, the second of its scalar operands, samples an image of this
/// shape. `None` for a gather from an image that has not two directions, or of several components.
fn sampled(parts: &Parts<'_>, shape: &str, gathers: bool) -> Option<Sampled> {
    let scalar = parts
        .operands
        .iter()
        .filter_map(|operand| match operand.kind {
            Kind::Sgpr(first) => Some(first),
            _ => None,
        });
    let (_, count) = SHAPES.iter().find(|(name, _)| *name == shape)?;
    let layered = shape.ends_with("_ARRAY");
    let directions = Directions {
        count: *count as u8 - u8::from(layered),
        layered,
    };
    let one = parts.modifiers.number("dmask").count_ones() == 1;
    if parts.modifiers.has("unorm") || gathers && !(directions.count == 2 && one) {
        return None;
    }
    Some(Sampled {
        gathers,
        sampler: scalar.into_iter().nth(1)?,
        directions,
    })
}

/// The registers of the second operand, one each.
fn coordinates(parts: &Parts<'_>) -> Option<Vec<Operand>> {
    let second = pieces(parts.rest).nth(1)?;
    let list = second
        .strip_prefix('[')
        .and_then(|list| list.strip_suffix(']'));
    let mut registers = Vec::new();
    for piece in pieces(list.unwrap_or(second)) {
        let operand = parse_operand(piece);
        let Kind::Vgpr(first) = operand.kind else {
            return None;
        };
        registers.extend((first..first + operand.count).map(|n| Operand::new(Kind::Vgpr(n), 1)));
    }
    Some(registers)
}
