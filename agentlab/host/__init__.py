"""Where a study is measured: a kernel, a process, or a thread; and the handle that its owner holds."""
