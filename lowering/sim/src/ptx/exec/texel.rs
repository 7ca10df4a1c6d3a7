//! Texels of one warp. A texture or surface object is the address of the machine's descriptor
//! ([`crate::image`]).

use super::agents::agent;
use super::lanes::{Lanes, each};
use super::memory::from_bytes;
use super::warp::Warp;
use crate::context::{Access, At, Context};
use crate::finding::FindingKind;
use crate::image::{Image, MOST_TEXEL, Texel};
use crate::lane::Lane;
use crate::memory::Space;
use crate::ptx::operand::{List, Sample, Source, TexelAction};
use crate::ptx::program::{Kernel, Op};
use crate::sampler::{Directions, Gradients, Level, Request, Sampler, compared, face_of, mixed};

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
            more,
            to,
            from,
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
            let [x, y, z, _] = at;
            let place = At { pc, lane };
            match action {
                TexelAction::Extent(direction) => {
                    let level = self.others(warp, more, lane).next().unwrap_or(0);
                    let extent = image.extent_of(level).unwrap_or([0; 3]);
                    let extent = extent.get(usize::from(direction)).copied();
                    self.give(warp, lane, to, [extent.unwrap_or(1).into()]);
                }
                TexelAction::Levels => {
                    self.give(warp, lane, to, [image.levels.count.into()]);
                }
                TexelAction::Samples => {
                    self.give(warp, lane, to, [image.levels.samples.into()]);
                }
                TexelAction::ChannelType => {
                    self.give(warp, lane, to, [image.format.channel_type().into()]);
                }
                TexelAction::ChannelOrder => {
                    self.give(warp, lane, to, [image.format.channel_order().into()]);
                }
                TexelAction::Store { traps } => {
                    let stored = self.store_texel(warp, context, &image, at, from, place);
                    if !stored && traps {
                        context.report(FindingKind::OutOfBounds, pc, Some(lane), || {
                            format!("a store to texel {at:?} of {:?}", image.extent)
                        });
                        return;
                    }
                }
                TexelAction::Fetch | TexelAction::FetchLevel | TexelAction::FetchSample { .. } => {
                    let level = self.others(warp, more, lane).next().unwrap_or(0);
                    let address = match action {
                        // The sample stands behind the other coordinates.
                        TexelAction::FetchSample { layered: true } => {
                            image.texel_of([x, y, z], 0, at[3])
                        }
                        TexelAction::FetchSample { layered: false } => {
                            image.texel_of([x, y, 0], 0, z)
                        }
                        _ => image.texel_of([x, y, z], level, 0),
                    };
                    // Outside it is what an object's addressing mode says; here a border of zeros.
                    let texel = loaded(context, &image, address, place);
                    self.give(warp, lane, to, texel.map(u64::from));
                }
                TexelAction::Sample(sample) => {
                    let Some(sampler) = sampler(context, handle) else {
                        context.report(FindingKind::UnsupportedInstruction, pc, Some(lane), || {
                            format!("the texture object {handle:#x} has no sampler")
                        });
                        return;
                    };
                    let others: Vec<u32> = self.others(warp, more, lane).collect();
                    let (request, reference) = request(sample, at, &others);
                    let texel =
                        sampled(context, &image, sampler, sample, request, reference, place);
                    self.give(warp, lane, to, texel.into_iter().map(u64::from));
                }
                TexelAction::Bytes(width) => {
                    let bytes = part_of_texel(context, &image, at, width * to.count, place);
                    let components = bytes.chunks(width.max(1) as usize).map(from_bytes);
                    self.give(warp, lane, to, components);
                }
            }
        }
    }

    /// Stores a texel of one lane from the registers `from`. Returns false if it lies outside.
    fn store_texel(
        &self,
        warp: &Warp,
        context: &mut Context<'_>,
        image: &Image,
        at: [u32; 4],
        from: List,
        place: At,
    ) -> bool {
        let mut texel: Texel = [0; 4];
        for (component, source) in texel.iter_mut().zip(self.list(from)) {
            *component = warp.value(self, *source, place.lane) as u32;
        }
        let bytes = image.format.encode(texel);
        let [x, y, z, _] = at;
        let Some(address) = image.texel([x, y, z]) else {
            return false;
        };
        if let Some(part) = bytes.get(..image.format.bytes()) {
            context.write(Space::Global, address, part, place, Access::PLAIN);
        }
        true
    }

    /// The operands behind the coordinates in one lane.
    fn others(&self, warp: &Warp, more: List, lane: Lane) -> impl Iterator<Item = u32> {
        let sources = self.list(more).iter();
        sources.map(move |source| warp.value(self, *source, lane) as u32)
    }

    /// Sets the registers of a list in one lane.
    fn give(&self, warp: &mut Warp, lane: Lane, to: List, values: impl IntoIterator<Item = u64>) {
        for (register, value) in self.list(to).iter().zip(values) {
            if let Source::Register(register) = register {
                warp.set(*register, lane, value);
            }
        }
    }
}

/// What is asked of a sampler at the coordinates with the bits `at`, of which a layer is an
/// integer, with the other operands; and the reference of a comparison.
fn request(sample: Sample, at: [u32; 4], others: &[u32]) -> (Request, Option<f32>) {
    let mut given = others.iter().copied();
    let count = usize::from(sample.count.min(3));
    let mut next = || given.next().unwrap_or(0);
    let mut vector = |count: usize| {
        let mut vector = [0; 3];
        for to in vector.iter_mut().take(count) {
            *to = next();
        }
        vector
    };
    let mut gradients = [[0.0; 3]; 2];
    let mut level = Level::Of(0.0);
    if sample.gradients {
        gradients = [vector(count), vector(count)].map(|one| one.map(f32::from_bits));
    } else if sample.gathers.is_none() {
        level = Level::Of(f32::from_bits(vector(1)[0]));
    }
    let offset = vector(sample.offset.into()).map(|one| one as i32);
    let reference = sample.compares.then(|| f32::from_bits(vector(1)[0]));
    let [x, y, z, _] = at.map(f32::from_bits);
    let mut place = [x, y, z];
    let number = at.get(count).filter(|_| sample.layered).copied();
    if let (Some(number), Some(to)) = (number, place.get_mut(count)) {
        *to = number as f32;
    }
    let mut directions = Directions {
        count: sample.count,
        layered: sample.layered,
        cube: false,
    };
    if sample.cube {
        let face = face_of([x, y, z], gradients);
        let layer = number.unwrap_or(0) as f32;
        place = [face.at[0], face.at[1], 6.0 * layer + face.face as f32];
        gradients = face.gradients.map(|[x, y]| [x, y, 0.0]);
        directions = Directions {
            count: 2,
            layered: true,
            cube: true,
        };
    }
    if sample.gradients {
        let [x, y] = gradients;
        level = Level::Gradients(Gradients {
            x,
            y,
            least: f32::MIN,
        });
    }
    let request = Request {
        at: place,
        directions,
        level,
        offset,
    };
    (request, reference)
}

/// The texel at an address, or zeros where there is none.
fn loaded(context: &mut Context<'_>, image: &Image, address: Option<u64>, place: At) -> Texel {
    let mut bytes = [0; MOST_TEXEL];
    match (address, bytes.get_mut(..image.format.bytes())) {
        (Some(address), Some(part)) => {
            context.read(Space::Global, address, part, place, Access::PLAIN);
            image.format.decode(part)
        }
        _ => [0; 4],
    }
}

/// So many bytes of a texel, the first coordinate counting bytes; zeros outside.
fn part_of_texel(
    context: &mut Context<'_>,
    image: &Image,
    at: [u32; 4],
    count: u32,
    place: At,
) -> [u8; MOST_TEXEL] {
    let (texel, all) = (image.format.bytes() as u32, count as usize);
    let (x, first) = (at[0] / texel.max(1), at[0] % texel.max(1));
    let mut bytes = [0; MOST_TEXEL];
    let inside = first as usize + all <= texel as usize;
    if let (Some(address), Some(part), true) =
        (image.texel([x, at[1], at[2]]), bytes.get_mut(..all), inside)
    {
        let address = address + u64::from(first);
        context.read(Space::Global, address, part, place, Access::PLAIN);
    }
    bytes
}

/// The texels that a sample takes: mixed, or one component of each where it gathers.
fn sampled(
    context: &mut Context<'_>,
    image: &Image,
    sampler: Sampler,
    sample: Sample,
    request: Request,
    reference: Option<f32>,
    place: At,
) -> Vec<u32> {
    let taps = match sample.gathers {
        Some(_) => image.gathered(sampler, request),
        None => image.taps(sampler, request),
    };
    let mut taken: Vec<(Texel, f32)> = Vec::new();
    for tap in taps {
        let texel = loaded(context, image, tap.address, place);
        let texel = match reference {
            Some(reference) => compared(image.format, sampler.compare, reference, texel),
            None => texel,
        };
        taken.push((texel, tap.share));
    }
    match sample.gathers {
        Some(component) => {
            let one =
                |(texel, _): &(Texel, f32)| texel.get(usize::from(component)).copied().unwrap_or(0);
            taken.iter().map(one).collect::<Vec<u32>>()
        }
        None => mixed(image.format.is_integer(), &taken).to_vec(),
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
