"""Files given to somebody elsewhere: written to S3, and a link that expires."""
