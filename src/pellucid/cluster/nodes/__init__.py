"""Starting Device Workers on a node, and finding them again."""
