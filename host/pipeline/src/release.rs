//! Releases: jobs, their specs and templates, as read from a directory, a tarball or an image.
