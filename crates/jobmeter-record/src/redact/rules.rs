//! The table of rules: what is taken for a secret, with the reason beside each entry. The other files of this
//! module find the places in a text; what they look for is said here.

use super::names::Weight::{self, Code, Pair, Short, Strong, Weak};

/// The last significant word of a name, lower case, and what its value is.
pub(super) const LAST_WORD: &[(&str, Weight)] = &[
    ("password", Strong),
    ("passwords", Strong),
    ("passwd", Strong),
    ("passwort", Strong),
    ("passphrase", Strong),
    ("passcode", Strong),
    ("passkey", Strong),
    ("pw", Short),
    ("pwd", Strong),
    ("psk", Strong), // pre-shared keys of Wi-Fi and VPNs
    ("secret", Strong),
    ("secrets", Weak), // often names of secrets: `--secrets db,mail`
    ("bearer", Strong),
    ("credential", Strong),
    ("credentials", Strong),
    ("creds", Strong),
    ("requirepass", Strong), // Redis
    ("masterauth", Strong),  // Redis
    ("authorization", Strong),
    ("jwt", Weak),
    ("cookie", Weak),
    ("cookies", Weak),
    ("sig", Weak),       // signed URLs
    ("signature", Weak), // signed URLs; also a plain word
    ("sas", Weak),       // Azure shared access signatures
    ("sid", Weak),       // session cookies
    ("phpsessid", Weak),
    ("jsessionid", Weak),
    ("sessionid", Weak),
    ("code", Weak), // one-time codes of OAuth, function keys of Azure
    ("salt", Weak),
    ("hash", Weak), // a password's hash can be attacked; a commit's is no secret
    ("pin", Code),
    ("otp", Code),
    ("totp", Code),
    ("auth", Pair),
    ("userpass", Strong),
];

/// Endings of names written as one word: `dbpassword`, `rootpasswd`, `authtoken`.
#[rustfmt::skip]
pub(super) const ENDINGS: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "secret", "apikey", "secretkey", "privatekey", "accesskey",
    "authkey", "masterkey", "accountkey", "licensekey", "licencekey", "signingkey", "encryptionkey", "streamkey",
    "authtoken", "accesstoken", "apitoken", "bottoken", "refreshtoken", "idtoken", "sessiontoken", "usertoken",
    "bearertoken", "securitytoken", "oauthtoken", "logintoken", "hftoken", "ghtoken", "sshpass", "storepass",
    "keypass", "pgpass", "dbpass", "userpass", "rootpass", "adminpass", "smtppass", "mysqlpass", "mailpass",
    "ftppass", "becomepass", "userpwd", "dbpwd", "sapwd", "mysqlpwd",
];

/// Qualifiers after the decisive word that change nothing: `PASSWORD_PROD`, `TOKEN_2`, `SECRET_KEY_BASE`.
#[rustfmt::skip]
pub(super) const QUALIFIERS: &[&str] = &[
    "prod", "production", "prd", "dev", "devel", "development", "staging", "stage", "stg", "test", "testing", "qa",
    "uat", "ci", "local", "live", "sandbox", "old", "new", "prev", "previous", "current", "base", "value", "val",
    "string", "str", "text", "plain", "plaintext", "raw", "main", "primary", "secondary", "backup", "ro", "rw",
    "admin", "root", "default", "eu", "us", "encoded", "b64", "base64", "enc", "binary", "literal", "again",
    "confirm", "confirmation", "repeat", "a", "b", "one", "two",
];

/// First words that make a switch or a count of the rest: `--no-password`, `ENABLE_AUTH`, `max_new_token`.
#[rustfmt::skip]
pub(super) const SWITCHES: &[&str] = &[
    "no", "without", "ask", "prompt", "has", "is", "enable", "enabled", "disable", "disabled", "allow", "require",
    "requires", "required", "skip", "show", "hide", "need", "needs", "check", "validate", "generate", "gen", "random",
    "list", "num", "count", "max", "min", "n", "total", "avg", "mean", "per", "ignore", "force",
];

/// Last words that tell something about a secret and are none: `PASSWORD_MIN_LENGTH`, `API_KEY_NAME`.
#[rustfmt::skip]
pub(super) const ABOUT: &[&str] = &[
    "file", "files", "filename", "path", "dir", "folder", "length", "len", "limit", "limits", "count", "size", "type",
    "policy", "id", "ids", "name", "names", "url", "uri", "host", "expiry", "expires", "expiration", "ttl", "timeout",
    "format", "env", "var", "variable", "cmd", "command", "prompt", "stdin", "rotation", "enabled", "min", "max",
    "index", "field", "column", "header", "manager", "store", "ref", "arn", "version", "algorithm", "algo", "regex",
    "pattern", "strength", "lifetime", "duration", "schedule", "provider", "helper", "generator", "fd", "source",
    "mode", "level", "budget", "days", "hours", "seconds", "minutes", "age", "required", "reset", "attempts",
    "retries", "change", "changed", "protected", "auth", "authentication", "login", "user", "username", "endpoint",
    "server", "service", "scope", "scopes", "audience", "issuer", "encoding", "charset", "digits", "chars",
    "complexity", "history", "key", "keys", "engine", "backend", "class", "loss", "dim", "weight", "weights",
    "embedding", "bucket", "cache", "optional", "rounds", "iterations", "strategy", "rate", "window", "share",
    "usage", "cost", "price",
];

/// Words before `token` that speak of text models, parsers and paging.
#[rustfmt::skip]
pub(super) const TEXT_TOKENS: &[&str] = &[
    "pad", "eos", "bos", "unk", "sep", "cls", "mask", "special", "stop", "start", "end", "next", "per", "max", "min",
    "image", "video", "audio", "begin", "new", "num", "first", "last", "added", "extra", "prompt", "input", "output",
    "text", "word", "each", "every", "single", "multi", "sub", "continuation", "page", "sync", "think", "thinking",
    "eot", "eod", "instance", "placeholder", "decoder", "encoder", "forced", "target", "source", "trigger", "control",
    "class", "prefix", "suffix", "middle", "fim", "space", "blank", "newline", "visual", "speech", "total", "draft",
    "by", "pre", "loss", "unknown", "padding", "separator", "bad", "good", "count", "n", "initializer", "cache",
];

/// Words before `key` (or the name of an issuer) that make it a secret one.
#[rustfmt::skip]
pub(super) const SECRET_KEYS: &[&str] = &[
    "api", "access", "secret", "private", "auth", "encryption", "decryption", "signing", "account", "master",
    "subscription", "shared", "license", "licence", "deploy", "deployment", "app", "application", "service", "rsa",
    "aes", "hmac", "crypto", "cipher", "cookie", "token", "jwt", "client", "functions", "storage", "stream",
    "webhook", "restricted", "integration", "ingest", "ingestion", "write", "admin", "customer", "sse", "stripe",
    "openai", "anthropic", "claude", "gemini", "cohere", "mistral", "groq", "replicate", "together", "perplexity",
    "deepseek", "openrouter", "pinecone", "weaviate", "qdrant", "wandb", "comet", "neptune", "clearml", "langsmith",
    "langchain", "tavily", "serpapi", "aws", "azure", "gcp", "google", "maps", "datadog", "dd", "newrelic", "relic",
    "sentry", "sendgrid", "mailgun", "mailchimp", "twilio", "algolia", "cloudflare", "cf", "heroku", "digitalocean",
    "linode", "vultr", "hetzner", "github", "gitlab", "slack", "discord", "telegram", "paypal", "square", "plaid",
    "shopify", "segment", "amplitude", "mixpanel", "honeycomb", "grafana", "pagerduty", "opsgenie", "rollbar",
    "bugsnag", "tailscale", "ts", "vpn", "wireguard", "wg", "elevenlabs", "assemblyai", "deepgram", "firecrawl",
    "kaggle", "rails", "django", "flask", "laravel", "nextauth", "session", "vapid", "fernet", "steam", "weather",
    "youtube",
];

/// Words before `key` that make it a key of data, of a keyboard or of a lock that all may see.
#[rustfmt::skip]
pub(super) const NOT_KEYS: &[&str] = &[
    "primary", "cache", "foreign", "sort", "partition", "group", "public", "row", "hash", "map", "dict", "index",
    "unique", "host", "registry", "column", "order", "lookup", "object", "s3", "queue", "routing", "event", "config",
    "join", "merge", "dedup", "dedupe", "idempotency", "translation", "i18n", "lang", "project", "hot", "shortcut",
    "modifier", "arrow", "escape", "tab", "enter", "return", "function", "gpg", "pgp", "recv", "trusted",
    "file", "label", "json", "obj", "record", "metric", "stats", "feature", "target", "input", "output", "image",
    "data", "dataset", "state", "shard", "distribution", "message", "surrogate", "websocket", "composite", "natural",
    "candidate", "business", "search", "filter", "value", "tag", "kv", "attention", "query", "bucket", "user", "sec",
    "issue", "jira", "license_plate", "locale", "menu", "any", "press", "named", "id", "ssh", "known", "apt",
    "default",
];

/// Words before `pass` that make it a password.
#[rustfmt::skip]
pub(super) const SECRET_PASS: &[&str] = &[
    "db", "database", "user", "username", "smtp", "mail", "email", "imap", "pop3", "ftp", "sftp", "admin", "root",
    "key", "store", "keystore", "truststore", "login", "mysql", "mariadb", "pg", "postgres", "postgresql", "redis",
    "mongo", "mongodb", "rabbitmq", "rabbit", "amqp", "mqtt", "ldap", "ssh", "sudo", "become", "vault", "http",
    "https", "proxy", "wifi", "my", "jenkins", "app", "service", "svc", "account", "client", "server", "cert", "ssl",
    "tls", "p12", "pfx", "bind", "basic", "auth", "api", "docker", "registry", "git", "nexus", "svn", "es", "elastic",
    "kafka", "oracle", "mssql", "sa", "sql", "neo4j", "influx", "grafana", "rpc", "vnc", "rdp", "samba", "smb",
    "cifs", "snmp", "ipmi", "bmc", "wp", "wordpress", "site", "private", "pem", "gpg", "zip", "backup", "encryption",
    "enc", "master", "archive", "passwd", "test", "default", "guest", "conn", "connection", "jdbc", "kube", "ansible",
    "winrm",
];

/// Words before `auth` whose value is `user:secret` or its base64.
#[rustfmt::skip]
pub(super) const SECRET_AUTH: &[&str] = &[
    "basic", "http", "proxy", "docker", "registry", "npm", "redis", "elastic", "es", "neo4j", "kafka", "api",
];

/// Headers whose whole value is secret, after the name of the scheme where there is one.
#[rustfmt::skip]
pub(super) const HEADERS: &[&str] = &[
    "authorization", "proxy-authorization", "x-authorization", "x-forwarded-authorization", "cookie", "set-cookie",
];

/// Words that stand between `Authorization:` and the secret. They are kept.
#[rustfmt::skip]
pub(super) const SCHEMES: &[&str] = &[
    "bearer", "basic", "token", "digest", "apikey", "api-key", "negotiate", "ntlm", "key", "hmac", "splunk", "oauth",
    "hoba", "ssws", "genie", "genieKey", "bot", "dapi", "pat", "aws4-hmac-sha256", "aws", "sharedkey", "jwt",
    "mediabrowser", "klaviyo-api-key", "deepl-auth-key",
];

/// A key that gives itself away by its shape: a prefix and so many characters of its alphabet.
pub(super) struct Shape {
    pub(super) prefix: &'static str,
    /// Characters after the prefix, at least: letters, digits and `extra`.
    pub(super) at_least: usize,
    pub(super) extra: &'static str,
    /// Digits and letters must be mixed in it: the prefix alone also begins ordinary names.
    pub(super) dense: bool,
}

const fn shape(prefix: &'static str, at_least: usize, extra: &'static str) -> Shape {
    Shape { prefix, at_least, extra, dense: false }
}

const fn dense(prefix: &'static str, at_least: usize, extra: &'static str) -> Shape {
    Shape { prefix, at_least, extra, dense: true }
}

pub(super) const SHAPES: &[Shape] = &[
    shape("AKIA", 16, ""),         // AWS access key
    shape("ASIA", 16, ""),         // AWS temporary access key
    shape("ABIA", 16, ""),         // AWS STS bearer
    shape("ABSK", 60, "+/="),      // AWS Bedrock
    shape("ghp_", 30, ""),         // GitHub personal
    shape("gho_", 30, ""),         // GitHub OAuth
    shape("ghu_", 30, ""),         // GitHub app, user
    shape("ghs_", 30, "_."),       // GitHub app, server
    shape("ghr_", 30, ""),         // GitHub refresh
    shape("github_pat_", 22, "_"), // GitHub fine-grained
    shape("glpat-", 16, "_-."),    // GitLab personal
    shape("gldt-", 16, "_-"),      // GitLab deploy
    shape("glrt-", 16, "_-."),     // GitLab runner
    shape("glptt-", 20, "_-"),     // GitLab pipeline trigger
    shape("glcbt-", 16, "_-"),     // GitLab CI job
    shape("glsoat-", 16, "_-"),    // GitLab SCIM
    shape("glft-", 16, "_-"),      // GitLab feed
    shape("gloas-", 20, "_-"),     // GitLab OAuth application
    shape("glagent-", 20, "_-"),   // GitLab agent
    shape("GR1348941", 16, "_-"),  // GitLab runner registration
    shape("ATBB", 20, ""),         // Bitbucket app password
    shape("ATATT3", 40, "_-="),    // Atlassian
    shape("ATCTT3", 40, "_-="),    // Atlassian
    shape("xoxa-", 10, "-"),       // Slack
    shape("xoxb-", 10, "-"),
    shape("xoxp-", 10, "-"),
    shape("xoxr-", 10, "-"),
    shape("xoxs-", 10, "-"),
    shape("xoxc-", 10, "-"),
    shape("xoxd-", 10, "-%+/="),
    shape("xoxe-", 10, "-."),
    shape("xoxe.", 10, "-."),
    shape("xapp-", 10, "-"),
    dense("sk-", 20, "_-"),    // OpenAI, Anthropic, DeepSeek, OpenRouter
    shape("sk_live_", 16, ""), // Stripe
    shape("sk_test_", 16, ""),
    shape("rk_live_", 16, ""),
    shape("rk_test_", 16, ""),
    shape("whsec_", 20, "+/="),  // Stripe and Svix webhooks
    dense("sk_", 32, ""),        // ElevenLabs, Clerk
    dense("pplx-", 30, ""),      // Perplexity
    dense("gsk_", 30, ""),       // Groq
    dense("r8_", 30, ""),        // Replicate
    dense("xai-", 40, ""),       // xAI
    dense("nvapi-", 40, "_-"),   // NVIDIA
    dense("fw_", 22, ""),        // Fireworks
    dense("tgp_v1_", 30, "_-"),  // Together
    dense("tvly-", 20, "-"),     // Tavily
    dense("jina_", 40, "_-"),    // Jina
    dense("pcsk_", 40, "_"),     // Pinecone
    dense("lsv2_", 30, "_"),     // LangSmith
    dense("csk-", 30, ""),       // Cerebras
    shape("hf_", 30, ""),        // Hugging Face
    shape("api_org_", 30, ""),   // Hugging Face organisation
    dense("wandb_v1_", 20, "_"), // Weights & Biases
    shape("npm_", 30, ""),       // npm
    shape("AIza", 30, "_-"),     // Google API
    shape("GOCSPX-", 20, "_-"),  // Google OAuth client
    dense("ya29.", 20, "_-."),   // Google OAuth access
    dense("1//0", 30, "_-"),     // Google OAuth refresh
    dense("pypi-", 40, "_-"),    // PyPI
    dense("SG.", 40, "_-."),     // SendGrid
    dense("key-", 32, ""),       // Mailgun
    dense("xkeysib-", 40, "-"),  // Brevo
    dense("re_", 30, "_"),       // Resend
    dense("dop_v1_", 40, ""),    // DigitalOcean
    dense("doo_v1_", 40, ""),
    dense("dor_v1_", 40, ""),
    dense("hvs.", 20, "_-"), // Vault service
    dense("hvb.", 20, "_-"), // Vault batch
    dense("hvr.", 20, "_-"),
    dense("s.", 24, ""),          // Vault before 1.10
    dense("atlasv1.", 20, "_-="), // Terraform Cloud
    dense("dapi", 32, "-"),       // Databricks
    dense("dp.st.", 30, "_-."),   // Doppler
    dense("dp.pt.", 30, ""),
    dense("dckr_pat_", 20, "_-"), // Docker Hub
    dense("dckr_oat_", 20, "_-"),
    dense("rubygems_", 40, ""), // RubyGems
    dense("shpat_", 32, ""),    // Shopify
    dense("shpss_", 32, ""),
    dense("shppa_", 32, ""),
    dense("shpca_", 32, ""),
    dense("sq0atp-", 20, "_-"), // Square
    dense("sq0csp-", 40, "_-"),
    dense("EAAA", 56, "_-"),
    dense("lin_api_", 30, ""), // Linear
    dense("secret_", 40, ""),  // Notion
    dense("ntn_", 40, ""),     // Notion
    dense("figd_", 36, "_-"),  // Figma
    dense("NRAK-", 26, ""),    // New Relic
    dense("NRII-", 26, "_-"),
    dense("glsa_", 32, "_"),      // Grafana service account
    dense("glc_", 32, "+/="),     // Grafana Cloud
    dense("sntrys_", 40, "_=+/"), // Sentry
    dense("sntryu_", 40, ""),
    dense("phc_", 36, "_"), // PostHog
    dense("phx_", 36, "_"),
    dense("sbp_", 36, ""),           // Supabase
    dense("pscale_tkn_", 30, "_-."), // PlanetScale
    dense("pscale_pw_", 30, "_-."),
    dense("FlyV1", 40, "_-+/=, "), // Fly.io
    dense("fo1_", 40, "_-"),
    dense("vercel_", 20, ""),
    dense("tskey-", 20, "-"),          // Tailscale
    dense("PMAK-", 40, "-"),           // Postman
    dense("AGE-SECRET-KEY-1", 50, ""), // age
    dense("oy2", 43, ""),              // NuGet
    dense("CCIPAT_", 30, "_"),         // CircleCI
    dense("bkua_", 36, ""),            // Buildkite
    dense("pul-", 40, ""),             // Pulumi
    dense("EZAK", 50, ""),             // EasyPost
    dense("sl.", 60, "_-"),            // Dropbox
    dense("cio", 32, ""),              // the Rust registry
    dense("AAAAA", 80, "%"),           // Twitter bearer
    dense("CFPAT-", 40, "_-"),         // Contentful
    dense("ops_eyJ", 60, "_-="),       // 1Password
];

/// A part of a URL's path that lets everybody post or read: the text before it, and how many path segments to keep.
pub(super) const HOOKS: &[(&str, usize)] = &[
    ("hooks.slack.com/services/", 0),
    ("hooks.slack.com/workflows/", 0),
    ("hooks.slack.com/triggers/", 0),
    ("hooks.slack-gov.com/services/", 0),
    ("discord.com/api/webhooks/", 1), // the number of the hook is no secret
    ("discordapp.com/api/webhooks/", 1),
    ("api.telegram.org/bot", 0),
    ("api.telegram.org/file/bot", 0),
    ("webhook.office.com/webhookb2/", 0),
    ("outlook.office.com/webhook/", 0),
    ("outlook.office365.com/webhook/", 0),
    ("hooks.zapier.com/hooks/catch/", 1),
    ("maker.ifttt.com/trigger/", 3), // NAME/with/key/SECRET
    ("open.feishu.cn/open-apis/bot/v2/hook/", 0),
    ("open.larksuite.com/open-apis/bot/v2/hook/", 0),
    ("hc-ping.com/", 0),
    ("hook.integromat.com/", 0),
    ("make.com/hook/", 0),
    ("events.pagerduty.com/integration/", 0),
    ("webhook.site/", 0),
    ("api.pushcut.io/", 0),
    ("pipedream.net/", 0),
    ("rtmp.youtube.com/live2/", 0),
    ("live.twitch.tv/app/", 0),
    ("live-api-s.facebook.com:443/rtmp/", 0),
];
