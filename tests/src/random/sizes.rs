//! The numbers of variables, workgroups and slots of a program.

/// Variables of an invocation.
pub const VARIABLES: usize = 6;

/// Elements of an invocation's array.
pub(crate) const ARRAY: u32 = 8;

/// Workgroups.
pub const GROUPS: usize = 2;

/// Arrays of workgroup memory: slots 0 to `SHARED - 1`. Each has a word for every invocation.
pub(crate) const SHARED: usize = 3;

/// All slots. Those from `SHARED` on are storage buffers, in which each workgroup has its own part.
pub(crate) const SLOTS: usize = 6;
