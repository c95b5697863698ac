//! The host's side of the contract: the one `bindgen!` of Boson. Its types stay here and in `conversions`; all other
//! code uses the pipeline's types. The world below exports all stages at once only so that one macro call covers them;
//! a plugin exports one.

wasmtime::component::bindgen!({
    path: [
        "../../wit/types/1.0.0", "../../wit/ops/1.0.0", "../../wit/variables/1.0.0", "../../wit/links/1.0.0",
        "../../wit/render/1.0.0", "../../wit/bpm/1.0.0", "../../wit/resources/1.0.0", "../../wit/checks/1.0.0",
    ],
    // Recordings of calls have requests as JSON.
    additional_derives: [serde::Serialize],
    inline: "
        package boson:host@1.0.0;
        world every-stage {
            export boson:types/about@1.0.0;
            export boson:ops/operations@1.0.0;
            export boson:variables/interpolation@1.0.0;
            export boson:links/resolution@1.0.0;
            export boson:render/templates@1.0.0;
            export boson:bpm/conversion@1.0.0;
            export boson:resources/transformation@1.0.0;
            export boson:checks/policy@1.0.0;
        }
    ",
});
