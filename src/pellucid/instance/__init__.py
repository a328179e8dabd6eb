"""One running viewer: a Scene with a URL, steered from a browser.

Here: messages, the session that owns the Scene, and serving both over HTTP and WebSocket.
Not here: drawing (rendering), starting instances for a person (agent).
"""
