"""Files shared through S3, by a link that expires."""
