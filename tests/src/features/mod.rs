//! One instruction, one test: every feature is a snippet of SPIR-V with operands and a function on the host that says its results.
//!
//! A family of features is a table in a file of its own. [`module`] makes modules of many features, so that the cost of a compilation is shared.

mod bits;
mod collectives;
mod compare;
mod convert;
pub mod edges;
mod float;
mod float_rules;
mod glsl;
mod glsl_math;
mod integer;
pub mod module;
mod opencl_integer;
mod opencl_math;
mod subgroup;
pub mod ty;
mod vector;
pub mod want;

use ty::{Scalar, Ty};
use want::Want;

/// Invocations of a launch; each has operands of its own.
pub const INVOCATIONS: usize = 256;
/// Invocations of a workgroup.
pub const WORKGROUP: usize = 64;

/// Which environment a module is made for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// A compute shader of Vulkan.
    Shader,
    /// An OpenCL kernel.
    Kernel,
}

/// What a host function may ask of the launch.
#[derive(Copy, Clone, Debug)]
pub struct Launch {
    /// Invocations of a subgroup.
    pub subgroup: usize,
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
    /// The code; see [`module`].
    pub body: String,
    /// Decorations.
    pub decorate: String,
    /// Types, constants and variables of the module.
    pub globals: String,
    /// Variables of the function.
    pub variables: String,
    /// Capabilities beyond those of the types.
    pub needs: Vec<&'static str>,
    /// Operands of each invocation: the components of all parameters.
    pub inputs: Vec<Vec<u64>>,
    /// What must come out.
    pub host: Host,
    /// What the specification asks, for people; empty: the exact result.
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
    pub fn judge(&self, launch: Launch, found: &[Vec<u64>]) -> Result<want::Worst, String> {
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

/// Features that are compiled together.
pub struct Family {
    /// Its name among the tests.
    pub name: &'static str,
    /// Which environment it belongs to.
    pub flavour: Flavour,
    /// Its features.
    pub features: Vec<Feature>,
}

/// All families.
pub fn families() -> Vec<Family> {
    use Flavour::{Kernel, Shader};
    let family = |name, flavour, features| Family {
        name,
        flavour,
        features,
    };
    vec![
        family("integer", Shader, integer::features()),
        family("bits", Shader, bits::features()),
        family("compare", Shader, compare::features()),
        family("compare_kernel", Kernel, compare::kernel_features()),
        family("float", Shader, float::features()),
        family("convert", Shader, convert::features()),
        family("convert_kernel", Kernel, convert::kernel_features()),
        family("glsl", Shader, glsl::features()),
        family("glsl_math", Shader, glsl_math::features()),
        family("vector", Shader, vector::features()),
        family("subgroup", Shader, subgroup::features()),
        family("opencl_integer", Kernel, opencl_integer::features()),
        family("opencl_math", Kernel, opencl_math::features()),
    ]
}
