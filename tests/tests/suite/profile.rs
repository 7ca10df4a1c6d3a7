//! Clocks around barriers, from the pass through code and simulator to the profile.

use crate::cli;
use crate::support::trial;
use anyhow::Result;
use libtest_mimic::Trial;
use pretty_assertions::assert_eq;
use serde_json::Value;
use splitbar::simulate::machine::{Clocks, Schedule};
use splitbar::simulate::profile::{Measured, dump, empty_buffer, instrument};
use splitbar::simulate::{BufferName, Inputs, Job};
use splitbar::{Options, Target};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Declarations, Module};
use splitbar_passes::profile::{Profile, SiteKind};
use splitbar_tests::tools;
use std::process::Command;

/// Seven phases of one pair in each workgroup, of 128 invocations.
const KERNEL: &str = "reduction";
const GROUPS: u32 = 3;
const PHASES: u32 = 7;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("profile/waves".to_owned(), every_wave_records_every_phase),
        trial("profile/sim".to_owned(), sim_writes_what_profile_reads),
    ]
}

/// The buffer of the profile after a launch on `target`, the launch, and the waves of a workgroup.
fn measure(measured: &Measured, target: &str, clocks: Clocks, index: u32) -> (Vec<u8>, Job, u32) {
    let target = Target::by_name(target).unwrap();
    let output = splitbar::Compiler::new(&Options::new(target))
        .compile(&measured.module)
        .unwrap();
    let waves = 128 / output.entries()[0].plan.wave_size;
    let job = Job::compiled(&output, 0).unwrap();
    let values: Vec<u8> = (0..128 * GROUPS).flat_map(u32::to_le_bytes).collect();
    let buffers = vec![
        (BufferName::Binding(0, 0), values.clone()),
        (BufferName::Binding(0, 1), vec![0; 4 * GROUPS as usize]),
        (BufferName::Binding(0, 2), vec![0; values.len()]),
        (measured.place, empty_buffer(128)),
    ];
    let mut inputs = Inputs::new([GROUPS, 1, 1], buffers);
    inputs.clocks = clocks;
    let outcome = job.run(&inputs, Schedule::nth(index, 1)).unwrap();
    let found = &outcome.report.findings;
    assert!(found.is_empty(), "{}: {}", target.name, found[0]);
    let totals = outcome.buffers[1].as_chunks::<4>().0.iter();
    let total = |group: u32| (128 * group..128 * (group + 1)).sum::<u32>();
    let totals: Vec<u32> = totals.map(|bytes| u32::from_le_bytes(*bytes)).collect();
    assert_eq!(totals, [0, 1, 2].map(total), "the kernel does what it did");
    (outcome.buffers[3].clone(), job, waves)
}

/// Both vendors, with barriers in one piece, split, by mbarrier and by named barriers.
fn every_wave_records_every_phase() -> Result<()> {
    let file = cli::path(KERNEL)?;
    let bytes = std::fs::read(file)?;
    let module = Module::parse(&bytes).unwrap();
    let declarations = Declarations::new(&module, &mut Diagnostics::new());
    let measured = instrument(&bytes).unwrap();
    assert_eq!(measured.place, BufferName::Binding(1, 0));
    for target in ["gfx1201", "gfx1100", "gfx942", "sm_90", "sm_75"] {
        let mut figures = Vec::new();
        for index in 0..4 {
            let (buffer, job, waves) = measure(&measured, target, Clocks::Wave, index);
            let profile = Profile::read(&dump(&buffer, &job).unwrap()).unwrap();
            assert_eq!(profile.gpu.map(|gpu| gpu.name()).as_deref(), Some(target));
            profile.check(&declarations).unwrap();
            assert_eq!(profile.written, GROUPS * waves * PHASES, "{target}");
            let site = &profile.sites[0];
            assert_eq!((profile.sites.len(), site.kind), (1, SiteKind::Split));
            let phases = (site.phases, site.incomplete, site.contradictory);
            assert_eq!(phases, (u64::from(GROUPS * PHASES), 0, 0), "{target}");
            // In the first phase the upper half of the workgroup stores, and the lower does not.
            assert!(site.skew.unwrap().most > 0, "{target}");
            // One wave writes the header too, which one is a matter of the schedule.
            let skew = site.skew.unwrap();
            figures.push((skew.median, skew.ninetieth, site.window));
        }
        let same = figures.iter().all(|one| *one == figures[0]);
        assert!(same, "{target}: the schedule is in {figures:?}");
        // One clock for the machine is one that a GPU could have.
        let (buffer, _, _) = measure(&measured, target, Clocks::Machine, 2);
        let mut profile = Profile::read(&buffer).unwrap();
        assert_eq!(profile.gpu, None, "{target}");
        let site = profile.sites.remove(0);
        let phases = (site.phases, site.incomplete, site.contradictory);
        assert_eq!(phases, (u64::from(GROUPS * PHASES), 0, 0), "{target}");
    }
    Ok(())
}

fn sim_writes_what_profile_reads() -> Result<()> {
    let kernel = cli::path(KERNEL)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("reduction.profile");
    let file = file.to_str().unwrap();
    let program = tools::splitbar()?;
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        let output = command.args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), output.stdout, said)
    };
    let sim = |more: &[&str]| {
        let mut arguments = vec!["sim", &kernel, "--target", "gfx1201", "--groups", "3,1,1"];
        arguments.extend(["--schedules", "1", "--buffer", "0:0=seq:u32:384"]);
        arguments.extend(["--buffer", "0:1=zeros:12", "--buffer", "0:2=zeros:1536"]);
        arguments.extend(["--profile", file]);
        arguments.extend(more);
        run(&arguments)
    };
    let (code, _, said) = sim(&[]);
    assert_eq!(code, Some(0), "{said}");
    let (code, printed, said) = run(&["profile", file, &kernel, "--format", "json"]);
    assert_eq!(code, Some(0), "{said}");
    let profile: Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(profile["sites"][0]["phases"], u64::from(GROUPS * PHASES));
    assert_eq!(profile["target"]["name"], "gfx1201");
    let lower = |target: &str, more: &[&str]| {
        let mut arguments = vec!["lower", &kernel, "--target", target, "--emit", "plan"];
        arguments.extend(["--profile", file]);
        arguments.extend(more);
        run(&arguments)
    };
    for (target, more, code, said) in [
        ("gfx1201", &[][..], 0, ""),
        ("gfx1200", &[], 1, "SB3106"),
        ("gfx1201", &["--wavefront-size", "64"], 1, "SB3106"),
        ("sm_90", &[], 1, "SB3106"),
    ] {
        let (exit, _, why) = lower(target, more);
        assert_eq!(exit, Some(code), "{target}: {why}");
        assert!(why.contains(said) && !why.contains("SB3107"), "{why}");
    }
    let (code, _, said) = sim(&["--profile-records", "8"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("SB3020") && said.contains("room for 8"),
        "{said}"
    );
    Ok(())
}
