//! A bundle on the simulator: the work of `cargo xtask gpu`, without a GPU.
#![allow(clippy::unwrap_used, clippy::panic)]

use splitbar_gpu::break_even;
use splitbar_gpu::bundle::Bundle;
use splitbar_gpu::check::{self, Outcome};
use splitbar_gpu::compile::{self, Selection};
use splitbar_gpu::device::Device;
use splitbar_gpu::simulated::Simulated;
use splitbar_gpu::timing::{self, Choices};
use splitbar_sim::Schedule;
use splitbar_target::Target;
use splitbar_tests::tools;
use std::process::Command;

fn bundle(folder: &tempfile::TempDir, kernels: &[&str], targets: &[&str]) -> Bundle {
    compiled(folder, kernels, targets, &[])
}

fn compiled(
    folder: &tempfile::TempDir,
    kernels: &[&str],
    targets: &[&str],
    points: &[(u32, u32)],
) -> Bundle {
    let selection = Selection {
        tool: tools::splitbar().unwrap(),
        kernels: Some(kernels.iter().map(|name| (*name).to_owned()).collect()),
        targets: targets.iter().map(|name| (*name).to_owned()).collect(),
        points: points.to_vec(),
    };
    let bundle = Bundle::at(folder.path().join("bundle"));
    compile::run(&selection, &bundle).unwrap();
    bundle
}

#[test]
fn every_strategy_gives_the_results_of_the_references() {
    let folder = tempfile::tempdir().unwrap();
    // Partial last waves, a pair inside a pair, parameters of its own, a second binding and array
    // lengths.
    let kernels = [
        "odd_workgroup",
        "subgroup_and_workgroup",
        "opencl_exchange",
        "message_passing",
    ];
    let bundle = bundle(&folder, &kernels, &["sm_75", "sm_90"]);
    let manifest = bundle.manifest().unwrap();
    assert!(manifest.left_out.is_empty(), "{:?}", manifest.left_out);
    for (case, target, strategy) in [
        ("odd_workgroup", "sm_75", "warp-named-single"),
        ("odd_workgroup", "sm_75", "group-named"),
        ("odd_workgroup", "sm_90", "mbarrier"),
        ("odd_workgroup", "sm_90", "cluster"),
        ("odd_workgroup", "sm_90", "fused"),
    ] {
        let found = manifest
            .kernels
            .iter()
            .find(|kernel| kernel.case == case && kernel.target == target && kernel.is(strategy));
        assert!(found.is_some(), "{case} {target} {strategy}");
    }
    for (case, target) in kernels.iter().flat_map(|k| [(k, "sm_75"), (k, "sm_90")]) {
        let of = manifest
            .kernels
            .iter()
            .filter(|k| k.case == **case && k.target == target);
        assert_eq!(
            of.filter(|k| k.default).count(),
            1,
            "{case} {target}: one default"
        );
    }
    let result = Command::new(env!("CARGO_BIN_EXE_splitbar-gpu"))
        .arg("run")
        .arg(bundle.folder())
        .args(["--simulate", "--schedules", "2"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&result.stdout);
    assert!(result.status.success(), "{said}");
    let all = format!("{} right, 0 wrong, 0 left out", manifest.kernels.len());
    assert_eq!(said.matches(&all).count(), 2, "{said}");
}

/// The check can fail: on a wrong reference, on a barrier that is missing, on PTX that is none, and
/// it goes on after each.
#[test]
fn what_is_wrong_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = bundle(&folder, &["odd_workgroup"], &["sm_90"]);
    let manifest = bundle.manifest().unwrap();
    let fused = manifest.kernels.iter().find(|k| k.is("fused")).unwrap();
    let mut device = Simulated::new(Schedule::nth(0, 1));
    let mut check = || check::kernel(&bundle, fused, &mut device).unwrap();
    assert_eq!(check(), Outcome::Right(None));
    let wrong = |outcome| match outcome {
        Outcome::Wrong(why) => why,
        other => panic!("{other:?}"),
    };

    let ptx = bundle.ptx(fused).unwrap();
    let barrier = ptx
        .lines()
        .find(|line| line.contains("barrier.sync") || line.contains("bar.sync"));
    bundle
        .write_ptx(fused, &ptx.replace(barrier.unwrap(), ""))
        .unwrap();
    let why = wrong(check());
    assert!(why.contains("SB3003") || why.contains("SB3005"), "{why}");
    bundle.write_ptx(fused, "no PTX").unwrap();
    wrong(check());
    bundle.write_ptx(fused, &ptx).unwrap();
    assert_eq!(check(), Outcome::Right(None));

    let mut case = bundle.case("odd_workgroup").unwrap();
    case.buffers[1].after.as_mut().unwrap()[299] ^= 1;
    bundle.write_case("odd_workgroup", &case).unwrap();
    assert!(wrong(check()).starts_with("dst[299]"));
}

/// The timing's launches are larger than the references': they are right too, and a wrong product
/// is noticed.
#[test]
fn timed_products_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = bundle(&folder, &["tiled_matmul"], &["sm_80"]);
    let mut device = Simulated::new(Schedule::nth(0, 1));
    let choices = Choices { size: 64, runs: 1 };
    let text = timing::tables(&bundle, &mut device, choices).unwrap();
    // `docs/choice_tables.md` lists it.
    assert_eq!(text.matches(" (default) | - |").count(), 1, "{text}");
    assert!(text.contains("| mbarrier"), "{text}");
    assert!(text.contains("| fused"), "{text}");

    let manifest = bundle.manifest().unwrap();
    let kernel = manifest.kernels.iter().find(|k| k.is("fused")).unwrap();
    let ptx = bundle.ptx(kernel).unwrap();
    let store = ptx.lines().find(|line| line.contains("st.global")).unwrap();
    bundle.write_ptx(kernel, &ptx.replace(store, "")).unwrap();
    let error = timing::tables(&bundle, &mut device, choices).unwrap_err();
    assert!(format!("{error:#}").contains("expected"), "{error:#}");
    assert_eq!(device.address(splitbar_gpu::device::BufferId(99)), 0);
}

/// A row for each strategy, beside the full barrier; a window hides what a wave is late by, no
/// window does not; and a wrong result is noticed.
#[test]
fn late_waves_are_timed() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = compiled(&folder, &[], &["sm_80"], &[(2, 0), (2, 64)]);
    let target = Target::by_name("sm_80").unwrap();
    let mut device = Simulated::estimating(target).unwrap();
    let text = break_even::table(&bundle, &mut device, 0).unwrap();
    let cells = |begin: &str, strategy: &str| {
        let of = |line: &&str| line.starts_with(begin) && line.contains(strategy);
        let line = text
            .lines()
            .find(of)
            .unwrap_or_else(|| panic!("{begin}{strategy}: {text}"));
        let cells: Vec<String> = line.split('|').map(|cell| cell.trim().to_owned()).collect();
        cells[6..11].to_vec()
    };
    for (resident, window) in [(1, 0), (1, 64), (8, 64)] {
        let begin = format!("| 2 | {resident} | {window} | ");
        assert_eq!(cells(&begin, "fused")[..4], ["1.000"; 4], "{text}");
    }
    let share = |cell: &String| cell.parse::<f32>().unwrap();
    let wide = cells("| 2 | 1 | 64 | ", "mbarrier");
    assert!(share(&wide[2]) < 1.0 && share(&wide[4]) < 512.0, "{text}");
    let none = cells("| 2 | 1 | 0 | ", "mbarrier");
    assert!(share(&none[3]) > share(&wide[3]), "{text}");

    let manifest = bundle.manifest().unwrap();
    let kernel = &manifest.points[0].kernel;
    let ptx = bundle.ptx(kernel).unwrap();
    let store = ptx.lines().find(|line| line.contains("st.global")).unwrap();
    bundle.write_ptx(kernel, &ptx.replace(store, "")).unwrap();
    let error = break_even::table(&bundle, &mut device, 0).unwrap_err();
    assert!(format!("{error:#}").contains("results[0]"), "{error:#}");
    assert!(Simulated::estimating(Target::by_name("sm_60").unwrap()).is_err());
}
