//! Tests of the model.

mod catalogue;
mod checker;
mod naive;
mod random;
