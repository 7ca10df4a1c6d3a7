//! Operations of SPV_NV_cooperative_matrix2 on all elements of a cooperative matrix: a module for
//! each of them, with the expected result.

/// One of them. The elements are 32-bit integers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// OpCooperativeMatrixConvertNV, to a matrix B.
    Convert,
    /// OpConvertUToF, to a matrix B of floats.
    Numbers,
    /// OpCooperativeMatrixTransposeNV.
    Transpose,
    /// OpCooperativeMatrixReduceNV: sums of rows.
    Rows,
    /// Sums of columns.
    Columns,
    /// The sum of all.
    All,
    /// Sums of four neighbours.
    Neighbours,
    /// OpCooperativeMatrixPerElementOpNV, with a matrix and a number as operands after the element.
    Each,
}

use Operation::{All, Columns, Convert, Each, Neighbours, Numbers, Rows, Transpose};

/// An operation on a matrix of a subgroup or a workgroup.
#[derive(Copy, Clone, Debug)]
pub struct Case {
    /// The operation under test.
    pub operation: Operation,
    /// Rows and columns of the operand.
    pub from: [u32; 2],
    /// Rows and columns of the result.
    pub to: [u32; 2],
    /// True if the scope of the matrices is the workgroup, not the only subgroup.
    pub workgroup: bool,
}

/// Invocations of the workgroups that hold a matrix together: more where its rows are enough for
/// more subgroups.
pub fn workgroup([rows, _]: [u32; 2]) -> u32 {
    if rows >= 128 { 512 } else { 128 }
}

impl Case {
    /// The name.
    pub fn name(&self) -> String {
        let [rows, columns] = self.from;
        let scope = if self.workgroup {
            "workgroup"
        } else {
            "subgroup"
        };
        format!("{:?}/{rows}x{columns}/{scope}", self.operation).to_lowercase()
    }

    /// The module, for workgroups of `invocations`.
    pub fn module(&self, invocations: u32) -> String {
        let [rows, columns] = self.from;
        let [to_rows, to_columns] = self.to;
        let scope = if self.workgroup { 2 } else { 3 };
        let role = match self.operation {
            Convert | Numbers | Transpose => 1,
            Rows | Columns | All | Neighbours | Each => 2,
        };
        let to = match self.operation {
            Each => "%from",
            _ => "%to",
        };
        let operation = match self.operation {
            Convert => "OpCooperativeMatrixConvertNV %to %value",
            Numbers => "OpConvertUToF %to %value",
            Transpose => "OpCooperativeMatrixTransposeNV %to %value",
            Rows => "OpCooperativeMatrixReduceNV %to %value Row %add",
            Columns => "OpCooperativeMatrixReduceNV %to %value Column %add",
            All => "OpCooperativeMatrixReduceNV %to %value Row|Column %add",
            Neighbours => "OpCooperativeMatrixReduceNV %to %value 2x2 %add",
            Each => "OpCooperativeMatrixPerElementOpNV %from %value %each %value %c3",
        };
        format!(
            "OpCapability Shader
             OpCapability CooperativeMatrixKHR
             OpCapability CooperativeMatrixReductionsNV
             OpCapability CooperativeMatrixConversionsNV
             OpCapability CooperativeMatrixPerElementOperationsNV
             OpExtension \"SPV_KHR_cooperative_matrix\"
             OpExtension \"SPV_NV_cooperative_matrix2\"
             OpMemoryModel Logical GLSL450
             OpEntryPoint GLCompute %main \"main\" %source %target
             OpExecutionMode %main LocalSize {invocations} 1 1
             OpDecorate %source DescriptorSet 0
             OpDecorate %source Binding 0
             OpDecorate %target DescriptorSet 0
             OpDecorate %target Binding 1
             OpDecorate %words ArrayStride 4
             OpDecorate %block Block
             OpMemberDecorate %block 0 Offset 0
             %void = OpTypeVoid
             %function = OpTypeFunction %void
             %uint = OpTypeInt 32 0
             %float = OpTypeFloat 32
             %words = OpTypeRuntimeArray %uint
             %block = OpTypeStruct %words
             %block_pointer = OpTypePointer StorageBuffer %block
             %word_pointer = OpTypePointer StorageBuffer %uint
             %source = OpVariable %block_pointer StorageBuffer
             %target = OpVariable %block_pointer StorageBuffer
             %two = OpTypeFunction %uint %uint %uint
             %five = OpTypeFunction %uint %uint %uint %uint %uint %uint
             %c0 = OpConstant %uint 0
             %c1 = OpConstant %uint 1
             %c2 = OpConstant %uint 2
             %c3 = OpConstant %uint 3
             %c100 = OpConstant %uint 100
             %rows = OpConstant %uint {rows}
             %columns = OpConstant %uint {columns}
             %to_rows = OpConstant %uint {to_rows}
             %to_columns = OpConstant %uint {to_columns}
             %from = OpTypeCooperativeMatrixKHR %uint %c{scope} %rows %columns %c2
             {declared}
             %main = OpFunction %void None %function
             %entry = OpLabel
             %read = OpAccessChain %word_pointer %source %c0 %c0
             %write = OpAccessChain %word_pointer %target %c0 %c0
             %value = OpCooperativeMatrixLoadKHR %from %read %c0 %columns
             %result = {operation}
             OpCooperativeMatrixStoreKHR %write %result %c0 %to_columns
             OpReturn
             OpFunctionEnd
             %add = OpFunction %uint None %two
             %a = OpFunctionParameter %uint
             %b = OpFunctionParameter %uint
             %add_entry = OpLabel
             %sum = OpIAdd %uint %a %b
             OpReturnValue %sum
             OpFunctionEnd
             %each = OpFunction %uint None %five
             %row = OpFunctionParameter %uint
             %column = OpFunctionParameter %uint
             %element = OpFunctionParameter %uint
             %other = OpFunctionParameter %uint
             %number = OpFunctionParameter %uint
             %each_entry = OpLabel
             %line = OpIMul %uint %row %c100
             %place = OpIAdd %uint %line %column
             %scaled = OpIMul %uint %other %number
             %moved = OpIAdd %uint %element %place
             %all = OpIAdd %uint %moved %scaled
             OpReturnValue %all
             OpFunctionEnd\n",
            declared = if to == "%to" {
                let component = match self.operation {
                    Numbers => "float",
                    _ => "uint",
                };
                format!(
                    "%to = OpTypeCooperativeMatrixKHR %{component} %c{scope} %to_rows %to_columns %c{role}"
                )
            } else {
                String::new()
            },
        )
    }

    /// The operand, row after row.
    fn numbers(&self) -> Vec<u32> {
        let [rows, columns] = self.from;
        let noise = |at: u32| at.wrapping_mul(0x9e37_79b9) >> 9;
        (0..rows * columns).map(noise).collect()
    }

    /// The buffers before the launch.
    pub fn inputs(&self) -> [Vec<u8>; 2] {
        let [rows, columns] = self.to;
        [
            bytes(&self.numbers()),
            vec![0; (rows * columns) as usize * 4],
        ]
    }

    /// The second buffer after it.
    pub fn expected(&self) -> Vec<u8> {
        let numbers = self.numbers();
        let [rows, columns] = self.from;
        let at = |row: u32, column: u32| numbers[(row * columns + column) as usize];
        let sum = |rows: std::ops::Range<u32>, columns: std::ops::Range<u32>| {
            let places = rows.flat_map(|row| columns.clone().map(move |column| (row, column)));
            places.fold(0u32, |sum, (row, column)| sum.wrapping_add(at(row, column)))
        };
        let [to_rows, to_columns] = self.to;
        let element = |row: u32, column: u32| match self.operation {
            Convert => at(row, column),
            Numbers => (at(row, column) as f32).to_bits(),
            Transpose => at(column, row),
            Rows => sum(row..row + 1, 0..columns),
            Columns => sum(0..rows, column..column + 1),
            All => sum(0..rows, 0..columns),
            Neighbours => sum(row * 2..row * 2 + 2, column * 2..column * 2 + 2),
            Each => {
                let moved = at(row, column).wrapping_add(row * 100 + column);
                moved.wrapping_add(at(row, column).wrapping_mul(3))
            }
        };
        let places = (0..to_rows).flat_map(|row| (0..to_columns).map(move |column| (row, column)));
        let elements: Vec<u32> = places.map(|(row, column)| element(row, column)).collect();
        bytes(&elements)
    }
}

fn bytes(numbers: &[u32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}
