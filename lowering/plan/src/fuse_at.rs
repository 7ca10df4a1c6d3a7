//! Where a fused barrier goes.

/// Where the one barrier of [`Strategy::Fused`](crate::Strategy::Fused) stands.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FuseAt {
    /// At the wait, the later place: work in the window is done before anybody waits.
    #[default]
    Wait,
    /// At the arrive, the earlier place.
    Arrive,
}
