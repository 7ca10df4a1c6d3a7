//! A module out of features: one entry point that applies each to its own slices of the buffers.
//!
//! In the text of a feature `%NAME` is a type or constant that is declared when it is named (see
//! `Declarations`), `$NAME` an id of its own. Operands are `$a`, `$b`, `$c`, `$d`, results `$r`,
//! `$s`. There is a buffer of operands and one of results for each scalar type; a component of an
//! operand is a slice with an element for each invocation.

use super::feature::{Feature, Flavour};
use super::launch::{INVOCATIONS, WORKGROUP};
use super::ty::{Bool, Scalar, Ty};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const OPERANDS: [&str; 5] = ["a", "b", "c", "d", "e"];
const RESULTS: [&str; 4] = ["r", "s", "t", "u"];
/// Instruction sets that are imported where the code names them; all the others always are.
const SETS: [(&str, &str); 3] = [
    ("amd_ballot", "SPV_AMD_shader_ballot"),
    ("amd_gcn", "SPV_AMD_gcn_shader"),
    ("amd_minmax", "SPV_AMD_shader_trinary_minmax"),
];

/// A module with its buffers.
pub struct Batch {
    /// The text of the module.
    pub text: String,
    /// The buffers in the order of their bindings, which is the order of the kernel's parameters.
    pub buffers: Vec<Buffer>,
    /// The features' own buffers, after the others.
    pub memory: Vec<Own>,
    /// Values of specialization constants by SpecId.
    pub spec: Vec<u64>,
}

/// A buffer of a feature's own.
pub struct Own {
    /// Whose.
    pub feature: usize,
    /// Its bytes before the launch.
    pub bytes: Vec<u8>,
    /// Addresses that are stored in it: the offset, the number of the buffer that the address is
    /// of, and the number of bytes that are added.
    pub links: Vec<(usize, usize, u64)>,
}

/// A buffer of a [`Batch`].
pub struct Buffer {
    /// The scalar that it consists of.
    pub scalar: Scalar,
    /// Its bytes before the launch.
    pub bytes: Vec<u8>,
    /// True if it receives results.
    pub output: bool,
}

/// Floats that are operands only through their bits: their encodings have no arithmetic on the
/// host.
const SMALL_FLOATS: [(&str, &str); 8] = [
    ("bf16", "OpTypeFloat 16 BFloat16KHR"),
    ("e4m3", "OpTypeFloat 8 Float8E4M3EXT"),
    ("e5m2", "OpTypeFloat 8 Float8E5M2EXT"),
    ("e2m3", "OpTypeFloat 6 !4223"),
    ("e3m2", "OpTypeFloat 6 !4224"),
    ("e2m1", "OpTypeFloat 4 !4225"),
    ("e8m0", "OpTypeFloat 8 !4226"),
    ("mxint8", "OpTypeFloat 8 !4227"),
];

/// The types and constants that a text names, in the order in which they can be declared.
#[derive(Default)]
struct Declarations {
    seen: BTreeSet<String>,
    text: String,
    scalars: BTreeSet<Scalar>,
}

impl Declarations {
    /// Declares every `%NAME` of `text` that says what it is: `u32`, `f32v4`, `bf16`, `e4m3`,
    /// `e5m2v2`, `u32V32` (a long vector), `f32m4x3`, `u32a8` (an array), `s_u32_f32` (a
    /// structure), `p_Function_u32` (a pointer), `fn__void__u32` (a function), `u32_7` (a
    /// constant), `true`.
    fn name_all(&mut self, text: &str) {
        for token in text.split('%').skip(1) {
            let end = token
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(token.len());
            self.name(&token[..end]);
        }
    }

    fn name(&mut self, name: &str) {
        if !self.seen.insert(name.to_owned()) {
            return;
        }
        if let Some(line) = self.line(name) {
            let _ = writeln!(self.text, "%{name} = {line}");
        }
    }

    fn line(&mut self, name: &str) -> Option<String> {
        if let Some((_, line)) = SMALL_FLOATS.iter().find(|(float, _)| *float == name) {
            return Some((*line).to_owned());
        }
        if let Some(scalar) = Scalar::by_name(name) {
            self.scalars.insert(scalar);
            return Some(match scalar {
                Bool => "OpTypeBool".to_owned(),
                s if s.is_float() => format!("OpTypeFloat {}", s.bits()),
                s => format!("OpTypeInt {} 0", s.bits()),
            });
        }
        if let Some((encoded, lanes)) = ENCODED
            .iter()
            .find_map(|(encoded, line)| Some(((encoded, line), name.strip_prefix(encoded)?)))
        {
            let (scalar, line) = encoded;
            let Some(lanes) = lanes.strip_prefix('v') else {
                return Some((*line).to_owned());
            };
            self.name(scalar);
            return Some(format!("OpTypeVector %{scalar} {lanes}"));
        }
        match name {
            "void" => return Some("OpTypeVoid".to_owned()),
            "true" | "false" => {
                self.name("bool");
                return Some(format!(
                    "OpConstant{}{} %bool",
                    name[..1].to_uppercase(),
                    &name[1..]
                ));
            }
            _ => {}
        }
        if let Some(types) = name.strip_prefix("fn__") {
            let types: Vec<&str> = types.split("__").collect();
            types.iter().for_each(|ty| self.name(ty));
            return Some(format!("OpTypeFunction %{}", types.join(" %")));
        }
        if let Some((kind, rest)) = name.split_once('_') {
            return match kind {
                "p" => {
                    let (class, pointee) = rest.split_once('_')?;
                    self.name(pointee);
                    Some(format!("OpTypePointer {class} %{pointee}"))
                }
                "s" => {
                    let members: Vec<&str> = rest.split('_').collect();
                    members.iter().for_each(|m| self.name(m));
                    Some(format!("OpTypeStruct %{}", members.join(" %")))
                }
                _ => {
                    Scalar::by_name(kind)?;
                    self.name(kind);
                    Some(format!("OpConstant %{kind} {rest}"))
                }
            };
        }
        if let Some((element, count)) = name.rsplit_once('a')
            && let Ok(count) = count.parse::<u32>()
        {
            self.name(element);
            self.name(&format!("u32_{count}"));
            return Some(format!("OpTypeArray %{element} %u32_{count}"));
        }
        if let Some((scalar, shape)) = name.split_once('m') {
            let (columns, rows) = shape.split_once('x')?;
            self.name(&format!("{scalar}v{rows}"));
            return Some(format!("OpTypeMatrix %{scalar}v{rows} {columns}"));
        }
        if let Some((scalar, lanes)) = name.split_once('V') {
            Scalar::by_name(scalar)?;
            self.name(scalar);
            self.name(&format!("u32_{lanes}"));
            return Some(format!("OpTypeVectorIdEXT %{scalar} %u32_{lanes}"));
        }
        let (scalar, lanes) = name.split_once('v')?;
        if !SMALL_FLOATS.iter().any(|(float, _)| *float == scalar) {
            Scalar::by_name(scalar)?;
        }
        lanes.parse::<u32>().ok()?;
        self.name(scalar);
        Some(format!("OpTypeVector %{scalar} {lanes}"))
    }
}

/// Floats that are not IEEE's, which no buffer holds.
const ENCODED: [(&str, &str); 8] = [
    ("bf16", "OpTypeFloat 16 BFloat16KHR"),
    ("e4m3", "OpTypeFloat 8 Float8E4M3EXT"),
    ("e5m2", "OpTypeFloat 8 Float8E5M2EXT"),
    ("e2m3", "OpTypeFloat 6 !4223"),
    ("e3m2", "OpTypeFloat 6 !4224"),
    ("e2m1", "OpTypeFloat 4 !4225"),
    ("e8m0", "OpTypeFloat 8 !4226"),
    ("mxint8", "OpTypeFloat 8 !4227"),
];

/// Slices that are in use, by scalar.
#[derive(Default)]
struct Slices(BTreeMap<Scalar, usize>);

impl Slices {
    fn next(&mut self, scalar: Scalar) -> usize {
        let next = self.0.entry(scalar).or_default();
        *next += 1;
        (*next - 1) * INVOCATIONS
    }
}

/// A module of all `features`, which have one flavour.
pub fn batch(features: &[&Feature], flavour: Flavour) -> Batch {
    let mut used: BTreeSet<Scalar> = BTreeSet::new();
    for ty in features
        .iter()
        .flat_map(|f| f.params.iter().chain(&f.results))
    {
        used.insert(ty.scalar.memory());
    }
    let mut code = String::new();
    let (mut ins, mut outs) = (Slices::default(), Slices::default());
    let mut data: BTreeMap<Scalar, Vec<u64>> = BTreeMap::new();
    let (mut decorate, mut globals, mut variables) = (String::new(), String::new(), String::new());
    let (mut functions, mut spec) = (String::new(), Vec::new());
    let mut imports = String::new();
    let (mut memory, mut memories) = (Vec::new(), Vec::new());
    for (index, feature) in features.iter().enumerate() {
        let own = |text: &str| text.replace('$', &format!("%k{index}_"));
        let mut body = String::new();
        let mut column = 0;
        for (name, ty) in OPERANDS.iter().zip(&feature.params) {
            load(&mut body, flavour, name, *ty, |scalar| {
                let slice = data.entry(scalar).or_default();
                slice.extend(feature.inputs.iter().map(|row| row[column]));
                column += 1;
                ins.next(scalar)
            });
        }
        body.push_str(&feature.body);
        body.push('\n');
        for (name, ty) in RESULTS.iter().zip(&feature.results) {
            store(&mut body, flavour, name, *ty, |scalar| outs.next(scalar));
        }
        code.push_str(&own(&body));
        let mut own_decorate = feature.decorate.clone();
        for number in (0..feature.spec.len()).rev() {
            let id = spec.len() + number;
            own_decorate =
                own_decorate.replace(&format!("SpecId ${number}\n"), &format!("SpecId {id}\n"));
        }
        spec.extend(&feature.spec);
        decorate.push_str(&own(&own_decorate));
        functions.push_str(&own(&feature.functions));
        imports.push_str(&own(&feature.imports));
        let first = 2 * used.len() + memory.len();
        for one in &feature.memory {
            let links = one.links.iter();
            memory.push(Own {
                feature: index,
                bytes: one.before.clone(),
                links: links
                    .map(|(at, of, plus)| (*at, first + of, *plus))
                    .collect(),
            });
            memories.push((own(&format!("${}", one.name)), own(&one.pointer)));
        }
        globals.push_str(&own(&feature.globals));
        variables.push_str(&own(&feature.variables));
    }
    let buffers = used.iter().flat_map(|scalar| {
        let input = data.remove(scalar).unwrap_or_else(|| vec![0]);
        let count = outs.0.get(scalar).map_or(1, |n| n * INVOCATIONS);
        [
            Buffer {
                scalar: *scalar,
                bytes: bytes(*scalar, &input),
                output: false,
            },
            Buffer {
                scalar: *scalar,
                bytes: bytes(*scalar, &vec![0xa5; count]),
                output: true,
            },
        ]
    });
    let buffers: Vec<Buffer> = buffers.collect();
    let frame = Frame {
        flavour,
        used: used.into_iter().collect(),
        needs: features
            .iter()
            .flat_map(|f| f.needs.iter().copied())
            .collect(),
        decorate,
        globals,
        variables,
        imports,
        functions,
        memories,
        code,
    };
    Batch {
        text: frame.text(),
        buffers,
        memory,
        spec,
    }
}

fn bytes(scalar: Scalar, values: &[u64]) -> Vec<u8> {
    let size = scalar.bits() as usize / 8;
    values
        .iter()
        .flat_map(|v| v.to_le_bytes().into_iter().take(size))
        .collect()
}

/// The results of a feature in the buffers after a launch: for each invocation its components.
pub fn results(features: &[&Feature], buffers: &[(Scalar, Vec<u8>)]) -> Vec<Vec<Vec<u64>>> {
    let mut outs = Slices::default();
    features
        .iter()
        .map(|feature| {
            let mut rows = vec![Vec::new(); INVOCATIONS];
            for ty in &feature.results {
                for _ in 0..ty.components() {
                    let scalar = ty.scalar.memory();
                    let size = scalar.bits() as usize / 8;
                    let at = outs.next(scalar);
                    let buffer = buffers.iter().find(|(s, _)| *s == scalar);
                    let bytes = buffer.map_or(&[][..], |(_, bytes)| bytes);
                    for (row, element) in rows.iter_mut().zip(bytes.chunks_exact(size).skip(at)) {
                        let mut word = [0; 8];
                        word[..size].copy_from_slice(element);
                        row.push(u64::from_le_bytes(word));
                    }
                }
            }
            rows
        })
        .collect()
}

/// The address of this invocation's element in a slice.
fn element(code: &mut String, flavour: Flavour, id: &str, buffer: &str, scalar: Scalar, at: usize) {
    let name = scalar.name();
    match flavour {
        Flavour::Shader | Flavour::VulkanModel | Flavour::Addresses => {
            let _ = writeln!(code, "{id}_i = OpIAdd %u32 %gid %u32_{at}");
            let _ = writeln!(
                code,
                "{id}_p = OpAccessChain %p_StorageBuffer_{name} %{buffer}_{name} %u32_0 {id}_i"
            );
        }
        Flavour::Kernel => {
            let _ = writeln!(code, "{id}_i = OpIAdd %u64 %gid %u64_{at}");
            let _ = writeln!(
                code,
                "{id}_p = OpInBoundsPtrAccessChain %p_CrossWorkgroup_{name} %{buffer}_{name} {id}_i"
            );
        }
    }
}

/// `$name` of type `ty`, from a slice for each component.
fn load(
    code: &mut String,
    flavour: Flavour,
    name: &str,
    ty: Ty,
    mut slice: impl FnMut(Scalar) -> usize,
) {
    let scalar = ty.scalar.memory();
    let size = scalar.bits() / 8;
    for component in 0..ty.components() {
        let id = match ty.components() {
            1 if ty.scalar != Bool => format!("${name}"),
            _ => format!("${name}{component}"),
        };
        let at = slice(scalar);
        element(code, flavour, &id, "in", scalar, at);
        let _ = writeln!(
            code,
            "{id} = OpLoad %{} {id}_p Aligned {size}",
            scalar.name()
        );
        if ty.scalar == Bool {
            let to = match ty.components() {
                1 => format!("${name}"),
                _ => format!("{id}_b"),
            };
            let _ = writeln!(code, "{to} = OpINotEqual %bool {id} %u32_0");
        }
    }
    let suffix = if ty.scalar == Bool { "_b" } else { "" };
    if ty.components() == 1 {
        return;
    }
    for column in 0..ty.columns {
        let id = match ty.columns {
            1 => format!("${name}"),
            _ => format!("${name}_c{column}"),
        };
        let of = Ty::vector(ty.scalar, ty.lanes).name();
        let _ = write!(code, "{id} = OpCompositeConstruct %{of}");
        for lane in 0..ty.lanes {
            let _ = write!(code, " ${name}{}{suffix}", column * ty.lanes + lane);
        }
        code.push('\n');
    }
    if ty.columns > 1 {
        let _ = write!(code, "${name} = OpCompositeConstruct %{}", ty.name());
        for column in 0..ty.columns {
            let _ = write!(code, " ${name}_c{column}");
        }
        code.push('\n');
    }
}

/// `$name` of type `ty`, to a slice for each component.
fn store(
    code: &mut String,
    flavour: Flavour,
    name: &str,
    ty: Ty,
    mut slice: impl FnMut(Scalar) -> usize,
) {
    let scalar = ty.scalar.memory();
    let (memory, size) = (scalar.name(), scalar.bits() / 8);
    for component in 0..ty.components() {
        let id = format!("${name}_o{component}");
        let mut value = format!("${name}");
        if ty.components() > 1 {
            let path = match ty.columns {
                1 => component.to_string(),
                _ => format!("{} {}", component / ty.lanes, component % ty.lanes),
            };
            let of = ty.scalar.name();
            let _ = writeln!(code, "{id} = OpCompositeExtract %{of} {value} {path}");
            value = id.clone();
        }
        if ty.scalar == Bool {
            let _ = writeln!(code, "{id}_w = OpSelect %u32 {value} %u32_1 %u32_0");
            value = format!("{id}_w");
        }
        let at = slice(scalar);
        element(code, flavour, &id, "out", scalar, at);
        let _ = writeln!(code, "OpStore {id}_p {value} Aligned {size}");
        let _ = memory;
    }
}

/// The code around the features.
struct Frame {
    flavour: Flavour,
    used: Vec<Scalar>,
    needs: BTreeSet<&'static str>,
    decorate: String,
    globals: String,
    variables: String,
    imports: String,
    functions: String,
    /// Names and pointer types of the features' own buffers.
    memories: Vec<(String, String)>,
    code: String,
}

impl Flavour {
    /// Returns true if buffers are the parameters of a kernel.
    pub(super) fn is_kernel(self) -> bool {
        self == Flavour::Kernel
    }

    /// Addressing and memory model.
    fn model(self) -> &'static str {
        match self {
            Flavour::Shader => "Logical GLSL450",
            Flavour::VulkanModel => "Logical Vulkan",
            Flavour::Addresses => "PhysicalStorageBuffer64 GLSL450",
            Flavour::Kernel => "Physical64 OpenCL",
        }
    }

    fn capabilities(self) -> &'static [&'static str] {
        match self {
            Flavour::Shader => &["Shader", "GroupNonUniform"],
            Flavour::VulkanModel => &[
                "Shader",
                "GroupNonUniform",
                "VulkanMemoryModel",
                "VulkanMemoryModelDeviceScope",
            ],
            Flavour::Addresses => &[
                "Shader",
                "GroupNonUniform",
                "PhysicalStorageBufferAddresses",
                "Int64",
            ],
            Flavour::Kernel => &["Kernel", "Addresses", "Int64", "GroupNonUniform"],
        }
    }
}

impl Frame {
    fn text(self) -> String {
        let mut declarations = Declarations::default();
        let index = if self.flavour.is_kernel() {
            "u64"
        } else {
            "u32"
        };
        declarations.name_all("%void %u32_0 %u32_1 %u32");
        declarations.name(&format!("p_Input_{index}v3"));
        let names: Vec<&str> = self.used.iter().map(|s| s.name()).collect();
        for name in &names {
            declarations.name(name);
            let class = if self.flavour.is_kernel() {
                "CrossWorkgroup"
            } else {
                "StorageBuffer"
            };
            declarations.name(&format!("p_{class}_{name}"));
        }
        for (_, pointer) in &self.memories {
            declarations.name_all(&format!("%{}", pointer.trim_start_matches('%')));
        }
        for text in [
            &self.decorate,
            &self.globals,
            &self.variables,
            &self.imports,
            &self.functions,
            &self.code,
        ] {
            declarations.name_all(text);
        }
        let mut head = String::new();
        let capabilities = self.capabilities(&declarations.scalars);
        for capability in capabilities {
            let _ = writeln!(head, "OpCapability {capability}");
        }
        if self.needs.contains("SplitBarrierINTEL") {
            head.push_str("OpExtension \"SPV_INTEL_split_barrier\"\n");
        }
        head.push_str(
            "%glsl = OpExtInstImport \"GLSL.std.450\"\n%cl = OpExtInstImport \"OpenCL.std\"\n",
        );
        for (id, set) in SETS {
            if self.code.contains(id) {
                let _ = writeln!(head, "%{id} = OpExtInstImport \"{set}\"");
            }
        }
        let mut interface = String::from(" %gids %lids %sgl %sgs %sgi");
        let mut decorate = String::from(
            "OpDecorate %gids BuiltIn GlobalInvocationId\nOpDecorate %lids BuiltIn LocalInvocationIndex\n\
             OpDecorate %sgl BuiltIn SubgroupLocalInvocationId\nOpDecorate %sgs BuiltIn SubgroupSize\n\
             OpDecorate %sgi BuiltIn SubgroupId\n",
        );
        declarations.name("p_Input_u32");
        let mut globals = format!("%gids = OpVariable %p_Input_{index}v3 Input\n");
        for name in ["lids", "sgl", "sgs", "sgi"] {
            let _ = writeln!(globals, "%{name} = OpVariable %p_Input_u32 Input");
        }
        let mut parameters = String::new();
        let mut types = String::new();
        let _ = writeln!(head, "OpMemoryModel {}", self.flavour.model());
        let mut own_globals = self.globals;
        for line in own_globals.lines() {
            if let Some((name, _)) = line.split_once(" = OpVariable ") {
                let _ = write!(interface, " {name}");
            }
        }
        match self.flavour {
            Flavour::Shader | Flavour::VulkanModel | Flavour::Addresses => {
                for (at, name) in names.iter().enumerate() {
                    let size = Scalar::by_name(name).map_or(4, |s| s.bits() / 8);
                    let _ = write!(interface, " %in_{name} %out_{name}");
                    let _ = write!(
                        decorate,
                        "OpDecorate %ra_{name} ArrayStride {size}\nOpDecorate %block_{name} Block\n\
                         OpMemberDecorate %block_{name} 0 Offset 0\n"
                    );
                    for (way, binding) in [("in", 2 * at), ("out", 2 * at + 1)] {
                        let _ = write!(
                            decorate,
                            "OpDecorate %{way}_{name} DescriptorSet 0\nOpDecorate %{way}_{name} Binding {binding}\n"
                        );
                    }
                    let _ = write!(
                        globals,
                        "%ra_{name} = OpTypeRuntimeArray %{name}\n%block_{name} = OpTypeStruct %ra_{name}\n\
                         %pb_{name} = OpTypePointer StorageBuffer %block_{name}\n\
                         %in_{name} = OpVariable %pb_{name} StorageBuffer\n%out_{name} = OpVariable %pb_{name} StorageBuffer\n"
                    );
                }
                for (at, (name, pointer)) in (2 * names.len()..).zip(&self.memories) {
                    let _ = write!(interface, " {name}");
                    let _ = write!(
                        decorate,
                        "OpDecorate {name} DescriptorSet 0\nOpDecorate {name} Binding {at}\n"
                    );
                    let pointer = pointer.trim_start_matches('%');
                    let _ = writeln!(own_globals, "{name} = OpVariable %{pointer} StorageBuffer");
                }
                let _ = write!(
                    head,
                    "OpEntryPoint GLCompute %main \"main\"{interface}\nOpExecutionMode %main LocalSize {WORKGROUP} 1 1\n"
                );
                if self.needs.contains("ComputeDerivativeGroupLinearKHR") {
                    head.push_str("OpExecutionMode %main DerivativeGroupLinearKHR\n");
                }
            }
            Flavour::Kernel => {
                for name in &names {
                    for way in ["in", "out"] {
                        let _ = write!(types, " %p_CrossWorkgroup_{name}");
                        let _ = writeln!(
                            parameters,
                            "%{way}_{name} = OpFunctionParameter %p_CrossWorkgroup_{name}"
                        );
                    }
                }
                for (name, pointer) in &self.memories {
                    let pointer = pointer.trim_start_matches('%');
                    let _ = write!(types, " %{pointer}");
                    let _ = writeln!(parameters, "{name} = OpFunctionParameter %{pointer}");
                }
                let _ = write!(
                    head,
                    "OpEntryPoint Kernel %main \"main\"{interface}\nOpExecutionMode %main LocalSize {WORKGROUP} 1 1\n"
                );
            }
        }
        let declared = declarations.text;
        format!(
            "{head}{decorate}{own_decorate}{declared}{globals}{own_globals}%function = OpTypeFunction %void{types}\n{imports}\
             %main = OpFunction %void None %function\n{parameters}%entry = OpLabel\n{variables}\
             %gid3 = OpLoad %{index}v3 %gids\n%gid = OpCompositeExtract %{index} %gid3 0\n\
             %local = OpLoad %u32 %lids\n%lane = OpLoad %u32 %sgl\n{code}OpReturn\nOpFunctionEnd\n{functions}",
            own_decorate = self.decorate,
            imports = self.imports,
            functions = self.functions,
            variables = self.variables,
            code = self.code,
        )
    }

    fn capabilities(&self, scalars: &BTreeSet<Scalar>) -> BTreeSet<&'static str> {
        let mut all = self.needs.clone();
        all.extend(self.flavour.capabilities());
        let shader = !self.flavour.is_kernel();
        for scalar in scalars {
            all.extend(match scalar {
                Scalar::U8 if shader => ["Int8", "StorageBuffer8BitAccess"].as_slice(),
                Scalar::U8 => &["Int8"],
                Scalar::U16 if shader => &["Int16", "StorageBuffer16BitAccess"],
                Scalar::U16 => &["Int16"],
                Scalar::F16 if shader => &["Float16", "StorageBuffer16BitAccess"],
                Scalar::F16 => &["Float16"],
                Scalar::U64 => &["Int64"],
                Scalar::F64 => &["Float64"],
                Scalar::Bool | Scalar::U32 | Scalar::F32 => &[],
            });
        }
        all
    }
}
