//! Samples of every form on a Vulkan driver for the CPU: the results are those of the host, as for
//! compiled kernels on the simulator (the suite's `sampling/`).
//!
//! This checks the host, and with it the simulator, against samplers that are not ours. Without
//! such a driver they are ignored.
#![allow(clippy::unwrap_used, clippy::panic)]

use splitbar_gpu::vulkan::{self, Answer, Buffer, Image, Job, Outside, Sampler, Shape};
use splitbar_passes::module::assemble;
use splitbar_tests::harness::{self, Missing, trial};
use splitbar_tests::sampling::{self, Case, Host, LANES};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// Cases that lavapipe cannot be asked about by what they need, and why.
const NEEDS: &[(&str, &str)] = &[
    (
        "ComputeDerivative",
        "the driver has no derivatives in compute shaders",
    ),
    ("MinLod", "the driver has no least level of detail"),
];

/// Those by name.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "offset_dynamic",
        "Mesa 22.3 mirrors a place before it looks for the texel: on the edge between two it takes the other one",
    ),
    (
        "sizes",
        "Mesa 22.3 gives all invocations the size of the level that the first one asks for",
    ),
];

/// The reason why the driver cannot run a case.
fn left_out(case: &Case) -> Option<&'static str> {
    if case.levels.samples > 1 {
        return Some("no copy fills an image with several samples");
    }
    let needs = NEEDS.iter().filter(|(word, _)| case.modes.contains(word));
    let named = LEFT_OUT.iter().filter(|(name, _)| *name == case.name);
    needs.chain(named).map(|(_, why)| *why).next()
}

fn main() -> ExitCode {
    let cases = sampling::all();
    let mut trials: Vec<_> = cases
        .into_iter()
        .filter_map(|case| match left_out(&case) {
            Some(why) => {
                println!("left out: {}: {why}", case.name);
                None
            }
            None => Some(trial(format!("sampling/{}", case.name), move || {
                agrees(&case)
            })),
        })
        .collect();
    trials.push(trial(
        "sampling/another_sampler_is_noticed".to_owned(),
        another_sampler_is_noticed,
    ));
    harness::main(trials)
}

fn agrees(case: &Case) -> Result<(), Missing> {
    let found = launched(&job(case))?;
    let compared = case.compare(&found);
    compared.unwrap_or_else(|why| panic!("{}: {why}", case.name));
    Ok(())
}

/// A wrong result is detected.
fn another_sampler_is_noticed() -> Result<(), Missing> {
    let cases = sampling::all();
    let case = cases.iter().find(|case| case.name == "separate").unwrap();
    let mut job = job(case);
    let sampler = job.samplers.first_mut().unwrap();
    assert_eq!(sampler.outside, Outside::Repeat);
    sampler.outside = Outside::Mirror;
    assert!(case.compare(&launched(&job)?).is_err());
    Ok(())
}

/// The content of the second buffer after a launch.
fn launched(job: &Job) -> Result<Vec<f32>, Missing> {
    let program = Path::new(env!("CARGO_BIN_EXE_splitbar-gpu"));
    match vulkan::run(program, job, LIMIT).unwrap() {
        Answer::NoDevice(why) => Err(Missing::new(why)),
        Answer::Failed(why) => panic!("{why}"),
        Answer::Done(_, buffers) => {
            let words = buffers.get(1).unwrap().iter();
            Ok(words.map(|word| f32::from_bits(*word)).collect())
        }
    }
}

fn job(case: &Case) -> Job {
    let module = assemble(&case.module()).unwrap().words;
    let buffer = |binding, words| Buffer {
        set: 0,
        binding,
        uniform: false,
        words,
    };
    let given = case.given().into_iter().map(f32::to_bits);
    Job {
        module,
        entry: "main".to_owned(),
        groups: [1, 1, 1],
        buffers: vec![buffer(1, given.collect()), buffer(2, vec![0; 4 * LANES])],
        images: vec![image(case)],
        samplers: vec![sampler(case)],
        push: Vec::new(),
        spec: Vec::new(),
    }
}

fn image(case: &Case) -> Image {
    let shape = match case.image {
        "Dim1D 0 0 0" => Shape::Line,
        "Dim1D 0 1 0" => Shape::Lines,
        "Dim2D 0 0 0" => Shape::Plane,
        "Dim2D 0 1 0" => Shape::Planes,
        "Dim3D 0 0 0" => Shape::Volume,
        "DimCube 0 0 0" => Shape::Cube,
        "DimCube 0 1 0" => Shape::Cubes,
        other => panic!("{other}"),
    };
    let directions = usize::from(case.levels.directions);
    let mut extent = [1; 3];
    extent[..directions].copy_from_slice(&case.extent[..directions]);
    let bytes = Host::from_case(case).bytes();
    let (words, _) = bytes.as_chunks::<4>();
    Image {
        set: 0,
        binding: 0,
        shape,
        extent,
        layers: case.extent.get(directions).copied().unwrap_or(1),
        levels: case.levels.count.into(),
        depth: case.body.contains("Dref"),
        words: words.iter().map(|word| u32::from_le_bytes(*word)).collect(),
    }
}

fn sampler(case: &Case) -> Sampler {
    let mut words = case.sampler.split(',');
    let linear = words.next() == Some("linear");
    let outside = match words.next().unwrap() {
        "repeat" => Outside::Repeat,
        "mirror" => Outside::Mirror,
        "edge" => Outside::Edge,
        "border" => Outside::Border,
        other => panic!("{other}"),
    };
    let (mip_linear, compare): (Vec<_>, Vec<_>) = words.partition(|word| *word == "mip-linear");
    let compare = compare.first().map(|word| {
        let word = serde_json::Value::from(*word);
        serde_json::from_value(word).unwrap()
    });
    Sampler {
        set: 0,
        binding: 3,
        linear,
        mip_linear: !mip_linear.is_empty(),
        outside,
        compare,
    }
}
