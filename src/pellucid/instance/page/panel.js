// The panel: what the volume is, and how it is drawn.
// Here: controls, the histogram, numbers as text. Not here: sending (connection.js).

const STEPS = 1000;
const element = (id) => document.getElementById(id);

export class Panel {
  /** change(settings) is called with what a person chose; reset() when the view should be as at first. */
  constructor(change, reset) {
    this.change = change;
    for (const [id, key] of [["mode", "mode"], ["shading", "shading"], ["color-map", "color_map"]]) {
      element(id).addEventListener("change", (event) => change({ [key]: event.target.value }));
    }
    element("low").addEventListener("input", () => this.rangeMoved("low"));
    element("high").addEventListener("input", () => this.rangeMoved("high"));
    element("isovalue").addEventListener("input", (event) => change({ isovalue: this.value(event.target.value) }));
    element("reset").addEventListener("click", reset);
  }

  describe({ volume, choices, device }) {
    this.volume = volume;
    this.colorMaps = choices.color_maps;
    document.title = `${volume.name} · Pellucid`;
    element("name").textContent = element("name").title = volume.name;
    const [z, y, x] = volume.shape;
    const spacing = [...volume.spacing].reverse();
    const step = spacing.every((one) => one === spacing[0]) ? short(spacing[0]) : spacing.map(short).join(" × ");
    element("facts").textContent = `${x} × ${y} × ${z} voxels, ${volume.dtype}\nspacing ${step} ${volume.unit.replace(/^um$/, "µm")}`;
    element("device").textContent = device;
    fill(element("mode"), choices.modes);
    fill(element("shading"), choices.shadings);
    fill(element("color-map"), Object.keys(choices.color_maps));
    element("panel").hidden = false;
  }

  show(settings) {
    this.settings = settings;
    element("mode").value = settings.mode;
    element("shading").value = settings.shading;
    element("color-map").value = settings.color_map;
    element("surface").hidden = settings.mode !== "isosurface";
    const [low, high] = settings.value_range;
    for (const [id, value] of [["low", low], ["high", high], ["isovalue", settings.isovalue]]) {
      if (document.activeElement !== element(id)) element(id).value = this.place(value) * STEPS;
      element(`${id}-text`).textContent = this.text(value);
    }
    this.drawHistogram();
  }

  rangeMoved(id) {
    const [low, high] = [element("low"), element("high")];
    if (+low.value >= +high.value) {
      if (id === "low") low.value = +high.value - 1;
      else high.value = +low.value + 1;
    }
    if (+low.value < +high.value) this.change({ value_range: [this.value(low.value), this.value(high.value)] });
  }

  value(step) {
    const [low, high] = this.volume.value_range;
    return low + ((high - low) * step) / STEPS;
  }

  place(value) {
    const [low, high] = this.volume.value_range;
    return Math.max(0, Math.min(1, (value - low) / (high - low)));
  }

  /** A value in as many digits as matter beside all the others. */
  text(value) {
    const [low, high] = this.volume.value_range;
    const smallest = 10 ** Math.floor(Math.log10((high - low) / STEPS));
    return short(Math.round(value / smallest) * smallest);
  }

  drawHistogram() {
    const canvas = element("histogram");
    canvas.width = canvas.clientWidth * devicePixelRatio;
    canvas.height = canvas.clientHeight * devicePixelRatio;
    const pen = canvas.getContext("2d");
    const { counts } = this.volume;
    const most = Math.log1p(Math.max(...counts));
    const [low, high] = this.settings.value_range.map((value) => this.place(value));
    const colors = this.colorMaps[this.settings.color_map] ?? this.colorMaps.gray;
    for (let column = 0; column < canvas.width; column++) {
      const at = (column + 0.5) / canvas.width;
      const tall = (Math.log1p(counts[Math.floor(at * counts.length)]) / most) * canvas.height * 0.92;
      pen.fillStyle = at < low || at > high ? "#2a3138" : css(colors, (at - low) / (high - low));
      pen.fillRect(column, canvas.height - tall, 1, tall);
    }
  }
}

function fill(select, names) {
  select.replaceChildren(...names.map((name) => new Option(name, name)));
}

/** The colour of a map at a place from 0 to 1, never so dark that the bar cannot be seen. */
function css(colors, at) {
  const place = at * (colors.length - 1);
  const first = Math.min(colors.length - 2, Math.floor(place));
  const color = colors[first].map((one, i) => one + (colors[first + 1][i] - one) * (place - first));
  return `rgb(${color.map((one) => Math.round(70 + one * 185)).join(" ")})`;
}

function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(size >= 1e4 ? 6 : 4));
}
