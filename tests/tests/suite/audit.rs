//! The audit of final code: splitbar's code has no findings, and the audit detects removed
//! instructions.

mod corpus;
mod fates;
mod neighbours;
mod places;

use crate::support::{always_split, compile_bytes, target, told, trial};
use anyhow::{Context, Result, ensure};
use fates::Tally;
use libtest_mimic::Trial;
use splitbar::asm::{self, Function};
use splitbar::diagnostic::{Code, Severity};
use splitbar::verdict::Audit;
use splitbar::{Optimization, Output, SplitBarriers, Strategy, Target};
use splitbar_tests::fixture::{Fixture, GRID};

const AMDGPU: [&str; 7] = [
    "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250",
];

/// Every target has so many instructions at least that are noticed.
const LEAST_NOTICED: usize = 2;

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for name in GRID {
        let chosen = fixtures.to_vec();
        trials.push(trial(format!("audit/{name}"), move || {
            mutants(name, &chosen)
        }));
        let chosen = fixtures.to_vec();
        trials.push(trial(format!("audit/strategies/{name}"), move || {
            strategies(name, &chosen)
        }));
    }
    trials.extend(corpus::trials());
    trials.extend([
        trial("audit/foreign_code".to_owned(), foreign_code),
        trial("audit/foreign_caches".to_owned(), foreign_caches),
        trial("audit/neighbouring_fences".to_owned(), neighbours::missed),
        trial("audit/objects".to_owned(), objects),
        trial("audit/places".to_owned(), places::judged),
        trial("audit/given_words".to_owned(), places::given),
    ]);
    trials
}

/// Every kernel is clean, and at least 95 of 100 instructions that fences made are missed when they
/// are taken away, of every kind.
fn mutants(name: &str, fixtures: &[Fixture]) -> Result<()> {
    let mut tally = Tally::default();
    for fixture in fixtures {
        let module = fixture.module()?;
        for level in [Optimization::O0, Optimization::O2] {
            let output = compile_bytes(&module, name, |options| {
                options.audit = true;
                options.optimization = level;
            })
            .with_context(|| format!("{} {level:?}", fixture.name))?;
            for (function, audit) in audited(&output, target(name)?)? {
                ensure!(audit.is_clean(), "{} {level:?}:\n{audit}", fixture.name);
                tally.add(
                    &format!("{} {level:?}", fixture.name),
                    fates::of(&function, audit, target(name)?)?,
                );
            }
        }
    }
    tally.judge(name, LEAST_NOTICED)
}

/// The audited kernels of a compilation, as the audit saw them.
fn audited<'o>(output: &'o Output, target: &Target) -> Result<Vec<(Function, &'o Audit)>> {
    let functions = asm::parse(&told(output.assembly())?, &target.arch)?;
    let mut found = Vec::new();
    for entry in output.entries() {
        let audit = entry.audit.as_ref().context("there is no audit")?;
        let function = functions
            .iter()
            .find(|function| function.name == audit.kernel)
            .context("the audited kernel is not in the assembly")?;
        found.push((function.clone(), audit));
    }
    Ok(found)
}

/// Every kernel has no findings with every strategy that supports it.
fn strategies(name: &str, fixtures: &[Fixture]) -> Result<()> {
    let mut clean = 0;
    for fixture in fixtures {
        let module = fixture.module()?;
        for strategy in Strategy::ALL {
            for level in [Optimization::O0, Optimization::O2] {
                let mut options = always_split(name)?;
                options.audit = true;
                options.strategy = Some(*strategy);
                options.optimization = level;
                let output = match splitbar::Compiler::new(&options).compile(&module) {
                    Ok(output) => output,
                    Err(failure)
                        if !failure.diagnostics.iter().any(|problem| {
                            problem.severity == Severity::Error
                                && problem.code != Code::UnsupportedStrategy
                        }) =>
                    {
                        continue;
                    }
                    Err(failure) => {
                        return Err(anyhow::Error::new(failure)
                            .context(format!("{} {strategy} {level:?}", fixture.name)));
                    }
                };
                let audits = output.entries().iter().filter_map(|e| e.audit.as_ref());
                for audit in audits {
                    ensure!(
                        audit.is_clean(),
                        "{} {strategy} {level:?}:\n{audit}",
                        fixture.name
                    );
                    clean += 1;
                }
            }
        }
    }
    ensure!(clean >= 2 * fixtures.len(), "only {clean} were audited");
    Ok(())
}

/// The command on assembly of somebody else: one LDS store too many.
fn foreign_code() -> Result<()> {
    let text = "\t.type\tk,@function\nk:\n\tds_write_b32 v0, v1\n\ts_barrier\n\ts_waitcnt lgkmcnt(0)\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\ts_endpgm\n";
    let arguments = ["audit", "-", "--target", "gfx942"];
    let told = crate::support::run(&arguments, text.as_bytes(), false)?;
    ensure!(
        told.code == Some(0),
        "nothing is judged without a demand: {}",
        told.stderr
    );
    let judged = crate::support::run(
        &[&arguments[..], &["--release", "local"]].concat(),
        text.as_bytes(),
        false,
    )?;
    ensure!(
        judged.code == Some(1),
        "exit code {:?}: {}",
        judged.code,
        judged.stderr
    );
    let text = String::from_utf8(judged.stdout)?;
    ensure!(
        text.contains("VIOLATION: ds_write_b32 at instruction 0 may be outstanding")
            && text.contains("redundant: s_waitcnt at instruction 3")
            && text.matches("VIOLATION").count() == 1,
        "{text}"
    );
    Ok(())
}

/// Machine code and assembly text are read as the same functions, instruction by instruction, with
/// the same control flow.
fn objects() -> Result<()> {
    let kernels = ["tiled_matmul_double_buffered", "reduction"];
    let ways = [SplitBarriers::Never, SplitBarriers::Always];
    for target in AMDGPU {
        for (kernel, way) in kernels.into_iter().flat_map(|k| ways.map(|way| (k, way))) {
            let output = compile_bytes(&Fixture::load(kernel)?.module()?, target, |options| {
                options.split_barriers = way;
            })?;
            let shape = |functions: &[Function]| -> Vec<Vec<(String, Vec<usize>)>> {
                functions
                    .iter()
                    .map(|function| {
                        let kept = function
                            .instructions
                            .iter()
                            .enumerate()
                            .take_while(|(_, inst)| inst.mnemonic != "s_code_end");
                        kept.map(|(position, inst)| {
                            let mnemonic = inst.mnemonic.trim_end_matches("_e32").to_owned();
                            (mnemonic, function.successors(position))
                        })
                        .collect()
                    })
                    .collect()
            };
            let text = shape(&asm::amdgpu::parse(&told(output.assembly())?));
            let gpu = Target::by_name(target).context("no such target")?;
            let code = told(output.object())?;
            let code = splitbar::machine_code::functions(&code, gpu).map_err(anyhow::Error::msg)?;
            pretty_assertions::assert_eq!(shape(&code), text, "{kernel} for {target}");
        }
    }
    Ok(())
}

/// Assembly of another compiler: the instructions that fences of the device need on each
/// generation, then with one of them removed.
fn foreign_caches() -> Result<()> {
    let amdgpu = |body: &str| format!("\t.type\tk,@function\nk:\n{body}\ts_endpgm\n");
    let ptx = |body: &str| {
        format!(
            ".visible .entry k(\n)\n{{\n\tst.global.b32 [%rd1], %r1;\n{body}\tld.global.b32 %r2, [%rd2];\n\tret;\n}}\n"
        )
    };
    let whole: [(&str, String, &[&str]); 7] = [
        (
            "gfx906",
            amdgpu(
                "global_store_dword v0, v1, s[0:1]\ns_waitcnt vmcnt(0)\ns_barrier\nbuffer_wbinvl1_vol\nglobal_load_dword v2, v0, s[0:1]\n",
            ),
            &["s_waitcnt vmcnt(0)", "buffer_wbinvl1_vol"],
        ),
        (
            "gfx942",
            amdgpu(
                "global_store_dword v0, v1, s[0:1]\nbuffer_wbl2 sc1\ns_waitcnt vmcnt(0)\ns_barrier\nbuffer_inv sc1\nglobal_load_dword v2, v0, s[0:1]\n",
            ),
            &["buffer_wbl2 sc1", "s_waitcnt vmcnt(0)", "buffer_inv sc1"],
        ),
        (
            "gfx1030",
            amdgpu(
                "global_store_dword v0, v1, s[0:1]\ns_waitcnt_vscnt null, 0x0\ns_barrier\nbuffer_gl1_inv\nbuffer_gl0_inv\nglobal_load_dword v2, v0, s[0:1]\n",
            ),
            &[
                "s_waitcnt_vscnt null, 0x0",
                "buffer_gl1_inv",
                "buffer_gl0_inv",
            ],
        ),
        (
            "gfx1201",
            amdgpu(
                "global_store_b32 v0, v1, s[0:1]\ns_wait_storecnt 0x0\ns_barrier_signal -1\ns_barrier_wait -1\nglobal_inv scope:SCOPE_DEV\nglobal_load_b32 v2, v0, s[0:1]\n",
            ),
            &["s_wait_storecnt 0x0", "global_inv scope:SCOPE_DEV"],
        ),
        (
            "gfx1250",
            amdgpu(
                "global_store_b32 v0, v1, s[0:1]\ns_wait_storecnt 0x0\nglobal_wb scope:SCOPE_DEV\ns_wait_storecnt 0x0\ns_barrier_signal -1\ns_barrier_wait -1\nglobal_inv scope:SCOPE_DEV\ns_wait_loadcnt 0x0\nglobal_load_b32 v2, v0, s[0:1]\n",
            ),
            &[
                "s_wait_storecnt 0x0",
                "global_wb scope:SCOPE_DEV",
                "global_inv scope:SCOPE_DEV",
                "s_wait_loadcnt 0x0",
            ],
        ),
        (
            "sm_75",
            ptx("\tmembar.gl;\n\tbar.sync 0;\n\tfence.acq_rel.gpu;\n"),
            &["\tmembar.gl;", "\tfence.acq_rel.gpu;"],
        ),
        (
            "sm_90",
            ptx(
                "\tfence.release.gpu;\n\tbarrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;\n\tfence.acquire.gpu;\n",
            ),
            &["\tfence.release.gpu;", "\tfence.acquire.gpu;"],
        ),
    ];
    let judged = |name: &str, text: &str| {
        let arguments = [
            "audit",
            "-",
            "--target",
            name,
            "--release",
            "global",
            "--acquire",
            "global",
            "--scope",
            "device",
        ];
        crate::support::run(&arguments, text.as_bytes(), false)
    };
    for (name, text, needed) in whole {
        let told = judged(name, &text)?;
        let shown = String::from_utf8(told.stdout)?;
        ensure!(told.code == Some(0), "{name}: {shown}{}", told.stderr);
        for line in needed {
            let damaged = text.replacen(&format!("{line}\n"), "", 1);
            ensure!(damaged != text, "{name} has no {line}");
            let told = judged(name, &damaged)?;
            let shown = String::from_utf8(told.stdout)?;
            ensure!(
                told.code == Some(1) && shown.contains("VIOLATION"),
                "{name} without {line}: {shown}{}",
                told.stderr
            );
        }
        for (strong, weak) in [
            ("SCOPE_DEV", "SCOPE_SE"),
            ("_inv sc1", "_inv sc0"),
            ("fence.acq_rel.gpu", "fence.acq_rel.cta"),
            ("fence.acquire.gpu", "fence.acquire.cluster"),
            ("fence.release.gpu", "fence.acquire.gpu"),
        ] {
            let weaker = text.replace(strong, weak);
            let told = judged(name, &weaker)?;
            ensure!(
                weaker == text || told.code == Some(1),
                "{name} with {weak}: {}",
                String::from_utf8(told.stdout)?
            );
        }
    }
    Ok(())
}
