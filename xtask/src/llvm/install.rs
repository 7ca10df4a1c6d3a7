//! Installing the pinned LLVM: download with pip, verify, unpack, rename into place.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};

use super::{host, pins, remove};

/// Written last into a complete installation; names exactly what was installed.
const STAMP: &str = "splitbar-stamp";

/// The part of each package that is the SDK.
const SDK_INSIDE: &str = "mlc_llvm_static/static/";

/// Whether `sdk` is a complete installation of what is pinned now.
pub fn is_complete(sdk: &Path) -> bool {
    let (Ok(there), Ok(wanted)) = (std::fs::read_to_string(sdk.join(STAMP)), stamp()) else {
        return false;
    };
    there == wanted
}

/// Installs the pinned packages as `sdk`; `folder` is for what is on its way. An interrupted run leaves nothing that looks complete.
pub fn install(folder: &Path, sdk: &Path) -> Result<()> {
    let stamp = stamp()?;
    let python = host::find_python()?;
    let downloads = folder.join("download");
    let unpacked = folder.join("sdk.new");
    remove(&downloads)?;
    remove(&unpacked)?;
    std::fs::create_dir_all(&downloads)?;

    eprintln!(
        "installing LLVM {} into {} (once; about 90 MB to fetch, 400 MB on disk)",
        pins::RELEASE,
        sdk.display()
    );
    for package in pins::PACKAGES {
        let wheel = wheel_for_host(package)?;
        let file = download(&python, &downloads, package, wheel)?;
        verify(&file, package, wheel)?;
        unpack(&file, &unpacked, package)?;
    }
    std::fs::write(unpacked.join(STAMP), stamp)?;
    remove(sdk)?;
    std::fs::rename(&unpacked, sdk).context("cannot move the unpacked LLVM into place")?;
    remove(&downloads)
}

fn stamp() -> Result<String> {
    let mut lines = String::new();
    for package in pins::PACKAGES {
        let wheel = wheel_for_host(package)?;
        lines.push_str(&format!(
            "{}=={} sha256:{}\n",
            package.name, package.version, wheel.sha256
        ));
    }
    Ok(lines)
}

fn wheel_for_host(package: &pins::Package) -> Result<&pins::Wheel> {
    let here = (std::env::consts::OS, std::env::consts::ARCH);
    package.wheels.iter().find(|w| w.platform == here).with_context(|| {
        format!(
            "there is no ready-made LLVM {} for {} on {}. Install LLVM {} with the {} back ends and name its prefix in LLVM_SYS_231_PREFIX.",
            pins::RELEASE,
            here.0,
            here.1,
            pins::RELEASE,
            pins::BACK_ENDS.join(" and "),
        )
    })
}

/// Fetches one package with pip, which checks the checksum itself; shows how far it is from the size of what lies in its working folder.
fn download(
    python: &Path,
    downloads: &Path,
    package: &pins::Package,
    wheel: &pins::Wheel,
) -> Result<PathBuf> {
    let folder = downloads.join(package.name);
    let temporary = folder.join("tmp");
    std::fs::create_dir_all(&temporary)?;
    let requirements = folder.join("requirements.txt");
    std::fs::write(
        &requirements,
        format!(
            "{}=={} --hash=sha256:{}\n",
            package.name, package.version, wheel.sha256
        ),
    )?;
    let log = folder.join("pip.log");

    let mut child = Command::new(python)
        .args([
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--require-hashes",
            "--only-binary",
            ":all:",
            "--progress-bar",
            "off",
        ])
        .args(["--disable-pip-version-check", "--no-input", "--dest"])
        .arg(&folder)
        .arg("--requirement")
        .arg(&requirements)
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .stdout(File::create(&log)?)
        .stderr(File::options().append(true).open(&log)?)
        .spawn()
        .context("cannot start pip")?;
    let bar = progress("fetch ", package.name, wheel.bytes);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        bar.set_position(
            wheels_in(&folder, 4)
                .iter()
                .map(|(_, size)| *size)
                .max()
                .unwrap_or(0)
                .min(wheel.bytes),
        );
        std::thread::sleep(Duration::from_millis(100));
    };
    if !status.success() {
        bar.abandon();
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        bail!(
            "pip cannot fetch {} {}:\n{}\nCheck that this machine reaches its Python package index, or install LLVM {} yourself and name its prefix in \
             LLVM_SYS_231_PREFIX.",
            package.name,
            package.version,
            said.trim_end(),
            pins::RELEASE,
        );
    }
    bar.set_position(wheel.bytes);
    bar.finish();
    match wheels_in(&folder, 1).as_slice() {
        [(file, _)] => Ok(file.clone()),
        other => bail!(
            "pip left {} files for {}, where one was asked for",
            other.len(),
            package.name
        ),
    }
}

/// The wheels below `folder`, to this depth, with their sizes so far.
fn wheels_in(folder: &Path, depth: usize) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return found;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.metadata() {
            Ok(m) if m.is_dir() && depth > 1 => found.extend(wheels_in(&path, depth - 1)),
            Ok(m) if m.is_file() && path.extension().is_some_and(|e| e == "whl") => {
                found.push((path, m.len()))
            }
            _ => {}
        }
    }
    found
}

/// Compares the checksum of a file with the pinned one: pip has done it, but a mirror of pip's cache need not have.
fn verify(file: &Path, package: &pins::Package, wheel: &pins::Wheel) -> Result<()> {
    let bar = progress("verify", package.name, wheel.bytes);
    let mut input = File::open(file)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = input.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        hasher.update(buffer.get(..n).unwrap_or_default());
        bar.inc(n as u64);
    }
    bar.finish();
    let found: String = hasher
        .finalize()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    if found != wheel.sha256 {
        bail!(
            "{} {}: the checksum is {found}, and {} is pinned; nothing was installed",
            package.name,
            package.version,
            wheel.sha256
        );
    }
    Ok(())
}

/// Unpacks the SDK part of a wheel, with the executable bits that the archive records.
fn unpack(file: &Path, to: &Path, package: &pins::Package) -> Result<()> {
    let mut archive = zip::ZipArchive::new(File::open(file)?)
        .with_context(|| format!("{} is no archive", file.display()))?;
    let bar = progress(
        "unpack",
        package.name,
        archive
            .decompressed_size()
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(0),
    );
    let mut buffer = vec![0; 1 << 18];
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i)?;
        // `enclosed_name` refuses names that leave the folder.
        let Some(name) = entry.enclosed_name() else {
            bail!("{}: unsafe file name {:?}", package.name, entry.name())
        };
        let Ok(name) = name.strip_prefix(SDK_INSIDE) else {
            continue;
        };
        if entry.is_dir() {
            continue;
        }
        let path = to.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let mut output = File::create(&path)?;
        loop {
            let n = entry.read(&mut buffer)?;
            if n == 0 {
                break;
            }
            output.write_all(buffer.get(..n).unwrap_or_default())?;
            bar.inc(n as u64);
        }
        #[cfg(unix)]
        if let Some(mode) = entry.unix_mode() {
            use std::os::unix::fs::PermissionsExt as _;
            output.set_permissions(std::fs::Permissions::from_mode((mode & 0o777) | 0o600))?;
        }
    }
    bar.finish();
    Ok(())
}

/// A progress display on a terminal, one plain line elsewhere.
fn progress(verb: &str, what: &str, bytes: u64) -> ProgressBar {
    use std::io::IsTerminal as _;
    if !std::io::stderr().is_terminal() {
        eprintln!("  {verb} {what} ({} MB)", bytes / 1_000_000);
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(
        "  {msg:38} [{bar:30}] {bytes:>10} / {total_bytes:10} {bytes_per_sec}",
    )
    .map(|s| s.progress_chars("=> "))
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(bytes)
        .with_style(style)
        .with_message(format!("{verb} {what}"))
}
