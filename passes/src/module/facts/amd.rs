//! The rows of the extended instructions of AMD's extensions.

use super::{Class, Facts, Group, When, facts, value};
use spirv::{
    SpvAmdGcnShaderOp as Gcn, SpvAmdShaderBallotOp as Ballot,
    SpvAmdShaderTrinaryMinmaxOp as Trinary,
};

const BALLOT: &str = "SPV_AMD_shader_ballot";
const GCN: &str = "SPV_AMD_gcn_shader";
const TRINARY: &str = "SPV_AMD_shader_trinary_minmax";

const SWIZZLE: Facts = facts(Class::Group(Group::Own), BALLOT)
    .active_lanes()
    .undefined(&[value(When::OtherInvocationInactive)]);
const LANE: Facts = facts(Class::Group(Group::Own), BALLOT);
const CUBE: Facts = facts(Class::Value, GCN);
const TIME: Facts = facts(Class::Clock, GCN);
const SELECTION: Facts = facts(Class::Value, TRINARY);

/// The row of instruction `number` of the set called `set`.
pub(super) fn row(set: &str, number: u32) -> &'static Facts {
    match set {
        BALLOT => match Ballot::from_u32(number) {
            Some(Ballot::SwizzleInvocationsAMD | Ballot::SwizzleInvocationsMaskedAMD) => &SWIZZLE,
            Some(Ballot::WriteInvocationAMD | Ballot::MbcntAMD) => &LANE,
            None => &Facts::UNKNOWN,
        },
        GCN => match Gcn::from_u32(number) {
            Some(Gcn::CubeFaceIndexAMD | Gcn::CubeFaceCoordAMD) => &CUBE,
            Some(Gcn::TimeAMD) => &TIME,
            None => &Facts::UNKNOWN,
        },
        TRINARY => match Trinary::from_u32(number) {
            Some(_) => &SELECTION,
            None => &Facts::UNKNOWN,
        },
        _ => &Facts::UNKNOWN,
    }
}
