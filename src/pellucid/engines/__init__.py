"""One Task on many Blocks: in this thread, in threads, in processes."""
