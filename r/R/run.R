# What was measured: a run file, and what the command says of it.

# Read a run file, of this package or of the command.
jm_read <- function(record) {
  if (length(record) != 1 || !is.character(record) || !file.exists(record)) {
    stop("there is no run file ", paste(record, collapse = " "), call. = FALSE)
  }
  record <- normalizePath(record)
  summary <- read_json(call_command(c("show", "--format", "json", record)))
  tables <- read_tables(record)
  structure(
    list(record = record, summary = summary, samples = tables$samples, processes = tables$processes, tables = tables),
    class = "jobmeter_run"
  )
}

# All tables at once: a data frame each, also those without rows.
read_tables <- function(record) {
  folder <- tempfile("jobmeter-tables-")
  on.exit(unlink(folder, recursive = TRUE))
  call_command(c("export", "--format", "csv", "--table", "all", "--output", folder, record))
  files <- list.files(folder, pattern = "[.]csv$", full.names = TRUE)
  tables <- lapply(files, utils::read.csv, check.names = FALSE, stringsAsFactors = FALSE, encoding = "UTF-8", na.strings = "")
  names(tables) <- sub("[.]csv$", "", basename(files))
  # An unknown value is NA; a column of nothing else has no type of its own, and numbers are what columns hold.
  lapply(tables, function(table) {
    empty <- vapply(table, is.logical, logical(1)) & !names(table) %in% "closed"
    table[empty] <- lapply(table[empty], as.numeric)
    table
  })
}

# One table of the run, as a data frame.
jm_table <- function(run, table = "samples") {
  check_run(run)
  found <- run$tables[[table]]
  if (is.null(found)) {
    stop("the run has no table `", table, "`; it has ", paste(names(run$tables), collapse = ", "), call. = FALSE)
  }
  found
}

# The figures of the summary: one row each, with how good it is.
jm_figures <- function(run) {
  check_run(run)
  scopes <- intersect(c("main", "descendants", "combined", "system"), names(run$summary))
  rows <- lapply(scopes, function(scope) {
    figures <- run$summary[[scope]]
    number <- function(key) vapply(figures, function(f) if (is.numeric(f[[key]])) as.numeric(f[[key]]) else NA_real_, 0)
    words <- function(key) vapply(figures, function(f) if (is.character(f[[key]])) f[[key]] else NA_character_, "")
    data.frame(
      scope = rep(scope, length(figures)), figure = as.character(names(figures)), value = number("value"),
      quality = words("quality"), lower = number("lower"), upper = number("upper"), reason = words("reason"),
      row.names = NULL, stringsAsFactors = FALSE
    )
  })
  do.call(rbind, rows)
}

# Write the page of the run; without a name into a temporary file.
jm_report <- function(run, file = tempfile("jobmeter-", fileext = ".html"), browse = FALSE, overwrite = FALSE) {
  check_run(run)
  call_command(c("report", "--output", file, if (overwrite) "--force", recorded(run)))
  if (browse) utils::browseURL(paste0("file://", normalizePath(file)))
  invisible(file)
}

check_run <- function(run) {
  if (!inherits(run, "jobmeter_run")) stop("a run is wanted, as jm_measure(), jm_pid() or jm_read() return it", call. = FALSE)
}

recorded <- function(run) {
  if (!file.exists(run$record)) {
    stop("the run file ", run$record, " is gone; give a name as `record` to keep it beyond the session", call. = FALSE)
  }
  run$record
}

format.jobmeter_run <- function(x, ...) {
  call_command(c("show", "--color", "never", recorded(x)))
}

print.jobmeter_run <- function(x, ...) {
  cat(format(x), sep = "\n")
  invisible(x)
}

summary.jobmeter_run <- function(object, ...) jm_figures(object)

as.data.frame.jobmeter_run <- function(x, row.names = NULL, optional = FALSE, ...) x$samples
