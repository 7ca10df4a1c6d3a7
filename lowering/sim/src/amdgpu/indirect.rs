//! Vector registers that are counted from an index in M0: `v_movrels` and its like, and moves
//! between `s_set_gpr_idx_on` and `s_set_gpr_idx_off` (gfx8, gfx9). Sources: the instruction set
//! guides of AMD, "VGPR Indexing" (Vega) and "Relative VGPR addressing" of the moves (RDNA).

use super::inst::{File, Indirect, Inst, Op, Registers, Use, Vector};
use super::operand::{Half, Kind, sgpr};
use super::text::Parts;
use super::wave::Wave;

/// The bits of M0 that an index takes where a mode is switched on.
const INDEX: u32 = 0xff;
/// Where the mode stands in M0.
const MODE_SHIFT: u32 = 12;

impl Indirect {
    /// Which registers a move counts from M0 by its name.
    pub(super) fn of_move(name: &str) -> Option<Indirect> {
        let (source, destination) = match name {
            "v_movrels_b32" => (true, false),
            "v_movreld_b32" => (false, true),
            "v_movrelsd_b32" => (true, true),
            _ => return None,
        };
        Some(Indirect {
            source,
            destination,
        })
    }

    /// Which registers `s_set_gpr_idx_on VALUE, gpr_idx(...)` names; `None` if it names a source
    /// that moves do not have.
    pub(super) fn of_mode(parts: &Parts<'_>) -> Option<Indirect> {
        let (_, names) = parts.rest.split_once("gpr_idx(")?;
        let names = names.strip_suffix(')')?.split(',').map(str::trim);
        let mut which = Indirect {
            source: false,
            destination: false,
        };
        for name in names {
            match name {
                "SRC0" => which.source = true,
                "DST" => which.destination = true,
                _ => return None,
            }
        }
        Some(which)
    }

    /// The mode's bits in M0: the first source is bit 0, the destination bit 3.
    fn bits(self) -> u32 {
        u32::from(self.source) | u32::from(self.destination) << 3
    }
}

/// Switches the mode on, with this index.
pub(super) fn switch_on(wave: &mut Wave, which: Indirect, index: u32) {
    let kept = wave.s(sgpr::M0) & !(INDEX | 0xf << MODE_SHIFT);
    wave.set_s(
        sgpr::M0,
        kept | (index & INDEX) | which.bits() << MODE_SHIFT,
    );
    wave.indexing = Some(which);
}

/// The instruction with the registers that it means now; `None` when these are those that it names,
/// an error when that is not simulated.
pub(super) fn resolve(wave: &Wave, inst: &Inst) -> Result<Option<Inst>, &'static str> {
    let (vector, which, index) = match (&inst.op, wave.indexing) {
        (Op::Indirect(vector, which), None) => (vector, *which, wave.s(sgpr::M0)),
        (Op::Vector(vector), Some(which)) => (vector, which, wave.s(sgpr::M0) & INDEX),
        (Op::Indirect(..) | Op::Dual(_) | Op::Matrix(_), Some(_)) => return Err(MODE_IS_ON),
        _ => return Ok(None), // names no vector registers, or is not concerned
    };
    if !is_move(vector) {
        return Err(MODE_IS_ON);
    }
    let mut moved = vector.clone();
    let mut uses = vec![registers(File::Scalar, sgpr::M0, false)];
    let [from, ..] = &mut moved.src;
    for (operand, by_index, written) in [
        (from, which.source, false),
        (&mut moved.dst, which.destination, true),
    ] {
        match &mut operand.kind {
            Kind::Vgpr(number) => {
                if by_index {
                    let at = u32::from(*number).saturating_add(index);
                    *number = u16::try_from(at)
                        .ok()
                        .filter(|at| usize::from(*at) < wave.vgpr.len())
                        .ok_or(" with an index beyond the wave's registers")?;
                }
                uses.push(registers(File::Vector, *number, written));
            }
            Kind::Sgpr(number) => uses.push(registers(File::Scalar, *number, written)),
            _ => {} // a constant
        }
    }
    Ok(Some(Inst {
        op: Op::Vector(moved),
        uses: uses.into(),
    }))
}

const MODE_IS_ON: &str = " while registers are counted from an index";

fn is_move(vector: &Vector) -> bool {
    vector.row.name == "v_mov_b32" && vector.lanes.is_none() && vector.select.is_none()
}

fn registers(file: File, first: u16, written: bool) -> Use {
    Use {
        registers: Registers {
            file,
            first,
            count: 1,
            half: Half::Whole,
        },
        written,
    }
}
