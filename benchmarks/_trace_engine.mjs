// The engine of DevTools' Performance panel, as the package @paulirish/trace_engine holds it: prints how many
// long tasks it warns of, its CPU time and its memory.
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const [module, file] = process.argv.slice(2);
globalThis.window ??= globalThis;
globalThis.DOMRect = class DOMRect {
  constructor(x = 0, y = 0, width = 0, height = 0) {
    Object.assign(this, { x, y, width, height, left: x, top: y, right: x + width, bottom: y + height });
  }
  static fromRect(rect) {
    return new DOMRect(rect.x, rect.y, rect.width, rect.height);
  }
};
const Trace = await import(pathToFileURL(module));
const before = process.cpuUsage();
const began = performance.now();
const events = JSON.parse(fs.readFileSync(file, "utf8")).traceEvents;
const engine = Trace.Processor.TraceProcessor.createWithAllHandlers();
await engine.parse(events, {});
const used = process.cpuUsage(before);
const long = (engine.data ?? engine.parsedTrace).Warnings.perWarning.get("LONG_TASK") ?? [];
console.log(JSON.stringify({
  tasks: events.filter((event) => event.name === "RunTask").length,
  long: long.length,
  cpu_s: (used.user + used.system) / 1e6,
  wall_s: (performance.now() - began) / 1e3,
  over_import_mb: process.resourceUsage().maxRSS / 1024,
}));
