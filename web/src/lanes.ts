/** Where each process stands in the timeline: a row of its own in tree order, or packed into few rows. */
import type { Processes } from './data.ts';

export interface Layout {
  /** Row of each process. */
  row: Int32Array;
  /** Depth in the tree, 0 for a process without a known parent. */
  depth: Int32Array;
  rows: number;
}

/** The process that was alive under the parent's pid when the child began; pids are reused. */
function parents(processes: Processes): Int32Array {
  const by_pid = new Map<number, number[]>();
  processes.pid.forEach((pid, index) => {
    const known = by_pid.get(pid);
    if (known) known.push(index);
    else by_pid.set(pid, [index]);
  });
  return Int32Array.from(processes.parent, (pid, child) => {
    const born = processes.start_us[child];
    const candidates = by_pid.get(pid) ?? [];
    let best = -1;
    for (const index of candidates) {
      if (index !== child && processes.start_us[index] <= born && (best < 0 || processes.start_us[index] >= processes.start_us[best])) best = index;
    }
    return best;
  });
}

export function treeLayout(processes: Processes): Layout {
  const count = processes.pid.length;
  const parent = parents(processes);
  const children: number[][] = Array.from({ length: count }, () => []);
  const roots: number[] = [];
  for (let index = 0; index < count; index += 1) (parent[index] >= 0 ? children[parent[index]] : roots).push(index);
  const row = new Int32Array(count);
  const depth = new Int32Array(count);
  const seen = new Uint8Array(count);
  let rows = 0;
  // An explicit stack: a fork chain may be deeper than the script's own.
  const visit = (start: number) => {
    const stack = [start];
    while (stack.length > 0) {
      const index = stack.pop()!;
      if (seen[index]) continue;
      seen[index] = 1;
      row[index] = rows++;
      const own = children[index];
      for (let at = own.length - 1; at >= 0; at -= 1) {
        depth[own[at]] = depth[index] + 1;
        stack.push(own[at]);
      }
    }
  };
  roots.forEach(visit);
  // A circle of parents cannot come from a kernel, but may from a damaged record.
  for (let index = 0; index < count; index += 1) visit(index);
  return { row, depth, rows };
}

/** Each process takes the first row that is free when it begins; start order is the record's order. */
export function packedLayout(processes: Processes, end_us: number): Layout {
  const count = processes.pid.length;
  const order = Array.from({ length: count }, (_, index) => index)
    .sort((a, b) => processes.start_us[a] - processes.start_us[b] || a - b);
  const free: number[] = [];
  const row = new Int32Array(count);
  for (const index of order) {
    const from = processes.start_us[index];
    let lane = free.findIndex((busy_until) => busy_until <= from);
    if (lane < 0) lane = free.push(0) - 1;
    const life = processes.life_us[index];
    free[lane] = life === null ? end_us : from + Math.max(life, 1);
    row[index] = lane;
  }
  return { row, depth: new Int32Array(count), rows: free.length };
}
