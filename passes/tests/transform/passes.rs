//! Every pass on every kernel and on the corpus.

use super::support::{FLAGS, INSTRUMENTS, all, attempt, count, declared, kernels, run, step};
use splitbar_passes::analysis::pairing::{Open, Pairing, SiteKind};
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
use splitbar_passes::pipeline::{self, Settings};

const BARRIER: u16 = 224;
const ARRIVE: u16 = 6142;
const WAIT: u16 = 6143;

#[test]
fn all_passes_keep_their_promises() {
    let mut changed = vec![0; FLAGS.len()];
    // Each run is done twice and looked at: every fifth module is enough for all flags together.
    for input in kernels().into_iter().chain(all().into_iter().step_by(5)) {
        let module = Module::parse(&input.bytes).unwrap();
        for (flag, changed) in FLAGS.iter().zip(&mut changed) {
            *changed += usize::from(run(flag, &module, &input.path).1);
        }
    }
    // Redundant barriers are rare, see below; imports and the older matrices are in no module here,
    // and the tests of their passes have their own.
    let idle: Vec<&str> = changed
        .iter()
        .zip(FLAGS)
        .filter(|(changed, _)| **changed == 0)
        .map(|(_, flag)| *flag)
        .collect();
    let rare = [
        "branch-on-predicates",
        "eliminate-redundant-split-barriers",
        "link-device-library",
        "modernize-cooperative-matrices",
        "scalarize-pointer-vectors",
    ];
    assert!(idle.iter().all(|flag| rare.contains(flag)), "{changed:?}");
}

/// A kernel of the corpus has a barrier at the end of two branches and one behind them.
#[test]
fn a_real_kernel_has_redundant_barriers() {
    let input = all()
        .into_iter()
        .find(|input| input.path.ends_with("kernel-split/765c75adbd80332e.spv"))
        .unwrap();
    let module = Module::parse(&input.bytes).unwrap();
    let (after, _) = run("eliminate-redundant-split-barriers", &module, &input.path);
    assert_eq!(count(&module, ARRIVE) - count(&after, ARRIVE), 2);
    assert_eq!(count(&module, WAIT) - count(&after, WAIT), 2);
}

#[test]
fn fusing_leaves_neither_arrive_nor_wait() {
    for flag in ["fuse-split-barriers", "fuse-split-barriers=arrive"] {
        for input in all() {
            let module = Module::parse(&input.bytes).unwrap();
            let (fused, changed) = run(flag, &module, &input.path);
            assert_eq!(
                count(&fused, ARRIVE) + count(&fused, WAIT),
                0,
                "{flag} {}",
                input.path
            );
            assert_eq!(
                changed,
                count(&module, ARRIVE) + count(&module, WAIT) > 0,
                "{flag} {}",
                input.path
            );
            let declarations = declared(&fused, &input.path);
            assert!(
                !changed
                    || !declarations
                        .capabilities
                        .iter()
                        .any(|(number, _)| *number == 6141)
            );
        }
    }
}

#[test]
fn splitting_and_fusing_gives_the_barriers_back() {
    let mut seen = 0;
    for input in all() {
        let module = Module::parse(&input.bytes).unwrap();
        if count(&module, ARRIVE) > 0 {
            continue;
        }
        let (split, changed) = run("split-control-barriers", &module, &input.path);
        if !changed {
            continue;
        }
        let barriers = count(&module, BARRIER) - count(&split, BARRIER);
        assert_eq!(
            (count(&split, ARRIVE), count(&split, WAIT)),
            (barriers, barriers),
            "{}",
            input.path
        );
        let (inlined, _) = run("inline-barrier-functions", &module, &input.path);
        for flag in ["fuse-split-barriers", "fuse-split-barriers=arrive"] {
            let (fused, _) = run(flag, &split, &input.path);
            assert_eq!(
                semantics(&fused, &input.path),
                semantics(&inlined, &input.path),
                "{}",
                input.path
            );
        }
        seen += 1;
    }
    assert!(seen > 300, "{seen} modules");
}

/// Operands of all OpControlBarriers, with SequentiallyConsistent taken for AcquireRelease.
fn semantics(module: &Module<'_>, path: &str) -> Vec<[Option<u32>; 3]> {
    let declarations = declared(module, path);
    let constants = Constants::evaluate(
        &declarations,
        &SpecValues::default(),
        &mut Diagnostics::new(),
    );
    let of = |id| constants.as_u32(splitbar_passes::module::Id(id));
    let barriers = module
        .instructions()
        .filter(|inst| inst.opcode() == BARRIER);
    barriers
        .map(|inst| {
            [
                of(inst.words[1]),
                of(inst.words[2]),
                of(inst.words[3]).map(|bits| {
                    if bits & 0x10 != 0 {
                        bits & !0x10 | 8
                    } else {
                        bits
                    }
                }),
            ]
        })
        .collect()
}

/// Sites in an open pair that ordering must not leave: OpControlBarriers and ends of the shader.
fn disorder(declarations: &Declarations<'_>) -> usize {
    let mut diagnostics = Diagnostics::new();
    let constants = Constants::evaluate(declarations, &SpecValues::default(), &mut diagnostics);
    let mut found = 0;
    for entry in &declarations.entry_points {
        let pairing = Pairing::analyse(declarations, &constants, entry, &mut diagnostics);
        found += pairing
            .pairs
            .iter()
            .filter(|pair| pair.waits.is_empty())
            .count();
        for site in pairing
            .sites
            .iter()
            .filter(|site| site.kind == SiteKind::ControlBarrier)
        {
            found += usize::from(
                site.execution
                    .is_some_and(|scope| pairing.open_before(scope, site.offset) == Open::Always),
            );
        }
    }
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    found
}

#[test]
fn ordering_leaves_no_barrier_in_an_open_pair() {
    let mut ordered = Vec::new();
    for input in kernels() {
        let module = Module::parse(&input.bytes).unwrap();
        let (inlined, _) = run("inline-barrier-functions", &module, &input.path);
        let before = disorder(&declared(&inlined, &input.path));
        let (after, _) = run("order-split-barriers", &module, &input.path);
        if before > 0 {
            assert_eq!(
                disorder(&declared(&after, &input.path)),
                0,
                "{}",
                input.path
            );
            ordered.push(input.path);
        }
    }
    assert!(
        ordered
            .iter()
            .any(|path| path.contains("arrive_barrier_wait")),
        "{ordered:?}"
    );
    assert!(
        ordered.iter().any(|path| path.contains("dangling_arrive")),
        "{ordered:?}"
    );
}

#[test]
fn alias_is_one_string() {
    for input in kernels() {
        let module = Module::parse(&input.bytes).unwrap();
        for (flag, name) in [
            ("strip-split-barrier-alias=ext", "SPV_EXT_split_barrier"),
            ("strip-split-barrier-alias=intel", "SPV_INTEL_split_barrier"),
        ] {
            let (one, _) = run(flag, &module, &input.path);
            let declarations = declared(&one, &input.path);
            let names: Vec<_> = declarations
                .extensions
                .iter()
                .filter(|name| name.ends_with("_split_barrier"))
                .collect();
            let capabilities = declarations
                .capabilities
                .iter()
                .filter(|(number, _)| *number == 6141)
                .count();
            let used = usize::from(count(&one, ARRIVE) > 0);
            assert_eq!(
                (names, capabilities),
                (vec![&name.to_owned(); used], used),
                "{}",
                input.path
            );
        }
    }
}

/// The entry point calls the function with the barrier, so that it is there twice once barrier
/// functions are inlined, and a pass that brings ids brings other ones into the copy.
#[test]
fn the_order_of_accesses_is_followed_into_inlined_copies() {
    let module = Module::parse(include_bytes!("../../../docs/examples/plain.spv")).unwrap();
    let settings = Settings::default().with_validation(true);
    let steps = ["split-control-barriers", "move-split-barriers"].map(step);
    let outcome = pipeline::run(module.into_owned(), &steps, settings, &mut |_, _| ()).unwrap();
    assert!(outcome.ran.iter().all(|ran| ran.changed));
}

#[test]
fn instrumenting_checks_every_site_once() {
    let flag = "instrument-split-barriers=set:7,binding:31";
    let mut sites = 0;
    for input in all() {
        let module = Module::parse(&input.bytes).unwrap();
        let declarations = declared(&module, &input.path);
        if declarations.has_capability(spirv::Capability::Kernel) {
            continue; // has no descriptors
        }
        let (after, changed) = run(flag, &module, &input.path);
        let split = count(&module, ARRIVE) + count(&module, WAIT);
        assert_eq!(changed, split > 0, "{}", input.path);
        assert_eq!(
            count(&after, ARRIVE) + count(&after, WAIT),
            split,
            "{}",
            input.path
        );
        let mut before = 0;
        for inst in after.instructions() {
            if matches!(inst.opcode(), ARRIVE | WAIT) {
                assert_eq!(before, 57, "a call stands before each site: {}", input.path);
                sites += 1;
            }
            before = inst.opcode();
        }
    }
    assert!(sites > 1000, "{sites} sites");
}

/// Words of function bodies are swapped or replaced, the way that keeps most modules readable:
/// passes may refuse what is left, and must come back.
#[test]
fn damaged_modules_are_refused_or_changed_and_nothing_else() {
    let mut numbers = 0x5eed_u64; // xorshift, Marsaglia 2003
    let mut below = |end: usize| {
        numbers ^= numbers << 13;
        numbers ^= numbers >> 7;
        numbers ^= numbers << 17;
        usize::try_from(numbers % u64::try_from(end).unwrap()).unwrap()
    };
    let (mut ran, mut changed) = (0, 0);
    for input in kernels() {
        let whole = Module::parse(&input.bytes).unwrap();
        let first = whole.instructions().find(|inst| inst.opcode() == 54);
        let first = first.unwrap().offset.index();
        for _ in 0..60 {
            let mut words = whole.words().to_vec();
            for _ in 0..1 + below(3) {
                let at = first + below(words.len() - first);
                let other = first + below(words.len() - first);
                match below(3) {
                    0 => words.swap(at, other),
                    1 => words[at] = words[other],
                    _ => words[at] = u32::try_from(below(400)).unwrap(),
                }
            }
            let Ok(module) = Module::from_words(words) else {
                continue;
            };
            let mut diagnostics = Diagnostics::new();
            let declarations = Declarations::new(&module, &mut diagnostics);
            if diagnostics.has_errors() {
                continue;
            }
            for flag in FLAGS.iter().chain(INSTRUMENTS) {
                let edited = attempt(flag, &declarations);
                ran += 1;
                changed += usize::from(matches!(edited, Ok(Some(_))));
            }
        }
    }
    assert!(
        ran > 1000 && changed > 300,
        "the damage is too heavy to test anything: {ran} {changed}"
    );
}
