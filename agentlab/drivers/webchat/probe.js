// Counts the page's own asynchronous work by the place that asked for it. Put in before the page's scripts.
(() => {
  if (globalThis.__agentlabProbe) return;
  const now = performance.now.bind(performance);
  const NativeError = Error;
  const MOST_CAPTURES = 200000;
  let counters, sites, own, captures;
  const listeners = new Map();
  const clear = () => { counters = Object.create(null); sites = new Map(); own = 0; captures = 0; };
  clear();
  const count = (name, n = 1) => { counters[name] = (counters[name] || 0) + n; };

  // The first frame of a script that is not this one.
  const site = (kind) => {
    if (captures >= MOST_CAPTURES) return kind + " (not looked at)";
    captures += 1;
    const limit = NativeError.stackTraceLimit;
    NativeError.stackTraceLimit = 8;
    const stack = new NativeError().stack || "";
    NativeError.stackTraceLimit = limit;
    for (const line of stack.split("\n")) {
      const at = line.trim();
      if (!at.startsWith("at ") || at.includes("agentlab-probe.js")) continue;
      const found = /^at (?:(.*?) \()?(?:.*\/)?([^/()]*?:\d+:\d+)\)?$/.exec(at);
      if (found) return kind + " " + (found[1] || "(anonymous)") + " @ " + found[2].replace(/[?#][^:]*/, "");
    }
    return kind + " (no script)";
  };
  const book = (where, ms) => {
    let row = sites.get(where);
    if (!row) sites.set(where, (row = [0, 0, 0]));
    row[0] += 1;
    row[1] += ms;
    if (ms > row[2]) row[2] = ms;
  };
  // What the probe itself takes is in `own`, and in nobody's time.
  const timed = (where, callback) => function (...args) {
    const began = now();
    try {
      return callback.apply(this, args);
    } finally {
      const ended = now();
      book(where, ended - began);
      own += now() - ended;
    }
  };
  const wrap = (holder, name, counter, kind) => {
    const native = holder[name];
    if (typeof native !== "function") return;
    holder[name] = function (callback, ...rest) {
      const began = now();
      count(counter);
      const given = typeof callback === "function" ? timed(site(kind), callback) : callback;
      own += now() - began;
      return native.call(this ?? window, given, ...rest);
    };
  };
  wrap(window, "setTimeout", "setTimeoutScheduled", "setTimeout");
  wrap(window, "setInterval", "setIntervalScheduled", "setInterval");
  wrap(window, "requestAnimationFrame", "rafScheduled", "requestAnimationFrame");
  wrap(window, "requestIdleCallback", "idleCallbackScheduled", "requestIdleCallback");

  const observer = (name, counter) => {
    const Native = window[name];
    if (typeof Native !== "function") return;
    window[name] = class extends Native {
      constructor(callback, options) {
        const run = timed(site(name), callback);
        super((records, self) => { count(counter, records.length); run.call(self, records, self); }, options);
      }
    };
  };
  observer("MutationObserver", "mutationRecords");
  observer("ResizeObserver", "resizeEntries");
  observer("IntersectionObserver", "intersectionEntries");

  const tally = (name, counter, step) => {
    const native = EventTarget.prototype[name];
    EventTarget.prototype[name] = function (type, ...rest) {
      count(counter);
      listeners.set(type, (listeners.get(type) || 0) + step);
      return native.call(this ?? window, type, ...rest);
    };
  };
  tally("addEventListener", "listenersAdded", 1);
  tally("removeEventListener", "listenersRemoved", -1);
  for (const [name, counter] of [["fetch", "fetches"], ["postMessage", "postMessages"]]) {
    const native = window[name];
    window[name] = function (...args) { count(counter); return native.apply(this ?? window, args); };
  }

  Object.defineProperty(globalThis, "__agentlabProbe", { value: {
    clear,
    told() {
      const rows = [...sites].map(([where, row]) => [where, ...row]).sort((a, b) => b[2] - a[2]);
      const rest = rows.splice(200);
      if (rest.length) {
        const sum = (k) => rest.reduce((n, row) => n + row[k], 0);
        rows.push(["(others)", sum(1), sum(2), Math.max(...rest.map((row) => row[3]))]);
      }
      const types = [...listeners].filter(([, n]) => n).sort((a, b) => b[1] - a[1]).slice(0, 25);
      return { counters, sites: rows, own_ms: own, exhausted: captures >= MOST_CAPTURES,
               listeners: Object.fromEntries(types), captures };
    },
  } });
})();
//# sourceURL=agentlab-probe.js
