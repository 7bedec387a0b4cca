"""HTTP and HTTPS servers of processes: addresses, certificates, limits on connections, and who may read what."""
