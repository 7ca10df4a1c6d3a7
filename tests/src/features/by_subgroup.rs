//! Features whose results depend on the operands of the subgroup.

use super::collectives::Row;
use super::feature::Feature;
use super::launch::Launch;
use super::ty::Ty;
use super::want::Want::{self, Bits};

/// The subgroup as a scope.
pub(super) const SCOPE: &str = "%u32_3";

/// A feature whose results depend on the operands of the subgroup.
pub(super) fn feature(
    op: &str,
    params: &[Ty],
    result: Ty,
    body: &str,
    host: impl Fn(&[Row]) -> Vec<Want> + Send + Sync + 'static,
) -> Feature {
    let body = body.replace("SUB", SCOPE);
    Feature::new(op, params, &[result], &body, |_| Vec::new()).collectively(
        move |launch: Launch, rows| {
            let subgroups = rows.chunks(launch.subgroup);
            subgroups.flat_map(&host).map(|want| vec![want]).collect()
        },
    )
}

pub(super) fn truth(value: bool) -> Want {
    Bits(u64::from(value))
}
