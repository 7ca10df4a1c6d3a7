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
use crate::sampler::{Directions, Sampler, Tap, mixed};

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
                TexelAction::Sample(_) | TexelAction::Gather(_) => {
                    let Some(sampler) = sampler(context, handle) else {
                        context.report(FindingKind::UnsupportedInstruction, pc, Some(lane), || {
                            format!("the texture object {handle:#x} has no sampler")
                        });
                        return;
                    };
                    let taps = taps(&image, sampler, at, action);
                    let taken: Vec<(Texel, f32)> = taps
                        .iter()
                        .map(|tap| {
                            let mut bytes = [0; MOST_TEXEL];
                            let part = bytes.get_mut(..image.format.bytes());
                            let texel = match (tap.address, part) {
                                (Some(address), Some(part)) => {
                                    context.read(
                                        Space::Global,
                                        address,
                                        part,
                                        place,
                                        Access::PLAIN,
                                    );
                                    image.format.decode(part)
                                }
                                _ => [0; 4],
                            };
                            (texel, tap.share)
                        })
                        .collect();
                    let texel = match action {
                        TexelAction::Gather(component) => {
                            let one = |(texel, _): &(Texel, f32)| {
                                texel.get(usize::from(component)).copied().unwrap_or(0)
                            };
                            taken.iter().map(one).collect::<Vec<u32>>()
                        }
                        _ => mixed(image.format.is_integer(), &taken).to_vec(),
                    };
                    self.give(warp, lane, data, texel.into_iter().map(u64::from));
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

/// The texels that a sample or a gather takes at the coordinates with the bits `at`; a layer is an
/// integer.
fn taps(image: &Image, sampler: Sampler, at: [u32; 3], action: TexelAction) -> Vec<Tap> {
    let mut coordinates = at.map(f32::from_bits);
    match action {
        TexelAction::Sample(directions) => {
            let layer = usize::from(directions.count);
            if directions.layered
                && let (Some(to), Some(number)) = (coordinates.get_mut(layer), at.get(layer))
            {
                *to = *number as f32;
            }
            image.taps(sampler, coordinates, directions)
        }
        _ => {
            let directions = Directions {
                count: 2,
                layered: false,
            };
            image.around(sampler, coordinates, directions)
        }
    }
}

/// The sampler behind the image of an object.
fn sampler(context: &mut Context<'_>, handle: u64) -> Option<Sampler> {
    let view = context.global.view(handle.wrapping_add(32), 16)?;
    let (words, _) = view.bytes.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    Sampler::described(&words)
}

/// What lies at the address of an object.
fn described(context: &mut Context<'_>, handle: u64) -> Option<Image> {
    let view = context.global.view(handle, 32)?;
    let (words, _) = view.bytes.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    Image::described(&words)
}
