"""Lists and watches: reflectors, informers, and the objects they keep."""
