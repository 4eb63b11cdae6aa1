//! What was measured on. A figure without it says little.

use std::env::{self, consts};
use std::ffi::OsString;
use std::fs;
use std::process::Command;
use std::thread;

/// One line: processor, cores, platform, compiler.
pub(super) fn description() -> String {
    let cpu = cpu_model().unwrap_or_else(|| "unknown processor".to_owned());
    let cores = thread::available_parallelism().map_or_else(|_| "unknown".to_owned(), |cores| cores.to_string());
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let rustc = first_line(Command::new(rustc).arg("--version")).unwrap_or_else(|| "unknown rustc".to_owned());
    format!("{cpu}, cores: {cores}, {} {}, {rustc}", consts::ARCH, consts::OS)
}

fn cpu_model() -> Option<String> {
    match consts::OS {
        "macos" => first_line(Command::new("sysctl").args(["-n", "machdep.cpu.brand_string"])),
        _ => model_in(&fs::read_to_string("/proc/cpuinfo").ok()?),
    }
}

fn model_in(cpuinfo: &str) -> Option<String> {
    let models = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    models
        .map(|(key, value)| (key.trim(), value.trim()))
        .find(|(key, _)| *key == "model name")
        .map(|(_, v)| v.to_owned())
}

fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()?.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_model_of_the_first_processor() {
        let cpuinfo = "processor\t: 0\nvendor_id\t: X\nmodel name\t: Fast CPU @ 3.0GHz\n\nmodel name\t: Other\n";
        assert_eq!(model_in(cpuinfo).as_deref(), Some("Fast CPU @ 3.0GHz"));
        assert_eq!(model_in("processor : 0\n"), None);
    }
}
