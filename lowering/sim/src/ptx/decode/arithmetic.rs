//! Opcodes without side effects: which function computes them, from operands of which types.

use super::opcode::Opcode;
use crate::ptx::arith::round::Rounding;
use crate::ptx::arith::{self, Combine, Compare, Function, Mode, convert, float, integer};
use crate::ptx::types::{Class, Type};

/// How an instruction is computed.
#[derive(Clone, Debug)]
pub(super) struct Computed {
    /// By this.
    pub function: Function,
    /// With this.
    pub mode: Mode,
    /// Types of the operands, in order.
    pub from: Vec<Type>,
    /// The type of the result.
    pub to: Type,
}

/// What stands in the tables: name, operands, function for integers, function for floating point.
type Row = (&'static str, usize, Option<Function>, Option<Function>);

/// Instructions whose operands and result all have the opcode's type.
const SAME: &[Row] = &[
    ("mov", 1, Some(arith::first), Some(arith::first)),
    ("add", 2, Some(integer::add), Some(float::add)),
    ("sub", 2, Some(integer::sub), Some(float::sub)),
    ("mul", 2, None, Some(float::mul)),
    ("mad", 3, None, Some(float::fma)),
    ("fma", 3, None, Some(float::fma)),
    ("div", 2, Some(integer::div), Some(float::div)),
    ("rem", 2, Some(integer::rem), None),
    ("rcp", 1, None, Some(float::rcp)),
    ("sqrt", 1, None, Some(float::sqrt)),
    ("rsqrt", 1, None, Some(float::rsqrt)),
    ("ex2", 1, None, Some(float::ex2)),
    ("lg2", 1, None, Some(float::lg2)),
    ("sin", 1, None, Some(float::sin)),
    ("cos", 1, None, Some(float::cos)),
    ("tanh", 1, None, Some(float::tanh)),
    ("abs", 1, Some(integer::abs), Some(float::abs)),
    ("neg", 1, Some(integer::neg), Some(float::neg)),
    ("min", 2, Some(integer::min), Some(float::min)),
    ("max", 2, Some(integer::max), Some(float::max)),
    ("copysign", 2, None, Some(float::copysign)),
    ("sad", 3, Some(integer::sad), None),
    ("and", 2, Some(integer::and), None),
    ("or", 2, Some(integer::or), None),
    ("xor", 2, Some(integer::xor), None),
    ("not", 1, Some(integer::not), None),
    ("cnot", 1, Some(integer::cnot), None),
    ("brev", 1, Some(integer::brev), None),
];

const B32: Type = Type::B32;
const U32: Type = Type::U32;

/// How `op` is computed; `None` if it is not one of these, or not in this form.
pub(super) fn computed(op: &mut Opcode<'_>) -> Option<Computed> {
    let chosen = match op.root {
        "mul" | "mad" | "mul24" | "mad24" => product(op).or_else(|| same(op)),
        "shl" | "shr" => shift(op),
        "setp" | "set" => comparison(op),
        "selp" => {
            let kind = op.kind()?;
            Some(plain(arith::select, kind, &[kind, kind, Type::PREDICATE]))
        }
        "cvt" => conversion(op),
        "popc" | "clz" | "bfind" => count(op),
        "bfe" | "bfi" | "bmsk" | "szext" => field(op),
        "lop3" | "prmt" | "shf" | "dp4a" => words(op),
        "testp" => {
            let table: Vec<(&str, u8)> = (0u8..)
                .zip(float::TESTS)
                .map(|(i, name)| (name, i))
                .collect();
            let test = op.one_of(&table)?;
            let kind = op.kind()?;
            let mode = Mode {
                table: test,
                ..Mode::from_kind(kind)
            };
            Some(Computed {
                function: float::testp,
                mode,
                from: vec![kind],
                to: Type::PREDICATE,
            })
        }
        _ => same(op),
    }?;
    op.is_empty().then_some(chosen)
}

fn plain(function: Function, kind: Type, from: &[Type]) -> Computed {
    Computed {
        function,
        mode: Mode::from_kind(kind),
        from: from.to_vec(),
        to: kind,
    }
}

/// The function for a type: for each element, if it has two.
fn for_elements(mut computed: Computed) -> Computed {
    if computed.mode.kind.count > 1 {
        computed.mode.each = computed.function;
        computed.function = arith::packed;
    }
    computed
}

fn same(op: &mut Opcode<'_>) -> Option<Computed> {
    let (_, operands, on_integers, on_floats) = *SAME.iter().find(|row| row.0 == op.root)?;
    let kind = op.kind()?;
    let function = if kind.is_float() {
        on_floats?
    } else {
        on_integers?
    };
    let mut computed = plain(function, kind, &vec![kind; operands]);
    let mode = &mut computed.mode;
    mode.saturate = op.flag("sat");
    mode.relu = op.flag("relu");
    if kind.is_float() {
        // Approximations are computed as exactly as the others.
        let _ = op.flag("approx") || op.flag("full");
        mode.rounding = op.one_of(Rounding::NAMES).unwrap_or(Rounding::Nearest);
        mode.flush = op.flag("ftz");
        mode.nan = op.flag("NaN");
        mode.xorsign = op.flag("xorsign");
        if mode.xorsign && !op.flag("abs") {
            return None;
        }
    }
    op.flag("noftz");
    if matches!(op.root, "add" | "sub" | "fma") && kind.class == Class::Single && kind.count == 1 {
        computed = mixed(op, computed)?;
    }
    Some(for_elements(computed))
}

/// Sums and products whose factors, or first addend, are of 16 bits: a second type says so
/// (PTX ISA, "Mixed Precision Floating Point Instructions").
fn mixed(op: &mut Opcode<'_>, mut computed: Computed) -> Option<Computed> {
    let Some(narrow) = op.kind() else {
        return Some(computed);
    };
    if !matches!(narrow.class, Class::Half | Class::Brain) || narrow.count > 1 {
        return None;
    }
    let (last, narrow_ones) = computed.from.split_last_mut()?;
    debug_assert_eq!(
        *last, computed.to,
        "the last operand is of the result's type"
    );
    narrow_ones.fill(narrow);
    let mode = &mut computed.mode;
    mode.other = narrow;
    mode.table = u8::try_from(narrow_ones.len()).ok()?;
    mode.each = computed.function;
    computed.function = float::mixed;
    Some(computed)
}

fn product(op: &mut Opcode<'_>) -> Option<Computed> {
    let (function, wide): (Function, bool) = if op.flag("lo") {
        (integer::mad_low, false)
    } else if op.flag("hi") {
        (integer::mad_high, false)
    } else if op.flag("wide") {
        (integer::mad_wide, true)
    } else {
        return None;
    };
    if op.root.ends_with("24") {
        return None;
    }
    let kind = op.kind()?;
    let to = if wide { kind.wide() } else { kind };
    let from = if op.root == "mul" {
        vec![kind, kind]
    } else {
        vec![kind, kind, to]
    };
    let mode = Mode {
        saturate: op.flag("sat"),
        ..Mode::from_kind(kind)
    };
    Some(Computed {
        function,
        mode,
        from,
        to,
    })
}

fn shift(op: &mut Opcode<'_>) -> Option<Computed> {
    let kind = op.kind()?;
    Some(plain(
        if op.root == "shl" {
            integer::shl
        } else {
            integer::shr
        },
        kind,
        &[kind, U32],
    ))
}

fn comparison(op: &mut Opcode<'_>) -> Option<Computed> {
    let compare = op.one_of(Compare::NAMES)?;
    let combine = op.one_of(Combine::NAMES).unwrap_or(Combine::Alone);
    let flush = op.flag("ftz");
    let to = if op.root == "set" {
        op.kind()?
    } else {
        Type::PREDICATE
    };
    let kind = op.kind()?;
    let packed = kind.count > 1 && (op.root != "setp" || combine != Combine::Alone);
    if packed || to.count > 1 || matches!(to.class, Class::Half | Class::Brain) {
        return None;
    }
    let mode = Mode {
        compare,
        combine,
        flush,
        other: to,
        ..Mode::from_kind(kind)
    };
    let mut from = vec![kind, kind];
    if combine != Combine::Alone {
        from.push(Type::PREDICATE);
    }
    Some(Computed {
        function: arith::compare,
        mode,
        from,
        to,
    })
}

/// Pairs of 8-bit floats: what the table of a mode says of each.
const FLOAT8: &[(&str, u8)] = &[("e4m3x2", 0), ("e5m2x2", 1)];

fn conversion(op: &mut Opcode<'_>) -> Option<Computed> {
    if let Some(format) = op.one_of(FLOAT8) {
        return float8_conversion(op, format);
    }
    let integral = op.one_of(Rounding::INTEGRAL);
    let rounding = op.one_of(Rounding::NAMES);
    let flush = op.flag("ftz");
    let saturate = op.flag("sat");
    let relu = op.flag("relu");
    let (to, other) = (op.kind()?, op.kind()?);
    let mut mode = Mode {
        rounding: integral.or(rounding).unwrap_or(Rounding::Nearest),
        table: u8::from(integral.is_some()),
        flush,
        saturate,
        relu,
        other,
        ..Mode::from_kind(to)
    };
    if to.count == 2 {
        return (to.is_float() && other.count == 1).then(|| Computed {
            function: convert::pack,
            mode,
            from: vec![other, other],
            to,
        });
    }
    if other.count == 2 {
        return None;
    }
    let function: Function = match (to.is_float(), other.is_float()) {
        (false, false) => convert::integer,
        (false, true) => convert::to_integer,
        (true, false) => convert::from_integer,
        (true, true) => {
            // Between numbers of one format, `.rni` and its like round to an integral value.
            if mode.table == 1 && to.class != other.class {
                return None;
            }
            mode.table = u8::from(mode.table == 1);
            convert::float
        }
    };
    Some(Computed {
        function,
        mode,
        from: vec![other],
        to,
    })
}

/// To a pair of 8-bit floats, which saturates, or from one.
fn float8_conversion(op: &mut Opcode<'_>, format: u8) -> Option<Computed> {
    const HALVES: Type = Type {
        class: Class::Half,
        element: 16,
        count: 2,
    };
    let to_small = op.flag("satfinite");
    if !op.flag("rn") {
        return None;
    }
    let other = op.kind()?;
    let pair = Type::new(Class::Bits, 16);
    let (function, from, to): (Function, Vec<Type>, Type) = match (to_small, other) {
        (true, HALVES) => (convert::halves_to_float8, vec![HALVES], pair),
        (true, other) if other == Type::new(Class::Single, 32) => {
            (convert::to_float8, vec![other, other], pair)
        }
        (false, HALVES) => (convert::from_float8, vec![pair], HALVES),
        _ => return None,
    };
    let mode = Mode {
        table: format,
        relu: op.flag("relu"),
        other,
        ..Mode::from_kind(to)
    };
    Some(Computed {
        function,
        mode,
        from,
        to,
    })
}

fn count(op: &mut Opcode<'_>) -> Option<Computed> {
    let shift = op.root == "bfind" && op.flag("shiftamt");
    let kind = op.kind()?;
    let function = match op.root {
        "popc" => integer::popc,
        "clz" => integer::clz,
        _ => integer::bfind,
    };
    let mode = Mode {
        table: u8::from(shift),
        ..Mode::from_kind(kind)
    };
    Some(Computed {
        function,
        mode,
        from: vec![kind],
        to: U32,
    })
}

fn field(op: &mut Opcode<'_>) -> Option<Computed> {
    let clamps = op.root == "bmsk" || op.root == "szext";
    let wraps = clamps && op.flag("wrap");
    if clamps && !wraps && !op.flag("clamp") {
        return None;
    }
    let kind = op.kind()?;
    let mut computed = match op.root {
        "bfe" => plain(integer::bfe, kind, &[kind, U32, U32]),
        "bfi" => plain(integer::bfi, kind, &[kind, kind, U32, U32]),
        "bmsk" => plain(integer::bmsk, kind, &[U32, U32]),
        _ => plain(integer::szext, kind, &[kind, U32]),
    };
    computed.mode.table = u8::from(wraps);
    Some(computed)
}

/// Instructions on 32-bit words; the table of `lop3` is an operand and set by the caller.
fn words(op: &mut Opcode<'_>) -> Option<Computed> {
    match op.root {
        "lop3" => {
            op.kind().filter(|kind| *kind == B32)?;
            Some(plain(integer::lop3, B32, &[B32, B32, B32]))
        }
        "prmt" => {
            let modes: Vec<(&str, u8)> = (1u8..)
                .zip(integer::PERMUTE_MODES)
                .map(|(i, name)| (name, i))
                .collect();
            op.kind().filter(|kind| *kind == B32)?;
            let mut computed = plain(integer::prmt, B32, &[B32, B32, B32]);
            computed.mode.table = op.one_of(&modes).unwrap_or(0); // without a mode
            Some(computed)
        }
        "shf" => {
            let left = op.flag("l");
            if !left && !op.flag("r") {
                return None;
            }
            let wraps = op.flag("wrap");
            if !wraps && !op.flag("clamp") {
                return None;
            }
            op.kind().filter(|kind| *kind == B32)?;
            let function = if left {
                integer::funnel_left
            } else {
                integer::funnel_right
            };
            let mut computed = plain(function, B32, &[B32, B32, U32]);
            computed.mode.table = u8::from(wraps);
            Some(computed)
        }
        _ => {
            let (a, b) = (op.kind()?, op.kind()?);
            let signed = a.is_signed() || b.is_signed();
            let to = Type::new(
                if signed {
                    Class::Signed
                } else {
                    Class::Unsigned
                },
                32,
            );
            let mode = Mode {
                other: b,
                ..Mode::from_kind(a)
            };
            Some(Computed {
                function: integer::dp4a,
                mode,
                from: vec![B32, B32, to],
                to,
            })
        }
    }
}
