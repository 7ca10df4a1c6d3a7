//! Tests of the emitter's core: layouts, arguments and hidden parameters, control flow, barrier
//! steps, lines, and how problems are reported.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::lower;
use crate::lowered::Lowered;
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use spirv::{
    AddressingModel, Capability, Decoration, ExecutionModel, FunctionControl, MemoryModel,
    StorageClass, Word,
};
use splitbar_layout::abi::{AbiForm, ArgumentKind};
use splitbar_layout::{Kernel, KernelOptions};
use splitbar_passes::analysis::program::Program;
use splitbar_passes::diagnostic::{Code, Diagnostics};
use splitbar_passes::module::{Constants, Declarations, Module, SpecValues};
use splitbar_passes::validate::{Checked, Inlined, Validation};
use splitbar_plan::Optimization;
use splitbar_plan::backend::LoweredModule as _;
use splitbar_plan::backend::{DebugLines, LowerInput, LowerKernel};
use splitbar_plan::faults::Guards;
use splitbar_plan::{PlanOptions, Target, plan};

const MATMUL: &[u8] = include_bytes!("../../../../fixtures/kernels/tiled_matmul/tiled_matmul.spv");

/// Lowers with debug lines or without, at -O2.
fn lowered(module: &Module<'_>, target: &str, lines: bool) -> Result<Lowered, Diagnostics> {
    lowered_at(module, target, lines, Optimization::O2)
}

/// Lowers all entry points of `module`.
pub(crate) fn lowered_at(
    module: &Module<'_>,
    target: &str,
    lines: bool,
    optimization: Optimization,
) -> Result<Lowered, Diagnostics> {
    lowered_with(module, target, lines, optimization, false)
}

/// As [`lowered_at`], with divisions and roots that are correctly rounded or not.
pub(crate) fn lowered_with(
    module: &Module<'_>,
    target: &str,
    lines: bool,
    optimization: Optimization,
    correctly_rounded: bool,
) -> Result<Lowered, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let declarations = Declarations::new(module, &mut diagnostics);
    let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut diagnostics);
    let target = Target::by_name(target).unwrap();
    let inlined = Inlined::new(&declarations)?;
    let program = Program::new(&declarations, &constants);
    let mut kernels = Vec::new();
    for entry in &declarations.entry_points {
        let wanted = KernelOptions::default();
        kernels.push(Kernel::analyze(&program, entry, target, wanted, &mut diagnostics).unwrap());
    }
    let plans: Vec<_> = kernels
        .iter()
        .map(|kernel| plan(kernel, PlanOptions::default(), &mut diagnostics))
        .collect();
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    let (checked, _) = Checked::validate(&inlined, &program, Validation::Waived)?;
    let pairs = kernels.iter().zip(&plans);
    let pairs: Vec<LowerKernel<'_>> = pairs
        .map(|(kernel, plan)| LowerKernel { kernel, plan })
        .collect();
    let input = LowerInput {
        module: checked,
        source_map: None,
        target,
        kernels: &pairs,
        lines: if lines {
            DebugLines::All
        } else {
            DebugLines::None
        },
        optimization,
        abi: &AbiForm::Arguments,
        late_windows: None,
        correctly_rounded,
        calls: false,
        guards: Guards::default(),
    };
    lower(&input, None)
}

/// The lines of `text` that hold one of `words`, each as the word that it holds.
fn order<'w>(text: &str, words: &[&'w str]) -> Vec<&'w str> {
    text.lines()
        .filter_map(|line| words.iter().copied().find(|word| line.contains(word)))
        .collect()
}

/// A shader with the types that the tests need; its main function is open.
struct Shader {
    b: Builder,
    void: Word,
    u32: Word,
    f32: Word,
    main: Word,
}

impl Shader {
    fn new() -> Shader {
        let mut b = Builder::new();
        b.set_version(1, 5);
        b.capability(Capability::Shader);
        b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
        let (void, u32, f32) = (b.type_void(), b.type_int(32, 0), b.type_float(32, None));
        Shader {
            b,
            void,
            u32,
            f32,
            main: 0,
        }
    }

    fn u(&mut self, value: u32) -> Word {
        self.b.constant_bit32(self.u32, value)
    }

    /// A block `{ members }` at these offsets, as a buffer variable.
    fn buffer(&mut self, members: &[(Word, u32)], binding: u32) -> (Word, Word) {
        let block = self.b.type_struct(members.iter().map(|m| m.0));
        self.b.decorate(block, Decoration::Block, []);
        for (index, (_, offset)) in members.iter().enumerate() {
            self.b.member_decorate(
                block,
                index as u32,
                Decoration::Offset,
                [Operand::LiteralBit32(*offset)],
            );
        }
        let pointer = self
            .b
            .type_pointer(None, StorageClass::StorageBuffer, block);
        let variable = self
            .b
            .variable(pointer, None, StorageClass::StorageBuffer, None);
        self.b.decorate(
            variable,
            Decoration::DescriptorSet,
            [Operand::LiteralBit32(0)],
        );
        self.b.decorate(
            variable,
            Decoration::Binding,
            [Operand::LiteralBit32(binding)],
        );
        (variable, block)
    }

    fn runtime_array(&mut self) -> Word {
        let array = self.b.type_runtime_array(self.u32);
        self.b
            .decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
        array
    }

    fn begin_main(&mut self) {
        let ty = self.b.type_function(self.void, []);
        self.main = self
            .b
            .begin_function(self.void, None, FunctionControl::NONE, ty)
            .unwrap();
        self.b
            .entry_point(ExecutionModel::GLCompute, self.main, "main", []);
        self.b
            .execution_mode(self.main, spirv::ExecutionMode::LocalSize, [64, 1, 1]);
        self.b.begin_block(None).unwrap();
    }

    fn end(mut self) -> Module<'static> {
        self.b.ret().unwrap();
        self.b.end_function().unwrap();
        Module::from_words(self.b.module().assemble()).unwrap()
    }
}

#[test]
fn matrix_members_lie_where_their_decorations_say() {
    for (row_major, expected) in [(true, 16 + 2 * 32 + 4), (false, 16 + 32 + 2 * 4)] {
        let mut s = Shader::new();
        let column = s.b.type_vector(s.f32, 3);
        let matrix = s.b.type_matrix(column, 2);
        let (variable, block) = s.buffer(&[(s.u32, 0), (matrix, 16)], 0);
        s.b.member_decorate(
            block,
            1,
            Decoration::MatrixStride,
            [Operand::LiteralBit32(32)],
        );
        s.b.member_decorate(
            block,
            1,
            if row_major {
                Decoration::RowMajor
            } else {
                Decoration::ColMajor
            },
            [],
        );
        s.begin_main();
        let (one, two) = (s.u(1), s.u(2));
        let element = s.b.type_pointer(None, StorageClass::StorageBuffer, s.f32);
        let place =
            s.b.access_chain(element, None, variable, [one, one, two])
                .unwrap();
        let value = s.b.constant_bit32(s.f32, 1.0f32.to_bits());
        s.b.store(place, value, None, []).unwrap();
        let ir = lowered(&s.end(), "gfx1201", false).unwrap().ir();
        assert!(
            ir.contains(&format!("i64 {expected}")),
            "row major {row_major}:\n{ir}"
        );
    }
}

#[test]
fn a_row_major_matrix_is_loaded_transposed() {
    let mut s = Shader::new();
    let column = s.b.type_vector(s.f32, 2);
    let matrix = s.b.type_matrix(column, 2);
    let (variable, block) = s.buffer(&[(matrix, 0), (s.f32, 64)], 0);
    s.b.member_decorate(
        block,
        0,
        Decoration::MatrixStride,
        [Operand::LiteralBit32(16)],
    );
    s.b.member_decorate(block, 0, Decoration::RowMajor, []);
    s.begin_main();
    let (zero, one) = (s.u(0), s.u(1));
    let whole = s.b.type_pointer(None, StorageClass::StorageBuffer, matrix);
    let element = s.b.type_pointer(None, StorageClass::StorageBuffer, s.f32);
    let from = s.b.access_chain(whole, None, variable, [zero]).unwrap();
    let value = s.b.load(matrix, None, from, None, []).unwrap();
    // Column 1, row 0: the second word of the first row.
    let part = s.b.composite_extract(s.f32, None, value, [1, 0]).unwrap();
    let to = s.b.access_chain(element, None, variable, [one]).unwrap();
    s.b.store(to, part, None, []).unwrap();
    let ir = lowered(&s.end(), "sm_90", false).unwrap().ir();
    let loads = ir.lines().filter(|l| l.contains("load float")).count();
    assert!(
        loads == 1 && ir.contains("i64 4\n") && ir.contains("i64 64\n"),
        "{ir}"
    );
}

#[test]
fn functions_get_what_their_callees_use() {
    let mut s = Shader::new();
    let array = s.runtime_array();
    let (data, _) = s.buffer(&[(array, 0)], 3);
    let (other, _) = s.buffer(&[(array, 0)], 1);
    let private = s.b.type_pointer(None, StorageClass::Private, s.u32);
    let counter = s.b.variable(private, None, StorageClass::Private, None);
    let element = s.b.type_pointer(None, StorageClass::StorageBuffer, s.u32);
    // inner() stores the length of `data` through a private variable; outer() only calls it.
    let ty = s.b.type_function(s.void, []);
    let inner =
        s.b.begin_function(s.void, None, FunctionControl::NONE, ty)
            .unwrap();
    s.b.begin_block(None).unwrap();
    let length = s.b.array_length(s.u32, None, data, 0).unwrap();
    s.b.store(counter, length, None, []).unwrap();
    s.b.ret().unwrap();
    s.b.end_function().unwrap();
    let outer =
        s.b.begin_function(s.void, None, FunctionControl::NONE, ty)
            .unwrap();
    s.b.begin_block(None).unwrap();
    s.b.function_call(s.void, None, inner, []).unwrap();
    s.b.ret().unwrap();
    s.b.end_function().unwrap();
    s.begin_main();
    s.b.function_call(s.void, None, outer, []).unwrap();
    let value = s.b.load(s.u32, None, counter, None, []).unwrap();
    let zero = s.u(0);
    let place =
        s.b.access_chain(element, None, other, [zero, zero])
            .unwrap();
    s.b.store(place, value, None, []).unwrap();
    let lowered = lowered(&s.end(), "gfx942", false).unwrap();
    let abi = &lowered.kernels()[0];
    let arguments: Vec<_> = abi
        .arguments
        .iter()
        .map(|a| (a.kind, a.binding, a.offset, a.size))
        .collect();
    assert_eq!(
        arguments,
        [
            (ArgumentKind::GlobalBuffer, Some(1), 0, 8),
            (ArgumentKind::GlobalBuffer, Some(3), 8, 8),
            (ArgumentKind::ArrayLength, Some(3), 16, 4)
        ]
    );
    let ir = lowered.ir();
    assert!(
        ir.contains("lshr i32 %2, 2"),
        "the length in bytes over the stride:\n{ir}"
    );
    assert!(!ir.contains("alloca"), "{ir}");
}

#[test]
fn a_switch_may_name_a_block_twice() {
    let mut s = Shader::new();
    let array = s.runtime_array();
    let (data, _) = s.buffer(&[(array, 0)], 0);
    let element = s.b.type_pointer(None, StorageClass::StorageBuffer, s.u32);
    s.begin_main();
    let (zero, one, two) = (s.u(0), s.u(1), s.u(2));
    let place = s.b.access_chain(element, None, data, [zero, zero]).unwrap();
    let selector = s.b.load(s.u32, None, place, None, []).unwrap();
    let entry = s.b.selected_block().unwrap();
    let entry = s.b.module_ref().functions[0].blocks[entry]
        .label_id()
        .unwrap();
    let (other, join) = (s.b.id(), s.b.id());
    s.b.selection_merge(join, spirv::SelectionControl::NONE)
        .unwrap();
    s.b.switch(
        selector,
        other,
        [
            (Operand::LiteralBit32(4), join),
            (Operand::LiteralBit32(9), join),
            (Operand::LiteralBit32(10), other),
        ],
    )
    .unwrap();
    s.b.begin_block(Some(other)).unwrap();
    s.b.branch(join).unwrap();
    s.b.begin_block(Some(join)).unwrap();
    let value = s.b.phi(s.u32, None, [(one, entry), (two, other)]).unwrap();
    s.b.store(place, value, None, []).unwrap();
    let ir = lowered(&s.end(), "sm_60", false).unwrap().ir();
    assert!(ir.contains("i32 %2, 4") && ir.contains("i32 %2, 9"), "{ir}");
}

#[test]
fn every_problem_is_reported_once() {
    let mut s = Shader::new();
    let array = s.runtime_array();
    let (data, _) = s.buffer(&[(array, 0)], 0);
    let element = s.b.type_pointer(None, StorageClass::StorageBuffer, s.u32);
    s.begin_main();
    let zero = s.u(0);
    let place = s.b.access_chain(element, None, data, [zero, zero]).unwrap();
    let x = s.b.load(s.u32, None, place, None, []).unwrap();
    let f = s.b.bitcast(s.f32, None, x).unwrap();
    // The entry point has no derivative group; what uses their results must not be reported again.
    let a = s.b.d_pdx(s.f32, None, f).unwrap();
    let b = s.b.d_pdy(s.f32, None, f).unwrap();
    let sum = s.b.f_add(s.f32, None, a, b).unwrap();
    let bits = s.b.bitcast(s.u32, None, sum).unwrap();
    s.b.store(place, bits, None, []).unwrap();
    let problems = lowered(&s.end(), "gfx1100", false).err().unwrap();
    let codes: Vec<_> = problems
        .iter()
        .map(|p| (p.code, p.message.as_str()))
        .collect();
    let (dx, dy) = (
        "OpDPdx is not lowered: the entry point has no derivative group",
        "OpDPdy is not lowered: the entry point has no derivative group",
    );
    assert_eq!(
        codes,
        [
            (Code::UnsupportedInstruction, dx),
            (Code::UnsupportedInstruction, dy)
        ]
    );
}

#[test]
fn the_native_window_is_fenced_on_both_sides() {
    let module = Module::parse(MATMUL).unwrap();
    let assembly = lowered(&module, "gfx1201", false)
        .unwrap()
        .assembly()
        .unwrap();
    let seen = order(
        &assembly,
        &[
            "s_barrier_signal",
            "s_barrier_wait",
            "v_dual_fmac",
            "v_fmac",
            "global_inv",
            "s_wait_loadcnt 0x0",
        ],
    );
    let signal = seen.iter().rposition(|w| *w == "s_barrier_signal").unwrap();
    let wait = seen.iter().rposition(|w| *w == "s_barrier_wait").unwrap();
    assert!(
        wait > signal + 50,
        "the arithmetic stands in the window: {seen:?}"
    );
    assert!(
        seen[signal + 1..wait].iter().all(|w| w.contains("fmac")),
        "nothing but arithmetic in the window: {seen:?}"
    );
    assert!(
        !seen[wait..].contains(&"global_inv"),
        "workgroup memory alone needs no cache operation: {seen:?}"
    );
}

#[test]
fn the_mbarrier_window_has_a_guard_at_each_end() {
    let module = Module::parse(MATMUL).unwrap();
    let lowered = lowered(&module, "sm_90", false).unwrap();
    assert!(
        !lowered.ir().contains("call void @splitbar"),
        "all barrier functions are expanded"
    );
    let ptx = lowered.assembly().unwrap();
    let seen = order(
        &ptx,
        &[
            "mbarrier.arrive",
            "mbarrier.try_wait",
            "fma.rn",
            "trap;",
            "st.volatile.shared",
        ],
    );
    let from = seen.iter().position(|w| *w == "mbarrier.arrive").unwrap();
    let to = seen.iter().position(|w| *w == "mbarrier.try_wait").unwrap();
    let mut window = seen[from + 1..to].to_vec();
    window.dedup();
    assert_eq!(
        window,
        ["trap;", "fma.rn", "st.volatile.shared", "trap;"],
        "the second guard holds what the window leaves"
    );
}

#[test]
fn lines_change_no_code() {
    let module = Module::parse(MATMUL).unwrap();
    for target in ["gfx1201", "sm_80"] {
        let [plain, with] =
            [false, true].map(|lines| lowered(&module, target, lines).unwrap().assembly().unwrap());
        assert!(with.contains(".loc") && !plain.contains(".loc"));
        let code = |text: &str| -> Vec<String> {
            let mnemonics = [
                "s_", "v_", "ds_", "global_", "ld.", "st.", "fma", "mbarrier", "bar.", "add",
                "mul", "setp", "@",
            ];
            let lines = text
                .lines()
                .map(str::trim)
                .filter(|l| mnemonics.iter().any(|m| l.starts_with(m)));
            lines
                .map(|l| l.split([';', '/']).next().unwrap_or("").trim().to_owned())
                .collect()
        };
        assert_eq!(code(&plain), code(&with), "{target}");
    }
}

#[test]
fn what_does_not_dominate_its_use_is_the_modules_fault() {
    let mut s = Shader::new();
    let array = s.runtime_array();
    let (data, _) = s.buffer(&[(array, 0)], 0);
    let element = s.b.type_pointer(None, StorageClass::StorageBuffer, s.u32);
    let boolean = s.b.type_bool();
    s.begin_main();
    let (zero, one) = (s.u(0), s.u(1));
    let place = s.b.access_chain(element, None, data, [zero, zero]).unwrap();
    let x = s.b.load(s.u32, None, place, None, []).unwrap();
    let condition = s.b.i_equal(boolean, None, x, one).unwrap();
    let (then, join) = (s.b.id(), s.b.id());
    s.b.selection_merge(join, spirv::SelectionControl::NONE)
        .unwrap();
    s.b.branch_conditional(condition, then, join, []).unwrap();
    s.b.begin_block(Some(then)).unwrap();
    let only_then = s.b.i_add(s.u32, None, x, one).unwrap();
    s.b.branch(join).unwrap();
    s.b.begin_block(Some(join)).unwrap();
    s.b.store(place, only_then, None, []).unwrap();
    let problems = lowered(&s.end(), "gfx1100", false).err().unwrap();
    assert_eq!(
        problems.iter().map(|p| p.code).collect::<Vec<_>>(),
        [Code::UndominatedUse]
    );
}

#[test]
fn every_line_is_that_of_an_instruction() {
    let module = Module::parse(MATMUL).unwrap();
    for target in ["gfx1201", "sm_80", "sm_90"] {
        let text = lowered(&module, target, true).unwrap().assembly().unwrap();
        let lines = text.lines().filter_map(|line| {
            let place = line.trim().strip_prefix(".loc")?;
            place.split_whitespace().nth(1)?.parse::<u32>().ok()
        });
        let known: Vec<u32> = (module.instructions())
            .map(|instruction| instruction.offset.get() + 1)
            .collect();
        let mut count = 0;
        for line in lines.filter(|line| *line > 0) {
            assert!(
                known.contains(&line),
                "{target}: no instruction is at {line}"
            );
            count += 1;
        }
        assert!(count > 50, "{target}: {count} lines");
    }
}
