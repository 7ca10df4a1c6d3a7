//! The modules of `fixtures/passes`, for tests that ask more of a pass than what it leaves.

use crate::module::{Assembled, assemble};
use std::path::Path;

/// The cases of `pass`, with their names.
pub(super) fn cases(pass: &str) -> Vec<(String, Assembled)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/passes");
    let files = std::fs::read_dir(folder.join(pass)).unwrap();
    let mut cases: Vec<_> = files
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            (name, assemble(&text).unwrap())
        })
        .collect();
    cases.sort_by(|(one, _), (other, _)| one.cmp(other));
    cases
}
