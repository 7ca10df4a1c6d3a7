//! The subject of diagnostics: a module, and a target where there are several.

/// The module that diagnostics are about, and the target that they were found for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Subject<'s> {
    /// The module's file, or a name for it.
    pub file: &'s str,
    /// The GPU, where there are several or the diagnostics depend on it.
    pub target: Option<&'s str>,
}

impl<'s> Subject<'s> {
    /// The module in `file`, for no target.
    pub fn new(file: &'s str) -> Self {
        Subject { file, target: None }
    }

    /// The same module, for `target`.
    #[must_use]
    pub fn with_target(self, target: Option<&'s str>) -> Self {
        Subject { target, ..self }
    }
}

impl<'s> From<&'s str> for Subject<'s> {
    fn from(file: &'s str) -> Self {
        Subject::new(file)
    }
}

impl<'s> From<&'s String> for Subject<'s> {
    fn from(file: &'s String) -> Self {
        Subject::new(file)
    }
}
