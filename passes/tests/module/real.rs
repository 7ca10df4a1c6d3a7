//! Every module of the corpus, looked at in every way; `index.tsv` and `rspirv` are the second
//! opinions.

use crate::corpus;
use rspirv::dr;
use splitbar_passes::diagnostic::Diagnostics;
use splitbar_passes::module::{Constants, Declarations, Endianness, Id, Inst, Module, SpecValues};

#[test]
fn every_module_loads_and_comes_back_byte_for_byte_in_both_byte_orders() {
    let modules = corpus::modules().unwrap();
    assert_eq!(modules.len(), 1070);
    for file in &modules {
        let module = Module::parse(&file.bytes)
            .unwrap_or_else(|problems| panic!("{}: {problems}", file.path));
        assert_eq!(module.to_bytes(), file.bytes, "{}", file.path);
        let mut swapped = file.bytes.clone();
        swapped.chunks_exact_mut(4).for_each(<[u8]>::reverse);
        let other = Module::parse(&swapped)
            .unwrap_or_else(|problems| panic!("{} swapped: {problems}", file.path));
        assert_ne!(module.endianness(), other.endianness());
        assert_eq!(module.words(), other.words(), "{}", file.path);
        assert_eq!(other.to_bytes(), swapped, "{}", file.path);
    }
}

#[test]
fn words_are_borrowed_when_they_can_be_and_copied_when_not() {
    let file = corpus::modules().unwrap().swap_remove(0);
    let mut padded = vec![0u32; file.bytes.len() / 4 + 1];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut padded);
    let (whole, _) = bytes.split_at_mut(file.bytes.len());
    whole.copy_from_slice(&file.bytes);
    let aligned = Module::parse(whole).unwrap();
    assert_eq!(
        aligned.is_borrowed(),
        Endianness::NATIVE == Endianness::Little
    );
    let words = aligned.words().to_vec();
    bytes[1..=file.bytes.len()].copy_from_slice(&file.bytes);
    let unaligned = Module::parse(&bytes[1..=file.bytes.len()]).unwrap();
    assert!(!unaligned.is_borrowed());
    assert_eq!(unaligned.words(), words);
}

#[test]
fn declarations_and_constants_find_nothing_wrong_and_leave_nothing_out() {
    for file in corpus::modules().unwrap() {
        let module = Module::parse(&file.bytes).unwrap();
        let mut problems = Diagnostics::new();
        let declarations = Declarations::new(&module, &mut problems);
        let constants = Constants::evaluate(&declarations, &SpecValues::default(), &mut problems);
        assert!(problems.is_empty(), "{}: {problems}", file.path);
        for inst in module.instructions() {
            if let (Some(id), true) = (inst.result(), inst.op().is_some_and(|op| op.is_constant()))
            {
                assert!(
                    constants.get(id).is_some(),
                    "{}: {} has no value",
                    file.path,
                    declarations.disassemble(inst)
                );
            }
            if inst
                .op()
                .is_some_and(|op| op.is_type() && op != spirv::Op::TypeForwardPointer)
            {
                assert!(
                    inst.result().and_then(|id| declarations.ty(id)).is_some(),
                    "{}: {}",
                    file.path,
                    declarations.disassemble(inst)
                );
            }
        }
        for entry in &declarations.entry_points {
            let order = declarations
                .reachable_functions(entry.function)
                .unwrap_or_else(|problem| panic!("{}: {}", file.path, problem.message));
            assert_eq!(order.last(), Some(&entry.function));
            if entry.model == Some(spirv::ExecutionModel::GLCompute) {
                assert!(
                    declarations.workgroup_size(entry, &constants).is_some(),
                    "{}",
                    file.path
                );
            }
        }
    }
}

#[test]
fn the_index_of_the_corpus_says_the_same() {
    let files = corpus::files().unwrap();
    let index = files.iter().find(|file| file.path == "index.tsv").unwrap();
    let index = std::str::from_utf8(&index.bytes).unwrap();
    let mut seen = 0;
    for line in index.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let file = files.iter().find(|file| file.path == columns[0]).unwrap();
        assert_eq!(columns[1], file.bytes.len().to_string());
        seen += 1;
        if columns[2].is_empty() {
            continue; // the line of a split module says where it comes from instead
        }
        let module = Module::parse(&file.bytes).unwrap();
        let declarations = Declarations::new(&module, &mut Diagnostics::new());
        let mut models: Vec<(String, usize)> = Vec::new();
        for entry in &declarations.entry_points {
            let name = format!("{:?}", entry.model.unwrap());
            match models.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => models.push((name, 1)),
            }
        }
        let models: Vec<String> = models
            .iter()
            .map(|(name, count)| format!("{name}:{count}"))
            .collect();
        assert_eq!(columns[2], models.join(","), "{}", file.path);
        let mut extensions = declarations.extensions.clone();
        extensions.sort();
        let extensions = if extensions.is_empty() {
            "-".to_owned()
        } else {
            extensions.join(",")
        };
        assert_eq!(columns[4], extensions, "{}", file.path);
        assert_eq!(
            columns[3].split(',').count(),
            declarations.capabilities.len(),
            "{}",
            file.path
        );
    }
    assert_eq!(seen, 1070);
}

/// Ids of an instruction as `rspirv` sees them: type, result, operands.
fn ids_of(inst: &dr::Instruction) -> Vec<Id> {
    let operands = inst.operands.iter().filter_map(dr::Operand::id_ref_any);
    inst.result_type
        .into_iter()
        .chain(inst.result_id)
        .chain(operands)
        .map(Id)
        .collect()
}

#[test]
fn rspirv_sees_the_same_ids_and_gives_the_same_module_back() {
    let mut accepted = 0;
    for file in corpus::modules().unwrap() {
        let module = Module::parse(&file.bytes).unwrap();
        let Ok(loaded) = dr::Module::try_from(&module) else {
            continue;
        };
        accepted += 1;
        let ours: Vec<Inst<'_>> = module.instructions().collect();
        let theirs: Vec<&dr::Instruction> = loaded.all_inst_iter().collect();
        assert_eq!(ours.len(), theirs.len(), "{}", file.path);
        for (a, b) in ours.iter().zip(theirs) {
            assert_eq!(
                u32::from(a.opcode()),
                b.class.opcode as u32,
                "{} at word {}",
                file.path,
                a.offset
            );
            assert_eq!(
                (a.result_type(), a.result()),
                (b.result_type.map(Id), b.result_id.map(Id))
            );
            let ids: Vec<Id> = module.ids(*a).map(|(_, id)| id).collect();
            assert_eq!(
                ids,
                ids_of(b),
                "{} at word {}: {}",
                file.path,
                a.offset,
                a.name()
            );
        }
        let again = Module::try_from(&loaded)
            .unwrap_or_else(|problems| panic!("{}: {problems}", file.path));
        assert_eq!(again.words(), module.words(), "{}", file.path);
    }
    assert!(accepted > 500, "{accepted} modules were compared");
}
