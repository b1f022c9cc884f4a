// Scores over time: a lane per word, its threshold as a tick, and a mark where the word was
// recognised.

const left = 58;
const bottom = 24;

export class Plot {
  #canvas;
  #rows = []; // {time, scores}
  #events = [];
  #span = 10;
  #end = 10;
  #cursor = null;
  #queued = false;

  constructor(canvas, lanes) {
    this.#canvas = canvas;
    this.lanes = lanes; // {label: index of the score, word, threshold}
    new ResizeObserver(() => this.#queue()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#queue());
  }

  /** Shows `span` seconds. With `follow` they are the newest. */
  clear(span, follow) {
    this.#rows = [];
    this.#events = [];
    this.#span = span;
    this.#end = span;
    this.follow = follow;
    this.#cursor = null;
    this.#queue();
  }

  add(time, scores, events) {
    this.#rows.push({ time, scores });
    this.#events.push(...events);
    if (this.follow) {
      this.#end = Math.max(this.#span, time);
      const from = this.#end - this.#span - 1;
      while (this.#rows.length > 0 && this.#rows[0].time < from) this.#rows.shift();
      this.#events = this.#events.filter((event) => event.time > from);
    }
    this.#queue();
  }

  set cursor(time) {
    this.#cursor = time;
    this.#queue();
  }

  /** The time under a point of the canvas. */
  timeAt(x) {
    return this.#end - this.#span + (Math.max(0, x - left) / (this.#canvas.clientWidth - left)) * this.#span;
  }

  #queue() {
    if (this.#queued) return;
    this.#queued = true;
    requestAnimationFrame(() => {
      this.#queued = false;
      this.#draw();
    });
  }

  #draw() {
    const canvas = this.#canvas;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const x = (time) => left + ((time - this.#end + this.#span) / this.#span) * (width - left);
    const lane = (height - bottom) / this.lanes.length;

    pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
    pen.textBaseline = "middle";
    this.lanes.forEach(({ word }, i) => {
      const top = i * lane;
      pen.fillStyle = colour("--lane");
      pen.beginPath();
      pen.roundRect(left, top + 2, width - left, lane - 4, 5);
      pen.fill();
      pen.fillStyle = colour("--quiet");
      pen.fillText(word, 2, top + lane / 2);
    });
    this.#axis(pen, x, height, colour("--quiet"));

    pen.save();
    pen.beginPath();
    pen.rect(left, 0, width - left, height);
    pen.clip();
    this.lanes.forEach(({ label, threshold }, i) => {
      const base = (i + 1) * lane - 2;
      const tall = lane - 6;
      this.#area(pen, x, label, base, tall, colour("--accent"));
      pen.fillStyle = colour("--quiet");
      pen.globalAlpha = 0.35;
      pen.fillRect(left, base - threshold * tall, width - left, 1);
      pen.globalAlpha = 1;
    });
    for (const event of this.#events) {
      const i = this.lanes.findIndex(({ word }) => word === event.word);
      const at = x(event.time);
      pen.fillStyle = colour("--live");
      pen.beginPath();
      pen.arc(at, (i + 0.5) * lane, 4, 0, 2 * Math.PI);
      pen.fill();
      pen.lineWidth = 1.5;
      pen.strokeStyle = colour("--card");
      pen.stroke();
    }
    if (this.#cursor !== null) {
      pen.fillStyle = colour("--ink");
      pen.fillRect(x(this.#cursor) - 0.5, 0, 1, height - bottom);
    }
    pen.restore();
  }

  // One filled curve; where several rows share a pixel, the largest counts.
  #area(pen, x, label, base, tall, colour) {
    const columns = new Map();
    for (const { time, scores } of this.#rows) {
      const column = Math.round(x(time) * 2) / 2;
      columns.set(column, Math.max(columns.get(column) ?? 0, scores[label]));
    }
    if (columns.size === 0) return;
    const points = [...columns];
    pen.beginPath();
    pen.moveTo(points[0][0], base);
    for (const [at, score] of points) pen.lineTo(at, base - score * tall);
    pen.lineTo(points.at(-1)[0], base);
    pen.fillStyle = colour;
    pen.globalAlpha = 0.85;
    pen.fill();
    pen.globalAlpha = 1;
  }

  #axis(pen, x, height, colour) {
    const step = this.#span > 60 ? 30 : this.#span > 15 ? 5 : this.#span > 6 ? 2 : 1;
    const from = Math.max(0, this.#end - this.#span);
    pen.fillStyle = colour;
    pen.textAlign = "center";
    for (let time = Math.ceil(from / step) * step; time < this.#end - step / 4; time += step)
      if (time > from || from === 0) pen.fillText(time === 0 ? "0 s" : String(time), Math.max(x(time), left + 8), height - 8);
    pen.textAlign = "left";
  }
}
