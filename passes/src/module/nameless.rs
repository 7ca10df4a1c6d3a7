//! Opcodes that neither `rspirv` nor `spirv` names, from the extensions
//! SPV_EXT_ocp_microscaling_types, SPV_INTEL_joint_matrix, SPV_INTEL_predicated_io and
//! SPV_VALVE_mixed_float_dot_product.

/// OpBitcastExtractEXT.
pub const BITCAST_EXTRACT: u16 = 4195;
/// OpCooperativeMatrixLoadCheckedINTEL.
pub const LOAD_CHECKED: u16 = 6193;
/// OpCooperativeMatrixStoreCheckedINTEL.
pub const STORE_CHECKED: u16 = 6194;
/// OpCooperativeMatrixConstructCheckedINTEL.
pub const CONSTRUCT_CHECKED: u16 = 6195;
/// The capability CooperativeMatrixCheckedInstructionsINTEL.
pub const CHECKED_CAPABILITY: u32 = 6192;
/// The capability CooperativeMatrixPrefetchINTEL.
pub const PREFETCH_CAPABILITY: u32 = 6411;
/// The capability PackedCooperativeMatrixINTEL.
pub const PACKED_CAPABILITY: u32 = 6434;
/// The capability CooperativeMatrixInvocationInstructionsINTEL.
pub const INVOCATION_CAPABILITY: u32 = 6435;
/// The capability CooperativeMatrixTF32ComponentTypeINTEL.
pub const TF32_CAPABILITY: u32 = 6436;
/// The capability CooperativeMatrixBFloat16ComponentTypeINTEL.
pub const BFLOAT16_CAPABILITY: u32 = 6437;
/// The capability PredicatedIOINTEL.
pub const PREDICATED_CAPABILITY: u32 = 6257;
/// OpPredicatedLoadINTEL.
pub const PREDICATED_LOAD: u16 = 6258;
/// OpPredicatedStoreINTEL.
pub const PREDICATED_STORE: u16 = 6259;
/// OpCooperativeMatrixGetElementCoordINTEL.
pub const GET_ELEMENT_COORD: u16 = 6440;
/// OpCooperativeMatrixApplyFunctionINTEL.
pub const APPLY_FUNCTION: u16 = 6448;
/// OpCooperativeMatrixPrefetchINTEL.
pub const PREFETCH: u16 = 6449;
/// OpFDot2MixAcc32VALVE.
pub const DOT2_MIX_ACC32: u16 = 6916;
/// OpFDot2MixAcc16VALVE.
pub const DOT2_MIX_ACC16: u16 = 6917;
/// OpFDot4MixAcc32VALVE.
pub const DOT4_MIX_ACC32: u16 = 6918;
