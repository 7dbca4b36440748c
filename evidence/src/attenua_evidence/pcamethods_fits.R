# Fits of Bioconductor's pcaMethods, one after another in one process, for pcamethods.py.
#
#     Rscript pcamethods_fits.R FOLDER
#
# The requests and answers are those of rrcov_fits.R. Missing cells are NaN in FOLDER/rows.bin. FOLDER/fit.bin
# has the centre, the loadings and the scores.

suppressPackageStartupMessages(library(pcaMethods))

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
        x[is.nan(x)] <- NA # pcaMethods refuses NaN
        set.seed(0) # ppca starts at random loadings
        fit <- pca(x, method = asked[1], nPcs = size[3])
        found <- list(center(fit), loadings(fit), scores(fit))
        writeBin(as.double(unlist(lapply(found, as.double))), file.path(folder, "fit.bin"))
        answer("fitted", ncol(loadings(fit)), one_line(notes))
      },
      warning = function(given) {
        notes <<- c(notes, conditionMessage(given))
        invokeRestart("muffleWarning")
      }
    ),
    error = function(met) answer("failed", one_line(conditionMessage(met)))
  )
}
