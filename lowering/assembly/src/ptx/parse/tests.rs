//! Tests of whole texts, and of the positions of syntax errors.

use super::super::syntax::{Base, Initial, Operand, What};
use super::module as parse;
use pretty_assertions::assert_eq;

const KERNEL: &str = "\
.version 8.6
.target sm_90, debug
.address_size 64
.weak .const .align 4 .u32 guard = 1;
.extern .shared .align 16 .b8 dynamic[];
.global .align 8 .b32 table[4] = {1, -2, 3};
.extern .func  (.param .b64 func_retval0) helper
(
\t.param .b64 helper_param_0
)
;
.visible .entry k(
\t.param .u64 .ptr .global .align 1 k_param_0,
\t.param .align 16 .b8 k_param_1[12]
)
.reqntid 16, 4
{
\t.reg .pred \t%p<9>;
\t.shared .align 8 .u64 mb;
$L__BB0_0:
\t.loc\t1 8 0
\t@!%p1 bra \t$L__BB0_0;
\tld.shared.v4.b32 \t{%r1, _, %r2, %r3}, [%rd4+-256];
\tmov.b64 \t%rd1, mb+8;
\t{ // callseq 0, 0
\tcall.uni (retval0),
\thelper,
\t(
\tparam0
\t);
\t}
\t$L_brx_0: .branchtargets
\t\t$L__BB0_0,
\t\t$L__BB0_0;
\tsetp.eq.and.b32 %p1|%p2, %r1, 0f3F800000, !%p3;
\tret;
}
.section .debug_info { .b8 1, 2 }
";

#[test]
fn declarations() {
    let module = parse(KERNEL).unwrap();
    assert_eq!(module.version, Some((8, 6)));
    assert_eq!(module.target, Some("sm_90"));
    assert_eq!(module.declared, ["helper"]);
    let names: Vec<_> = module
        .variables
        .iter()
        .map(|v| (v.name, v.external, v.elements, v.align))
        .collect();
    assert_eq!(
        names,
        [
            ("guard", false, None, Some(4)),
            ("dynamic", true, Some(0), Some(16)),
            ("table", false, Some(4), Some(8))
        ]
    );
    assert_eq!(
        module.variables[2].initial,
        [
            Initial::Bits(1),
            Initial::Bits(2u64.wrapping_neg()),
            Initial::Bits(3)
        ]
    );
    let kernel = &module.functions[0];
    assert!(kernel.entry);
    assert_eq!(kernel.required, Some([16, 4, 1]));
    assert_eq!(kernel.parameters[1].elements, Some(12));
}

#[test]
fn statements() {
    let module = parse(KERNEL).unwrap();
    let body = &module.functions[0].body;
    let instructions: Vec<_> = body
        .iter()
        .filter_map(|s| match &s.what {
            What::Instruction(i) => Some((s.line, i)),
            _ => None,
        })
        .collect();
    let (line, branch) = instructions[0];
    assert_eq!((line, branch.guard), (22, Some(("%p1", true))));
    assert_eq!(branch.text, "$L__BB0_0");
    assert!(
        body.iter()
            .any(|s| matches!(s.what, What::Location("1 8 0")))
    );
    assert_eq!(
        instructions[1].1.operands,
        [
            Operand::List(vec![
                Operand::Name("%r1", 0),
                Operand::Nothing,
                Operand::Name("%r2", 0),
                Operand::Name("%r3", 0)
            ]),
            Operand::Address(Base::Name("%rd4"), -256)
        ]
    );
    assert_eq!(instructions[2].1.operands[1], Operand::Name("mb", 8));
    assert_eq!(instructions[3].1.operands.len(), 3);
    assert_eq!(
        instructions[4].1.operands,
        [
            Operand::Pair("%p1", "%p2"),
            Operand::Name("%r1", 0),
            Operand::Single(0x3f80_0000),
            Operand::Not("%p3")
        ]
    );
    assert!(
        body.iter()
            .any(|s| matches!(&s.what, What::BranchTargets("$L_brx_0", t) if t.len() == 2))
    );
}

#[test]
fn what_is_not_ptx_is_an_error_with_its_line() {
    for (text, line) in [
        ("hello", 1),
        (".visible .entry k()\n{\n ret", 3),
        (".entry k() { 5; }", 1),
        (".entry k(.param) {}", 1),
        (".global .u32 x = ;", 1),
        ("\n.entry k() {\n .reg .b32 %r<99999999999>; }", 3),
    ] {
        assert_eq!(
            parse(text).map(|_| ()).map_err(|p| p.line),
            Err(line),
            "{text}"
        );
    }
}
