//! Memory instructions: name and operands to a description of what moves.

use super::super::inst::{Action, Components, Memories, Memory, Op};
use super::super::isa::Isa;
use super::super::number::number;
use super::super::operand::{Half, Kind, Operand, sgpr};
use super::super::table::memory::{Extend, FORMATS};
use super::super::text::Parts;
use super::accesses::{access, atomic, counted, pair, passes_by};

/// What the name says.
struct Named {
    action: Action,
    bytes: u8,
    extend: Extend,
    places: u8,
    /// What one unit of `offset0` and `offset1` is, in bytes.
    stride: i64,
    components: Option<Components>,
}

const fn one(action: Action, bytes: u8, extend: Extend) -> Named {
    Named {
        action,
        bytes,
        extend,
        places: 1,
        stride: 1,
        components: None,
    }
}

/// The instruction, if its name is that of a memory instruction with a table row.
pub(super) fn memory(parts: &Parts<'_>, isa: Isa) -> Option<Op> {
    let name = parts.mnemonic;
    if let Some(rest) = name.strip_prefix("image_") {
        return super::image::decode(parts, rest, isa);
    }
    let (memories, rest) = [
        ("ds_", Memories::Shared),
        ("global_", Memories::Global),
        // A cluster is one workgroup here: nobody else gets a copy.
        ("cluster_", Memories::Global),
        ("flat_", Memories::Flat),
        ("scratch_", Memories::Private),
        ("buffer_", Memories::Buffer),
        ("s_buffer_", Memories::ScalarBuffer),
        ("s_", Memories::Scalar),
    ]
    .iter()
    .find_map(|(prefix, memories)| Some((*memories, name.strip_prefix(prefix)?)))?;
    let named = match memories {
        Memories::Shared => shared(rest)?,
        Memories::Scalar if is_clock(parts) => one(Action::Time, 8, Extend::Zero),
        _ => elsewhere(rest, parts)?,
    };
    let mut memory = Memory {
        memories,
        action: named.action,
        bytes: named.bytes,
        extend: named.extend,
        offsets: [parts.modifiers.number("offset"), 0],
        places: named.places,
        used: u16::MAX,
        components: named.components,
        coordinates: Vec::new(),
        dst: None,
        data: [None, None],
        vaddr: None,
        saddr: None,
        soffset: None,
        lds: None,
        index_enabled: parts.modifiers.has("idxen"),
        offset_enabled: parts.modifiers.has("offen"),
        scaled: parts.modifiers.has("scale_offset"),
        halves: isa.permutes_halves && matches!(named.action, Action::Pull | Action::Push),
        passes_by: passes_by(parts),
        access: access(parts, named.action, memories),
        counters: 0,
        class: 0,
    };
    if named.places == 2 {
        memory.offsets = [
            parts.modifiers.number("offset0") * named.stride,
            parts.modifiers.number("offset1") * named.stride,
        ];
    }
    if matches!(named.action, Action::Swizzle) {
        memory.offsets[0] = swizzle(parts.modifiers.get("offset").unwrap_or("0"))?;
    }
    place(&mut memory, parts.operands.as_slice(), name)?;
    (memory.counters, memory.class) = counted(&memory, name, isa);
    Some(Op::Memory(Box::new(memory)))
}

/// Returns true if the answer is the time, which comes as scalar loads do (LLVM AMDGPUUsage,
/// `llvm.readcyclecounter` and `llvm.readsteadycounter`).
fn is_clock(parts: &Parts<'_>) -> bool {
    match parts.mnemonic {
        "s_memtime" | "s_memrealtime" => true,
        "s_sendmsg_rtn_b64" => parts.rest.ends_with("sendmsg(MSG_RTN_GET_REALTIME)"),
        _ => false,
    }
}

/// `read_b32`, `load_2addr_stride64_b64`, `add_rtn_u32`, ...
fn shared(rest: &str) -> Option<Named> {
    match rest {
        "permute_b32" => return Some(one(Action::Push, 4, Extend::Zero)),
        "bpermute_b32" => return Some(one(Action::Pull, 4, Extend::Zero)),
        "swizzle_b32" => return Some(one(Action::Swizzle, 4, Extend::Zero)),
        _ => {} // a load or a store, or unknown
    }
    for (prefix, action) in [
        ("read", Action::Load),
        ("load", Action::Load),
        ("write", Action::Store),
        ("store", Action::Store),
    ] {
        let Some(rest) = rest.strip_prefix(prefix) else {
            continue; // another name
        };
        for (two, unit) in [
            ("2st64_", 64),
            ("_2addr_stride64_", 64),
            ("2_", 1),
            ("_2addr_", 1),
        ] {
            if let Some((bytes, extend)) = rest.strip_prefix(two).and_then(format) {
                return Some(Named {
                    action,
                    bytes,
                    extend,
                    places: 2,
                    stride: unit * i64::from(bytes),
                    components: None,
                });
            }
        }
        if let Some((bytes, extend)) = rest.strip_prefix('_').and_then(format) {
            return Some(one(action, bytes, extend));
        }
    }
    let returns = rest.contains("_rtn");
    let (bytes, update) = atomic(&rest.replacen("_rtn", "", 1))?;
    Some(one(Action::Atomic { update, returns }, bytes, Extend::Zero))
}

/// `load_dword`, `store_b64`, `atomic_add_u32`, `load_lds_dword`, ...
fn elsewhere(rest: &str, parts: &Parts<'_>) -> Option<Named> {
    for (prefix, action) in [
        ("load_format_", Action::Load),
        ("store_format_", Action::Store),
    ] {
        let names = ["x", "xy", "xyz", "xyzw"];
        if let Some(count) = rest
            .strip_prefix(prefix)
            .and_then(|rest| (1u8..).zip(names).find(|(_, name)| *name == rest))
        {
            return Some(Named {
                components: Some(Components {
                    mask: (1 << count.0) - 1,
                    repeats: false,
                    layers_of_lines: false,
                    level: false,
                    samples: false,
                    sampled: None,
                }),
                ..one(action, 4 * count.0, Extend::Zero)
            });
        }
    }
    for (prefix, action) in [
        ("load_async_to_lds_", Action::ToShared),
        ("load_lds_", Action::ToShared),
        ("store_async_from_lds_", Action::FromShared),
        ("load_", Action::Load),
        ("store_", Action::Store),
    ] {
        if let Some((bytes, extend)) = rest.strip_prefix(prefix).and_then(format) {
            let action = match action {
                Action::Load if parts.modifiers.has("lds") => Action::ToShared,
                action => action,
            };
            return Some(one(action, bytes, extend));
        }
    }
    let (bytes, update) = atomic(rest.strip_prefix("atomic_")?)?;
    let returns = parts.modifiers.has("glc")
        || parts.modifiers.has("sc0")
        || parts
            .modifiers
            .get("th")
            .is_some_and(|th| th.contains("RETURN"));
    Some(one(Action::Atomic { update, returns }, bytes, Extend::Zero))
}

/// The pattern of `ds_swizzle_b32`: a number, or one of LLVM's names for patterns.
fn swizzle(text: &str) -> Option<i64> {
    let Some(inner) = text.strip_prefix("swizzle(") else {
        return number(text);
    };
    let mut arguments = inner.strip_suffix(')')?.split(',').map(str::trim);
    let name = arguments.next()?;
    let masks = |and: i64, or: i64, xor: i64| Some(and | or << 5 | xor << 10);
    if name == "BITMASK_PERM" {
        // A letter per bit of the lane, the highest first: 0, 1, preserved or inverted.
        let mask = arguments.next()?.trim_matches('"');
        return masks(
            bits(mask, |c| c == 'p' || c == 'i'),
            bits(mask, |c| c == '1'),
            bits(mask, |c| c == 'i'),
        );
    }
    let numbers: Vec<i64> = arguments.map(number).collect::<Option<_>>()?;
    match (name, numbers.as_slice()) {
        ("QUAD_PERM", [a, b, c, d]) => Some(0x8000 | a | b << 2 | c << 4 | d << 6),
        ("BROADCAST", [group, lane]) => masks(31 & !(group - 1), *lane, 0),
        ("SWAP", [group]) => masks(31, 0, *group),
        ("REVERSE", [group]) => masks(31, 0, group - 1),
        ("ROTATE", [down, by]) => Some(0xc000 | down << 10 | by << 5),
        _ => None,
    }
}

fn bits(mask: &str, set: impl Fn(char) -> bool) -> i64 {
    mask.chars()
        .fold(0, |bits, c| bits << 1 | i64::from(set(c)))
}

fn format(name: &str) -> Option<(u8, Extend)> {
    FORMATS
        .iter()
        .find(|(n, ..)| *n == name)
        .map(|(_, bytes, extend)| (*bytes, *extend))
}

/// Puts the operands where they belong; `None` when there are too few.
fn place(memory: &mut Memory, operands: &[Operand], name: &str) -> Option<()> {
    let mut operands = operands.iter().copied();
    let next = || operands.next();
    match memory.memories {
        Memories::Shared => place_shared(memory, next, name),
        // Placed where it is decoded.
        Memories::Image => None,
        Memories::Scalar | Memories::ScalarBuffer => place_scalar(memory, next),
        Memories::Buffer => place_buffer(memory, next, name),
        Memories::Global | Memories::Flat | Memories::Private => place_flat(memory, next, name),
    }
}

/// Places the operands of DS instructions: `dst, address, data`.
fn place_shared(
    memory: &mut Memory,
    mut next: impl FnMut() -> Option<Operand>,
    name: &str,
) -> Option<()> {
    match memory.action {
        Action::Load => {
            memory.dst = Some(next()?);
            memory.vaddr = Some(next()?);
        }
        Action::Swizzle => {
            memory.dst = Some(next()?);
            memory.data[0] = Some(next()?);
        }
        Action::Store => {
            memory.vaddr = Some(next()?);
            memory.data[0] = Some(next()?);
            if memory.places == 2 {
                memory.data[1] = Some(next()?);
            }
        }
        Action::Pull | Action::Push => {
            memory.dst = Some(next()?);
            memory.vaddr = Some(next()?);
            memory.data[0] = Some(next()?);
        }
        Action::Atomic { returns, .. } => {
            memory.dst = if returns { Some(next()?) } else { None };
            memory.vaddr = Some(next()?);
            memory.data = [Some(next()?), next()];
            // Before gfx11 the value to compare with came first.
            if name.contains("cmpst_") {
                memory.data.swap(0, 1);
            }
        }
        Action::ToShared | Action::FromShared | Action::Size | Action::Time | Action::Hint => {
            return None;
        }
    }
    Some(())
}

/// Places the operands of scalar loads: `dst, base, offset`.
fn place_scalar(memory: &mut Memory, mut next: impl FnMut() -> Option<Operand>) -> Option<()> {
    memory.dst = Some(next()?);
    if matches!(memory.action, Action::Time) {
        return Some(());
    }
    memory.saddr = Some(next()?);
    match next()? {
        Operand {
            kind: Kind::Integer(n),
            ..
        } => memory.offsets[0] += n,
        Operand {
            kind: Kind::Literal(n),
            ..
        } => memory.offsets[0] += i64::from(n as i32),
        register => memory.soffset = Some(register),
    }
    Some(())
}

/// Places the operands of buffer instructions: `data, offset or index, descriptor, offset`.
fn place_buffer(
    memory: &mut Memory,
    mut next: impl FnMut() -> Option<Operand>,
    name: &str,
) -> Option<()> {
    if !matches!(memory.action, Action::ToShared) {
        let first = next()?;
        match memory.action {
            Action::Load => memory.dst = Some(first),
            Action::Atomic { returns, .. } => {
                memory.data = pair(first, memory.bytes, name);
                memory.dst = returns.then_some(first);
            }
            _ => memory.data[0] = Some(first),
        }
    }
    memory.vaddr = Some(next()?);
    memory.saddr = Some(next()?);
    memory.soffset = Some(next()?);
    Some(())
}

/// Places the operands of flat, global and scratch instructions: `data, address, base`, in the
/// order that the action has them in.
fn place_flat(
    memory: &mut Memory,
    mut next: impl FnMut() -> Option<Operand>,
    name: &str,
) -> Option<()> {
    match memory.action {
        Action::Load => {
            memory.dst = Some(next()?);
            memory.vaddr = Some(next()?);
        }
        Action::Store => {
            memory.vaddr = Some(next()?);
            memory.data[0] = Some(next()?);
        }
        Action::Atomic { returns, .. } => {
            memory.dst = if returns { Some(next()?) } else { None };
            memory.vaddr = Some(next()?);
            memory.data = pair(next()?, memory.bytes, name);
        }
        Action::ToShared if name.contains("async") => {
            memory.lds = Some(next()?);
            memory.vaddr = Some(next()?);
        }
        Action::FromShared => {
            memory.vaddr = Some(next()?);
            memory.lds = Some(next()?);
        }
        Action::ToShared => memory.vaddr = Some(next()?),
        Action::Pull
        | Action::Push
        | Action::Swizzle
        | Action::Size
        | Action::Time
        | Action::Hint => return None,
    }
    memory.saddr = next();
    Some(())
}

/// The registers that the instruction touches. Every field is named: a new one is an operand or is
/// listed as none.
pub(super) fn uses(memory: &Memory, touch: &mut impl FnMut(&Operand, u16, bool)) {
    let Memory {
        dst,
        data,
        vaddr,
        saddr,
        soffset,
        lds,
        coordinates,
        components,
        action,
        bytes,
        extend,
        places,
        memories: _,
        offsets: _,
        used: _,
        index_enabled: _,
        offset_enabled: _,
        scaled: _,
        halves: _,
        passes_by: _,
        access: _,
        counters: _,
        class: _,
    } = memory;
    let registers = u16::from(bytes.div_ceil(4));
    if let Some(dst) = *dst {
        let half = extend.half();
        touch(
            &Operand { half, ..dst },
            registers * u16::from(*places),
            true,
        );
    }
    for data in data.iter().flatten() {
        // What stores fewer than three bytes reads one half.
        let half = match extend.half() {
            Half::Whole if *bytes < 3 => Half::Low,
            half => half,
        };
        touch(&Operand { half, ..*data }, registers, false);
    }
    for address in coordinates {
        touch(address, address.count, false);
    }
    if let Some(sampled) = components.and_then(|one| one.sampled) {
        touch(&Operand::new(Kind::Sgpr(sampled.sampler), 4), 4, false);
    }
    for address in [vaddr, saddr, soffset, lds].into_iter().flatten() {
        touch(address, address.count, false);
    }
    if matches!(action, Action::ToShared) && lds.is_none() {
        touch(&Operand::new(Kind::Sgpr(sgpr::M0), 1), 1, false);
    }
}
