//! Values of variables: from flags, files, environment and store, and the flow of interpolation.
