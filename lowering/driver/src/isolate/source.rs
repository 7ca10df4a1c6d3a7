//! The input of a compilation: one module, or several that are linked first, with values for
//! specialization constants as users write them.

use super::bytes::Bytes;
use crate::internal_error::guarded;
use crate::spec::{self, Setting};
use crate::{Failure, Observer, Options, Stage, link_modules};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The input of a worker. The bytes of one module convert to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    modules: Vec<Bytes>,
    settings: Vec<Setting>,
    language: Language,
}

/// What the bytes of a module are.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Language {
    SpirV,
    LlvmIr,
}

impl Source {
    /// Several modules, which are linked, and values for the specialization constants of what they
    /// become. They take the place of [`Options::spec`].
    pub fn new(modules: Vec<Vec<u8>>, settings: Vec<Setting>) -> Source {
        Source {
            modules: modules.into_iter().map(Bytes).collect(),
            settings,
            language: Language::SpirV,
        }
    }

    /// One LLVM module, as [`Input::LlvmIr`](crate::Input::LlvmIr) takes it.
    pub fn llvm_ir(module: Vec<u8>) -> Source {
        Source {
            modules: vec![Bytes(module)],
            settings: Vec::new(),
            language: Language::LlvmIr,
        }
    }

    /// What its bytes are.
    pub(super) fn language(&self) -> Language {
        self.language
    }

    /// The one module and what is asked of it.
    ///
    /// # Errors
    /// Why the modules cannot be linked, or which value does not fit.
    pub(super) fn resolve<'s>(
        &'s self,
        options: &'s Options,
        observer: &mut dyn Observer,
    ) -> Result<(Cow<'s, [u8]>, Cow<'s, Options>), Failure> {
        if let ([module], []) = (self.modules.as_slice(), self.settings.as_slice()) {
            return Ok((Cow::Borrowed(&module.0), Cow::Borrowed(options)));
        }
        observer.begin(Stage::Read);
        guarded(options, || {
            let module = match self.modules.as_slice() {
                [module] => Cow::Borrowed(module.0.as_slice()),
                modules => {
                    let modules: Vec<&[u8]> =
                        modules.iter().map(|bytes| bytes.0.as_slice()).collect();
                    Cow::Owned(link_modules(&modules)?)
                }
            };
            let mut options = options.clone();
            if !self.settings.is_empty() {
                options.spec = spec::resolve_for(&module, &self.settings)?;
            }
            Ok((module, Cow::Owned(options)))
        })
    }
}

impl<M: AsRef<[u8]> + ?Sized> From<&M> for Source {
    fn from(module: &M) -> Source {
        Source::new(vec![module.as_ref().to_vec()], Vec::new())
    }
}
