//! The shape of a row of the table of products.

/// A product, and the GPU that is in it. Sources: `fixtures/targets/products.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// The name as its maker writes it: `Radeon RX 9070 XT`; or that of an architecture: `Hopper`.
    pub name: &'static str,
    /// The name of the target.
    pub target: &'static str,
}
