//! Has no code: the manifest enables features.
