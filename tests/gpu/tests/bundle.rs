//! A bundle on the simulator: what `cargo xtask gpu` does with a GPU, without one.
#![allow(clippy::unwrap_used, clippy::panic)]

use splitbar_gpu::bundle::Bundle;
use splitbar_gpu::check::{self, Outcome};
use splitbar_gpu::compile::{self, Selection};
use splitbar_gpu::device::Device;
use splitbar_gpu::simulated::Simulated;
use splitbar_gpu::timing::{self, Choices};
use splitbar_sim::Schedule;
use splitbar_tests::tools;
use std::process::Command;

fn bundle(folder: &tempfile::TempDir, kernels: &[&str], targets: &[&str]) -> Bundle {
    let selection = Selection {
        tool: tools::splitbar().unwrap(),
        kernels: kernels.iter().map(|name| (*name).to_owned()).collect(),
        targets: targets.iter().map(|name| (*name).to_owned()).collect(),
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
    // Which one it is, `docs/choice.md` says.
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
