//! The rows of GLSL.std.450. An instruction of the set that is not listed computes a value from
//! values alone, wherever it is defined.

use super::{Class, Extent, Facts, Role, When, facts, pointer, value};
use spirv::GlslStd450Op as Glsl;

const SOURCE: &str = "GLSL.std.450";

const PURE: Facts = facts(Class::Value, SOURCE);
const OUTSIDE_DOMAIN: Facts = PURE.undefined(&[value(When::OutsideDomain)]);
const NAN: Facts = PURE.undefined(&[value(When::NotANumber)]);
const CLAMP: Facts = PURE.undefined(&[value(When::LimitsReversed)]);
const FLOAT_CLAMP: Facts = PURE.undefined(&[value(When::LimitsReversed), value(When::NotANumber)]);
const SINGULAR: Facts = PURE.undefined(&[value(When::Singular)]);
/// Modf and Frexp write their second result through a pointer.
const WRITES_SECOND: Facts =
    facts(Class::Memory, SOURCE).access(&[pointer(1, Role::Write, Extent::Object)]);
const INTERPOLATES: Facts = facts(Class::Refused("fragment shaders"), SOURCE);

/// The row of instruction `number`.
pub(super) fn row(number: u32) -> &'static Facts {
    let Some(op) = Glsl::from_u32(number) else {
        return &Facts::UNKNOWN;
    };
    match op {
        Glsl::Modf | Glsl::Frexp => &WRITES_SECOND,
        Glsl::InterpolateAtCentroid | Glsl::InterpolateAtSample | Glsl::InterpolateAtOffset => {
            &INTERPOLATES
        }
        Glsl::Asin
        | Glsl::Acos
        | Glsl::Acosh
        | Glsl::Atanh
        | Glsl::Atan2
        | Glsl::Pow
        | Glsl::Log
        | Glsl::Log2
        | Glsl::Sqrt
        | Glsl::InverseSqrt
        | Glsl::SmoothStep => &OUTSIDE_DOMAIN,
        Glsl::FMin | Glsl::FMax => &NAN,
        Glsl::FClamp => &FLOAT_CLAMP,
        Glsl::UClamp | Glsl::SClamp | Glsl::NClamp => &CLAMP,
        Glsl::MatrixInverse => &SINGULAR,
        _ => &PURE, // total functions of their operands
    }
}
