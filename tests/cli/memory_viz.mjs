// SPDX-License-Identifier: BSD-2-Clause
// What PyTorch's viewer (torch/utils/viz/MemoryViz.js) computes from a snapshot, without a browser: what would be
// drawn goes nowhere. usage: node memory_viz.mjs MemoryViz.js FILE.pickle; prints JSON, or dies as the page would.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [script, file] = process.argv.slice(2);

// Takes any call, chain and property: d3, and the page.
const nothing = new Proxy(function () {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => 0 : name === Symbol.iterator ? [][Symbol.iterator] : nothing),
  apply: () => nothing,
  set: () => true,
});
function scale() {
  const s = x => x;
  return Object.assign(s, {domain: () => s, range: () => s, invert: x => x});
}
Object.assign(globalThis, {window: nothing, document: nothing, viz_stub: {nothing, scale}});

const wanted = ['unpickle', 'annotate_snapshot', 'MemoryView', 'process_alloc_data', 'formatEvent'];
const source = fs.readFileSync(script, 'utf8')
  .replace(/^import .*;$/gm, '')
  .replace(/^'use strict';/, `const {nothing: d3, scale: scaleLinear} = viz_stub, {axisLeft, zoom, zoomIdentity, brushX} =
    {axisLeft: d3, zoom: d3, zoomIdentity: d3, brushX: d3}, body_event = null;`);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'viz-'));
const copy = path.join(folder, 'viz.mjs');
fs.writeFileSync(copy, `${source}\nexport {${wanted.join(', ')}};\n`);
const viz = await import(pathToFileURL(copy));
fs.rmSync(folder, {recursive: true});

const bytes = fs.readFileSync(file);
const snapshot = viz.unpickle(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
viz.annotate_snapshot(snapshot);
const devices = [];
for (let device = 0; device < snapshot.device_traces.length; device++) {
  const events = snapshot.device_traces[device];
  const stack_info = {register() {}, highlight() {}};
  const view = viz.MemoryView(nothing, stack_info, snapshot, device);
  const states = events.map((_, i) => view.draw(i));
  const plots = [false, true].map(segments => {
    const data = viz.process_alloc_data(snapshot, device, segments, 15000);
    const texts = data.allocations_over_time.filter(x => x.elem !== 'summarized').map(x => data.context_for_id(x.elem));
    return {max_size: data.max_size, count: data.elements_length, texts};
  });
  devices.push({events: events.map(e => viz.formatEvent(e)), states, active: plots[0], cached: plots[1]});
}
console.log(JSON.stringify({devices, settings: snapshot.allocator_settings}));
