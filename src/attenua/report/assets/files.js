// Scores and loadings as CSV files, made from the numbers of the page.

// A spreadsheet would run a text that begins like this; an apostrophe stops it. Numbers stay as they are.
const isFormula = (text) => /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
const textCell = (text) => `"${(isFormula(text) ? "'" + text : text).replaceAll('"', '""')}"`;

function csvOf(table) {
  const head = [], before = [];
  if (table.rows) { head.push("row"); before.push((k) => table.rows[k]); }
  if (table.names) { head.push(table.rows ? "name" : "column"); before.push((k) => textCell(table.names[k])); }
  const line = (k) => [...before.map((cell) => cell(k)), ...table.values.map((column) => column[k] ?? "")].join(",");
  return [[...head, ...table.columns].map(textCell).join(","), ...table.values[0].map((_, k) => line(k)), ""].join("\r\n");
}

function offerFile(button) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csvOf(onPage.tables[button.dataset.file])], { type: "text/csv;charset=utf-8" }));
    link.download = `${button.dataset.file}.csv`;
    link.click();
    // The browser has taken the file by the time this runs.
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });
}
