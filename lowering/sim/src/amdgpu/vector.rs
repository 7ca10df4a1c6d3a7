//! Vector instructions: sources from registers, other lanes and parts of registers; the row's
//! function per lane; results back.

use super::bits::{Compute, Ty};
use super::inst::{Form, From, Lanes, Part, Short, Unused, Vector};
use super::operand::{Half, Kind, Operand, sgpr};
use super::table::rounding::{Rule, direction};
use super::wave::{Lanes64, Wave};
use crate::directed::Rounding;
use crate::lane::Lane;

/// What an instruction computed: a value for each lane, and a mask.
pub(super) struct Computed {
    values: Lanes64,
    mask: u64,
    /// Lanes that are written.
    lanes: u64,
}

/// Computes without writing, so that two instructions of one can both read first.
pub(super) fn compute(wave: &Wave, vector: &Vector) -> Computed {
    let mut lanes = wave.exec();
    let mut sources: [Lanes64; 3] = [[0; 64]; 3];
    for (position, (source, slot)) in vector
        .src
        .iter()
        .zip(&mut sources)
        .enumerate()
        .take(vector.row.src.len())
    {
        let ty = fetched(vector, position);
        *slot = wave.lanes(source, ty);
        if let (0, Some(from)) = (position, &vector.lanes) {
            let valid = permute(slot, from, wave.exec(), wave.size);
            lanes &= valid;
        }
        if let Some(select) = &vector.select
            && let Some(part) = select.src.get(position)
        {
            for value in slot.iter_mut() {
                *value = part.take(*value, source.extended);
            }
        }
        if vector.form.is_single() {
            refine(
                slot,
                source,
                vector.row.src.get(position).copied().unwrap_or(Ty::B32),
            );
        }
    }
    let active = wave.exec();
    let mut values = [0; 64];
    let mut mask = 0;
    match (
        vector.row.compute,
        vector.form,
        otherwise_rounded(wave, vector),
    ) {
        (_, _, Some(step)) => {
            let carry = vector.mask_src.as_ref().map_or(0, |m| wave.mask(m));
            for (lane, value) in Lane::all(64).zip(&mut values) {
                if active >> lane & 1 == 1 {
                    let carry = carry >> lane & 1 == 1;
                    let step = |sources: &[u64; 3]| step(*sources, carry);
                    *value = combined(vector, vector.form, step, &at(&sources, lane));
                }
            }
        }
        (Compute::Value(f), Form::Plain, None) => {
            for (lane, value) in Lane::all(64).zip(&mut values) {
                if active >> lane & 1 == 1 {
                    *value = f(&at(&sources, lane));
                }
            }
        }
        (Compute::Value(f), form, None) => {
            for (lane, value) in Lane::all(64).zip(&mut values) {
                if active >> lane & 1 == 1 {
                    *value = combined(vector, form, f, &at(&sources, lane));
                }
            }
        }
        (Compute::Carry(f), _, None) => {
            let carry = vector.mask_src.as_ref().map_or(0, |m| wave.mask(m));
            for (lane, value) in Lane::all(64).zip(&mut values) {
                if active >> lane & 1 == 1 {
                    let (result, out) = f(&at(&sources, lane), carry >> lane & 1 == 1);
                    *value = result;
                    mask |= u64::from(out) << lane;
                }
            }
        }
        (Compute::Test(f), _, None) => {
            for lane in Lane::all(64) {
                if active >> lane & 1 == 1 && f(&at(&sources, lane)) {
                    mask |= 1u64 << lane;
                }
            }
        }
        (Compute::Scalar(_), _, None) => {}
    }
    finish(vector, &mut values);
    Computed {
        values,
        mask,
        lanes,
    }
}

/// What the instruction computes of a lane's sources and its bit of a mask, where another rounding
/// than to the nearest counts for it.
fn otherwise_rounded(wave: &Wave, vector: &Vector) -> Option<impl Fn([u64; 3], bool) -> u64> {
    if wave.rounding == 0 {
        return None;
    }
    match (direction(vector.row, wave.rounding), vector.rule) {
        (Rounding::Nearest, _) | (_, Rule::Same | Rule::Unknown) => None,
        (rounding, Rule::Directed(format, step)) => {
            Some(move |sources, carry| step(format, rounding, (sources, carry)))
        }
    }
}

impl Vector {
    /// Returns true if what it computes is known in this rounding.
    pub(super) fn knows_rounding(&self, mode: u8) -> bool {
        let simple = matches!(self.form, Form::Plain | Form::Halves | Form::Pairs);
        match self.rule {
            // Floats of two formats, by modifiers.
            _ if matches!(self.form, Form::Mix(_)) => false,
            _ if direction(self.row, mode) == Rounding::Nearest => true,
            Rule::Same => true,
            Rule::Directed(..) => simple && self.scale == 1.0,
            Rule::Unknown => false,
        }
    }
}

/// Writes what was computed.
pub(super) fn commit(wave: &mut Wave, vector: &Vector, computed: &Computed) {
    let Computed {
        values,
        mask,
        lanes,
    } = computed;
    if let Compute::Test(_) = vector.row.compute {
        if let Some(Kind::Sgpr(index)) = vector.mask_dst.map(|d| d.kind) {
            wave.set_mask(index, *mask);
        }
        if vector.to_exec {
            wave.set_exec(*mask);
        }
        return;
    }
    match vector.dst.kind {
        Kind::Vgpr(index) => write(wave, vector, index, values, *lanes),
        // `v_s_rcp_f32` and its like: one value.
        Kind::Sgpr(index) => {
            let lane = Lane::first(wave.exec()).unwrap_or(Lane::new(63));
            wave.set_s(index, values[lane] as u32);
        }
        _ => {} // to no register
    }
    if let Some(Kind::Sgpr(index)) = vector.mask_dst.map(|d| d.kind)
        && index != sgpr::NULL
    {
        wave.set_mask(index, *mask);
    }
}

fn at(sources: &[Lanes64; 3], lane: Lane) -> [u64; 3] {
    [sources[0][lane], sources[1][lane], sources[2][lane]]
}

/// As what a source is fetched; forms other than [`Form::Plain`] take it apart themselves.
fn fetched(vector: &Vector, position: usize) -> Ty {
    let ty = vector.row.src.get(position).copied().unwrap_or(Ty::B32);
    match vector.form {
        Form::Plain | Form::Bits(_) => ty,
        // Constants are floats of 16 bits where the row computes with such.
        Form::Halves => match (vector.src.get(position).map(|s| s.kind), ty) {
            (Some(Kind::Float(_)), Ty::F16) => Ty::F16,
            _ => Ty::B32,
        },
        Form::Pairs | Form::PairMove => match vector.src.get(position).map(|s| s.kind) {
            Some(Kind::Vgpr(_) | Kind::Sgpr(_)) => Ty::B64,
            _ => Ty::F32,
        },
        Form::Mix(short) => match (short, vector.src.get(position).map(|s| s.kind)) {
            (Short::F16, Some(Kind::Float(_))) if vector.op_sel_hi >> position & 1 == 1 => Ty::F16,
            // The high half of an f32 is the bfloat16.
            _ => Ty::F32,
        },
    }
}

/// Half of a register, sign and absolute value.
fn refine(values: &mut Lanes64, source: &Operand, ty: Ty) {
    if ty.is_half() && source.half == Half::High {
        for value in values.iter_mut() {
            *value >>= 16;
        }
    }
    if source.absolute || source.negated {
        // `v_cndmask_b32` has the modifiers too, and means floats of 32 bits.
        let sign = ty.sign().unwrap_or(match ty {
            Ty::B16 | Ty::F16 => 1 << 15,
            Ty::B32 | Ty::F32 => 1 << 31,
            Ty::B64 | Ty::F64 => 1 << 63,
        });
        for value in values.iter_mut() {
            if source.absolute {
                *value &= !sign;
            }
            if source.negated {
                *value ^= sign;
            }
        }
    }
}

/// Packed and mixed forms.
fn combined(vector: &Vector, form: Form, f: impl Fn(&[u64; 3]) -> u64, sources: &[u64; 3]) -> u64 {
    let part = |high: bool, shift: u32, sign: u64| -> u64 {
        let (select, negate) = if high {
            (vector.op_sel_hi, vector.neg_hi)
        } else {
            (vector.op_sel, vector.neg_lo)
        };
        let mut parts = [0; 3];
        for (position, (slot, bits)) in parts.iter_mut().zip(sources).enumerate() {
            let constant = !vector.src.get(position).is_some_and(Operand::is_register);
            // A constant that is fetched as one part stands for both.
            let shift = if select >> position & 1 == 1 && !(constant && shift == 32) {
                shift
            } else {
                0
            };
            *slot = (bits >> shift) & (sign | (sign - 1));
            if negate >> position & 1 == 1 {
                *slot ^= sign;
            }
        }
        f(&parts)
    };
    match form {
        Form::Plain => f(sources),
        Form::Halves => {
            (part(false, 16, 1 << 15) & 0xffff) | (part(true, 16, 1 << 15) & 0xffff) << 16
        }
        Form::Pairs => {
            (part(false, 32, 1 << 31) & 0xffff_ffff) | (part(true, 32, 1 << 31) & 0xffff_ffff) << 32
        }
        Form::PairMove => {
            let take = |position: usize| {
                let bits = sources.get(position).copied().unwrap_or(0);
                let constant = !vector.src.get(position).is_some_and(Operand::is_register);
                if vector.op_sel >> position & 1 == 1 && !constant {
                    bits >> 32
                } else {
                    bits & 0xffff_ffff
                }
            };
            take(0) | take(1) << 32
        }
        Form::Mix(short) => {
            let mut floats = [0; 3];
            for (position, (slot, bits)) in floats.iter_mut().zip(sources).enumerate() {
                let is_constant = vector
                    .src
                    .get(position)
                    .is_some_and(|source| matches!(source.kind, Kind::Float(_)));
                let mut value = if vector.op_sel_hi >> position & 1 == 1 {
                    let is_high = match short {
                        Short::BFloat16 if is_constant => true,
                        _ => vector.op_sel >> position & 1 == 1,
                    };
                    short.to_f32((bits >> if is_high { 16 } else { 0 }) as u16)
                } else {
                    f32::from_bits(*bits as u32)
                };
                if let Some(source) = vector.src.get(position) {
                    if source.absolute {
                        value = value.abs();
                    }
                    if source.negated {
                        value = -value;
                    }
                }
                *slot = value.to_bits().into();
            }
            let value = f(&floats);
            match vector.dst.half {
                Half::Whole => value,
                Half::Low | Half::High => short.bits_of(f32::from_bits(value as u32)).into(),
            }
        }
        Form::Bits(table) => {
            let [a, b, c] = *sources;
            (0..8u64)
                .filter(|k| table >> k & 1 == 1)
                .fold(0, |bits, k| {
                    let choose = |x: u64, bit: u64| if k >> bit & 1 == 1 { x } else { !x };
                    bits | (choose(a, 2) & choose(b, 1) & choose(c, 0))
                })
                & 0xffff_ffff
        }
    }
}

/// Output modifiers.
fn finish(vector: &Vector, values: &mut Lanes64) {
    if vector.scale == 1.0 && !vector.clamp {
        return;
    }
    let ty = vector.row.dst;
    let change = |x: f64| {
        let x = x * f64::from(vector.scale);
        if vector.clamp {
            if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) }
        } else {
            x
        }
    };
    for value in values.iter_mut() {
        *value = match vector.form {
            Form::Halves => {
                (ty.map_float(*value & 0xffff, change) & 0xffff)
                    | ty.map_float(*value >> 16 & 0xffff, change) << 16
            }
            Form::Pairs => {
                ty.map_float(*value & 0xffff_ffff, change)
                    | ty.map_float(*value >> 32, change) << 32
            }
            Form::Plain | Form::PairMove | Form::Mix(_) | Form::Bits(_) => {
                ty.map_float(*value, change)
            }
        };
    }
}

fn write(wave: &mut Wave, vector: &Vector, index: u16, values: &Lanes64, lanes: u64) {
    let ty = vector.row.dst;
    let wide = ty.registers() == 2 || matches!(vector.form, Form::Pairs | Form::PairMove);
    let narrow = vector.form.is_single() && ty.is_half() || vector.dst.half != Half::Whole;
    let index = usize::from(index);
    if let Some(register) = wave.vgpr.get_mut(index) {
        for (lane, (old, value)) in register.iter_mut().zip(values).enumerate() {
            if lanes >> lane & 1 == 0 {
                continue;
            }
            let bits = *value as u32;
            *old = if let Some(select) = &vector.select {
                select.dst.put(*old, bits, select.unused)
            } else if !narrow {
                bits
            } else {
                match vector.dst.half {
                    Half::High => (*old & 0xffff) | bits << 16,
                    Half::Low => (*old & 0xffff_0000) | (bits & 0xffff),
                    Half::Whole if vector.keeps_half => (*old & 0xffff_0000) | (bits & 0xffff),
                    Half::Whole => bits & 0xffff,
                }
            };
        }
    }
    if wide && let Some(register) = wave.vgpr.get_mut(index + 1) {
        for (lane, (old, value)) in register.iter_mut().zip(values).enumerate() {
            if lanes >> lane & 1 == 1 {
                *old = (value >> 32) as u32;
            }
        }
    }
}

impl Part {
    fn take(self, value: u64, extended: bool) -> u64 {
        match self {
            Part::Byte(n) => {
                let byte = (value >> (8 * n)) as u8;
                if extended {
                    u64::from(i32::from(byte as i8) as u32)
                } else {
                    byte.into()
                }
            }
            Part::Word(n) => {
                let word = (value >> (16 * n)) as u16;
                if extended {
                    u64::from(i32::from(word as i16) as u32)
                } else {
                    word.into()
                }
            }
            Part::Whole => value,
        }
    }

    fn put(self, old: u32, value: u32, unused: Unused) -> u32 {
        let (shift, mask) = match self {
            Part::Byte(n) => (8 * u32::from(n), 0xff),
            Part::Word(n) => (16 * u32::from(n), 0xffff),
            Part::Whole => return value,
        };
        let inside = (value & mask) << shift;
        match unused {
            Unused::Zero => inside,
            Unused::Keep => (old & !(mask << shift)) | inside,
            Unused::Sign => {
                let top = mask << shift;
                let negative = value & mask & !(mask >> 1) != 0;
                let above = if negative {
                    !(top | (top & top.wrapping_neg()).wrapping_sub(1))
                } else {
                    0
                };
                inside | above
            }
        }
    }
}

/// Rearranges the lanes of a source as DPP says; gives the lanes that are written.
fn permute(values: &mut Lanes64, dpp: &Lanes, exec: u64, size: u32) -> u64 {
    let old = *values;
    let mut written = 0;
    for lane in Lane::all(size) {
        let (row, bank) = (lane.number() / 16, lane.number() % 16 / 4);
        if dpp.rows >> row & 1 == 0 || dpp.banks >> bank & 1 == 0 {
            continue;
        }
        let source = source(dpp.from, lane, size)
            .filter(|from| dpp.fetch_inactive || exec >> *from & 1 == 1);
        let slot = &mut values[lane];
        match source {
            Some(from) => *slot = old[from],
            None if dpp.zero => *slot = 0,
            None => continue,
        }
        written |= 1u64 << lane;
    }
    written
}

/// The lane whose `register` an instruction takes for `lane`, where it takes it from another one.
pub(super) fn source_lane(vector: &Vector, register: u16, lane: Lane, size: u32) -> Option<Lane> {
    let dpp = vector.lanes.as_ref()?;
    let Some(Kind::Vgpr(first)) = vector.src.first().map(|source| source.kind) else {
        return None;
    };
    let count = fetched(vector, 0).registers();
    (first..first + count)
        .contains(&register)
        .then(|| source(dpp.from, lane, size))?
}

/// The lane that `lane` reads; `None` where there is none.
fn source(from: From, lane: Lane, size: u32) -> Option<Lane> {
    let lane = lane.number();
    let (row, at) = (lane & !15, lane & 15);
    let source = match from {
        From::Quad(order) => order
            .get((lane & 3) as usize)
            .map(|n| (lane & !3) + u32::from(n & 3)),
        From::Eight(order) => order
            .get((lane & 7) as usize)
            .map(|n| (lane & !7) + u32::from(n & 7)),
        From::RowShl(n) => Some(at + u32::from(n)).filter(|x| *x < 16).map(|x| row + x),
        From::RowShr(n) => at.checked_sub(n.into()).map(|x| row + x),
        From::RowRor(n) => Some(row + (at + 16 - u32::from(n & 15)) % 16),
        From::RowMirror => Some(row + 15 - at),
        From::RowHalfMirror => Some((lane & !7) + 7 - (lane & 7)),
        From::RowShare(n) => Some(row + u32::from(n & 15)),
        From::RowXmask(n) => Some(row + (at ^ u32::from(n & 15))),
        From::WaveShl => Some(lane + 1).filter(|x| *x < size),
        From::WaveShr => lane.checked_sub(1),
        From::WaveRol => Some((lane + 1) % size),
        From::WaveRor => Some((lane + size - 1) % size),
        From::Broadcast15 => row.checked_sub(1),
        From::Broadcast31 => (lane >= 32).then_some(31),
    };
    source.map(Lane::new)
}
