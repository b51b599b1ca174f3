/** Where each process stands in the timeline: a row of its own in tree order, or packed into few rows. */

/**
 * @typedef {object} Layout
 * @property {Int32Array} row of each process
 * @property {Int32Array} depth in the tree, 0 for a process without a known parent
 * @property {Int32Array} children number of descendants, where the layout is a tree
 * @property {number} rows
 */

/**
 * The process that was alive under the parent's pid when the child began; pids are reused.
 * @param {Processes} processes
 */
function parentsOf(processes) {
  /** @type {Map<number, number[]>} */
  const by_pid = new Map();
  processes.pid.forEach((pid, index) => {
    const same = by_pid.get(pid);
    if (same) same.push(index);
    else by_pid.set(pid, [index]);
  });
  const { start_us } = processes;
  return Int32Array.from(processes.parent, (pid, child) => {
    let best = -1;
    for (const index of by_pid.get(pid) ?? []) {
      const older = index !== child && start_us[index] <= start_us[child];
      if (older && (best < 0 || start_us[index] >= start_us[best])) best = index;
    }
    return best;
  });
}

/**
 * @param {Processes} processes
 * @returns {Layout}
 */
function treeLayout(processes) {
  const count = processes.pid.length;
  const parent = parentsOf(processes);
  /** @type {number[][]} */
  const children = Array.from({ length: count }, () => []);
  /** @type {number[]} */
  const roots = [];
  for (let index = 0; index < count; index += 1) (parent[index] >= 0 ? children[parent[index]] : roots).push(index);
  const row = new Int32Array(count);
  const depth = new Int32Array(count);
  const seen = new Uint8Array(count);
  let rows = 0;
  // An explicit stack: a fork chain may be deeper than the script's own.
  /** @param {number} start */
  const visit = (start) => {
    const stack = [start];
    for (let index = stack.pop(); index !== undefined; index = stack.pop()) {
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
  return { row, depth, children: descendants(row, depth), rows };
}

/**
 * How many rows below each process are deeper than it, up to the next that is not.
 * @param {Int32Array} row
 * @param {Int32Array} depth
 */
function descendants(row, depth) {
  const by_row = new Int32Array(row.length);
  row.forEach((place, index) => { by_row[place] = index; });
  const found = new Int32Array(row.length);
  /** Processes whose rows are still open. @type {number[]} */
  const open = [];
  by_row.forEach((index, place) => {
    for (let last = open.at(-1); last !== undefined && depth[last] >= depth[index]; last = open.at(-1)) {
      found[last] = place - row[last] - 1;
      open.pop();
    }
    open.push(index);
  });
  for (const index of open) found[index] = row.length - row[index] - 1;
  return found;
}

/**
 * Each process takes the first row that is free when it begins; start order is the record's order.
 * @param {Processes} processes
 * @param {number} end_us
 * @returns {Layout}
 */
function packedLayout(processes, end_us) {
  const count = processes.pid.length;
  const order = Array.from({ length: count }, (_, index) => index)
    .sort((a, b) => processes.start_us[a] - processes.start_us[b] || a - b);
  /** @type {number[]} */
  const free = [];
  const row = new Int32Array(count);
  for (const index of order) {
    const from = processes.start_us[index];
    let lane = free.findIndex((busy_until) => busy_until <= from);
    if (lane < 0) lane = free.push(0) - 1;
    const life = processes.life_us[index];
    free[lane] = life === null ? end_us : from + Math.max(life, 1);
    row[index] = lane;
  }
  return { row, depth: new Int32Array(count), children: new Int32Array(count), rows: free.length };
}
