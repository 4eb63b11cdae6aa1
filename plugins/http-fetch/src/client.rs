//! What connects, and where to.

use std::env;
use std::sync::Arc;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, ClientBuilder, NoProxy, Proxy, Url};
use rustls::{ClientConfig, RootCertStore};
use toolhost_plugin_sdk::ToolError;

/// A client, and what it trusts.
#[derive(Debug)]
pub(crate) struct Connector {
    client: Client,
    trusts: Trusts,
}

/// Whether there is any certificate to check a server's by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trusts {
    System,
    Nobody,
}

impl Connector {
    /// Reads the machine's certificates, and the environment's proxies.
    pub(crate) fn new(max_redirects: usize) -> Result<Self, ToolError> {
        let mut roots = RootCertStore::empty();
        // What a machine has may be odd in part; the rest serves.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let trusts = if roots.is_empty() { Trusts::Nobody } else { Trusts::System };
        let tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::custom(move |attempt| redirect(attempt, max_redirects, trusts)))
            // A connection that waits for a next call would hold a descriptor of the host's.
            .pool_max_idle_per_host(0);
        Ok(Self { client: with_proxies(builder)?.build()?, trusts })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// What a model sent, as a URL that may be fetched.
    pub(crate) fn url(&self, text: &str) -> Result<Url, ToolError> {
        let url = Url::parse(text)
            .map_err(|error| format!("`{text}` is no URL: {error}; give it whole, with `http://` or `https://`"))?;
        match refusal(&url, self.trusts) {
            None => Ok(url),
            Some(why) => Err(format!("`{text}` was not fetched: {why}").into()),
        }
    }
}

/// Why there is no fetching from there.
pub(crate) fn refusal(url: &Url, trusts: Trusts) -> Option<String> {
    match (url.scheme(), trusts) {
        ("http", _) | ("https", Trusts::System) => None,
        ("https", Trusts::Nobody) => Some(
            "this machine has no certificates to check https with; install them (in Debian the package \
             `ca-certificates`), or name their file in `SSL_CERT_FILE`"
                .to_owned(),
        ),
        (scheme, _) => Some(format!("its scheme is `{scheme}`, neither `http` nor `https`")),
    }
}

fn redirect(attempt: Attempt<'_>, most: usize, trusts: Trusts) -> reqwest::redirect::Action {
    if attempt.previous().len() > most {
        let to = attempt.url().clone();
        return attempt.error(format!("redirected more than {most} times, the last time to {to}"));
    }
    match refusal(attempt.url(), trusts) {
        None => attempt.follow(),
        Some(why) => {
            let to = attempt.url().clone();
            attempt.error(format!("redirected to {to}, which was not fetched: {why}"))
        }
    }
}

/// The proxies that the environment names, as curl reads it; but never on the way to this machine itself.
fn with_proxies(builder: ClientBuilder) -> Result<ClientBuilder, ToolError> {
    // In upper case, a request's header could name it where a program serves CGI.
    let http = variable(&["http_proxy", "all_proxy", "ALL_PROXY"]);
    let https = variable(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]);
    let direct = format!("localhost,127.0.0.0/8,::1,{}", variable(&["no_proxy", "NO_PROXY"]).unwrap_or_default());
    let proxies = [http.map(Proxy::http), https.map(Proxy::https)];
    proxies.into_iter().flatten().try_fold(builder.no_proxy(), |builder, proxy| {
        let proxy = proxy.map_err(|error| ToolError::from(error).context("a proxy of the environment"))?;
        Ok(builder.proxy(proxy.no_proxy(NoProxy::from_string(&direct))))
    })
}

fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str, trusts: Trusts) -> Option<String> {
        refusal(&Url::parse(url).unwrap(), trusts)
    }

    #[test]
    fn only_http_and_https_are_fetched() {
        assert_eq!(refused("http://a/", Trusts::Nobody), None);
        assert_eq!(refused("HTTPS://a/", Trusts::System), None);
        let why = refused("file:///etc/passwd", Trusts::System);
        assert_eq!(why.as_deref(), Some("its scheme is `file`, neither `http` nor `https`"));
    }

    #[test]
    fn https_without_certificates_says_what_to_install() {
        let why = "this machine has no certificates to check https with; install them (in Debian the package \
                   `ca-certificates`), or name their file in `SSL_CERT_FILE`";
        assert_eq!(refused("https://a/", Trusts::Nobody).as_deref(), Some(why));
    }
}
