"""Upload of the collected CSV to S3-compatible storage, through botocore, only when asked for."""

from __future__ import annotations

from typing import Optional
from urllib.parse import urlsplit


def put_csv(uri: str, text: str, endpoint_url: Optional[str], region: Optional[str]) -> str:
    """Put a CSV at `s3://bucket/key`. Credentials are found the way of the AWS tools; errors are botocore's."""
    parts = urlsplit(uri)
    key = parts.path.lstrip("/")
    if parts.scheme != "s3" or not parts.netloc or not key:
        raise ValueError(f'"{uri}" is not an address such as s3://bucket/path/to/object.csv')
    try:
        import botocore.config
        import botocore.session
    except ImportError as error:
        raise ImportError("uploading needs botocore: pip install 'jobmeter[s3]'") from error
    # Servers other than Amazon's rarely have a host name for each bucket.
    style = {"addressing_style": "path" if endpoint_url else "auto"}
    config = botocore.config.Config(s3=style, connect_timeout=10, read_timeout=30)
    client = botocore.session.get_session().create_client(
        "s3", endpoint_url=endpoint_url, region_name=region, config=config
    )
    client.put_object(Bucket=parts.netloc, Key=key, Body=text.encode(), ContentType="text/csv")
    return uri
