//! Texels: where they lie when an instruction is issued, and between their bytes and registers when
//! it takes effect.

use super::access::{Operation, each};
use super::inst::{Action, Components, Memory, Sampled};
use super::operand::Kind;
use super::wave::Wave;
use crate::context::{At, Context};
use crate::finding::FindingKind;
use crate::image::{Format, Image, MOST_TEXEL, Texel};
use crate::memory::Space;
use crate::sampler::{Sampler, mixed};

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
        if matches!(memory.action, Action::Size) {
            let [x, y, z] = image.extent;
            let size: Texel = match components.layers_of_lines {
                true => [x, 1, y, 1],
                false => [x, y, z, 1],
            };
            operation.data = components.chosen().map(|n| [size[n]; 64]).collect();
            return;
        }
        operation.texels = Some((components, image.format));
        if let Some(sampled) = components.sampled {
            self.taps(memory, operation, (sampled, image), pc, cx);
            return;
        }
        for lane in each(operation.lanes) {
            let mut at = [0; 3];
            for (to, coordinate) in at.iter_mut().zip(&memory.coordinates) {
                if let Kind::Vgpr(index) = coordinate.kind {
                    *to = self.v(index)[lane];
                }
            }
            match image.texel(at) {
                Some(address) => operation.addresses[0][lane] = address,
                None => operation.beyond |= 1u64 << lane,
            }
        }
    }
}

impl Wave {
    /// What the sampler of an instruction takes in each lane.
    fn taps(
        &self,
        memory: &Memory,
        operation: &mut Operation,
        (sampled, image): (Sampled, Image),
        pc: u32,
        cx: &mut Context<'_>,
    ) {
        let words: Vec<u32> = (sampled.sampler..sampled.sampler + 4)
            .map(|n| self.s(n))
            .collect();
        let Some(sampler) = Sampler::described(&words) else {
            cx.report(FindingKind::UnsupportedInstruction, pc, None, || {
                format!("{words:x?} is not a descriptor of a sampler that the launch was given")
            });
            operation.beyond = u64::MAX;
            return;
        };
        operation.taps.resize(64, Vec::new());
        for lane in each(operation.lanes) {
            let mut at = [0.0; 3];
            for (to, coordinate) in at.iter_mut().zip(&memory.coordinates) {
                if let Kind::Vgpr(index) = coordinate.kind {
                    *to = f32::from_bits(self.v(index)[lane]);
                }
            }
            operation.taps[lane.index()] = match sampled.gathers {
                true => image.around(sampler, at, sampled.directions),
                false => image.taps(sampler, at, sampled.directions),
            };
        }
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
            self.load_samples(components, sampled, format, cx);
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
        sampled: Sampled,
        format: Format,
        cx: &mut Context<'_>,
    ) {
        let registers = match sampled.gathers {
            true => 4,
            false => components.chosen().count(),
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
                taken.push((texel, tap.share));
            }
            let values: Vec<u32> = match sampled.gathers {
                true => {
                    let component = components.chosen().next().unwrap_or(0);
                    taken.iter().map(|(texel, _)| texel[component]).collect()
                }
                false => {
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
