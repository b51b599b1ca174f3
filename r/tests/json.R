# The reader of JSON, on its own.

read_json <- jobmeter:::read_json
found <- read_json('{"a": [1, -2.5e3, true, null], "b": {"c": "x\\n\\"y\\" \\u00e4 \\ud83d\\ude00 \\\\"}, "d": {}, "e": []}')
stopifnot(identical(names(found), c("a", "b", "d", "e")))
stopifnot(found$a[[1]] == 1, found$a[[2]] == -2500, isTRUE(found$a[[3]]), length(found$a) == 4, is.null(found$a[[4]]))
stopifnot(identical(found$b$c, "x\n\"y\" \u00e4 \U1F600 \\"), length(found$d) == 0, length(found$e) == 0)
for (broken in c("{", "[1,", "{\"a\" 1}", "")) stopifnot(inherits(try(read_json(broken), silent = TRUE), "try-error"))
