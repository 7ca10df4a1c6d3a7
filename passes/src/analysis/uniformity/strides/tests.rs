//! Random expressions over the ids, for every workgroup and every invocation of it.

use super::*;
use crate::analysis::uniformity::arithmetic;
use proptest::prelude::*;
use spirv::Op as S;

const OPS: &[S] = &[
    S::IAdd,
    S::ISub,
    S::IMul,
    S::UDiv,
    S::UMod,
    S::SDiv,
    S::SRem,
    S::SMod,
    S::ShiftLeftLogical,
    S::ShiftRightLogical,
    S::ShiftRightArithmetic,
    S::BitwiseAnd,
    S::BitwiseOr,
    S::BitwiseXor,
];

/// Bits of the numbers: few, so that everything wraps around.
const WIDTH: u32 = 8;
const WIDE: u32 = 12;

/// A value in all executions: by execution, by invocation.
type Values = Vec<Vec<Option<u64>>>;

/// What the analysis says of a value, its width, and its values.
#[derive(Clone, Debug)]
struct Known {
    form: Option<Form>,
    width: u32,
    values: Values,
}

/// An execution: the number of the workgroup, another number that the dispatch decides.
fn executions() -> Vec<(u64, u64)> {
    let others = [0, 1, 100, 128, 255];
    let groups = [0, 1, 2, 3, 7, 15, 16, 31, 32, 100, 127, 128, 255];
    groups
        .into_iter()
        .flat_map(|group| others.into_iter().map(move |other| (group, other)))
        .collect()
}

fn known(form: Option<Form>, value: impl Fn(u64, u64, u64) -> u64, size: u32) -> Known {
    let lanes = |(group, other)| {
        let lane = |lane| Some(value(group, other, lane) & mask(WIDTH));
        (0..u64::from(size)).map(lane).collect()
    };
    Known {
        form,
        width: WIDTH,
        values: executions().into_iter().map(lanes).collect(),
    }
}

fn apply(op: S, width: u32, args: &[&Known]) -> Known {
    let forms: Option<Vec<_>> = args
        .iter()
        .map(|arg| Some((arg.form?, arg.width)))
        .collect();
    let values = (0..executions().len()).map(|at| {
        let lanes = 0..args[0].values[at].len();
        let of = |lane: usize| {
            let arg = |index: usize| args[index].values[at][lane];
            arithmetic::evaluate(op as u16, width, args[0].width, args.len(), arg)
        };
        lanes.map(of).collect()
    });
    Known {
        form: forms.and_then(|forms| pure(op, width, &forms)),
        width,
        values: values.collect(),
    }
}

/// All invocations of a workgroup have one value, where the form says so; those for which SPIR-V
/// leaves it undefined aside.
fn is_right(known: &Known) -> bool {
    known.form.is_none_or(|form| {
        !form.is_same()
            || known.values.iter().all(|lanes| {
                let mut defined = lanes.iter().flatten();
                let first = defined.next();
                defined.all(|value| Some(value) == first)
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn what_is_the_same_is_the_same(
        size in prop::sample::select(vec![1u32, 4, 8, 12, 16]),
        offset in any::<bool>(),
        steps in prop::collection::vec((0..OPS.len(), any::<u8>(), any::<u8>()), 1..6),
        numbers in prop::collection::vec(prop::sample::select(vec![0u64, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 24, 63, 64, 128, 240, 248, 255]), 4),
    ) {
        let ids = Ids { size: [size, 1, 1], without_offset: !offset };
        let input = |built_in: BuiltIn| ids.input(built_in as u32, 0, WIDTH);
        let stride = u64::from(size);
        let mut all = vec![
            known(
                input(BuiltIn::GlobalInvocationId),
                |group, other, lane| group * stride + lane + if offset { other } else { 0 },
                size,
            ),
            known(input(BuiltIn::LocalInvocationId), |_, _, lane| lane, size),
            known(Some(Form::same(0)), |group, _, _| group, size),
            known(Some(Form::same(0)), |_, other, _| other, size),
        ];
        for number in numbers {
            all.push(known(Some(Form::range(number, number, WIDTH)), |_, _, _| number, size));
        }
        for (op, a, b) in steps {
            let pick = |by: u8| &all[usize::from(by) % all.len()];
            let made = apply(OPS[op], WIDTH, &[pick(a), pick(b)]);
            prop_assert!(is_right(&made), "{:?} {:?}", OPS[op], made.form);
            for compare in [S::ULessThan, S::SLessThan, S::IEqual] {
                for other in all.iter().rev().take(6) {
                    for args in [[&made, other], [other, &made]] {
                        let result = apply(compare, 1, &args);
                        prop_assert!(is_right(&result), "{compare:?} of {:?} and {:?}", args[0].form, args[1].form);
                    }
                }
            }
            for (convert, back) in [(S::UConvert, S::UConvert), (S::SConvert, S::SConvert)] {
                let wide = apply(convert, WIDE, &[&made]);
                prop_assert!(is_right(&wide), "{convert:?} of {:?}", made.form);
                let four = Known {
                    form: Some(Form::range(4, 4, WIDE)),
                    width: WIDE,
                    values: vec![vec![Some(4); size as usize]; executions().len()],
                };
                let shifted = apply(S::ShiftRightLogical, WIDE, &[&wide, &four]);
                prop_assert!(is_right(&shifted), "{:?}", shifted.form);
                let narrow = apply(back, WIDTH, &[&wide]);
                prop_assert!(is_right(&narrow), "{:?}", narrow.form);
            }
            all.push(made);
        }
    }
}

#[test]
fn a_quotient_by_the_size_is_the_same() {
    let global = |size, without_offset| {
        let ids = Ids {
            size: [size, 1, 1],
            without_offset,
        };
        ids.input(BuiltIn::GlobalInvocationId as u32, 0, 32)
            .unwrap()
    };
    let is_same = |form: Option<Form>| form.is_some_and(Form::is_same);
    let number = |bits| Form::range(bits, bits, 32);
    let of = |op, a, b| pure(op, 32, &[(a, 32), (b, 32)]);
    assert!(is_same(of(S::UDiv, global(64, true), number(64))));
    assert!(is_same(of(S::UDiv, global(64, true), number(192))));
    assert!(!is_same(of(S::UDiv, global(64, true), number(32))));
    assert!(
        !is_same(of(S::UDiv, global(64, false), number(64))),
        "an offset"
    );
    assert!(
        !is_same(of(S::UDiv, global(96, true), number(96))),
        "it may wrap around"
    );
    assert!(is_same(of(
        S::ShiftRightLogical,
        global(64, true),
        number(6)
    )));
    assert!(is_same(of(
        S::BitwiseAnd,
        global(64, true),
        number(0xffff_ffc0)
    )));
    let later = of(S::IAdd, global(64, true), number(1)).unwrap();
    assert!(!is_same(of(S::UDiv, later, number(64))));
    let groups = of(S::IMul, Form::same(0), number(64)).unwrap();
    assert!(global(64, true).less_is_same(groups, 32, false));
    assert!(!global(64, true).less_is_same(Form::same(0), 32, false));
}
