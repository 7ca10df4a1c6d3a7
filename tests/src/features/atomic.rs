//! Atomics: every operation at every width in buffers and in workgroup memory, on a word of one's
//! own (old value and new value), and on one that all invocations share, where the operation
//! commutes.

use super::edges;
use super::feature::{Feature, Flavour, Memory};
use super::launch::{INVOCATIONS, WORKGROUP};
use super::ty::{F16, F32, F64, Scalar, Ty, U32, U64};
use super::want::Want::{self, Bits};

/// The opcode; true if it has a value operand; the function from old value and operand to new
/// value.
type Operation = (&'static str, bool, fn(Scalar, u64, u64) -> u64);

fn signed(s: Scalar, a: u64, b: u64, f: fn(i64, i64) -> i64) -> u64 {
    f(s.signed(a), s.signed(b)) as u64 & s.mask()
}

#[rustfmt::skip] // a table
const INTEGER: [Operation; 12] = [
    ("OpAtomicExchange", true, |_, _, b| b),
    ("OpAtomicIIncrement", false, |s, a, _| a.wrapping_add(1) & s.mask()),
    ("OpAtomicIDecrement", false, |s, a, _| a.wrapping_sub(1) & s.mask()),
    ("OpAtomicIAdd", true, |s, a, b| a.wrapping_add(b) & s.mask()),
    ("OpAtomicISub", true, |s, a, b| a.wrapping_sub(b) & s.mask()),
    ("OpAtomicSMin", true, |s, a, b| signed(s, a, b, i64::min)),
    ("OpAtomicUMin", true, |_, a, b| a.min(b)),
    ("OpAtomicSMax", true, |s, a, b| signed(s, a, b, i64::max)),
    ("OpAtomicUMax", true, |_, a, b| a.max(b)),
    ("OpAtomicAnd", true, |_, a, b| a & b),
    ("OpAtomicOr", true, |_, a, b| a | b),
    ("OpAtomicXor", true, |_, a, b| a ^ b),
];

#[rustfmt::skip] // a table
const FLOAT: [Operation; 3] = [
    ("OpAtomicFAddEXT", true, |s, a, b| s.bits_of(s.float(a) + s.float(b))),
    ("OpAtomicFMinEXT", true, |s, a, b| s.bits_of(s.float(a).min(s.float(b)))),
    ("OpAtomicFMaxEXT", true, |s, a, b| s.bits_of(s.float(a).max(s.float(b)))),
];

const NEEDS: [&str; 10] = [
    "Int64Atomics",
    "Int64",
    "AtomicFloat16AddEXT",
    "AtomicFloat32AddEXT",
    "AtomicFloat64AddEXT",
    "AtomicFloat16MinMaxEXT",
    "AtomicFloat32MinMaxEXT",
    "AtomicFloat64MinMaxEXT",
    "Float16",
    "Float64",
];

fn needs(s: Scalar) -> Vec<&'static str> {
    NEEDS
        .into_iter()
        .filter(|need| match s {
            U64 => need.contains("Int64"),
            F16 => need.contains("loat16"),
            F32 => need.contains("Float32"),
            F64 => need.contains("loat64"),
            _ => false,
        })
        .collect()
}

/// Scope and semantics of relaxed and ordered operations: Workgroup relaxed, Device acquire and
/// release of buffers, Workgroup acquire and release of workgroup memory.
const ORDERS: [&str; 3] = ["%u32_2 %u32_0", "%u32_1 %u32_72", "%u32_2 %u32_264"];

/// The place of the word.
#[derive(Copy, Clone, PartialEq, Eq)]
enum AtomicPlace {
    Buffer,
    Workgroup,
}

impl AtomicPlace {
    fn name(self) -> &'static str {
        match self {
            AtomicPlace::Buffer => "buffer",
            AtomicPlace::Workgroup => "workgroup",
        }
    }
}

/// A feature with `count` words of `s` at `place`; `$w` is the address of the word that the
/// invocation gets: its own, or the first.
fn with_words(
    mut feature: Feature,
    flavour: Flavour,
    place: AtomicPlace,
    s: Scalar,
    shared: bool,
    after: Option<Vec<u8>>,
) -> Feature {
    if flavour.is_kernel() {
        // The buffers of kernels are CrossWorkgroupMemory, those of shaders UniformMemory.
        for (shader, kernel) in [(66, 514), (68, 516), (72, 520)] {
            let [from, to] = [shader, kernel].map(|bits| format!("%u32_{bits}"));
            feature.body = feature.body.replace(&from, &to);
        }
    }
    let name = s.name();
    let size = s.bits() as usize / 8;
    let index = |own: &str, zero: &str| {
        if shared {
            zero.to_owned()
        } else {
            own.to_owned()
        }
    };
    match place {
        AtomicPlace::Buffer => {
            let address = if flavour.is_kernel() {
                let at = index("%gid", "%u64_0");
                format!("$w = OpInBoundsPtrAccessChain %p_CrossWorkgroup_{name} $m {at}\n")
            } else {
                feature.globals.push_str(&format!(
                    "$ra = OpTypeRuntimeArray %{name}\n$block = OpTypeStruct $ra\n$pb = OpTypePointer StorageBuffer $block\n"
                ));
                feature.decorate.push_str(&format!(
                    "OpDecorate $ra ArrayStride {size}\nOpDecorate $block Block\nOpMemberDecorate $block 0 Offset 0\n"
                ));
                let at = index("%gid", "%u32_0");
                format!("$w = OpAccessChain %p_StorageBuffer_{name} $m %u32_0 {at}\n")
            };
            feature.body = address + &feature.body;
            let pointer = if flavour.is_kernel() {
                format!("p_CrossWorkgroup_{name}")
            } else {
                "$pb".to_owned()
            };
            feature.with_memory(Memory {
                name: "m",
                pointer,
                before: vec![0; if shared { size } else { size * INVOCATIONS }],
                after,
                links: Vec::new(),
            })
        }
        AtomicPlace::Workgroup => {
            feature.globals.push_str(&format!(
                "$shared = OpVariable %p_Workgroup_{name}a{WORKGROUP} Workgroup\n"
            ));
            let at = index("%local", "%u32_0");
            feature.body = format!(
                "$w = OpInBoundsAccessChain %p_Workgroup_{name} $shared {at}\n{}",
                feature.body
            );
            feature
        }
    }
}

/// On a word of one's own: the old value and the new one.
fn own(
    flavour: Flavour,
    place: AtomicPlace,
    s: Scalar,
    order: usize,
    operation: Operation,
) -> Feature {
    let (op, has_value, host) = operation;
    let ty = Ty::from(s);
    let name = s.name();
    let value = if has_value { " $b" } else { "" };
    let body = format!(
        "OpStore $w $a\n$r = {op} %{name} $w {}{value}\n$s = OpLoad %{name} $w",
        ORDERS[order]
    );
    let params = if has_value { vec![ty, ty] } else { vec![ty] };
    let feature = Feature::new(op, &params, &[ty, ty], &body, move |row| {
        let new = host(s, row[0], row.get(1).copied().unwrap_or(0));
        vec![Bits(row[0]), number(s, new)]
    });
    let feature = feature.called(&format!("{name}.{}.{order}", place.name()));
    let feature = feature.needing(&needs(s));
    let feature = if s.is_float() {
        feature.with_inputs(edges::between(91, &[(s, -8.0, 8.0), (s, -8.0, 8.0)]))
    } else {
        feature
    };
    with_words(feature, flavour, place, s, false, None)
}

fn number(s: Scalar, bits: u64) -> Want {
    super::want::float_or_bits(s, bits)
}

/// Tests with one word: all invocations of the launch update a word in a buffer, those of a
/// workgroup a word in its memory.
fn shared(flavour: Flavour, place: AtomicPlace, s: Scalar, operation: Operation) -> Feature {
    let (op, has_value, host) = operation;
    let ty = Ty::from(s);
    let name = s.name();
    let value = if has_value { " $a" } else { "" };
    let operate = format!("$x = {op} %{name} $w {}{value}\n", ORDERS[0]);
    let inputs = if s.is_float() {
        // Sums of these are exact in any order.
        let value = |at: usize| s.bits_of(f64::from((at * 7 % 5) as u8) - 1.0);
        (0..INVOCATIONS).map(|at| vec![value(at)]).collect()
    } else {
        edges::rows(92, &[ty])
    };
    let fold = move |rows: &[Vec<u64>]| rows.iter().fold(0, |old, row| host(s, old, row[0]));
    let feature = match place {
        AtomicPlace::Buffer => {
            let result = fold(&inputs).to_le_bytes()[..s.bits() as usize / 8].to_vec();
            let feature = Feature::new(op, &[ty], &[], &operate, |_| Vec::new());
            with_words(feature, flavour, place, s, true, Some(result))
        }
        AtomicPlace::Workgroup => {
            let barrier = "OpControlBarrier %u32_2 %u32_2 %u32_264\n";
            let body = format!(
                "$first = OpIEqual %bool %local %u32_0\nOpSelectionMerge $set None\nOpBranchConditional $first $one $set\n$one = OpLabel\n\
                 OpStore $w %{name}_0\nOpBranch $set\n$set = OpLabel\n{barrier}{operate}{barrier}$r = OpLoad %{name} $w\n{barrier}"
            );
            let feature = Feature::new(op, &[ty], &[ty], &body, |_| Vec::new()).collectively(
                move |_, rows| {
                    let groups = rows.chunks(WORKGROUP);
                    groups
                        .flat_map(|rows| vec![vec![number(s, fold(rows))]; rows.len()])
                        .collect()
                },
            );
            with_words(feature, flavour, place, s, true, None)
        }
    };
    feature
        .called(&format!("{name}.{}.shared", place.name()))
        .needing(&needs(s))
        .with_inputs(inputs)
}

/// Loads, stores, and compare-exchange, which succeeds and fails in turn.
fn others(all: &mut Vec<Feature>, flavour: Flavour, place: AtomicPlace, s: Scalar) {
    let ty = Ty::from(s);
    let name = s.name();
    for (order, semantics) in ["%u32_2 %u32_0", "%u32_1 %u32_68"].iter().enumerate() {
        let body = format!("OpAtomicStore $w {semantics} $a\n$r = OpLoad %{name} $w");
        let store = Feature::new("OpAtomicStore", &[ty], &[ty], &body, move |row| {
            vec![super::want::float_or_bits(s, row[0])]
        });
        let load_semantics = semantics.replace("68", "66");
        let body = format!("OpStore $w $a\n$r = OpAtomicLoad %{name} $w {load_semantics}");
        let load = Feature::new("OpAtomicLoad", &[ty], &[ty], &body, move |row| {
            vec![super::want::float_or_bits(s, row[0])]
        });
        for feature in [store, load] {
            let feature = feature.called(&format!("{name}.{}.{order}", place.name()));
            all.push(with_words(
                feature.needing(&needs(s)),
                flavour,
                place,
                s,
                false,
                None,
            ));
        }
    }
    if s.is_float() {
        let body = format!(
            "OpStore $w $a\n$r = OpAtomicExchange %{name} $w %u32_2 %u32_0 $b\n$s = OpLoad %{name} $w"
        );
        let exchange = Feature::new(
            "OpAtomicExchange",
            &[ty, ty],
            &[ty, ty],
            &body,
            move |row| vec![number(s, row[0]), number(s, row[1])],
        );
        let exchange = exchange.called(&format!("{name}.{}", place.name()));
        all.push(with_words(
            exchange.needing(&needs(s)),
            flavour,
            place,
            s,
            false,
            None,
        ));
        return;
    }
    let weak = flavour.is_kernel().then_some("OpAtomicCompareExchangeWeak");
    for op in ["OpAtomicCompareExchange"].into_iter().chain(weak) {
        let body = format!(
            "OpStore $w $a\n$r = {op} %{name} $w %u32_2 %u32_264 %u32_258 $b $c\n$s = OpLoad %{name} $w"
        );
        let params = [ty, ty, ty];
        let exchange = Feature::new(op, &params, &[ty, ty], &body, |row| {
            let new = if row[0] == row[2] { row[1] } else { row[0] };
            vec![Bits(row[0]), Bits(new)]
        });
        let mut inputs = edges::rows(93, &params);
        for row in inputs.iter_mut().step_by(2) {
            row[2] = row[0];
        }
        let exchange = exchange
            .called(&format!("{name}.{}", place.name()))
            .with_inputs(inputs);
        all.push(with_words(
            exchange.needing(&needs(s)),
            flavour,
            place,
            s,
            false,
            None,
        ));
    }
}

/// Flags of kernels: a word that is clear or set.
fn flags(all: &mut Vec<Feature>, place: AtomicPlace) {
    let ty = Ty::from(U32);
    let set = "$r = OpAtomicFlagTestAndSet %bool $w %u32_2 %u32_264\n$s = OpAtomicFlagTestAndSet %bool $w %u32_2 %u32_0\n";
    let bodies = [
        (
            "OpAtomicFlagTestAndSet",
            format!("OpStore $w %u32_0\n{set}"),
            [0, 1],
        ),
        (
            "OpAtomicFlagClear",
            format!("OpStore $w %u32_1\nOpAtomicFlagClear $w %u32_2 %u32_260\n{set}"),
            [0, 1],
        ),
    ];
    for (op, body, wanted) in bodies {
        let flag = super::ty::Bool.into();
        let feature = Feature::new(op, &[ty], &[flag, flag], &body, move |_| {
            wanted.map(Bits).to_vec()
        });
        let feature = feature.called(place.name());
        all.push(with_words(
            feature,
            Flavour::Kernel,
            place,
            U32,
            false,
            None,
        ));
    }
}

/// Of one environment.
pub(super) fn features(flavour: Flavour) -> Vec<Feature> {
    let mut all = Vec::new();
    for place in [AtomicPlace::Buffer, AtomicPlace::Workgroup] {
        for s in [U32, U64] {
            for operation in INTEGER {
                let orders = if s == U32 { 0..ORDERS.len() } else { 0..1 };
                all.extend(orders.map(|order| own(flavour, place, s, order, operation)));
                // The last exchange wins, whichever it is.
                if operation.0 != "OpAtomicExchange" {
                    all.push(shared(flavour, place, s, operation));
                }
            }
            others(&mut all, flavour, place, s);
        }
        for s in [F32, F64] {
            for operation in FLOAT {
                all.push(own(flavour, place, s, 0, operation));
                all.push(shared(flavour, place, s, operation));
            }
            others(&mut all, flavour, place, s);
        }
        if flavour.is_kernel() {
            flags(&mut all, place);
        }
    }
    all
}
