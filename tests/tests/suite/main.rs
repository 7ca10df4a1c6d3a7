//! Every fixture on every target, and the command line. The suite is one binary, because linking
//! LLVM takes time.
//!
//! The harness gives each fixture and target a test with a name of its own:
//! `cargo test -p splitbar-tests --test suite -- filetest/scan`. What needs a program that is not
//! installed is ignored, with the reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod abi;
mod advise;
mod amdgpu;
mod atomics;
mod audit;
mod batch;
mod build_systems;
mod c_api;
mod choices;
mod cli;
mod clusters;
mod corpus;
mod damaged;
mod debug_info;
mod docs;
mod endianness;
mod enumerants;
mod examples;
mod exchanges;
mod facts;
mod faults;
mod features;
mod fences;
mod filetests;
mod formats;
mod found;
mod found_places;
mod generations;
mod grid;
mod hostile;
mod images;
mod inputs;
mod ir;
mod isolate;
mod joint_matrices;
mod launches;
mod limits;
mod llvm_traps;
mod matrices;
mod matrices_nv;
mod matrix_operations;
mod messages;
mod model;
mod modes;
mod neighbours;
mod nvptx;
mod opencl;
mod outputs;
mod pages;
mod pipelines;
mod places;
mod profile;
mod promoted;
mod python;
mod qualifiers;
mod random;
mod references;
mod report;
mod same_bytes;
mod samplers;
mod sampling;
mod schemas;
mod shared_memory;
mod sim;
mod sim_mutants;
mod sizes;
mod split;
mod strategies;
mod subgroups;
mod support;
mod tangles;
mod tensor_layouts;
mod tensors;
mod timeline;
mod timing;
mod undefined;
mod validation;
mod windows;

use libtest_mimic::Trial;
use splitbar_tests::{fixture, harness};
use std::process::ExitCode;

fn main() -> ExitCode {
    let fixtures = match fixture::all() {
        Ok(fixtures) => fixtures,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let mut trials: Vec<Trial> = Vec::new();
    trials.extend(references::trials(&fixtures));
    trials.extend(filetests::trials(&fixtures));
    trials.extend(formats::trials());
    trials.extend(sim::trials(&fixtures));
    trials.extend(facts::trials(&fixtures));
    trials.extend(images::trials());
    trials.extend(inputs::trials());
    trials.extend(tensors::trials());
    trials.extend(samplers::trials());
    trials.extend(same_bytes::trials());
    trials.extend(sampling::trials());
    trials.extend(abi::trials(&fixtures));
    trials.extend(qualifiers::trials());
    trials.extend(promoted::trials(&fixtures));
    trials.extend(split::trials(&fixtures));
    trials.extend(grid::trials(&fixtures));
    trials.extend(modes::trials(&fixtures));
    trials.extend(subgroups::trials(&fixtures));
    trials.extend(shared_memory::trials());
    trials.extend(matrices::trials());
    trials.extend(matrices_nv::trials());
    trials.extend(joint_matrices::trials());
    trials.extend(matrix_operations::trials());
    trials.extend(tensor_layouts::trials());
    trials.extend(tangles::trials());
    trials.extend(messages::trials());
    trials.extend(strategies::trials(&fixtures));
    trials.extend(clusters::trials(&fixtures));
    trials.extend(sizes::trials());
    trials.extend(windows::trials());
    trials.extend(docs::trials());
    trials.extend(amdgpu::trials());
    trials.extend(nvptx::trials(&fixtures));
    trials.extend(fences::trials());
    trials.extend(neighbours::trials(&fixtures));
    trials.extend(generations::trials());
    trials.extend(atomics::trials());
    trials.extend(launches::trials());
    trials.extend(faults::trials());
    trials.extend(llvm_traps::trials(&fixtures));
    trials.extend(model::trials(&fixtures));
    trials.extend(audit::trials(&fixtures));
    trials.extend(outputs::trials(&fixtures));
    trials.extend(examples::trials());
    trials.extend(pages::trials());
    trials.extend(exchanges::trials());
    trials.extend(pipelines::trials());
    trials.extend(schemas::trials(&fixtures));
    trials.extend(endianness::trials(&fixtures));
    trials.extend(enumerants::trials());
    trials.extend(cli::trials());
    trials.extend(batch::trials());
    trials.extend(build_systems::trials());
    trials.extend(c_api::trials());
    trials.extend(advise::trials(&fixtures));
    trials.extend(places::trials(&fixtures));
    trials.extend(found::trials());
    trials.extend(found_places::trials(&fixtures));
    trials.extend(profile::trials());
    trials.extend(report::trials());
    trials.extend(timeline::trials(&fixtures));
    trials.extend(timing::trials(&fixtures));
    trials.extend(choices::trials(&fixtures));
    trials.extend(hostile::trials());
    trials.extend(ir::trials());
    trials.extend(isolate::trials());
    trials.extend(validation::trials());
    trials.extend(limits::trials());
    trials.extend(damaged::trials());
    trials.extend(debug_info::trials(&fixtures));
    trials.extend(sim_mutants::trials(&fixtures));
    trials.extend(random::trials());
    trials.extend(undefined::trials());
    trials.extend(corpus::trials());
    trials.extend(features::trials());
    trials.extend(opencl::trials());
    trials.extend(python::trials());
    harness::main(trials)
}
