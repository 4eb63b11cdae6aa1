//! The variables that a program gets.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

use toolhost_protocol::JsonBytes;

/// What is passed on without being asked for: where things are, who the user is, how text is written and shown. The
/// documentation of `LocalExec` lists it, too.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_DIRS",
    "XDG_RUNTIME_DIR",
];

/// Variables of the process that programs inherit.
#[derive(Clone)]
pub(super) struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Those of this process that are passed on. It is read here and nowhere later: what changes it meanwhile, such as
    /// a library written in C, would do so behind the lock of the standard library.
    pub(super) fn of_this_process() -> Self {
        Self::passed_on(std::env::vars_os())
    }

    fn passed_on(variables: impl Iterator<Item = (OsString, OsString)>) -> Self {
        Self(variables.filter(|(name, _)| is_passed_on(name)).collect())
    }

    /// Passes another one on, unless it may hold a credential: then this answers false.
    pub(super) fn inherit(&mut self, name: &OsStr, value: Option<OsString>) -> bool {
        if may_hold_credential(name) {
            return false;
        }
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value);
        }
        true
    }

    /// These variables with some set and others taken away; or what is wrong with those.
    pub(super) fn with(
        &self,
        changes: &BTreeMap<String, Option<JsonBytes>>,
    ) -> Result<BTreeMap<OsString, OsString>, String> {
        let mut variables = self.0.clone();
        for (name, value) in changes {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(format!(
                    "{name:?} is no name for a variable: it is empty, or has a `=` or a NUL character"
                ));
            }
            match value {
                Some(value) if value.0.contains(&0) => {
                    return Err(format!("the variable `{name}` has a NUL character in its value"));
                }
                Some(value) => variables.insert(name.into(), value.as_os_str().to_owned()),
                None => variables.remove(OsStr::new(name)),
            };
        }
        Ok(variables)
    }
}

/// Names alone: values are nobody's business.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let is_xdg_home = name.starts_with("XDG_") && name.ends_with("_HOME");
    (PASSED_ON.contains(&name) || name.starts_with("LC_") || is_xdg_home) && !may_hold_credential(OsStr::new(name))
}

/// Whether a variable of this name may hold a credential. Rather once too often: whoever needs such a variable can set
/// it in the request.
fn may_hold_credential(name: &OsStr) -> bool {
    const ANYWHERE: &[&str] =
        &["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "ACCESSKEY", "PRIVATEKEY"];
    const WORDS: &[&str] = &["KEY", "KEYS", "PASS", "PAT", "AUTH", "COOKIE", "COOKIES", "JWT"];
    const ENDS_OF_WORDS: &[&str] = &["TOKEN", "TOKENS"];

    let name = name.to_string_lossy().to_uppercase();
    let mut words = name.split(|character: char| !character.is_alphanumeric());
    ANYWHERE.iter().any(|part| name.contains(part))
        // `MYSQL_PWD` is a password, `PWD` and `OLDPWD` are directories.
        || name.ends_with("_PWD")
        || words.any(|word| WORDS.contains(&word) || ENDS_OF_WORDS.iter().any(|end| word.ends_with(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment::passed_on(variables.iter().map(|(name, value)| (name.into(), value.into())))
    }

    fn names(environment: &Environment) -> Vec<&str> {
        environment.0.keys().map(|name| name.to_str().unwrap()).collect()
    }

    #[test]
    fn only_what_is_listed_is_passed_on() {
        let all = [
            "PATH",
            "HOME",
            "LC_ALL",
            "LC_TIME",
            "XDG_CACHE_HOME",
            "XDG_RUNTIME_DIR",
            "TZ",
            "XDG_SESSION_ID",
            "LD_PRELOAD",
            "HTTPS_PROXY",
            "SSH_AUTH_SOCK",
            "OPENAI_API_KEY",
            "LC_API_KEY",
            "EDITOR",
            "path",
            "PATHS",
        ];
        let passed_on = environment(&all.map(|name| (name, "value")));
        let listed = ["HOME", "LC_ALL", "LC_TIME", "PATH", "TZ", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"];
        assert_eq!(names(&passed_on), listed);
    }

    #[test]
    fn what_may_hold_a_credential_is_known_by_its_name() {
        for name in [
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "AZURE_APIKEY",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "NPM_TOKEN_2",
            "NGROK_AUTHTOKEN",
            "client_secret",
            "CLIENT_SECRETS_FILE",
            "PGPASSWORD",
            "MYSQL_PWD",
            "SMTP_PASS",
            "DB_PASSWD",
            "GPG_PASSPHRASE",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GITHUB_PAT",
            "npm_config__auth",
            "SSH_AUTH_SOCK",
            "DEPLOY_KEY",
            "ssh.key",
            "SESSION_COOKIE",
            "SUPABASE_JWT",
            "STRIPE-API-KEY",
        ] {
            assert!(may_hold_credential(OsStr::new(name)), "{name}");
        }
        for name in [
            "PATH",
            "PWD",
            "OLDPWD",
            "KEYBOARD",
            "TOKENIZERS_PARALLELISM",
            "COMPASS",
            "XAUTHORITY",
            "GIT_AUTHOR_NAME",
            "MONKEY",
        ] {
            assert!(!may_hold_credential(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn no_credential_is_inherited_even_where_that_is_asked_for() {
        let mut environment = environment(&[("HOME", "/home/me")]);
        assert!(!environment.inherit(OsStr::new("OPENAI_API_KEY"), Some("sk-1".into())));
        assert!(environment.inherit(OsStr::new("JAVA_HOME"), Some("/java".into())));
        assert!(environment.inherit(OsStr::new("UNSET"), None));
        assert_eq!(names(&environment), ["HOME", "JAVA_HOME"]);
        assert_eq!(format!("{environment:?}"), r#"["HOME", "JAVA_HOME"]"#);
    }

    #[test]
    fn a_request_sets_and_takes_away() {
        let environment = environment(&[("HOME", "/home/me"), ("TZ", "UTC")]);
        let changes = |changes: &[(&str, Option<&str>)]| {
            let changes = changes.iter().map(|(name, value)| ((*name).to_owned(), value.map(JsonBytes::from)));
            environment.with(&changes.collect())
        };
        let variables =
            changes(&[("HOME", None), ("UNKNOWN", None), ("OPENAI_API_KEY", Some("sk-1")), ("TZ", Some(""))]);
        let expected = [("OPENAI_API_KEY", "sk-1"), ("TZ", "")];
        assert_eq!(variables.unwrap(), expected.map(|(name, value)| (name.into(), value.into())).into());

        let unusable =
            |name: &str| format!("{name:?} is no name for a variable: it is empty, or has a `=` or a NUL character");
        for name in ["", "A=B", "A\0"] {
            assert_eq!(changes(&[(name, Some("x"))]).unwrap_err(), unusable(name));
        }
        assert_eq!(changes(&[("A", Some("\0"))]).unwrap_err(), "the variable `A` has a NUL character in its value");
    }
}
