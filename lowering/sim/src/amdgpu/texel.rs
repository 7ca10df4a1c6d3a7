//! Texels: where they lie when an instruction is issued, and between their bytes and registers when
//! it takes effect.

use super::inst::{Action, Components, Detail, Memory, Sample, Sampled};
use super::masks::each;
use super::operand::Kind;
use super::operation::Operation;
use super::wave::Wave;
use crate::context::{At, Context};
use crate::finding::FindingKind;
use crate::image::{Format, Image, MOST_TEXEL, Texel};
use crate::lane::Lane;
use crate::memory::Space;
use crate::sampler::{Gradients, Level, Request, Sampler, compared, mixed};
use half::f16;

/// The sample that an instruction takes, and its image.
#[derive(Copy, Clone)]
struct ImageSample {
    components: Components,
    sampled: Sampled,
    image: Image,
}

impl Wave {
    /// The image that the descriptor from register `saddr` on describes; what is none is reported.
    fn image(&self, memory: &Memory, words: u16, pc: u32, cx: &mut Context<'_>) -> Option<Image> {
        let Some(Kind::Sgpr(first)) = memory.saddr.map(|s| s.kind) else {
            return None;
        };
        let descriptor: Vec<u32> = (first..first + words).map(|n| self.s(n)).collect();
        let image = Image::described(&descriptor);
        if image.is_none() {
            cx.report(FindingKind::UnsupportedInstruction, pc, None, || {
                format!("{descriptor:x?} is not a descriptor of an image that the launch was given")
            });
        }
        image
    }

    /// The format of a texel buffer.
    pub(super) fn buffer_format(
        &self,
        memory: &Memory,
        pc: u32,
        cx: &mut Context<'_>,
    ) -> Option<Format> {
        self.image(memory, 4, pc, cx).map(|image| image.format)
    }

    /// The addresses of an image instruction. Outside of the image, loads give 0 and stores do
    /// nothing.
    pub(super) fn texels(
        &self,
        memory: &Memory,
        operation: &mut Operation,
        pc: u32,
        cx: &mut Context<'_>,
    ) {
        let (Some(image), Some(components)) = (self.image(memory, 8, pc, cx), memory.components)
        else {
            operation.beyond = u64::MAX;
            return;
        };
        if let Some(sampled) = components.sampled {
            let asked = ImageSample {
                components,
                sampled,
                image,
            };
            self.sampled(memory, operation, asked, pc, cx);
            return;
        }
        if matches!(memory.action, Action::Size) {
            self.size(memory, operation, components, image);
            return;
        }
        operation.texels = Some((components, image.format));
        for lane in each(operation.lanes) {
            let mut given = memory.coordinates.iter();
            let mut next = || match given.next().map(|one| one.kind) {
                Some(Kind::Vgpr(index)) => self.v(index)[lane],
                _ => 0,
            };
            let mut at = [0; 3];
            let behind = usize::from(components.level) + usize::from(components.samples);
            for to in at.iter_mut().take(memory.coordinates.len() - behind) {
                *to = next();
            }
            let level = if components.level { next() } else { 0 };
            let sample = if components.samples { next() } else { 0 };
            match image.texel_of(at, level, sample) {
                Some(address) => operation.addresses[0][lane] = address,
                None => operation.beyond |= 1u64 << lane,
            }
        }
    }

    /// `image_get_resinfo`: the extent of a level, and the number of levels.
    fn size(
        &self,
        memory: &Memory,
        operation: &mut Operation,
        components: Components,
        image: Image,
    ) {
        let mut data: Vec<[u32; 64]> = components.chosen().map(|_| [0; 64]).collect();
        for lane in each(operation.lanes) {
            let level = match memory.coordinates.first().map(|one| one.kind) {
                Some(Kind::Vgpr(index)) => self.v(index)[lane],
                _ => 0,
            };
            let [x, y, z] = image.extent_of(level).unwrap_or([0; 3]);
            let levels = image.levels.count.into();
            let size: Texel = if components.layers_of_lines {
                [x, 1, y, levels]
            } else {
                [x, y, z, levels]
            };
            for (register, n) in data.iter_mut().zip(components.chosen()) {
                register[lane] = size[n];
            }
        }
        operation.data = data;
    }
}

/// The addresses of an instruction with a sampler, as numbers of one lane.
struct Addresses {
    /// The bits of what depths are compared with.
    reference: u32,
    request: Request,
}

impl Wave {
    /// What the registers of addresses say in one lane.
    fn addresses_of(&self, memory: &Memory, sampled: Sampled, lane: Lane) -> Addresses {
        let mut given = memory.coordinates.iter();
        let mut next = || match given.next().map(|one| one.kind) {
            Some(Kind::Vgpr(index)) => self.v(index)[lane],
            _ => 0,
        };
        let offset = if sampled.offset { next() } else { 0 };
        let reference = if sampled.compares { next() } else { 0 };
        let directions = sampled.directions;
        let count = usize::from(directions.count.min(3));
        let mut vector = |count: usize| {
            let mut vector = [0.0; 3];
            for to in vector.iter_mut().take(count) {
                *to = f32::from_bits(next());
            }
            vector
        };
        let mut gradients = Gradients {
            x: [0.0; 3],
            y: [0.0; 3],
            least: f32::MIN,
        };
        if let Detail::Gradients { halves, .. } = sampled.detail {
            let of = |given: [f32; 3]| {
                if halves {
                    let [first, second, _] = given.map(f32::to_bits);
                    let half = |bits: u32| f16::from_bits(bits as u16).to_f32();
                    [half(first), half(first >> 16), half(second)]
                } else {
                    given
                }
            };
            let registers = if halves { count.div_ceil(2) } else { count };
            gradients.x = of(vector(registers));
            gradients.y = of(vector(registers));
        }
        let mut at = vector(count + usize::from(directions.layered));
        let level = match sampled.detail {
            Detail::Register => Level::Of(vector(1)[0]),
            Detail::Zero | Detail::Quad => Level::Of(0.0),
            Detail::Gradients { least, .. } => {
                if least {
                    gradients.least = vector(1)[0];
                }
                Level::Gradients(gradients)
            }
        };
        if directions.cube {
            // The hardware's places on a face are between 1 and 2, and cubes eight faces apart.
            at[0] -= 1.0;
            at[1] -= 1.0;
            let face = at[2].round_ties_even().max(0.0);
            at[2] = (face / 8.0).floor() * 6.0 + face % 8.0;
        }
        // Six bits with a sign for each direction, a byte apart.
        let part = |index: u32| (offset >> (8 * index) << 26) as i32 >> 26;
        Addresses {
            reference,
            request: Request {
                at,
                directions,
                level,
                offset: [part(0), part(1), part(2)],
            },
        }
    }

    /// What the sampler of an instruction takes in each lane, or which level it would take.
    fn sampled(
        &self,
        memory: &Memory,
        operation: &mut Operation,
        asked: ImageSample,
        pc: u32,
        cx: &mut Context<'_>,
    ) {
        let ImageSample {
            components,
            sampled,
            image,
        } = asked;
        let words: Vec<u32> = (sampled.sampler..sampled.sampler + 4)
            .map(|n| self.s(n))
            .collect();
        let Some(sampler) = Sampler::described(&words) else {
            cx.report(FindingKind::UnsupportedInstruction, pc, None, || {
                format!("{words:x?} is not a descriptor of a sampler that the machine has")
            });
            operation.beyond = u64::MAX;
            return;
        };
        if sampled.what == Sample::Level {
            self.levels(memory, operation, asked);
            return;
        }
        operation.texels = Some((components, image.format));
        operation.taps.resize(64, Vec::new());
        let mut references = [0; 64];
        for lane in each(operation.lanes) {
            let given = self.addresses_of(memory, sampled, lane);
            references[lane] = given.reference;
            operation.taps[lane.index()] = match sampled.what {
                Sample::Gather => image.gathered(sampler, given.request),
                _ => image.taps(sampler, given.request),
            };
        }
        operation.comparison = sampled.compares.then_some((sampler.compare, references));
    }

    /// `image_get_lod`: the level that a sample would take, clamped and not, from the differences
    /// among four lanes that follow each other.
    fn levels(&self, memory: &Memory, operation: &mut Operation, asked: ImageSample) {
        let ImageSample {
            components,
            sampled,
            image,
        } = asked;
        let mut data: Vec<[u32; 64]> = components.chosen().map(|_| [0; 64]).collect();
        let place = |lane: usize| {
            let lane = Lane::new(lane as u32);
            self.addresses_of(memory, sampled, lane).request.at
        };
        let extent = image.extent.map(|size| size as f32);
        for lane in each(operation.lanes) {
            let first = lane.index() & !3;
            let difference = |to: usize| {
                let (from, to) = (place(first), place(first + to));
                [to[0] - from[0], to[1] - from[1], to[2] - from[2]]
            };
            let level = Level::Gradients(Gradients {
                x: difference(1),
                y: difference(2),
                least: f32::MIN,
            });
            let level = level.of_detail(extent, sampled.directions.count.into());
            let last = f32::from(image.levels.count - 1);
            let pair = [level.clamp(0.0, last), level];
            for (register, n) in data.iter_mut().zip(components.chosen()) {
                register[lane] = pair.get(n).copied().unwrap_or(0.0).to_bits();
            }
        }
        operation.data = data;
    }
}

impl Components {
    /// The components that are in registers.
    fn chosen(self) -> impl Iterator<Item = usize> {
        (0..4).filter(move |n| self.mask >> n & 1 == 1)
    }
}

impl Operation {
    pub(super) fn load_texels(&mut self, cx: &mut Context<'_>) {
        let Some((components, format)) = self.texels else {
            debug_assert!(false, "the operation is not of an image");
            return;
        };
        if let Some(sampled) = components.sampled {
            self.load_samples(components, sampled.what, format, cx);
            return;
        }
        let access = self.access;
        self.data = components.chosen().map(|_| [0; 64]).collect();
        for lane in each(self.lanes & !self.beyond) {
            let at = At { pc: self.pc, lane };
            let mut bytes = [0; MOST_TEXEL];
            let Some(part) = bytes.get_mut(..format.bytes()) else {
                debug_assert!(false, "a texel of {format:?} is too large");
                continue;
            };
            cx.read(Space::Global, self.addresses[0][lane], part, at, access);
            let texel = format.decode(part);
            for (register, n) in self.data.iter_mut().zip(components.chosen()) {
                register[lane] = texel[n];
            }
        }
    }

    /// Reads what a sampler takes, and mixes it or hands it over.
    fn load_samples(
        &mut self,
        components: Components,
        what: Sample,
        format: Format,
        cx: &mut Context<'_>,
    ) {
        let registers = match what {
            Sample::Gather => 4,
            _ => components.chosen().count(),
        };
        self.data = vec![[0; 64]; registers];
        for lane in each(self.lanes & !self.beyond) {
            let at = At { pc: self.pc, lane };
            let mut taken: Vec<(Texel, f32)> = Vec::new();
            for tap in self.taps.get(lane.index()).into_iter().flatten() {
                let mut bytes = [0; MOST_TEXEL];
                let texel = match (tap.address, bytes.get_mut(..format.bytes())) {
                    (Some(address), Some(part)) => {
                        cx.read(Space::Global, address, part, at, self.access);
                        format.decode(part)
                    }
                    _ => [0; 4],
                };
                let texel = match &self.comparison {
                    Some((compare, references)) => {
                        let reference = f32::from_bits(references[lane]);
                        compared(format, *compare, reference, texel)
                    }
                    None => texel,
                };
                taken.push((texel, tap.share));
            }
            let values: Vec<u32> = match what {
                Sample::Gather => {
                    let component = components.chosen().next().unwrap_or(0);
                    taken.iter().map(|(texel, _)| texel[component]).collect()
                }
                _ => {
                    let texel = mixed(format.is_integer(), &taken);
                    components.chosen().map(|n| texel[n]).collect()
                }
            };
            for (register, value) in self.data.iter_mut().zip(values) {
                register[lane] = value;
            }
        }
    }

    pub(super) fn store_texels(&mut self, cx: &mut Context<'_>) {
        let Some((components, format)) = self.texels else {
            debug_assert!(false, "the operation is not of an image");
            return;
        };
        let access = self.access;
        for lane in each(self.lanes & !self.beyond) {
            let at = At { pc: self.pc, lane };
            let given = |n: usize| self.data.get(n).map_or(0, |register| register[lane]);
            let mut texel = [if components.repeats { given(0) } else { 0 }; 4];
            for (register, n) in components.chosen().enumerate() {
                texel[n] = given(register);
            }
            let bytes = format.encode(texel);
            if let Some(part) = bytes.get(..format.bytes()) {
                cx.write(Space::Global, self.addresses[0][lane], part, at, access);
            }
        }
    }
}
