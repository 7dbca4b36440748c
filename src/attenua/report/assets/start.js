const drawn = [];
for (const figure of document.querySelectorAll("figure[data-chart]")) drawn.push(new Chart(figure));
for (const figure of document.querySelectorAll("figure[data-scatter]")) drawn.push(new Scatter(figure));
for (const button of document.querySelectorAll("button[data-file]")) offerFile(button);
// On paper two charts stand side by side. Drawn for that width, their texts keep their size.
addEventListener("beforeprint", () => drawn.forEach((chart) => chart.draw({ width: 330, height: 200, rowHeight: 13 })));
addEventListener("afterprint", () => drawn.forEach((chart) => chart.draw()));
