//! Instructions on textures and surfaces: PTX ISA, "Texture Instructions" and "Surface
//! Instructions". Known are fetches by integers, samples at a level of detail or with gradients,
//! gathers, surfaces as bytes, formatted stores, queries.

use super::super::operand::{Sample, Source, TexelAction};
use super::super::program::Op;
use super::super::types::{Class, Type};
use super::opcode::Opcode;
use super::{Decoded, Decoder, Unknown};
use splitbar_assembly::ptx::syntax::{Base, Operand};

/// What coordinates are.
const SIGNED: Type = Type::new(Class::Signed, 32);

/// What coordinates of samples are.
const SINGLE: Type = Type::new(Class::Single, 32);

/// The components that are gathered.
const COMPONENTS: &[(&str, u8)] = &[("r", 0), ("g", 1), ("b", 2), ("a", 3)];

/// What a geometry says of the coordinates.
#[derive(Copy, Clone)]
struct Geometry {
    /// All of them.
    count: usize,
    /// The first one is a layer.
    layered: bool,
    /// They are a direction.
    cube: bool,
    /// The number of a sample stands behind the layer.
    samples: bool,
}

const fn geometry(count: usize, layered: bool, cube: bool, samples: bool) -> Geometry {
    Geometry {
        count,
        layered,
        cube,
        samples,
    }
}

const GEOMETRIES: &[(&str, Geometry)] = &[
    ("1d", geometry(1, false, false, false)),
    ("2d", geometry(2, false, false, false)),
    ("3d", geometry(3, false, false, false)),
    ("a1d", geometry(2, true, false, false)),
    ("a2d", geometry(3, true, false, false)),
    ("cube", geometry(3, false, true, false)),
    ("acube", geometry(4, true, true, false)),
    ("2dms", geometry(3, false, false, true)),
    ("a2dms", geometry(4, true, false, true)),
];

const QUERIES: &[(&str, TexelAction)] = &[
    ("width", TexelAction::Extent(0)),
    ("height", TexelAction::Extent(1)),
    ("depth", TexelAction::Extent(2)),
    ("channel_data_type", TexelAction::ChannelType),
    ("channel_order", TexelAction::ChannelOrder),
    ("num_mipmap_levels", TexelAction::Levels),
    ("num_samples", TexelAction::Samples),
];

/// What a `tex` or `tld4` with floats as coordinates does, from its opcode and the form of the
/// operands behind its place; and these operands, each of which is one value or a list.
fn sample<'o, 't>(
    op: &mut Opcode<'_>,
    geometry: Geometry,
    gathers: Option<u8>,
    behind: &'o [Operand<'t>],
) -> Decoded<(Sample, Vec<&'o [Operand<'t>]>)> {
    let (level, gradients) = (op.flag("level"), op.flag("grad"));
    let count = geometry.count - usize::from(geometry.layered);
    let fixed = match (gathers.is_some(), level, gradients) {
        (true, false, false) => 0,
        (false, true, false) => 1,
        (false, false, true) => 2,
        _ => return Err(Unknown), // a level from the other lanes, which only pixel shaders have
    };
    let (first, mut rest) = behind.split_at_checked(fixed).ok_or(Unknown)?;
    // A vector of three has four elements, the last of which says nothing.
    let vector = |operand: &'o Operand<'t>, count: usize| match operand {
        Operand::List(parts) => parts.get(..count).ok_or(Unknown),
        one if count == 1 => Ok(std::slice::from_ref(one)),
        _ => Err(Unknown),
    };
    let mut operands = Vec::new();
    for operand in first {
        operands.push(vector(operand, if gradients { count } else { 1 })?);
    }
    let mut offset = 0;
    if let [list @ Operand::List(_), others @ ..] = rest
        && !geometry.cube
    {
        operands.push(vector(list, count)?);
        (offset, rest) = (count as u8, others);
    }
    let compares = match rest {
        [] => false,
        [reference] => {
            operands.push(vector(reference, 1)?);
            true
        }
        _ => return Err(Unknown),
    };
    let sample = Sample {
        count: count as u8,
        layered: geometry.layered,
        cube: geometry.cube,
        gathers,
        gradients,
        offset,
        compares,
    };
    let is_plane = count == 2 || geometry.cube;
    let known = !geometry.samples && (gathers.is_none() || is_plane);
    known.then_some((sample, operands)).ok_or(Unknown)
}

impl<'t> Decoder<'_, 't> {
    pub(super) fn texel(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        if matches!(op.root, "suq" | "txq") {
            return self.query(op, operands);
        }
        let component = match op.root {
            "tld4" => Some(op.one_of(COMPONENTS).ok_or(Unknown)?),
            _ => None,
        };
        let geometry = op.one_of(GEOMETRIES).ok_or(Unknown)?;
        let vector = op.vector() as usize;
        let kind = op.kind().ok_or(Unknown)?;
        let is_word = kind.bits() == 32;
        let (place, data, behind) = match (op.root, operands) {
            ("sust", [place, data]) => (place, data, &[][..]),
            (_, [data, place, behind @ ..]) => (place, data, behind),
            _ => return Err(Unknown),
        };
        let mut others: Vec<Source> = Vec::new();
        let action = match op.root {
            "suld" => TexelAction::Bytes(kind.bits() / 8),
            "sust" => TexelAction::Store {
                traps: op.flag("trap"),
            },
            _ => match op.kind().ok_or(Unknown)? {
                SINGLE => {
                    let (sample, operands) = sample(op, geometry, component, behind)?;
                    for (index, operand) in operands.iter().enumerate() {
                        // The offset is the only one of integers.
                        let before = if sample.gathers.is_some() { 0 } else { 1 };
                        let before = before + usize::from(sample.gradients);
                        let is_offset = sample.offset > 0 && index == before;
                        let kind = if is_offset { SIGNED } else { SINGLE };
                        for part in *operand {
                            others.push(self.source(part, kind)?);
                        }
                    }
                    TexelAction::Sample(sample)
                }
                SIGNED if component.is_some() || geometry.cube => return Err(Unknown),
                SIGNED => match (geometry.samples, op.flag("level"), behind) {
                    (true, false, []) => TexelAction::FetchSample {
                        layered: geometry.layered,
                    },
                    (false, false, []) => TexelAction::Fetch,
                    (false, true, [level]) => {
                        others.push(self.source(level, SIGNED)?);
                        TexelAction::FetchLevel
                    }
                    _ => return Err(Unknown),
                },
                _ => return Err(Unknown),
            },
        };
        let is_known = match action {
            TexelAction::Bytes(_) => op.flag("b") && op.flag("zero") && behind.is_empty(),
            TexelAction::Store { traps } => op.flag("p") && traps != op.flag("zero") && is_word,
            _ => is_word,
        };
        if !is_known {
            return Err(Unknown);
        }
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
        let at = self.place(geometry, action, coordinates)?;
        let (to, from) = match action {
            TexelAction::Store { .. } => (&[][..], registers.as_slice()),
            _ => (registers.as_slice(), &[][..]),
        };
        let texel = Op::Texel {
            action,
            handle,
            at,
            more: self.list(&others),
            to: self.list(to),
            from: self.list(from),
        };
        op.is_empty().then(|| self.emit(texel)).ok_or(Unknown)
    }

    /// Coordinates in the order of the image: the layer behind them, then the sample.
    fn place(
        &mut self,
        geometry: Geometry,
        action: TexelAction,
        coordinates: &[Operand<'t>],
    ) -> Decoded<[Option<Source>; 4]> {
        // A vector of coordinates has 1, 2 or 4; the last ones say nothing.
        let mut used = coordinates.get(..geometry.count).ok_or(Unknown)?.to_vec();
        let behind = usize::from(geometry.layered) + usize::from(geometry.samples);
        used.rotate_left(behind);
        let mut at = [None; 4];
        for (index, (to, coordinate)) in at.iter_mut().zip(&used).enumerate() {
            let is_number = index + behind >= geometry.count;
            let kind = match action {
                TexelAction::Sample(_) if !is_number => SINGLE,
                _ => SIGNED,
            };
            *to = Some(self.source(coordinate, kind)?);
        }
        Ok(at)
    }

    fn query(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let action = op.one_of(QUERIES).ok_or(Unknown)?;
        let is_word = op.kind() == Some(Type::B32);
        let has_level = op.root == "txq" && op.flag("level");
        let (to, base, level) = match operands {
            [to, Operand::Address(base, 0)] if !has_level => (to, base, None),
            [to, Operand::Address(base, 0), level] if has_level => (to, base, Some(level)),
            _ => return Err(Unknown),
        };
        let to = Source::Register(self.destination(to)?.0);
        let mut others = Vec::new();
        if let Some(level) = level {
            others.push(self.source(level, SIGNED)?);
        }
        let texel = Op::Texel {
            action,
            handle: self.handle(*base)?,
            at: [None; 4],
            more: self.list(&others),
            to: self.list(&[to]),
            from: self.list(&[]),
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
