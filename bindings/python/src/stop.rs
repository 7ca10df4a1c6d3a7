//! The reasons for which there is no result, and the exception with the reason.

pub(crate) use exception::Refused;

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;
use splitbar::Failure;
use splitbar::diagnostic::json;

/// The exception without a result: the exit code, and the diagnostics as JSON.
mod exception {
    #![allow(missing_docs, reason = "the macro writes none")]
    pyo3::create_exception!(_splitbar, Refused, pyo3::exceptions::PyException);
}

/// The reason why there is no result.
pub(crate) enum Stop {
    /// Problems of the module, the target or this build.
    Problems(Failure),
    /// An argument is wrong.
    Argument(String),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Problems(failure)
    }
}

impl From<String> for Stop {
    fn from(text: String) -> Stop {
        Stop::Argument(text)
    }
}

impl From<Stop> for PyErr {
    fn from(stop: Stop) -> PyErr {
        match stop {
            Stop::Problems(failure) => {
                let problems = json::render(&failure.diagnostics, "module");
                Refused::new_err((failure.exit_code(), problems))
            }
            Stop::Argument(text) => PyValueError::new_err(text),
        }
    }
}
