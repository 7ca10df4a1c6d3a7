//! Tests of the model.

mod catalogue;
