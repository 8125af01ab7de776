// What is watched in the page, from a world of our own: it shares the page's document and nothing of its
// scripts, so that neither sees the other's functions. Rows are [page_ms, ...].
((selector, messages) => {
  const now = performance.now.bind(performance);
  const state = { dom: [], frames: [], shifts: [], inputs: [], growths: 0, changes: 0, own: 0, hidden: 0 };
  const texts = () => [...document.querySelectorAll(selector)];
  const length = () => texts().reduce((n, element) => n + element.textContent.length, 0);
  let base = 0, last = 0, grownAt = 0, baseMessages = 0, baseBody = 0, unpainted = [], observer = null;

  // A frame is handed over once a message posted inside its callback arrives.
  const painted = new MessageChannel();
  painted.port1.onmessage = () => {
    const at = now();
    for (const row of unpainted) row[2] = at;
    unpainted = [];
  };
  const changed = () => {
    const at = now();
    const n = length();
    state.changes += 1;
    if (n !== last) {
      if (n > last) {
        state.growths += 1;
        grownAt = at;
      }
      last = n;
      const row = [at, n - base, null];
      state.dom.push(row);
      unpainted.push(row);
      if (unpainted.length === 1) requestAnimationFrame(() => painted.port2.postMessage(0));
    }
    state.own += now() - at;
  };

  const scripts = (entry) => (entry.scripts || []).reduce((ms, script) => ms + script.duration, 0);
  const kinds = {
    "long-animation-frame": (e) =>
      state.frames.push([e.startTime, e.duration, e.blockingDuration, e.renderStart, scripts(e)]),
    "layout-shift": (e) => state.shifts.push([e.startTime, e.value, e.hadRecentInput]),
    event: (e) =>
      e.interactionId &&
      state.inputs.push([e.startTime, e.name, e.interactionId, e.duration, e.processingEnd - e.processingStart]),
  };
  const observers = [];

  globalThis.agentlab = {
    begin() {
      base = last = length();
      grownAt = now();
      baseMessages = document.querySelectorAll(messages).length;
      baseBody = document.body.textContent.length;
      observer = new MutationObserver(changed);
      observer.observe(document, { subtree: true, childList: true, characterData: true });
      for (const [type, take] of Object.entries(kinds)) {
        if (!PerformanceObserver.supportedEntryTypes.includes(type)) continue;
        const watching = new PerformanceObserver((list) => list.getEntries().forEach(take));
        watching.observe({ type, durationThreshold: 16 });
        observers.push([watching, take]);
      }
      document.addEventListener("visibilitychange", () => { state.hidden += document.hidden; });
      state.hidden += document.hidden;
      return performance.mark("agentlab:begin").startTime;
    },
    end() {
      const at = performance.mark("agentlab:end").startTime;
      observer.disconnect();
      for (const [watching, take] of observers) {
        watching.takeRecords().forEach(take);
        watching.disconnect();
      }
      return at;
    },
    take() {
      // A row that waits for its frame stays for the next time.
      const rows = { frames: state.frames, shifts: state.shifts, inputs: state.inputs };
      rows.dom = state.dom.slice(0, state.dom.length - unpainted.length);
      state.dom = state.dom.slice(rows.dom.length);
      state.frames = []; state.shifts = []; state.inputs = [];
      return rows;
    },
    rest() {
      unpainted = [];
      return this.take();
    },
    // Without layout: it is asked for inside the window.
    grown() {
      const text = texts().map((element) => element.textContent).join("\n");
      return { quiet_ms: now() - grownAt, text };
    },
    told() {
      return {
        n_chars: last - base, n_growths: state.growths, n_changes: state.changes, own_ms: state.own,
        n_messages: document.querySelectorAll(messages).length - baseMessages,
        body_chars: document.body.textContent.length - baseBody, hidden: state.hidden,
        text: texts().map((element) => element.innerText || element.textContent).join("\n"),
      };
    },
    alive(ms) {
      return new Promise((done) => {
        const began = now();
        let frames = 0;
        const over = () =>
          done({ frames, seconds: (now() - began) / 1000, visibility: document.visibilityState });
        const frame = () => { frames += 1; requestAnimationFrame(frame); };
        requestAnimationFrame(frame);
        setTimeout(over, ms);
      });
    },
  };
})
