//! Loads and stores of cooperative matrices through tensor layouts and tensor views: a module for
//! each, with the expected result. The host follows the text of SPV_NV_cooperative_matrix2 step by
//! step, in numbers that do not wrap.

use std::fmt::Write;

/// The element type of a matrix.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// 8 bits.
    U8,
    /// IEEE 754 binary16.
    F16,
    /// 32 bits.
    U32,
}

impl Element {
    /// Bytes of one.
    pub fn bytes(self) -> usize {
        match self {
            Element::U8 => 1,
            Element::F16 => 2,
            Element::U32 => 4,
        }
    }

    fn declaration(self) -> &'static str {
        match self {
            Element::U8 => "OpTypeInt 8 0",
            Element::F16 => "OpTypeFloat 16",
            Element::U32 => "OpTypeInt 32 0",
        }
    }

    /// Bits that are no infinity and no NaN.
    fn bits(self, number: u64) -> u64 {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        match self {
            Element::U8 => mixed & 0xff,
            Element::F16 => mixed & 0xbbff,
            Element::U32 => mixed & 0xffff_ffff,
        }
    }

    fn encode(self, bits: u64) -> Vec<u8> {
        bits.to_le_bytes().into_iter().take(self.bytes()).collect()
    }
}

/// The scope of a matrix.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The only subgroup of the workgroup.
    Subgroup,
    /// The workgroup, which has 128 invocations.
    Workgroup,
}

/// Clamp modes by number.
pub const CLAMP_MODES: [&str; 5] = ["undefined", "constant", "edge", "repeat", "mirrored"];

/// A tensor layout, by dimension.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The clamp mode.
    pub clamp: u32,
    /// Elements.
    pub sizes: Vec<u32>,
    /// Elements or blocks from one to the next; `None`: as OpTensorLayoutSetDimensionNV has them.
    pub strides: Option<Vec<u32>>,
    /// Elements of a block, where there are blocks.
    pub blocks: Option<Vec<u32>>,
    /// Offsets and spans.
    pub slices: Vec<Vec<(i32, u32)>>,
    /// The clamp value.
    pub value: Option<u32>,
}

impl Layout {
    /// A packed one.
    pub fn new(clamp: u32, sizes: &[u32], slice: &[(i32, u32)]) -> Layout {
        Layout {
            clamp,
            sizes: sizes.to_vec(),
            strides: None,
            blocks: None,
            slices: vec![slice.to_vec()],
            value: None,
        }
    }

    fn block(&self, dimension: usize) -> u32 {
        self.blocks.as_ref().map_or(1, |blocks| blocks[dimension])
    }

    fn strides(&self) -> Vec<u64> {
        if let Some(strides) = &self.strides {
            return strides.iter().map(|stride| u64::from(*stride)).collect();
        }
        let mut strides = vec![1];
        for dimension in (1..self.sizes.len()).rev() {
            let blocks = self.sizes[dimension].div_ceil(self.block(dimension));
            strides.insert(0, strides[0] * u64::from(blocks));
        }
        strides
    }
}

/// A tensor view.
#[derive(Clone, Debug)]
pub struct View {
    /// The order of the dimensions.
    pub permutation: Vec<u32>,
    /// Explicit sizes.
    pub sizes: Option<Vec<u32>>,
    /// Strides, if they do not follow from the sizes.
    pub strides: Option<Vec<u32>>,
    /// First row, rows, first column, columns.
    pub clip: Option<[u32; 4]>,
}

impl View {
    /// A reordered slice.
    pub fn permuted(permutation: &[u32]) -> View {
        View {
            permutation: permutation.to_vec(),
            sizes: None,
            strides: None,
            clip: None,
        }
    }
}

/// One load or store.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The name.
    pub name: &'static str,
    /// The scope of the matrix.
    pub scope: Scope,
    /// Its elements.
    pub element: Element,
    /// Its use: 0 for A, 1 for B, 2 for an accumulator.
    pub role: u32,
    /// Rows and columns.
    pub size: [u32; 2],
    /// The layout of the tensor in memory.
    pub layout: Layout,
    /// The position of the matrix in the slice.
    pub view: Option<View>,
    /// True if a function decodes blocks of two numbers; only for loads of `U32`.
    pub decode: bool,
    /// True for a store.
    pub store: bool,
    /// True if the layout and the view are passed through variables of the function.
    pub variables: bool,
    /// True if all numbers come from a buffer.
    pub at_run_time: bool,
}

/// The value that elements of the matrix keep if a view omits them.
const KEPT: u64 = 0x35;

/// Elements of the buffer with the tensor.
const TENSOR: usize = 8192;

/// Numbers that go into the module: constants, or loads from a buffer.
#[derive(Default)]
struct Numbers(Vec<u32>);

impl Numbers {
    fn list(&mut self, numbers: impl IntoIterator<Item = u32>) -> String {
        let mut text = String::new();
        for number in numbers {
            let _ = write!(text, " %n{}", self.0.len());
            self.0.push(number);
        }
        text
    }
}

impl Transfer {
    /// Of one subgroup, into or from an accumulator of 16 x 16.
    pub fn new(name: &'static str, layout: Layout) -> Transfer {
        Transfer {
            name,
            scope: Scope::Subgroup,
            element: Element::U32,
            role: 2,
            size: [16, 16],
            layout,
            view: None,
            decode: false,
            store: false,
            variables: false,
            at_run_time: false,
        }
    }

    /// The instructions that make layout and view.
    fn objects(&self, numbers: &mut Numbers) -> String {
        let mut text = "%l0 = OpCreateTensorLayoutNV %layout\n".to_owned();
        let mut count = 0;
        let mut next = |op: &str, operands: String| {
            let _ = writeln!(text, "%l{} = {op} %layout %l{count}{operands}", count + 1);
            count += 1;
        };
        let layout = &self.layout;
        if let Some(blocks) = &layout.blocks {
            next("OpTensorLayoutSetBlockSizeNV", numbers.list(blocks.clone()));
        }
        next(
            "OpTensorLayoutSetDimensionNV",
            numbers.list(layout.sizes.clone()),
        );
        if let Some(strides) = &layout.strides {
            next("OpTensorLayoutSetStrideNV", numbers.list(strides.clone()));
        }
        if let Some(value) = layout.value {
            next("OpTensorLayoutSetClampValueNV", numbers.list([value]));
        }
        for slice in &layout.slices {
            let pairs = slice
                .iter()
                .flat_map(|(offset, span)| [*offset as u32, *span]);
            next("OpTensorLayoutSliceNV", numbers.list(pairs));
        }
        if self.variables {
            let _ = writeln!(text, "OpStore %layout_variable %l{count}");
            text += "%used_layout = OpLoad %layout %layout_variable\n";
        } else {
            let _ = writeln!(text, "%used_layout = OpCopyObject %layout %l{count}");
        }
        let Some(view) = &self.view else { return text };
        text += "%v0 = OpCreateTensorViewNV %view\n";
        let mut count = 0;
        let mut next = |op: &str, operands: String| {
            let _ = writeln!(text, "%v{} = {op} %view %v{count}{operands}", count + 1);
            count += 1;
        };
        if let Some(sizes) = &view.sizes {
            next("OpTensorViewSetDimensionNV", numbers.list(sizes.clone()));
        }
        if let Some(strides) = &view.strides {
            next("OpTensorViewSetStrideNV", numbers.list(strides.clone()));
        }
        if let Some(clip) = view.clip {
            next("OpTensorViewSetClipNV", numbers.list(clip));
        }
        if self.variables {
            let _ = writeln!(text, "OpStore %view_variable %v{count}");
            text += "%used_view = OpLoad %view %view_variable\n";
        } else {
            let _ = writeln!(text, "%used_view = OpCopyObject %view %v{count}");
        }
        text
    }

    /// The module, for workgroups of `invocations`.
    pub fn module(&self, invocations: u32) -> String {
        let [rows, columns] = self.size;
        let mut numbers = Numbers::default();
        let objects = self.objects(&mut numbers);
        let dimensions = self.layout.sizes.len();
        let bytes = self.element.bytes();
        let mut text = format!(
            "OpCapability Shader
             OpCapability PhysicalStorageBufferAddresses
             OpCapability CooperativeMatrixKHR
             OpCapability TensorAddressingNV
             OpCapability CooperativeMatrixTensorAddressingNV
             OpCapability CooperativeMatrixBlockLoadsNV
             OpExtension \"SPV_KHR_cooperative_matrix\"
             OpExtension \"SPV_NV_cooperative_matrix2\"
             OpExtension \"SPV_NV_tensor_addressing\"
             OpMemoryModel PhysicalStorageBuffer64 GLSL450
             OpEntryPoint GLCompute %main \"main\" %source %target %numbers
             OpExecutionMode %main LocalSize {invocations} 1 1
             OpDecorate %source DescriptorSet 0
             OpDecorate %source Binding 0
             OpDecorate %target DescriptorSet 0
             OpDecorate %target Binding 1
             OpDecorate %numbers DescriptorSet 0
             OpDecorate %numbers Binding 2
             OpDecorate %elements ArrayStride {bytes}
             OpDecorate %words ArrayStride 4
             OpDecorate %element_block Block
             OpMemberDecorate %element_block 0 Offset 0
             OpDecorate %word_block Block
             OpMemberDecorate %word_block 0 Offset 0
             OpMemberDecorate %coded 0 Offset 0
             OpMemberDecorate %coded 1 Offset 4
             %void = OpTypeVoid
             %function = OpTypeFunction %void
             %bool = OpTypeBool
             %true = OpConstantTrue %bool
             %false = OpConstantFalse %bool
             %uint = OpTypeInt 32 0\n"
        );
        let element = match self.element {
            Element::U32 => "%uint",
            Element::U8 | Element::F16 => {
                let _ = writeln!(text, "%element = {}", self.element.declaration());
                "%element"
            }
        };
        let _ = write!(
            text,
            "%words = OpTypeRuntimeArray %uint
             %word_block = OpTypeStruct %words
             %elements = OpTypeRuntimeArray {element}
             %element_block = OpTypeStruct %elements\n"
        );
        let scope = match self.scope {
            Scope::Subgroup => 3,
            Scope::Workgroup => 2,
        };
        for number in 0..=5 {
            let _ = writeln!(text, "%c{number} = OpConstant %uint {number}");
        }
        let kept = match self.element {
            Element::F16 => "0x1.d4p-11".to_owned(), // encoded as KEPT_F16
            Element::U8 | Element::U32 => KEPT.to_string(),
        };
        let _ = write!(
            text,
            "%rows = OpConstant %uint {rows}
             %columns = OpConstant %uint {columns}
             %kept_element = OpConstant {element} {kept}
             %dimensions = OpConstant %uint {dimensions}
             %matrix = OpTypeCooperativeMatrixKHR {element} %c{scope} %rows %columns %c{role}
             %kept = OpConstantComposite %matrix %kept_element
             %layout = OpTypeTensorLayoutNV %dimensions %c{clamp}
             %block_pointer = OpTypePointer StorageBuffer %element_block
             %element_pointer = OpTypePointer StorageBuffer {element}
             %word_pointer = OpTypePointer StorageBuffer %uint
             %words_pointer = OpTypePointer StorageBuffer %word_block
             %source = OpVariable %block_pointer StorageBuffer
             %target = OpVariable %block_pointer StorageBuffer
             %numbers = OpVariable %words_pointer StorageBuffer
             %coded = OpTypeStruct %uint %uint
             %place_type = OpTypePointer PhysicalStorageBuffer %coded
             %member_type = OpTypePointer PhysicalStorageBuffer %uint
             %coordinates = OpTypeArray %uint %dimensions
             %decode_type = OpTypeFunction {element} %place_type %coordinates %coordinates
             %layout_pointer = OpTypePointer Function %layout\n",
            role = self.role,
            clamp = self.layout.clamp,
        );
        if let Some(view) = &self.view {
            let order: String = view
                .permutation
                .iter()
                .map(|at| format!(" %c{at}"))
                .collect();
            let has = view.sizes.is_some();
            let _ = writeln!(
                text,
                "%view_count = OpConstant %uint {}",
                view.permutation.len()
            );
            let _ = writeln!(text, "%view = OpTypeTensorViewNV %view_count %{has}{order}");
            text += "%view_pointer = OpTypePointer Function %view\n";
        }
        for (at, number) in numbers.0.iter().enumerate() {
            let (name, value) = if self.at_run_time {
                ("index", at as u32)
            } else {
                ("n", *number)
            };
            let _ = writeln!(text, "%{name}{at} = OpConstant %uint {value}");
        }
        text += "%main = OpFunction %void None %function\n%entry = OpLabel\n";
        if self.variables {
            text += "%layout_variable = OpVariable %layout_pointer Function\n";
            if self.view.is_some() {
                text += "%view_variable = OpVariable %view_pointer Function\n";
            }
        }
        if self.at_run_time {
            for at in 0..numbers.0.len() {
                let _ = write!(
                    text,
                    "%at{at} = OpAccessChain %word_pointer %numbers %c0 %index{at}
                     %n{at} = OpLoad %uint %at{at}\n"
                );
            }
        }
        text += &objects;
        let mut operands = Vec::new();
        let mut ids = String::new();
        if self.view.is_some() {
            operands.push("TensorView");
            ids += " %used_view";
        }
        if self.decode {
            operands.push("DecodeFunc");
            ids += " %decode";
        }
        let operands = if operands.is_empty() {
            "None".to_owned()
        } else {
            operands.join("|") + &ids
        };
        text += "%from = OpAccessChain %element_pointer %source %c0 %c0
                 %to = OpAccessChain %element_pointer %target %c0 %c0\n";
        text += &if self.store {
            format!(
                "%value = OpCooperativeMatrixLoadKHR %matrix %from %c0 %columns
                 OpCooperativeMatrixStoreTensorNV %to %value %used_layout None {operands}\n"
            )
        } else {
            format!(
                "%value = OpCooperativeMatrixLoadTensorNV %matrix %from %kept %used_layout None {operands}
                 OpCooperativeMatrixStoreKHR %to %value %c0 %columns\n"
            )
        };
        text += "OpReturn\nOpFunctionEnd\n";
        if self.decode {
            text += &self.decode_function();
        }
        text
    }

    /// `first + second * (place in the block) + (block) * 1000`, the coordinates as digits.
    fn decode_function(&self) -> String {
        let mut text = "%decode = OpFunction %uint None %decode_type
             %coded_place = OpFunctionParameter %place_type
             %block = OpFunctionParameter %coordinates
             %in_block = OpFunctionParameter %coordinates
             %decode_entry = OpLabel
             %first_place = OpAccessChain %member_type %coded_place %c0
             %second_place = OpAccessChain %member_type %coded_place %c1
             %first = OpLoad %uint %first_place Aligned 4
             %second = OpLoad %uint %second_place Aligned 4
             %inner0 = OpCopyObject %uint %c1
             %outer0 = OpCopyObject %uint %c0\n"
            .to_owned();
        let count = self.layout.sizes.len();
        for at in 0..count {
            let next = at + 1;
            let _ = write!(
                text,
                "%part{at} = OpCompositeExtract %uint %in_block {at}
                 %scaled{at} = OpIMul %uint %inner{at} %c5
                 %inner{next} = OpIAdd %uint %scaled{at} %part{at}
                 %number{at} = OpCompositeExtract %uint %block {at}
                 %shifted{at} = OpIMul %uint %outer{at} %c3
                 %outer{next} = OpIAdd %uint %shifted{at} %number{at}\n"
            );
        }
        let _ = write!(
            text,
            "%product = OpIMul %uint %second %inner{count}
             %sum = OpIAdd %uint %first %product
             %all = OpIAdd %uint %sum %outer{count}
             OpReturnValue %all
             OpFunctionEnd\n"
        );
        text
    }

    /// The buffers before the launch.
    pub fn inputs(&self) -> [Vec<u8>; 3] {
        let mut numbers = Numbers::default();
        self.objects(&mut numbers);
        let source = (0..TENSOR as u64).flat_map(|at| self.element.encode(self.element.bits(at)));
        let target =
            (0..TENSOR as u64).flat_map(|at| self.element.encode(self.element.bits(at + 0x1_0000)));
        [
            source.collect(),
            target.collect(),
            numbers
                .0
                .iter()
                .flat_map(|number| number.to_le_bytes())
                .collect(),
        ]
    }

    /// The second buffer after it.
    pub fn expected(&self) -> Vec<u8> {
        let [_, mut target, _] = self.inputs();
        let [rows, columns] = self.size.map(|n| n as usize);
        let bytes = self.element.bytes();
        let source = |at: u64| self.element.bits(at);
        for row in 0..rows {
            for column in 0..columns {
                let place = self.locate(row as u64, column as u64);
                let number = (row * columns + column) as u64;
                let (at, bits) = if self.store {
                    match place {
                        Place::In { index, .. } => (index as usize, source(number)),
                        Place::Clipped | Place::Outside => continue,
                    }
                } else {
                    let bits = match place {
                        Place::In {
                            index,
                            block,
                            in_block,
                        } if self.decode => {
                            let digits = |base: u64, first, numbers: &[u64]| {
                                numbers
                                    .iter()
                                    .fold(first, |sum, number| sum * base + number)
                            };
                            let inner = digits(5, 1, &in_block);
                            let outer = digits(3, 0, &block);
                            let product = source(index * 2 + 1).wrapping_mul(inner);
                            source(index * 2).wrapping_add(product).wrapping_add(outer)
                        }
                        Place::In { index, .. } => source(index),
                        Place::Outside => self.layout.value.unwrap_or(0).into(),
                        Place::Clipped if self.element == Element::F16 => KEPT_F16,
                        Place::Clipped => KEPT,
                    };
                    (number as usize, bits)
                };
                target[at * bytes..][..bytes].copy_from_slice(&self.element.encode(bits));
            }
        }
        target
    }

    /// The place of an element of the matrix.
    fn locate(&self, mut row: u64, mut column: u64) -> Place {
        let layout = &self.layout;
        let spans: Vec<u64> = match layout.slices.last() {
            Some(slice) => slice.iter().map(|(_, span)| u64::from(*span)).collect(),
            None => layout.sizes.iter().map(|size| u64::from(*size)).collect(),
        };
        let mut width = u64::from(self.size[1]);
        let clip = self.view.as_ref().and_then(|view| view.clip);
        if let Some([first_row, rows, first_column, columns]) = clip.map(|clip| clip.map(u64::from))
        {
            let inside = (first_row..first_row + rows).contains(&row)
                && (first_column..first_column + columns).contains(&column);
            if !inside {
                return Place::Clipped;
            }
            row -= first_row;
            column -= first_column;
            width = width.min(columns);
        }
        let mut index = row * width + column;
        if let Some(view) = &self.view {
            let sizes = match &view.sizes {
                Some(sizes) => sizes.iter().map(|size| u64::from(*size)).collect(),
                None => spans.clone(),
            };
            let strides: Vec<u64> = match &view.strides {
                Some(strides) => strides.iter().map(|stride| u64::from(*stride)).collect(),
                None => (0..sizes.len())
                    .map(|at| sizes[at + 1..].iter().product())
                    .collect(),
            };
            let mut sum = 0;
            for at in view.permutation.iter().rev().map(|at| *at as usize) {
                sum += index % sizes[at] * strides[at];
                index /= sizes[at];
            }
            index = sum;
        }
        let mut span_coordinates = vec![0; spans.len()];
        for at in (0..spans.len()).rev() {
            span_coordinates[at] = index % spans[at];
            index /= spans[at];
        }
        let strides = layout.strides();
        let (mut linear, mut block, mut in_block) = (0, Vec::new(), Vec::new());
        for (at, coordinate) in span_coordinates.into_iter().enumerate() {
            let offsets: i64 = layout
                .slices
                .iter()
                .map(|slice| i64::from(slice[at].0))
                .sum();
            let size = i64::from(layout.sizes[at]);
            let mut c = coordinate as i64 + offsets;
            if !(0..size).contains(&c) {
                assert_ne!(layout.clamp, 0, "{}: an undefined access", self.name);
                c = match (layout.clamp, self.store) {
                    (1, _) | (_, true) => return Place::Outside,
                    (2, false) => c.clamp(0, size - 1),
                    (3, false) => c.rem_euclid(size),
                    _ => {
                        let period = (2 * size - 2).max(1);
                        let c = c.rem_euclid(period);
                        if c >= size { period - c } else { c }
                    }
                };
            }
            let size = i64::from(layout.block(at));
            block.push((c / size) as u64);
            in_block.push((c % size) as u64);
            linear += (c / size) as u64 * strides[at];
        }
        Place::In {
            index: linear,
            block,
            in_block,
        }
    }
}

/// The 16-bit float `0x1.d4p-11`.
const KEPT_F16: u64 = 0x1350;

/// The place of an element of the matrix.
enum Place {
    /// The view leaves it out.
    Clipped,
    /// Beyond the tensor.
    Outside,
    /// There.
    In {
        index: u64,
        block: Vec<u64>,
        in_block: Vec<u64>,
    },
}
