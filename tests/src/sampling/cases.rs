//! The cases: a row each.

use super::{Case, Expected, Host, Levels};

/// Numbers that look random.
fn random(lane: usize, index: usize, below: u64) -> u64 {
    let seed = (lane * 4 + index) as u64 + 17;
    (seed.wrapping_mul(6_364_136_223_846_793_005).rotate_left(23)).wrapping_mul(0x9e37_79b9) % below
}

/// Multiples of 1/64 from -2 to 3, so that all shares and sums are exact.
fn anywhere(_: &Case, lane: usize) -> [f32; 4] {
    [0, 1, 2, 3].map(|index| random(lane, index, 320) as f32 / 64.0 - 2.0)
}

/// The same, with a layer from -1 to beyond the last one after the first coordinates.
fn layered(case: &Case, lane: usize) -> [f32; 4] {
    let mut place = anywhere(case, lane);
    let count = usize::from(case.levels.directions);
    place[count] = random(lane, 7, 24) as f32 / 4.0 - 1.0;
    place
}

/// The same, with a level of detail in the last component, multiples of 1/4 from -1 to 5.
fn detailed(case: &Case, lane: usize) -> [f32; 4] {
    let [x, y, z, _] = anywhere(case, lane);
    [x, y, z, random(lane, 5, 25) as f32 / 4.0 - 1.0]
}

/// The same, with a level that is never in the middle between two: of these Vulkan permits both.
fn detailed_apart(case: &Case, lane: usize) -> [f32; 4] {
    let [x, y, z, detail] = detailed(case, lane);
    [x, y, z, detail + 0.125]
}

/// Places that are 1/4 apart from one lane of a row of four to the next, and 1/4 from one row.
fn stepped(_: &Case, lane: usize) -> [f32; 4] {
    [(lane % 8) as f32 / 4.0, (lane / 8) as f32 / 4.0, 0.0, 0.0]
}

/// The same in linear quads: lanes 0 and 1, and 0 and 2, are a step apart.
fn stepped_linear(_: &Case, lane: usize) -> [f32; 4] {
    let (quad, within) = (lane / 4, lane % 4);
    let [x, y] = [2 * (quad % 4) + within % 2, 2 * (quad / 4) + within / 2];
    [x as f32 / 4.0, y as f32 / 4.0, 0.0, 0.0]
}

/// With a divisor of 2 after the coordinates.
fn projected(case: &Case, lane: usize) -> [f32; 4] {
    let [x, y, ..] = anywhere(case, lane);
    [2.0 * x, 2.0 * y, 2.0, 0.0]
}

/// Texels of a plane by number.
fn numbered(case: &Case, lane: usize) -> [f32; 4] {
    let [width, height, layers] = case.extent.map(u64::from);
    let at = [
        random(lane, 0, width),
        random(lane, 1, height),
        random(lane, 2, layers),
    ];
    let sample = random(lane, 3, case.levels.samples.into());
    [at[0] as f32, at[1] as f32, at[2] as f32, sample as f32]
}

/// Face, row, column and cube of the texel whose middle a lane looks at.
fn looked_at(lane: usize) -> (usize, [i64; 2], i64) {
    let texel = [random(lane, 1, 4) as i64, random(lane, 2, 4) as i64];
    (lane % 6, texel, random(lane, 3, 2) as i64)
}

/// The direction of the middle of a texel: Vulkan's table of faces, the other way around.
fn directed(_: &Case, lane: usize) -> [f32; 4] {
    let (face, [x, y], cube) = looked_at(lane);
    let [s, t] = [x, y].map(|at| (2 * at + 1) as f32 / 4.0 - 1.0);
    let [x, y, z] = match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    };
    [2.0 * x, 2.0 * y, 2.0 * z, cube as f32]
}

fn faced(host: &Host<'_>, lane: usize, cubes: bool) -> f32 {
    let (face, [x, y], cube) = looked_at(lane);
    let cube = if cubes { cube } else { 0 };
    host.texel([x, y, 6 * cube + face as i64], 0)
}

/// A texel of one component, as four.
const fn texel(value: f32) -> [f32; 4] {
    [value, 0.0, 0.0, 1.0]
}

fn xyz([x, y, z, _]: [f32; 4]) -> [f32; 3] {
    [x, y, z]
}

const PLANE: Case = Case {
    name: "",
    image: "Dim2D 0 0 0",
    extent: [8, 4, 1],
    levels: Levels {
        count: 1,
        directions: 2,
        samples: 1,
    },
    sampler: "linear,repeat",
    modes: "",
    body: "",
    places: anywhere,
    expected: |_, _, _| [0.0; 4],
    amd_only: None,
};

const fn levels(count: u8, directions: u8) -> Levels {
    Levels {
        count,
        directions,
        samples: 1,
    }
}

const LINEAR: &str = "OpCapability ComputeDerivativeGroupLinearKHR
OpExtension \"SPV_KHR_compute_shader_derivatives\"|OpExecutionMode %main DerivativeGroupLinearKHR";
const LINEAR_LEAST: &str = "OpCapability ComputeDerivativeGroupLinearKHR
OpCapability MinLod
OpExtension \"SPV_KHR_compute_shader_derivatives\"|OpExecutionMode %main DerivativeGroupLinearKHR";
const QUADS: &str = "OpCapability ComputeDerivativeGroupQuadsKHR
OpExtension \"SPV_KHR_compute_shader_derivatives\"|OpExecutionMode %main DerivativeGroupQuadsKHR";

/// A depth reference as wide as the plane's texels, and the comparison with it.
const REFERENCE: &str = "%r = OpConvertUToF %float %x
%d = OpImageSampleDrefExplicitLod %float %s %p2 %r Lod %f0
%value = OpCompositeConstruct %float4 %d %f0 %f0 %f1";

fn holds(host: &Host<'_>, place: [f32; 4], lane: usize, op: fn(f32, f32) -> bool) -> [f32; 4] {
    let of = |texel: f32| f32::from(u8::from(op(lane as f32, texel)));
    let place = [place[0], place[1], 0.0];
    texel(host.filtered(place, 0, 2, [0; 3], of))
}

/// All of them.
#[rustfmt::skip] // a table
pub fn all() -> Vec<Case> {
    let plane = |host: &Host<'_>, [x, y, ..]: [f32; 4], _: usize| texel(host.filtered([x, y, 0.0], 0, 2, [0; 3], |t| t));
    let detail = |host: &Host<'_>, [x, y, _, level]: [f32; 4], _: usize| texel(host.at_detail([x, y, 0.0], level, 2));
    let steps = |host: &Host<'_>, [x, y, ..]: [f32; 4], _: usize| texel(host.at_detail([x, y, 0.0], 1.0, 2));
    let steps_more = |host: &Host<'_>, [x, y, ..]: [f32; 4], _: usize| texel(host.at_detail([x, y, 0.0], 2.0, 2));
    let gather = |host: &Host<'_>, [x, y, ..]: [f32; 4], _: usize| host.around([x, y, 0.0], [[0; 2]; 4])[0];
    let fetch = |host: &Host<'_>, [x, y, z, sample]: [f32; 4], _: usize| texel(host.texel([x as i64, y as i64, z as i64], 0) + 0.25 * sample);
    let mut cases = vec![
        Case { name: "separate", body: "%value = OpImageSampleExplicitLod %float4 %s %p2 Lod %f0", expected: plane, ..PLANE },
        Case { name: "separate_image", body: "%j = OpImage %image_type %s
%s2 = OpSampledImage %combined %j %t
%value = OpImageSampleExplicitLod %float4 %s2 %p2 Lod %f0", expected: plane, ..PLANE },
        Case { name: "projected", places: projected, body: "%value = OpImageSampleProjExplicitLod %float4 %s %p3 Lod %f0",
            expected: |host, [x, y, ..], _| texel(host.filtered([x / 2.0, y / 2.0, 0.0], 0, 2, [0; 3], |t| t)), ..PLANE },
        Case { name: "offset_constant", body: "%value = OpImageSampleExplicitLod %float4 %s %p2 Lod|ConstOffset %f0 %off2",
            expected: |host, [x, y, ..], _| texel(host.filtered([x, y, 0.0], 0, 2, [1, -2, 0], |t| t)), ..PLANE },
        Case { name: "offset_dynamic", sampler: "nearest,mirror", body: "%b = OpBitwiseAnd %uint %x %u4
%bi = OpBitcast %int %b
%o = OpCompositeConstruct %int2 %bi %m2
%value = OpImageSampleExplicitLod %float4 %s %p2 Lod|Offset %f0 %o",
            expected: |host, [x, y, ..], lane| texel(host.filtered([x, y, 0.0], 0, 2, [(lane & 4) as i64, -2, 0], |t| t)), ..PLANE },
        Case { name: "offset_line", image: "Dim1D 0 0 0", extent: [8, 1, 1], levels: levels(1, 1), body: "%value = OpImageSampleExplicitLod %float4 %s %p1 Lod|ConstOffset %f0 %i3",
            expected: |host, [x, ..], _| texel(host.filtered([x, 0.0, 0.0], 0, 1, [3, 0, 0], |t| t)), ..PLANE },
        Case { name: "offset_volume", image: "Dim3D 0 0 0", extent: [4, 8, 2], levels: levels(1, 3), sampler: "linear,edge", body: "%value = OpImageSampleExplicitLod %float4 %s %p3 Lod|ConstOffset %f0 %off3",
            expected: |host, place, _| texel(host.filtered(xyz(place), 0, 3, [1, -2, 1], |t| t)), ..PLANE },
        Case { name: "offset_lines", image: "Dim1D 0 1 0", extent: [8, 3, 1], levels: levels(1, 1), places: layered, body: "%value = OpImageSampleExplicitLod %float4 %s %p2 Lod|ConstOffset %f0 %m2",
            expected: |host, [x, y, ..], _| texel(host.filtered([x, y, 0.0], 0, 1, [-2, 0, 0], |t| t)), ..PLANE },
        Case { name: "offset_planes", image: "Dim2D 0 1 0", extent: [4, 8, 3], places: layered, body: "%value = OpImageSampleExplicitLod %float4 %s %p3 Lod|ConstOffset %f0 %off2",
            expected: |host, place, _| texel(host.filtered(xyz(place), 0, 2, [1, -2, 0], |t| t)), ..PLANE },
        Case { name: "levels_nearest", extent: [8, 8, 1], levels: levels(4, 2), places: detailed_apart, body: "%value = OpImageSampleExplicitLod %float4 %s %p2 Lod %pw", expected: detail, ..PLANE },
        Case { name: "levels_linear", extent: [8, 8, 1], levels: levels(4, 2), places: detailed, sampler: "linear,mirror,mip-linear", body: "%value = OpImageSampleExplicitLod %float4 %s %p2 Lod %pw", expected: detail, ..PLANE },
        Case { name: "levels_of_planes", image: "Dim2D 0 1 0", extent: [8, 4, 3], levels: levels(3, 2), sampler: "nearest,repeat", places: layered, body: "%value = OpImageSampleExplicitLod %float4 %s %p3 Lod %f1",
            expected: |host, place, _| texel(host.filtered(xyz(place), 1, 2, [0; 3], |t| t)), ..PLANE },
        Case { name: "levels_of_volume", image: "Dim3D 0 0 0", extent: [8, 4, 4], levels: levels(3, 3), places: detailed, sampler: "nearest,edge,mip-linear", body: "%value = OpImageSampleExplicitLod %float4 %s %p3 Lod %pw",
            expected: |host, place, _| texel(host.at_detail(xyz(place), place[3], 3)), ..PLANE },
        Case { name: "gradients", extent: [8, 8, 1], levels: levels(4, 2), body: "%value = OpImageSampleExplicitLod %float4 %s %p2 Grad %x4 %y2", expected: steps, ..PLANE },
        Case { name: "gradients_least", extent: [8, 8, 1], levels: levels(4, 2), modes: "OpCapability MinLod|", body: "%value = OpImageSampleExplicitLod %float4 %s %p2 Grad|MinLod %x4 %y2 %f2", expected: steps_more,
            amd_only: Some("with a least level of detail"), ..PLANE },
        Case { name: "gradients_offset", extent: [8, 8, 1], levels: levels(1, 2), body: "%value = OpImageSampleExplicitLod %float4 %s %p2 Grad|ConstOffset %x4 %y2 %off2",
            expected: |host, [x, y, ..], _| texel(host.filtered([x, y, 0.0], 0, 2, [1, -2, 0], |t| t)), ..PLANE },
        Case { name: "implicit_linear", extent: [8, 8, 1], levels: levels(4, 2), modes: LINEAR, places: stepped_linear, body: "%value = OpImageSampleImplicitLod %float4 %s %p2", expected: steps, ..PLANE },
        Case { name: "implicit_quads", extent: [8, 8, 1], levels: levels(4, 2), modes: QUADS, places: stepped, body: "%value = OpImageSampleImplicitLod %float4 %s %p2", expected: steps, ..PLANE },
        Case { name: "implicit_bias", extent: [8, 8, 1], levels: levels(4, 2), modes: LINEAR, places: stepped_linear, body: "%value = OpImageSampleImplicitLod %float4 %s %p2 Bias %f1", expected: steps_more, ..PLANE },
        Case { name: "implicit_least", extent: [8, 8, 1], levels: levels(4, 2), modes: LINEAR_LEAST, places: stepped_linear, body: "%value = OpImageSampleImplicitLod %float4 %s %p2 MinLod %f2", expected: steps_more,
            amd_only: Some("with a least level of detail"), ..PLANE },
        Case { name: "query_level", extent: [8, 8, 1], levels: levels(3, 2), modes: LINEAR, places: |case, lane| stepped_linear(case, lane).map(|at| at * 8.0), body: "%l = OpImageQueryLod %float2 %s %p2
%value = OpVectorShuffle %float4 %l %l 0 1 0 1", expected: |_, _, _| [2.0, 4.0, 2.0, 4.0], amd_only: Some("OpImageQueryLod"), ..PLANE },
        Case { name: "gather_offset", body: "%value = OpImageGather %float4 %s %p2 %i0 ConstOffset %off2",
            expected: |host, [x, y, ..], _| host.around([x, y, 0.0], [[1, -2]; 4])[0], ..PLANE },
        Case { name: "gather_offsets", sampler: "nearest,border", body: "%value = OpImageGather %float4 %s %p2 %i0 ConstOffsets %offs",
            expected: |host, [x, y, ..], _| host.around([x, y, 0.0], [[0, 0], [1, -2], [-2, 1], [3, 3]]).map(|four| four[3]), ..PLANE },
        Case { name: "gather_planes", image: "Dim2D 0 1 0", extent: [4, 8, 3], places: layered, body: "%value = OpImageGather %float4 %s %p3 %i0",
            expected: |host, place, _| host.around(xyz(place), [[0; 2]; 4])[0], ..PLANE },
        Case { name: "gather_first", body: "%value = OpImageGather %float4 %s %p2 %i0", expected: gather, ..PLANE },
        Case { name: "gather_second", body: "%value = OpImageGather %float4 %s %p2 %i1", expected: |_, _, _| [0.0; 4], ..PLANE },
        Case { name: "gather_fourth", body: "%value = OpImageGather %float4 %s %p2 %i3", expected: |_, _, _| [1.0; 4], ..PLANE },
        Case { name: "gather_depths", sampler: "linear,repeat,greater", body: "%r = OpConvertUToF %float %x
%value = OpImageDrefGather %float4 %s %p2 %r",
            expected: |host, [x, y, ..], lane| host.around([x, y, 0.0], [[0; 2]; 4])[0].map(|t| f32::from(u8::from(lane as f32 > t))), ..PLANE },
        Case { name: "compare_offset", sampler: "nearest,edge,less", body: "%r = OpConvertUToF %float %x
%d = OpImageSampleDrefExplicitLod %float %s %p2 %r Lod|ConstOffset %f0 %off2
%value = OpCompositeConstruct %float4 %d %f0 %f0 %f1",
            expected: |host, [x, y, ..], lane| texel(host.filtered([x, y, 0.0], 0, 2, [1, -2, 0], |t| f32::from(u8::from((lane as f32) < t)))), ..PLANE },
        Case { name: "compare_implicit", extent: [8, 8, 1], levels: levels(4, 2), modes: LINEAR, places: stepped_linear, sampler: "nearest,repeat,less", body: "%d = OpImageSampleDrefImplicitLod %float %s %p2 %f2
%value = OpCompositeConstruct %float4 %d %f0 %f0 %f1", expected: |_, _, _| texel(1.0), ..PLANE },
        Case { name: "compare_cube", image: "DimCube 0 0 0", extent: [4, 4, 6], places: directed, sampler: "nearest,edge,greater-equal", body: "%r = OpConvertUToF %float %x
%d = OpImageSampleDrefExplicitLod %float %s %p3 %r Lod %f0
%value = OpCompositeConstruct %float4 %d %f0 %f0 %f1", expected: |host, _, lane| texel(f32::from(u8::from(lane as f32 >= faced(host, lane, false)))), ..PLANE },
        Case { name: "cube_nearest", image: "DimCube 0 0 0", extent: [4, 4, 6], places: directed, sampler: "nearest,edge", body: "%value = OpImageSampleExplicitLod %float4 %s %p3 Lod %f0",
            expected: |host, _, lane| texel(faced(host, lane, false)), ..PLANE },
        Case { name: "cube_linear", image: "DimCube 0 0 0", extent: [4, 4, 6], places: directed, sampler: "linear,edge", body: "%value = OpImageSampleExplicitLod %float4 %s %p3 Lod %f0",
            expected: |host, _, lane| texel(faced(host, lane, false)), ..PLANE },
        Case { name: "cube_gradients", image: "DimCube 0 0 0", extent: [4, 4, 6], places: directed, sampler: "nearest,edge", body: "%n = OpCompositeConstruct %float3 %f0 %f0 %f0
%value = OpImageSampleExplicitLod %float4 %s %p3 Grad %n %n", expected: |host, _, lane| texel(faced(host, lane, false)), ..PLANE },
        Case { name: "cubes", modes: "OpCapability SampledCubeArray|", image: "DimCube 0 1 0", extent: [4, 4, 12], places: directed, sampler: "linear,edge", body: "%value = OpImageSampleExplicitLod %float4 %s %p Lod %f0",
            expected: |host, _, lane| texel(faced(host, lane, true)), ..PLANE },
        Case { name: "sizes", extent: [8, 4, 1], levels: levels(3, 2), body: "%lv = OpBitwiseAnd %uint %x %u1
%z = OpImageQuerySizeLod %int2 %i %lv
%zx = OpCompositeExtract %int %z 0
%zy = OpCompositeExtract %int %z 1
%n = OpImageQueryLevels %int %i
%a = OpConvertSToF %float %zx
%b = OpConvertSToF %float %zy
%c = OpConvertSToF %float %n
%value = OpCompositeConstruct %float4 %a %b %c %f0", expected: |host, _, lane| {
                let [x, y, _] = host.extent(lane as u32 & 1);
                [x as f32, y as f32, 3.0, 0.0]
            }, ..PLANE },
        Case { name: "fetch_level", extent: [8, 4, 1], levels: levels(3, 2), body: "%lv = OpBitwiseAnd %uint %x %u1
%at = OpCompositeConstruct %int2 %i1 %i0
%value = OpImageFetch %float4 %i %at Lod %lv", expected: |host, _, lane| texel(host.texel([1, 0, 0], lane as u32 & 1)), ..PLANE },
        Case { name: "samples", image: "Dim2D 0 0 1", levels: Levels { samples: 4, ..levels(1, 2) }, places: numbered, body: "%at = OpConvertFToS %int2 %p2
%n = OpConvertFToS %int %pw
%value = OpImageFetch %float4 %i %at Sample %n", expected: fetch, ..PLANE },
        Case { name: "samples_of_planes", image: "Dim2D 0 1 1", extent: [8, 4, 3], levels: Levels { samples: 2, ..levels(1, 2) }, places: numbered, body: "%at = OpConvertFToS %int3 %p3
%n = OpConvertFToS %int %pw
%value = OpImageFetch %float4 %i %at Sample %n", expected: fetch, ..PLANE },
    ];
    let compares: [(&str, &str, Expected); 8] = [
        ("compare_never", "linear,repeat,never", |host, place, lane| holds(host, place, lane, |_, _| false)),
        ("compare_less", "linear,repeat,less", |host, place, lane| holds(host, place, lane, |a, b| a < b)),
        ("compare_equal", "nearest,repeat,equal", |host, place, lane| holds(host, place, lane, |a, b| a == b)),
        ("compare_less_equal", "linear,repeat,less-equal", |host, place, lane| holds(host, place, lane, |a, b| a <= b)),
        ("compare_greater", "nearest,repeat,greater", |host, place, lane| holds(host, place, lane, |a, b| a > b)),
        ("compare_not_equal", "linear,repeat,not-equal", |host, place, lane| holds(host, place, lane, |a, b| a != b)),
        ("compare_greater_equal", "linear,repeat,greater-equal", |host, place, lane| holds(host, place, lane, |a, b| a >= b)),
        ("compare_always", "linear,repeat,always", |host, place, lane| holds(host, place, lane, |_, _| true)),
    ];
    for (name, sampler, expected) in compares {
        cases.push(Case { name, sampler, body: REFERENCE, expected, ..PLANE });
    }
    cases
}
