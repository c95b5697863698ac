//! Explanations of the failures of plugins.

boson_pipeline::codes::codes! {
    PLUGIN_MANY_DIAGNOSTICS = "plugin-many-diagnostics", "A plugin returned more diagnostics than are shown",
        "The host shows at most 500 diagnostics of one call, so that a plugin cannot flood the terminal.";
    PLUGIN_REFUSED = "plugin-refused", "a plugin was rejected",
        "A plugin is a WebAssembly component that exports one stage of the plugin interface and imports nothing but \
         types and the console; a wrapper also imports the interface that it exports. Imports of WASI are answered \
         inside the component. The host rejects anything else before it runs: components that import another function \
         or a resource, functions with other types than those of `wit/`, and precompiled machine code. `host` makes a \
         component of a core module; the operator loads only components, which `host plugin pack` and `host plugin \
         push` write.";
    PLUGIN_ASYNC = "plugin-async", "a plugin uses async functions",
        "The functions of the plugin interface are not async, and a plugin waits for nothing. The host rejects a \
         component that lifts or calls a function as async, or uses streams, futures, tasks or threads of the \
         component model. Most often it was built for WASI 0.3, such as by Rust for `wasm32-wasip3`, or for a world \
         with an async function. Build it for WASI 0.2 or without WASI.";
    PLUGIN_TRAPPED = "plugin-trapped", "a plugin trapped",
        "A trap is a defect of the plugin, because it returns errors in your input as diagnostics. The message lists \
         the functions that were active, innermost first. Report the defect to the author of the plugin, together \
         with the input.";
    PLUGIN_EXCEPTION = "plugin-exception", "a plugin raised an exception",
        "The plugin did not handle this exception of its language, which is a defect of the plugin: it returns errors in \
         your input as diagnostics. The message has the text of the exception and the functions that were active, \
         innermost first, with file and line. Report it to the author of the plugin, together with the input. Authors \
         repeat a recorded call with `host run-plugin --replay`, which also shows what the plugin prints.";
    PLUGIN_TOO_DEEP = "plugin-too-deep", "a plugin exceeded its stack",
        "The stack of a call is limited. In the render stage, the usual cause is a template with endless recursion, \
         or data that is nested hundreds of levels deep.";
    PLUGIN_OUT_OF_FUEL = "plugin-out-of-fuel", "a plugin ran out of fuel",
        "Each call has the same amount of fuel, about one unit for an instruction, so that the same input fails in \
         the same way on every machine. In the render stage, the usual cause is a template with an endless loop.";
    CONVERSION_OUT_OF_FUEL = "conversion-out-of-fuel", "a conversion ran out of fuel",
        "All calls of a conversion share a fixed amount of fuel, a hundred times the limit of one call, so that no \
         deployment occupies the processors for hours. The message names the instance groups whose templates used \
         most. Check what their templates compute, and groups with many instances, because each instance renders \
         them again.";
    PLUGIN_OVER_MEMORY = "plugin-over-memory", "a plugin exceeded its memory limit",
        "The memories and tables of one call have a common limit. The usual cause is a template that builds a huge \
         string.";
    PLUGIN_OVER_OUTPUT = "plugin-over-output", "a plugin's reply is too large",
        "The reply of a call is limited, because the host holds it in memory.";
    PLUGIN_DEADLINE = "plugin-deadline", "a plugin exceeded its time limit",
        "Each call has a wall-clock limit in addition to its fuel. An overloaded machine can exceed it; try again.";
    PLUGIN_MALFORMED_REPLY = "plugin-malformed-reply", "a plugin's reply violates the contract",
        "A document was not JSON, files or groups were missing, or the reply named something that does not exist: a \
         document, a place in it, a code of another stage, or a required member that the host does not know. This is \
         a defect of the plugin.";
}
