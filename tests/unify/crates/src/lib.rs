//! Has no code: the manifest enables features of external crates.
