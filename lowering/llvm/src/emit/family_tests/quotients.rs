//! Quotients and square roots: how exact they are in each environment.

use super::*;
use crate::emit::core_tests::lowered_with;
use spirv::ExecutionMode as Mode;

/// The division and the root of 32 bits in the IR of a shader with `modes`.
fn lines(modes: &[Mode], target: &str, rounded: bool) -> [String; 2] {
    let mut s = Shader::new();
    let main = s.b.module_ref().entry_points[0].operands[1].unwrap_id_ref();
    for mode in modes {
        s.b.execution_mode(main, *mode, [32]);
    }
    let (x, y) = (s.load_f(), s.load_f());
    let quotient = s.b.f_div(s.f32, None, x, y).unwrap();
    let root = s.ext(s.f32, Glsl::Sqrt, &[quotient]);
    s.store_bits(root);
    let module = Module::from_words(s.words()).unwrap();
    let lowered = lowered_with(&module, target, false, Optimization::O2, rounded).unwrap();
    let ir = lowered.unoptimized();
    ["div", "sqrt"].map(|word| {
        let line = ir
            .lines()
            .find(|line| line.contains(" = ") && line.contains(word) && line.contains("float %"));
        line.unwrap_or_else(|| panic!("{ir}")).trim().to_owned()
    })
}

#[test]
fn vulkan_allows_the_reciprocal() {
    for target in ["gfx906", "gfx1201", "sm_80"] {
        let [quotient, root] = lines(&[], target, false);
        assert!(quotient.contains("fdiv contract afn float"), "{quotient}");
        assert!(root.contains("afn float @llvm.sqrt"), "{root}");
    }
}

#[test]
fn what_is_to_be_kept_is_bounded() {
    for mode in [Mode::DenormPreserve, Mode::SignedZeroInfNanPreserve] {
        let [quotient, root] = lines(&[mode], "gfx1201", false);
        assert!(quotient.contains("fdiv") && quotient.contains("!fpmath"));
        assert!(root.contains("llvm.sqrt") && root.contains("!fpmath"));
        assert!(!quotient.contains("afn") && !root.contains("afn"));
        let [quotient, root] = lines(&[mode], "sm_80", false);
        assert!(quotient.contains("@llvm.nvvm.div.full("), "{quotient}");
        assert!(root.contains("@llvm.nvvm.sqrt.approx.f("), "{root}");
    }
}

#[test]
fn a_rounding_mode_and_the_option_ask_for_rounded_ones() {
    for (modes, rounded) in [(&[Mode::RoundingModeRTE][..], false), (&[], true)] {
        for target in ["gfx1201", "sm_80"] {
            for line in lines(modes, target, rounded) {
                assert!(!line.contains("afn") && !line.contains("fpmath"), "{line}");
                assert!(!line.contains("nvvm"), "{line}");
            }
        }
    }
}

/// The IR of a shader with `modes` that computes an exponential, a logarithm and a power.
fn exponentials(modes: &[Mode], target: &str) -> String {
    let mut s = Shader::new();
    let main = s.b.module_ref().entry_points[0].operands[1].unwrap_id_ref();
    for mode in modes {
        s.b.execution_mode(main, *mode, [32]);
    }
    let (x, y) = (s.load_f(), s.load_f());
    let e = s.ext(s.f32, Glsl::Exp, &[x]);
    let log = s.ext(s.f32, Glsl::Log, &[y]);
    let power = s.ext(s.f32, Glsl::Pow, &[e, log]);
    s.store_bits(power);
    let module = Module::from_words(s.words()).unwrap();
    let lowered = lowered_with(&module, target, false, Optimization::O2, false).unwrap();
    lowered.unoptimized().to_owned()
}

/// Where subnormal numbers may be flushed, exponentials and logarithms are AMD's instructions.
#[test]
fn exponentials_flush_what_vulkan_lets_them_flush() {
    for target in ["gfx906", "gfx1201"] {
        let ir = exponentials(&[], target);
        let calls = |name: &str| {
            let called = format!("@llvm.{name}");
            let lines = ir.lines().filter(|line| line.contains(" = "));
            lines.filter(|line| line.contains(&called)).count()
        };
        assert_eq!((calls("amdgcn.exp2"), calls("amdgcn.log")), (2, 2), "{ir}");
        assert_eq!((calls("exp"), calls("log")), (0, 0), "{ir}");
        let ir = exponentials(&[Mode::DenormPreserve], target);
        assert!(!ir.contains("llvm.amdgcn.exp2") && !ir.contains("llvm.amdgcn.log"));
        for name in ["exp.", "log.", "exp2.", "log2."] {
            assert!(ir.contains(&format!("@llvm.{name}f32(")), "{name}: {ir}");
        }
    }
}
