use toolhost_abi::note::ToolNames;

use crate::{AnyTool, CustomTool, CustomToolApi, DynamicTool, ToolError};

/// What makes a session's tools: a function or a closure from [`CustomToolApi`] to whatever [`IntoTools`] takes.
///
/// The host calls it once per session. `M` only tells the forms apart; it is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no factory of tools",
    label = "expected `fn(CustomToolApi) -> ...` that returns a tool, several, or a future or `Result` of those",
    note = "return a type that implements `CustomTool`, a `Vec` of such or a tuple of up to 12, or `AnyTool` made by `tool(..)`"
)]
pub trait CustomToolFactory<M>: Send + Sync + 'static {
    /// Whether it awaits, so that it needs the plugin's runtime.
    const ASYNC: bool;
    /// Whether what its tools say of themselves may be decided at run time.
    const DYNAMIC: bool;
    /// The names of its tools, as far as their types say.
    #[doc(hidden)]
    const TOOLS: ToolNames<'static>;

    /// Makes one session's tools.
    fn create(&self, api: CustomToolApi) -> impl Future<Output = Result<Vec<AnyTool>, ToolError>> + Send;
}

impl<F, T, M> CustomToolFactory<M> for F
where
    F: Fn(CustomToolApi) -> T + Send + Sync + 'static,
    T: IntoTools<M> + Send + 'static,
{
    const ASYNC: bool = T::ASYNC;
    const DYNAMIC: bool = T::DYNAMIC;
    const TOOLS: ToolNames<'static> = T::TOOLS;

    fn create(&self, api: CustomToolApi) -> impl Future<Output = Result<Vec<AnyTool>, ToolError>> + Send {
        self(api).into_tools()
    }
}

/// What a factory may return: a tool, an [`AnyTool`], a `Vec` of those or a tuple of up to 12, a `Result` of any, a
/// future of any.
///
/// `M` only tells the forms apart; it is inferred.
#[diagnostic::on_unimplemented(
    message = "a factory cannot return `{Self}`",
    label = "not a tool, nor several",
    note = "return a type that implements `CustomTool`, a `Vec` of such or a tuple of up to 12, or `AnyTool` made by `tool(..)`"
)]
pub trait IntoTools<M> {
    /// Whether it awaits.
    const ASYNC: bool = false;
    /// Whether what its tools say of themselves may be decided at run time.
    const DYNAMIC: bool;
    /// The names of its tools, as far as their types say.
    #[doc(hidden)]
    const TOOLS: ToolNames<'static>;

    /// The tools.
    fn into_tools(self) -> impl Future<Output = Result<Vec<AnyTool>, ToolError>> + Send;
}

/// One tool, of a type that is known: a [`CustomTool`](crate::CustomTool) or a [`DynamicTool`](crate::DynamicTool).
///
/// `M` only tells the forms apart; it is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool",
    label = "it implements neither `CustomTool` nor `DynamicTool`",
    note = "write `impl CustomTool for {Self}`, with NAME, LABEL, DESCRIPTION, Params and execute"
)]
pub trait SingleTool<M>: Sized {
    /// Whether what it says of itself is decided at run time.
    const DYNAMIC: bool;

    /// Forgets its type.
    fn into_any(self) -> AnyTool;
}

/// Marks of the forms that a factory may return.
pub mod forms {
    /// One tool of a known type.
    #[derive(Debug)]
    pub struct One;
    /// One tool of a known type whose definition is made at run time.
    #[derive(Debug)]
    pub struct Dynamic;
    /// One tool whose type is forgotten.
    #[derive(Debug)]
    pub struct Any;
    /// A vector.
    #[derive(Debug)]
    pub struct List<M>(M);
    /// A tuple.
    #[derive(Debug)]
    pub struct Tuple<M>(M);
    /// A result.
    #[derive(Debug)]
    pub struct Fallible<M>(M);
    /// A future.
    #[derive(Debug)]
    pub struct Awaited<M>(M);
}

impl<T: CustomTool> IntoTools<forms::One> for T {
    const DYNAMIC: bool = false;
    const TOOLS: ToolNames<'static> = ToolNames::One(T::NAME);

    async fn into_tools(self) -> Result<Vec<AnyTool>, ToolError> {
        Ok(vec![self.into_any()])
    }
}

impl<T: DynamicTool> IntoTools<forms::Dynamic> for T {
    const DYNAMIC: bool = true;
    const TOOLS: ToolNames<'static> = ToolNames::Unknown;

    async fn into_tools(self) -> Result<Vec<AnyTool>, ToolError> {
        Ok(vec![self.into_any()])
    }
}

impl IntoTools<forms::Any> for AnyTool {
    // Its type is forgotten, and with it which kind it is.
    const DYNAMIC: bool = true;
    const TOOLS: ToolNames<'static> = ToolNames::Unknown;

    async fn into_tools(self) -> Result<Vec<AnyTool>, ToolError> {
        Ok(vec![self])
    }
}

impl<T: IntoTools<M> + Send, M> IntoTools<forms::List<M>> for Vec<T> {
    const ASYNC: bool = T::ASYNC;
    const DYNAMIC: bool = T::DYNAMIC;
    const TOOLS: ToolNames<'static> = T::TOOLS;

    async fn into_tools(self) -> Result<Vec<AnyTool>, ToolError> {
        let mut tools = Vec::with_capacity(self.len());
        for each in self {
            tools.extend(each.into_tools().await?);
        }
        Ok(tools)
    }
}

impl<T, E, M> IntoTools<forms::Fallible<M>> for Result<T, E>
where
    T: IntoTools<M> + Send,
    E: Into<ToolError> + Send,
{
    const ASYNC: bool = T::ASYNC;
    const DYNAMIC: bool = T::DYNAMIC;
    const TOOLS: ToolNames<'static> = T::TOOLS;

    async fn into_tools(self) -> Result<Vec<AnyTool>, ToolError> {
        self.map_err(Into::into)?.into_tools().await
    }
}

impl<F, M> IntoTools<forms::Awaited<M>> for F
where
    F: Future + Send,
    F::Output: IntoTools<M> + Send,
{
    const ASYNC: bool = true;
    const DYNAMIC: bool = <F::Output as IntoTools<M>>::DYNAMIC;
    const TOOLS: ToolNames<'static> = <F::Output as IntoTools<M>>::TOOLS;

    async fn into_tools(self) -> Result<Vec<AnyTool>, ToolError> {
        self.await.into_tools().await
    }
}

macro_rules! tuples {
    ($($tool:ident $mark:ident),+) => {
        #[diagnostic::do_not_recommend]
        impl<$($tool: IntoTools<$mark> + Send, $mark),+> IntoTools<forms::Tuple<($($mark,)+)>> for ($($tool,)+) {
            const ASYNC: bool = $($tool::ASYNC)||+;
            const DYNAMIC: bool = $($tool::DYNAMIC)||+;
            const TOOLS: ToolNames<'static> = ToolNames::All(&[$($tool::TOOLS),+]);

            #[allow(non_snake_case)]
            async fn into_tools(self) -> Result<Vec<AnyTool>, ToolError> {
                let ($($tool,)+) = self;
                let mut tools = Vec::new();
                $(tools.extend($tool.into_tools().await?);)+
                Ok(tools)
            }
        }
    };
}

tuples!(A MA);
tuples!(A MA, B MB);
tuples!(A MA, B MB, C MC);
tuples!(A MA, B MB, C MC, D MD);
tuples!(A MA, B MB, C MC, D MD, E ME);
tuples!(A MA, B MB, C MC, D MD, E ME, F MF);
tuples!(A MA, B MB, C MC, D MD, E ME, F MF, G MG);
tuples!(A MA, B MB, C MC, D MD, E ME, F MF, G MG, H MH);
tuples!(A MA, B MB, C MC, D MD, E ME, F MF, G MG, H MH, I MI);
tuples!(A MA, B MB, C MC, D MD, E ME, F MF, G MG, H MH, I MI, J MJ);
tuples!(A MA, B MB, C MC, D MD, E ME, F MF, G MG, H MH, I MI, J MJ, K MK);
tuples!(A MA, B MB, C MC, D MD, E ME, F MF, G MG, H MH, I MI, J MJ, K MK, L ML);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoParams, ToolCall, ToolResult, tool};
    use serde_json::{Value, json};

    struct Hello;

    impl CustomTool for Hello {
        const NAME: &'static str = "hello";
        const LABEL: &'static str = "Hello";
        const DESCRIPTION: &'static str = "Says hello";
        type Params = NoParams;

        async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult {
            Ok("hello".into())
        }
    }

    struct Named(&'static str);

    impl DynamicTool for Named {
        fn name(&self) -> String {
            self.0.to_owned()
        }

        fn description(&self) -> String {
            "Says its name".to_owned()
        }

        fn schema(&self) -> Value {
            json!({"type": "object"})
        }

        async fn execute(&self, _params: Value, _call: ToolCall) -> ToolResult {
            Ok(self.0.into())
        }
    }

    fn is_factory<M, F: CustomToolFactory<M>>(_factory: F) -> bool {
        F::ASYNC
    }

    fn is_dynamic<M, F: CustomToolFactory<M>>(_factory: F) -> bool {
        F::DYNAMIC
    }

    #[test]
    fn every_form_is_a_factory() {
        fn function(_api: CustomToolApi) -> Hello {
            Hello
        }
        async fn later(_api: CustomToolApi) -> Result<(Hello, Vec<AnyTool>), ToolError> {
            Ok((Hello, vec![tool(Hello)]))
        }
        assert!(!is_factory(function));
        assert!(!is_factory(|_: CustomToolApi| Hello));
        assert!(!is_factory(|_: CustomToolApi| vec![tool(Hello)]));
        assert!(!is_factory(|_: CustomToolApi| vec![Hello]));
        assert!(!is_factory(|_: CustomToolApi| (Hello, tool(Hello), Hello)));
        assert!(!is_factory(|_: CustomToolApi| Ok::<_, std::io::Error>(vec![Hello])));
        assert!(!is_factory(|_: CustomToolApi| Named("a")));
        assert!(!is_factory(|_: CustomToolApi| (Hello, vec![Named("a")])));
        assert!(!is_factory(|_: CustomToolApi| vec![tool(Hello), tool(Named("a"))]));
        assert!(is_factory(later));
        assert!(is_factory(async |_: CustomToolApi| Hello));
        assert!(is_factory(|_: CustomToolApi| async { Ok::<_, ToolError>((Hello,)) }));
    }

    #[test]
    fn a_factory_is_dynamic_where_a_tool_of_it_may_be() {
        assert!(!is_dynamic(|_: CustomToolApi| (Hello, vec![Hello])));
        assert!(!is_dynamic(async |_: CustomToolApi| Ok::<_, ToolError>(Hello)));
        assert!(is_dynamic(|_: CustomToolApi| Named("a")));
        assert!(is_dynamic(async |_: CustomToolApi| Ok::<_, ToolError>((Hello, vec![Named("a")]))));
        assert!(is_dynamic(|_: CustomToolApi| vec![tool(Hello)]));
    }

    #[tokio::test]
    async fn forms_nest_in_order() {
        let tools = Ok::<_, ToolError>((Hello, vec![tool(Hello), tool(Hello)])).into_tools().await.unwrap();
        assert_eq!(tools.len(), 3);
        let failed = Err::<Hello, _>(std::io::Error::other("no key")).into_tools().await.unwrap_err();
        assert_eq!(failed.message(), "no key");
    }

    #[test]
    fn a_factory_declares_the_tools_whose_types_say_their_names() {
        fn declared<M, F: CustomToolFactory<M>>(_factory: F) -> Vec<&'static str> {
            fn flat(names: ToolNames<'static>) -> Vec<&'static str> {
                match names {
                    ToolNames::Unknown => Vec::new(),
                    ToolNames::One(name) => vec![name],
                    ToolNames::All(all) => all.iter().copied().flat_map(flat).collect(),
                }
            }
            flat(F::TOOLS)
        }
        assert_eq!(declared(|_: CustomToolApi| Hello), ["hello"]);
        assert_eq!(declared(async |_: CustomToolApi| Ok::<_, ToolError>((Hello, Named("a")))), ["hello"]);
        assert_eq!(declared(|_: CustomToolApi| (vec![Hello], tool(Hello))), ["hello"]);
        assert!(declared(|_: CustomToolApi| Named("a")).is_empty());
    }
}
