//! Command lines as a person would type them.

use std::process::Command;

/// The command with its arguments, quoted so that a POSIX shell reads the same words back.
pub(crate) fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| {
        let word = word.to_string_lossy();
        // Only a NUL cannot be quoted, and no argument can hold one.
        shlex::try_quote(&word).map(std::borrow::Cow::into_owned).unwrap_or_default()
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_same_words_back() {
        let words = ["printf", "%s\\0", "", "a b", "it's", "$x `y` \"z\" \\", "Zürich\n東京", "*?[a]", "~"];
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        let output = Command::new("sh").args(["-c", &command_line(&command)]).output().unwrap();
        let expected: String = words[2..].iter().map(|word| format!("{word}\0")).collect();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }

    #[test]
    fn plain_words_stay_as_they_are() {
        let mut command = Command::new("toolhost");
        command.args(["call", "--cwd", "my photos"]);
        assert_eq!(command_line(&command), "toolhost call --cwd 'my photos'");
    }
}
