//! Tests of the model.

mod catalogue;
mod checker;
mod instances;
mod naive;
mod random;
