//! The interface for LLVM IR: kernels that call split barriers by name, on the simulator. Errors in
//! a module are reported, and a module without such calls does not change.

pub(crate) mod kernels;
mod loops;
mod random;
mod translated;

use crate::cli::expect;
use crate::support::{always_split, is_nvptx, linkable, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::fixture::root;

/// A GPU of each generation that differs.
const TARGETS: [&str; 9] = [
    "gfx906", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250", "sm_75", "sm_80", "sm_90",
];

/// The lowering of the pairs: split if that pays off, split if possible, and as full barriers.
const STRATEGIES: [&str; 3] = ["auto", "auto=always-split", "fused"];

/// A test without parameters.
type Test = fn() -> Result<()>;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for target in TARGETS {
        for strategy in STRATEGIES {
            for level in ["0", "2"] {
                let name = format!("ir/results/{target}/{strategy}/O{level}");
                trials.push(trial(name, move || results(target, strategy, level)));
            }
        }
    }
    let tests: [(&str, Test); 10] = [
        ("what_compilers_write_goes_in", what_compilers_write_goes_in),
        ("halves_stay_apart", halves_stay_apart),
        ("names_and_forms", names_and_forms),
        ("functions_go_into_kernels", functions_go_into_kernels),
        (
            "barriers_of_the_target_are_found",
            barriers_of_the_target_are_found,
        ),
        ("blocks_never_reached", blocks_never_reached),
        ("arguments_are_reflected", arguments_are_reflected),
        ("what_is_wrong_is_said", what_is_wrong_is_said),
        (
            "what_llvm_does_not_take_has_a_code",
            what_llvm_does_not_take_has_a_code,
        ),
        ("others_are_left_alone", others_are_left_alone),
    ];
    trials.extend(kernels::trials());
    trials.extend(loops::trials());
    trials.extend(random::trials());
    trials.extend(translated::trials());
    let tests = tests.into_iter();
    trials.extend(tests.map(|(name, test)| trial(format!("ir/{name}"), test)));
    trials
}

/// docs/examples/rotate.ll for a target.
fn rotate(target: &str) -> Result<String> {
    let text = std::fs::read_to_string(root().join("docs/examples/rotate.ll"))?;
    Ok(if is_nvptx(target) {
        text.replace("amdgcn-amd-amdhsa", "nvptx64-nvidia-cuda")
            .replace("amdgpu_kernel", "ptx_kernel")
            .replace("llvm.amdgcn.workitem.id.x", "llvm.nvvm.read.ptx.sreg.tid.x")
            .replace(
                "\"amdgpu-flat-work-group-size\"=\"64,64\" !reqd_work_group_size !0",
                "\"nvvm.reqntid\"=\"64,1,1\"",
            )
    } else {
        text
    })
}

/// The results of rotate.ll after so many rounds, if element i of its first buffer is i.
fn rotated(rounds: u32) -> Vec<u8> {
    let of = |id: u32| -> u32 {
        let each = (0..rounds).map(|round| ((id + 1) % 64 + round) + round * (id + round));
        each.sum()
    };
    (0..64).flat_map(|id| of(id).to_le_bytes()).collect()
}

/// Compiles `text`, and returns the output that `emit` names.
fn lowered(text: &str, target: &str, arguments: &[&str]) -> Result<Vec<u8>> {
    let command = [&["lower-ir", "-", "--target", target][..], arguments].concat();
    Ok(expect(&command, text.as_bytes(), 0)?.stdout)
}

fn results(target: &'static str, strategy: &str, level: &str) -> Result<()> {
    linkable(target)?;
    simulated(
        &rotate(target)?,
        target,
        &["--strategy", strategy, "-O", level],
    )
}

/// Checks that the compiled kernel has the results of the host on the simulator, without findings.
fn simulated(text: &str, target: &str, arguments: &[&str]) -> Result<()> {
    const ROUNDS: u32 = 5;
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (code, after) = (file("code"), file("after"));
    let emit = if is_nvptx(target) {
        format!("asm={code}")
    } else {
        format!("hsaco={code}")
    };
    lowered(
        text,
        target,
        &[&["--audit", "--emit", &emit][..], arguments].concat(),
    )?;
    let dump = format!("1={after}");
    let sim = [
        "sim",
        &code,
        "--target",
        target,
        "--groups",
        "1,1,1",
        "--workgroup-size",
        "64,1,1",
        "--buffer",
        "0=seq:u32:16",
        "--buffer",
        "1=zeros:256",
        "--push",
        "05000000",
        "--dump",
        &dump,
    ];
    expect(&sim, b"", 0)?;
    ensure!(std::fs::read(after)? == rotated(ROUNDS), "other results");
    Ok(())
}

fn halves_stay_apart() -> Result<()> {
    for (target, begin, end) in [
        ("gfx1201", "s_barrier_signal", "s_barrier_wait"),
        ("sm_80", "mbarrier.arrive", "mbarrier.test_wait"),
        ("sm_90", "mbarrier.arrive", "mbarrier.try_wait"),
    ] {
        let split = ["--strategy", "auto=always-split"];
        let assembly = String::from_utf8(lowered(&rotate(target)?, target, &split)?)?;
        let open = assembly
            .find(begin)
            .with_context(|| format!("{target}: no arrive"))?;
        let window = assembly.get(open..).unwrap_or_default();
        let close = window
            .find(end)
            .with_context(|| format!("{target}: no wait"))?;
        let work = window.get(..close).unwrap_or_default();
        ensure!(
            work.contains("mul") || work.contains("mad"),
            "{target}: {work}"
        );
        let reflection = lowered(
            &rotate(target)?,
            target,
            &[&split[..], &["--emit", "reflect"]].concat(),
        )?;
        let reflection: serde_json::Value = serde_json::from_slice(&reflection)?;
        let window = &reflection[0]["pairs"][0]["window"];
        ensure!(window["kept"].as_u64() > Some(0), "{target}: {window}");
    }
    Ok(())
}

/// Arrive and wait under every name, with the arguments of each.
fn names_and_forms() -> Result<()> {
    let text = rotate("gfx1201")?;
    let (arrive, wait) = (
        "@_Z33__spirv_ControlBarrierArriveINTELiii(i32 2, i32 2, i32 260)",
        "@_Z31__spirv_ControlBarrierWaitINTELiii(i32 2, i32 2, i32 258)",
    );
    let plan = |text: &str| lowered(text, "gfx1201", &["--emit", "plan"]);
    let expected = plan(&text)?;
    for (prefix, arguments, types) in [
        (
            "__spirv_ControlBarrier",
            ["i32 2, i32 2, i32 260", "i32 2, i32 2, i32 258"],
            "i32, i32, i32",
        ),
        ("intel_work_group_barrier_", ["i32 1", "i32 1"], "i32"),
        (
            "intel_work_group_barrier_",
            ["i32 1, i32 1", "i32 1, i32 1"],
            "i32, i32",
        ),
    ] {
        let is_opencl = prefix.starts_with("intel");
        let names = if is_opencl {
            ["arrive", "wait"]
        } else {
            ["ArriveEXT", "WaitEXT"]
        };
        let other = text
            .replace(arrive, &format!("@{prefix}{}({})", names[0], arguments[0]))
            .replace(wait, &format!("@{prefix}{}({})", names[1], arguments[1]));
        let declared = format!(
            "{other}\ndeclare void @{prefix}{}({types})\ndeclare void @{prefix}{}({types})\n",
            names[0], names[1]
        );
        let made = plan(&declared)?;
        ensure!(
            made == expected,
            "{prefix}: {}",
            String::from_utf8_lossy(&made)
        );
    }
    Ok(())
}

/// An arrive or a wait in a separate function, with operands that are its parameters.
fn functions_go_into_kernels() -> Result<()> {
    for target in ["gfx1201", "sm_90"] {
        let text = rotate(target)?.replace(
            "call void @_Z33__spirv_ControlBarrierArriveINTELiii(i32 2, i32 2, i32 260)",
            "call void @arrive(i32 2, i32 260)",
        ) + "
define void @arrive(i32 %scope, i32 %semantics) noinline {
  call void @_Z33__spirv_ControlBarrierArriveINTELiii(i32 %scope, i32 %scope, i32 %semantics)
  ret void
}
";
        linkable(target)?;
        simulated(&text, target, &["--strategy", "auto=always-split"])?;
    }
    Ok(())
}

/// Calls with noinline, and a selector that no SPIR-V integer can represent.
fn what_compilers_write_goes_in() -> Result<()> {
    linkable("gfx1201")?;
    // As clang 16 has it.
    let id = "call i32 @llvm.amdgcn.workitem.id.x()";
    let older = rotate("gfx1201")?.replace(id, &format!("{id}, !noundef !1")) + "!1 = !{}\n";
    simulated(&older, "gfx1201", &["--strategy", "auto=always-split"])?;
    for target in ["gfx1201", "sm_90"] {
        let call = "call void @_Z33__spirv_ControlBarrierArriveINTELiii(i32 2, i32 2, i32 260)";
        let apart = rotate(target)?.replace(call, "call void @arrive() noinline")
            + &format!("\ndefine void @arrive() {{\n  {call}\n  ret void\n}}\n");
        let branch = "  br i1 %some, label %round, label %done\n";
        for width in [3, 33, 128] {
            let wide = apart.replace(
                branch,
                &format!(
                    "  %chosen = zext i1 %some to i{width}
  switch i{width} %chosen, label %round [ i{width} 0, label %done i{width} -2, label %done ]
"
                ),
            );
            let wide = wide.replace(
                "[ %sum.next, %round ]\n  %target",
                "[ %sum.next, %round ], [ 0, %entry ]\n  %target",
            );
            linkable(target)?;
            simulated(&wide, target, &["--strategy", "auto=always-split"])
                .with_context(|| format!("{target}, i{width}"))?;
        }
    }
    Ok(())
}

/// A full barrier of the target's own in a window, in a function that is not inlined: on gfx12 it
/// would complete the phase that the arrive has begun.
fn barriers_of_the_target_are_found() -> Result<()> {
    for target in ["gfx1100", "gfx1201", "sm_75", "sm_90"] {
        let barrier = if is_nvptx(target) {
            "llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
        } else {
            "llvm.amdgcn.s.barrier()"
        };
        let declared = barrier.replace("(i32 0)", "(i32)");
        let text = rotate(target)?
            .replace("  %scaled = mul", "  call void @meet()\n  %scaled = mul")
            + &format!(
                "
define void @meet() noinline {{
  call void @{barrier}
  ret void
}}
declare void @{declared}
"
            );
        linkable(target)?;
        simulated(&text, target, &["--strategy", "auto=always-split"])
            .with_context(|| target.to_owned())?;
    }
    Ok(())
}

/// Calls in blocks that control never reaches are no barriers, and do not stay.
fn blocks_never_reached() -> Result<()> {
    for target in ["gfx1201", "sm_90"] {
        let text = rotate(target)?.replace(
            "done:\n",
            "never:
  call void @_Z31__spirv_ControlBarrierWaitINTELiii(i32 2, i32 2, i32 258)
  br label %done

done:
",
        );
        let text = text.replace(
            "[ %sum.next, %round ]\n  %target",
            "[ %sum.next, %round ], [ 0, %never ]\n  %target",
        );
        let ir = lowered(&text, target, &["-O", "0", "--emit", "llvm-ir"])?;
        ensure!(
            !String::from_utf8(ir)?.contains("__spirv_"),
            "{target}: a call is left"
        );
        linkable(target)?;
        simulated(&text, target, &[])?;
    }
    Ok(())
}

/// The reflection lists the offsets and kinds of a kernel's parameters.
fn arguments_are_reflected() -> Result<()> {
    for (target, pointer) in [("gfx1201", 4), ("sm_90", 8)] {
        let text = rotate(target)?.replace(
            "i32 %rounds)",
            "i32 %rounds, i8 %byte, ptr addrspace(3) %added, i64 %long, [3 x i16] %halves)",
        );
        let reflection = lowered(&text, target, &["--emit", "reflect"])?;
        let reflection: serde_json::Value = serde_json::from_slice(&reflection)?;
        let arguments = reflection[0]["arguments"].as_array();
        let arguments = arguments.context("no arguments")?.iter();
        let found: Vec<String> = arguments
            .map(|one| format!("{} {} at {}", one["kind"], one["size"], one["offset"]))
            .collect();
        let expected = [
            "\"global_buffer\" 8 at 0".to_owned(),
            "\"global_buffer\" 8 at 8".to_owned(),
            "\"by_value\" 4 at 16".to_owned(),
            "\"by_value\" 1 at 20".to_owned(),
            format!("\"dynamic_shared_pointer\" {pointer} at 24"),
            "\"by_value\" 8 at 32".to_owned(),
            "\"by_value\" 6 at 40".to_owned(),
        ];
        ensure!(found == expected, "{target}: {found:?}");
    }
    Ok(())
}

fn what_is_wrong_is_said() -> Result<()> {
    let text = rotate("gfx1201")?;
    let arrive = "  call void @_Z33__spirv_ControlBarrierArriveINTELiii(i32 2, i32 2, i32 260)\n";
    let wait = "  call void @_Z31__spirv_ControlBarrierWaitINTELiii(i32 2, i32 2, i32 258)\n";
    let divergent = text.replace("icmp sgt i32 %rounds, 0", "icmp sgt i32 %id, 7");
    // LLVM decides later whether anything waits.
    let decided = text
        .replace(
            wait,
            &format!(
                "  %known = call i1 @llvm.is.constant.i32(i32 %rounds)
  br i1 %known, label %waits, label %joined
waits:
{wait}  br label %joined
joined:
"
            ),
        )
        .replace("%round ]", "%joined ]")
        + "declare i1 @llvm.is.constant.i32(i32)\n";
    let taken = text.replace(arrive, "  call void @half()\n")
        + &format!("@table = global ptr @half\ndefine void @half() {{\n{arrive}  ret void\n}}\n");
    let named = text.clone() + "@table = global ptr @_Z33__spirv_ControlBarrierArriveINTELiii\n";
    let recursive = text.replace(arrive, "  call void @half()\n")
        + &format!("define void @half() {{\n{arrive}  call void @half()\n  ret void\n}}\n");
    let half =
        |attributes: &str| format!("define void @half() {attributes} {{\n{arrive}  ret void\n}}\n");
    // The kernel has barriers of its own too: those of the function must not be left over.
    let other_type = text.replace(arrive, "  call void @half(i32 1)\n") + &half("");
    let other_gpu =
        text.replace(arrive, "  call void @half()\n") + &half("\"target-cpu\"=\"gfx900\"");
    let twice = |level: u32| {
        let inner = level - 1;
        format!(
            "define void @half{level}() {{\n  call void @half{inner}()\n  call void @half{inner}()\n  ret void\n}}\n"
        )
    };
    let doubled = text.replace(arrive, "  call void @half40()\n")
        + &half("").replace("@half", "@half0")
        + &(1..=40).map(twice).collect::<String>();
    let foreign = |call: &str, declared: &str| {
        let name = "call void @llvm.amdgcn.s.barrier.";
        text.replace(wait, &format!("  {name}{call}\n{wait}"))
            + &format!("declare void @llvm.amdgcn.s.barrier.{declared}\n")
    };
    let hidden = foreign("signal(i32 -1)", "signal(i32)").replace(
        "  call void @llvm.amdgcn.s.barrier.signal(i32 -1)\n",
        "  call void @signal()\n",
    ) + "define void @signal() noinline {
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  ret void
}
";
    let tokens = text
        .replace(
            "entry:\n",
            "entry:\n  %token = call token @llvm.experimental.convergence.entry()\n",
        )
        .replace(") \n    \"amdgpu-flat", ") convergent\n    \"amdgpu-flat")
        .replace(")\n    \"amdgpu-flat", ") convergent\n    \"amdgpu-flat")
        + "declare token @llvm.experimental.convergence.entry()\n";
    for (what, module, code, says) in [
        ("nothing", String::new(), 2, "is an empty file"),
        ("no IR", "not IR".to_owned(), 1, "SB0600"),
        ("another target", rotate("sm_90")?, 3, "SB0601"),
        (
            "no GPU",
            text.replace("amdgcn-amd-amdhsa", "spir64-unknown-unknown"),
            3,
            "is for spir64-unknown-unknown",
        ),
        (
            "another GPU",
            text.replace("\"amdgpu-flat", "\"target-cpu\"=\"gfx900\" \"amdgpu-flat"),
            3,
            "SB0601",
        ),
        (
            "no kernel",
            text.replace("amdgpu_kernel void", "void"),
            3,
            "SB0602",
        ),
        (
            "an open scope",
            text.replace("(i32 2, i32 2, i32 260)", "(i32 %rounds, i32 2, i32 260)"),
            1,
            "SB0603",
        ),
        (
            "a missing argument",
            text.replace("iii(i32 2, i32 2, i32 260)", "iii(i32 2, i32 2)")
                .replace("ArriveINTELiii(i32, i32, i32)", "ArriveINTELiii(i32, i32)"),
            1,
            "SB0604",
        ),
        ("an address", taken, 3, "SB0605"),
        ("a barrier's address", named, 3, "SB0605"),
        ("recursion", recursive, 3, "SB0605"),
        ("calls of two types", other_type, 3, "SB0605"),
        ("another GPU's function", other_gpu, 3, "SB0605"),
        ("too much to inline", doubled, 3, "SB0010"),
        (
            "halves of the target",
            foreign("signal(i32 -1)", "signal(i32)"),
            3,
            "SB0607",
        ),
        ("hidden halves of the target", hidden, 3, "SB0607"),
        ("tokens of convergence", tokens, 3, "SB0606"),
        (
            "what LLVM does not know",
            text.replace("\"64,64\" !reqd", "\"64,64\" gc \"x\" !reqd"),
            3,
            "SB0608",
        ),
        ("no name", text.replace("@rotate", "@0"), 3, "SB0602"),
        (
            "large arguments",
            text.replace(
                "i32 %rounds)",
                "i32 %rounds, [1073741824 x i32] %all, i64 %behind)",
            ),
            3,
            "SB0380",
        ),
        ("a wait that may go", decided, 0, "SB2003"),
        ("an arrive alone", text.replace(wait, ""), 0, "SB2003"),
        ("a wait alone", text.replace(arrive, ""), 1, "SB02"),
        ("divergence", divergent, 1, "SB2000"),
        (
            "a wrong scope",
            text.replace("(i32 2, i32 2, i32 260)", "(i32 9, i32 2, i32 260)"),
            1,
            "SB",
        ),
    ] {
        let command = ["lower-ir", "-", "--target", "gfx1201"];
        let ran = expect(&command, module.as_bytes(), code).context(what)?;
        ensure!(ran.stderr.contains(says), "{what}: {}", ran.stderr);
    }
    Ok(())
}

/// Modules on which LLVM ends the process, and code that no reader supports, have a diagnostic:
/// from the program, and from the library, whose process continues.
fn what_llvm_does_not_take_has_a_code() -> Result<()> {
    let foreign = |target| -> Result<String> {
        let text = rotate(target)?;
        let call = "  %foreign = call float @llvm.amdgcn.tanh.f32(float 1.0)
  %word = bitcast float %foreign to i32
  %value = add i32 %id, %word\n";
        let text = text.replace("  %value = add i32 %id, %number\n", call);
        Ok(text + "declare float @llvm.amdgcn.tanh.f32(float)\n")
    };
    let collected = rotate("gfx1201")?.replace("\"64,64\" !reqd", "\"64,64\" gc \"x\" !reqd");
    let parted = rotate("sm_90")?.replace("poison, align 4", "poison, partition \"p\", align 4");
    for (what, target, text, says) in [
        ("an intrinsic", "gfx1201", foreign("gfx1201")?, "SB0608"),
        ("a collector", "gfx1201", collected, "SB0608"),
        ("a partition", "sm_90", parted, "SB0609"),
    ] {
        let command = ["lower-ir", "-", "--target", target];
        let ran = expect(&command, text.as_bytes(), 3).context(what)?;
        ensure!(ran.stderr.contains(says), "{what}: {}", ran.stderr);
        let mut options = always_split(target)?;
        options.measure = true;
        for _ in 0..2 {
            let made =
                splitbar::Compiler::new(&options).compile(splitbar::Input::LlvmIr(text.as_bytes()));
            let made = made.and_then(|output| Ok(output.assembly()?));
            let failure = made.err().with_context(|| format!("{what} is taken"))?;
            ensure!(failure.exit_code() == 3, "{what}: {failure}");
            ensure!(failure.to_string().contains(says), "{what}: {failure}");
        }
        // LLVM still compiles what it takes.
        splitbar::Compiler::new(&options)
            .compile(splitbar::Input::LlvmIr(rotate(target)?.as_bytes()))?
            .assembly()?;
    }
    Ok(())
}

/// A module without split barriers does not change, and its code is LLVM's.
fn others_are_left_alone() -> Result<()> {
    for target in ["gfx1201", "sm_90"] {
        let text: String = rotate(target)?
            .lines()
            .filter(|line| !line.contains("__spirv_"))
            .map(|line| format!("{line}\n"))
            .collect();
        let once = lowered(&text, target, &["--emit", "llvm-ir"])?;
        let printed = String::from_utf8(once.clone())?;
        let twice = lowered(&printed, target, &["--emit", "llvm-ir"])?;
        ensure!(once == twice, "{target}: another module the second time");
        for line in text.lines().filter(|line| line.contains(" = ")) {
            let line = line.trim();
            let kept = line.starts_with(';') || line.starts_with('!') || printed.contains(line);
            ensure!(kept, "{target}: {line} is not in\n{printed}");
        }
        ensure!(!lowered(&text, target, &["--emit", "asm"])?.is_empty());
    }
    Ok(())
}
