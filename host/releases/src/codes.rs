//! Codes that reading images from a registry and building them have in common, explained. Those of releases themselves
//! are in [`boson_pipeline::release::codes`].

boson_pipeline::codes::codes! {
    IMAGE_AUTHORITY = "image-authority", "A CA for registries is not a certificate",
        "The files of `--registry-ca` contain certificates in PEM. The operator does not start with other content, \
         because it would trust fewer servers than configured.";
    IMAGE_CACHE = "image-cache", "The image cache cannot be written",
        "The operator caches images in the directory `--image-cache`. Check whether its volume is full or read-only. \
         The cache holds at most 1 GiB of layers, and 768 MiB of images that are read at the same time; above that, \
         the operator tries again. `host image` has its own cache, `--cache`, for downloads and layers.";
}
