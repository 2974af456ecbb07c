import { escaped, histogramChart, short, timeChart, type Series } from './charts.ts';
import type { Second } from './generator.ts';
import { Histogram, upperMs, type Buckets } from './histogram.ts';
import { failures, type LoadResult, wholeSeconds } from './result.ts';
import type { ServerSample } from './server-figures.ts';
import { findings } from './text.ts';

const STYLE = `
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --text: #1b1f24; --soft: #59636e; --line: #d8dee4; --good: #1a7f37; --bad: #b42318;
  --c0: #2563eb; --c1: #d9480f; --c2: #0f766e; --c3: #9333ea; --c4: #b45309; --c5: #64748b; }
@media screen and (prefers-color-scheme: dark) { :root { --page: #0f1216; --card: #181c22; --text: #e6e9ed; --soft: #a0a9b4; --line: #313842; --good: #4ac26b; --bad: #ff8a7a;
  --c0: #6ea8fe; --c1: #ff9f5a; --c2: #4fd1c5; --c3: #c79bff; --c4: #f0c05a; --c5: #94a3b8; } }
@media print { :root { --page: #fff; } figure, table, section { break-inside: avoid; } body { padding: 0 !important; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .75rem; } p { margin: .25rem 0; } small, .soft { color: var(--soft); }
ul.findings { list-style: none; margin: 1rem 0; padding: .75rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
ul.findings li::before { content: "✓"; color: var(--good); display: inline-block; width: 1.4em; font-weight: 700; } ul.findings li.bad::before { content: "!"; color: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .75rem; } .tile { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
.tile b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .75rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; } figcaption { margin-bottom: .4rem; }
svg { display: block; width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: var(--soft); } .grid { stroke: var(--line); }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; } .fill { opacity: .18; stroke: none; }
.key { margin-left: .7em; font-size: .85rem; white-space: nowrap; } .key i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .3em; }
${[0, 1, 2, 3, 4, 5].map((no) => `.line.c${no} { stroke: var(--c${no}); } .fill.c${no}, .bar.c${no} { fill: var(--c${no}); } i.c${no} { background: var(--c${no}); }`).join('\n')}
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; background: var(--card); border: 1px solid var(--line); } th, td { text-align: left; padding: .35rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; } td.n { text-align: right; font-variant-numeric: tabular-nums; } code, pre { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
`;

/** A page that needs nothing from a network. `body`: HTML. */
export function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title><style>${STYLE}</style></head>
<body>${body}</body></html>
`;
}

type Cell = string | number;

/** A table; numbers are aligned to the right. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cell = (value: Cell): string =>
    typeof value === 'number' ? `<td class="n">${short(value)}</td>` : `<td>${escaped(value)}</td>`;
  const headings = head.length === 0 ? '' : `<tr>${head.map((name) => `<th>${escaped(name)}</th>`).join('')}</tr>`;
  return `<div class="wide"><table>${headings}${rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`).join('')}</table></div>`;
}

/** The report of a load test. */
export function reportPage(result: LoadResult): string {
  const { scenarioName, started, url, run, verification } = result;
  const title = `Load test: ${scenarioName}`;
  const items = findings(result).map(({ text, isBad }) => `<li${isBad ? ' class="bad"' : ''}>${escaped(text)}</li>`);
  return page(
    title,
    `<h1>${escaped(title)}</h1><p class="soft">${escaped(url)} · ${escaped(started.slice(0, 19).replace('T', ' '))} UTC · run ${escaped(run)}</p>
<ul class="findings">${items.join('')}</ul>
${tiles(result)}
<h2>Over time</h2><div class="charts">${timeCharts(wholeSeconds(result))}</div>
<h2>Latencies</h2><div class="charts">${latencyChart(result.latency)}</div>
${rampSection(result)}
${serverSection(result)}
${verification === null ? '' : verificationSection(verification)}
<h2>Answers</h2>${table(['Request and status', 'Number'], Object.entries(result.summary.statuses))}
${settingsSection(result)}`,
  );
}

function tiles({ summary, generator }: LoadResult): string {
  const { perSecond, eventsPerSecond, p50, p90, p99, p999, max, errors } = summary;
  const figures: [string, string][] = [
    ['answers per second', short(perSecond)],
    ['events per second', short(eventsPerSecond)],
    ['p50', `${short(p50)} ms`],
    ['p90', `${short(p90)} ms`],
    ['p99', `${short(p99)} ms`],
    ['p99.9', `${short(p999)} ms`],
    ['longest', `${short(max)} ms`],
    ['failed', `${short(errors * 100)} %`],
    ['generator busy', `${short(generator.busy * 100)} %`],
  ];
  return `<div class="tiles">${figures.map(([name, value]) => `<div class="tile"><b>${value}</b><small>${name}</small></div>`).join('')}</div>`;
}

const MOST_POINTS = 200;

/** Seconds in groups, so that a long run has a readable number of points. */
function grouped(seconds: readonly Second[]): Second[][] {
  const size = Math.ceil(seconds.length / MOST_POINTS);
  return Array.from({ length: Math.ceil(seconds.length / Math.max(1, size)) }, (_, no) =>
    seconds.slice(no * size, (no + 1) * size),
  );
}

function timeCharts(seconds: readonly Second[]): string {
  const groups = grouped(seconds);
  const times = groups.map((group) => group[0]!.second);
  const mean = (pick: (second: Second) => number) => groups.map((group) => sum(group.map(pick)) / group.length);
  const latency = (share: number) =>
    groups.map((group) => {
      const all = Histogram.of(...group.map((second) => second.latency));
      return all.count === 0 ? null : all.percentile(share);
    });
  return [
    timeChart({
      title: 'Throughput',
      unit: 'requests per second',
      times,
      series: [
        { name: 'due', colour: 5, values: mean(({ due }) => due) },
        { name: 'answered', colour: 0, values: mean(({ answered }) => answered), area: true },
      ],
    }),
    timeChart({
      title: 'Latency',
      unit: 'ms, from when a request was due',
      times,
      series: [
        { name: 'p99', colour: 1, values: latency(0.99) },
        { name: 'p90', colour: 3, values: latency(0.9) },
        { name: 'p50', colour: 0, values: latency(0.5) },
      ],
    }),
    timeChart({
      title: 'Failures',
      unit: 'per second',
      times,
      series: [{ name: 'failed', colour: 1, values: mean(failures), area: true }],
    }),
    timeChart({
      title: 'Waiting',
      unit: 'requests at the end of the second',
      times,
      series: [
        { name: 'for a connection', colour: 1, values: mean(({ queue }) => queue) },
        { name: 'for the answer', colour: 0, values: mean(({ inFlight }) => inFlight) },
      ],
    }),
  ].join('');
}

const CLASSES_A_DECADE = 10;

/** The latencies in logarithmic classes. */
export function latencyClasses(latency: Buckets): { from: number; to: number; count: number }[] {
  const counts = new Map<number, number>();
  for (let at = 0; at < latency.length; at += 2) {
    const no = Math.floor(Math.log10(Math.max(0.1, upperMs(latency[at]!))) * CLASSES_A_DECADE);
    counts.set(no, (counts.get(no) ?? 0) + latency[at + 1]!);
  }
  if (counts.size === 0) return [];
  const [first, last] = [Math.min(...counts.keys()), Math.max(...counts.keys())];
  const end = (no: number): number => 10 ** (no / CLASSES_A_DECADE);
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const no = first + index;
    return { from: end(no), to: end(no + 1), count: counts.get(no) ?? 0 };
  });
}

const latencyChart = (latency: Buckets): string =>
  histogramChart({ title: 'Distribution', unit: 'requests by latency in ms', bars: latencyClasses(latency) });

function rampSection({ ramp }: LoadResult): string {
  if (ramp === null) return '';
  const rows = ramp
    .toSorted((a, b) => a.rate - b.rate)
    .map(({ rate, perSecond, p50, p99, errors, exceeded, limitedByGenerator }): Cell[] => [
      rate,
      perSecond,
      p50,
      p99,
      `${short(errors * 100)} %`,
      limitedByGenerator ? 'the generator is the limit' : (exceeded ?? 'sustained'),
    ]);
  return `<h2>Rates</h2><p>The other figures are those of the highest sustained rate.</p>${table(['Rate', 'Answered/s', 'p50 ms', 'p99 ms', 'Failed', 'Verdict'], rows)}`;
}

function serverSection({ server }: LoadResult): string {
  if (server.length === 0)
    return '<h2>Server</h2><p class="soft">Not measured: the metrics of the Admin API were not reachable (--admin-url).</p>';
  const times = server.map(({ second }) => second);
  const one = (name: string, pick: (sample: ServerSample) => number, colour = 0): Series[] => [
    { name, colour, values: server.map(pick), area: true },
  ];
  const processes = [...new Set(server.flatMap(({ cpu }) => Object.keys(cpu)))];
  const byProcess = (pick: (sample: ServerSample) => Record<string, number>): Series[] =>
    processes.map((name, no) => ({ name, colour: no % 6, values: server.map((sample) => pick(sample)[name] ?? null) }));
  return `<h2>Server</h2><div class="charts">${[
    timeChart({ title: 'CPU', unit: 'processors, by process', times, series: byProcess(({ cpu }) => cpu) }),
    timeChart({ title: 'Memory', unit: 'MiB, by process', times, series: byProcess(({ memoryMiB }) => memoryMiB) }),
    timeChart({ title: 'Redis', unit: 'ms per call', times, series: one('ms', ({ redisCallMs }) => redisCallMs, 3) }),
    timeChart({
      title: 'Events per call',
      unit: 'that share a commit',
      times,
      series: one('events', ({ eventsPerCall }) => eventsPerCall, 2),
    }),
    timeChart({
      title: 'Backlog',
      unit: 'entries that Postgres has not stored',
      times,
      series: one('entries', ({ outboxEntries }) => outboxEntries, 4),
    }),
    timeChart({
      title: 'Lag',
      unit: 'seconds, age of the oldest entry',
      times,
      series: one('seconds', ({ persistLagSeconds }) => persistLagSeconds, 4),
    }),
  ].join('')}</div>`;
}

function verificationSection(verification: NonNullable<LoadResult['verification']>): string {
  const rows: Cell[][] = [
    ['Acknowledged events', verification.acknowledged],
    ['Users', verification.users],
    ['Totals compared', verification.totals],
    ['Stored events found', verification.events ?? 'not compared: no access to the Admin API'],
    ['Scores compared', `${verification.scores} (${verification.leaderboards.join(', ') || 'no leaderboard'})`],
    ...verification.skipped.map(({ leaderboard, reason }): Cell[] => [`Not compared: ${leaderboard}`, reason]),
    ['Unanswered events that were sent again', verification.settled],
    ['Events of unknown outcome', verification.unknown],
    ['Differences', verification.differing],
  ];
  const list = verification.differences.map((line) => `<li class="bad">${escaped(line)}</li>`).join('');
  return `<h2>Correctness</h2>${table([], rows)}${list === '' ? '' : `<ul class="findings">${list}</ul>`}`;
}

function settingsSection(result: LoadResult): string {
  const { machine, versions, generator, scenario, seed, command, createdMetrics } = result;
  const rows: Cell[][] = [
    ['Command', command],
    ['Seed', String(seed)],
    ['Laurel', versions.laurel ?? 'unknown (no access to the Admin API)'],
    [
      'Redis, Postgres, Node of the server',
      [versions.redis, versions.postgres, versions.node].map((one) => one ?? '?').join(', '),
    ],
    [
      'Generator',
      `laurel ${versions.generator}, Node ${machine.node}, ${generator.processes} processes, ${short(generator.cpuCores)} processors, p99 of its own delay ${short(generator.delayP99Ms)} ms`,
    ],
    [
      'Machine of the generator',
      `${machine.cpu}, ${machine.cores} processors, ${machine.memoryGiB} GiB, ${machine.os}`,
    ],
    ...(createdMetrics.length > 0 ? [['Created metrics', createdMetrics.join(', ')]] : []),
  ];
  return `<h2>How it was measured</h2>${table([], rows)}<h2>Scenario</h2><pre>${escaped(JSON.stringify(scenario, null, 2))}</pre>`;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
