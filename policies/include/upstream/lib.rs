//! Empty: only the sources of the dependencies are wanted.
