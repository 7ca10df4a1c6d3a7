//! Image instructions (MIMG, VIMAGE, VSAMPLE): texels by integer coordinates, and by samplers.
//!
//! `image_load dst, coordinates, descriptor dmask:... dim:...`; the coordinates are a range of
//! registers or a list of them.

use super::super::inst::{Action, Components, Detail, Memories, Memory, Op, Sample, Sampled};
use super::super::isa::Isa;
use super::super::operand::{Kind, Operand, parse_operand};
use super::super::table::memory::Extend;
use super::super::text::{Parts, pieces};
use super::accesses::{access, atomic, counted, pair, passes_by};
use crate::sampler::Directions;

/// The shapes whose texels the machine finds: directions, and whether layers and samples stand
/// behind them. Code for gfx9 does not say its shape, which is in the descriptor: it is not
/// simulated.
const SHAPES: &[(&str, u8, bool, bool)] = &[
    ("SQ_RSRC_IMG_1D", 1, false, false),
    ("SQ_RSRC_IMG_2D", 2, false, false),
    ("SQ_RSRC_IMG_3D", 3, false, false),
    ("SQ_RSRC_IMG_CUBE", 2, true, false),
    ("SQ_RSRC_IMG_1D_ARRAY", 1, true, false),
    ("SQ_RSRC_IMG_2D_ARRAY", 2, true, false),
    ("SQ_RSRC_IMG_2D_MSAA", 2, false, true),
    ("SQ_RSRC_IMG_2D_MSAA_ARRAY", 2, true, true),
];

/// Contents of the name of an instruction with a sampler.
struct Named {
    what: Sample,
    compares: bool,
    detail: Detail,
    offset: bool,
}

/// Reads what an instruction with a sampler is called behind `image_`.
fn sample(rest: &str) -> Option<Named> {
    let (what, rest) = match rest.split_once('_') {
        Some(("sample", rest)) => (Sample::Filter, rest),
        Some(("gather4", rest)) => (Sample::Gather, rest),
        _ if rest == "get_lod" => {
            return Some(Named {
                what: Sample::Level,
                compares: false,
                detail: Detail::Quad,
                offset: false,
            });
        }
        _ => return None,
    };
    let mut parts = rest.split('_').peekable();
    let compares = parts.next_if_eq(&"c").is_some();
    let mut detail = match parts.next()? {
        "l" => Detail::Register,
        "lz" => Detail::Zero,
        "d" => Detail::Gradients {
            least: false,
            halves: false,
        },
        _ => return None, // implicit ones, which only pixel shaders have
    };
    if let Detail::Gradients { least, .. } = &mut detail {
        *least = parts.next_if_eq(&"cl").is_some();
    }
    let offset = parts.next_if_eq(&"o").is_some();
    if let Detail::Gradients { halves, .. } = &mut detail {
        *halves = parts.next_if_eq(&"g16").is_some();
    }
    let gradients = matches!(detail, Detail::Gradients { .. });
    let known = parts.next().is_none() && !(gradients && what == Sample::Gather);
    known.then_some(Named {
        what,
        compares,
        detail,
        offset,
    })
}

/// The instruction behind `image_`; `None` for what is not simulated.
pub(super) fn decode(parts: &Parts<'_>, rest: &str, isa: Isa) -> Option<Op> {
    let modifiers = &parts.modifiers;
    let atomics = rest.strip_prefix("atomic_");
    let (action, bytes) = match (rest, atomics) {
        ("load" | "load_mip", _) => (Action::Load, 0),
        ("get_lod", _) => (Action::Size, 0),
        _ if sample(rest).is_some() => (Action::Load, 0),
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
    let &(_, directions, layered, samples) = SHAPES.iter().find(|(name, ..)| *name == shape)?;
    let sampled = match sample(rest) {
        Some(named) => Some(sampled(parts, named, directions, layered, shape)?),
        None => None,
    };
    let size = matches!(action, Action::Size) && sampled.is_none();
    let level = rest == "load_mip";
    let plain = directions + u8::from(layered) + u8::from(samples) + u8::from(level);
    let count = match sampled {
        Some(sampled) => sampled.registers(),
        None if size => 1,
        None => plain.into(),
    };
    let fits = coordinates.len() >= count && !(samples && (level || sampled.is_some()));
    let gathers = sampled.is_some_and(|sampled| sampled.what == Sample::Gather);
    // Half coordinates but for the level of `get_resinfo`, half data, and what is loaded beside the
    // texel.
    let odd = (modifiers.has("a16") || parts.rest.ends_with(" a16")) && !size
        || ["d16", "tfe", "lwe", "r128"]
            .iter()
            .any(|name| parts.rest.contains(name));
    if !fits || odd || mask == 0 {
        return None;
    }
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
        used: u16::MAX,
        components: Some(Components {
            mask,
            repeats: isa.repeats_components,
            layers_of_lines: shape == "SQ_RSRC_IMG_1D_ARRAY",
            level,
            samples,
            sampled,
        }),
        coordinates: coordinates.into_iter().take(count).collect(),
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
fn sampled(
    parts: &Parts<'_>,
    named: Named,
    count: u8,
    layered: bool,
    shape: &str,
) -> Option<Sampled> {
    let mut scalar = parts
        .operands
        .iter()
        .filter_map(|operand| match operand.kind {
            Kind::Sgpr(first) => Some(first),
            _ => None,
        });
    let one = parts.modifiers.number("dmask").count_ones() == 1;
    if parts.modifiers.has("unorm") || named.what == Sample::Gather && !(count == 2 && one) {
        return None;
    }
    Some(Sampled {
        what: named.what,
        sampler: scalar.nth(1)?,
        directions: Directions {
            count,
            layered,
            cube: shape == "SQ_RSRC_IMG_CUBE",
        },
        detail: named.detail,
        offset: named.offset,
        compares: named.compares,
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
