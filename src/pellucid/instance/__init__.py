"""One running viewer: a Scene with a URL, controlled from a browser.

Here: messages, the session that owns the Scene, and serving both over HTTP and WebSocket.
Not here: rendering, starting instances for a user (agent).
"""
