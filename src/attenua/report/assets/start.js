for (const figure of document.querySelectorAll("figure[data-chart]")) new Chart(figure);
for (const figure of document.querySelectorAll("figure[data-scatter]")) new Scatter(figure);
for (const button of document.querySelectorAll("button[data-file]")) offerFile(button);
