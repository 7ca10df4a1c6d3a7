//! Operations that SPV_INTEL_joint_matrix adds to cooperative matrices: a module for each of them,
//! with the expected result.

use crate::matrices::{Element, Product};

/// The layout of a matrix in the memory whose bounds are checked.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// RowMajorKHR.
    Rows,
    /// ColumnMajorKHR.
    Columns,
    /// PackedINTEL.
    Packed,
}

/// The operation under test.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// OpCooperativeMatrixLoadCheckedINTEL; the matrix is stored row after row.
    Load(Order),
    /// A matrix is loaded row after row; OpCooperativeMatrixStoreCheckedINTEL.
    Store(Order),
    /// OpCooperativeMatrixConstructCheckedINTEL; the matrix is stored row after row.
    Construct,
    /// Each invocation stores its elements at the coordinates of
    /// OpCooperativeMatrixGetElementCoordINTEL.
    Coordinates,
    /// OpCooperativeMatrixLoadKHR with PackedINTEL, after a prefetch; the matrix is stored row
    /// after row.
    LoadPacked,
}

/// An operation on a matrix of one subgroup or of a workgroup.
#[derive(Copy, Clone, Debug)]
pub struct Case {
    /// The operation under test.
    pub operation: Operation,
    /// Bits of an element, an unsigned integer.
    pub bits: u32,
    /// Rows and columns.
    pub shape: [u32; 2],
    /// Cooperative Matrix Use.
    pub role: u32,
    /// True if the scope of the matrix is the workgroup, not the only subgroup.
    pub workgroup: bool,
    /// Lines of the region of memory, elements of each, elements from one line to the next.
    pub region: [u32; 3],
    /// The position of the matrix in it.
    pub offsets: [i32; 2],
}

/// The value of [`Operation::Construct`].
const VALUE: u32 = 77;

impl Case {
    /// The name.
    pub fn name(&self) -> String {
        let Case { bits, role, .. } = self;
        let ([rows, columns], [x, y], [height, width, _]) = (self.shape, self.offsets, self.region);
        let scope = if self.workgroup { ".workgroup" } else { "" };
        let operation = format!("{:?}", self.operation).replace(['(', ')'], ".");
        let operation = operation.trim_end_matches('.').to_lowercase();
        format!(
            "{operation}/u{bits}.use{role}/{rows}x{columns}{scope}.at{x},{y}.of{height}x{width}"
        )
    }

    /// Elements of one column that follow each other.
    fn packed(&self) -> u32 {
        (32 / self.bits).max(1)
    }

    /// The line of an element and its place in it.
    fn place(&self, order: Order, [row, column]: [u32; 2]) -> [u32; 2] {
        let packed = self.packed();
        match order {
            Order::Rows => [row, column],
            Order::Columns => [column, row],
            Order::Packed => [row / packed, column * packed + row % packed],
        }
    }

    /// The number of the element in the region's memory, if it is one of the region.
    fn in_region(&self, order: Order, at: [u32; 2]) -> Option<u32> {
        let [line, within] = self.place(order, at);
        let [height, width, stride] = self.region;
        let [x, y] = self.offsets;
        let (line, within) = (line as i32 + x, within as i32 + y);
        let is_inside = (0..height as i32).contains(&line) && (0..width as i32).contains(&within);
        is_inside.then(|| line as u32 * stride + within as u32)
    }

    /// Elements of the region's memory, which ends with its last element.
    fn region_len(&self) -> u32 {
        let [height, width, stride] = self.region;
        (height - 1) * stride + width
    }

    fn matrix_len(&self) -> u32 {
        self.shape[0] * self.shape[1]
    }

    fn lens(&self) -> [u32; 2] {
        match self.operation {
            Operation::Load(_) => [self.region_len(), self.matrix_len()],
            Operation::Store(_) => [self.matrix_len(), self.region_len()],
            Operation::Construct | Operation::Coordinates | Operation::LoadPacked => {
                [self.matrix_len(); 2]
            }
        }
    }

    fn mask(&self) -> u32 {
        u32::MAX >> (32 - self.bits)
    }

    fn numbers(&self) -> Vec<u32> {
        let noise = |at: u32| (at.wrapping_mul(0x9e37_79b9) >> 9) & self.mask();
        (0..self.lens()[0]).map(noise).collect()
    }

    fn bytes(&self, numbers: &[u32]) -> Vec<u8> {
        let bytes = (self.bits / 8) as usize;
        let words = numbers.iter().map(|number| number.to_le_bytes());
        words
            .flat_map(|word| word.into_iter().take(bytes))
            .collect()
    }

    /// The buffers before the launch.
    pub fn inputs(&self) -> [Vec<u8>; 2] {
        let target = vec![0x5a5a_5a5a; self.lens()[1] as usize];
        [self.bytes(&self.numbers()), self.bytes(&target)]
    }

    /// The second buffer after it.
    pub fn expected(&self) -> Vec<u8> {
        let numbers = self.numbers();
        let [rows, columns] = self.shape;
        let mut after = vec![0x5a5a_5a5a; self.lens()[1] as usize];
        for row in 0..rows {
            for column in 0..columns {
                let (at, index) = ([row, column], row * columns + column);
                let own = numbers.get(index as usize).copied().unwrap_or_default();
                let (place, value) = match self.operation {
                    Operation::Load(order) => {
                        let from = self.in_region(order, at);
                        let value = from.map_or(0, |from| numbers[from as usize]);
                        (Some(index), value)
                    }
                    Operation::Store(order) => (self.in_region(order, at), own),
                    Operation::Construct => {
                        let inside = self.in_region(Order::Rows, at).is_some();
                        (Some(index), if inside { VALUE } else { 0 })
                    }
                    Operation::Coordinates => (Some(index), own),
                    Operation::LoadPacked => {
                        let [line, within] = self.place(Order::Packed, at);
                        let from = line * columns * self.packed() + within;
                        (Some(index), numbers[from as usize])
                    }
                };
                if let Some(place) = place {
                    after[place as usize] = value;
                }
            }
        }
        self.bytes(&after)
    }

    /// The name of the type of an element: there is one type of 32-bit integers.
    fn element(&self) -> &'static str {
        match self.bits {
            32 => "%uint",
            _ => "%element",
        }
    }

    /// The instructions of the kernel.
    fn body(&self) -> String {
        let order = match self.operation {
            Operation::Load(order) | Operation::Store(order) => match order {
                Order::Rows => 0,
                Order::Columns => 1,
                Order::Packed => 2,
            },
            _ => 0, // it has none
        };
        let element = self.element();
        let load = "%value = OpCooperativeMatrixLoadKHR %matrix %read %c0 %columns\n";
        let store = "OpCooperativeMatrixStoreKHR %write %value %c0 %columns\n";
        match self.operation {
            Operation::Load(_) => format!(
                "%value = OpCooperativeMatrixLoadCheckedINTEL %matrix %read %x %y %c{order} %height %width %stride\n\
                 {store}"
            ),
            Operation::Store(_) => format!(
                "{load}OpCooperativeMatrixStoreCheckedINTEL %write %x %y %value %c{order} %height %width %stride\n"
            ),
            Operation::Construct => format!(
                "%value = OpCooperativeMatrixConstructCheckedINTEL %matrix %x %y %height %width %constructed\n{store}"
            ),
            Operation::LoadPacked => format!(
                "OpCooperativeMatrixPrefetchINTEL %read %c0 %c0 %rows %columns 0 %c2 %line\n\
                 %value = OpCooperativeMatrixLoadKHR %matrix %read %c2 %line\n{store}"
            ),
            Operation::Coordinates => format!(
                "{load}OpStore %held %value
                 %length = OpCooperativeMatrixLengthKHR %uint %matrix
                 OpBranch %head
                 %head = OpLabel
                 %i = OpPhi %uint %c0 %entry %next %continue
                 %more = OpULessThan %bool %i %length
                 OpLoopMerge %end %continue None
                 OpBranchConditional %more %body %end
                 %body = OpLabel
                 %at = OpCooperativeMatrixGetElementCoordINTEL %pair %value %i
                 %row = OpCompositeExtract %uint %at 0
                 %column = OpCompositeExtract %uint %at 1
                 %has_row = OpULessThan %bool %row %rows
                 %has_column = OpULessThan %bool %column %columns
                 %has = OpLogicalAnd %bool %has_row %has_column
                 OpSelectionMerge %after None
                 OpBranchConditional %has %inside %after
                 %inside = OpLabel
                 %part = OpAccessChain %part_type %held %i
                 %own = OpLoad {element} %part
                 %lines = OpIMul %uint %row %columns
                 %index = OpIAdd %uint %lines %column
                 %to = OpAccessChain %element_pointer %target %c0 %index
                 OpStore %to %own
                 OpBranch %after
                 %after = OpLabel
                 OpBranch %continue
                 %continue = OpLabel
                 %next = OpIAdd %uint %i %c1
                 OpBranch %head
                 %end = OpLabel\n"
            ),
        }
    }

    /// The module, for workgroups of `invocations`.
    pub fn module(&self, invocations: u32) -> String {
        let [rows, columns] = self.shape;
        let [height, width, stride] = self.region;
        let [x, y] = self.offsets;
        let scope = if self.workgroup { 2 } else { 3 };
        let element = self.element();
        let declared = match self.bits {
            32 => String::new(),
            bits => format!("{element} = OpTypeInt {bits} 0\n"),
        };
        format!(
            "OpCapability Shader
             OpCapability Int8
             OpCapability Int16
             OpCapability CooperativeMatrixKHR
             OpCapability !6192
             OpCapability !6411
             OpCapability !6434
             OpCapability !6435
             OpExtension \"SPV_KHR_cooperative_matrix\"
             OpExtension \"SPV_INTEL_joint_matrix\"
             OpMemoryModel Logical GLSL450
             OpEntryPoint GLCompute %main \"main\" %source %target
             OpExecutionMode %main LocalSize {invocations} 1 1
             OpDecorate %source DescriptorSet 0
             OpDecorate %source Binding 0
             OpDecorate %target DescriptorSet 0
             OpDecorate %target Binding 1
             OpDecorate %array ArrayStride {bytes}
             OpDecorate %block Block
             OpMemberDecorate %block 0 Offset 0
             %void = OpTypeVoid
             %function = OpTypeFunction %void
             %bool = OpTypeBool
             %uint = OpTypeInt 32 0
             {declared}%pair = OpTypeVector %uint 2
             %array = OpTypeRuntimeArray {element}
             %block = OpTypeStruct %array
             %block_pointer = OpTypePointer StorageBuffer %block
             %element_pointer = OpTypePointer StorageBuffer {element}
             %source = OpVariable %block_pointer StorageBuffer
             %target = OpVariable %block_pointer StorageBuffer
             %c0 = OpConstant %uint 0
             %c1 = OpConstant %uint 1
             %c2 = OpConstant %uint 2
             %scope = OpConstant %uint {scope}
             %role = OpConstant %uint {role}
             %rows = OpConstant %uint {rows}
             %columns = OpConstant %uint {columns}
             %height = OpConstant %uint {height}
             %width = OpConstant %uint {width}
             %stride = OpConstant %uint {stride}
             %line = OpConstant %uint {line}
             %x = OpConstant %uint {x}
             %y = OpConstant %uint {y}
             %constructed = OpConstant {element} {VALUE}
             %matrix = OpTypeCooperativeMatrixKHR {element} %scope %rows %columns %role
             %held_type = OpTypePointer Function %matrix
             %part_type = OpTypePointer Function {element}
             %main = OpFunction %void None %function
             %entry = OpLabel
             %held = OpVariable %held_type Function
             %read = OpAccessChain %element_pointer %source %c0 %c0
             %write = OpAccessChain %element_pointer %target %c0 %c0
             {body}OpReturn
             OpFunctionEnd\n",
            bytes = self.bits / 8,
            line = columns * self.packed(),
            role = self.role,
            x = x as u32,
            y = y as u32,
            body = self.body(),
        )
    }
}

/// The interpretation of a product's matrices.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Interpretation {
    /// A and B are bfloat16 in integers.
    Factors,
    /// All matrices are.
    All,
    /// A and B are TF32.
    Tf32,
}

/// A product of matrices with another interpretation.
#[derive(Copy, Clone, Debug)]
pub struct Read {
    /// In which.
    pub interpretation: Interpretation,
    /// The product, of the elements that are meant.
    product: Product,
}

impl Read {
    /// A product of this shape: rows of A, columns of B, columns of A.
    pub fn new(interpretation: Interpretation, shape: [u32; 3]) -> Read {
        let (factor, sum) = match interpretation {
            Interpretation::Factors => (Element::BF16, Element::F32),
            Interpretation::All => (Element::BF16, Element::BF16),
            Interpretation::Tf32 => (Element::F32, Element::F32),
        };
        Read {
            interpretation,
            product: Product::new(factor, sum, shape),
        }
    }

    /// The name.
    pub fn name(&self) -> String {
        let [m, n, k] = self.product.shape;
        format!("{:?}/{m}x{n}x{k}", self.interpretation).to_lowercase()
    }

    /// The module, for workgroups of `invocations`.
    pub fn module(&self, invocations: u32) -> String {
        let operands = match self.interpretation {
            Interpretation::Factors => 0x40,
            Interpretation::All => 0x1c0,
            Interpretation::Tf32 => 0x20,
        };
        let text = self.product.module(invocations);
        text.replace("OpTypeFloat 16 BFloat16KHR", "OpTypeInt 16 0")
            .replace(
                "OpCapability CooperativeMatrixKHR\n",
                "OpCapability CooperativeMatrixKHR\nOpCapability !6436\nOpCapability !6437\n",
            )
            .replace(
                "%value_a %value_b %value_c ",
                &format!("%value_a %value_b %value_c !{operands:#x} "),
            )
    }

    /// The buffers before the launch. Bits that TF32 does not have are noise.
    pub fn inputs(&self) -> [Vec<u8>; 4] {
        let mut inputs = self.product.inputs();
        if self.interpretation == Interpretation::Tf32 {
            for factor in inputs.iter_mut().take(2) {
                for (at, word) in factor.chunks_mut(4).enumerate() {
                    let noise = (at as u32).wrapping_mul(0x9e37_79b9) >> 19; // 13 bits
                    for (byte, more) in word.iter_mut().zip(noise.to_le_bytes()) {
                        *byte |= more;
                    }
                }
            }
        }
        inputs
    }

    /// The last buffer after it.
    pub fn expected(&self) -> Vec<u8> {
        self.product.expected()
    }
}
