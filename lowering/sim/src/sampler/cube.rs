//! Faces of cubes: which one a direction meets, where, and what lies around its edges (Vulkan,
//! "Cube Map Face Selection and Transformations" and "Cube Map Edge Handling").

/// A face and a place on it, from 0 to 1, with its gradients.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct OnFace {
    pub(crate) face: u32,
    pub(crate) at: [f32; 2],
    pub(crate) gradients: [[f32; 2]; 2],
}

/// The components along the axis and across it, by face: of `[x, y, z]` which one, and its sign.
const FACES: [[(usize, f64); 3]; 6] = [
    [(2, -1.0), (1, -1.0), (0, 1.0)],
    [(2, 1.0), (1, -1.0), (0, -1.0)],
    [(0, 1.0), (2, 1.0), (1, 1.0)],
    [(0, 1.0), (2, -1.0), (1, -1.0)],
    [(0, 1.0), (1, -1.0), (2, 1.0)],
    [(0, -1.0), (1, -1.0), (2, -1.0)],
];

/// The face that the direction `at` meets. Where two components are as large, the later one
/// decides.
pub(crate) fn number(at: [f32; 3]) -> u32 {
    let [x, y, z] = at.map(f32::abs);
    let axis = if z >= x && z >= y {
        2
    } else if y >= x {
        1
    } else {
        0
    };
    2 * axis as u32 + u32::from(at[axis] < 0.0)
}

/// Along the axis of the face, and across it: s, t, and the axis.
pub(crate) fn components(face: u32, at: [f32; 3]) -> [f32; 3] {
    let face = FACES.get(face as usize).copied().unwrap_or(FACES[0]);
    face.map(|(component, sign)| (f64::from(at[component]) * sign) as f32)
}

/// The direction `at`, with two gradients, on its face.
pub(crate) fn face_of(at: [f32; 3], gradients: [[f32; 3]; 2]) -> OnFace {
    let face = number(at);
    let [s, t, axis] = components(face, at).map(f64::from);
    let gradients = gradients.map(|gradient| {
        let [ds, dt, da] = components(face, gradient).map(f64::from);
        let on_face = |d: f64, place: f64| ((d - place / axis * da) / axis / 2.0) as f32;
        [on_face(ds, s), on_face(dt, t)]
    });
    let at = [s, t].map(|place| (place / axis / 2.0 + 0.5) as f32);
    OnFace {
        face,
        at,
        gradients,
    }
}

/// The texel of the face `face` of `size` texels at `at`, one of which may lie one texel outside:
/// face and place of the one around the edge. `None`: both lie outside, at a corner where three
/// faces meet.
pub(super) fn around_edges(face: u32, at: [i64; 2], size: i64) -> Option<(u32, [i64; 2])> {
    let outside = at.map(|at| !(0..size).contains(&at));
    match outside {
        [false, false] => return Some((face, at)),
        [true, true] => return None,
        _ => {}
    }
    // The middle of the texel, seen from the middle of the cube.
    let place = at.map(|at| (2 * at + 1) as f64 / size as f64 - 1.0);
    let mut direction = [0.0; 3];
    let rows = FACES.get(face as usize).copied().unwrap_or(FACES[0]);
    for ((component, sign), value) in rows.into_iter().zip([place[0], place[1], 1.0]) {
        direction[component] = (value * sign) as f32;
    }
    let found = face_of(direction, [[0.0; 3]; 2]);
    let texel = found
        .at
        .map(|at| ((f64::from(at) * size as f64) as i64).clamp(0, size - 1));
    Some((found.face, texel))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_are_those_of_the_largest_component() {
        for (at, face, place) in [
            ([2.0, 1.0, 0.0], 0, [0.5, 0.25]),
            ([-2.0, 0.0, 1.0], 1, [0.75, 0.5]),
            ([1.0, 2.0, -1.0], 2, [0.75, 0.25]),
            ([1.0, -2.0, 1.0], 3, [0.75, 0.25]),
            ([1.0, 1.0, 1.0], 4, [1.0, 0.0]),
            ([1.0, 0.0, -2.0], 5, [0.25, 0.5]),
        ] {
            let found = face_of(at, [[0.0; 3]; 2]);
            assert_eq!((found.face, found.at), (face, place), "{at:?}");
        }
    }

    #[test]
    fn edges_join_texels_both_ways() {
        for size in [1i64, 2, 5, 8] {
            for face in 0..6 {
                for along in 0..size {
                    for at in [[-1, along], [size, along], [along, -1], [along, size]] {
                        let (other, there) = around_edges(face, at, size).unwrap_or((9, [0; 2]));
                        assert!(other < 6 && other / 2 != face / 2, "{face} {at:?}");
                        // One of the neighbours over there is the texel where we came from.
                        let inside = at.map(|at| at.clamp(0, size - 1));
                        let steps = [[-1, 0], [1, 0], [0, -1], [0, 1]];
                        let back = steps.iter().any(|[x, y]| {
                            let beside = [there[0] + x, there[1] + y];
                            around_edges(other, beside, size) == Some((face, inside))
                        });
                        assert!(back, "face {face} at {at:?} of {size}: {other} {there:?}");
                    }
                }
            }
        }
        assert_eq!(around_edges(0, [-1, 8], 8), None);
    }
}
