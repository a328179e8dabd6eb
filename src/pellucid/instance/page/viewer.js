// The page: the picture, the pointer and the keys.
// Here: input becomes a camera, frames become pixels. Not here: the line (connection.js).

import { moved, turned, zoomed } from "./camera.js";
import { Connection } from "./connection.js";

const LARGEST_EDGE = 8192;
const REFUSAL_MS = 6000;
const KEY_TURN = 0.09;
const picture = document.getElementById("picture");
const pen = picture.getContext("2d");

let camera = null;
let firstCamera = null;
let isHeld = false;
let isDragged = false;
let received = 0;
let painted = 0;
let isSendPending = false;
let quietTimer = 0;

// The token has become a cookie: it need not stay where it can be read over a shoulder.
if (location.search) history.replaceState(null, "", location.pathname);

function size() {
  const ratio = Math.min(devicePixelRatio, LARGEST_EDGE / Math.max(innerWidth, innerHeight));
  return { width: Math.max(1, Math.round(innerWidth * ratio)), height: Math.max(1, Math.round(innerHeight * ratio)) };
}

function say(what, remedy = "", isError = false) {
  clearTimeout(quietTimer);
  document.getElementById("what").textContent = what;
  document.getElementById("do").textContent = remedy;
  const status = document.getElementById("status");
  status.className = `${isError ? "is-error" : ""} ${what ? "" : "is-quiet"} ${painted ? "" : "is-first"}`;
}

const connection = new Connection(
  {
    text(message) {
      if (message.type === "state") {
        firstCamera ??= message.scene.camera;
        camera = message.scene.camera;
      } else if (message.type === "layers") {
        document.getElementById("device").textContent = message.layers.map((layer) => layer.name).join(", ");
      } else if (message.type === "moved") {
        camera = message.camera;
      } else if (message.type === "refusal") {
        say(message.what, message.do, true);
        quietTimer = setTimeout(() => say(""), REFUSAL_MS);
      }
    },
    frame: paint,
    state: say,
  },
  size,
);

async function paint(header, bytes) {
  const number = ++received;
  const image = await createImageBitmap(new Blob([bytes], { type: `image/${header.encoding}` }));
  if (number > painted) {
    const isFirst = painted === 0;
    painted = number;
    const { width, height } = size();
    if (picture.width !== width || picture.height !== height) Object.assign(picture, { width, height });
    pen.drawImage(image, 0, 0, picture.width, picture.height);
    const spent = header.times_ms.render + header.times_ms.encode;
    // Rounded down: what is almost whole must not be called whole.
    const part = header.full_resolution < 1 ? `, ${Math.floor(header.full_resolution * 100)} % at full resolution` : "";
    const kind = (header.is_exact ? "exact" : "moving") + part;
    document.getElementById("timing").textContent =
      `${header.width} × ${header.height}, ${Math.round(spent)} ms, ${kind}`;
    if (isFirst || !document.getElementById("status").classList.contains("is-error")) say("");
  }
  image.close();
  connection.send({ type: "acknowledge", number: header.number });
}

function look(next, isMoving) {
  if (!next) return;
  camera = next;
  if (isSendPending && isMoving) return;
  isSendPending = true;
  requestAnimationFrame(() => {
    isSendPending = false;
    connection.send({ type: "look", camera, is_moving: isMoving || isHeld });
  });
}

picture.addEventListener("pointerdown", (event) => {
  isHeld = true;
  isDragged = false;
  picture.focus({ preventScroll: true });
  picture.setPointerCapture(event.pointerId);
  picture.classList.add("is-held");
});
picture.addEventListener("pointermove", (event) => {
  if (!isHeld || !camera) return;
  const across = event.movementX / innerHeight;
  const down = event.movementY / innerHeight;
  isDragged = true;
  const isMove = event.shiftKey || event.buttons & 6;
  look(isMove ? moved(camera, across, down) : turned(camera, -across * Math.PI, down * Math.PI), true);
});
for (const end of ["pointerup", "pointercancel"]) {
  picture.addEventListener(end, () => {
    if (!isHeld) return;
    isHeld = false;
    picture.classList.remove("is-held");
    if (isDragged) look(camera, false);
  });
}
picture.addEventListener("contextmenu", (event) => event.preventDefault());
picture.addEventListener(
  "wheel",
  (event) => {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * 33 : event.deltaY;
    if (camera) look(zoomed(camera, Math.exp(Math.max(-300, Math.min(300, lines)) * 0.0012)), true);
  },
  { passive: false },
);

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
picture.addEventListener("keydown", (event) => {
  if (!camera || event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = ARROWS[event.key];
  if (arrow) {
    const [across, down] = arrow;
    look(event.shiftKey ? moved(camera, across * 0.04, down * 0.04) : turned(camera, -across * KEY_TURN, down * KEY_TURN), true);
  } else if (event.key === "+" || event.key === "=") look(zoomed(camera, 0.9), true);
  else if (event.key === "-") look(zoomed(camera, 1 / 0.9), true);
  else if (event.key === "Home") look(firstCamera, false);
  else return;
  event.preventDefault();
});

addEventListener("resize", () => {
  connection.send({ type: "resize", ...size() });
});
picture.focus({ preventScroll: true });
