//! Every kernel of fixtures/ is complete: a source, a module, expectations, and a line in
//! fixtures/README.md.

use anyhow::Result;

use crate::fixtures::kernels;
use crate::shell;

pub(super) fn check(problems: &mut Vec<String>) -> Result<()> {
    let folder = shell::root().join("fixtures/kernels");
    let readme =
        std::fs::read_to_string(shell::root().join("fixtures/README.md")).unwrap_or_default();
    for name in kernels(&folder)? {
        let has = |extension: &str| {
            folder
                .join(&name)
                .join(&name)
                .with_extension(extension)
                .is_file()
        };
        if !["comp", "cl", "spvasm"].iter().any(|kind| has(kind)) {
            problems.push(format!(
                "fixtures/kernels/{name}: there is no source: {name}.comp, {name}.cl or {name}.spvasm"
            ));
        }
        for extension in ["spv", "toml"] {
            if !has(extension) {
                problems.push(format!(
                    "fixtures/kernels/{name}: there is no {name}.{extension}"
                ));
            }
        }
        let mark = format!("[{name}](kernels/{name})");
        if !readme.lines().any(|l| l.contains(&mark)) {
            problems.push(format!("fixtures/README.md has no line with {mark}"));
        }
    }
    Ok(())
}
