# Fits of R's rrcov, one after another in one process, for rrcov.py.
#
#     Rscript rrcov_fits.R FOLDER
#
# Each line of standard input asks for one fit: "METHOD ROWS COLUMNS RANK", the rows being the doubles of
# FOLDER/rows.bin, column after column. One line of standard output answers, its fields separated by tabs:
# "fitted", the number of components found and the warnings given, with the centre and then the components in
# FOLDER/fit.bin; or "failed" and the message. The process ends with its input.

suppressPackageStartupMessages(library(rrcov))

fits <- list(
  # kmax, 10 by default, caps the rank, so a higher rank has to raise it. All else is the author's default.
  PcaHubert = function(x, rank) if (rank <= 10) PcaHubert(x, k = rank) else PcaHubert(x, k = rank, kmax = rank),
  PcaLocantore = function(x, rank) PcaLocantore(x, k = rank)
)

one_line <- function(text) gsub("[\t\r\n ]+", " ", paste(text, collapse = "; "))

answer <- function(...) {
  cat("answer", ..., sep = "\t")
  cat("\n")
  flush(stdout())
}

folder <- commandArgs(trailingOnly = TRUE)[1]
requests <- file("stdin", "r")
answer("ready")
while (length(request <- readLines(requests, n = 1)) > 0) {
  asked <- strsplit(request, " ")[[1]]
  size <- as.integer(asked[2:4])
  notes <- character()
  tryCatch(
    withCallingHandlers(
      {
        x <- matrix(readBin(file.path(folder, "rows.bin"), "double", size[1] * size[2]), size[1], size[2])
        set.seed(0) # so that a fit does not depend on those before it
        fit <- fits[[asked[1]]](x, size[3])
        loadings <- as.matrix(getLoadings(fit))
        writeBin(c(as.double(getCenter(fit)), as.double(loadings)), file.path(folder, "fit.bin"))
        answer("fitted", ncol(loadings), one_line(notes))
      },
      warning = function(given) {
        notes <<- c(notes, conditionMessage(given))
        invokeRestart("muffleWarning")
      }
    ),
    error = function(met) answer("failed", one_line(conditionMessage(met)))
  )
}
