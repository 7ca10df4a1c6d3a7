//! What `splitbar sim` is told of buffers that the kernel reaches through descriptors: samplers of
//! images, and tensors.

use super::buffer_name::split;
use splitbar::simulate::machine::sampler::Sampler;
use splitbar::simulate::{BufferName, Elements};

/// The sampler of an image: `SET:BINDING=FILTER,OUTSIDE`.
#[derive(Clone, Debug)]
pub(super) struct SamplerArg {
    pub(super) place: BufferName,
    pub(super) sampler: Sampler,
}

/// Reads `SET:BINDING=FILTER,OUTSIDE`.
pub(super) fn parse_sampler(text: &str) -> Result<SamplerArg, String> {
    let (place, name) = split(text)?;
    let sampler = Sampler::by_name(name).ok_or_else(|| {
        format!("{name:?} is not a sampler, such as linear,repeat or nearest,edge")
    })?;
    Ok(SamplerArg { place, sampler })
}

/// A buffer that is a tensor: `SET:BINDING=TYPE:DIMENSIONS`.
#[derive(Clone, Debug)]
pub(super) struct TensorArg {
    pub(super) place: BufferName,
    pub(super) elements: Elements,
}

/// Reads `SET:BINDING=TYPE:AxBxC` or `SET:BINDING=TYPE:AxBxC:XxYxZ`.
pub(super) fn parse_tensor(text: &str) -> Result<TensorArg, String> {
    fn numbers<N: std::str::FromStr>(text: &str) -> Option<Vec<N>> {
        text.split('x').map(|number| number.parse().ok()).collect()
    }
    let (place, rest) = split(text)?;
    let wrong = || format!("{rest:?} is not TYPE:DIMENSIONS or TYPE:DIMENSIONS:STRIDES");
    let (ty, rest) = rest.split_once(':').ok_or_else(wrong)?;
    let bytes = match ty {
        "bool" => 1,
        _ => match ty
            .trim_start_matches("bf")
            .trim_start_matches(['i', 'u', 'f'])
        {
            "8" => 1,
            "16" => 2,
            "32" => 4,
            "64" => 8,
            _ => {
                return Err(format!(
                    "{ty:?} is not the type of a tensor's elements, such as f32, u8 or bool"
                ));
            }
        },
    };
    let (dimensions, strides) = match rest.split_once(':') {
        Some((dimensions, strides)) => (dimensions, Some(strides)),
        None => (rest, None),
    };
    let dimensions: Vec<u64> = numbers(dimensions).ok_or_else(wrong)?;
    let strides: Option<Vec<i64>> = match strides {
        Some(strides) => Some(numbers(strides).ok_or_else(wrong)?),
        None => None,
    };
    if strides
        .as_ref()
        .is_some_and(|strides| strides.len() != dimensions.len())
    {
        return Err(format!(
            "{rest:?} does not have one stride for each dimension"
        ));
    }
    Ok(TensorArg {
        place,
        elements: Elements {
            bytes,
            dimensions,
            strides,
            first: 0,
        },
    })
}
