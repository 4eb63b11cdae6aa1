//! The ways to build a plugin, and how each is expected to fare.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::build::{Build, Profile};

/// Whose sources and dependencies a plugin is built from. Its scenario is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The fixture, with the host's dependencies.
    Stage,
    /// The same with the oldest dependencies.
    Oldest,
    /// The same with dependencies between the oldest and the host's.
    Between,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptLevel {
    None,
    Speed,
    Size,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lto {
    Off,
    Thin,
    Fat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Panic {
    Unwind,
    Abort,
}

/// One way to build a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Combination {
    source: Source,
    opt_level: OptLevel,
    lto: Lto,
    stripped: bool,
    panic: Panic,
}

/// What a host does with a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// It goes through the scenario.
    Runs,
    /// It is refused before it runs, with this code.
    Refused(&'static str),
}

impl Combination {
    /// As an author builds it while working on it; its symbols and lines are there.
    pub(crate) const PLAIN: Self = Self::new(Source::Stage, OptLevel::None);

    const fn new(source: Source, opt_level: OptLevel) -> Self {
        Self { source, opt_level, lto: Lto::Off, stripped: false, panic: Panic::Unwind }
    }

    /// As it is shipped where every byte counts.
    const fn smallest(source: Source) -> Self {
        Self { lto: Lto::Fat, stripped: true, ..Self::new(source, OptLevel::Size) }
    }

    /// All of them. Those that share most of their compiled dependencies are beside each other.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for opt_level in [OptLevel::None, OptLevel::Speed, OptLevel::Size] {
            let plain = Self::new(Source::Stage, opt_level);
            for lto in [Lto::Off, Lto::Thin, Lto::Fat] {
                all.extend([false, true].map(|stripped| Self { lto, stripped, ..plain }));
            }
            all.push(Self { panic: Panic::Abort, ..plain });
        }
        for source in [Source::Oldest, Source::Between] {
            all.extend([Self::new(source, OptLevel::None), Self::smallest(source)]);
        }
        all
    }

    /// The two that differ most.
    pub(crate) fn slice() -> Vec<Self> {
        vec![Self::PLAIN, Self::smallest(Source::Stage)]
    }

    pub(crate) fn expected(self) -> Expected {
        match self.panic {
            Panic::Unwind => Expected::Runs,
            Panic::Abort => Expected::Refused("TH0208"),
        }
    }

    /// The build of this plugin; `tests` is the directory of the tests' package. Only one of them is there at a time:
    /// those of one source write the same file.
    pub(crate) fn build(self, tests: &Path, target_dir: PathBuf) -> Build {
        let (manifest, package) = match self.source {
            Source::Stage => ("fixtures/Cargo.toml", "stage"),
            Source::Oldest => ("versions/oldest/Cargo.toml", "oldest"),
            Source::Between => ("versions/between/Cargo.toml", "between"),
        };
        let build = Build::new(tests.join(manifest)).package(package).target_dir(target_dir).locked();
        let build = build.profile(self.profile());
        self.settings().into_iter().fold(build, Build::config)
    }

    fn profile(self) -> Profile {
        match self.opt_level {
            OptLevel::None => Profile::Dev,
            OptLevel::Speed | OptLevel::Size => Profile::Release,
        }
    }

    fn settings(self) -> Vec<String> {
        let profile = match self.profile() {
            Profile::Dev => "dev",
            Profile::Release => "release",
        };
        let opt_level = match self.opt_level {
            OptLevel::None => "0",
            OptLevel::Speed => "3",
            OptLevel::Size => "\"s\"",
        };
        let lto = match self.lto {
            Lto::Off => "false",
            Lto::Thin => "\"thin\"",
            Lto::Fat => "\"fat\"",
        };
        let panic = match self.panic {
            Panic::Unwind => "unwind",
            Panic::Abort => "abort",
        };
        let strip = if self.stripped { "symbols" } else { "none" };
        vec![
            format!("profile.{profile}.opt-level={opt_level}"),
            // The fixtures' profile speeds it up.
            format!("profile.{profile}.package.abi_stable.opt-level={opt_level}"),
            format!("profile.{profile}.lto={lto}"),
            format!("profile.{profile}.panic=\"{panic}\""),
            format!("profile.{profile}.debug=\"line-tables-only\""),
            format!("profile.{profile}.strip=\"{strip}\""),
            // Only the plugin itself is stripped, so that its dependencies are compiled once for both.
            format!("profile.{profile}.package.\"*\".strip=\"none\""),
        ]
    }
}

/// The name by which a person asks for it.
impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            Source::Stage => "stage",
            Source::Oldest => "oldest",
            Source::Between => "between",
        };
        let opt_level = match self.opt_level {
            OptLevel::None => "0",
            OptLevel::Speed => "3",
            OptLevel::Size => "s",
        };
        let lto = match self.lto {
            Lto::Off => "",
            Lto::Thin => "-thin",
            Lto::Fat => "-fat",
        };
        let stripped = if self.stripped { "-stripped" } else { "" };
        let panic = match self.panic {
            Panic::Unwind => "",
            Panic::Abort => "-abort",
        };
        f.pad(&format!("{source}-{opt_level}{lto}{stripped}{panic}"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_combination_has_a_name_of_its_own() {
        let all = Combination::all();
        let names: HashSet<_> = all.iter().map(Combination::to_string).collect();
        assert_eq!((all.len(), names.len()), (25, 25));
        for name in ["stage-0", "stage-3-thin", "stage-s-fat-stripped", "stage-3-abort", "oldest-0"] {
            assert!(names.contains(name), "{name}: {names:?}");
        }
    }

    #[test]
    fn a_slice_is_part_of_all() {
        let all = Combination::all();
        assert!(Combination::slice().iter().all(|combination| all.contains(combination)));
        let names: Vec<_> = Combination::slice().iter().map(Combination::to_string).collect();
        assert_eq!(names, ["stage-0", "stage-s-fat-stripped"]);
    }

    #[test]
    fn only_a_plugin_whose_panics_abort_is_to_be_refused() {
        for combination in Combination::all() {
            let refused = combination.expected() == Expected::Refused("TH0208");
            assert_eq!(refused, combination.to_string().ends_with("-abort"));
        }
    }

    #[test]
    fn a_combination_is_settings_of_one_profile() {
        let expected = [
            r#"profile.release.opt-level="s""#,
            r#"profile.release.package.abi_stable.opt-level="s""#,
            r#"profile.release.lto="fat""#,
            r#"profile.release.panic="unwind""#,
            r#"profile.release.debug="line-tables-only""#,
            r#"profile.release.strip="symbols""#,
            r#"profile.release.package."*".strip="none""#,
        ];
        assert_eq!(Combination::smallest(Source::Stage).settings(), expected);
        assert!(Combination::PLAIN.settings().contains(&"profile.dev.opt-level=0".to_owned()));
    }
}
