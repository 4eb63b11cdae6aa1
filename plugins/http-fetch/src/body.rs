//! Whether a body is text, and which.

use encoding_rs::{Encoding, UTF_8};

/// What a body is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Empty,
    Text(String),
    Binary,
}

impl Body {
    /// By what the server says of its type, and where that leaves it open, by the bytes. `whole` says whether all of them
    /// are here: else the last character may lack its end.
    pub(crate) fn of(bytes: &[u8], content_type: Option<&str>, whole: bool) -> Self {
        if bytes.is_empty() {
            return Self::Empty;
        }
        let kind = Kind::of(content_type.unwrap_or_default());
        // A byte order mark says more than the server.
        let mut decoder = kind.encoding.unwrap_or(UTF_8).new_decoder();
        let room = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len());
        let mut text = String::with_capacity(room);
        let (_, _, malformed) = decoder.decode_to_string(bytes, &mut text, whole);
        // No text has a NUL, whatever the server calls it.
        if text.contains('\0') || (malformed && !kind.is_text) { Self::Binary } else { Self::Text(text) }
    }
}

/// What a `content-type` says.
struct Kind {
    is_text: bool,
    encoding: Option<&'static Encoding>,
}

impl Kind {
    fn of(content_type: &str) -> Self {
        let mut parts = content_type.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
        });
        let encoding = charset.and_then(|charset| Encoding::for_label(charset.as_bytes()));
        Self { is_text: media_type.starts_with("text/") || charset.is_some(), encoding }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Body {
        Body::Text(text.to_owned())
    }

    #[test]
    fn text_is_decoded_as_the_server_says() {
        assert_eq!(Body::of("Zürich".as_bytes(), Some("text/html"), true), text("Zürich"));
        assert_eq!(Body::of(b"Z\xfcrich", Some("text/html; charset=ISO-8859-1"), true), text("Zürich"));
        assert_eq!(Body::of(b"Z\xfcrich", Some("Text/HTML; Charset=\"latin1\""), true), text("Zürich"));
        assert_eq!(Body::of(b"Z\0\xfc\0", Some("text/plain;charset=utf-16le"), true), text("Zü"));
        assert_eq!(Body::of(b"Z\xfcrich", Some("text/plain"), true), text("Z\u{fffd}rich"));
        assert_eq!(Body::of(b"a", Some("text/plain; charset=unknown"), true), text("a"));
    }

    #[test]
    fn a_byte_order_mark_decides_and_is_no_text() {
        assert_eq!(Body::of(b"\xef\xbb\xbfZ\xc3\xbc", Some("text/plain; charset=latin1"), true), text("Zü"));
    }

    #[test]
    fn other_types_are_text_where_they_read_as_such() {
        assert_eq!(Body::of(b"{}", Some("application/json"), true), text("{}"));
        assert_eq!(Body::of(b"<svg/>", Some("image/svg+xml"), true), text("<svg/>"));
        assert_eq!(Body::of(b"a", None, true), text("a"));
        assert_eq!(Body::of(b"\x89PNG\r\n", Some("image/png"), true), Body::Binary);
        assert_eq!(Body::of(b"a\0b", Some("text/plain"), true), Body::Binary);
        assert_eq!(Body::of(b"", Some("image/png"), true), Body::Empty);
    }

    #[test]
    fn a_character_that_was_cut_is_left_out() {
        assert_eq!(Body::of(b"Z\xc3", Some("text/plain"), false), text("Z"));
        assert_eq!(Body::of(b"Z\xc3", None, false), text("Z"));
        assert_eq!(Body::of(b"Z\xc3", None, true), Body::Binary);
    }
}
