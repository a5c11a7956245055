// The tables are plain HTML and complete without this: it adds sorting, searching and pages.
const packed = document.getElementById("packed").textContent.trim();
const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
const text = await new Response(unpacked).text();
const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
const { default: DataTable } = await import(address);
URL.revokeObjectURL(address);

function enhance(table) {
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

// What is in sight comes first, then what comes into sight, all others whenever there is time.
const waiting = new Set(document.querySelectorAll("table.data"));
const inTurn = (table) => waiting.delete(table) && enhance(table);
const watch = new IntersectionObserver(
  (entries) => entries.filter((each) => each.isIntersecting).forEach((each) => inTurn(each.target)),
  { rootMargin: "300px" },
);
const whenIdle = window.requestIdleCallback ?? ((next) => setTimeout(next, 1));
function next() {
  const [table] = waiting;
  if (!table) {
    document.documentElement.dataset.ready = "yes";
    return;
  }
  inTurn(table);
  whenIdle(next);
}
for (const table of waiting) {
  if (table.getBoundingClientRect().top < window.innerHeight) inTurn(table);
  else watch.observe(table);
}
document.documentElement.dataset.shown = "yes";
whenIdle(next);
