//! Texels of one warp. A texture or surface object is the address of the machine's descriptor
//! ([`crate::image`]).

use super::agent;
use super::memory::from_bytes;
use super::warp::{Lanes, Warp, each};
use crate::context::{Access, At, Context};
use crate::finding::FindingKind;
use crate::image::{Image, MOST_TEXEL, Texel};
use crate::lane::Lane;
use crate::memory::Space;
use crate::ptx::program::{Kernel, Op, Source, TexelAction};

impl Kernel {
    /// `Op::Texel`.
    pub(super) fn texel(
        &self,
        warp: &mut Warp,
        context: &mut Context<'_>,
        pc: u32,
        lanes: Lanes,
        op: &Op,
    ) {
        let Op::Texel {
            action,
            handle,
            at,
            data,
        } = *op
        else {
            debug_assert!(false, "{op:?} is not of an image");
            return;
        };
        for lane in each(lanes) {
            context.agent = agent(warp.index, lane);
            let handle = warp.value(self, handle, lane);
            let Some(image) = described(context, handle) else {
                context.report(FindingKind::UnsupportedInstruction, pc, Some(lane), || {
                    format!("{handle:#x} is not a texture or surface object of this launch")
                });
                return;
            };
            let at = at.map(|source| source.map_or(0, |s| warp.value(self, s, lane) as u32));
            let place = At { pc, lane };
            match action {
                TexelAction::Extent(direction) => {
                    let extent = image.extent.get(usize::from(direction)).copied();
                    self.give(warp, lane, data, [extent.unwrap_or(1).into()]);
                }
                TexelAction::ChannelType => {
                    self.give(warp, lane, data, [image.format.channel_type().into()]);
                }
                TexelAction::ChannelOrder => {
                    self.give(warp, lane, data, [image.format.channel_order().into()]);
                }
                TexelAction::Store { traps } => {
                    let mut texel: Texel = [0; 4];
                    for (component, source) in texel.iter_mut().zip(self.list(data)) {
                        *component = warp.value(self, *source, lane) as u32;
                    }
                    let bytes = image.format.encode(texel);
                    let Some(address) = image.texel(at) else {
                        if !traps {
                            continue;
                        }
                        context.report(FindingKind::OutOfBounds, pc, place.lane.into(), || {
                            format!("a store to texel {at:?} of {:?}", image.extent)
                        });
                        return;
                    };
                    if let Some(part) = bytes.get(..image.format.bytes()) {
                        context.write(Space::Global, address, part, place, Access::PLAIN);
                    }
                }
                TexelAction::Fetch => {
                    let mut bytes = [0; MOST_TEXEL];
                    let address = image.texel(at);
                    let texel = match (address, bytes.get_mut(..image.format.bytes())) {
                        (Some(address), Some(part)) => {
                            context.read(Space::Global, address, part, place, Access::PLAIN);
                            image.format.decode(part)
                        }
                        // What an object's addressing mode says; here a border of zeros.
                        _ => [0; 4],
                    };
                    self.give(warp, lane, data, texel.map(u64::from));
                }
                TexelAction::Bytes(width) => {
                    let (texel, width) = (image.format.bytes() as u32, width as usize);
                    let all = width * data.count as usize;
                    let (x, first) = (at[0] / texel.max(1), at[0] % texel.max(1));
                    let mut bytes = [0; MOST_TEXEL];
                    let inside = first as usize + all <= texel as usize;
                    if let (Some(address), Some(part), true) =
                        (image.texel([x, at[1], at[2]]), bytes.get_mut(..all), inside)
                    {
                        let address = address + u64::from(first);
                        context.read(Space::Global, address, part, place, Access::PLAIN);
                    }
                    let components = bytes.chunks(width.max(1)).map(from_bytes);
                    self.give(warp, lane, data, components);
                }
            }
        }
    }

    /// Sets the registers of a list in one lane.
    fn give(
        &self,
        warp: &mut Warp,
        lane: Lane,
        to: crate::ptx::program::List,
        values: impl IntoIterator<Item = u64>,
    ) {
        for (register, value) in self.list(to).iter().zip(values) {
            if let Source::Register(register) = register {
                warp.set(*register, lane, value);
            }
        }
    }
}

/// What lies at the address of an object.
fn described(context: &mut Context<'_>, handle: u64) -> Option<Image> {
    let view = context.global.view(handle, 32)?;
    let (words, _) = view.bytes.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    Image::described(&words)
}
