# JSON as the command prints it. Base R has no reader of its own, and the package needs no other one.

# Objects become named lists, arrays lists, null NULL inside lists kept as NULL entries.
read_json <- function(lines) {
  text <- paste(lines, collapse = "\n")
  tokens <- regmatches(text, gregexpr(
    "\"([^\"\\\\]|\\\\.)*\"|-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?|true|false|null|[][{}:,]", text, perl = TRUE
  ))[[1]]
  at <- 0L
  take <- function() {
    at <<- at + 1L
    if (at > length(tokens)) stop("the JSON text ends too early", call. = FALSE)
    tokens[[at]]
  }
  value <- function(token) {
    first <- substr(token, 1, 1)
    switch(first,
      "{" = members("}", keyed = TRUE),
      "[" = members("]", keyed = FALSE),
      "\"" = json_text(token),
      "t" = TRUE,
      "f" = FALSE,
      "n" = NULL,
      if (grepl("^[-0-9]", token)) as.numeric(token) else stop("`", token, "` is out of place in JSON", call. = FALSE)
    )
  }
  members <- function(end, keyed) {
    found <- list()
    token <- take()
    while (token != end) {
      key <- NULL
      if (keyed) {
        key <- json_text(token)
        if (take() != ":") stop("a colon is missing in JSON", call. = FALSE)
        token <- take()
      }
      one <- list(value(token))
      names(one) <- key
      found <- c(found, one)
      token <- take()
      if (token == ",") token <- take()
    }
    found
  }
  value(take())
}

json_text <- function(token) {
  inner <- substr(token, 2, nchar(token) - 1)
  if (!grepl("\\", inner, fixed = TRUE)) return(inner)
  pieces <- regmatches(inner, gregexpr("\\\\u[0-9a-fA-F]{4}(\\\\u[dD][c-fC-F][0-9a-fA-F]{2})?|\\\\.|[^\\\\]+", inner, perl = TRUE))[[1]]
  plain <- c(n = "\n", t = "\t", r = "\r", b = "\b", f = "\f")
  decoded <- vapply(pieces, function(piece) {
    if (substr(piece, 1, 1) != "\\") return(piece)
    letter <- substr(piece, 2, 2)
    if (letter == "u") return(json_character(piece))
    if (letter %in% names(plain)) plain[[letter]] else letter
  }, "", USE.NAMES = FALSE)
  paste(decoded, collapse = "")
}

# `\u00e4`, or two of them for a character beyond the first 65536. R has no character 0.
json_character <- function(piece) {
  codes <- strtoi(regmatches(piece, gregexpr("[0-9a-fA-F]{4}", piece))[[1]], 16L)
  code <- codes[[1]]
  if (length(codes) == 2 && code >= 0xd800 && code < 0xdc00) code <- 0x10000 + (code - 0xd800) * 0x400 + (codes[[2]] - 0xdc00)
  if (code == 0) "" else intToUtf8(code)
}
