//! Barrier objects: what one is before any thread has run, and the instances that the hardware has.

use std::fmt;

/// The scope that an object exists in; only threads of the same instance of the scope may operate
/// on it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// One workgroup, by its number within the cluster.
    Workgroup(u8),
    /// All workgroups of a cluster.
    Cluster,
}

impl Scope {
    /// Returns true if a thread of workgroup `workgroup` belongs to this instance of the scope.
    pub fn holds(self, workgroup: u8) -> bool {
        match self {
            Scope::Workgroup(own) => own == workgroup,
            Scope::Cluster => true,
        }
    }
}

/// A barrier object as it is at launch.
///
/// A *thread* of the model is whoever arrives as one: a wave or a warp where the instruction counts
/// waves, as `s_barrier`, `bar.sync` and an elected arrival on an mbarrier do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name in traces.
    pub name: String,
    /// The scope in which it exists.
    pub scope: Scope,
    /// The expected count that the launch gives it; `None` when an init has to.
    pub initial: Option<u8>,
    /// True if the launch joins every thread of the scope to it.
    pub joined: bool,
    /// True if a thread that ends drops it if it is joined.
    pub dropped_at_end: bool,
    /// True if it is mutually exclusive with every other object that is marked so: a thread is
    /// joined to one of them at a time.
    pub exclusive: bool,
    /// True if every operation on it but join does nothing.
    pub null: bool,
    /// True if the threads may only end with none of its arrivals left over.
    pub complete_at_end: bool,
}

impl Object {
    fn of_workgroup(name: String) -> Object {
        Object {
            name,
            scope: Scope::Workgroup(0),
            initial: None,
            joined: false,
            dropped_at_end: false,
            exclusive: false,
            null: false,
            complete_at_end: false,
        }
    }

    /// The workgroup barrier of AMDGPU (id -1, and the one that `s_barrier` uses before gfx12) in a
    /// workgroup of `waves` waves.
    pub fn workgroup(waves: u8) -> Object {
        Object {
            initial: Some(waves),
            joined: true,
            dropped_at_end: true,
            ..Object::of_workgroup("workgroup barrier".to_owned())
        }
    }

    /// The user's cluster barrier of AMDGPU gfx12.5 (id -3) in a cluster of `workgroups`
    /// workgroups: one wave of each arrives.
    pub fn cluster(workgroups: u8) -> Object {
        Object {
            scope: Scope::Cluster,
            initial: Some(workgroups),
            joined: true,
            // A wave that ends drops a count that only one wave per workgroup arrives on; the guide
            // leaves open how that adds up, so ends are not counted.
            dropped_at_end: false,
            ..Object::of_workgroup("cluster barrier".to_owned())
        }
    }

    /// Named barrier `id` (1 to 16) of AMDGPU gfx12.5.
    pub fn named(id: u8) -> Object {
        Object {
            exclusive: true,
            ..Object::of_workgroup(format!("named barrier {id}"))
        }
    }

    /// The NULL named barrier of AMDGPU gfx12.5 (id 0): joining it leaves whichever named barrier
    /// was joined.
    pub fn null() -> Object {
        Object {
            initial: Some(1),
            exclusive: true,
            null: true,
            ..Object::of_workgroup("NULL named barrier".to_owned())
        }
    }

    /// CTA barrier `id` (0 to 15) of PTX with a thread count of `warps` warps, as `bar.sync` and
    /// `bar.arrive` use it: a sync is an arrive and a wait for the generation that it arrived in
    /// (PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier"). PTX has
    /// no meaning for a CTA that ends with some of the arrivals, so none may.
    pub fn cta(id: u8, warps: u8) -> Object {
        Object {
            initial: Some(warps),
            joined: true,
            complete_at_end: true,
            ..Object::of_workgroup(format!("bar {id}"))
        }
    }

    /// The barrier of a PTX cluster of one CTA (`barrier.cluster`), in warps.
    pub fn cta_cluster(warps: u8) -> Object {
        Object {
            initial: Some(warps),
            joined: true,
            ..Object::of_workgroup("cluster of one".to_owned())
        }
    }

    /// An mbarrier in shared memory (PTX ISA, "mbarrier"): an init gives it its count, whoever can
    /// read it may wait.
    pub fn mbarrier() -> Object {
        Object {
            joined: true,
            ..Object::of_workgroup("mbarrier".to_owned())
        }
    }

    /// The same object under another name.
    #[must_use]
    pub fn called(mut self, name: impl Into<String>) -> Object {
        self.name = name.into();
        self
    }

    /// The same object in another scope.
    #[must_use]
    pub fn in_scope(mut self, scope: Scope) -> Object {
        self.scope = scope;
        self
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
