//! Instructions on textures and surfaces: PTX ISA, "Texture Instructions" and "Surface
//! Instructions". Known are fetches by integers, samples at a level of detail and gathers, surfaces
//! as bytes, formatted stores, queries.

use super::super::program::{Op, Source, TexelAction};
use super::super::types::{Class, Type};
use super::opcode::Opcode;
use super::{Decoded, Decoder, Unknown};
use crate::sampler::Directions;
use splitbar_assembly::ptx::syntax::{Base, Operand};

/// What coordinates are.
const SIGNED: Type = Type::of(Class::Signed, 32);

/// What coordinates of samples are.
const SINGLE: Type = Type::of(Class::Single, 32);

/// The components that are gathered.
const COMPONENTS: &[(&str, u8)] = &[("r", 0), ("g", 1), ("b", 2), ("a", 3)];

/// Coordinates, and whether the first of them is a layer.
const GEOMETRIES: &[(&str, (usize, bool))] = &[
    ("1d", (1, false)),
    ("2d", (2, false)),
    ("3d", (3, false)),
    ("a1d", (2, true)),
    ("a2d", (3, true)),
];

const QUERIES: &[(&str, TexelAction)] = &[
    ("width", TexelAction::Extent(0)),
    ("height", TexelAction::Extent(1)),
    ("depth", TexelAction::Extent(2)),
    ("channel_data_type", TexelAction::ChannelType),
    ("channel_order", TexelAction::ChannelOrder),
];

impl<'t> Decoder<'_, 't> {
    pub(super) fn texel(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        if matches!(op.root, "suq" | "txq") {
            return self.query(op, operands);
        }
        let level = op.root == "tex" && op.flag("level");
        let component = match op.root {
            "tld4" => Some(op.one_of(COMPONENTS).ok_or(Unknown)?),
            _ => None,
        };
        let (count, layered) = op.one_of(GEOMETRIES).ok_or(Unknown)?;
        let vector = op.vector() as usize;
        let kind = op.kind().ok_or(Unknown)?;
        let is_word = kind.bits() == 32;
        let action = match op.root {
            "suld" => TexelAction::Bytes(kind.bits() / 8),
            "sust" => TexelAction::Store {
                traps: op.flag("trap"),
            },
            "tld4" if (count, layered) == (2, false) => {
                TexelAction::Gather(component.ok_or(Unknown)?)
            }
            "tld4" => return Err(Unknown),
            _ if level => TexelAction::Sample(Directions {
                count: count as u8 - u8::from(layered),
                layered,
            }),
            _ => TexelAction::Fetch,
        };
        let sampled = matches!(action, TexelAction::Sample(_) | TexelAction::Gather(_));
        let is_known = match action {
            TexelAction::Bytes(_) => op.flag("b") && op.flag("zero"),
            TexelAction::Store { traps } => op.flag("p") && traps != op.flag("zero") && is_word,
            TexelAction::Sample(_) | TexelAction::Gather(_) => op.kind() == Some(SINGLE) && is_word,
            TexelAction::Fetch
            | TexelAction::Extent(_)
            | TexelAction::ChannelType
            | TexelAction::ChannelOrder => op.kind() == Some(SIGNED) && is_word,
        };
        if !is_known {
            return Err(Unknown);
        }
        let (place, data) = match (action, operands) {
            (TexelAction::Store { .. }, [place, data]) => (place, data),
            // There is one level, whatever is asked for.
            (TexelAction::Sample(_), [data, place, _]) => (place, data),
            (TexelAction::Sample(_), _) => return Err(Unknown),
            (_, [data, place]) => (place, data),
            _ => return Err(Unknown),
        };
        let parts = match data {
            Operand::List(parts) if parts.len() == vector => parts.as_slice(),
            one if vector == 1 => std::slice::from_ref(one),
            _ => return Err(Unknown),
        };
        let mut registers = Vec::new();
        for part in parts {
            registers.push(match action {
                TexelAction::Store { .. } => self.source(part, kind)?,
                _ => Source::Register(self.destination(part)?.0),
            });
        }
        let Operand::Texel(base, coordinates) = place else {
            return Err(Unknown);
        };
        let handle = self.handle(*base)?;
        // A vector of coordinates has 1, 2 or 4; the last ones say nothing.
        let mut used = coordinates.get(..count).ok_or(Unknown)?.to_vec();
        if layered {
            used.rotate_left(1);
        }
        let mut at = [None; 3];
        for (index, (to, coordinate)) in at.iter_mut().zip(&used).enumerate() {
            let is_layer = layered && index + 1 == count;
            let kind = if sampled && !is_layer { SINGLE } else { SIGNED };
            *to = Some(self.source(coordinate, kind)?);
        }
        let data = self.list(&registers);
        let texel = Op::Texel {
            action,
            handle,
            at,
            data,
        };
        op.is_empty().then(|| self.emit(texel)).ok_or(Unknown)
    }

    fn query(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let action = op.one_of(QUERIES).ok_or(Unknown)?;
        let is_word = op.kind() == Some(Type::B32);
        let [to, Operand::Address(base, 0)] = operands else {
            return Err(Unknown);
        };
        let to = Source::Register(self.destination(to)?.0);
        let (handle, data) = (self.handle(*base)?, self.list(&[to]));
        let texel = Op::Texel {
            action,
            handle,
            at: [None; 3],
            data,
        };
        (is_word && op.is_empty())
            .then(|| self.emit(texel))
            .ok_or(Unknown)
    }

    /// The object, which is a value in a register.
    fn handle(&mut self, base: Base<'t>) -> Decoded<Source> {
        match base {
            Base::Name(name) => self.source(&Operand::Name(name, 0), Type::B64),
            Base::Number => Err(Unknown),
        }
    }
}
