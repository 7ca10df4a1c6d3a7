//! The rows of OpenCL.std. An instruction of the set that is not listed computes a value from
//! values alone.

use super::{Access, Class, Extent, Facts, Role, When, behaviour, facts, pointer, value};
use spirv::OpenclStd100Op as Cl;

const SOURCE: &str = "OpenCL.std";

const PURE: Facts = facts(Class::Value, SOURCE);
const CLAMP: Facts = PURE.undefined(&[value(When::LimitsReversed)]);
const OUTSIDE_DOMAIN: Facts = PURE.undefined(&[value(When::OutsideDomain)]);
/// fract, modf, sincos, frexp and lgamma_r write their second result through a pointer.
const WRITES_SECOND: Facts = memory(&[pointer(1, Role::Write, Extent::Object)]);
const REMQUO: Facts = memory(&[pointer(2, Role::Write, Extent::Object)]);
/// The operands of a load are an offset and a pointer.
const LOAD: Facts = memory(&[pointer(1, Role::Read, Extent::Components)])
    .undefined(&[value(When::Unwritten), behaviour(When::OutOfBounds)]);
/// The operands of a store are the data, an offset and a pointer.
const STORE: Facts = memory(&[pointer(2, Role::Write, Extent::Components)])
    .undefined(&[behaviour(When::OutOfBounds)]);
const PRINTF: Facts = facts(Class::Print, SOURCE).access(&[pointer(0, Role::Read, Extent::Any)]);
const PREFETCH: Facts = facts(Class::Marker, SOURCE);

const fn memory(accesses: &'static [Access]) -> Facts {
    facts(Class::Memory, SOURCE).access(accesses)
}

/// The row of instruction `number`.
pub(super) fn row(number: u32) -> &'static Facts {
    let Some(op) = Cl::from_u32(number) else {
        return &Facts::UNKNOWN;
    };
    match op {
        Cl::fract | Cl::frexp | Cl::lgamma_r | Cl::modf | Cl::sincos => &WRITES_SECOND,
        Cl::remquo => &REMQUO,
        Cl::vloadn | Cl::vload_half | Cl::vload_halfn | Cl::vloada_halfn => &LOAD,
        Cl::vstoren
        | Cl::vstore_half
        | Cl::vstore_half_r
        | Cl::vstore_halfn
        | Cl::vstore_halfn_r
        | Cl::vstorea_halfn
        | Cl::vstorea_halfn_r => &STORE,
        Cl::printf => &PRINTF,
        Cl::prefetch => &PREFETCH,
        Cl::fclamp | Cl::s_clamp | Cl::u_clamp => &CLAMP,
        Cl::smoothstep => &OUTSIDE_DOMAIN,
        _ => &PURE, // total functions of their operands
    }
}
