use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One piece of what a tool says.
///
/// In JSON an object with a `type`: `{"type":"text","text":"..."}` or
/// `{"type":"image","data":"<base64>","mimeType":"image/png"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Content {
    /// Text for the model.
    Text {
        /// The text itself.
        text: String,
    },
    /// A picture for the model.
    Image {
        /// The file's bytes in standard base64.
        data: String,
        /// The media type, such as `image/png`.
        mime_type: String,
    },
    /// A kind of content that this version does not know; kept as it came.
    #[serde(untagged)]
    Other(Value),
}

impl Content {
    /// Text content.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text, where this is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_kind_has_its_shape() {
        let image = Content::Image { data: "AAAA".into(), mime_type: "image/png".into() };
        assert_eq!(serde_json::to_value(Content::text("hi")).unwrap(), json!({"type": "text", "text": "hi"}));
        assert_eq!(
            serde_json::to_value(&image).unwrap(),
            json!({"type": "image", "data": "AAAA", "mimeType": "image/png"})
        );
        assert_eq!(
            serde_json::from_value::<Content>(json!({"type": "text", "text": "hi", "new": 1})).unwrap(),
            Content::text("hi")
        );
    }

    #[test]
    fn an_unknown_kind_survives_a_round_trip() {
        let video = json!({"type": "video", "url": "x"});
        let content: Content = serde_json::from_value(video.clone()).unwrap();
        assert_eq!(content, Content::Other(video.clone()));
        assert_eq!(serde_json::to_value(content).unwrap(), video);
    }
}
