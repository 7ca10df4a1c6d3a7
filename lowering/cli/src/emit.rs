//! What `splitbar lower` writes, and where: `--emit KIND[=FILE]`.

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, ValueEnum};
use splitbar::Product;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A kind of output.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Emit {
    /// LLVM IR as text
    LlvmIr,
    /// LLVM IR as bitcode
    Bitcode,
    /// Assembly, or PTX
    Asm,
    /// PTX (NVIDIA)
    Ptx,
    /// A relocatable object (AMDGPU)
    Obj,
    /// A code object, linked with lld (AMDGPU)
    Hsaco,
    /// Machine code from ptxas (NVIDIA)
    Cubin,
    /// The strategy of each barrier, and the reason
    Plan,
    /// The kernels' arguments, memory, pairs and windows as JSON
    Reflect,
}

impl Emit {
    /// Returns true if it is binary data.
    pub(super) fn is_binary(self) -> bool {
        match self {
            Emit::Bitcode | Emit::Obj | Emit::Hsaco | Emit::Cubin => true,
            Emit::LlvmIr | Emit::Asm | Emit::Ptx | Emit::Plan | Emit::Reflect => false,
        }
    }

    /// The extension of a file of it; `ptx`: assembly is PTX.
    pub(super) fn extension(self, ptx: bool) -> &'static str {
        match self {
            Emit::LlvmIr => "ll",
            Emit::Bitcode => "bc",
            Emit::Asm if !ptx => "s",
            Emit::Asm | Emit::Ptx => "ptx",
            Emit::Obj => "o",
            Emit::Hsaco => "co",
            Emit::Cubin => "cubin",
            Emit::Plan => "plan",
            Emit::Reflect => "json",
        }
    }
}

impl From<Emit> for Product {
    fn from(emit: Emit) -> Product {
        match emit {
            Emit::LlvmIr => Product::Ir,
            Emit::Bitcode => Product::Bitcode,
            Emit::Asm | Emit::Ptx => Product::Assembly,
            Emit::Obj => Product::Object,
            Emit::Hsaco => Product::CodeObject,
            Emit::Cubin => Product::Cubin,
            Emit::Plan => Product::Plan,
            Emit::Reflect => Product::Reflect,
        }
    }
}

/// One `--emit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EmitArg {
    pub(super) kind: Emit,
    /// The file behind `=`.
    pub(super) file: Option<PathBuf>,
}

/// Parses `KIND` and `KIND=FILE`.
#[derive(Clone)]
pub(super) struct EmitParser;

impl TypedValueParser for EmitParser {
    type Value = EmitArg;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<EmitArg, clap::Error> {
        let text = value
            .to_str()
            .ok_or_else(|| clap::Error::new(ErrorKind::InvalidUtf8).with_cmd(command))?;
        let (kind, file) = match text.split_once('=') {
            Some((kind, file)) => (kind, Some(PathBuf::from(file))),
            None => (text, None),
        };
        if file
            .as_ref()
            .is_some_and(|file| file.as_os_str().is_empty())
        {
            let said = format!("--emit {text} names no file after `=`\n");
            return Err(clap::Error::raw(ErrorKind::InvalidValue, said).with_cmd(command));
        }
        let kind = EnumValueParser::<Emit>::new().parse_ref(command, arg, OsStr::new(kind))?;
        Ok(EmitArg { kind, file })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = Emit::value_variants().iter();
        Some(Box::new(values.filter_map(Emit::to_possible_value)))
    }
}

/// Something to write: what, and the file; `None` is the standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) kind: Emit,
    pub(super) file: Option<PathBuf>,
}

/// What is written: each of `asked`, those without a file of their own to `file`; assembly where
/// nothing is asked for, unless `others` are written already.
///
/// # Errors
/// Two outputs would go to one place, or nothing goes to `file`.
pub(super) fn outputs(
    asked: &[EmitArg],
    file: Option<&Path>,
    others: bool,
) -> Result<Vec<Output>, String> {
    let default = [EmitArg {
        kind: Emit::Asm,
        file: None,
    }];
    let asked = match asked {
        [] if !others || file.is_some() => &default,
        asked => asked,
    };
    let dash = Path::new("-");
    let mut outputs: Vec<Output> = Vec::new();
    for one in asked {
        let file = one.file.as_deref().or(file).filter(|file| *file != dash);
        let output = Output {
            kind: one.kind,
            file: file.map(Path::to_owned),
        };
        if outputs.iter().any(|other| other.file == output.file) {
            let place = file.map_or("the standard output".into(), |file| {
                file.display().to_string()
            });
            return Err(format!(
                "two outputs go to {place}; name a file for each: --emit asm=FILE"
            ));
        }
        outputs.push(output);
    }
    if let Some(file) = file
        && asked.iter().all(|one| one.file.is_some())
    {
        let file = file.display();
        return Err(format!(
            "nothing is written to {file}: every --emit names its own file"
        ));
    }
    Ok(outputs)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn arg(text: &str) -> EmitArg {
        EmitParser
            .parse_ref(&Command::new("x"), None, OsStr::new(text))
            .unwrap()
    }

    fn places(asked: &[&str], file: Option<&str>) -> Result<Vec<String>, String> {
        let asked: Vec<EmitArg> = asked.iter().map(|text| arg(text)).collect();
        let outputs = outputs(&asked, file.map(Path::new), false)?;
        let place = |output: Output| match output.file {
            Some(file) => format!("{:?} {}", output.kind, file.display()),
            None => format!("{:?}", output.kind),
        };
        Ok(outputs.into_iter().map(place).collect())
    }

    #[test]
    fn each_output_has_a_place_of_its_own() {
        assert_eq!(places(&[], None).unwrap(), ["Asm"]);
        assert_eq!(places(&[], Some("k.s")).unwrap(), ["Asm k.s"]);
        let both = ["asm", "reflect=k.json"];
        assert_eq!(places(&both, None).unwrap(), ["Asm", "Reflect k.json"]);
        let named = ["Asm k.s", "Reflect k.json"];
        assert_eq!(places(&both, Some("k.s")).unwrap(), named);
        assert_eq!(places(&["plan"], Some("-")).unwrap(), ["Plan"]);
        assert!(
            EmitParser
                .parse_ref(&Command::new("x"), None, OsStr::new("asm="))
                .is_err()
        );
        assert!(places(&["asm", "plan"], None).is_err());
        assert!(places(&["asm=a", "plan=a"], None).is_err());
        assert!(places(&["asm=a"], Some("b")).is_err());
        assert_eq!(outputs(&[], None, true), Ok(Vec::new()));
    }
}
