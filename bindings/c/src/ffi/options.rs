//! The options of a compilation.

use super::input::{Versioned, sized, text, texts};
use super::refused::Refused;
use super::{SPLITBAR_LOG_STAGE, SPLITBAR_LOG_WAIT};
use splitbar::spec::Setting;
use splitbar::{Choice, Isolation, Observer, Options, Stage, Target};
use std::ffi::{CString, c_char, c_void};
use std::time::Duration;

/// Receives the log, in the thread that made the call and before the call returns: one of the
/// `SPLITBAR_LOG` kinds and a message, which is valid only during this call. It must return.
pub type splitbar_log =
    Option<unsafe extern "C" fn(user: *mut c_void, kind: u32, message: *const c_char)>;

/// Options. Set `struct_size` to `sizeof(splitbar_options)` and everything that is not needed to
/// zero.
#[repr(C)]
pub struct splitbar_options {
    /// The size of this structure.
    pub struct_size: usize,
    /// The GPU, such as "gfx1201" or "sm_90". Checks may go without one.
    pub target: *const c_char,
    /// More options, each as "name=value": names and values are those of the long flags of
    /// `splitbar lower` ("strategy=fused"), "O=3" for -O3, and "spec=ID=VALUE"; docs/options.md
    /// lists them, and those of checks.
    pub settings: *const *const c_char,
    /// The number of settings.
    pub setting_count: usize,
    /// The path of the program `splitbar`. A compilation runs in a process of this program, so a
    /// crash of the compiler ends only that process. Null compiles in this process, unless
    /// `isolate` is set.
    pub worker: *const c_char,
    /// The linker for code objects; null searches one.
    pub lld: *const c_char,
    /// The ptxas for cubins and machine windows; null searches one.
    pub ptxas: *const c_char,
    /// The time in seconds that a compilation in a worker may take; 0: any.
    pub time_limit: f64,
    /// The memory in bytes that a worker may use; 0: any.
    pub memory_limit: u64,
    /// Receives the log; null for no log.
    pub log: splitbar_log,
    /// The first argument of `log`.
    pub log_user: *mut c_void,
    /// If not 0, compiles in a worker even if `worker` is null: the program `splitbar` in the
    /// folder of the running program, or on PATH.
    pub isolate: u32,
    /// Keep it 0.
    pub reserved: u32,
}

// SAFETY: repr(C), begins with its size, and holds numbers and pointers that may be null.
unsafe impl Versioned for splitbar_options {
    const FIRST: usize = size_of::<splitbar_options>();
}

/// The options after they are read. The meaning of a setting depends on the call, so settings are
/// pairs of name and value.
pub(super) struct Asked<'c> {
    pub(super) target: Option<&'static Target>,
    pub(super) settings: Vec<(&'c str, &'c str)>,
    pub(super) spec: Vec<Setting>,
    /// The worker; `None` for this process.
    pub(super) isolation: Option<Isolation>,
    pub(super) log: Log,
    lld: Option<&'c str>,
    ptxas: Option<&'c str>,
}

impl<'c> Asked<'c> {
    /// Reads `options`; null means no options.
    ///
    /// # Errors
    /// What is wrong with them.
    ///
    /// # Safety
    /// The structure is what the header says it is.
    pub(super) unsafe fn of(options: *const splitbar_options) -> Result<Asked<'c>, Refused> {
        // SAFETY: as this function's.
        let Some(options) = unsafe { sized(options, "options") }? else {
            return Ok(Asked {
                target: None,
                settings: Vec::new(),
                spec: Vec::new(),
                isolation: None,
                log: Log(None, std::ptr::null_mut()),
                lld: None,
                ptxas: None,
            });
        };
        // SAFETY: the caller promises strings, or null.
        let (name, settings, worker, lld, ptxas) = unsafe {
            (
                text(options.target, "target")?,
                texts(options.settings, options.setting_count, "settings")?,
                text(options.worker, "worker")?,
                text(options.lld, "lld")?,
                text(options.ptxas, "ptxas")?,
            )
        };
        if options.reserved != 0 {
            return Err(Refused::usage("reserved is not 0".to_owned()));
        }
        let target = name.map(target).transpose()?;
        let (mut pairs, mut spec) = (Vec::new(), Vec::new());
        for setting in settings {
            match setting.split_once('=') {
                Some(("spec", value)) => spec.push(value.parse().map_err(Refused::usage)?),
                Some(pair) => pairs.push(pair),
                None => {
                    return Err(Refused::usage(format!("{setting:?} is not name=value")));
                }
            }
        }
        let isolation = (worker.is_some() || options.isolate != 0).then(|| {
            let mut isolation = Isolation::default();
            isolation.program = worker.map(Into::into);
            isolation
        });
        let isolation = isolation
            .map(|mut isolation| {
                isolation.time = time(options.time_limit)?;
                isolation.memory = Some(options.memory_limit).filter(|bytes| *bytes > 0);
                Ok::<_, Refused>(isolation)
            })
            .transpose()?;
        Ok(Asked {
            target,
            settings: pairs,
            spec,
            isolation,
            log: Log(options.log, options.log_user),
            lld,
            ptxas,
        })
    }

    /// The options of a compilation.
    ///
    /// # Errors
    /// That there is no target, or a setting that is wrong.
    pub(super) fn options(&self) -> Result<Options, Refused> {
        let target = self
            .target
            .ok_or_else(|| Refused::usage("options have no target".to_owned()))?;
        let mut options = Options::new(target);
        options.choice = Choice::AUTO;
        options.lld = self.lld.map(Into::into);
        options.ptxas = self.ptxas.map(Into::into);
        for (name, value) in &self.settings {
            options.set(name, value).map_err(Refused::usage)?;
        }
        Ok(options)
    }
}

fn target(name: &str) -> Result<&'static Target, Refused> {
    Target::named(name).map_err(|why| Refused::usage(format!("target {name:?}: {why}")))
}

fn time(seconds: f64) -> Result<Option<Duration>, Refused> {
    let wrong = || Refused::usage(format!("time_limit is {seconds}"));
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    Ok(Some(time).filter(|time| !time.is_zero()))
}

/// The caller's log.
pub(super) struct Log(splitbar_log, *mut c_void);

impl Log {
    fn say(&self, kind: u32, message: String) {
        // Names of stages and passes have no zeros.
        if let (Some(log), Ok(message)) = (self.0, CString::new(message)) {
            // SAFETY: the caller promises a function that takes what it gave, and it is called
            // in the caller's own thread.
            unsafe { log(self.1, kind, message.as_ptr()) }
        }
    }
}

impl Observer for Log {
    fn begin(&mut self, stage: Stage) {
        self.say(SPLITBAR_LOG_STAGE, stage.name().to_owned());
    }

    fn waits(&mut self, stage: Stage, since: Duration, pass: Option<&str>) {
        let pass = pass.map_or_else(String::new, |pass| format!("; LLVM's pass {pass} runs"));
        let seconds = since.as_secs();
        self.say(
            SPLITBAR_LOG_WAIT,
            format!("{stage} has taken {seconds} s{pass}"),
        );
    }
}
