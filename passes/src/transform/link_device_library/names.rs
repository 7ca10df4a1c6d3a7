//! Decodes the name of an imported function.
//!
//! Sources: the Itanium C++ ABI, section 5.1 (names `_Z` LENGTH NAME ...), "Representation of
//! SPIR-V in LLVM" of the LLVM SPIR-V translator (`__spirv_NAME`, `__spirv_ocl_NAME`), and "Device
//! library extensions" of DPC++ (`__devicelib_NAME`).

/// What an import is, by its name.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum ImportedFunction<'n> {
    /// A function of the device library or of C, as C calls it.
    Library(&'n str),
    /// An instruction of OpenCL.std, as that set calls it.
    OpenCl(&'n str),
    /// A core instruction without its `Op`, and what follows behind `_`.
    Core(&'n str, &'n str),
}

/// What `name` asks for. Which functions there are is another question.
pub(super) fn imported_function(name: &str) -> ImportedFunction<'_> {
    let plain = unmangled(name);
    if let Some(op) = plain.strip_prefix("__spirv_ocl_") {
        return ImportedFunction::OpenCl(op);
    }
    if let Some(op) = plain.strip_prefix("__spirv_") {
        let (op, suffix) = op.split_once('_').unwrap_or((op, ""));
        return ImportedFunction::Core(op, suffix);
    }
    let prefixes = ["__devicelib_imf_", "__imf_", "__devicelib_"];
    let library = prefixes.iter().find_map(|p| plain.strip_prefix(p));
    ImportedFunction::Library(library.unwrap_or(plain))
}

/// The function's own name, if `name` is mangled.
fn unmangled(name: &str) -> &str {
    let own = || {
        let rest = name.strip_prefix("_Z")?;
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (length, rest) = rest.split_at_checked(digits)?;
        rest.get(..length.parse().ok()?)
    };
    own().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::{ImportedFunction, imported_function};

    #[test]
    fn names_are_taken_apart() {
        for (name, is) in [
            ("__devicelib_sinf", ImportedFunction::Library("sinf")),
            (
                "__devicelib_imf_floorf",
                ImportedFunction::Library("floorf"),
            ),
            ("__imf_floorf", ImportedFunction::Library("floorf")),
            ("__muldc3", ImportedFunction::Library("__muldc3")),
            (
                "__devicelib___muldc3",
                ImportedFunction::Library("__muldc3"),
            ),
            ("_Z15__spirv_ocl_sinf", ImportedFunction::OpenCl("sin")),
            ("__spirv_ocl_s_min", ImportedFunction::OpenCl("s_min")),
            (
                "_Z32__spirv_ConvertFToS_Rint_sat_rtef",
                ImportedFunction::Core("ConvertFToS", "Rint_sat_rte"),
            ),
            (
                "_Z22__spirv_ControlBarrierjjj",
                ImportedFunction::Core("ControlBarrier", ""),
            ),
            // Lengths that the name does not have, or that no machine has.
            ("_Z99sinf", ImportedFunction::Library("_Z99sinf")),
            (
                "_Z99999999999999999999999sinf",
                ImportedFunction::Library("_Z99999999999999999999999sinf"),
            ),
            ("_Z2éf", ImportedFunction::Library("é")),
            ("_Z1éf", ImportedFunction::Library("_Z1éf")),
            ("_Z", ImportedFunction::Library("_Z")),
        ] {
            assert_eq!(imported_function(name), is, "{name}");
        }
    }
}
