use toolhost_abi::note::{FORMAT, MAGIC, Metadata, PREAMBLE, SECTION};

use crate::LoadErrorKind;

/// Reads the descriptor of a plugin's note.
pub(super) fn read(descriptor: Option<&[u8]>) -> Result<Metadata, LoadErrorKind> {
    let Some(descriptor) = descriptor else {
        return Err(LoadErrorKind::NotAPlugin { section: SECTION });
    };
    let bad = |reason: String| LoadErrorKind::BadNote { section: SECTION, reason };
    let rest = descriptor.strip_prefix(&MAGIC).ok_or_else(|| bad("it does not begin with its mark".to_owned()))?;
    let (format, _) = rest.split_first_chunk().ok_or_else(|| bad("it ends within its preamble".to_owned()))?;
    let found = u32::from_ne_bytes(*format);
    if found > FORMAT {
        return Err(LoadErrorKind::NewerNote { found, known: FORMAT });
    }
    if found == 0 {
        return Err(bad("there is no format 0".to_owned()));
    }
    let metadata: Metadata = serde_json::from_slice(&descriptor[PREAMBLE..]).map_err(|error| bad(error.to_string()))?;
    let named = [("name", &metadata.name), ("version", &metadata.version), ("abiVersion", &metadata.abi_version)];
    if let Some((field, _)) = named.into_iter().find(|(_, text)| !is_name(text)) {
        return Err(bad(format!("its `{field}` is no name of a package or version")));
    }
    Ok(metadata)
}

/// What cargo takes for a name or a version, and a little more.
pub(crate) fn is_name(text: &str) -> bool {
    const LONGEST: usize = 128;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    (1..=LONGEST).contains(&text.len()) && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(format: u32, json: &str) -> Vec<u8> {
        [&MAGIC, format.to_ne_bytes().as_slice(), json.as_bytes()].concat()
    }

    #[test]
    fn what_is_no_note_says_why() {
        let error = |descriptor: Option<&[u8]>| read(descriptor).unwrap_err().to_string();
        assert!(error(None).contains("no `.note.toolhost` note"));
        assert!(error(Some(b"something else")).contains("does not begin with its mark"));
        assert!(error(Some(&MAGIC)).contains("ends within its preamble"));
        assert!(error(Some(&descriptor(1, "{"))).contains("EOF"));
        assert!(error(Some(&descriptor(0, "{}"))).contains("no format 0"));
        let named = r#"{"abiFamily":"abi_stable","abiVersion":"1.0.0","name":"n\u001b[2J","version":"1"}"#;
        assert!(error(Some(&descriptor(1, named))).contains("its `name` is no name"));
        assert!(error(Some(&descriptor(1, "{}"))).contains("missing field `abiFamily`"));
        assert_eq!(error(Some(&descriptor(9, "{}"))), "its note has format 9, and this host reads formats up to 1");
    }

    #[test]
    fn a_note_of_the_future_may_say_more() {
        let json = r#"{"abiFamily":"abi_stable","abiVersion":"1.0.0","name":"n","version":"1","later":[1]}"#;
        let metadata = read(Some(&descriptor(1, json))).unwrap();
        assert_eq!((metadata.name.as_str(), metadata.panic.as_str()), ("n", ""));
    }
}
