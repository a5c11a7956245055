// The tables are plain HTML and complete without this: it adds sorting, searching and pages.
const packed = document.getElementById("library").textContent.trim();
const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
const address = URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));
const { default: DataTable } = await import(address);
URL.revokeObjectURL(address);
for (const table of document.querySelectorAll("table.data")) {
  const lines = table.tBodies[0].rows.length;
  const title = table.closest("section").querySelector("h2").textContent;
  const paged = lines > 25;
  new DataTable(table, {
    order: [],
    columnDefs: [{ targets: "number", type: "num" }],
    paging: paged,
    pageLength: 25,
    lengthMenu: [10, 25, 100, { label: "all", value: -1 }],
    autoWidth: false,
    layout: {
      topStart: paged ? "pageLength" : null,
      topEnd: lines > 1 ? "search" : null,
      bottomStart: paged ? "info" : null,
      bottomEnd: paged ? "paging" : null,
    },
    language: { search: "Filter " },
  });
  const field = table.closest("div.dt-container").querySelector("input[type=search]");
  if (field) field.setAttribute("aria-label", `Filter the table ${title}`);
}
document.documentElement.dataset.ready = "yes";
