"""Who asks the console, and what they may read: sessions, proxies, and reviews by the API server."""
