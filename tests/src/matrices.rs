//! Products of cooperative matrices: modules that compute one, and the expected results. Elements
//! are small integers, so every order of summation, and every precision that the extension allows,
//! has the same bits.

use half::{bf16, f16};

/// The element type of a matrix.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// IEEE 754 binary16.
    F16,
    /// bfloat16.
    BF16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// OCP's 8 bits, four of them exponent.
    E4M3,
    /// OCP's 8 bits, five of them exponent.
    E5M2,
    /// 8 bits, signed.
    I8,
    /// 8 bits.
    U8,
    /// 32 bits, signed.
    I32,
}

use Element::{BF16, E4M3, E5M2, F16, F32, F64, I8, I32, U8};

impl Element {
    /// The name, as in the names of tests.
    pub fn name(self) -> &'static str {
        match self {
            F16 => "f16",
            BF16 => "bf16",
            F32 => "f32",
            F64 => "f64",
            E4M3 => "e4m3",
            E5M2 => "e5m2",
            I8 => "i8",
            U8 => "u8",
            I32 => "i32",
        }
    }

    /// Declaration of the type.
    fn declaration(self) -> &'static str {
        match self {
            F16 => "OpTypeFloat 16",
            BF16 => "OpTypeFloat 16 BFloat16KHR",
            F32 => "OpTypeFloat 32",
            F64 => "OpTypeFloat 64",
            E4M3 => "OpTypeFloat 8 Float8E4M3EXT",
            E5M2 => "OpTypeFloat 8 Float8E5M2EXT",
            I8 => "OpTypeInt 8 1",
            U8 => "OpTypeInt 8 0",
            I32 => "OpTypeInt 32 1",
        }
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            I8 | U8 | E4M3 | E5M2 => 1,
            F16 | BF16 => 2,
            F32 | I32 => 4,
            F64 => 8,
        }
    }

    /// The least and the greatest number that a factor is made of.
    fn range(self) -> (i64, i64) {
        match self {
            I8 => (-128, 127),
            U8 => (0, 255),
            F16 | BF16 | F32 | F64 | E4M3 | E5M2 | I32 => (-2, 2),
        }
    }

    fn encode(self, number: i64) -> Vec<u8> {
        match self {
            F16 => f16::from_f64(number as f64).to_le_bytes().to_vec(),
            BF16 => bf16::from_f64(number as f64).to_le_bytes().to_vec(),
            F32 => (number as f32).to_le_bytes().to_vec(),
            F64 => (number as f64).to_le_bytes().to_vec(),
            E4M3 => vec![float8(number, 3, 7)],
            E5M2 => vec![float8(number, 2, 15)],
            I8 | U8 => vec![number as u8],
            I32 => (number as i32).to_le_bytes().to_vec(),
        }
    }
}

/// A whole number of at most three significant bits, and not more than this format holds.
fn float8(number: i64, mantissa: u32, bias: u32) -> u8 {
    let magnitude = number.unsigned_abs();
    let Some(exponent) = magnitude.checked_ilog2() else {
        return 0;
    };
    let fraction = (magnitude - (1 << exponent)) << mantissa >> exponent;
    let code = u64::from(exponent + bias) << mantissa | fraction;
    code as u8 | if number < 0 { 0x80 } else { 0 }
}

/// `D = A * B + C`, computed by one subgroup or workgroup; the matrices lie in buffers 0 to 3.
#[derive(Copy, Clone, Debug)]
pub struct Product {
    /// Elements of A and B.
    pub factors: [Element; 2],
    /// Elements of C and D.
    pub sum: Element,
    /// Rows of A, columns of B, columns of A.
    pub shape: [u32; 3],
    /// True if the scope of the matrices is the workgroup.
    pub workgroup: bool,
}

impl Product {
    /// Of one subgroup, with both factors of one type.
    pub fn new(factor: Element, sum: Element, shape: [u32; 3]) -> Product {
        Product {
            factors: [factor; 2],
            sum,
            shape,
            workgroup: false,
        }
    }

    /// The name, as in the names of tests.
    pub fn name(&self) -> String {
        let [a, b] = self.factors.map(Element::name);
        let [m, n, k] = self.shape;
        let scope = if self.workgroup { "/workgroup" } else { "" };
        format!("{a}.{b}.{}/{m}x{n}x{k}{scope}", self.sum.name())
    }

    /// The module, for workgroups of `invocations`.
    pub fn module(&self, invocations: u32) -> String {
        let [rows, columns, depth] = self.shape;
        let scope = if self.workgroup { 2 } else { 3 };
        let mut operands = Vec::new();
        for (element, operand) in self.factors.iter().zip(["MatrixA", "MatrixB"]) {
            if *element == I8 {
                operands.push(format!("{operand}SignedComponentsKHR"));
            }
        }
        if self.sum == I32 {
            operands.push("MatrixCSignedComponentsKHR".to_owned());
            operands.push("MatrixResultSignedComponentsKHR".to_owned());
        }
        let operands = operands.join("|");
        let mut text = format!(
            "OpCapability Shader
             OpCapability CooperativeMatrixKHR
             OpExtension \"SPV_KHR_cooperative_matrix\"
             OpMemoryModel Logical GLSL450
             OpEntryPoint GLCompute %main \"main\" %a %b %c %d
             OpExecutionMode %main LocalSize {invocations} 1 1\n"
        );
        let elements = [self.factors[0], self.factors[1], self.sum, self.sum];
        for (at, (name, element)) in ["a", "b", "c", "d"].iter().zip(elements).enumerate() {
            text += &format!(
                "OpDecorate %{name} DescriptorSet 0
                 OpDecorate %{name} Binding {at}
                 OpDecorate %array_{name} ArrayStride {}
                 OpDecorate %block_{name} Block
                 OpMemberDecorate %block_{name} 0 Offset 0\n",
                element.bytes()
            );
        }
        text += "%void = OpTypeVoid
                 %function = OpTypeFunction %void
                 %uint = OpTypeInt 32 0\n";
        let mut declared: Vec<Element> = Vec::new();
        for element in elements {
            if !declared.contains(&element) {
                declared.push(element);
                text += &format!("%{} = {}\n", element.name(), element.declaration());
            }
        }
        for (name, element) in ["a", "b", "c", "d"].iter().zip(elements) {
            let element = element.name();
            text += &format!(
                "%array_{name} = OpTypeRuntimeArray %{element}
                 %block_{name} = OpTypeStruct %array_{name}
                 %pointer_{name} = OpTypePointer StorageBuffer %block_{name}
                 %place_type_{name} = OpTypePointer StorageBuffer %{element}
                 %{name} = OpVariable %pointer_{name} StorageBuffer\n"
            );
        }
        for (name, value) in [
            ("zero", 0),
            ("one", 1),
            ("two", 2),
            ("scope", scope),
            ("rows", rows),
            ("columns", columns),
            ("depth", depth),
        ] {
            text += &format!("%{name} = OpConstant %uint {value}\n");
        }
        let [a, b, c, _] = elements.map(Element::name);
        text += &format!(
            "%matrix_a = OpTypeCooperativeMatrixKHR %{a} %scope %rows %depth %zero
             %matrix_b = OpTypeCooperativeMatrixKHR %{b} %scope %depth %columns %one
             %matrix_c = OpTypeCooperativeMatrixKHR %{c} %scope %rows %columns %two
             %main = OpFunction %void None %function
             %entry = OpLabel
             %place_a = OpAccessChain %place_type_a %a %zero %zero
             %place_b = OpAccessChain %place_type_b %b %zero %zero
             %place_c = OpAccessChain %place_type_c %c %zero %zero
             %place_d = OpAccessChain %place_type_d %d %zero %zero
             %value_a = OpCooperativeMatrixLoadKHR %matrix_a %place_a %zero %depth
             %value_b = OpCooperativeMatrixLoadKHR %matrix_b %place_b %one %depth
             %value_c = OpCooperativeMatrixLoadKHR %matrix_c %place_c %zero %columns
             %value_d = OpCooperativeMatrixMulAddKHR %matrix_c %value_a %value_b %value_c {operands}
             OpCooperativeMatrixStoreKHR %place_d %value_d %zero %columns
             OpReturn
             OpFunctionEnd\n"
        );
        text
    }

    /// The numbers of A (row after row), B (column after column) and C (row after row).
    fn numbers(&self) -> [Vec<i64>; 3] {
        let [rows, columns, depth] = self.shape.map(|n| n as usize);
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut numbers = |count: usize, (least, greatest): (i64, i64)| {
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                least + (state >> 11) as i64 % (greatest - least + 1)
            };
            (0..count).map(|_| next()).collect::<Vec<i64>>()
        };
        [
            numbers(rows * depth, self.factors[0].range()),
            numbers(columns * depth, self.factors[1].range()),
            numbers(rows * columns, (-8, 8)),
        ]
    }

    /// The buffers before the launch.
    pub fn inputs(&self) -> [Vec<u8>; 4] {
        let [a, b, c] = self.numbers();
        [
            bytes(self.factors[0], &a),
            bytes(self.factors[1], &b),
            bytes(self.sum, &c),
            vec![0; c.len() * self.sum.bytes()],
        ]
    }

    /// The last buffer after it.
    pub fn expected(&self) -> Vec<u8> {
        let [a, b, c] = self.numbers();
        let [_, columns, depth] = self.shape.map(|n| n as usize);
        let sums: Vec<i64> = (0..c.len())
            .map(|at| {
                let row = &a[at / columns * depth..][..depth];
                let column = &b[at % columns * depth..][..depth];
                c[at] + row.iter().zip(column).map(|(a, b)| a * b).sum::<i64>()
            })
            .collect();
        bytes(self.sum, &sums)
    }
}

fn bytes(element: Element, numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| element.encode(*n)).collect()
}
