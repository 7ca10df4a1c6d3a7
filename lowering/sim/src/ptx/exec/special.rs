//! Special registers: what a warp knows of itself when it starts (PTX ISA, "Special Registers").

use crate::lane::Lane;
use crate::program::WaveStart;

/// A special register whose value never changes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// `%tid`, in a dimension.
    Thread(u8),
    /// `%ntid`
    Threads(u8),
    /// `%ctaid`
    Group(u8),
    /// `%nctaid`
    Groups(u8),
    /// `%clusterid`
    Cluster(u8),
    /// `%nclusterid`
    Clusters(u8),
    /// `%cluster_ctaid`
    InCluster(u8),
    /// `%cluster_nctaid`
    OfCluster(u8),
    /// `%cluster_ctarank`
    Rank,
    /// `%cluster_nctarank`
    Ranks,
    /// `%is_explicit_cluster`
    Explicit,
    /// `%laneid`
    Lane,
    /// `%warpid`
    Warp,
    /// `%nwarpid`
    Warps,
    /// `%lanemask_eq` and its like.
    Mask(Comparison),
    /// A number that is the same everywhere.
    Number(u32),
}

/// Which lanes a `%lanemask` names, compared with the own one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// `_eq`
    Equal,
    /// `_le`
    LessOrEqual,
    /// `_lt`
    Less,
    /// `_ge`
    GreaterOrEqual,
    /// `_gt`
    Greater,
}

const NAMES: &[(&str, Special)] = &[
    ("%laneid", Special::Lane),
    ("%warpid", Special::Warp),
    ("%nwarpid", Special::Warps),
    ("%lanemask_eq", Special::Mask(Comparison::Equal)),
    ("%lanemask_le", Special::Mask(Comparison::LessOrEqual)),
    ("%lanemask_lt", Special::Mask(Comparison::Less)),
    ("%lanemask_ge", Special::Mask(Comparison::GreaterOrEqual)),
    ("%lanemask_gt", Special::Mask(Comparison::Greater)),
    ("%smid", Special::Number(0)),
    ("%nsmid", Special::Number(1)),
    ("%gridid", Special::Number(0)),
    ("%cluster_ctarank", Special::Rank),
    ("%cluster_nctarank", Special::Ranks),
    ("%is_explicit_cluster", Special::Explicit),
];

/// Registers of three dimensions: name, and what makes one of them.
type Vector = (&'static str, fn(u8) -> Special);

const VECTORS: &[Vector] = &[
    ("%tid", Special::Thread),
    ("%ntid", Special::Threads),
    ("%ctaid", Special::Group),
    ("%nctaid", Special::Groups),
    ("%clusterid", Special::Cluster),
    ("%nclusterid", Special::Clusters),
    ("%cluster_ctaid", Special::InCluster),
    ("%cluster_nctaid", Special::OfCluster),
];

impl Special {
    /// The register of this name.
    pub(crate) fn named(name: &str) -> Option<Special> {
        if let Some((_, special)) = NAMES.iter().find(|(n, _)| *n == name) {
            return Some(*special);
        }
        let (vector, dimension) = name.rsplit_once('.')?;
        let dimension = ["x", "y", "z"].iter().position(|d| *d == dimension)? as u8;
        VECTORS
            .iter()
            .find(|(n, _)| *n == vector)
            .map(|(_, make)| make(dimension))
    }

    /// Its value in each lane.
    pub(crate) fn lanes(self, start: &WaveStart) -> [u64; 32] {
        std::array::from_fn(|lane| self.of(start, Lane::new(lane as u32)).into())
    }

    fn of(self, start: &WaveStart, lane: Lane) -> u32 {
        let lane = lane.number();
        let [x, y, _] = start.workgroup_size;
        let thread = start.first + lane;
        let at = |of: [u32; 3], dimension: u8| of[usize::from(dimension)];
        let cluster = start.cluster.map(|n| n.max(1));
        let place: [u32; 3] = std::array::from_fn(|axis| start.group[axis] % cluster[axis]);
        match self {
            Special::Thread(d) => {
                let (x, y) = (x.max(1), y.max(1));
                at([thread % x, thread / x % y, thread / x / y], d)
            }
            Special::Threads(d) => at(start.workgroup_size, d),
            Special::Group(d) => at(start.group, d),
            Special::Groups(d) => at(start.groups, d),
            Special::Cluster(d) => at(start.group, d) / at(cluster, d).max(1),
            Special::Clusters(d) => at(start.groups, d).div_ceil(at(cluster, d).max(1)),
            Special::InCluster(d) => at(place, d),
            Special::OfCluster(d) => at(cluster, d),
            Special::Rank => (place[2] * cluster[1] + place[1]) * cluster[0] + place[0],
            Special::Ranks => cluster.iter().product(),
            Special::Explicit => u32::from(cluster != [1; 3]),
            Special::Lane => lane,
            Special::Warp => start.wave.into(),
            Special::Warps => start.waves.into(),
            Special::Mask(comparison) => {
                let own = 1u32 << (lane & 31);
                match comparison {
                    Comparison::Equal => own,
                    Comparison::LessOrEqual => own | (own - 1),
                    Comparison::Less => own - 1,
                    Comparison::GreaterOrEqual => !(own - 1),
                    Comparison::Greater => !(own | (own - 1)),
                }
            }
            Special::Number(number) => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_numbered_with_x_first() {
        let start = WaveStart {
            group: [1, 2, 3],
            groups: [4, 5, 6],
            cluster: [2, 1, 3],
            workgroup_size: [16, 4, 2],
            wave: 2,
            waves: 4,
            first: 64,
            lanes: 32,
            noise: 0,
        };
        let value = |name: &str, lane: usize| Special::named(name).map(|s| s.lanes(&start)[lane]);
        assert_eq!(
            ["%tid.x", "%tid.y", "%tid.z"].map(|n| value(n, 17)),
            [Some(1), Some(1), Some(1)]
        );
        assert_eq!(value("%ctaid.z", 0), Some(3));
        assert_eq!(value("%clusterid.z", 0), Some(1));
        assert_eq!(value("%cluster_ctaid.x", 0), Some(1));
        assert_eq!(value("%cluster_ctarank", 0), Some(1));
        assert_eq!(value("%cluster_nctarank", 0), Some(6));
        assert_eq!(value("%nclusterid.x", 0), Some(2));
        assert_eq!(value("%lanemask_lt", 5), Some(0x1f));
        assert_eq!(value("%lanemask_ge", 31), Some(1 << 31));
        assert_eq!(value("%nothing.x", 0), None);
    }
}
