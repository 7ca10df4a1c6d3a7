//! dev
use splitbar_passes::analysis::pairing::Pairing;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::*;
use splitbar_passes::transform::inline::inline_barrier_functions;
use splitbar_plan::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&args[1]).unwrap();
    let target = Target::by_name(&args[2]).unwrap();
    let what = args.get(3).map(String::as_str).unwrap_or("asm");
    let opt = match args.get(4).map(String::as_str) { Some("0") => splitbar_llvm::Optimization::O0, Some("3") => splitbar_llvm::Optimization::O3, _ => splitbar_llvm::Optimization::O2 };
    let module = Module::parse(&bytes).unwrap_or_else(|d| { eprintln!("{d}"); std::process::exit(1) });
    let mut d = Diagnostics::new();
    let decl = Declarations::of(&module, &mut d);
    let edited = inline_barrier_functions(&module, &decl).unwrap_or_else(|d| { eprintln!("{d}"); std::process::exit(3) });
    let m2 = match &edited { Some(e) => &e.module, None => &module };
    let decl = Declarations::of(m2, &mut d);
    let consts = Constants::evaluate(&decl, &SpecValues::default(), &mut d);
    let mut plans = vec![];
    for e in &decl.entry_points {
        let pairing = Pairing::analyse(&decl, &consts, e, &mut d);
        plans.push(plan(Request { entry: e, pairing: &pairing, workgroup_size: decl.workgroup_size(e, &consts), shared_bytes: splitbar_llvm::shared_memory_bytes(&decl, &consts, e), target, options: PlanOptions::default() }, &mut d));
    }
    if what == "plan" { for p in &plans { println!("{p}"); } }
    if d.has_errors() { eprintln!("{d}"); std::process::exit(3) }
    let t = std::time::Instant::now();
    let l = splitbar_llvm::lower(&splitbar_llvm::Lowering { declarations: &decl, constants: &consts, target, plans: &plans, lines: std::env::var("LINES_ON").is_ok(), optimization: opt });
    match l {
        Err(d) => { for x in d.iter() { eprintln!("{}: {} @{:?} {:?}", x.code, x.message, x.location.word, x.reasons); } std::process::exit(if d.iter().any(|x| x.code.kind() == splitbar_passes::diagnostic::Kind::Internal) { 4 } else { 3 }) }
        Ok(l) => {
            eprintln!("{:?}", t.elapsed());
            match what { "raw" => println!("{}", l.unoptimized()), "ir" => println!("{}", l.ir()), "abi" => println!("{:#?}", l.kernels()), "asm" => println!("{}", l.assembly().unwrap()), "obj" => { l.object().unwrap(); }, _ => {} }
        }
    }
}
