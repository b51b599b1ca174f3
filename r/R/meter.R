# A measurement that goes on beside R: `jobmeter attach` in the background, recording into a file.

# Begin to measure a process; this R session when none is named.
jm_start <- function(pid = Sys.getpid(), interval = NULL, name = NULL, record = NULL, gpu = TRUE) {
  pid <- whole_number(pid, "pid")
  folder <- tempfile("jobmeter-")
  dir.create(folder, mode = "0700")
  if (is.null(record)) record <- file.path(folder, "run.jobmeter")
  record <- normalizePath(record, mustWork = FALSE)
  if (file.exists(record)) {
    stop("the file ", record, " exists already; name another one as `record`, or remove it", call. = FALSE)
  }
  words <- c("attach", "--quiet", "--record", record, attach_options(interval, name, gpu), pid)
  meter <- structure(
    list(pid = pid, record = record, folder = folder, state = new.env(parent = emptyenv())), class = "jobmeter_meter"
  )
  meter$state$stopped <- FALSE
  launch(meter, words)
  wait_until_it_looks(meter)
  meter
}

attach_options <- function(interval, name, gpu) {
  c(
    if (!is.null(interval)) c("--interval", seconds(interval, "interval")),
    if (!is.null(name)) c("--name", name),
    if (!isTRUE(gpu)) "--no-gpu"
  )
}

# The shell is left at once, so that the command is no child of R and is not measured as one. SIGINT from the terminal is
# meant for R: commands in the background of a shell do not get it.
launch <- function(meter, words) {
  file <- function(name) shQuote(file.path(meter$folder, name))
  command <- paste(shQuote(c(jm_command(), words)), collapse = " ")
  script <- paste0(
    "( ", command, " & echo $! > ", file("pid"), "; wait $!; echo $? > ", file("status"), " ) < /dev/null > ",
    file("said"), " 2>&1 &"
  )
  system2("/bin/sh", c("-c", shQuote(script)))
}

# The record begins when the process has been found and looked at.
wait_until_it_looks <- function(meter, patience = 30) {
  end <- proc.time()[["elapsed"]] + patience
  while (!isTRUE(file.size(meter$record) > 0)) {
    if (has_ended(meter) && !file.exists(meter$record)) stop(what_went_wrong(meter), call. = FALSE)
    if (proc.time()[["elapsed"]] > end) stop("jobmeter did not begin to measure within ", patience, " s", call. = FALSE)
    Sys.sleep(0.005)
  }
}

has_ended <- function(meter) isTRUE(file.size(file.path(meter$folder, "status")) > 0)

what_went_wrong <- function(meter) {
  status <- readLines(file.path(meter$folder, "status"), warn = FALSE)
  complaint(file.path(meter$folder, "said"), "attach", status)
}

# End a measurement and read what was measured. The process goes on.
jm_stop <- function(meter) {
  if (!inherits(meter, "jobmeter_meter")) stop("jm_stop() wants what jm_start() returned", call. = FALSE)
  if (meter$state$stopped) stop("this measurement was stopped already", call. = FALSE)
  end_measurement(meter)
  jm_read(meter$record)
}

end_measurement <- function(meter, patience = 30) {
  meter$state$stopped <- TRUE
  file <- file.path(meter$folder, "pid")
  if (!has_ended(meter)) tools::pskill(as.integer(readLines(file, warn = FALSE)), tools::SIGTERM)
  wait_for_end(meter, patience)
}

# `Inf`: until the process has ended.
wait_for_end <- function(meter, patience) {
  end <- proc.time()[["elapsed"]] + patience
  pause <- 0.005
  while (!has_ended(meter)) {
    if (proc.time()[["elapsed"]] > end) stop("jobmeter did not end within ", patience, " s", call. = FALSE)
    Sys.sleep(pause)
    pause <- min(pause * 1.5, 0.2)
  }
}

# Evaluate an expression and measure this R session meanwhile.
jm_measure <- function(expr, interval = NULL, name = NULL, record = NULL, gpu = TRUE) {
  meter <- jm_start(interval = interval, name = name, record = record, gpu = gpu)
  # An error of the expression goes its way; the measurement ends all the same.
  on.exit(if (!meter$state$stopped) end_measurement(meter))
  value <- withVisible(expr)
  run <- jm_stop(meter)
  run["value"] <- list(value$value)
  run
}

# Measure a process that runs already, until it ends or for some seconds.
jm_pid <- function(pid, duration = Inf, interval = NULL, name = NULL, record = NULL, gpu = TRUE) {
  if (length(duration) != 1 || !is.numeric(duration) || is.na(duration) || duration <= 0) {
    stop("`duration` must be a number of seconds above 0", call. = FALSE)
  }
  meter <- jm_start(pid, interval = interval, name = name, record = record, gpu = gpu)
  on.exit(if (!meter$state$stopped) end_measurement(meter))
  end <- proc.time()[["elapsed"]] + duration
  while (!has_ended(meter) && proc.time()[["elapsed"]] < end) {
    Sys.sleep(max(0.001, min(0.05, end - proc.time()[["elapsed"]])))
  }
  jm_stop(meter)
}

print.jobmeter_meter <- function(x, ...) {
  state <- if (x$state$stopped) "stopped" else "measuring"
  cat("jobmeter:", state, "process", x$pid, "into", x$record, "\n")
  invisible(x)
}

whole_number <- function(value, what) {
  right <- length(value) == 1 && is.numeric(value) && !is.na(value) && value >= 1 && value == round(value)
  if (!right) stop("`", what, "` must be one whole number of 1 or more", call. = FALSE)
  format(value, scientific = FALSE)
}

seconds <- function(value, what) {
  right <- length(value) == 1 && is.numeric(value) && is.finite(value) && value > 0
  if (!right) stop("`", what, "` must be a number of seconds above 0", call. = FALSE)
  paste0(format(round(value * 1e9), scientific = FALSE), "ns")
}
