//! The clocks of lanes.

use super::lanes::{LANES, Lanes, each};
use super::warp::Warp;
use crate::barrier::Name;
use crate::clock::Order;
use crate::context::Context;
use crate::lane::Lane;

/// The clock of a lane.
pub(super) fn agent(warp: u16, lane: Lane) -> u16 {
    warp.saturating_mul(LANES as u16)
        .saturating_add(lane.number() as u16)
}

pub(super) fn each_agent(
    warp: u16,
    lanes: Lanes,
    context: &mut Context<'_>,
    mut act: impl FnMut(&mut Context<'_>),
) {
    for lane in each(lanes) {
        context.agent = agent(warp, lane);
        act(context);
    }
}

/// What lanes learn when they go on after a phase.
pub(super) fn learn(
    warp: &Warp,
    context: &mut Context<'_>,
    lanes: Lanes,
    name: Name,
    phase: u64,
    order: Order,
) {
    each_agent(warp.index, lanes, context, |context| {
        context.pass(name, phase, order);
    });
}
