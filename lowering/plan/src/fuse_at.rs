//! The place of a fused barrier.

/// The place of the one barrier of [`Strategy::Fused`](crate::Strategy::Fused).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FuseAt {
    /// At the wait, the later place: work in the window is done before anybody waits.
    #[default]
    Wait,
    /// At the arrive, the earlier place.
    Arrive,
}
