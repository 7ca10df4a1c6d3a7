//! An instruction at one width: its code, its operands, and the expected result.

use super::edges;
use super::launch::{INVOCATIONS, Launch};
use super::ty::{Scalar, Ty};
use super::want::{self, Want};

/// The environment of a module.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// A compute shader of Vulkan.
    Shader,
    /// The same under the Vulkan memory model.
    VulkanModel,
    /// The same with the addresses of buffers as numbers.
    Addresses,
    /// An OpenCL kernel.
    Kernel,
}

/// Memory that the invocations of a launch share, in a separate buffer.
///
/// `$NAME` is a pointer of type `%pointer`: in shaders a StorageBuffer variable, in kernels a
/// parameter.
pub struct Memory {
    /// The name after `$`.
    pub name: &'static str,
    /// The name of the pointer type, `$` in front if it is the feature's own.
    pub pointer: String,
    /// Before the launch.
    pub before: Vec<u8>,
    /// After the launch; `None` if it is not written.
    pub after: Option<Vec<u8>>,
    /// Addresses that are stored in it before the launch: the offset, the number of the feature's
    /// buffer that the address is of, and the number of bytes that are added.
    pub links: Vec<(usize, usize, u64)>,
}

/// All rows of operands to all rows of results.
pub type Host = Box<dyn Fn(Launch, &[Vec<u64>]) -> Vec<Vec<Want>> + Send + Sync>;

/// An instruction at one width.
pub struct Feature {
    /// The instruction: `OpIAdd`, `GLSL.std.450 Sin`.
    pub op: String,
    /// At which types: `u32`, `f32v4`.
    pub variant: String,
    /// Types of the operands.
    pub params: Vec<Ty>,
    /// Types of the results.
    pub results: Vec<Ty>,
    /// The code; see [`module`](super::module).
    pub body: String,
    /// Decorations.
    pub decorate: String,
    /// Types, constants and variables of the module.
    pub globals: String,
    /// Variables of the function.
    pub variables: String,
    /// Functions that it calls and that the module imports.
    pub imports: String,
    /// Functions that it calls.
    pub functions: String,
    /// Buffers in addition to those of operands and results.
    pub memory: Vec<Memory>,
    /// Values of specialization constants, by SpecId. `$N` in a decoration is the first number that
    /// is not used yet, plus `N`.
    pub spec: Vec<u64>,
    /// Capabilities in addition to those of the types.
    pub needs: Vec<&'static str>,
    /// Operands of each invocation: the components of all parameters.
    pub inputs: Vec<Vec<u64>>,
    /// The expected result.
    pub host: Host,
    /// The requirement of the specification, as text; empty for the exact result.
    pub requirement: &'static str,
}

impl Feature {
    /// A feature whose results depend on nothing but the operands of the invocation.
    pub fn new(
        op: &str,
        params: &[Ty],
        results: &[Ty],
        body: &str,
        host: impl Fn(&[u64]) -> Vec<Want> + Send + Sync + 'static,
    ) -> Feature {
        let variant = match params.first().or(results.first()) {
            Some(ty) => ty.name(),
            None => String::new(),
        };
        let seed = op.bytes().chain(variant.bytes()).fold(7u64, |seed, byte| {
            seed.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        Feature {
            op: op.to_owned(),
            variant,
            params: params.to_vec(),
            results: results.to_vec(),
            body: body.to_owned(),
            decorate: String::new(),
            globals: String::new(),
            variables: String::new(),
            imports: String::new(),
            functions: String::new(),
            memory: Vec::new(),
            spec: Vec::new(),
            needs: Vec::new(),
            inputs: edges::rows(seed, params),
            host: Box::new(move |_, rows| rows.iter().map(|row| host(row)).collect()),
            requirement: "",
        }
    }

    /// `%r = OP %T %a %b ...` for operands and results of these types.
    pub fn simple(
        op: &str,
        params: &[Ty],
        result: Ty,
        host: impl Fn(&[u64]) -> Want + Send + Sync + 'static,
    ) -> Feature {
        let mut body = match op.split_once(' ') {
            Some((set, name)) => format!(
                "$r = OpExtInst %{} %{} {name}",
                result.name(),
                if set == "GLSL.std.450" { "glsl" } else { "cl" }
            ),
            None => format!("$r = {op} %{}", result.name()),
        };
        for name in ["$a", "$b", "$c", "$d"].iter().take(params.len()) {
            body.push(' ');
            body.push_str(name);
        }
        Feature::new(op, params, &[result], &body, move |row| vec![host(row)])
    }

    /// The same with a host function that sees the whole launch.
    pub fn collectively(
        mut self,
        host: impl Fn(Launch, &[Vec<u64>]) -> Vec<Vec<Want>> + Send + Sync + 'static,
    ) -> Feature {
        self.host = Box::new(host);
        self
    }

    /// The same with other operands.
    pub fn with_inputs(mut self, inputs: Vec<Vec<u64>>) -> Feature {
        assert_eq!(inputs.len(), INVOCATIONS, "{}", self.op);
        self.inputs = inputs;
        self
    }

    /// The same with capabilities.
    pub fn needing(mut self, needs: &[&'static str]) -> Feature {
        self.needs.extend(needs);
        self
    }

    /// Adds types, constants and variables to the feature.
    pub fn with_globals(mut self, globals: impl Into<String>) -> Feature {
        self.globals = globals.into();
        self
    }

    /// The same with decorations.
    pub fn decorated(mut self, decorate: impl Into<String>) -> Feature {
        self.decorate = decorate.into();
        self
    }

    /// The same with variables of the function.
    pub fn with_variables(mut self, variables: impl Into<String>) -> Feature {
        self.variables = variables.into();
        self
    }

    /// The same with imports to call.
    pub fn with_imports(mut self, imports: impl Into<String>) -> Feature {
        self.imports = imports.into();
        self
    }

    /// The same with functions to call.
    pub fn with_functions(mut self, functions: impl Into<String>) -> Feature {
        self.functions = functions.into();
        self
    }

    /// The same with a buffer.
    pub fn with_memory(mut self, memory: Memory) -> Feature {
        self.memory.push(memory);
        self
    }

    /// The same under another name for its types.
    pub fn called(mut self, variant: &str) -> Feature {
        variant.clone_into(&mut self.variant);
        self
    }

    /// Its name among the tests.
    pub fn name(&self) -> String {
        format!("{}.{}", self.op.replace(' ', "."), self.variant)
    }

    /// The first result that is wrong, or the worst error of all.
    ///
    /// # Errors
    /// A sentence with operands, result and what was wanted.
    pub fn judge(
        &self,
        launch: Launch,
        found: &[Vec<u64>],
        memory: &[&[u8]],
    ) -> Result<want::Worst, String> {
        for (wanted, found) in self.memory.iter().zip(memory) {
            let wrong = wanted.after.as_ref().and_then(|after| {
                let mut bytes = after.iter().zip(*found).enumerate();
                bytes.find(|(_, (wanted, found))| wanted != found)
            });
            if let Some((at, (wanted_byte, byte))) = wrong {
                return Err(format!(
                    "byte {at} of ${} is {byte:#x} instead of {wanted_byte:#x}",
                    wanted.name
                ));
            }
        }
        let wanted = (self.host)(launch, &self.inputs);
        let scalars: Vec<Scalar> = self.results.iter().flat_map(components).collect();
        let mut worst = want::Worst::default();
        for (row, (wanted, found)) in wanted.iter().zip(found).enumerate() {
            if wanted.len() != scalars.len() || found.len() != scalars.len() {
                return Err(format!(
                    "{} results, {} wanted, {} found",
                    scalars.len(),
                    wanted.len(),
                    found.len()
                ));
            }
            for (at, scalar) in scalars.iter().enumerate() {
                let Some(error) = wanted[at].accepts(*scalar, found[at]) else {
                    let operands: Vec<String> = self
                        .params
                        .iter()
                        .flat_map(components)
                        .zip(&self.inputs[row])
                        .map(|(scalar, bits)| want::show(scalar, *bits))
                        .collect();
                    return Err(format!(
                        "invocation {row}, component {at}: of ({}) {} instead of {}",
                        operands.join(", "),
                        want::show(*scalar, found[at]),
                        wanted[at].show(*scalar)
                    ));
                };
                worst = worst.join(error);
            }
        }
        Ok(worst)
    }
}

fn components(ty: &Ty) -> impl Iterator<Item = Scalar> + use<> {
    std::iter::repeat_n(ty.scalar, ty.components())
}
