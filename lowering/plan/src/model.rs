//! Steps as programs of the execution model: what is explored is what is lowered.
//!
//! [`system`] makes the waves of an entry point out of its plan and its barrier skeleton;
//! [`Modelled`] makes a protocol of a strategy's steps alone. Fences and scheduling barriers order
//! memory and scheduling, which the model does not have; waves are its threads, so what
//! synchronises the lanes of one wave is nothing here.

use crate::groups::WarpGroups;
use crate::options::FuseAt;
use crate::plan::EntryPlan;
use crate::protocol::{self, Setup};
use crate::step::{AmdgpuStep, NvptxStep, Step, WarpMask};
use crate::strategy::Strategy;
use crate::target::{Arch, Target};
use splitbar_passes::analysis::pairing::{Site, SiteKind};
use splitbar_passes::model::protocol::{FULL, Protocol, SPLIT, Wave};
use splitbar_passes::model::skeleton::Skeleton;
use splitbar_passes::model::{
    Object, Op, Program, Register, Scope as Instance, System, Thread, Value, Word,
};
use splitbar_passes::module::{Scope, WordOffset};
use std::collections::BTreeMap;

/// The mbarrier's parity, the set of named barriers or the counter's target: no entry point has two
/// of them.
const PHASE: Register = Register(0);

/// Whether an arrive is outstanding.
const OUTSTANDING: Register = Register(1);

/// Whether the wave was the first of its workgroup.
const FIRST: Register = Register(2);

/// The counter.
const COUNTER: Word = Word(0);

/// What workgroup memory holds at launch: anything.
const GARBAGE: u8 = 77;

/// The objects that steps use, in the order of their first use.
#[derive(Clone, Debug, Default)]
struct Objects(Vec<Object>);

impl Objects {
    /// The index of `object`, as a value.
    fn index(&mut self, object: Object) -> Value {
        let known = self.0.iter().position(|known| *known == object);
        let index = known.unwrap_or_else(|| {
            self.0.push(object);
            self.0.len() - 1
        });
        u8::try_from(index).unwrap_or(u8::MAX).into()
    }
}

fn arrive(object: Value) -> Op {
    Op::Arrive {
        object,
        expected: None,
    }
}

/// What a full barrier of the workgroup uses.
fn full_barrier(arch: &Arch, waves: u8) -> Object {
    match arch {
        Arch::Amdgpu(_) => Object::workgroup(waves),
        Arch::Nvptx(_) => Object::cta(0, waves),
    }
}

/// Writes steps into the program of one wave.
struct Scribe<'s> {
    arch: &'s Arch,
    objects: &'s mut Objects,
    program: &'s mut Program,
    wave: Wave,
    place: InCluster,
}

/// Which workgroup of a cluster.
#[derive(Copy, Clone, Debug)]
struct InCluster {
    workgroup: u8,
    workgroups: u8,
}

impl InCluster {
    /// The only workgroup.
    const ALONE: InCluster = InCluster {
        workgroup: 0,
        workgroups: 1,
    };
}

impl Scribe<'_> {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: &Step) {
        let waves = self.wave.count;
        // One table: operations of the model for each step, so that a new step has to say its own.
        match step {
            Step::Fence(_)
            | Step::OpenWindow
            | Step::CloseWindow
            | Step::AsyncMark
            | Step::AsyncWait(_)
            | Step::StoreStaged(_) => {}
            Step::Amdgpu(step) => self.amdgpu(step),
            Step::Nvptx(step) => self.nvptx(step),
            Step::ClusterArrive => self.arrive(self.cluster()),
            Step::ClusterWait => self.wait(self.cluster()),
            Step::CounterInit => {
                self.first_wave(Op::Store(COUNTER, 0.into()));
                self.full();
            }
            Step::CounterArrive => {
                let target = Value::affine(waves, 1, PHASE);
                self.program.push(Op::Set(PHASE, target));
                self.program.push(Op::Add {
                    word: COUNTER,
                    value: 1.into(),
                    old: None,
                });
            }
            Step::CounterWait => {
                self.program.push(Op::AwaitReached(COUNTER, PHASE.into()));
            }
            Step::SetOutstanding(open) => {
                let open = u8::from(*open).into();
                self.program.push(Op::Set(OUTSTANDING, open));
            }
            Step::IfFirst(steps) => self.when(FIRST, steps),
            Step::IfOutstanding(steps) => self.when(OUTSTANDING, steps),
        }
    }

    fn amdgpu(&mut self, step: &AmdgpuStep) {
        let waves = self.wave.count;
        match step {
            AmdgpuStep::WaitZero(_) | AmdgpuStep::WaveBarrier | AmdgpuStep::LeaveWindow => {}
            AmdgpuStep::Signal => self.arrive(self.own(Object::workgroup(waves))),
            AmdgpuStep::SignalFirst => {
                let object = self.objects.index(self.own(Object::workgroup(waves)));
                self.program.push(Op::ArriveFirst(object, FIRST));
            }
            AmdgpuStep::WaitSignal => self.wait(self.own(Object::workgroup(waves))),
            AmdgpuStep::WorkgroupBarrier | AmdgpuStep::BareBarrier => self.full(),
            AmdgpuStep::NamedInit => {
                let object = self.objects.index(Object::named(1));
                self.first_wave(Op::Init {
                    object,
                    count: waves,
                });
                self.full();
            }
            AmdgpuStep::NamedJoin => {
                let object = self.objects.index(Object::named(1));
                self.program.push(Op::Join(object));
            }
            AmdgpuStep::NamedArrive => self.arrive(Object::named(1)),
            AmdgpuStep::NamedWait => self.wait(Object::named(1)),
            AmdgpuStep::NamedLeave => {
                let object = self.objects.index(Object::named(1));
                self.program.push(Op::Drop(object));
            }
        }
    }

    fn nvptx(&mut self, step: &NvptxStep) {
        match step {
            NvptxStep::WarpSync(_) | NvptxStep::BulkWait(_) => {}
            NvptxStep::CtaSync | NvptxStep::BulkInit(_) => self.full(),
            NvptxStep::MbarrierInit { copies } => {
                let object = self.objects.index(Object::mbarrier());
                // The copies of a wave's lanes are one arrival here, as their leader is.
                let count = self.wave.count.saturating_mul(1 + u8::from(*copies));
                self.first_wave(Op::Init { object, count });
                self.full();
            }
            // Copies land at any time, but before the phase completes, and nothing keeps them from
            // it: when they come makes no difference to who may pass.
            NvptxStep::CopiesArrive { noinc: true } => self.arrive(Object::mbarrier()),
            // One more arrival is expected, and one more comes.
            NvptxStep::CopiesArrive { noinc: false } => {}
            NvptxStep::MbarrierArrive => self.arrive(Object::mbarrier()),
            NvptxStep::MbarrierWait { try_wait: _ } => {
                let object = self.objects.index(Object::mbarrier());
                let parity = PHASE.into();
                self.program.push(Op::WaitParity { object, parity });
                self.flip();
            }
            NvptxStep::GroupArrive(groups) => {
                let groups = self.explored(*groups);
                let own = u32::from(self.wave.index);
                for step in 1..groups.groups {
                    let object = self.of_group(groups, own + step);
                    self.program.push(arrive(object));
                }
            }
            NvptxStep::GroupSync(groups) => {
                let groups = self.explored(*groups);
                let own = self.of_group(groups, u32::from(self.wave.index));
                self.program.extend([arrive(own), Op::Wait(own)]);
                if groups.sets > 1 {
                    self.flip();
                }
            }
        }
    }

    /// The steps, done only when `register` is 1.
    fn when(&mut self, register: Register, steps: &[Step]) {
        let (arch, objects, wave, place) = (self.arch, &mut *self.objects, self.wave, self.place);
        self.program.when(register, 1, |program| {
            let mut inner = Scribe {
                arch,
                objects,
                program,
                wave,
                place,
            };
            inner.steps(steps);
        });
    }

    /// The object as the wave's own workgroup has it.
    fn own(&self, object: Object) -> Object {
        match self.place.workgroup {
            0 => object,
            workgroup => object.in_scope(Instance::Workgroup(workgroup)),
        }
    }

    /// The barrier of the cluster.
    fn cluster(&self) -> Object {
        let warps = self.wave.count.saturating_mul(self.place.workgroups);
        match self.arch {
            Arch::Amdgpu(_) => Object::cluster(self.place.workgroups),
            Arch::Nvptx(_) if self.place.workgroups > 1 => Object::cta_cluster(warps)
                .in_scope(Instance::Cluster)
                .called("cluster"),
            Arch::Nvptx(_) => Object::cta_cluster(warps),
        }
    }

    fn first_wave(&mut self, op: Op) {
        if self.wave.index == 0 {
            self.program.push(op);
        }
    }

    /// The groups that as many waves as are explored make.
    fn explored(&self, groups: WarpGroups) -> WarpGroups {
        let waves = u32::from(self.wave.count);
        WarpGroups {
            warps: waves,
            groups: if groups.groups == groups.warps {
                waves
            } else {
                groups.groups.min(waves)
            },
            sets: groups.sets,
        }
    }

    /// The barrier of the group of wave `wave`, in the set of this phase.
    fn of_group(&mut self, groups: WarpGroups, wave: u32) -> Value {
        let small = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
        let mut first = None;
        // All of them at once, so that they have neighbouring indices.
        for barrier in 0..groups.barriers() {
            let id = small(WarpGroups::FIRST + barrier);
            let index = self.objects.index(Object::cta(id, self.wave.count));
            first.get_or_insert(index);
        }
        let first = first.and_then(Value::constant).unwrap_or(u8::MAX);
        let group = first.saturating_add(small(wave % groups.groups.max(1)));
        let set = if groups.sets > 1 { groups.groups } else { 0 };
        Value::affine(group, small(set).cast_signed(), PHASE)
    }

    /// The other parity, the other set.
    fn flip(&mut self) {
        let flipped = Value::affine(1, -1, PHASE);
        self.program.push(Op::Set(PHASE, flipped));
    }

    fn arrive(&mut self, object: Object) {
        let object = self.objects.index(object);
        self.program.push(arrive(object));
    }

    fn wait(&mut self, object: Object) {
        let object = self.objects.index(object);
        self.program.push(Op::Wait(object));
    }

    fn full(&mut self) {
        let object = self.own(full_barrier(self.arch, self.wave.count));
        self.arrive(object.clone());
        self.wait(object);
    }
}

fn words() -> Vec<(String, u8)> {
    vec![("counter".to_owned(), GARBAGE)]
}

/// A system of `waves` waves that execute the entry point of `plan` along `skeleton`, whose places
/// are the keys of [`EntryPlan::at_instruction`] and [`EntryPlan::at_return`]. `describe` returns
/// the name of the instruction at a place for traces.
///
/// The promise of arrives and waits of scope Workgroup is [`SPLIT`], that of OpControlBarriers
/// [`FULL`].
pub fn system(
    plan: &EntryPlan,
    arch: &Arch,
    skeleton: &Skeleton,
    waves: u8,
    describe: impl FnMut(WordOffset) -> String,
) -> System {
    cluster(plan, arch, skeleton, 1, waves, describe)
}

/// As [`system`], for a cluster of `workgroups` workgroups of `waves` waves each. With
/// [`Strategy::Cluster`] all of them take part in [`SPLIT`]; nothing is promised of full barriers
/// where there are several workgroups, since each has its own.
pub fn cluster(
    plan: &EntryPlan,
    arch: &Arch,
    skeleton: &Skeleton,
    workgroups: u8,
    waves: u8,
    mut describe: impl FnMut(WordOffset) -> String,
) -> System {
    let sites: BTreeMap<WordOffset, &Site> =
        plan.sites.iter().map(|site| (site.offset, site)).collect();
    let mut objects = Objects::default();
    let mut write = |place: InCluster, index: u8| {
        let wave = Wave {
            index,
            count: waves,
        };
        let mut program = Program::new();
        program.from_here("entry");
        let mut scribe = Scribe {
            arch,
            objects: &mut objects,
            program: &mut program,
            wave,
            place,
        };
        scribe.steps(&plan.at_entry);
        let labels: Vec<_> = skeleton
            .nodes
            .iter()
            .map(|_| scribe.program.label())
            .collect();
        let end = scribe.program.label();
        // The first node is the last one, and each stands before those that follow it: every jump
        // goes forward.
        for (node, label) in skeleton.nodes.iter().zip(&labels).rev() {
            scribe.program.bind(*label);
            for place in &node.places {
                scribe.program.from_here(describe(*place));
                scribe.place(plan, sites.get(place).copied(), *place);
            }
            let next: Vec<_> = node
                .next
                .iter()
                .filter_map(|to| labels.get(*to))
                .copied()
                .collect();
            match next[..] {
                [] => scribe.program.push(Op::Goto(end)),
                [only] => scribe.program.push(Op::Goto(only)),
                [_, _, ..] => scribe.program.push(Op::Choose(next)),
            };
        }
        scribe.program.bind(end);
        scribe.program.from_here("end");
        scribe.steps(&plan.at_end);
        program
    };
    let mut threads = Vec::new();
    for workgroup in 0..workgroups {
        let place = InCluster {
            workgroup,
            workgroups,
        };
        threads.extend((0..waves).map(|index| Thread {
            workgroup,
            program: write(place, index),
        }));
    }
    System {
        objects: objects.0,
        words: words(),
        threads,
    }
}

impl Scribe<'_> {
    /// The steps at one place, with the ghosts that say what is promised there.
    fn place(&mut self, plan: &EntryPlan, site: Option<&Site>, offset: WordOffset) {
        let several = self.place.workgroups > 1;
        let promised = site.filter(|site| {
            site.execution == Some(Scope::Workgroup)
                && !(several && site.kind == SiteKind::ControlBarrier)
        });
        let (before, after) = match promised.map(|site| site.kind) {
            Some(SiteKind::Arrive) => (Some(Op::Arrived(SPLIT)), None),
            Some(SiteKind::Wait) => (None, Some(Op::Waited(SPLIT))),
            Some(SiteKind::ControlBarrier) => (Some(Op::Arrived(FULL)), Some(Op::Waited(FULL))),
            Some(SiteKind::MemoryBarrier) | None => (None, None),
        };
        self.program.extend(before);
        for steps in [
            plan.at_instruction.get(&offset),
            plan.at_return.get(&offset),
        ] {
            self.steps(steps.map_or(&[], Vec::as_slice));
        }
        self.program.extend(after);
    }
}

/// A strategy's steps as a protocol of the model. What the planner adds beside a full barrier is
/// not in it.
#[derive(Copy, Clone, Debug)]
pub struct Modelled {
    /// The strategy, one that the target has.
    pub strategy: Strategy,
    /// The target.
    pub target: &'static Target,
    /// The place of the fused barrier, if there is one.
    pub fuse_at: FuseAt,
}

impl Modelled {
    /// The steps in a workgroup of `waves` waves.
    fn protocol(&self, waves: u8) -> protocol::Protocol {
        self.strategy.protocol(Setup {
            arch: &self.target.arch,
            waves: waves.into(),
            fuse_at: self.fuse_at,
            lanes: WarpMask::Active,
            barrier: protocol::full_barrier(&self.target.arch),
        })
    }

    fn write(
        &self,
        objects: &mut Objects,
        program: &mut Program,
        wave: Wave,
        write: impl FnOnce(&mut Scribe<'_>),
    ) {
        write(&mut Scribe {
            arch: &self.target.arch,
            objects,
            program,
            wave,
            place: InCluster::ALONE,
        });
    }

    /// Writes into `program` with the objects that [`Protocol::objects`] numbers.
    fn steps(&self, program: &mut Program, wave: Wave, steps: &[Step]) {
        let mut objects = Objects(self.objects(wave.count));
        self.write(&mut objects, program, wave, |scribe| scribe.steps(steps));
    }
}

impl Protocol for Modelled {
    fn objects(&self, waves: u8) -> Vec<Object> {
        let mut objects = Objects::default();
        let first = Wave {
            index: 0,
            count: waves,
        };
        let protocol = self.protocol(waves);
        // Written once for the objects' sake: the first wave names them all.
        self.write(&mut objects, &mut Program::new(), first, |scribe| {
            scribe.full();
            scribe.steps(&protocol.at_entry);
            scribe.steps(&protocol.arrive);
            scribe.steps(&protocol.wait);
        });
        objects.0
    }

    fn words(&self) -> Vec<(String, u8)> {
        words()
    }

    fn entry(&self, program: &mut Program, wave: Wave) {
        self.steps(program, wave, &self.protocol(wave.count).at_entry);
    }

    fn arrive(&self, program: &mut Program, wave: Wave) {
        self.steps(program, wave, &self.protocol(wave.count).arrive);
    }

    fn wait(&self, program: &mut Program, wave: Wave) {
        self.steps(program, wave, &self.protocol(wave.count).wait);
    }

    fn full(&self, program: &mut Program, wave: Wave) {
        let mut objects = Objects(self.objects(wave.count));
        self.write(&mut objects, program, wave, |scribe| scribe.full());
    }
}
