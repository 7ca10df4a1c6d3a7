//! The workgroups of a cluster, whose waves share the cluster's barrier; a workgroup alone, where
//! there are no clusters.

use crate::barrier::{Barrier, Name};
use crate::context::Group;

/// The workgroups of one cluster.
pub(crate) struct Cluster {
    groups: Vec<Group>,
    /// Waves of each.
    waves: usize,
    /// The cluster's barrier object, while no step is done; a workgroup that is alone keeps its
    /// own.
    barrier: Option<Barrier>,
}

impl Cluster {
    /// The workgroups as one cluster. What the program made in each for the cluster's barrier is
    /// that workgroup's share of it.
    pub(crate) fn new(groups: Vec<Group>, waves: u16) -> Cluster {
        let mut cluster = Cluster {
            groups,
            waves: waves.into(),
            barrier: None,
        };
        if cluster.groups.len() > 1 {
            let groups = cluster.groups.iter_mut();
            let shares = groups.filter_map(|group| group.barriers.remove(Name::Cluster));
            cluster.barrier = shares.reduce(|mut cluster, share| {
                cluster.expect(cluster.expected() + share.expected());
                cluster
            });
        }
        cluster
    }

    /// How many workgroups there are.
    pub(crate) fn groups(&self) -> u32 {
        self.groups.len() as u32
    }

    /// The workgroup of a wave, and the wave's number in it.
    pub(crate) fn place_of(&self, wave: usize) -> (usize, u16) {
        let waves = self.waves.max(1);
        (wave / waves, (wave % waves) as u16)
    }

    /// The number of a wave's workgroup in the launch.
    pub(crate) fn index_of(&self, wave: usize) -> u32 {
        let group = self.groups.get(self.place_of(wave).0);
        group.map_or(0, |group| group.index)
    }

    /// A wave, for people.
    pub(crate) fn name_of(&self, wave: usize) -> String {
        let (_, in_group) = self.place_of(wave);
        match self.groups.len() {
            1 => format!("wave {in_group}"),
            _ => format!("wave {in_group} of workgroup {}", self.index_of(wave)),
        }
    }

    /// A barrier object as a wave sees it.
    pub(crate) fn barrier(&self, wave: usize, name: Name) -> Option<&Barrier> {
        let group = self.groups.get(self.place_of(wave).0)?;
        match name {
            Name::Cluster => self.barrier.as_ref(),
            _ => None,
        }
        .or_else(|| group.barriers.get(name))
    }

    /// Grows whenever a barrier object of any of the workgroups changes.
    pub(crate) fn events(&self) -> u64 {
        self.groups.iter().map(|group| group.events).sum()
    }

    /// Does something with the workgroup of a wave, which has the cluster's barrier for that time.
    pub(crate) fn with<T>(
        &mut self,
        wave: usize,
        act: impl FnOnce(&mut Group, u16) -> T,
    ) -> Option<T> {
        let (group, in_group) = self.place_of(wave);
        let group = self.groups.get_mut(group)?;
        let Some(barrier) = self.barrier.take() else {
            return Some(act(group, in_group)); // a workgroup without a cluster
        };
        group.barriers.put(Name::Cluster, barrier);
        let result = act(group, in_group);
        self.barrier = group.barriers.remove(Name::Cluster);
        Some(result)
    }
}
