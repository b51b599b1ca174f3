# Real processes, measured by the real command. Plain R: `stopifnot` is the whole framework.

if (inherits(try(jobmeter::jm_command(), silent = TRUE), "try-error")) {
  message("skipped: the command jobmeter is not on this machine")
  quit(save = "no", status = 0)
}
library(jobmeter)
fails <- function(expr, with) {
  said <- tryCatch({
    force(expr)
    ""
  }, error = conditionMessage)
  if (!grepl(with, said, fixed = TRUE)) stop("expected an error with `", with, "`, got `", said, "`")
}
figure <- function(run, scope, name) {
  figures <- jm_figures(run)
  figures$value[figures$scope == scope & figures$figure == name]
}

# An expression: its value, its CPU time against R's own clock, and the memory that it held.
burn <- function(seconds) {
  begin <- sum(proc.time()[1:2])
  while (sum(proc.time()[1:2]) - begin < seconds) sqrt(stats::runif(1000))
  sum(proc.time()[1:2]) - begin
}
run <- jm_measure({
  held <- numeric(8e6) + 1
  used <- burn(0.6)
  length(held)
}, interval = 0.1, name = "burn")
stopifnot(inherits(run, "jobmeter_run"), identical(run$value, 8e6L) || run$value == 8e6)
cpu_s <- figure(run, "combined", "cpu_ns") / 1e9
cat("CPU time:", used, "s by R's clock,", cpu_s, "s measured\n")
# Beside the burning there are the allocation, the start and the stop.
stopifnot(cpu_s >= used - 0.02, cpu_s < used + 1)
stopifnot(figure(run, "combined", "rss_bytes_max") > 8e6 * 8)
stopifnot(identical(run$summary$run$name, "burn"), run$summary$run$pid == Sys.getpid())

# Data frames.
samples <- as.data.frame(run)
stopifnot(is.data.frame(samples), nrow(samples) >= 4, is.numeric(samples$t_ns), all(diff(samples$t_ns) > 0))
stopifnot(all(diff(samples$combined_cpu_ns) >= 0), identical(samples, jm_table(run)), identical(samples, run$samples))
stopifnot(is.data.frame(run$processes), Sys.getpid() %in% run$processes$pid)
stopifnot(is.data.frame(jm_table(run, "phases")), nrow(jm_table(run, "phases")) == 0)
fails(jm_table(run, "nothing"), "the run has no table `nothing`; it has")
stopifnot(identical(summary(run), jm_figures(run)), all(c("exact", "sampled") %in% summary(run)$quality))

# The meter is not among what it measures.
stopifnot(!any(grepl("jobmeter", run$processes$name)))

# Text and page.
text <- utils::capture.output(print(run))
stopifnot(any(grepl("CPU", text)), any(grepl("peak", text)))
page <- tempfile(fileext = ".html")
stopifnot(identical(jm_report(run, page), page), any(grepl("<html", readLines(page, warn = FALSE), fixed = TRUE)))
fails(jm_report(run, page), page)
invisible(jm_report(run, page, overwrite = TRUE))

# A value that is NULL or invisible stays what it is.
quiet <- jm_measure(invisible(NULL))
stopifnot("value" %in% names(quiet), is.null(quiet$value))

# An error goes its way, the measurement ends, and a named record is kept.
record <- tempfile("kept file with spaces ", fileext = ".jobmeter")
fails(jm_measure(stop("my own"), record = record), "my own")
stopifnot(file.exists(record))
again <- jm_read(record)
stopifnot(again$summary$verdict$kind == "detached")
fails(jm_measure(1, record = record), "exists already")

# Children of R are descendants.
tree <- jm_measure(system("i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"), interval = 0.1)
stopifnot(figure(tree, "descendants", "cpu_ns") > 0)

# A process that runs already: to its end, and for a while.
sleeper <- function(seconds) {
  as.integer(system2("/bin/sh", c("-c", shQuote(paste("sleep", seconds, "> /dev/null & echo $!"))), stdout = TRUE))
}
ended <- jm_pid(sleeper(0.5), interval = 0.1)
stopifnot(figure(ended, "main", "processes_max") == 1, ended$summary$run$wall_ns > 2e8)
pid <- sleeper(30)
begin <- proc.time()[["elapsed"]]
while_it_runs <- jm_pid(pid, duration = 0.3, interval = 0.1)
stopifnot(proc.time()[["elapsed"]] - begin < 20, tools::pskill(pid, 0), while_it_runs$summary$run$pid == pid)
tools::pskill(pid)
fails(jm_pid(2^22 + 1), "4194305")
fails(jm_pid(0), "`pid` must be one whole number")
fails(jm_pid(pid, duration = -1), "`duration` must be")
fails(jm_measure(1, interval = "soon"), "`interval` must be")

# Start and stop by hand.
meter <- jm_start(interval = 0.05, gpu = FALSE)
stopifnot(grepl("measuring process", utils::capture.output(print(meter))))
Sys.sleep(0.2)
by_hand <- jm_stop(meter)
stopifnot(nrow(by_hand$samples) >= 3)
fails(jm_stop(meter), "stopped already")
fails(jm_stop(1), "what jm_start() returned")
fails(jm_read("no such file"), "there is no run file no such file")

# The command is told where to be found, or missed in one sentence.
old <- options(jobmeter.command = "/no/such/command")
fails(jm_command(), "was not found")
options(old)
cat("all of the R package works\n")
