//! `splitbar batch`: many modules for several GPUs, by worker processes side by side. What an
//! earlier run made is taken from a store.

mod args;
mod jobs;
mod pool;
mod progress;
mod summary;

use super::stop::{Stop, worst};
use super::values::Format;
use super::write::Places;
use super::{depfile, report, write};
pub(super) use args::{BatchArgs, EXAMPLES};
use jobs::Job;
use pool::Outcome;
use progress::Progress;
use splitbar::Store;
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use summary::Summary;

/// Compiles as `args` ask and gives the exit code.
pub(super) fn run(args: &BatchArgs) -> u8 {
    batch(args).unwrap_or_else(|text| report::usage(&text, &args.jobs, args.format))
}

fn batch(args: &BatchArgs) -> Result<u8, String> {
    let (jobs, read) = jobs::all(args)?;
    let place = args.output.join("summary.json");
    check_places(&jobs, &place, args.dependency_file.as_deref(), &read)?;
    pool::make_folder(&args.output)?;
    let _locked = lock(&args.output)?;
    for folder in pool::folders(&jobs).chain([args.output.as_path()]) {
        write::remove_left_files(folder)?;
    }
    let kept = args.store.clone();
    let folder = kept.unwrap_or_else(|| args.output.join(".store"));
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let store = Store::open(folder, &program).map_err(|error| error.to_string())?;
    let count = args.at_once.map(usize::from);
    let count = count.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));

    let mut progress = Progress::new(jobs.len(), args.verbose, args.format);
    let outcomes = pool::run(&jobs, &store, args, count, &mut |job, outcome| {
        progress.done(job, outcome);
    });
    progress.end();

    for (job, outcome) in jobs.iter().zip(&outcomes) {
        let target = Some(job.target.name);
        match outcome.as_ref().map(|outcome| &outcome.result) {
            Some(Err(Stop::Problems(failure))) => {
                report::show_for(&failure.diagnostics, &job.lower.input, target, args.format);
            }
            Some(Err(Stop::Usage(text))) => {
                report::usage(text, &job.lower.input, args.format);
            }
            Some(Ok(_)) | None => {}
        }
    }
    let summary = Summary::new(&jobs, &outcomes);
    write::if_changed(&place, summary.json().as_bytes())?;
    if let Some(file) = &args.dependency_file {
        let read: Vec<_> = read.iter().map(PathBuf::as_path).collect();
        write::to_file(file, depfile::text(&[&place], &read)?.as_bytes())?;
    }
    let printed = match args.format {
        Format::Text | Format::Github => summary.table(),
        Format::Json => summary.json(),
        // The document of the problems follows, when the command is over.
        Format::Sarif => String::new(),
    };
    write::stdout(printed.as_bytes())?;
    let codes = outcomes.iter().flatten().map(Outcome::exit_code);
    Ok(worst(codes))
}

/// Keeps other batches from writing to `folder` until the file is closed, as the system does even
/// if this process is killed. Waits for one that writes to it now.
///
/// # Errors
/// What the file system says, with the path in front.
fn lock(folder: &Path) -> Result<File, String> {
    let path = folder.join(".lock");
    let said = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = File::create(&path).map_err(said)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let folder = folder.display();
            write::stderr(&format!("waiting: another batch writes to {folder}\n"));
            file.lock().map_err(said)?;
        }
        Err(TryLockError::Error(error)) => return Err(said(error)),
    }
    Ok(file)
}

/// That no file to be written is one that is read, or another one.
fn check_places(
    jobs: &[Job],
    summary: &Path,
    dependencies: Option<&Path>,
    read: &[PathBuf],
) -> Result<(), String> {
    let read: BTreeSet<PathBuf> = read
        .iter()
        .filter_map(|file| file.canonicalize().ok())
        .collect();
    let outputs = jobs.iter().flat_map(|job| &job.outputs);
    let outputs = outputs.filter_map(|output| output.file.as_deref());
    let mut places = Places::default();
    for file in outputs.chain([summary]).chain(dependencies) {
        places.add(file)?;
        if file.canonicalize().is_ok_and(|file| read.contains(&file)) {
            let file = file.display();
            return Err(format!(
                "{file}: the output would replace this input; name another folder or file"
            ));
        }
    }
    Ok(())
}
