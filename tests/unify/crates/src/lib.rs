//! Has no code: the manifest asks for features of crates that are not ours.
