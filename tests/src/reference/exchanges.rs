//! Kernels that exchange values inside a workgroup: `mirror(t) = N - 1 - t`,
//! `next(t) = (t + 1) mod N`.

use super::case::{Buffer, BufferName, Case, input, output};
use super::noise::noise;

/// Workgroups of every launch here.
const GROUPS: usize = 3;

/// The values of one workgroup, as an invocation sees them.
struct Group<'s>(&'s [u32]);

impl Group<'_> {
    fn own(&self, t: usize) -> u32 {
        self.0[t]
    }
    fn mirror(&self, t: usize) -> u32 {
        self.0[self.0.len() - 1 - t]
    }
    fn next(&self, t: usize) -> u32 {
        self.0[(t + 1) % self.0.len()]
    }
}

/// A launch of workgroups of `size` invocations that each turn one value of `src` into one value of
/// `dst`.
fn exchange(size: usize, formula: impl Fn(&Group<'_>, usize) -> u32) -> Case {
    let src = noise(GROUPS * size);
    let dst = src
        .chunks(size)
        .flat_map(|values| {
            let group = Group(values);
            (0..size).map(|t| formula(&group, t)).collect::<Vec<_>>()
        })
        .collect();
    Case {
        groups: [GROUPS as u32, 1, 1],
        workgroup_size: [size as u32, 1, 1],
        push_constants: Vec::new(),
        buffers: vec![input(0, "src", src), output(1, "dst", dst)],
    }
}

pub(super) fn arrive_barrier_wait() -> Case {
    exchange(128, |g, t| g.mirror(t).wrapping_add(g.next(t) ^ 0x5a5a))
}

pub(super) fn buffer_exchange() -> Case {
    let mut case = exchange(128, |g, t| {
        g.mirror(t).wrapping_add(g.own(t).wrapping_mul(13))
    });
    let src = case.buffers[0].before.clone();
    case.buffers[1].place = BufferName::Binding(0, 2);
    case.buffers.insert(1, output(1, "scratch", src));
    case
}

pub(super) fn dangling_arrive() -> Case {
    exchange(128, |g, t| g.mirror(t).wrapping_add(g.own(t) >> 3))
}

pub(super) fn odd_workgroup() -> Case {
    exchange(100, |g, t| {
        g.mirror(t)
            .wrapping_add(g.next(t) << 1)
            .wrapping_add(square(g.own(t)))
    })
}

pub(super) fn one_wave() -> Case {
    exchange(32, |g, t| {
        g.mirror(t).wrapping_add(g.own(t).wrapping_mul(9))
    })
}

pub(super) fn opencl_exchange() -> Case {
    let mut case = exchange(64, |g, t| {
        g.mirror(t).wrapping_add(g.own(t).wrapping_mul(3))
    });
    for (index, buffer) in (0..).zip(&mut case.buffers) {
        let buffer: &mut Buffer = buffer;
        buffer.place = BufferName::Argument(index);
    }
    case
}

pub(super) fn relaxed_pair() -> Case {
    exchange(128, |g, t| g.mirror(t).wrapping_add(square(g.own(t))))
}

pub(super) fn subgroup_and_workgroup() -> Case {
    exchange(128, |g, t| {
        let neighbour = g.own(t ^ 1).wrapping_mul(5);
        neighbour
            .wrapping_add(g.mirror(t))
            .wrapping_add(square(g.own(t)))
    })
}

pub(super) fn split_functions() -> Case {
    exchange(128, |g, t| {
        // What the second exchange carries is what the first one brought.
        let second = g.mirror((t + 1) % 128);
        second
            .wrapping_add(g.own(t).wrapping_mul(7))
            .wrapping_add(g.mirror(t).wrapping_mul(11))
    })
}

pub(super) fn uniform_ifs() -> Case {
    let mut case = exchange(128, |g, t| {
        g.mirror(t).wrapping_add(g.own(t).wrapping_mul(5))
    });
    case.push_constants = vec![1];
    case
}

pub(super) fn rotating_buffers() -> Case {
    const TURNS: u32 = 9;
    let mut case = exchange(128, |g, _| g.own(0));
    let src = case.buffers[0].before.clone();
    let mut values: Vec<Vec<u32>> = src.chunks(128).map(<[u32]>::to_vec).collect();
    for turn in 0..TURNS {
        for group in &mut values {
            let before = group.clone();
            for (t, value) in group.iter_mut().enumerate() {
                let next = before[(t + 1) % before.len()];
                *value = next
                    .wrapping_mul(5)
                    .wrapping_add(turn * 7)
                    .wrapping_add(before[t] >> 3);
            }
        }
    }
    case.push_constants = vec![TURNS];
    case.buffers[1].after = Some(values.concat());
    case
}

pub(super) fn spec_size() -> Case {
    const ROUNDS: usize = 3;
    const SCALE: u32 = 17;
    let turned: usize = (1..=ROUNDS).sum();
    let mut case = exchange(64, |g, t| {
        g.own((t + turned) % 64)
            .wrapping_add(SCALE.wrapping_mul(ROUNDS as u32))
    });
    case.push_constants = vec![SCALE];
    case
}

/// The launch of the kernel `volume` with other numbers of workgroups and of invocations.
pub fn volume(groups: [u32; 3], workgroup_size: [u32; 3]) -> Case {
    // The turns move values by 37, 74 and 111.
    const MOVED: usize = 222;
    let [x, y, z] = workgroup_size.map(|n| n as usize);
    let size = x * y * z;
    let count = groups.iter().map(|&n| n as usize).product::<usize>();
    let src = noise(count * size);
    let dst = (0..count * size)
        .map(|at| {
            let t = at % size;
            let place = t % x + 3 * (t / x % y) + 7 * (t / x / y);
            let late = usize::from(t % 3 != 0);
            src[at - t + (t + MOVED) % size].wrapping_add((place * 21 + late) as u32)
        })
        .collect();
    Case {
        groups,
        workgroup_size,
        push_constants: Vec::new(),
        buffers: vec![input(0, "src", src), output(1, "dst", dst)],
    }
}

/// The kernel of the suite `sizes` that evaluates four group votes in workgroups of `size`
/// invocations: the first and the third are true.
pub fn votes(groups: [u32; 3], size: u32) -> Case {
    let count = groups.iter().product::<u32>() * size;
    Case {
        groups,
        workgroup_size: [size, 1, 1],
        push_constants: Vec::new(),
        buffers: vec![Buffer {
            place: BufferName::Argument(0),
            ..output(0, "dst", vec![5; count as usize])
        }],
    }
}

fn square(x: u32) -> u32 {
    x.wrapping_mul(x)
}
