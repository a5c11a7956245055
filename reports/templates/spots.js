// Figures are pictures, complete without this: it tells what is under the pointer, as text, and
// opens the page of the instance; a finger's first tap shows it, the link in it opens.
const tip = document.createElement("div");
const ring = document.createElement("div");
tip.className = "tip";
tip.setAttribute("role", "status");
ring.className = "ring";
tip.hidden = ring.hidden = true;
document.body.append(ring, tip);

function hide() {
  tip.hidden = ring.hidden = true;
}

function line(name, text, address) {
  const made = document.createElement(address ? "a" : name);
  if (address) made.href = address;
  made.textContent = text;
  return made;
}

// The spot in reach that is nearest to a place in the window, with its own place.
function nearest(image, spots, x, y) {
  const box = image.getBoundingClientRect();
  const scale = box.width / image.width;
  let found = null;
  let least = Infinity;
  for (let k = 0; k < spots.at.length; k += 6) {
    const left = box.left + (box.width * spots.at[k]) / 1000;
    const top = box.top + (box.height * spots.at[k + 1]) / 1000;
    const [across, down] = [Math.abs(left - x), Math.abs(top - y)];
    if (across > spots.reach[0] * scale || down > spots.reach[1] * scale) continue;
    if (Math.hypot(across, down) < least) {
      least = Math.hypot(across, down);
      found = { left, top, lines: spots.at.slice(k + 2, k + 6) };
    }
  }
  return found;
}

function show(spots, { left, top, lines }) {
  const [method, where, value, opened] = lines.map((each) => spots.texts[each]);
  const address = spots.links[lines[3]];
  tip.replaceChildren(line("strong", method));
  if (where) tip.append(line("div", where));
  tip.append(line("div", value));
  if (opened) tip.append(line("div", opened, address));
  tip.hidden = ring.hidden = false;
  const width = document.documentElement.clientWidth;
  const room = Math.max(0, Math.min(left + 14, width - tip.offsetWidth - 8));
  const above = top - tip.offsetHeight - 14;
  tip.style.left = `${window.scrollX + room}px`;
  tip.style.top = `${window.scrollY + (above < 4 ? top + 14 : above)}px`;
  ring.style.left = `${window.scrollX + left}px`;
  ring.style.top = `${window.scrollY + top}px`;
  return address;
}

for (const image of document.querySelectorAll("img[data-spots]")) {
  const spots = JSON.parse(image.dataset.spots);
  const tell = (event) => {
    const found = nearest(image, spots, event.clientX, event.clientY);
    if (!found) hide();
    const address = found && show(spots, found);
    image.style.cursor = address ? "pointer" : "";
    return address;
  };
  image.addEventListener("pointermove", tell);
  image.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hide());
  image.addEventListener("click", (event) => {
    const address = tell(event);
    if (address && event.pointerType === "mouse") window.location.assign(address);
  });
}
document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
