pub mod call;
pub mod change;
pub mod host;
pub mod root;
pub mod tool;
