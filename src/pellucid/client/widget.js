// A viewer in a notebook: its page in a frame, reached through the notebook server's proxy or directly; where neither can
// be, a picture that the kernel sends, and what to do about it. An exported notebook has no kernel: the first image stays.

function ask(model, question) {
  return new Promise((resolve) => {
    const hear = (answer, buffers) => {
      model.off("msg:custom", hear);
      resolve({ ...answer, buffers });
    };
    model.on("msg:custom", hear);
    model.send(question);
  });
}

// The notebook server's prefix: JupyterLab says it in a script of its page, older ones on the body.
function base() {
  const config = document.getElementById("jupyter-config-data");
  const said = config ? JSON.parse(config.textContent).baseUrl : document.body.dataset.baseUrl;
  return new URL(said ?? "/", window.location.href);
}

// From another origin no answer can be read; that there is one has to be enough.
async function isSomebody(address) {
  try {
    await fetch(address, { mode: "no-cors", credentials: "omit" });
    return true;
  } catch {
    return false;
  }
}

async function reach(port, name) {
  const proxied = new URL(`proxy/${port}/`, base());
  if (await isProxied(proxied)) return proxied;
  const isHere = ["localhost", "127.0.0.1"].includes(window.location.hostname);
  // By the viewer's own name, of which other pages on this machine have left nothing in the browser.
  const direct = new URL(`http://${name}:${port}/`);
  return isHere && window.location.protocol === "http:" && (await isSomebody(direct)) ? direct : null;
}

// Without a code, which only the viewer is to learn: its page is open to all. The cookie of the notebook server goes along,
// or its proxy would not let this through.
async function isProxied(address) {
  try {
    const answer = await fetch(address, { credentials: "same-origin" });
    return answer.ok && (await answer.text()).includes("<title>Pellucid</title>");
  } catch {
    return false;
  }
}

function frame(address, height) {
  const shown = document.createElement("iframe");
  shown.src = address.href;
  shown.title = "Pellucid";
  shown.allow = "fullscreen";
  shown.style.cssText = `width: 100%; height: ${height}px; border: 0; display: block; background: #000`;
  return shown;
}

function still(address) {
  const image = document.createElement("img");
  image.src = address;
  image.alt = "Pellucid";
  image.style.maxWidth = "100%";
  return image;
}

async function picture(model) {
  const { what, buffers } = await ask(model, "picture");
  const shown = document.createElement("figure");
  shown.style.margin = "0";
  if (buffers?.length) shown.append(still(URL.createObjectURL(new Blob([buffers[0]], { type: "image/png" }))));
  const said = document.createElement("figcaption");
  said.textContent =
    what ??
    "A picture: this page cannot reach the viewer. For a live view, install jupyter-server-proxy where the notebook server runs, and start that again.";
  shown.append(said);
  return shown;
}

async function render({ model, el }) {
  if (model.get("image")) el.replaceChildren(still(model.get("image")));
  const address = await reach(model.get("port"), (await ask(model, "name")).name);
  if (address === null) {
    el.replaceChildren(await picture(model));
    return;
  }
  const { code } = await ask(model, "code");
  if (!code) {
    el.replaceChildren(await picture(model));
    return;
  }
  address.hash = `code=${code}`;
  el.replaceChildren(frame(address, model.get("height")));
}

export default { render };
