# The command `jobmeter`: where it is, and how it is called.

# Option `jobmeter.command`, else the variable JOBMETER_BIN, else PATH.
jm_command <- function() {
  found <- getOption("jobmeter.command", Sys.getenv("JOBMETER_BIN"))
  if (!nzchar(found)) found <- Sys.which("jobmeter")[[1]]
  if (!nzchar(found) || file.access(found, mode = 1) != 0) {
    stop("the command jobmeter was not found; put it on PATH, or set options(jobmeter.command = \"/path/to/jobmeter\")",
      call. = FALSE)
  }
  path.expand(found)
}

# Runs the command to its end and returns what it printed. `words` are passed on as they are.
call_command <- function(words) {
  complaints <- tempfile("jobmeter-")
  on.exit(unlink(complaints))
  # The status of a failed command is an attribute, and its warning says less than our error.
  printed <- suppressWarnings(system2(jm_command(), shQuote(words), stdout = TRUE, stderr = complaints))
  status <- attr(printed, "status")
  if (!is.null(status) && status != 0) stop(complaint(complaints, words, status), call. = FALSE)
  enc2utf8(`Encoding<-`(printed, "UTF-8"))
}

# The command's own sentence, or what there is to say without one.
complaint <- function(file, words, status) {
  said <- if (file.exists(file)) readLines(file, warn = FALSE) else character()
  said <- said[nzchar(said)]
  if (length(said)) paste(said, collapse = "\n") else paste0("jobmeter ", words[[1]], " ended with status ", status)
}
