//! Has no code: the manifest asks for features.
