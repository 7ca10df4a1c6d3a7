//! The pass that measures how far apart subgroups arrive: what it leaves, and what it refuses.

use super::support::{self, all, count, declared, kernels, run, step};
use splitbar_passes::diagnostic::{Code, Diagnostics};
use splitbar_passes::module::{Constants, Declarations, Inst, Module, Scope, SpecValues};
use splitbar_passes::pipeline::{self, Settings};
use splitbar_passes::profile::layout::{MAGIC, RECORD_WORDS, VERSION};
use splitbar_passes::profile::{Gpu, module_hash};

const FLAG: &str = "instrument-barrier-skew=set:7,binding:31";

const CONSTANT: u16 = 43;
const CALL: u16 = 57;
const STORE: u16 = 62;
const BARRIER: u16 = 224;
const ELECT: u16 = 333;
const CLOCK: u16 = 5056;
const ARRIVE: u16 = 6142;
const WAIT: u16 = 6143;

fn kernel(name: &str) -> Module<'static> {
    let end = format!("/{name}.spv");
    let input = kernels()
        .into_iter()
        .find(|input| input.path.ends_with(&end));
    Module::parse(&input.unwrap().bytes).unwrap().into_owned()
}

/// Runs the pass; the first problem where it refuses.
fn attempt(module: &Module<'_>, set: u32) -> Result<Option<Module<'static>>, Code> {
    let flag = format!("instrument-barrier-skew=set:{set},binding:31");
    match support::attempt(&flag, &declared(module, "a module")) {
        Ok(edited) => Ok(edited.map(|edited| edited.module)),
        Err(problems) => Err(problems.iter().next().unwrap().code),
    }
}

/// Opcodes and operands of the instructions of functions.
fn bodies<'m>(module: &'m Module<'_>) -> Vec<Inst<'m>> {
    let is_function = |inst: &Inst<'_>| inst.opcode() == 54;
    module
        .instructions()
        .skip_while(|inst| !is_function(inst))
        .collect()
}

/// Word offsets of the barriers of scope Workgroup with `opcode`.
fn of_workgroup(declarations: &Declarations<'_>, opcode: u16) -> Vec<u32> {
    let constants = Constants::evaluate(
        declarations,
        &SpecValues::default(),
        &mut Diagnostics::new(),
    );
    let insts = declarations.module.instructions();
    insts
        .filter(|inst| inst.opcode() == opcode)
        .filter(|inst| {
            let scope = Scope::evaluate(inst.id(0).unwrap(), *inst, &constants);
            scope == Ok(Scope::Workgroup)
        })
        .map(|inst| inst.offset.get())
        .collect()
}

/// The value of a 32-bit constant.
fn value(module: &Module<'_>, id: u32) -> u32 {
    let def = module.def(splitbar_passes::module::Id(id)).unwrap();
    assert_eq!(def.opcode(), CONSTANT);
    def.words[3]
}

/// A kernel with a full barrier and a pair in a loop, one with two pairs in a loop, one whose pair
/// goes across functions: each barrier has its clocks, and its record its own place.
#[test]
fn each_barrier_has_its_clocks_and_its_place() {
    for (name, arrives, waits, barriers) in [
        ("tiled_matmul", 1, 1, 1),
        ("tiled_matmul_double_buffered", 2, 2, 0),
        ("split_functions", 1, 1, 0),
    ] {
        let module = kernel(name);
        let before = declared(&module, name);
        let (after, changed) = run(FLAG, &module, name);
        assert!(changed, "{name}");
        let (mut arrived, mut recorded) = (Vec::new(), Vec::new());
        let insts = bodies(&after);
        for (at, inst) in insts.iter().enumerate() {
            let opcodes = |range: std::ops::Range<usize>| -> Vec<u16> {
                insts[range].iter().map(|inst| inst.opcode()).collect()
            };
            match inst.opcode() {
                ARRIVE => {
                    assert_eq!(opcodes(at - 3..at), [STORE, CLOCK, STORE], "{name}");
                    arrived.push(value(&after, insts[at - 3].words[2]));
                }
                WAIT | BARRIER => {
                    assert_eq!(insts[at - 1].opcode(), CLOCK, "{name}");
                    assert_eq!(insts[at + 1].opcode(), CLOCK, "{name}");
                    let is_call = |inst: &&Inst<'_>| inst.opcode() == CALL;
                    let call = insts[at..].iter().find(is_call).unwrap();
                    recorded.push(value(&after, call.words[5]));
                    assert_eq!(call.words[7], insts[at - 1].words[2], "{name}: before it");
                    assert_eq!(call.words[8], insts[at + 1].words[2], "{name}: behind it");
                    let is_full = call.words[4] == call.words[5];
                    assert_eq!(is_full, inst.opcode() == BARRIER, "{name}");
                }
                _ => {}
            }
        }
        assert_eq!(arrived, of_workgroup(&before, ARRIVE), "{name}");
        let mut measured = of_workgroup(&before, WAIT);
        measured.extend(of_workgroup(&before, BARRIER));
        measured.sort_unstable();
        assert_eq!(recorded, measured, "{name}");
        assert_eq!((arrived.len(), recorded.len()), (arrives, waits + barriers));
        assert_eq!(count(&after, ELECT), 1, "{name}");
        let numbers = |wanted: u32| {
            let constants = after
                .instructions()
                .filter(|inst| inst.opcode() == CONSTANT);
            constants.filter(|inst| inst.words[3..] == [wanted]).count()
        };
        let hash = module_hash(&module);
        for wanted in [
            MAGIC,
            VERSION,
            RECORD_WORDS,
            hash as u32,
            (hash >> 32) as u32,
        ] {
            assert!(numbers(wanted) > 0, "{name}: {wanted:#x}");
        }
    }
}

/// The first record writes the words of the target, if there is one, and no others.
#[test]
fn the_header_names_the_target_that_is_given() {
    let module = kernel("reduction");
    let [kind, number] = Gpu::new("gfx90a", 64).unwrap().words();
    for (flag, is_there) in [
        (FLAG.to_owned(), false),
        (format!("{FLAG},target:gfx90a,wave:64"), true),
    ] {
        let (after, changed) = run(&flag, &module, "reduction");
        assert!(changed);
        let constants = || {
            after
                .instructions()
                .filter(|inst| inst.opcode() == CONSTANT)
        };
        for word in [kind, number] {
            let has = constants().any(|inst| inst.words[3..] == [word]);
            assert_eq!(has, is_there, "{flag}: {word:#x}");
        }
    }
}

/// Barriers of a subgroup are left alone.
#[test]
fn only_barriers_of_the_workgroup_are_measured() {
    let module = kernel("subgroup_and_workgroup");
    let (after, _) = run(FLAG, &module, "subgroup_and_workgroup");
    assert_eq!((count(&module, ARRIVE), count(&module, WAIT)), (2, 2));
    assert_eq!(count(&after, CLOCK), 3, "one pair");
}

#[test]
fn the_rules_hold_afterwards() {
    let steps = [step("instrument-barrier-skew=set:7,binding:31")];
    let settings = Settings::default().with_validation(true);
    let mut changed = 0;
    for input in kernels() {
        let module = Module::parse(&input.bytes).unwrap().into_owned();
        if declared(&module, &input.path).has_capability(spirv::Capability::Kernel) {
            continue; // has no descriptors
        }
        let outcome = pipeline::run(module, &steps, settings, &mut |_, _| {});
        let outcome = outcome.unwrap_or_else(|problems| panic!("{}: {problems}", input.path));
        changed += outcome.ran.iter().filter(|ran| ran.changed).count();
    }
    assert!(changed > 20, "{changed} kernels");
}

#[test]
fn real_modules_are_measured_or_refused() {
    let (mut measured, mut refused) = (0, 0);
    for input in all() {
        let module = Module::parse(&input.bytes).unwrap();
        let declarations = declared(&module, &input.path);
        let [arrives, waits, barriers] =
            [ARRIVE, WAIT, BARRIER].map(|opcode| of_workgroup(&declarations, opcode).len());
        let is_kernel = declarations.has_capability(spirv::Capability::Kernel);
        match attempt(&module, 7) {
            Ok(None) => assert_eq!(waits + barriers, 0, "{}", input.path),
            Ok(Some(after)) => {
                measured += 1;
                let clocks = count(&after, CLOCK) - count(&module, CLOCK);
                assert_eq!(clocks, arrives + 2 * (waits + barriers), "{}", input.path);
                run(FLAG, &module, &input.path);
            }
            Err(Code::UnsupportedCapability) => {
                refused += 1;
                let is_old = module.header().version < 0x0001_0300;
                assert!(is_kernel || is_old, "{}", input.path);
            }
            Err(code) => panic!("{}: {code}", input.path),
        }
    }
    assert!(
        measured > 50 && refused > 50,
        "{measured}, {refused} refused"
    );
}

/// At another place than the first time the module is measured anew.
#[test]
fn a_place_that_is_taken_is_refused() {
    let module = kernel("tiled_matmul");
    let first = attempt(&module, 7).unwrap().unwrap();
    assert!(attempt(&first, 7).unwrap().is_none());
    assert!(attempt(&first, 6).unwrap().is_some());
    let flag = "instrument-barrier-skew=set:0,binding:0";
    let problems = support::attempt(flag, &declared(&module, "tiled_matmul"));
    let code = problems.unwrap_err().iter().next().unwrap().code;
    assert_eq!(code, Code::UnsupportedInstruction);
}
